//! An emulation inside the test's process.

use farspan_emu::{Name, Observer, Session, check};
use farspan_scenario::{Request, Resolved};
use farspan_world::{Results, World};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use std::fs::File;
use std::os::fd::AsFd as _;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether this machine can run emulations; says why not, if not.
pub(crate) fn can_run() -> bool {
    check().inspect_err(|error| farspan_skip::skip("emulation", &error.to_string())).is_ok()
}

/// The namespaces of an emulation that is up.
pub(crate) struct Hosts {
    namespaces: Vec<String>,
    has_queues: bool,
}

impl Hosts {
    /// Whether packets wait at the hosts for their links; says why not, if not.
    pub(crate) fn have_queues(&self) -> bool {
        if !self.has_queues {
            farspan_skip::skip(
                "htb",
                "nothing waits at a host: modprobe sch_htb, or take a kernel with CONFIG_NET_SCH_HTB",
            );
        }
        self.has_queues
    }

    /// Runs `task` at a host, on a thread of its own.
    pub(crate) fn at<T: Send>(&self, host: usize, task: impl FnOnce() -> T + Send) -> T {
        let path = format!("/run/netns/{}", self.namespaces[host]);
        let enter = || {
            let file = File::open(&path).unwrap();
            move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network)).unwrap();
            task()
        };
        std::thread::scope(|scope| scope.spawn(enter).join()).unwrap()
    }
}

/// Removes what an emulation leaves, however a test ends.
struct Clear<'a>(&'a Name);

impl Drop for Clear<'_> {
    fn drop(&mut self) {
        let _ = farspan_emu::down(self.0);
    }
}

/// Runs `test` while the network of a scenario is up; gives its results.
pub(crate) fn run(name: &str, scenario: &str, test: impl FnOnce(&Hosts)) -> Results {
    run_observed(name, scenario, Box::new(|_, _| {}), test)
}

/// As [`run`]; `observer` sees what happens.
pub(crate) fn run_observed(
    name: &str,
    scenario: &str,
    observer: Observer,
    test: impl FnOnce(&Hosts),
) -> Results {
    let request = Request { text: Some(scenario.to_owned()), is_idle: true, ..Request::new(name) };
    let resolved: Resolved = request.resolve().unwrap();
    let world = World::idle(&resolved).unwrap();
    let name: Name = format!("{name}_{}", std::process::id()).parse().unwrap();
    let clear = Clear(&name);
    let mut session = Session::up(&name, &resolved, &world, None).unwrap();
    session.observe(observer);
    let namespaces = session.facts().hosts.iter().map(|host| host.namespace.clone()).collect();
    let has_queues = session.facts().has_host_queues;
    let (hosts, is_over) = (Hosts { namespaces, has_queues }, AtomicBool::new(false));
    // However the test ends, the emulation does.
    struct End<'a>(&'a AtomicBool);
    impl Drop for End<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
    let finished = std::thread::scope(|scope| {
        let session = scope.spawn(|| session.run(&resolved, &world, || is_over.load(Ordering::Relaxed)));
        let end = End(&is_over);
        test(&hosts);
        drop(end);
        session.join().unwrap()
    });
    let results = finished.results.clone();
    // Its lock ends before the rest is removed: nothing in this process waits for it.
    drop(finished);
    drop(clear);
    results
}

//! Network namespaces: a host each. They are made by `ip`, of iproute2, so that `ip netns` knows them too.

use super::clock::monotonic_ns;
use super::name::Namespace;
use super::state::is_ending;
use super::tun::{DEVICE, Tun};
use crate::address::{V4_PREFIX, V6_PREFIX, v4, v6};
use farspan_units::{Bytes, Duration, HostId};
use rustix::process::{Pid, Signal, kill_process};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// The least MTU of IPv6 (RFC 8200); below it hosts have no such address.
pub(super) const LEAST_V6_MTU: Bytes = Bytes::new(1280);

/// Packets that a device keeps until they are read: a stall of the emulator is then lateness, and not a loss.
pub(super) const TUN_QUEUE: usize = 10_000;

/// How long killed processes may take to end. One that waits in the kernel, for its network lock or for a disk, ends after that wait.
const LONGEST_END: Duration = Duration::from_ms(10_000);
/// The pause between two looks for them.
const PAUSE: std::time::Duration = std::time::Duration::from_millis(5);

/// Why a step with namespaces failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NamespaceError {
    /// There is no `ip`, or it cannot be started.
    #[error("the command `{program}` cannot be started ({source}): install iproute2")]
    NoProgram {
        /// The program.
        program: &'static str,
        /// The error of the operating system.
        source: io::Error,
    },
    /// `ip` refuses.
    #[error("`{program}` could not {task}: {message}")]
    Refused {
        /// The program.
        program: &'static str,
        /// Its task.
        task: String,
        /// Its answer.
        message: String,
    },
    /// A process was killed and does not end.
    #[error(
        "process {pid} at a host was killed but has not ended, probably because it waits for a disk: try again when it has"
    )]
    Lingers {
        /// The process.
        pid: i32,
    },
    /// A step inside a namespace failed.
    #[error("{}: {task} ({source})", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The step that failed.
        task: &'static str,
        /// The error of the operating system.
        source: io::Error,
    },
}

/// Runs a program of iproute2 with this standard input.
pub(super) fn run(
    program: &'static str,
    arguments: &[&str],
    input: &str,
    task: &str,
) -> Result<String, NamespaceError> {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let no_program = |source| NamespaceError::NoProgram { program, source };
    let mut child = command.spawn().map_err(no_program)?;
    if let Some(mut to) = child.stdin.take() {
        // A program that has ended says why.
        let _ = to.write_all(input.as_bytes());
    }
    let output = child.wait_with_output().map_err(no_program)?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let message = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(NamespaceError::Refused { program, task: task.to_owned(), message })
}

/// Whether the program that makes namespaces is there.
pub(super) fn check() -> Result<(), NamespaceError> {
    run("ip", &["-Version"], "", "say its version").map(drop)
}

/// Makes namespaces.
pub(super) fn create(namespaces: &[Namespace]) -> Result<(), NamespaceError> {
    let text =
        namespaces.iter().fold(String::new(), |text, namespace| text + &format!("netns add {namespace}\n"));
    run("ip", &["-batch", "-"], &text, "make network namespaces").map(drop)
}

/// Runs `task` on a thread of its own in a namespace: devices, sockets and `/proc/sys/net` are those of the namespace there. `failed`
/// says of the namespace what is wrong if it fails.
pub(super) fn inside<T: Send>(
    namespace: &Namespace,
    failed: &'static str,
    task: impl FnOnce() -> io::Result<T> + Send,
) -> Result<T, NamespaceError> {
    let path = namespace.file();
    let enter = || {
        let file = File::open(&path)?;
        move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network))?;
        task()
    };
    let result = std::thread::scope(|scope| scope.spawn(enter).join());
    let result = result.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    result.map_err(|source| NamespaceError::Io { path, task: failed, source })
}

/// Gives a host its device, addresses and names.
pub(super) fn equip(
    namespace: &Namespace,
    host: HostId,
    mtu: Bytes,
    hosts: &str,
) -> Result<Tun, NamespaceError> {
    let has_v6 = mtu >= LEAST_V6_MTU;
    let tun = inside(namespace, "cannot be entered, or its device not be made", || {
        let tun = Tun::create()?;
        for (setting, value) in [("accept_ra", "0"), ("router_solicitations", "0")] {
            // Without IPv6 in the kernel there is no such setting.
            let _ = fs::write(format!("/proc/sys/net/ipv6/conf/{DEVICE}/{setting}"), value);
        }
        Ok(tun)
    })?;
    let mut text = String::from("link set dev lo up\n");
    let mut line = |line: String| text.write_str(&(line + "\n")).expect("a string takes text");
    if has_v6 {
        // No address of its own: nothing speaks that was not asked to.
        line(format!("link set dev {DEVICE} addrgenmode none"));
    }
    line(format!("link set dev {DEVICE} mtu {} txqueuelen {TUN_QUEUE}", mtu.get()));
    line(format!("addr add {}/{V4_PREFIX} dev {DEVICE}", v4(host)));
    if has_v6 {
        line(format!("addr add {}/{V6_PREFIX} dev {DEVICE} nodad", v6(host)));
    }
    line(format!("link set dev {DEVICE} up"));
    let name = namespace.to_string();
    run("ip", &["-n", &name, "-batch", "-"], &text, "give a host its addresses")?;
    settle(namespace, "hosts", hosts)?;
    // No name server is in reach: programs learn that at once, and not after seconds of silence.
    settle(namespace, "resolv.conf", "nameserver 127.0.0.1\noptions timeout:1 attempts:1\n")?;
    Ok(tun)
}

/// Puts a file in the place of one of /etc, for programs in the namespace.
fn settle(namespace: &Namespace, file: &str, text: &str) -> Result<(), NamespaceError> {
    let (folder, path) = (namespace.settings(), namespace.settings().join(file));
    let written = fs::create_dir_all(&folder).and_then(|()| fs::write(&path, text));
    written.map_err(|source| NamespaceError::Io { path, task: "cannot be written", source })
}

/// Packets that the kernel dropped because a host's device was full, or down.
pub(super) fn unread_drops(namespace: &Namespace) -> Result<u64, NamespaceError> {
    let table =
        inside(namespace, "its devices cannot be read", || fs::read_to_string("/proc/thread-self/net/dev"))?;
    // A host that has lost its device is gone, which counts by itself.
    Ok(sent_and_dropped(&table).unwrap_or_default())
}

/// The fourth number of those of transmission: the twelfth of the device's line.
fn sent_and_dropped(table: &str) -> Option<u64> {
    let line = table.lines().find_map(|line| line.trim_start().strip_prefix(DEVICE)?.strip_prefix(':'))?;
    line.split_ascii_whitespace().nth(11)?.parse().ok()
}

/// Ends the programs in namespaces, all of them at once.
pub(super) fn end_programs(namespaces: &[Namespace]) -> Result<(), NamespaceError> {
    // A file whose namespace was never made is no process's.
    let files: Vec<_> =
        namespaces.iter().filter_map(|namespace| identity(fs::metadata(namespace.file()))).collect();
    if files.is_empty() { Ok(()) } else { end(LONGEST_END, || programs(&files)) }
}

/// The device and inode of a file, which say whether two names are of one namespace.
fn identity(file: io::Result<fs::Metadata>) -> Option<(u64, u64)> {
    file.ok().map(|file| (file.dev(), file.ino()))
}

/// The processes in these namespaces. This process is left out: a shell at a host may have started it after the emulation was killed.
fn programs(namespaces: &[(u64, u64)]) -> Vec<Pid> {
    let names = fs::read_dir("/proc").into_iter().flatten().flatten().map(|entry| entry.file_name());
    let pids = names.filter_map(|name| name.to_str()?.parse().ok()).filter(|pid| *pid != std::process::id());
    let is_there = |pid: &u32| {
        let is_in = |file| namespaces.contains(&file);
        // A program that only visits a namespace, as `farspan kernel` does, visits it on another thread than its first. A first thread
        // that has ended is nowhere: then the others count.
        identity(fs::metadata(format!("/proc/{pid}/ns/net"))).map_or_else(
            || {
                let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
                threads.filter_map(|one| identity(fs::metadata(one.path().join("ns/net")))).any(is_in)
            },
            is_in,
        )
    };
    pids.filter(is_there).filter_map(|pid| Pid::from_raw(i32::try_from(pid).ok()?)).collect()
}

/// Ends the programs of iproute2 that a process has started before it was killed: they would go on making namespaces. It led a session
/// of its own, whose number no other process gets while one of them lives.
pub(super) fn end_orphans(leader: u32) {
    let own = fs::read_to_string("/proc/self/comm").unwrap_or_default();
    // One that was killed but still waits in the kernel makes nothing more.
    let _ = end(LONGEST_END, || orphans(leader, own.trim_end()));
}

/// Kills processes until there are none: again and again, since one may start another meanwhile.
fn end(longest: Duration, processes: impl Fn() -> Vec<Pid>) -> Result<(), NamespaceError> {
    let until = monotonic_ns() + longest.as_ns();
    loop {
        let left = processes();
        let Some(first) = left.first() else { return Ok(()) };
        for process in &left {
            // One that has just ended is no error.
            let _ = kill_process(*process, Signal::KILL);
        }
        if monotonic_ns() > until {
            return Err(NamespaceError::Lingers { pid: first.as_raw_nonzero().get() });
        }
        std::thread::park_timeout(PAUSE);
    }
}

fn orphans(leader: u32, own: &str) -> Vec<Pid> {
    // One that was killed has its number until its parent asks for its end.
    if !is_ending(leader) {
        return Vec::new();
    }
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let stats = processes.filter_map(|process| fs::read_to_string(process.path().join("stat")).ok());
    stats.filter_map(|stat| of_session(&stat, leader, own)).collect()
}

/// Reads a line of `/proc/PID/stat` (proc(5)): gives the process if it is of this session (field 6), is a program of iproute2, or is
/// about to become one and still has the name `own` of farspan, and has not ended (field 3). A zombie has ended, and is listed until
/// its parent asks for it.
fn of_session(stat: &str, session: u32, own: &str) -> Option<Pid> {
    let (pid, rest) = stat.split_once(" (")?;
    let (name, rest) = rest.rsplit_once(") ")?;
    let (state, found) = (rest.split(' ').next()?, rest.split(' ').nth(3)?.parse::<u32>().ok()?);
    let pid: i32 = pid.parse().ok()?;
    let is_leader = u32::try_from(pid) == Ok(session);
    let is_orphan = matches!(name, "ip" | "tc") || (name == own && !is_leader);
    (is_orphan && found == session && !matches!(state, "Z" | "X")).then(|| Pid::from_raw(pid))?
}

/// Ends what runs in namespaces, and removes them with their settings. What is gone already is no error.
pub(super) fn remove(namespaces: &[Namespace]) -> Result<(), NamespaceError> {
    end_programs(namespaces)?;
    let there = namespaces.iter().filter(|namespace| namespace.file().exists());
    let text = there.fold(String::new(), |text, namespace| text + &format!("netns del {namespace}\n"));
    // One that cannot be removed is no reason to leave the others.
    let removed = match text.is_empty() {
        true => Ok(()),
        false => run("ip", &["-force", "-batch", "-"], &text, "remove network namespaces").map(drop),
    };
    for namespace in namespaces {
        let _ = fs::remove_dir_all(namespace.settings());
    }
    removed
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::os::unix::process::ExitStatusExt as _;

    #[test]
    fn drops_are_read_from_the_devices_own_line() {
        let table = "Inter-|   Receive\n    lo:       1       2    3    4    5     6          7         8        9      10   11   12\n  \
                     eth0:       0       0    0    0    0     0          0         0     1328      11    0  180    0     0       0          0\n";
        assert_eq!(sent_and_dropped(table), Some(180));
        assert_eq!(sent_and_dropped("nothing"), None);
    }

    #[test]
    fn an_orphan_is_a_program_of_iproute2_in_the_session() {
        let stat = |name: &str, session: u32| format!("77 ({name}) D 1 50 {session} 0 -1 4194304 0");
        let orphan = |stat: &str| of_session(stat, 50, "farspan");
        assert_eq!(orphan(&stat("ip", 50)), Pid::from_raw(77));
        assert_eq!(orphan(&stat("ip", 50).replace(" D ", " Z ")), None, "it has ended");
        assert_eq!((orphan(&stat("ip", 51)), orphan(&stat("sh", 50))), (None, None));
        assert_eq!(orphan(&stat("a) (ip", 50)), None);
        assert_eq!(orphan(&stat("farspan", 50)), Pid::from_raw(77), "it is about to become `ip`");
        assert_eq!(of_session(&stat("farspan", 77), 77, "farspan"), None, "it is the leader");
    }

    #[test]
    fn processes_of_a_namespace_are_found_but_for_this_one() {
        let mut child = Command::new("sleep").arg("1000").spawn().unwrap();
        let own = std::process::id().cast_signed();
        let there = programs(&[identity(fs::metadata("/proc/self/ns/net")).unwrap()]);
        let elsewhere = programs(&[identity(fs::metadata("/proc/self/ns/mnt")).unwrap()]);
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(there.contains(&Pid::from_child(&child)));
        assert!(!there.iter().any(|pid| pid.as_raw_nonzero().get() == own));
        assert!(elsewhere.is_empty());
    }

    #[test]
    fn what_was_killed_is_waited_for_until_a_limit() {
        let mut child = Command::new("sleep").arg("1000").spawn().unwrap();
        let pid = Pid::from_child(&child);
        // A killed process that the kernel holds for 120 looks, 0.6 s.
        let looks = Cell::new(0);
        let held = || (looks.replace(looks.get() + 1) < 120).then_some(pid).into_iter().collect();
        assert!(end(LONGEST_END, held).is_ok());
        assert_eq!(looks.get(), 121);
        assert_eq!(child.wait().unwrap().signal(), Some(Signal::KILL.as_raw()));
        let mut other = Command::new("sleep").arg("1000").spawn().unwrap();
        let never = end(Duration::from_ms(20), || vec![Pid::from_child(&other)]);
        let expected = Pid::from_child(&other).as_raw_nonzero().get();
        assert!(matches!(never, Err(NamespaceError::Lingers { pid }) if pid == expected), "{never:?}");
        other.wait().unwrap();
    }

    #[test]
    fn what_a_program_says_reaches_the_user() {
        let error = run("ip", &["-batch", "-"], "nonsense\n", "do nonsense");
        match error.unwrap_err() {
            NamespaceError::Refused { message, .. } => assert!(message.contains("nonsense"), "{message}"),
            NamespaceError::NoProgram { .. } => {
                farspan_skip::skip("iproute2", "no program `ip`: apt install iproute2");
            }
            other => panic!("{other}"),
        }
    }
}

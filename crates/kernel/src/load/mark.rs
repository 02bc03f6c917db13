//! Phantom queues on ports: a program at TC egress, which stays with the device.

use super::instance::{constants, maps_of};
use super::netns::Namespace;
use super::object::{LoadError, Opened};
use super::pin::wait_for;
use super::requirements::{Missing, root};
use crate::PhantomQueue;
use libbpf_rs::{MapCore as _, MapFlags, MapHandle, TC_EGRESS, TC_INGRESS, TcHook};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketType};
use serde::Serialize;
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::process::{Command, Stdio};

/// The program's place among the filters of a port.
const PRIORITY: u32 = 0xfa5;
const HANDLE: u32 = 1;

/// Why a port has no phantom queue.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MarkError {
    /// The machine cannot.
    #[error(transparent)]
    Missing(#[from] Missing),
    /// There is no such device.
    #[error("there is no device {device} in {namespace}: `ip link` lists its devices")]
    NoDevice {
        /// The device.
        device: String,
        /// Where it was looked for.
        namespace: String,
    },
    /// Another program has the place.
    #[error(
        "{device} already has an egress filter with priority {PRIORITY} that farspan did not install and leaves alone: \
         `tc filter show dev {device} egress` shows it"
    )]
    Foreign {
        /// The device.
        device: String,
    },
    /// Programs can only be at its ingress.
    #[error(
        "{device} has an `ingress` qdisc, which cannot run programs at egress: run `tc qdisc del dev {device} ingress`, \
         then `tc qdisc add dev {device} clsact`, which can do both"
    )]
    Ingress {
        /// The device.
        device: String,
    },
    /// The device has no phantom queue.
    #[error("{device} has no phantom queue: add one with `farspan kernel mark --dev {device} --rate R`")]
    NotMarked {
        /// The device.
        device: String,
    },
    /// The kernel refuses the program.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The device does not take the program, or does not give it back.
    #[error("{device}: {task}: {source}")]
    Refused {
        /// The device.
        device: String,
        /// The step that failed.
        task: &'static str,
        /// The error of the operating system.
        source: libbpf_rs::Error,
    },
    /// The namespace cannot be entered, or another command has its lock.
    #[error("{namespace}: {task} ({source})")]
    Namespace {
        /// The namespace.
        namespace: String,
        /// The step that failed.
        task: &'static str,
        /// The error of the operating system.
        source: io::Error,
    },
}

/// Whether a port that is given a phantom queue had one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Attached {
    /// It had none.
    New,
    /// The new one took the place of another; its counts begin anew.
    Replaced,
}

/// The phantom queue of a port: its constants, and what it has counted.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct PortStatus {
    /// The device.
    pub device: String,
    /// The link's rate, bit/s.
    pub rate_bps: u64,
    /// The rate at which the counter drains, bit/s.
    pub drain_bps: u64,
    /// Where the counter saturates, bytes.
    pub size_bytes: u64,
    /// Up to here no packet is marked, bytes.
    pub k_min_bytes: u64,
    /// Above here each one is, bytes.
    pub k_max_bytes: u64,
    /// The counter at its last packet, bytes.
    pub level_bytes: u64,
    /// Packets, a super-packet as one.
    pub packets: u64,
    /// Packets as super-packets will be cut.
    pub segments: u64,
    /// Bytes, with the headers of each segment.
    pub bytes: u64,
    /// Packets that are not ECN-capable.
    pub not_ect: u64,
    /// Packets that came with a mark.
    pub already_marked: u64,
    /// Packets that were marked here.
    pub marked: u64,
}

/// The 64-bit words of the program's `struct port_state` after its lock.
const WORDS: usize = 8;

impl PortStatus {
    /// That of a program; `None`: the program is none of ours.
    fn read(device: &str, program: u32) -> Option<(Self, bool)> {
        let constants = constants(program)?;
        let constant = |key: &str| constants.iter().find(|(name, _)| name == key).map(|(_, raw)| *raw);
        let maps = maps_of(program)?.into_iter().filter_map(|id| MapHandle::from_map_id(id).ok());
        let state = maps.into_iter().find(|map| map.name() == "port")?;
        let state = state.lookup(&0_u32.to_ne_bytes(), MapFlags::ANY).ok()??;
        let mut words = [0; WORDS + 1];
        for (word, bytes) in words.iter_mut().zip(state.chunks_exact(8)) {
            *word = u64::from_ne_bytes(bytes.try_into().ok()?);
        }
        let [_lock, _at, lag_ps, packets, segments, bytes, not_ect, already_marked, marked] = words;
        let drain_bps = constant("drain_bps")?;
        let level = u128::from(lag_ps) * u128::from(drain_bps) / 8_000_000_000_000;
        let status = Self {
            device: device.to_owned(),
            rate_bps: constant("rate_bps")?,
            drain_bps,
            size_bytes: constant("size_bytes")?,
            k_min_bytes: constant("min_bytes")?,
            k_max_bytes: constant("max_bytes")?,
            level_bytes: u64::try_from(level).unwrap_or(u64::MAX),
            packets,
            segments,
            bytes,
            not_ect,
            already_marked,
            marked,
        };
        Some((status, constant("made_qdisc") == Some(1)))
    }
}

/// A device in the namespace of the calling thread.
struct Port<'a> {
    device: &'a str,
    index: i32,
}

impl<'a> Port<'a> {
    fn find(device: &'a str, namespace: &Namespace) -> Result<Self, MarkError> {
        let no_device =
            || MarkError::NoDevice { device: device.to_owned(), namespace: namespace.to_string() };
        let failed = |source: rustix::io::Errno| MarkError::Refused {
            device: device.to_owned(),
            task: "its number cannot be read",
            source: io::Error::from(source).into(),
        };
        let socket = rustix::net::socket(AddressFamily::INET, SocketType::DGRAM, None).map_err(failed)?;
        let index = rustix::net::netdevice::name_to_index(socket, device);
        let index = index.map_err(|error| if error == Errno::NODEV { no_device() } else { failed(error) })?;
        Ok(Self { device, index: i32::try_from(index).map_err(|_| no_device())? })
    }

    fn hook(&self, program: BorrowedFd<'_>) -> TcHook {
        let mut hook = TcHook::new(program);
        hook.ifindex(self.index).attach_point(TC_EGRESS).handle(HANDLE).priority(PRIORITY);
        hook
    }

    /// The phantom queue that it has, and whether its qdisc came with it.
    ///
    /// # Errors
    /// If another program has the place.
    fn queue(&self) -> Result<Option<(PortStatus, bool)>, MarkError> {
        let nothing = File::open("/dev/null").ok();
        let program = nothing.and_then(|file| self.hook(file.as_fd()).query().ok());
        let queue = program.and_then(|program| PortStatus::read(self.device, program));
        // A filter of the old kind has no program that could be asked for.
        let is_taken = || program.is_some() || self.has_filter_in_place();
        if queue.is_none() && is_taken() {
            return Err(MarkError::Foreign { device: self.device.to_owned() });
        }
        Ok(queue)
    }

    fn has_filter_in_place(&self) -> bool {
        let list = tc(&["filter", "show", "dev", self.device, "egress"]);
        list.is_some_and(|text| text.contains(&format!(" pref {PRIORITY} ")))
    }

    fn refused(&self, task: &'static str) -> impl FnOnce(libbpf_rs::Error) -> MarkError {
        let device = self.device.to_owned();
        move |source| MarkError::Refused { device, task, source }
    }

    fn attach(&self, queue: &PhantomQueue) -> Result<Attached, MarkError> {
        let there = self.queue()?;
        let qdiscs = tc(&["qdisc", "show", "dev", self.device]);
        if qdiscs.is_some_and(|text| text.contains("qdisc ingress ")) {
            return Err(MarkError::Ingress { device: self.device.to_owned() });
        }
        let makes_qdisc = there.as_ref().map_or_else(|| !self.has_qdisc(), |(_, made)| *made);
        let mut opened = Opened::new("mark", include_bytes!(concat!(env!("OUT_DIR"), "/mark.bpf.o")))?;
        opened.set(queue.variables().into_iter().chain([("made_qdisc", u64::from(makes_qdisc))]))?;
        let object = opened.load()?;
        let program = object.progs().find(|program| program.name() == "mark");
        let program = program.ok_or_else(|| libbpf_rs::Error::from(io::Error::from(io::ErrorKind::NotFound)));
        let program = program.map_err(self.refused("its program was not found"))?;
        let mut hook = self.hook(program.as_fd());
        hook.create().map_err(self.refused(
            "it takes no programs at egress; the kernel needs CONFIG_NET_CLS_BPF and CONFIG_NET_SCH_INGRESS",
        ))?;
        let attached = hook.replace(there.is_some()).attach();
        attached.map_err(self.refused("it does not take the program")).inspect_err(|_| {
            if makes_qdisc {
                self.remove_qdisc();
            }
        })?;
        Ok(if there.is_some() { Attached::Replaced } else { Attached::New })
    }

    fn detach(&self) -> Result<(), MarkError> {
        let not_marked = || MarkError::NotMarked { device: self.device.to_owned() };
        let (_, made_qdisc) = self.queue()?.ok_or_else(not_marked)?;
        let nothing = File::open("/dev/null").map_err(libbpf_rs::Error::from);
        let nothing = nothing.map_err(self.refused("its program was not found"))?;
        self.hook(nothing.as_fd()).detach().map_err(self.refused("it does not give the program back"))?;
        if made_qdisc {
            self.remove_qdisc();
        }
        Ok(())
    }

    /// Removes the qdisc that holds programs, unless it holds those of others. One that comes between the look and the removal goes
    /// with it: Linux has no call that does both.
    fn remove_qdisc(&self) {
        if let Ok(nothing) = File::open("/dev/null")
            && !self.has_filters()
        {
            // An empty one does nothing, should it stay.
            let _ = self.hook(nothing.as_fd()).attach_point(TC_EGRESS | TC_INGRESS).destroy();
        }
    }

    /// Whether the device has the qdisc that holds programs. So it counts where nobody can say.
    fn has_qdisc(&self) -> bool {
        tc(&["qdisc", "show", "dev", self.device]).is_none_or(|text| text.contains("clsact"))
    }

    /// Whether other programs are at this device: then what holds them stays. So it does where nobody can say.
    fn has_filters(&self) -> bool {
        let list = |side| tc(&["filter", "show", "dev", self.device, side]);
        ["ingress", "egress"].into_iter().any(|side| list(side).is_none_or(|text| !text.is_empty()))
    }
}

/// The output of `tc` in the namespace of the calling thread; `None`: it is not there, or refuses.
fn tc(words: &[&str]) -> Option<String> {
    let output = Command::new("tc").args(words).stdin(Stdio::null()).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

fn inside<T: Send>(
    namespace: &Namespace,
    task: impl FnOnce() -> Result<T, MarkError> + Send,
) -> Result<T, MarkError> {
    root()?;
    namespace.inside(task).map_err(failed(namespace, "it cannot be entered"))?
}

fn failed(namespace: &Namespace, task: &'static str) -> impl FnOnce(io::Error) -> MarkError {
    let namespace = namespace.to_string();
    move |source| MarkError::Namespace { namespace, task, source }
}

/// Waits until no other command changes the phantom queues of a namespace.
fn alone(namespace: &Namespace) -> Result<impl Drop, MarkError> {
    wait_for(namespace.file()).map_err(failed(namespace, "it cannot be locked"))?;
    Ok(Unlock(namespace))
}

struct Unlock<'a>(&'a Namespace);

impl Drop for Unlock<'_> {
    fn drop(&mut self) {
        // The end of the process unlocks it, too.
        let _ = self.0.file().unlock();
    }
}

/// Gives a port of a namespace a phantom queue. It stays with the device until [`unmark`]; one that is there is replaced.
///
/// # Errors
/// If the machine cannot, or there is no such device.
pub fn mark(device: &str, queue: &PhantomQueue, namespace: &Namespace) -> Result<Attached, MarkError> {
    let _alone = alone(namespace)?;
    inside(namespace, || Port::find(device, namespace)?.attach(queue))
}

/// Takes the phantom queue of a port away.
///
/// # Errors
/// If the port has none.
pub fn unmark(device: &str, namespace: &Namespace) -> Result<(), MarkError> {
    let _alone = alone(namespace)?;
    inside(namespace, || Port::find(device, namespace)?.detach())
}

/// The phantom queues of a namespace's ports: of one, or of all.
///
/// # Errors
/// If the port that is asked for is not there, or has none.
pub fn marked(device: Option<&str>, namespace: &Namespace) -> Result<Vec<PortStatus>, MarkError> {
    inside(namespace, || {
        let of = |device: &str| {
            let queue = Port::find(device, namespace)?.queue()?;
            Ok::<_, MarkError>(queue.map(|(status, _)| status))
        };
        if let Some(device) = device {
            let none = || MarkError::NotMarked { device: device.to_owned() };
            return Ok(vec![of(device)?.ok_or_else(none)?]);
        }
        let devices = fs::read_to_string("/proc/thread-self/net/dev").unwrap_or_default();
        let names = devices.lines().skip(2).filter_map(|line| line.trim().split(':').next());
        // One that is gone meanwhile has none.
        Ok(names.filter_map(|name| of(name).ok().flatten()).collect())
    })
}

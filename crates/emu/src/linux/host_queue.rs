//! The queue before a host's device: it lets packets go at the rate of the host's link, so that they wait at the host, as they do
//! before a real NIC. The kernel's TCP looks at what of a flow waits there, and keeps it small (TCP small queues). Without such a
//! queue a device takes each packet at once: a whole window would wait where TCP does not see it, and stretch its round trips.

use super::namespace::{NamespaceError, run};
use super::tun::DEVICE;
use crate::engine::NIC_QUEUE;
use farspan_units::{Bytes, Duration, Rate};
use serde::Deserialize;

/// For so long a host may send faster after it sent nothing: a timer that is late by less costs nothing of the rate.
const BURST: Duration = Duration::from_us(500);

/// The share of the link's rate that it lets pass. Each late read leaves the emulated link idle for a moment, and all that comes later waits
/// that much longer in the network, for as long as the host sends at full rate: the rest of the rate takes it away.
const SHARE: f64 = 0.995;

/// The priority (`SO_PRIORITY`) of packets that pass by the queue of their host, and wait in the network alone: the handle of the queue
/// itself (tc-htb(8)). A socket takes CAP_NET_ADMIN to have it.
pub const PASS_BY: u32 = 0x1_0000;

/// The counts of a host's queue.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct QueueCounts {
    /// Packets that wait.
    pub(super) packets: u64,
    /// Packets that it has dropped so far.
    pub(super) dropped: u64,
}

/// A queue, as `tc -j -s qdisc` (tc(8)) shows it.
#[derive(Deserialize)]
struct Shown {
    #[serde(default)]
    root: bool,
    #[serde(default)]
    qlen: u64,
    #[serde(default)]
    drops: u64,
}

/// `tc` says so where the kernel has no queue of a kind.
const UNKNOWN: &str = "qdisc kind is unknown";

/// Puts the queue of a link of this rate before the device of a namespace. `false`: the kernel has no token buckets (HTB), so that
/// there is none.
pub(super) fn equip(namespace: &str, rate: Rate, mtu: Bytes) -> Result<bool, NamespaceError> {
    let text = commands(rate, mtu);
    match run("tc", &["-n", namespace, "-batch", "-"], &text, "make the queue of a host") {
        Err(NamespaceError::Refused { message, .. }) if message.contains(UNKNOWN) => {}
        made => return made.map(|_| true),
    }
    let none = ["-n", namespace, "qdisc", "replace", "dev", DEVICE, "root", "noqueue"];
    run("tc", &none, "", "take the queue before a device away").map(|_| false)
}

fn commands(rate: Rate, mtu: Bytes) -> String {
    let (bits, mtu) = (rate.mul_f64(SHARE).as_bps(), mtu.get());
    let burst = rate.bytes_in(BURST).get().max(2 * mtu);
    format!(
        "qdisc replace dev {DEVICE} root handle 1: htb default 1\n\
         class add dev {DEVICE} parent 1: classid 1:1 htb rate {bits}bit burst {burst}b cburst {burst}b quantum {mtu}\n\
         qdisc add dev {DEVICE} parent 1:1 pfifo limit {NIC_QUEUE}\n"
    )
}

/// Lets all go that waits in the queue of a namespace, at its next packet's time.
pub(super) fn open(namespace: &str) -> Result<(), NamespaceError> {
    let text = format!(
        "class change dev {DEVICE} parent 1: classid 1:1 htb rate 100gbit burst 10mb cburst 10mb quantum 65535\n"
    );
    run("tc", &["-n", namespace, "-batch", "-"], &text, "open the queue of a host").map(drop)
}

/// The counts of the queue of a namespace.
pub(super) fn counts(namespace: &str) -> Result<QueueCounts, NamespaceError> {
    let show = ["-n", namespace, "-j", "-s", "qdisc", "show", "dev", DEVICE];
    let text = run("tc", &show, "", "show the queue of a host")?;
    parse(&text).ok_or_else(|| NamespaceError::Refused {
        program: "tc",
        task: "show the queue of a host".to_owned(),
        message: format!("its counts are not in {text:?}"),
    })
}

/// The root's counts include those of what is below it. A device without a queue has none.
fn parse(text: &str) -> Option<QueueCounts> {
    let shown: Vec<Shown> = serde_json::from_str(text).ok()?;
    let root = shown.into_iter().find(|shown| shown.root)?;
    Some(QueueCounts { packets: root.qlen, dropped: root.drops })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bursts_are_half_a_millisecond_and_two_packets_at_least() {
        let fast = commands(Rate::from_gbps(1), Bytes::new(1500));
        assert!(fast.contains("rate 995000000bit burst 62500b cburst 62500b quantum 1500"), "{fast}");
        let slow = commands(Rate::from_bps(1_000_000), Bytes::new(1500));
        assert!(slow.contains("rate 995000bit burst 3000b"), "{slow}");
    }

    #[test]
    fn the_root_says_what_waits_and_what_was_dropped() {
        let text = r#"[{"kind":"htb","handle":"1:","root":true,"options":{"r2q":10},"drops":7,"qlen":3,"backlog":4500},
            {"kind":"pfifo","handle":"8001:","parent":"1:1","options":{"limit":1000},"drops":7,"qlen":3}]"#;
        assert_eq!(parse(text), Some(QueueCounts { packets: 3, dropped: 7 }));
        assert_eq!(parse(r#"[{"kind":"noqueue","root":true}]"#), Some(QueueCounts::default()));
        assert_eq!((parse("nonsense"), parse("[]")), (None, None));
    }
}

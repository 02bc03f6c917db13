//! Load that a workload offers to each tier of the network, per unit of its capacity.

use crate::{Capacity, Flow, Sites, WanLinks};
use farspan_units::{Bytes, Duration, Rate};

/// The load on the links from one site to another.
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub struct Direction {
    /// The sending site, from 0.
    pub from: usize,
    /// The receiving site, from 0.
    pub to: usize,
    /// Offered over capacity; `None` where undefined, see [`OfferedLoad`].
    pub load: Option<f64>,
}

/// Offered load: payload and parity of all flows, over the arrival span (last start minus first start), over the
/// capacity of the tier in one direction. `None` where the tier is not there, or where all flows start at one instant:
/// a burst has no rate.
#[derive(Clone, PartialEq, Debug, Default)]
#[non_exhaustive]
pub struct OfferedLoad {
    /// All host NICs together, sending.
    pub host: Option<f64>,
    /// The narrowest tier between racks, all sites together, upwards; flows within a rack do not cross it.
    pub fabric: Option<f64>,
    /// Each ordered pair of sites with links from one to the other: what crosses these, between whichever sites.
    pub wan: Vec<Direction>,
}

impl OfferedLoad {
    /// Offers of at least this share of a capacity do not settle into a steady state.
    pub const TRANSIENT: f64 = 0.95;

    /// Whether any load is so high that queues grow for as long as flows arrive.
    #[must_use]
    pub fn transient(&self) -> bool {
        let wan = self.wan.iter().map(|d| d.load);
        wan.chain([self.host, self.fabric]).flatten().any(|load| load >= Self::TRANSIENT)
    }
}

/// The load that `flows` offer; `offered`: payload and parity of a flow.
#[must_use]
pub fn offered_load(
    flows: &[Flow],
    sites: &Sites,
    capacity: &Capacity,
    offered: impl Fn(&Flow) -> Bytes,
) -> OfferedLoad {
    let starts = || flows.iter().map(|f| f.start);
    let span = match (starts().min(), starts().max()) {
        (Some(first), Some(last)) => last.since(first),
        _ => Duration::ZERO,
    };
    let n = sites.count();
    let (mut host, mut fabric, mut wan) = (0.0, 0.0, vec![0.0; n * n]);
    for flow in flows {
        let (from, to) = (sites.site_of(flow.src), sites.site_of(flow.dst));
        let bytes = offered(flow).as_f64();
        host += bytes;
        fabric += if capacity.crosses_fabric(flow.src, flow.dst) { bytes } else { 0.0 };
        wan[from * n + to] += bytes;
    }
    let load = |bytes: f64, capacity: Option<Rate>| share(bytes, capacity?, span);
    let direction = |links: &WanLinks| {
        let bytes: f64 = wan.iter().zip(&links.shares).map(|(bytes, share)| bytes * share).sum();
        Direction { from: links.from, to: links.to, load: load(bytes, Some(links.rate)) }
    };
    OfferedLoad {
        host: load(host / f64::from(sites.hosts()), Some(capacity.host)),
        fabric: load(fabric, capacity.fabric),
        wan: capacity.wan.iter().map(direction).collect(),
    }
}

fn share(bytes: f64, capacity: Rate, span: Duration) -> Option<f64> {
    let possible = capacity.bytes_per_sec_f64() * span.as_secs_f64();
    (possible > 0.0).then(|| bytes / possible)
}

#[cfg(test)]
mod tests {
    use super::*;
    use farspan_units::{HostId, Time};

    fn capacity() -> Capacity {
        let links = |from: usize, to: usize| {
            let mut shares = vec![0.0; 4];
            shares[from * 2 + to] = 1.0;
            WanLinks { from, to, rate: Rate::from_gbps(16), shares }
        };
        Capacity {
            host: Rate::from_gbps(8),
            fabric: Some(Rate::from_gbps(32)),
            wan: vec![links(0, 1), links(1, 0)],
            racks: (0..8).map(|host| host / 2).collect(),
            payload: Bytes::new(4096),
            header: Bytes::new(64),
        }
    }

    fn flow(src: u32, dst: u32, size: u64, us: u64) -> Flow {
        Flow {
            src: HostId(src),
            dst: HostId(dst),
            size: Bytes::new(size),
            start: Time::ZERO + Duration::from_us(us),
            part: 0,
            tag: 0,
            measured: true,
        }
    }

    fn sites() -> Sites {
        Sites::new(vec![0..4, 4..8]).unwrap()
    }

    #[test]
    fn loads_count_each_tier_and_direction() {
        // In 1 ms a NIC carries 1 MB, the fabric 4 MB, the WAN 2 MB.
        let flows = [
            flow(0, 1, 800_000, 0),
            flow(0, 2, 400_000, 0),
            flow(0, 4, 400_000, 500),
            flow(5, 3, 1_000_000, 1000),
        ];
        let load = offered_load(&flows, &sites(), &capacity(), |flow| flow.size);
        assert_eq!(load.host, Some(2.6 / 8.0));
        assert_eq!(load.fabric, Some(1.8 / 4.0));
        let wan: Vec<_> = load.wan.iter().map(|d| (d.from, d.to, d.load)).collect();
        assert_eq!(wan, [(0, 1, Some(0.2)), (1, 0, Some(0.5))]);
        assert!(!load.transient());
    }

    #[test]
    fn what_flows_offer_may_be_more_than_their_size() {
        let flows = [flow(0, 2, 800_000, 0), flow(0, 4, 800_000, 1000)];
        let parity = |flow: &Flow| Bytes::new(if flow.dst.0 == 4 { 200_000 } else { 0 });
        let load = offered_load(&flows, &sites(), &capacity(), |flow| flow.size + parity(flow));
        assert_eq!(load.wan[0].load, Some(0.5));
        assert_eq!(load.host, Some(1.8 / 8.0));
    }

    #[test]
    fn a_load_of_95_percent_anywhere_is_transient() {
        let with = |bytes| {
            offered_load(&[flow(0, 4, bytes, 0), flow(1, 5, 1, 1000)], &sites(), &capacity(), |flow| {
                flow.size
            })
        };
        assert!(with(1_900_000).transient());
        assert!(!with(1_899_000).transient());
    }

    #[test]
    fn a_burst_at_one_instant_has_no_load() {
        let load = offered_load(&[flow(0, 4, 1 << 30, 7); 8], &sites(), &capacity(), |flow| flow.size);
        assert_eq!((load.host, load.fabric, load.wan[0].load), (None, None, None));
        assert!(!load.transient());
        assert_eq!(offered_load(&[], &sites(), &capacity(), |flow| flow.size).host, None);
    }
}

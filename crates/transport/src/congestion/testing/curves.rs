//! How a control moves its window through one script, as tables; and how flows of different round trips share.

use super::dumbbell::{Dumbbell, Link, Marking};
use super::{path, wan_path};
use crate::congestion::*;
use crate::path::{Class, Path};
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt::Write;
use farspan_units::{Bytes, Rate, Time};

/// The events at the bottleneck, in round trips of the flow.
struct Script {
    /// Other traffic takes half of the link.
    busy: (u64, u64),
    /// One packet is lost.
    loss: u64,
    /// Every packet is lost, until its time-out.
    blackout: (u64, u64),
    /// The end.
    end: u64,
    /// Between two lines of the table.
    step: u64,
}

const INTRA: Script = Script { busy: (40, 80), loss: 100, blackout: (120, 124), end: 240, step: 8 };
const INTER: Script = Script { busy: (16, 28), loss: 36, blackout: (42, 44), end: 64, step: 2 };

/// A bottleneck of 100 Gb/s that marks above a seventh of the bandwidth-delay product inside a datacenter.
fn link() -> Link {
    Link {
        rate: Rate::from_gbps(100),
        buffer: Bytes::new(1 << 20),
        marking: Marking::step(25_000.0),
        phantom: None,
        shares: Vec::new(),
        losses: Vec::new(),
        blackout: (Time::MAX, Time::MAX),
    }
}

impl Script {
    fn event(&self, rtt: u64) -> &'static str {
        let at = |wanted: u64| (rtt..rtt + self.step).contains(&wanted);
        match () {
            () if at(self.busy.0) => "half taken",
            () if at(self.busy.1) => "all free",
            () if at(self.loss) => "one loss",
            () if at(self.blackout.0) => "blackout",
            () => "",
        }
    }

    /// When so many round trips of a path are over.
    fn at(path: &Path, rtt: u64) -> Time {
        Time::ZERO + path.base_rtt * rtt
    }

    /// One flow, at the bottleneck of the script.
    fn model(&self, config: &CongestionConfig, path: &Path, initial_cwnd: Bytes) -> Dumbbell {
        let at = |rtt| Self::at(path, rtt);
        let link = Link {
            shares: vec![(at(self.busy.0), 0.5), (at(self.busy.1), 1.0)],
            losses: vec![at(self.loss)],
            blackout: (at(self.blackout.0), at(self.blackout.1)),
            ..link()
        };
        Dumbbell::new(link, &[(config.clone(), *path, initial_cwnd)])
    }

    /// The table of one flow: the window in packets, and of the interval from this line to the next the goodput and the
    /// marked share in percent and the queue at its end in packets.
    fn table(&self, config: &CongestionConfig, path: &Path, initial_cwnd: Bytes) -> String {
        let mut model = self.model(config, path, initial_cwnd);
        let mut text = format!(
            "{} path, first window {} packets\n  rtt   cwnd  rate%  marked%  queue\n",
            path.class.name(),
            libm::round(initial_cwnd.as_f64() / path.mss.as_f64())
        );
        let full = path.line_rate.bytes_per_sec_f64() * (path.base_rtt * self.step).as_secs_f64();
        for rtt in (0..self.end).step_by(self.step as usize) {
            let cwnd = model.flows[0].window().as_f64() / path.mss.as_f64();
            let (delivered, marked) = (model.flows[0].delivered, model.flows[0].marked);
            model.run_until(Self::at(path, rtt + self.step));
            let acked = (model.flows[0].delivered - delivered).as_f64();
            let marked = (model.flows[0].marked - marked).as_f64();
            let line = format!(
                "{rtt:5} {:6} {:6} {:8} {:6}  {}",
                libm::round(cwnd),
                libm::round(100.0 * acked / full),
                libm::round(100.0 * marked / acked.max(1.0)),
                libm::round(model.queued() / path.mtu().as_f64()),
                self.event(rtt)
            );
            writeln!(text, "{}", line.trim_end()).expect("a string takes any text");
        }
        text
    }
}

/// How a control moves its window through one script, as three tables: on a path inside a datacenter from one
/// bandwidth-delay product and from ten packets, and on a path between datacenters.
///
/// Half of the link is taken by other traffic and given back, one packet is lost, and for a while all are. Without a window
/// the table has what is in flight.
#[must_use]
pub fn window_curve(config: &CongestionConfig) -> String {
    let tables = [
        INTRA.table(config, &path(), path().bdp),
        INTRA.table(config, &path(), path().mss * 10),
        INTER.table(config, &wan_path(), wan_path().bdp),
    ];
    tables.join("\n")
}

/// Each decision of a control on its way through the script of [`window_curve`], from one bandwidth-delay product on the
/// path of this class: when it differed from the last, and what it was.
#[must_use]
pub fn decisions(config: &CongestionConfig, class: Class) -> Vec<(Time, Decision)> {
    let (script, path) = match class {
        Class::Intra => (INTRA, path()),
        Class::Inter => (INTER, wan_path()),
    };
    let mut model = script.model(config, &path, path.bdp);
    let mut decisions = vec![(model.now, model.flows[0].control.decision())];
    while model.step(Script::at(&path, script.end)) {
        let decision = model.flows[0].control.decision();
        if decisions.last().is_none_or(|(_, last)| *last != decision) {
            decisions.push((model.now, decision));
        }
    }
    decisions
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::testing::dumbbell::Phantom;
    use farspan_units::Duration;

    #[test]
    fn every_control_moves_its_window_through_the_script_as_before() {
        for name in NAMES {
            let config = CongestionConfig::by_name(name).expect("a name of the registry");
            insta::assert_snapshot!(*name, window_curve(&config));
        }
    }

    #[test]
    fn decisions_come_in_the_order_of_time_and_each_differs_from_the_last() {
        let config = CongestionConfig::by_name("dctcp").expect("a name of the registry");
        for class in [Class::Intra, Class::Inter] {
            let decisions = decisions(&config, class);
            assert!(decisions.len() > 1000, "{}", decisions.len());
            assert!(decisions.windows(2).all(|pair| pair[0].0 <= pair[1].0 && pair[0].1 != pair[1].1));
        }
    }

    /// Shares of the goodput in the last part of a run, and the part of the link that they sum to.
    fn shares(
        link: Link,
        flows: &[(CongestionConfig, Path, Bytes)],
        warmup: Duration,
        period: Duration,
    ) -> (Vec<f64>, f64) {
        let rate = link.rate;
        let mut model = Dumbbell::new(link, flows);
        model.run_until(Time::ZERO + warmup);
        let before: Vec<Bytes> = model.flows.iter().map(|flow| flow.delivered).collect();
        model.run_until(Time::ZERO + warmup + period);
        let gained = model.flows.iter().zip(before).map(|(flow, before)| (flow.delivered - before).as_f64());
        let gained: Vec<f64> = gained.collect();
        let total: f64 = gained.iter().sum();
        let capacity = rate.bytes_per_sec_f64() * period.as_secs_f64() * 4096.0 / 4160.0;
        (gained.iter().map(|bytes| bytes / total).collect(), total / capacity)
    }

    /// Jain's index.
    fn jain(shares: &[f64]) -> f64 {
        let sum: f64 = shares.iter().sum();
        sum * sum / (shares.len() as f64 * shares.iter().map(|x| x * x).sum::<f64>())
    }

    /// A 2 ms path at 100 Gb/s.
    fn two_ms() -> Path {
        let base_rtt = Duration::from_ms(2);
        Path { base_rtt, bdp: wan_path().line_rate.bytes_in(base_rtt), ..wan_path() }
    }

    #[test]
    fn unocc_flows_of_14_us_and_2_ms_share_alike() {
        let config = CongestionConfig::by_name("unocc").expect("a name of the registry");
        let size = two_ms().bdp.as_f64();
        let link = Link {
            marking: Marking { min: 0.25 * 1_048_576.0, max: 0.75 * 1_048_576.0 },
            phantom: Some(Phantom {
                size,
                drain: 0.9,
                marking: Marking { min: 0.25 * size, max: 0.75 * size },
            }),
            ..link()
        };
        let flows: Vec<_> = [path(), two_ms()]
            .into_iter()
            .flat_map(|path| core::iter::repeat_n((config.clone(), path, path.bdp), 4))
            .collect();
        let (shares, used) = shares(link, &flows, Duration::from_ms(110), Duration::from_ms(30));
        assert!(jain(&shares) > 0.95, "Jain {} of {shares:?}", jain(&shares));
        assert!((0.85..0.93).contains(&used), "the phantom queue leaves a tenth of the link free: {used}");
    }

    /// BBR whose search for the smallest round trip shows in short runs: in proportion to the round trip what 10 s and 200
    /// ms are to 30 ms.
    fn short_bbr() -> CongestionConfig {
        let (rtprop_window, probe_rtt) = (path().base_rtt * 333, path().base_rtt * 7);
        CongestionConfig::Bbr(bbr::BbrConfig { rtprop_window, probe_rtt, ..bbr::BbrConfig::default() })
    }

    #[test]
    fn a_lone_bbr_flow_fills_the_link_and_keeps_no_queue() {
        for path in [path(), wan_path()] {
            for initial_cwnd in [path.bdp, path.mss * 10] {
                let flows =
                    [(CongestionConfig::by_name("bbr").expect("a name of the registry"), path, initial_cwnd)];
                let (_, used) = shares(link(), &flows, path.base_rtt * 20, path.base_rtt * 20);
                assert!(used > 0.95, "{used} of the link, {} path", path.class.name());
            }
        }
    }

    #[test]
    fn the_queue_drains_in_probe_rtt() {
        // Eight flows keep a queue that only PROBE_RTT empties; they find each other's and probe together.
        let flows = vec![(short_bbr(), path(), path().bdp); 8];
        let mut model = Dumbbell::new(link(), &flows);
        let (mut shortest, mut longest) = (f64::MAX, 0.0_f64);
        for us in 10_000..40_000 {
            model.run_until(Time::ZERO + Duration::from_us(us));
            shortest = shortest.min(model.queued());
            longest = longest.max(model.queued());
        }
        assert!(longest > path().bdp.as_f64() / 2.0, "a queue of {longest} B");
        assert!(shortest < 1.0, "never less than {shortest} B");
    }

    #[test]
    fn bbr_flows_of_one_round_trip_share_alike() {
        for count in [2, 8] {
            let flows = vec![(short_bbr(), path(), path().bdp); count];
            let (shares, used) = shares(link(), &flows, Duration::from_ms(20), Duration::from_ms(20));
            assert!(jain(&shares) > 0.95, "Jain {} of {shares:?}", jain(&shares));
            assert!(used > 0.9, "{used} of the link");
        }
    }

    #[test]
    fn mprdma_flows_of_one_round_trip_share_alike() {
        let config = CongestionConfig::by_name("mprdma").expect("a name of the registry");
        for count in [2, 8] {
            let flows = vec![(config.clone(), path(), path().bdp); count];
            let (shares, used) = shares(link(), &flows, Duration::from_ms(10), Duration::from_ms(20));
            assert!(jain(&shares) > 0.98, "Jain {} of {shares:?}", jain(&shares));
            assert!(used > 0.85, "{used} of the link, whose switch marks at a seventh of the BDP");
        }
    }

    #[test]
    fn mprdma_flows_share_in_inverse_proportion_to_their_round_trips() {
        // Windows rest at 2 (1 - p) / p packets whatever the round trip.
        let config = CongestionConfig::by_name("mprdma").expect("a name of the registry");
        let base_rtt = path().base_rtt * 4;
        let far = Path { base_rtt, bdp: path().bdp * 4, ..path() };
        let flows = [(config.clone(), path(), path().bdp), (config, far, path().bdp)];
        let (shares, _) = shares(link(), &flows, Duration::from_ms(20), Duration::from_ms(40));
        let ratio = shares[0] / shares[1];
        assert!((2.5..4.5).contains(&ratio), "{ratio}, with some queueing in both round trips");
    }
}

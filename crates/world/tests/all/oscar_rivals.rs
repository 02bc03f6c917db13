//! OSCAR's rivals that go by round trips, and PowerTCP, against closed forms: where backlogged flows settle.

use farspan_scenario::Request;
use farspan_sim::{ProbeKind, SampleId};
use farspan_units::{Duration, FlowId, PortId, Time};
use farspan_world::{EngineKind, World};

/// `oscar/equilibrium` with so many backlogged flows, from 3 to 6 ms.
struct Equilibrium {
    /// Mean queue before the receiver, in KB.
    queue: f64,
    utilization: f64,
    /// Jain's index of the flows' goodputs.
    jain: f64,
}

fn equilibrium(scheme: &str, profile: &str, flows: u32, set: &[&str]) -> Equilibrium {
    let senders: Vec<_> = (0..flows).map(|host| host.to_string()).collect();
    let mut all = vec![
        format!("topology.hosts={}", flows + 1),
        format!("workload.receiver={flows}"),
        format!("workload.senders=[{}]", senders.join(", ")),
    ];
    all.extend(set.iter().map(|&text| text.to_owned()));
    let (of_scheme, of_profile) = (Some(scheme.to_owned()), Some(profile.to_owned()));
    let request =
        Request { scheme: of_scheme, profile: of_profile, set: all, ..Request::new("oscar/equilibrium") };
    let world = World::build(&request.resolve().unwrap()).unwrap();
    let outcome = farspan_sim::run(&world.spec, EngineKind::Windowed, &mut |_| true);
    let name = format!("->host{flows}#0");
    let port = outcome.ports.iter().position(|port| port.name.ends_with(&name)).unwrap();
    let port = SampleId::Port(PortId(port as u32));
    let mean = |probe, id| {
        let [from, to] = [3, 6].map(|ms| Time::ZERO + Duration::from_ms(ms));
        let samples = outcome.samples.iter().filter(|sample| sample.at > from && sample.at <= to);
        let values = samples.filter(|sample| sample.probe == probe && sample.id == id);
        let values: Vec<_> = values.map(|sample| sample.value).collect();
        assert!(!values.is_empty(), "{probe:?} of {id:?} was sampled");
        values.iter().sum::<f64>() / values.len() as f64
    };
    let rates: Vec<_> = (0..flows).map(|flow| mean(ProbeKind::Rate, SampleId::Flow(FlowId(flow)))).collect();
    let sum: f64 = rates.iter().sum();
    let found = Equilibrium {
        queue: mean(ProbeKind::Queue, port) / 1e3,
        utilization: mean(ProbeKind::Utilization, port),
        jain: sum * sum / (f64::from(flows) * rates.iter().map(|rate| rate * rate).sum::<f64>()),
    };
    let Equilibrium { queue, utilization, jain } = found;
    println!(
        "{scheme:14} {profile:8} {flows:2} {set:?}: {queue:6.1} KB queued, {utilization:.4} used, goodput {:.4}, Jain {jain:.4}",
        sum / 100e9
    );
    found
}

/// The queue, in KB, at which the round trip is Swift's target: C x (target(cwnd) - base round trip), with the windows of all
/// flows in the link and the queue. `in_bytes`: of a unit of window.
fn swift_queue(flows: u32, base_target: f64, fs_range: f64, [fs_min, fs_max]: [f64; 2], unit: f64) -> f64 {
    const BYTES_A_US: f64 = 12_500.0;
    // 12 us, and a packet of 1,054 B and an ACK of 54 B over each of two links.
    let base_rtt = 12.0 + 2.0 * (1054.0 + 54.0) / BYTES_A_US;
    let root = |cwnd: f64| 1.0 / cwnd.sqrt();
    let mut queue = 0.0;
    for _ in 0..1000 {
        let cwnd = (BYTES_A_US * base_rtt + queue) / f64::from(flows) / unit;
        let scaled = (root(cwnd) - root(fs_max)) / (root(fs_min) - root(fs_max));
        queue += 0.1 * (BYTES_A_US * (base_target + fs_range * scaled.clamp(0.0, 1.0)) - queue);
    }
    queue / 1e3
}

#[test]
fn swift_queues_what_its_target_says() {
    for (flows, published) in [(2, 156.0), (8, 169.0), (32, 198.0)] {
        let expected = swift_queue(flows, 12.5, 50.0, [0.1, 100.0], 1054.0);
        assert!((expected / published - 1.0_f64).abs() < 0.02, "{expected}");
        let found = equilibrium("swift", "paper", flows, &[]);
        assert!((found.queue / expected - 1.0).abs() <= 0.12, "{flows}: {} KB of {expected}", found.queue);
        assert!(
            found.utilization >= 0.99 && found.jain >= 0.9,
            "{flows}: {} {}",
            found.utilization,
            found.jain
        );
    }
}

#[test]
fn the_published_swift_queues_what_its_target_says_or_its_largest_windows() {
    let bdp = 152.2_f64;
    for flows in [2, 8, 32] {
        let target = swift_queue(flows, 25.0, 100.0, [0.1, 1.0], bdp * 1e3);
        let expected = target.min(bdp * (f64::from(flows) - 1.0));
        let found = equilibrium("swift", "artifact", flows, &[]);
        assert!((found.queue / expected - 1.0).abs() <= 0.12, "{flows}: {} KB of {expected}", found.queue);
        assert!(
            found.utilization >= 0.99 && found.jain >= 0.9,
            "{flows}: {} {}",
            found.utilization,
            found.jain
        );
    }
}

#[test]
fn powertcp_fills_the_link_and_queues_next_to_nothing() {
    for profile in ["paper", "artifact"] {
        for flows in [2, 8, 32] {
            let found = equilibrium("powertcp", profile, flows, &[]);
            assert!(found.utilization >= 0.9, "{flows}: {}", found.utilization);
            assert!(found.queue <= 60.0, "{flows}: {} KB", found.queue);
            assert!(found.jain >= 0.9, "{flows}: {}", found.jain);
        }
    }
}

#[test]
fn theta_powertcp_leaves_a_part_of_the_link_to_two_flows_and_fills_it_with_more() {
    for (flows, least) in [(2, 0.65), (8, 0.95), (32, 0.95)] {
        let found = equilibrium("theta-powertcp", "paper", flows, &[]);
        assert!(found.utilization >= least, "{flows}: {}", found.utilization);
        assert!(found.queue <= 60.0 && found.jain >= 0.9, "{flows}: {} KB, Jain {}", found.queue, found.jain);
    }
}

#[test]
fn without_the_floor_of_the_arrival_rate_queues_are_many_times_as_long() {
    let queue = |scheme, flows, floor, start| {
        let floor = format!("scheme.intra.congestion.arrival_floor={floor:?}");
        let start = format!("transport.start={start}");
        equilibrium(scheme, "paper", flows, &[&floor, &start]).queue
    };
    for (scheme, flows, start) in [("powertcp", 2, "144000B"), ("theta-powertcp", 32, "bdp")] {
        let [with, without] = [0.5, 0.0].map(|floor| queue(scheme, flows, floor, start));
        assert!(without > 9.0 * with, "{scheme}: {without} KB, and {with} with it");
    }
    // It takes a first window of a whole bandwidth-delay product of payload each: from a little less, the queue is as with it.
    assert!(queue("theta-powertcp", 32, 0.0, "144000B") < 60.0);
}

#[test]
fn timely_fills_the_link_from_a_fair_start_and_not_from_the_line_rate() {
    let fair = equilibrium("timely", "paper", 8, &["transport.start=bdp/8"]);
    assert!(fair.utilization >= 0.95 && fair.jain >= 0.9, "{} {}", fair.utilization, fair.jain);
    // The formulas of published code leave most of the link whatever the start.
    for start in ["transport.start=144000B", "transport.start=bdp/8"] {
        let code = equilibrium("timely", "artifact", 8, &[start]);
        assert!(code.utilization > 0.1 && code.utilization < 0.5, "{}", code.utilization);
    }
    let full = equilibrium("timely", "paper", 8, &[]);
    assert!(full.utilization > 0.1 && full.utilization < 0.5, "{}", full.utilization);
}

//! OSCAR's small experiments, against closed forms: where utilisation, queues and shares settle.

use farspan_scenario::Request;
use farspan_sim::{Outcome, ProbeKind, SampleId};
use farspan_units::{Duration, FlowId, PortId, Time};
use farspan_world::{EngineKind, World};

const LINE_RATE: f64 = 100e9;

fn run(scenario: &str, scheme: &str, profile: &str, set: &[String]) -> Outcome {
    let (scheme, profile) = (Some(scheme.to_owned()), Some(profile.to_owned()));
    let request = Request { scheme, profile, set: set.to_vec(), ..Request::new(scenario) };
    let world = World::build(&request.resolve().unwrap()).unwrap();
    farspan_sim::run(&world.spec, EngineKind::Windowed, &mut |_| true)
}

/// `workload.senders` and `receiver` of a star with so many senders.
fn senders(count: u32) -> Vec<String> {
    let list: Vec<_> = (0..count).map(|host| host.to_string()).collect();
    vec![
        format!("topology.hosts={}", count + 1),
        format!("workload.receiver={count}"),
        format!("workload.senders=[{}]", list.join(", ")),
    ]
}

/// The index of the port whose name ends so.
fn place(outcome: &Outcome, name: &str) -> usize {
    let place = outcome.ports.iter().position(|port| port.name.ends_with(name));
    place.unwrap_or_else(|| panic!("there is a port {name}"))
}

/// The samples that a run took in a period.
struct Period<'a> {
    outcome: &'a Outcome,
    from: Time,
    to: Time,
}

impl<'a> Period<'a> {
    fn new(outcome: &'a Outcome, from_us: u64, to_us: u64) -> Self {
        let at = |us| Time::ZERO + Duration::from_us(us);
        Self { outcome, from: at(from_us), to: at(to_us) }
    }

    fn values(&self, probe: ProbeKind, id: SampleId) -> Vec<f64> {
        let samples = self.outcome.samples.iter();
        let samples = samples.filter(|sample| sample.at > self.from && sample.at <= self.to);
        samples.filter(|sample| sample.probe == probe && sample.id == id).map(|sample| sample.value).collect()
    }

    fn mean(&self, probe: ProbeKind, id: SampleId) -> f64 {
        let values = self.values(probe, id);
        assert!(!values.is_empty(), "{probe:?} of {id:?} was sampled");
        values.iter().sum::<f64>() / values.len() as f64
    }

    /// The port whose name ends so.
    fn port(&self, name: &str) -> SampleId {
        SampleId::Port(PortId(place(self.outcome, name) as u32))
    }

    fn queue(&self, port: &str) -> f64 {
        self.mean(ProbeKind::Queue, self.port(port))
    }

    fn utilization(&self, port: &str) -> f64 {
        self.mean(ProbeKind::Utilization, self.port(port))
    }

    /// Goodput of a flow, as a part of the line rate.
    fn goodput(&self, flow: FlowId) -> f64 {
        self.mean(ProbeKind::Rate, SampleId::Flow(flow)) / LINE_RATE
    }

    /// Goodput of each flow.
    fn goodputs(&self) -> Vec<f64> {
        (0..self.outcome.flows.len() as u32).map(|flow| self.goodput(FlowId(flow))).collect()
    }
}

fn jain(shares: &[f64]) -> f64 {
    let sum: f64 = shares.iter().sum();
    sum * sum / (shares.len() as f64 * shares.iter().map(|share| share * share).sum::<f64>())
}

/// Where backlogged flows settle from 3 to 6 ms.
struct Equilibrium {
    queue: f64,
    utilization: f64,
    goodput: f64,
    jain: f64,
}

fn equilibrium(scheme: &str, profile: &str, flows: u32) -> Equilibrium {
    let outcome = run("oscar/equilibrium", scheme, profile, &senders(flows));
    let period = Period::new(&outcome, 3000, 6000);
    let port = format!("->host{flows}#0");
    let goodputs = period.goodputs();
    let found = Equilibrium {
        queue: period.queue(&port) / 1e3,
        utilization: period.utilization(&port),
        goodput: goodputs.iter().sum(),
        jain: jain(&goodputs),
    };
    let Equilibrium { queue, utilization, goodput, jain } = found;
    println!(
        "{scheme:9} {profile:8} {flows:2}: {queue:6.1} KB queued, {utilization:.4} used, goodput {goodput:.4}, Jain {jain:.4}"
    );
    found
}

#[test]
fn hpcc_uses_95_percent_of_the_link_and_queues_next_to_nothing() {
    for flows in [2, 8, 32] {
        let found = equilibrium("hpcc", "paper", flows);
        assert!((0.94..=0.96).contains(&found.utilization), "{flows}: {}", found.utilization);
        assert!(found.queue <= 20.0, "{flows}: {} KB", found.queue);
        // 1,000 of 1,096 B are payload.
        assert!((0.855..=0.875).contains(&found.goodput), "{flows}: {}", found.goodput);
        assert!(found.jain >= 0.9, "{flows}: {}", found.jain);
    }
}

#[test]
fn hpcc_star_queues_half_a_bdp() {
    for flows in [2, 8, 32] {
        let found = equilibrium("hpcc-star", "paper", flows);
        assert!((70.0..=82.0).contains(&found.queue), "{flows}: {} KB", found.queue);
        assert!(found.jain >= 0.9, "{flows}: {}", found.jain);
    }
}

#[test]
fn oscar_queues_what_its_target_says() {
    for profile in ["paper", "artifact"] {
        for flows in [2, 8, 32] {
            let found = equilibrium("oscar", profile, flows);
            assert!((60.0..=105.0).contains(&found.queue), "{flows}: {} KB", found.queue);
            assert!(found.jain >= 0.9, "{flows}: {}", found.jain);
        }
    }
}

/// The largest queue of an incast, and its mean in a period in which all flows send, in KB.
fn incast(profile: &str, flows: u32, set: &[&str]) -> (f64, f64) {
    // The first windows have left, at 12 us each, and no flow has ended, which takes it 48 us each.
    let (from_us, to_us) = (u64::from(flows) * 22, u64::from(flows) * 36);
    let mut all = vec![
        format!("topology.hosts={}", flows + 1),
        format!("workload.receiver={flows}"),
        format!("workload.degree={flows}"),
    ];
    all.extend(set.iter().map(|&text| text.to_owned()));
    let outcome = run("oscar/incast", "oscar", profile, &all);
    let port = format!("->host{flows}#0");
    let first = outcome.flows.iter().filter_map(|flow| flow.finish).min().unwrap();
    assert!(first > Time::ZERO + Duration::from_us(to_us), "flows end from {first} on");
    let peak = outcome.ports[place(&outcome, &port)].max_queue.as_f64() / 1e3;
    let steady = Period::new(&outcome, from_us, to_us).queue(&port) / 1e3;
    println!("oscar {profile}, {flows} flows {set:?}: peak {peak:.0} KB, steady {steady:.0} KB");
    (peak, steady)
}

#[test]
fn an_incast_of_oscar_peaks_at_the_first_windows_and_settles_a_little_above_the_target() {
    for profile in ["paper", "artifact"] {
        let (peak, steady) = incast(profile, 200, &[]);
        // 144 packets of 1,060 B each.
        let first_windows = 200.0 * 144.0 * 1.06;
        assert!((peak / first_windows - 1.0).abs() <= 0.03, "{peak} KB of {first_windows}");
        assert!((150.0..=350.0).contains(&steady), "{steady} KB");
    }
    let (_, steady) = incast("paper", 1000, &[]);
    assert!((800.0..=1000.0).contains(&steady), "{steady} KB");
}

#[test]
fn the_steady_queue_grows_with_the_flows_and_the_additive_increase() {
    let steady = |flows, increase: f64| {
        let set =
            ["intra", "inter"].map(|class| format!("scheme.{class}.congestion.additive_increase={increase}"));
        incast("paper", flows, &set.each_ref().map(String::as_str)).1
    };
    let found = [steady(200, 0.01), steady(200, 0.03), steady(400, 0.01)];
    assert!(found[1] > found[0] && found[2] > found[0], "{found:?}");
}

#[test]
fn in_a_parking_lot_both_links_are_full_and_the_long_flow_gets_its_part() {
    for profile in ["paper", "artifact"] {
        let outcome = run("oscar/parking-lot", "oscar", profile, &[]);
        let period = Period::new(&outcome, 3000, 6000);
        let used = ["switch0->switch1#0", "switch1->switch2#0"].map(|port| period.utilization(port));
        // On the wire, headers counted.
        let rates: Vec<_> = period.goodputs().iter().map(|goodput| goodput * 100.0 * 1.06).collect();
        println!("oscar {profile}: {used:.4?} used; the cross flows and the long one at {rates:.1?} Gb/s");
        assert!(used.iter().all(|used| *used >= 0.98), "{used:?}");
        assert!((17.0..=30.0).contains(&rates[2]), "{} Gb/s", rates[2]);
    }
}

#[test]
fn a_burst_takes_its_part_of_the_link_and_gives_it_back() {
    for (scheme, profile) in
        [("hpcc", "paper"), ("hpcc-star", "paper"), ("oscar", "paper"), ("oscar", "artifact")]
    {
        let outcome = run("oscar/microburst", scheme, profile, &[]);
        let shorts = &outcome.flows[1..];
        let end = shorts.iter().map(|flow| flow.finish.unwrap()).max().unwrap().since(Time::ZERO);
        let long = |from, to| Period::new(&outcome, from, to).goodput(FlowId(0));
        let (before, during, after) = (long(300, 490), long(900, 1200), long(end.as_ns() / 1000 + 300, 4950));
        let end = end.as_ns() as f64 / 1e3;
        println!(
            "{scheme} {profile}: the long flow at {before:.3}, {during:.3} and {after:.3}; the burst ends at {end:.0} us"
        );
        assert!((0.03..=0.3).contains(&during), "{during} of the link beside nine others");
        assert!(before >= 0.8 && after >= 0.8, "{before} before, {after} after");
    }
}

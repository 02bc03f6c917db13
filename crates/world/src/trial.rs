//! The cost of a run on this machine, by a trial before it runs.

use crate::assemble::usual_nic;
use crate::clock::{cpu_time, now};
use crate::memory::OF_RECORD;
use crate::runner::peak_rss;
use crate::{EngineKind, Estimate, Progress, World, run};
use farspan_scenario::Resolved;
use farspan_sim::{Flow, ProbeKind, Probes, Spec};
use farspan_units::{FlowId, Time};
use std::borrow::Cow;
use std::time::Duration;

/// CPU time for which a scenario is tried out, to learn this machine's speed and what is sent again.
const TRIAL: Duration = Duration::from_millis(500);
/// The trial ends after this wall time, however little CPU time it got.
const LONGEST_TRIAL: Duration = Duration::from_secs(5);

/// Estimated cost of a run on one thread.
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub struct Cost {
    /// Counted from the scenario.
    pub estimate: Estimate,
    /// Packet-hops, those of retransmissions included: of a run that ended within the trial its own, else those of the trial and as many more
    /// as follow from it.
    pub packet_hops: u64,
    /// Packet-hops a second of CPU time, in the trial.
    pub speed: f64,
    /// Seconds of CPU time, from and to.
    pub seconds: [f64; 2],
    /// About so much memory, in bytes.
    pub memory: u64,
}

/// The factor by which the CPU time of one run differs from that of the next, by caches and by what else the machine does.
const WITHIN_OF_WHOLE: f64 = 1.5;
/// The further factor where most of a run was not tried out.
const WITHIN_OF_PART: f64 = 2.0;
/// CPU seconds that a sample takes, about.
const SECONDS_A_SAMPLE: f64 = 50e-9;

/// A trial samples nothing: in half a second samples could take all memory.
fn without_probes(world: &World) -> Cow<'_, World> {
    let probes = &world.spec.probes;
    if probes.rate_interval.is_none() && probes.queue_interval.is_none() {
        return Cow::Borrowed(world);
    }
    let mut bare = world.clone();
    bare.spec.probes = Probes::default();
    Cow::Owned(bare)
}

/// How far a trial has come.
#[derive(Clone, Copy, Debug)]
struct Moment {
    /// CPU time of this thread.
    cpu: Duration,
    /// Wall time since the trial began.
    wall: Duration,
    run: Progress,
}

/// A run that ended early, or not.
struct Trial {
    /// Caches are cold before.
    middle: Moment,
    last: Moment,
    /// CPU time of this thread when the results stood.
    cpu: Duration,
    /// Whether the run did not end in it.
    is_part: bool,
    /// Simulated time for which flows that are sampled were under way, all together, in ps.
    sampled: f64,
}

impl Trial {
    fn of(resolved: &Resolved, world: &World) -> Self {
        let wall = now();
        let start = world.spec.flows.iter().map(|flow| flow.start).min().unwrap_or(Time::ZERO);
        let begun = start + world.intra.or(world.inter).map_or(Default::default(), |path| path.base_rtt);
        let (mut moments, mut first): (Vec<Moment>, usize) = (Vec::new(), 0);
        let results = run(resolved, &without_probes(world), EngineKind::Windowed, &mut |progress| {
            let last = Moment { cpu: cpu_time(wall), wall: wall.elapsed(), run: *progress };
            moments.push(last);
            // Up to the first call the simulator prepares the run. Where many flows begin at once, their first round trip is dear.
            if progress.now < begun {
                first = moments.len() - 1;
            }
            last.cpu - moments[first].cpu < TRIAL && last.wall - moments[first].wall < LONGEST_TRIAL
        });
        let mut last = moments[moments.len() - 1];
        let summary = &results.summary;
        if !summary.partial {
            let end = Time::from_ps((summary.sim_time_s * 1e12) as u64);
            let run = Progress { now: end, packet_hops: summary.packet_hops, ..last.run };
            last = Moment { cpu: cpu_time(wall), run, ..last };
        }
        // A trial that got no farther is better than none.
        let first = if first + 1 < moments.len() { first } else { 0 };
        let half = moments[first].cpu + (last.cpu - moments[first].cpu) / 2;
        let middle =
            moments[first..].iter().rev().find(|moment| moment.cpu <= half).unwrap_or(&moments[first]);
        let under_way = |id: &FlowId| {
            let flow = &results.flows[id.index()].outcome;
            flow.started.then(|| flow.finish.unwrap_or(last.run.now).since(flow.start).as_ps() as f64)
        };
        let sampled = world.spec.probes.rate_flows.iter().filter_map(under_way).sum();
        Self { middle: *middle, last, cpu: cpu_time(wall), is_part: summary.partial, sampled }
    }

    /// Packet-hops still to come until this share of the payload is delivered, or until `stop`, and the simulated time of that, in ps.
    /// `counted`: packet-hops of all flows without retransmissions.
    fn to_come(&self, stop: Time, share: f64, counted: u64) -> (f64, f64) {
        let (middle, last) = (&self.middle.run, &self.last.run);
        let now = last.now.as_ps() as f64;
        if !self.is_part {
            return (0.0, now);
        }
        // Hops in a time are those of the second half: the network fills first.
        let hops = (last.packet_hops - middle.packet_hops).max(1) as f64;
        let rate = hops / ((last.now - middle.now).as_ps().max(1) as f64);
        let until_stop = rate * (stop - last.now).as_ps() as f64;
        let counted = (counted as f64 * share) as u64;
        let (sent, left) = (last.packet_hops as f64, counted.saturating_sub(last.packet_hops));
        let until_delivered = match last.fraction > middle.fraction {
            // Hops for a payload are those of the whole trial: what it sent again stands for what will be.
            true => sent * (share - last.fraction).max(0.0) / last.fraction,
            // Nothing has arrived yet.
            false if left > 0 => left as f64,
            // What is left never arrives.
            false => f64::INFINITY,
        };
        let to_come = until_delivered.min(until_stop);
        (to_come, now + to_come / rate)
    }
}

impl Trial {
    /// The samples of a run that ends at `end`, in ps.
    fn samples(&self, spec: &Spec, end: f64) -> f64 {
        let probes = &spec.probes;
        let kinds = |all: &[ProbeKind]| all.iter().filter(|kind| probes.series.has(**kind)).count() as f64;
        let of_ports = kinds(&[ProbeKind::Queue, ProbeKind::PhantomQueue, ProbeKind::Utilization]);
        let of_flows = kinds(&[ProbeKind::Rate, ProbeKind::Cwnd, ProbeKind::Rtt, ProbeKind::Signal]);
        let ports =
            of_ports * probes.queue_ports.len() as f64 + (probes.links.len() + spec.proxies.len()) as f64;
        let flows = self.sampled / (self.last.run.now.as_ps().max(1) as f64);
        let count = |interval: Option<farspan_units::Duration>, sampled: f64| {
            interval.map_or(0.0, |interval| sampled * end / interval.as_ps() as f64)
        };
        count(probes.queue_interval, ports) + count(probes.rate_interval, of_flows * flows)
    }
}

/// How much longer than alone a flow takes in a busy network, about.
const BUSY: f64 = 3.0;

/// The share of the payload that the run moves: with a warm-up it ends with the measured flows, and what arrives after them is left out.
fn moved(spec: &Spec) -> f64 {
    if spec.stop.when_measured_end.is_none() {
        return 1.0;
    }
    let nic = usual_nic(&spec.network);
    let end = |flow: &Flow| flow.start + nic.transmission(flow.size).mul_f64(BUSY);
    let Some(end) = spec.flows.iter().filter(|flow| flow.measured).map(end).max() else { return 1.0 };
    let payload = |flow: &Flow| flow.size.as_f64();
    let all: f64 = spec.flows.iter().map(payload).sum();
    let begun: f64 = spec.flows.iter().filter(|flow| flow.start <= end).map(payload).sum();
    begun / all.max(1.0)
}

impl Cost {
    /// Tries the run out on this machine: short runs end within the trial.
    #[must_use]
    pub fn of(resolved: &Resolved, world: &World) -> Self {
        let trial = Trial::of(resolved, world);
        let estimate = world.estimate();
        let (middle, last) = (&trial.middle, &trial.last);
        let (to_come, end) = trial.to_come(world.spec.stop.time, moved(&world.spec), estimate.packet_hops);
        let hops = last.run.packet_hops - middle.run.packet_hops;
        let speed = hops as f64 / (last.cpu - middle.cpu).as_secs_f64().max(1e-6);
        let samples = trial.samples(&world.spec, end);
        // This thread has read the scenario and built the world before, which a run does, too.
        let seconds = trial.cpu.as_secs_f64() + to_come / speed.max(1.0) + samples * SECONDS_A_SAMPLE;
        let within = if trial.is_part { WITHIN_OF_PART } else { WITHIN_OF_WHOLE };
        Self {
            packet_hops: last.run.packet_hops + to_come as u64,
            speed,
            seconds: [seconds / within, seconds * within],
            memory: peak_rss() + (samples * OF_RECORD as f64) as u64,
            estimate,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use farspan_scenario::Request;

    /// Half of a trial, which has come so far.
    fn moment(us: u64, fraction: f64, packet_hops: u64) -> Moment {
        let now = Time::ZERO + farspan_units::Duration::from_us(us);
        let run = Progress { now, finished: 0, flows: 8, fraction, packet_hops };
        Moment { cpu: Duration::ZERO, wall: Duration::ZERO, run }
    }

    fn to_come(middle: Moment, last: Moment, stop_us: u64) -> (f64, f64) {
        let trial = Trial { middle, last, cpu: Duration::ZERO, is_part: true, sampled: 0.0 };
        let (hops, end) = trial.to_come(moment(stop_us, 0.0, 0).run.now, 1.0, 1000);
        (hops.round(), (end / 1e6).round())
    }

    #[test]
    fn payload_that_is_left_takes_as_many_packet_hops_as_the_rest() {
        let (middle, last) = (moment(10, 0.25, 300), moment(20, 0.5, 500));
        assert_eq!(to_come(middle, last, 1000), (500.0, 45.0));
        assert_eq!(to_come(middle, last, 25), (100.0, 25.0), "the run stops before");
        let whole = Trial { middle, last, cpu: Duration::ZERO, is_part: false, sampled: 0.0 };
        assert_eq!(whole.to_come(Time::MAX, 1.0, 1000), (0.0, 20e6));
    }

    #[test]
    fn where_nothing_arrives_a_run_goes_on_until_it_stops() {
        let (middle, last) = (moment(10, 0.5, 1000), moment(20, 0.5, 1500));
        assert_eq!(to_come(middle, last, 100), (4000.0, 100.0));
        let (middle, last) = (moment(10, 0.0, 300), moment(20, 0.0, 500));
        assert_eq!(to_come(middle, last, 1000), (500.0, 45.0), "yet: as many as were counted");
    }

    #[test]
    fn with_a_warm_up_what_arrives_after_the_measured_flows_is_left_out() {
        let share = |scenario: &str, set: &[&str]| {
            let set = set.iter().map(|set| (*set).to_owned()).collect();
            let resolved = Request { set, ..Request::new(scenario) }.resolve().unwrap();
            moved(&World::build(&resolved).unwrap().spec)
        };
        let web = ["workload.flows=20", "stop.time=1s"];
        let share_with = |warmup| share("topology/leaf-spine", &[web[0], web[1], warmup]);
        assert_eq!(share_with("measure.warmup=0ms"), 1.0);
        let with = share_with("measure.warmup=1ms");
        assert!(with > 0.0 && with < 0.1, "{with}");
        // All of an incast begins at once: however long it takes, it is measured.
        let incast = ["workload.start=5us", "measure.warmup=5us"];
        assert_eq!(share("uno/incast-mixed", &incast), 1.0);
        let (middle, last) = (moment(10, 0.25, 300), moment(20, 0.5, 500));
        let trial = Trial { middle, last, cpu: Duration::ZERO, is_part: true, sampled: 0.0 };
        let stop = moment(1000, 0.0, 0).run.now;
        assert_eq!(trial.to_come(stop, 0.75, 1000).0.round(), 250.0);
        assert_eq!(trial.to_come(stop, 0.25, 1000).0.round(), 0.0, "it is there already");
    }
}

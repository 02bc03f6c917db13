//! The cost of a run on this machine, before it runs.

use crate::clock::{cpu_time, now};
use crate::runner::peak_rss;
use crate::{EngineKind, Estimate, World, run};
use farspan_scenario::Resolved;
use farspan_sim::Probes;
use std::borrow::Cow;
use std::time::Duration;

/// CPU time for which a scenario is tried out, to learn this machine's speed.
const TRIAL: Duration = Duration::from_millis(500);
/// The trial ends after this wall time, however little CPU time it got.
const LONGEST_TRIAL: Duration = Duration::from_secs(3);

/// Estimated cost of a run on one thread.
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub struct Cost {
    /// Counted from the scenario.
    pub estimate: Estimate,
    /// Packet-hops a second of CPU time, in a trial.
    pub speed: f64,
    /// Seconds of CPU time.
    pub seconds: f64,
    /// Whether it will take longer: links are offered more than they carry, and what they drop is sent again.
    pub at_least: bool,
    /// At most so much memory, in bytes.
    pub memory: u64,
}

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

impl Cost {
    /// Packet-hops are counted, and so are samples; the time of packet-hops follows from a short trial on this machine.
    #[must_use]
    pub fn of(resolved: &Resolved, world: &World) -> Self {
        let estimate = world.estimate();
        let wall = now();
        let mut began = None;
        // Up to the first call the simulator prepares the run; and caches are cold in the first half.
        let (mut middle, mut last) = (None, (Duration::ZERO, 0));
        let trial = run(resolved, &without_probes(world), EngineKind::Windowed, &mut |progress| {
            let used = cpu_time(wall);
            let began = *began.get_or_insert(used);
            last = (used - began, progress.packet_hops);
            if last.0 > TRIAL / 2 {
                middle.get_or_insert(last);
            }
            last.0 < TRIAL && wall.elapsed() < LONGEST_TRIAL
        });
        let (from, hops) = middle.filter(|middle| middle.1 < last.1).unwrap_or_default();
        let speed = (last.1 - hops) as f64 / (last.0 - from).as_secs_f64().max(1e-6);
        let seconds = match trial.summary.partial {
            true => estimate.packet_hops as f64 / speed.max(1.0),
            false => cpu_time(wall).saturating_sub(began.unwrap_or_default()).as_secs_f64(),
        };
        let seconds = seconds + world.samples() * SECONDS_A_SAMPLE;
        let load = &world.offered_load;
        let tiers = load.wan.iter().map(|way| way.load).chain([load.host, load.fabric]);
        let at_least = tiers.flatten().any(|load| load >= 1.0);
        Self { at_least, memory: peak_rss() + estimate.memory_bytes, estimate, speed, seconds }
    }
}

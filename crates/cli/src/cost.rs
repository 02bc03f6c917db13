//! The cost of a run on this machine, estimated before it runs.

use crate::clock::{cpu_time, now};
use crate::format::{bytes, seconds, with_prefix};
use crate::output;
use crate::runner::peak_rss;
use farspan_scenario::{EngineKind, Estimate, Resolved, World};
use std::time::Duration;

/// CPU time for which a scenario is tried out, to learn this machine's speed.
const TRIAL: Duration = Duration::from_millis(500);
/// The trial ends after this wall time, however little CPU time it got.
const LONGEST_TRIAL: Duration = Duration::from_secs(3);
/// Runs that take longer say so before.
const LONG: f64 = 60.0;
/// Runs that take longer say so even if asked to be quiet.
const VERY_LONG: f64 = 600.0;
/// No core does so many packet-hops a second: what is short at this speed needs no trial.
const FASTEST: f64 = 40e6;

/// Estimated cost of a run on one thread.
pub struct Cost {
    /// Counted from the scenario.
    pub estimate: Estimate,
    /// Packet-hops a second of CPU time, in a trial.
    pub speed: f64,
    /// CPU time.
    pub seconds: f64,
    /// Whether it will take longer: links are offered more than they carry, and what they drop is sent again.
    pub at_least: bool,
    /// At most so much memory.
    pub memory: u64,
}

impl Cost {
    /// Packet-hops are counted; the time follows from a short trial on this machine.
    pub fn of(resolved: &Resolved, world: &World) -> Self {
        let estimate = world.estimate();
        let wall = now();
        let mut began = None;
        // Up to the first call the simulator prepares the run; and caches are cold in the first half.
        let (mut middle, mut last) = (None, (Duration::ZERO, 0));
        let trial = farspan_scenario::run(resolved, world, EngineKind::Windowed, &mut |progress| {
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
        let load = &world.offered_load;
        let tiers = load.wan.iter().map(|way| way.load).chain([load.host, load.fabric]);
        let at_least = tiers.flatten().any(|load| load >= 1.0);
        Self { at_least, memory: peak_rss() + estimate.memory_bytes, estimate, speed, seconds }
    }

    const fn bound(&self) -> &'static str {
        if self.at_least { "at least" } else { "about" }
    }

    fn work(&self) -> String {
        with_prefix(self.estimate.packet_hops as f64, "packet-hops")
    }

    /// As lines of `check`.
    pub fn lines(&self) -> [String; 4] {
        let Estimate { flows, payload_bytes, .. } = self.estimate;
        [
            format!("flows: {flows}, payload {}", bytes(Some(payload_bytes as f64))),
            format!("work: about {}, without retransmissions", self.work()),
            format!(
                "time: {} {} here ({} of CPU time in a short trial)",
                self.bound(),
                seconds(self.seconds),
                with_prefix(self.speed, "packet-hops/s")
            ),
            format!("memory: at most about {}", bytes(Some(self.memory as f64))),
        ]
    }
}

/// Says what so many runs, each on so many threads, will cost, if they take more than a minute; if `quiet`, more than
/// ten, or nobody knows how many.
pub fn announce(resolved: &Resolved, world: &World, (runs, threads): (usize, u16), quiet: bool) {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let at_a_time = (cores / usize::from(threads)).clamp(1, runs.max(1));
    let rounds = runs.div_ceil(at_a_time) as f64;
    if world.estimate().packet_hops as f64 / FASTEST * rounds < LONG {
        return;
    }
    let cost = Cost::of(resolved, world);
    let time = cost.seconds * rounds / f64::from(threads);
    if time < if quiet && !cost.at_least { VERY_LONG } else { LONG } {
        return;
    }
    let memory = bytes(Some((cost.memory * at_a_time as u64) as f64));
    let each = if runs > 1 { format!("{runs} runs of ") } else { String::new() };
    output::note(&format!(
        "{each}about {}: {} {} here, at most {memory} of memory",
        cost.work(),
        cost.bound(),
        seconds(time)
    ));
}

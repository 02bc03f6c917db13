//! The estimated cost of runs, as people read it.

use farspan_scenario::Resolved;
use farspan_sweep::{Planned, Point};
use farspan_terminal::format::{bytes, seconds, with_prefix};
use farspan_terminal::interrupt::interrupted;
use farspan_terminal::output;
use farspan_world::{Cost, Estimate, World};
use std::collections::BTreeMap;
use std::thread;

/// Batches that take longer say so before.
const LONG: f64 = 60.0;
/// Batches that take longer say so even if asked to be quiet.
const VERY_LONG: f64 = 600.0;
/// Every core does at least so many packet-hops a second: what is short at this speed needs no trial.
const SLOWEST: f64 = 4e6;

fn work(cost: &Cost) -> String {
    with_prefix(cost.packet_hops as f64, "packet-hops")
}

/// Seconds from and to, `times` over.
fn range(cost: &Cost, times: f64) -> String {
    let [from, to] = cost.seconds.map(|x| x * times);
    if to < 10.0 {
        return format!("{from:.2} to {to:.2} s");
    }
    format!("{} to {}", seconds(from), seconds(to))
}

/// A cost as lines of `check`.
pub fn lines(cost: &Cost) -> [String; 4] {
    let Estimate { flows, payload_bytes, .. } = cost.estimate;
    [
        format!("flows: {flows}, payload {}", bytes(Some(payload_bytes as f64))),
        format!("work: about {}, retransmissions included", work(cost)),
        format!(
            "time: {} of CPU time here ({} in a short trial)",
            range(cost, 1.0),
            with_prefix(cost.speed, "packet-hops/s")
        ),
        format!("memory: about {}", bytes(Some(cost.memory as f64))),
    ]
}

/// Lines on the cost of so many runs of a sweep in all, if they are like those tried.
pub fn of_sweep(tried: &[Cost], runs: usize) -> [String; 3] {
    let times = runs as f64 / tried.len() as f64;
    let hops: f64 = tried.iter().map(|cost| cost.packet_hops as f64).sum();
    let end = |end: usize| seconds(tried.iter().map(|cost| cost.seconds[end]).sum::<f64>() * times);
    let memory = tried.iter().map(|cost| cost.memory).max();
    [
        format!("work: about {} in all, retransmissions included", with_prefix(hops * times, "packet-hops")),
        format!("time: {} to {} of CPU time here for all runs, shared among the cores", end(0), end(1)),
        format!("memory: about {} for the largest run tried", bytes(memory.map(|memory| memory as f64))),
    ]
}

/// Runs that cost about the same.
#[derive(Clone, Copy, Debug)]
pub struct Batch {
    /// How many there are.
    pub count: usize,
    /// How many go on at a time, where there are that many.
    pub at_a_time: usize,
    /// Threads of each.
    pub threads: u16,
}

/// Says what runs like this one will cost, if they take more than a minute; if `quiet`, more than ten, or nobody knows how
/// many.
pub fn announce(resolved: &Resolved, world: &World, all: Batch, quiet: bool) {
    let Batch { count: runs, at_a_time, threads } = all;
    let at_a_time = at_a_time.clamp(1, runs.max(1));
    let rounds = runs.div_ceil(at_a_time) as f64;
    if world.estimate().packet_hops as f64 / SLOWEST * rounds < LONG {
        return;
    }
    let cost = Cost::of(resolved, world);
    let times = rounds / f64::from(threads);
    if cost.seconds[1] * times < if quiet { VERY_LONG } else { LONG } {
        return;
    }
    let memory = bytes(Some((cost.memory * at_a_time as u64) as f64));
    let each = if runs > 1 { format!("{runs} runs of ") } else { String::new() };
    output::note(&format!(
        "{each}about {}: {} here, about {memory} of memory",
        work(&cost),
        range(&cost, times)
    ));
}

/// Tries something out on a thread of its own: the CPU time of a [`Cost`] is its thread's.
///
/// # Errors
/// What it panicked with.
pub fn tried_apart<T: Send>(trial: impl FnOnce() -> T + Send) -> thread::Result<T> {
    thread::scope(|scope| scope.spawn(trial).join())
}

/// How many runs of a figure are tried out.
const TRIALS: usize = 12;

/// Says what runs of figures take, so many at a time: `always`, or if they take more than ten minutes of CPU time.
pub fn announce_figures(points: &[Point], runs: &[Planned], jobs: usize, always: bool) {
    let hops = runs.iter().map(|run| run.hops).fold(0, u64::saturating_add);
    if runs.is_empty() || !always && !can_be_very_long(hops) {
        return;
    }
    let cpu = cpu_seconds(points, runs);
    if interrupted() || !always && cpu.is_some_and(|cpu| cpu < VERY_LONG) {
        return;
    }
    let at_a_time = jobs.clamp(1, runs.len());
    let time = cpu.map_or_else(
        || "CPU time unknown, none of them can be tried out".to_owned(),
        |cpu| {
            format!(
                "about {} of CPU time here, {} with {at_a_time} at a time",
                seconds(cpu),
                seconds(cpu / at_a_time as f64)
            )
        },
    );
    let work = with_prefix(hops as f64, "packet-hops");
    output::note(&format!("{} runs to do, about {work}: {time}", runs.len()));
}

/// Whether the slowest core takes ten minutes for so many packet-hops: what is shorter needs no trial.
fn can_be_very_long(hops: u64) -> bool {
    hops as f64 >= SLOWEST * VERY_LONG
}

/// Seconds of CPU time of these runs here, from some of them; `None` if none can be tried out.
fn cpu_seconds(points: &[Point], runs: &[Planned]) -> Option<f64> {
    let hops: Vec<u64> = runs.iter().map(|run| run.hops).collect();
    let (mut per_hop, mut weight) = (0.0, 0.0);
    for (index, times) in spread_over(&hops, TRIALS) {
        if interrupted() {
            break;
        }
        let resolved = &points[runs[index].point].resolved;
        let cost = || World::build(resolved).ok().map(|world| Cost::of(resolved, &world));
        if let Some(cost) = tried_apart(cost).ok().flatten() {
            let [from, to] = cost.seconds;
            per_hop += times as f64 * (from * to).sqrt() / hops[index] as f64;
            weight += times as f64;
        }
    }
    (weight > 0.0).then(|| hops.iter().map(|hops| *hops as f64).sum::<f64>() * per_hop / weight)
}

/// The indices of the runs in the middle of each of so many equal parts of the packet-hops, and in how many of them: kinds of runs differ
/// several times in what a packet-hop takes, and most of a list can be short.
fn spread_over(hops: &[u64], parts: usize) -> BTreeMap<usize, usize> {
    let all: f64 = hops.iter().map(|hops| *hops as f64).sum();
    let mut times = BTreeMap::new();
    for part in 0..parts {
        let mut ahead = all * (part as f64 + 0.5) / parts as f64;
        let middle = hops.iter().position(|hops| {
            ahead -= *hops as f64;
            ahead < 0.0
        });
        if let Some(index) = middle {
            *times.entry(index).or_insert(0) += 1;
        }
    }
    times
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_tried_out_all_over_the_packet_hops() {
        let chosen = |hops: &[u64]| spread_over(hops, 4).into_iter().collect::<Vec<_>>();
        assert_eq!(chosen(&[10, 10, 10, 10]), [(0, 1), (1, 1), (2, 1), (3, 1)]);
        assert_eq!(chosen(&[70, 10, 10, 10]), [(0, 3), (2, 1)], "a long run stands for its parts");
        assert_eq!(chosen(&[0, 8]), [(1, 4)]);
        assert_eq!(chosen(&[]), []);
        assert_eq!(chosen(&[0, 0]), []);
    }

    #[test]
    fn what_ends_within_ten_minutes_on_any_core_needs_no_trial() {
        assert_eq!([2_399_999_999, 2_400_000_000].map(can_be_very_long), [false, true]);
    }

    #[test]
    fn a_trial_that_panics_ends_alone() {
        assert_eq!(tried_apart(|| 7).unwrap(), 7);
        assert!(tried_apart(|| -> u8 { panic!("of a test") }).is_err());
    }
}

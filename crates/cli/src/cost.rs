//! The estimated cost of runs, as people read it.

use farspan_scenario::Resolved;
use farspan_terminal::format::{bytes, seconds, with_prefix};
use farspan_terminal::output;
use farspan_world::{Cost, Estimate, World};
use std::thread;

/// Batches that take longer say so before.
const LONG: f64 = 60.0;
/// Batches that take longer say so even if asked to be quiet.
pub const VERY_LONG: f64 = 600.0;
/// Every core does at least so many packet-hops a second: what is short at this speed needs no trial.
pub const SLOWEST: f64 = 4e6;

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trial_that_panics_ends_alone() {
        assert_eq!(tried_apart(|| 7).unwrap(), 7);
        assert!(tried_apart(|| -> u8 { panic!("of a test") }).is_err());
    }
}

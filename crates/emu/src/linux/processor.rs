//! The processor of an emulation. The threads that move packets and send probes stay on one, and all else of it off that: what another does
//! there in the kernel holds them, on systems that preempt no system call.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::io;

/// The processors that the calling thread may have.
fn allowed() -> io::Result<Vec<usize>> {
    let set = sched_getaffinity(None)?;
    Ok((0..CpuSet::MAX_CPU).filter(|&processor| set.is_set(processor)).collect())
}

fn keep_to(processors: impl IntoIterator<Item = usize>) -> io::Result<()> {
    let mut set = CpuSet::new();
    processors.into_iter().for_each(|processor| set.set(processor));
    Ok(sched_setaffinity(None, &set)?)
}

/// A processor for the threads of an emulation, of those that the calling thread may have: the last that no other emulation has, or where
/// each is taken, the last. `None`: there is one alone.
pub(super) fn choose(taken: &[usize]) -> Option<usize> {
    let all = allowed().ok().filter(|all| all.len() > 1)?;
    all.iter().rev().find(|processor| !taken.contains(processor)).or(all.last()).copied()
}

/// Keeps the calling thread to a processor. Where the system refuses, it stays where it may be.
pub(super) fn stay_on(processor: Option<usize>) {
    if let Some(processor) = processor {
        let _ = keep_to([processor]);
    }
}

/// Keeps the calling thread, and the program that it becomes, off a processor, if it may have others.
pub(super) fn stay_off(processor: Option<usize>) {
    let others = allowed().unwrap_or_default().into_iter().filter(|&other| Some(other) != processor);
    let others: Vec<_> = others.collect();
    if processor.is_some() && !others.is_empty() {
        let _ = keep_to(others);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_stays_on_one_processor_and_off_another() {
        let Some(own) = choose(&[]) else { return };
        let other = choose(&[own]).unwrap();
        assert_ne!(other, own);
        assert_eq!(choose(&allowed().unwrap()), Some(own), "each is taken");
        std::thread::scope(|scope| {
            scope.spawn(|| {
                stay_off(Some(own));
                assert!(!allowed().unwrap().contains(&own));
            });
            scope.spawn(|| {
                stay_on(Some(own));
                assert_eq!(allowed().unwrap(), [own]);
                stay_off(Some(own));
                assert_eq!(allowed().unwrap(), [own], "there is no other");
            });
        });
    }
}

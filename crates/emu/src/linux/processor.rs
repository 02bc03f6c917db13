//! The processor of an emulation. Its threads stay on one, and the programs of its hosts off it: else each waits for whatever the other's
//! processor does in the kernel, which nothing interrupts on systems that preempt no system call.

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

/// A processor for the threads of an emulation, of those that the calling thread may have: the last one, or one before where so many
/// others are up. `None`: there is one alone.
pub(super) fn choose(others: usize) -> Option<usize> {
    let all = allowed().ok().filter(|all| all.len() > 1)?;
    Some(all[all.len() - 1 - others % all.len()])
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
        let Some(own) = choose(0) else { return };
        assert_ne!(choose(1), Some(own));
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

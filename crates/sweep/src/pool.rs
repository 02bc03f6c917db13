//! Work on as many threads as may run at a time, while the calling one listens.

use std::process::ChildStdin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How often the calling thread asks whether to stop.
const LISTEN_EVERY: Duration = Duration::from_millis(50);

/// Threads, each with the standard input of the child that it waits for: a child ends when that is closed.
pub struct Pool {
    stopping: AtomicBool,
    tethers: Vec<Mutex<Option<ChildStdin>>>,
}

impl Pool {
    /// A pool of `threads` threads, at least one.
    pub fn new(threads: usize) -> Self {
        let tethers = (0..threads.max(1)).map(|_| Mutex::new(None)).collect();
        Self { stopping: AtomicBool::new(false), tethers }
    }

    fn tether(&self, thread: usize) -> MutexGuard<'_, Option<ChildStdin>> {
        self.tethers[thread].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The child of a thread ends once the pool stops, or `None` is set.
    pub fn hold(&self, thread: usize, tether: Option<ChildStdin>) {
        *self.tether(thread) = tether;
        // Whoever stopped the pool in between saw the old one.
        if self.stopping() {
            *self.tether(thread) = None;
        }
    }

    /// Ends the children, and begins nothing more.
    pub fn stop(&self) {
        self.stopping.store(true, Ordering::SeqCst);
        (0..self.tethers.len()).for_each(|thread| *self.tether(thread) = None);
    }

    /// Whether it was stopped.
    pub fn stopping(&self) -> bool {
        self.stopping.load(Ordering::SeqCst)
    }

    /// Does `count` pieces of work in order, `work(thread, index)`; hands each result to `done` on the calling thread,
    /// which stops the pool once `is_stopped` says so.
    pub fn run<T: Send>(
        &self,
        count: usize,
        is_stopped: &dyn Fn() -> bool,
        work: impl Fn(usize, usize) -> T + Sync,
        mut done: impl FnMut(usize, T),
    ) {
        let next = AtomicUsize::new(0);
        let (sender, receiver) = mpsc::channel();
        std::thread::scope(|scope| {
            for thread in 0..self.tethers.len().min(count) {
                let (sender, next, work) = (sender.clone(), &next, &work);
                scope.spawn(move || {
                    while !self.stopping() {
                        let index = next.fetch_add(1, Ordering::Relaxed);
                        if index >= count || sender.send((index, work(thread, index))).is_err() {
                            return;
                        }
                    }
                });
            }
            drop(sender);
            loop {
                match receiver.recv_timeout(LISTEN_EVERY) {
                    Ok((index, result)) => done(index, result),
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => return,
                }
                if is_stopped() {
                    self.stop();
                }
            }
        });
    }
}

//! An allocator for tests that count memory. It is the system's allocator, and it counts the bytes that each thread holds. It
//! does not count its own overhead.
//!
//! A program that links this crate uses this allocator.
//!
//! ```
//! assert_eq!(farspan_counting::held(|| vec![0_u8; 100]), 100);
//! let (most, kept) = farspan_counting::peak(|| drop(vec![0_u8; 100]));
//! assert_eq!((most, kept), (100, ()));
//! ```
#![allow(unsafe_code, reason = "only an allocator can count what is allocated")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    /// Bytes that this thread holds, and the most it held since the count was last set.
    static HELD: Cell<(isize, isize)> = const { Cell::new((0, 0)) };
}

/// Each thread counts for itself, so that tests side by side do not see each other.
struct Counting;

#[global_allocator]
static COUNTING: Counting = Counting;

// SAFETY: every call goes on to the system's allocator as it came, and counting allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        change(layout.size() as isize);
        // SAFETY: the caller's promises are passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        change(-(layout.size() as isize));
        // SAFETY: the caller's promises are passed on.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        change(size as isize - layout.size() as isize);
        // SAFETY: the caller's promises are passed on.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

fn change(bytes: isize) {
    // A thread that ends has no count any more.
    let _ = HELD.try_with(|held| {
        let (now, most) = held.get();
        held.set((now + bytes, most.max(now + bytes)));
    });
}

/// Bytes that this thread holds.
#[must_use]
pub fn now() -> isize {
    HELD.get().0
}

/// Bytes that the value of `build` holds.
pub fn held<T>(build: impl FnOnce() -> T) -> isize {
    let before = now();
    let value = build();
    let after = now();
    drop(value);
    after - before
}

/// The most bytes that this thread holds at once while `run` runs, beyond those before, and its value.
pub fn peak<T>(run: impl FnOnce() -> T) -> (isize, T) {
    let before = now();
    HELD.set((before, before));
    let value = run();
    (HELD.get().1 - before, value)
}

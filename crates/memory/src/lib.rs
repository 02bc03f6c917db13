//! The allocator of farspan's binaries. A run touches memory that is scattered over tens of megabytes. With pages of 4 KiB each
//! access may walk the page table, so on Linux jemalloc maps huge pages. On other systems, and without the feature `jemalloc`,
//! it is the system's allocator.
//!
//! When memory runs out, the process says so and exits with 1. Rust's own libraries would abort, which looks like a bug. (A
//! kernel that overcommits memory may kill the process before that.)
//!
//! A program that links this crate uses this allocator. The command, the Python package and crates that extend it link it. No other
//! library does.
//!
//! ```
//! use farspan_memory as _;
//!
//! // From here on this allocator serves this allocation, as all others.
//! assert_eq!(vec![1, 2, 3].len(), 3);
//! ```
#![allow(
    unsafe_code,
    reason = "an allocator is unsafe, and jemalloc finds its options by the name of a symbol"
)]

use std::alloc::{GlobalAlloc, Layout};
use std::io::Write as _;

#[cfg(all(target_os = "linux", feature = "jemalloc"))]
mod linux {
    /// jemalloc's options, a C string: huge pages where the system gives them to who asks (`opt.thp`).
    // SAFETY: jemalloc reads a pointer to a C string under this name, and nothing else has the name.
    #[unsafe(export_name = "_rjem_malloc_conf")]
    pub static OPTIONS: &[u8; 11] = b"thp:always\0";
}

#[cfg(all(target_os = "linux", feature = "jemalloc"))]
static INNER: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;
#[cfg(not(all(target_os = "linux", feature = "jemalloc")))]
static INNER: std::alloc::System = std::alloc::System;

/// An allocator that ends the process when it has no more.
struct Allocator;

#[global_allocator]
static ALLOCATOR: Allocator = Allocator;

// SAFETY: every call goes on to another allocator as it came; a failure does not return.
unsafe impl GlobalAlloc for Allocator {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promises are passed on.
        there(unsafe { INNER.alloc(layout) }, layout.size())
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promises are passed on.
        there(unsafe { INNER.alloc_zeroed(layout) }, layout.size())
    }

    #[inline]
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's promises are passed on.
        unsafe { INNER.dealloc(pointer, layout) }
    }

    #[inline]
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller's promises are passed on.
        there(unsafe { INNER.realloc(pointer, layout, size) }, size)
    }
}

#[inline(always)]
fn there(pointer: *mut u8, size: usize) -> *mut u8 {
    if pointer.is_null() {
        exhausted(size);
    }
    pointer
}

/// Says that memory has run out, without taking any, and ends the process: 1, failed while running.
#[cold]
#[inline(never)]
fn exhausted(size: usize) -> ! {
    let _ = writeln!(
        std::io::stderr(),
        "farspan: no memory for {size} bytes more: run fewer flows or hosts, sample less often, or use a larger machine"
    );
    std::process::exit(1)
}

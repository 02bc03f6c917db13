//! An allocator that puts a simulation's state into huge pages: what a run touches lies scattered over tens of megabytes,
//! and with pages of 4 KiB each visit costs a walk through the page table.
//!
//! What takes less than [`SMALL`] goes to the system's allocator. From there on up to [`LARGE`] things lie side by side in
//! blocks of 2 MiB that the system is asked to back by one huge page each; what is larger gets a mapping of its own. Where the system knows no huge pages, or is not Linux, nothing changes but who keeps the books.
//!
//! A binary chooses it with `#[global_allocator]`; no library does.
#![allow(unsafe_code, reason = "an allocator hands out raw memory")]

#[cfg(target_os = "linux")]
mod blocks;
#[cfg(target_os = "linux")]
mod map;

use std::alloc::{GlobalAlloc, Layout, System};

/// From so many bytes on memory comes in huge pages.
pub const SMALL: usize = 1 << 10;
/// From so many bytes on memory has a mapping of its own.
pub const LARGE: usize = 1 << 20;

/// The allocator.
pub struct HugePages;

/// Who keeps a piece of memory: follows from its layout, so that nothing else need be remembered.
#[cfg(target_os = "linux")]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Keeper {
    System,
    Blocks,
    Map,
}

#[cfg(target_os = "linux")]
impl Keeper {
    #[inline]
    const fn of(size: usize, align: usize) -> Self {
        if size < SMALL || align > blocks::GRANULE {
            Self::System
        } else if size < LARGE {
            Self::Blocks
        } else {
            Self::Map
        }
    }
}

// SAFETY: each piece comes from the keeper that its layout names, is taken back and changed by the same one, and keepers
// give out memory that is nobody else's, aligned to `GRANULE` at least.
#[cfg(target_os = "linux")]
unsafe impl GlobalAlloc for HugePages {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        match Keeper::of(layout.size(), layout.align()) {
            // SAFETY: the caller's promises are passed on.
            Keeper::System => unsafe { System.alloc(layout) },
            Keeper::Blocks => blocks::alloc(layout.size()),
            Keeper::Map => map::alloc(layout.size()),
        }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        match Keeper::of(layout.size(), layout.align()) {
            // SAFETY: the caller's promises are passed on.
            Keeper::System => unsafe { System.alloc_zeroed(layout) },
            Keeper::Blocks => {
                let pointer = blocks::alloc(layout.size());
                if !pointer.is_null() {
                    // SAFETY: so many bytes were just given out.
                    unsafe { pointer.write_bytes(0, layout.size()) };
                }
                pointer
            }
            // The system hands out zeros.
            Keeper::Map => map::alloc(layout.size()),
        }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        match Keeper::of(layout.size(), layout.align()) {
            // SAFETY: the caller's promises are passed on.
            Keeper::System => unsafe { System.dealloc(pointer, layout) },
            // SAFETY: `pointer` was given out for this size.
            Keeper::Blocks => unsafe { blocks::dealloc(pointer, layout.size()) },
            // SAFETY: the same.
            Keeper::Map => unsafe { map::dealloc(pointer, layout.size()) },
        }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let (old, new) = (Keeper::of(layout.size(), layout.align()), Keeper::of(size, layout.align()));
        match (old, new) {
            // SAFETY: the caller's promises are passed on.
            (Keeper::System, Keeper::System) => unsafe { System.realloc(pointer, layout, size) },
            // SAFETY: `pointer` was given out for the old size.
            (Keeper::Map, Keeper::Map) => unsafe { map::realloc(pointer, layout.size(), size) },
            // SAFETY: the same.
            (Keeper::Blocks, Keeper::Blocks) if unsafe { blocks::resize(pointer, layout.size(), size) } => {
                pointer
            }
            // SAFETY: the caller's promises are passed on.
            _ => unsafe { self.replace(pointer, layout, size) },
        }
    }
}

#[cfg(target_os = "linux")]
impl HugePages {
    /// Moves a piece to a new place.
    ///
    /// # Safety
    /// As for [`GlobalAlloc::realloc`].
    unsafe fn replace(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller says that the size is one for this alignment.
        let to = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
        // SAFETY: the layout has a size.
        let moved = unsafe { self.alloc(to) };
        if !moved.is_null() {
            // SAFETY: both pieces have so many bytes and are not the same; the old one is given back as it was given out.
            unsafe {
                moved.copy_from_nonoverlapping(pointer, layout.size().min(size));
                self.dealloc(pointer, layout);
            }
        }
        moved
    }
}

// SAFETY: every call goes on to the system's allocator as it came.
#[cfg(not(target_os = "linux"))]
unsafe impl GlobalAlloc for HugePages {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promises are passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promises are passed on.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's promises are passed on.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller's promises are passed on.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[cfg(test)]
mod tests;

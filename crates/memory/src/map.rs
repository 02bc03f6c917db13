//! Mappings that begin where huge pages do.

use std::ptr::{self, NonNull};

/// A huge page.
pub(crate) const HUGE: usize = 2 << 20;
/// Mappings have a multiple of so many bytes, which no page exceeds that is not a huge one.
const PAGE: usize = 64 << 10;

/// How long the mapping for `size` bytes is. What is behind the last whole huge page is backed by small ones, since the
/// mapping ends there; only the smallest mapping is a huge page in any case.
const fn length(size: usize) -> usize {
    let pages = size.div_ceil(PAGE) * PAGE;
    if pages < HUGE { HUGE } else { pages }
}

/// Maps `length` bytes, a multiple of a page, from a multiple of [`HUGE`] on.
pub(crate) fn map(length: usize) -> Option<NonNull<u8>> {
    let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    // SAFETY: a fresh mapping, wherever the system likes.
    let start = unsafe { libc::mmap(ptr::null_mut(), length + HUGE, access, kind, -1, 0) };
    if start == libc::MAP_FAILED {
        return None;
    }
    let before = start.cast::<u8>().align_offset(HUGE);
    let first = start.cast::<u8>().wrapping_add(before);
    // SAFETY: what lies before and behind is a part of the fresh mapping and nobody's; advice may be ignored.
    unsafe {
        if before > 0 {
            libc::munmap(start, before);
        }
        libc::munmap(first.wrapping_add(length).cast(), HUGE - before);
        libc::madvise(first.cast(), length, libc::MADV_HUGEPAGE);
    }
    NonNull::new(first)
}

/// Gives a mapping back.
///
/// # Safety
/// [`map`] gave it for this length, and nothing in it is used any more.
pub(crate) unsafe fn unmap(start: *mut u8, length: usize) {
    // SAFETY: the caller says so.
    unsafe { libc::munmap(start.cast(), length) };
}

/// A mapping with room for `size` bytes, all zero; null if there is none.
pub(crate) fn alloc(size: usize) -> *mut u8 {
    map(length(size)).map_or(ptr::null_mut(), NonNull::as_ptr)
}

/// Gives back what [`alloc`] gave.
///
/// # Safety
/// It was given for this size, and is not used any more.
pub(crate) unsafe fn dealloc(pointer: *mut u8, size: usize) {
    // SAFETY: the caller says so.
    unsafe { unmap(pointer, length(size)) };
}

/// Changes the size of what [`alloc`] gave; pages move, bytes are not copied. Null, with nothing changed, if there is no
/// room.
///
/// # Safety
/// It was given for the old size.
pub(crate) unsafe fn realloc(pointer: *mut u8, old: usize, new: usize) -> *mut u8 {
    let (old, new) = (length(old), length(new));
    if old == new {
        return pointer;
    }
    // SAFETY: the mapping is the caller's; it stays where it is, and grows only where nothing is.
    if unsafe { libc::mremap(pointer.cast(), old, new, 0) } != libc::MAP_FAILED {
        return pointer;
    }
    let Some(to) = map(new) else { return ptr::null_mut() };
    let to = to.as_ptr();
    let flags = libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED;
    // SAFETY: the mapping is the caller's, and the one that it replaces is fresh.
    let moved = unsafe { libc::mremap(pointer.cast(), old, new, flags, to) };
    if moved == libc::MAP_FAILED {
        // SAFETY: it is not used.
        unsafe { unmap(to, new) };
        return ptr::null_mut();
    }
    to
}

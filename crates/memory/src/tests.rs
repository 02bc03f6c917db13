//! The allocator allocates these tests, too.

use super::*;
use std::collections::BTreeMap;

#[global_allocator]
static ALLOCATOR: HugePages = HugePages;

/// Any number, from the last one.
fn next(state: &mut u64) -> usize {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*state >> 33) as usize
}

/// Sizes around every limit: within the system's, a few granules, much of a block, mappings of their own.
fn size(state: &mut u64) -> usize {
    let most = [64, SMALL, 4 * SMALL, 80 << 10, LARGE, 6 << 20][next(state) % 6];
    1 + next(state) % most
}

struct Piece {
    pointer: *mut u8,
    layout: Layout,
    mark: u8,
}

impl Piece {
    fn bytes(&mut self) -> &mut [u8] {
        // SAFETY: the allocator gave so many bytes, and all are set before they are read.
        unsafe { std::slice::from_raw_parts_mut(self.pointer, self.layout.size()) }
    }

    fn check(&mut self) {
        let (mark, align) = (self.mark, self.layout.align());
        assert_eq!(self.pointer.align_offset(align), 0, "aligned to {align}");
        assert!(
            self.bytes().iter().all(|&byte| byte == mark),
            "{} bytes stay as they are",
            self.layout.size()
        );
    }
}

/// Allocates, changes sizes, gives back; whatever is held stays as it was written.
fn exercise(seed: u64, steps: usize) {
    let (mut state, mut held) = (seed, BTreeMap::<usize, Piece>::new());
    for step in 0..steps {
        let mark = step as u8;
        match (next(&mut state) % 4, held.pop_first()) {
            (0, Some((_, mut piece))) => {
                piece.check();
                // SAFETY: given out for this layout, and not used again.
                unsafe { HugePages.dealloc(piece.pointer, piece.layout) };
            }
            (1, Some((_, mut piece))) => {
                let new = size(&mut state);
                // SAFETY: given out for this layout.
                piece.pointer = unsafe { HugePages.realloc(piece.pointer, piece.layout, new) };
                let kept = new.min(piece.layout.size());
                piece.layout = Layout::from_size_align(new, piece.layout.align()).unwrap();
                // SAFETY: so many bytes were set before.
                let old = unsafe { std::slice::from_raw_parts(piece.pointer, kept) };
                assert!(old.iter().all(|&byte| byte == piece.mark), "{kept} bytes move along");
                piece.mark = mark;
                piece.bytes().fill(mark);
                held.insert(next(&mut state), piece);
            }
            (_, other) => {
                let align = 1 << (next(&mut state) % 13);
                let layout = Layout::from_size_align(size(&mut state), align).unwrap();
                // SAFETY: the layout has a size; memory that is zeroed may be read.
                let pointer = unsafe { HugePages.alloc_zeroed(layout) };
                let mut piece = Piece { pointer, layout, mark: 0 };
                piece.check();
                piece.mark = mark;
                piece.bytes().fill(mark);
                held.insert(next(&mut state), piece);
                held.extend(other);
            }
        }
    }
    for mut piece in held.into_values() {
        piece.check();
        // SAFETY: given out for this layout, and not used again.
        unsafe { HugePages.dealloc(piece.pointer, piece.layout) };
    }
}

#[test]
fn memory_is_aligned_zeroed_and_nobody_elses_whatever_its_size() {
    (0..8).for_each(|seed| exercise(seed, 400));
}

#[test]
fn threads_share_it() {
    std::thread::scope(|scope| {
        for seed in 10..14 {
            scope.spawn(move || exercise(seed, 300));
        }
    });
}

#[test]
fn a_vector_may_grow_and_shrink_through_all_sizes() {
    let mut numbers: Vec<u64> = Vec::new();
    for number in 0..1_000_000 {
        if numbers.len() == numbers.capacity() {
            numbers.reserve_exact(numbers.len() / 8 + 64);
        }
        numbers.push(number);
    }
    for len in [900_000, 262_144, 100_000, 1000, 100, 3] {
        numbers.truncate(len);
        numbers.shrink_to_fit();
        assert!(numbers.iter().copied().eq(0..len as u64));
    }
}

#[cfg(target_os = "linux")]
#[test]
fn what_is_large_begins_where_a_huge_page_does() {
    let large = vec![0_u8; LARGE];
    assert_eq!(large.as_ptr().align_offset(map::HUGE), 0);
}

//! Huge pages that many things share: each is a block of granules, some of which are taken.
//!
//! The first block in line that has room is taken, and room there from the front, so that few blocks are in use; freed
//! neighbours are one again at once, since what is free is only a bit a granule.

use crate::map::{self, HUGE};
use std::ptr;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Memory is given out in multiples of this.
pub(crate) const GRANULE: usize = 512;
/// Granules of a block.
const GRANULES: usize = HUGE / GRANULE;
const WORDS: usize = GRANULES / 64;
/// Granules that hold the block's own books, at its front.
const OWN: usize = size_of::<Block>().div_ceil(GRANULE);

/// The books of a block, which lie at its front.
struct Block {
    next: *mut Block,
    /// Granules that are free, and at least as many as any stretch of them has.
    free: usize,
    longest: usize,
    /// One bit a granule that is taken.
    taken: [u64; WORDS],
}

/// All blocks, oldest first.
struct Blocks {
    first: *mut Block,
    last: *mut Block,
    /// Blocks with nothing in them: one is kept.
    empty: usize,
}

// SAFETY: blocks are reached through these pointers alone, by whoever has the lock.
unsafe impl Send for Blocks {}

static BLOCKS: Mutex<Blocks> = Mutex::new(Blocks { first: ptr::null_mut(), last: ptr::null_mut(), empty: 0 });

fn lock() -> MutexGuard<'static, Blocks> {
    BLOCKS.lock().unwrap_or_else(PoisonError::into_inner)
}

const fn granules(size: usize) -> usize {
    size.div_ceil(GRANULE)
}

/// The block of a piece of memory, and the piece's first granule in it.
fn place(pointer: *mut u8) -> (*mut Block, usize) {
    let offset = pointer.addr() % HUGE;
    (pointer.wrapping_sub(offset).cast(), offset / GRANULE)
}

/// Room for `size` bytes, which fit a block; null if there is none.
pub(crate) fn alloc(size: usize) -> *mut u8 {
    lock().alloc(granules(size))
}

/// Gives back what [`alloc`] gave.
///
/// # Safety
/// It was given for this size, and is not used any more.
pub(crate) unsafe fn dealloc(pointer: *mut u8, size: usize) {
    let (block, first) = place(pointer);
    // SAFETY: `pointer` lies in a block, since it was given out.
    unsafe { lock().give_back(block, first, granules(size)) };
}

/// Changes the size of what [`alloc`] gave where it is; says whether that was possible.
///
/// # Safety
/// It was given for the old size.
pub(crate) unsafe fn resize(pointer: *mut u8, old: usize, new: usize) -> bool {
    let ((block, first), old, new) = (place(pointer), granules(old), granules(new));
    if old == new {
        return true;
    }
    let mut blocks = lock();
    if new < old {
        // SAFETY: `pointer` lies in a block, since it was given out; what is behind the new end is not used any more.
        unsafe { blocks.give_back(block, first + new, old - new) };
        return true;
    }
    // SAFETY: the same; who has the lock has the blocks.
    unsafe { &mut *block }.extend(first + old, new - old)
}

impl Blocks {
    fn alloc(&mut self, granules: usize) -> *mut u8 {
        let mut block = self.first;
        // SAFETY: blocks in line are mapped, and who has the lock has them.
        while let Some(books) = unsafe { block.as_mut() } {
            let was_empty = books.is_empty();
            if let Some(first) = books.take(granules) {
                self.empty -= usize::from(was_empty);
                return block.cast::<u8>().wrapping_add(first * GRANULE);
            }
            block = books.next;
        }
        self.add().map_or(ptr::null_mut(), |block| {
            // SAFETY: it was just added.
            let first = unsafe { &mut *block }.take(granules).expect("an empty block has room");
            block.cast::<u8>().wrapping_add(first * GRANULE)
        })
    }

    /// Adds a block, in which something is to be put at once.
    fn add(&mut self) -> Option<*mut Block> {
        let block = map::map(HUGE)?.as_ptr().cast::<Block>();
        let mut books =
            Block { next: ptr::null_mut(), free: GRANULES - OWN, longest: GRANULES - OWN, taken: [0; WORDS] };
        books.set(0, OWN, true);
        // SAFETY: the mapping is fresh and large enough, and blocks in line are mapped.
        unsafe {
            block.write(books);
            match self.last.as_mut() {
                Some(last) => last.next = block,
                None => self.first = block,
            }
        }
        self.last = block;
        Some(block)
    }

    /// # Safety
    /// The block is in line, and the granules were taken.
    unsafe fn give_back(&mut self, block: *mut Block, first: usize, granules: usize) {
        // SAFETY: the caller says so.
        let books = unsafe { &mut *block };
        books.set(first, granules, false);
        books.free += granules;
        books.longest = books.free;
        if !books.is_empty() {
            return;
        }
        if self.empty == 0 {
            self.empty = 1;
            return;
        }
        self.remove(block);
    }

    fn remove(&mut self, block: *mut Block) {
        let (mut before, mut at) = (ptr::null_mut::<Block>(), self.first);
        // SAFETY: blocks in line are mapped, `block` is among them, and nothing is in it.
        unsafe {
            while at != block {
                (before, at) = (at, (*at).next);
            }
            match before.as_mut() {
                Some(before) => before.next = (*block).next,
                None => self.first = (*block).next,
            }
            if self.last == block {
                self.last = before;
            }
            map::unmap(block.cast(), HUGE);
        }
    }
}

impl Block {
    const fn is_empty(&self) -> bool {
        self.free == GRANULES - OWN
    }

    /// Takes the first stretch of so many granules; gives where it begins.
    fn take(&mut self, granules: usize) -> Option<usize> {
        if self.longest < granules {
            return None;
        }
        let (mut end, mut longest) = (OWN, 0);
        while end < GRANULES {
            let start = self.find(end, false);
            end = self.find(start, true);
            if end - start >= granules {
                self.set(start, granules, true);
                self.free -= granules;
                return Some(start);
            }
            longest = longest.max(end - start);
        }
        self.longest = longest;
        None
    }

    /// Takes these granules, if all are free.
    fn extend(&mut self, first: usize, granules: usize) -> bool {
        let is_free = first + granules <= GRANULES && self.find(first, true) >= first + granules;
        if is_free {
            self.set(first, granules, true);
            self.free -= granules;
        }
        is_free
    }

    /// The first granule from `from` on that is taken, or free; [`GRANULES`] if there is none.
    fn find(&self, from: usize, taken: bool) -> usize {
        let mut mask = u64::MAX << (from % 64);
        for word in from / 64..WORDS {
            let bits = if taken { self.taken[word] } else { !self.taken[word] } & mask;
            if bits != 0 {
                return word * 64 + bits.trailing_zeros() as usize;
            }
            mask = u64::MAX;
        }
        GRANULES
    }

    /// Notes that granules are taken, or free.
    fn set(&mut self, first: usize, granules: usize, taken: bool) {
        let end = first + granules;
        for word in first / 64..end.div_ceil(64) {
            let from = first.saturating_sub(word * 64);
            let bits = (end - word * 64).min(64) - from;
            let mask = (u64::MAX >> (64 - bits)) << from;
            debug_assert_eq!(
                self.taken[word] & mask,
                if taken { 0 } else { mask },
                "granules change hands once"
            );
            if taken { self.taken[word] |= mask } else { self.taken[word] &= !mask }
        }
    }
}

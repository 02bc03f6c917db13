//! A queue that is short as a rule: what comes first stands outside the ring that the others wait in.

use alloc::collections::VecDeque;

/// First in, first out.
#[derive(Clone, Debug)]
pub(crate) struct Queue<T> {
    first: Option<T>,
    /// Empty unless there is a first one.
    others: VecDeque<T>,
}

impl<T> Default for Queue<T> {
    fn default() -> Self {
        Self { first: None, others: VecDeque::new() }
    }
}

impl<T> Queue<T> {
    /// Whether it is empty.
    #[inline]
    pub(crate) const fn is_empty(&self) -> bool {
        self.first.is_none()
    }

    /// The first one.
    #[inline]
    pub(crate) const fn first(&self) -> Option<&T> {
        self.first.as_ref()
    }

    /// The first one, to be changed.
    #[inline]
    pub(crate) const fn first_mut(&mut self) -> Option<&mut T> {
        self.first.as_mut()
    }

    /// Adds one behind the others.
    #[inline]
    pub(crate) fn push(&mut self, item: T) {
        if self.first.is_none() {
            self.first = Some(item);
        } else {
            self.others.push_back(item);
        }
    }

    /// Drops the first one.
    #[inline]
    pub(crate) fn drop_first(&mut self) {
        if self.others.is_empty() {
            self.first = None;
        } else {
            self.move_up();
        }
    }

    /// The first of the others takes the place of the first one.
    #[inline(never)]
    fn move_up(&mut self) {
        self.first = self.others.pop_front();
    }

    /// Takes the first one out.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<T> {
        if self.others.is_empty() {
            return self.first.take();
        }
        core::mem::replace(&mut self.first, self.others.pop_front())
    }

    /// Puts others in the places of all, or nothing, and gives back the memory of those that go.
    #[cold]
    pub(crate) fn filter_map(&mut self, mut change: impl FnMut(T) -> Option<T>) {
        self.others = core::mem::take(&mut self.others).into_iter().filter_map(&mut change).collect();
        self.first = self.first.take().and_then(change).or_else(|| self.others.pop_front());
        self.others.shrink_to_fit();
    }

    /// Puts the first one behind the others.
    #[inline]
    pub(crate) fn rotate(&mut self) {
        if let Some(next) = self.others.pop_front()
            && let Some(first) = self.first.replace(next)
        {
            self.others.push_back(first);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_does_what_a_ring_does(steps in prop::collection::vec(0..6_u8, 0..200)) {
            let (mut queue, mut ring) = (Queue::default(), VecDeque::new());
            for (number, step) in steps.into_iter().enumerate() {
                match step {
                    4 => {
                        queue.drop_first();
                        ring.pop_front();
                    }
                    0 | 1 => {
                        queue.push(number);
                        ring.push_back(number);
                    }
                    5 => {
                        queue.filter_map(|n| (n % 3 > 0).then_some(n + 1));
                        ring = ring.into_iter().filter(|n| n % 3 > 0).map(|n| n + 1).collect();
                    }
                    2 => prop_assert_eq!(queue.pop(), ring.pop_front()),
                    _ => {
                        queue.rotate();
                        if !ring.is_empty() {
                            ring.rotate_left(1);
                        }
                    }
                }
                prop_assert_eq!((queue.first(), queue.is_empty()), (ring.front(), ring.is_empty()));
            }
        }
    }
}

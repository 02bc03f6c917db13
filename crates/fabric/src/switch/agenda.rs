//! Which port of a switch has something due first: a tournament of the ports' next times.

use alloc::vec::Vec;
use farspan_units::Time;

/// The next time of each port, and the winner of each pair above.
#[derive(Clone, Debug)]
pub(super) struct Agenda {
    /// A binary tree: the root at 1, the ports as leaves from half of it on. A node holds the earlier of its two.
    tree: Vec<Time>,
}

impl Agenda {
    /// Nothing is due at `ports` ports.
    pub(super) fn new(ports: usize) -> Self {
        Self { tree: alloc::vec![Time::MAX; 2 * ports.next_power_of_two()] }
    }

    /// When something is due next; [`Time::MAX`]: nothing is.
    #[inline]
    pub(super) fn next_at(&self) -> Time {
        self.tree[1]
    }

    /// The first port, by (time, port), at which something is due up to `until`.
    #[inline]
    pub(super) fn first(&self, until: Time) -> Option<usize> {
        let earliest = self.next_at();
        // Time::MAX: never.
        if earliest > until || earliest == Time::MAX {
            return None;
        }
        let (tree, mut place) = (&self.tree[..], 1);
        while place < tree.len() / 2 {
            // Of two that are due at one instant the left one comes first.
            place = 2 * place + usize::from(tree[2 * place] != earliest);
        }
        Some(place - tree.len() / 2)
    }

    /// Something is due next at `port` at `at`.
    #[inline]
    pub(super) fn set(&mut self, port: usize, at: Time) {
        let tree = &mut self.tree[..];
        let mut place = tree.len() / 2 + port;
        tree[place] = at;
        while place > 1 {
            place /= 2;
            let winner = tree[2 * place].min(tree[2 * place + 1]);
            // What is above knows already.
            if tree[place] == winner {
                return;
            }
            tree[place] = winner;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use farspan_units::{Purpose, Random};

    #[test]
    fn ports_come_by_time_then_number() {
        let mut random = Random::new(1, Purpose::Test, 0);
        for ports in [1, 2, 3, 8, 37] {
            let (mut agenda, mut model) = (Agenda::new(ports), alloc::vec![Time::MAX; ports]);
            for _ in 0..2000 {
                let (port, at) = (random.below(ports as u64) as usize, random.below(20));
                let at = if at == 0 { Time::MAX } else { Time::from_ps(at) };
                agenda.set(port, at);
                model[port] = at;
                let first = (0..ports).min_by_key(|&port| (model[port], port)).expect("a port");
                assert_eq!(agenda.next_at(), model[first]);
                let due = Some(first).filter(|_| model[first] <= Time::from_ps(10));
                assert_eq!(agenda.first(Time::from_ps(10)), due);
                assert_eq!(agenda.first(Time::MAX), Some(first).filter(|_| model[first] != Time::MAX));
            }
        }
    }
}

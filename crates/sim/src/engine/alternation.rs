//! Alternating windows: how long a window may be, and which nodes run it together.
//!
//! A message takes at least the lookahead, so windows of that length are safe for all nodes at once. Most
//! networks allow for up to twice that: where nodes form two groups and short links only lead from one group
//! to the other, the groups run in alternating windows. Each window is two steps long and begins one step
//! after that of the other group: a message that a node sends in `[0, 2)` arrives in `[1, ..)`, which the
//! other group runs next, and the replies arrive from 2 on.

use super::MAX_WINDOW;
use farspan_units::Duration;

/// The group of each node, and the beginnings of the windows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Alternation {
    /// Time between the beginnings of windows.
    pub(crate) step: Duration,
    /// 1: all nodes run each step. 2: the groups run in alternating windows of two steps each.
    pub(crate) groups: u8,
    /// The group of each node.
    pub(crate) group_of: Vec<u8>,
}

impl Alternation {
    /// One group: a window is as long as the lookahead.
    pub(crate) fn together(nodes: usize, lookahead: Duration) -> Self {
        Self { step: lookahead.min(MAX_WINDOW), groups: 1, group_of: vec![0; nodes] }
    }

    /// The longest windows for nodes with `links` (from, to, delay) between them, and notifications that
    /// reach any node after `notifications` or later.
    pub(crate) fn longest(
        nodes: usize,
        links: &[(u32, u32, Duration)],
        notifications: Option<Duration>,
    ) -> Self {
        let delays = links.iter().map(|&(.., delay)| delay);
        let together = Self::together(nodes, delays.chain(notifications).min().unwrap_or(MAX_WINDOW));
        let group_of = bipartition(nodes, links);
        // A message within a group must not arrive in the window in which it was sent.
        let steps = |&(from, to, delay): &(u32, u32, Duration)| {
            if group_of[from as usize] == group_of[to as usize] { delay / 2 } else { delay }
        };
        let notifications = notifications.map(|delay| delay / 2);
        let step =
            links.iter().map(steps).chain(notifications).min().unwrap_or(MAX_WINDOW).min(MAX_WINDOW / 2);
        if step * 2 <= together.step {
            return together;
        }
        Self { step, groups: 2, group_of }
    }

    /// Windows of a quarter of the length, with the groups unchanged.
    pub(crate) fn quartered(self) -> Self {
        Self { step: self.step / 4, ..self }
    }

    /// The length of a window.
    pub(crate) fn length(&self) -> Duration {
        self.step * u64::from(self.groups)
    }
}

/// Partitions the nodes into two groups so that links lead from group to group as far as possible, the
/// shortest first: of the links of an odd cycle the longest stays within a group.
fn bipartition(nodes: usize, links: &[(u32, u32, Duration)]) -> Vec<u8> {
    let mut by_delay: Vec<_> = links.iter().collect();
    by_delay.sort_by_key(|&&(.., delay)| delay);
    // Union-find. Of each node: its parent, itself at first, and whether the parent is in the other group.
    let mut above: Vec<(usize, u8)> = (0..nodes).map(|node| (node, 0)).collect();
    for &(from, to, _) in by_delay {
        let ((from, from_side), (to, to_side)) =
            (top(&mut above, from as usize), top(&mut above, to as usize));
        if from != to {
            above[from] = (to, 1 ^ from_side ^ to_side);
        }
    }
    (0..nodes).map(|node| top(&mut above, node).1).collect()
}

/// The root of the tree that `node` is in, and whether the two are in different groups.
fn top(above: &mut [(usize, u8)], mut node: usize) -> (usize, u8) {
    let mut side = 0;
    loop {
        let (next, differs) = above[node];
        if next == node {
            return (node, side);
        }
        // Path compression: the path becomes shorter with each search.
        let (after, differs_more) = above[next];
        above[node] = (after, differs ^ differs_more);
        (node, side) = (next, side ^ differs);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const US: Duration = Duration::from_us(1);

    /// Links in both directions.
    fn both(links: &[(u32, u32, Duration)]) -> Vec<(u32, u32, Duration)> {
        links.iter().flat_map(|&(a, b, delay)| [(a, b, delay), (b, a, delay)]).collect()
    }

    #[test]
    fn two_groups_alternate_windows_of_twice_the_lookahead() {
        let alternation = Alternation::longest(4, &both(&[(0, 1, US), (1, 2, US), (2, 3, US * 3)]), None);
        assert_eq!((alternation.step, alternation.groups), (US, 2));
        assert!(
            alternation.group_of[0] != alternation.group_of[1]
                && alternation.group_of[1] != alternation.group_of[2]
        );
    }

    #[test]
    fn what_stays_on_a_side_must_take_a_whole_turn() {
        let ring = |last| both(&[(0, 1, US), (1, 2, US), (2, 0, last)]);
        assert_eq!(Alternation::longest(3, &ring(US), None), Alternation::together(3, US));
        assert_eq!(Alternation::longest(3, &ring(US * 3 / 2), None).length(), US * 3 / 2);
        assert_eq!(Alternation::longest(3, &ring(US * 2), None).length(), US * 2);
        let tree = both(&[(0, 1, US), (1, 2, US)]);
        assert_eq!(Alternation::longest(3, &tree, Some(US)), Alternation::together(3, US));
        assert_eq!(Alternation::longest(3, &tree, Some(US * 2)).length(), US * 2);
        assert_eq!(Alternation::longest(3, &tree, Some(US / 2)), Alternation::together(3, US / 2));
    }

    #[test]
    fn no_turn_is_longer_than_a_window_may_be() {
        let far = both(&[(0, 1, Duration::from_ms(1))]);
        assert!(Alternation::longest(2, &far, None).length() <= MAX_WINDOW);
        assert!(Alternation::longest(2, &[], None).length() <= MAX_WINDOW);
    }
}

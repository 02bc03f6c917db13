//! Whose turn it is: how long a window may be, and which nodes run it together.
//!
//! A message needs the lookahead to get anywhere, so windows of that length are safe for all nodes at once. Most networks
//! allow for up to twice that: where nodes fall into two sides and short links only lead from one side to the other, the sides
//! take turns. Each turn is two steps long and begins one step after that of the other side: what a node sends in
//! `[0, 2)` arrives in `[1, ..)`, which the other side runs next, and the answers arrive from 2 on.

use super::MAX_WINDOW;
use farspan_units::Duration;

/// Which side each node is on, and when the turns begin.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Turns {
    /// Time between the beginnings of turns.
    pub(crate) step: Duration,
    /// 1: all nodes run each step. 2: the sides run by turns, two steps each.
    pub(crate) sides: u8,
    /// By node: its side.
    pub(crate) side_of: Vec<u8>,
}

impl Turns {
    /// One side: a turn is as long as the lookahead.
    pub(crate) fn together(nodes: usize, lookahead: Duration) -> Self {
        Self { step: lookahead.min(MAX_WINDOW), sides: 1, side_of: vec![0; nodes] }
    }

    /// The longest turns for nodes with `links` (from, to, delay) between them, and words that reach any node after
    /// `words` or later.
    pub(crate) fn longest(nodes: usize, links: &[(u32, u32, Duration)], words: Option<Duration>) -> Self {
        let delays = links.iter().map(|&(.., delay)| delay);
        let together = Self::together(nodes, delays.chain(words).min().unwrap_or(MAX_WINDOW));
        let side_of = two_sides(nodes, links);
        // What stays on its side must not arrive in the turn in which it was sent.
        let steps = |&(from, to, delay): &(u32, u32, Duration)| {
            if side_of[from as usize] == side_of[to as usize] { delay / 2 } else { delay }
        };
        let words = words.map(|delay| delay / 2);
        let step = links.iter().map(steps).chain(words).min().unwrap_or(MAX_WINDOW).min(MAX_WINDOW / 2);
        if step * 2 <= together.step {
            return together;
        }
        Self { step, sides: 2, side_of }
    }

    /// The same with steps of a quarter of the length.
    pub(crate) fn quartered(self) -> Self {
        Self { step: self.step / 4, ..self }
    }

    /// How long a turn is.
    pub(crate) fn length(&self) -> Duration {
        self.step * u64::from(self.sides)
    }
}

/// Deals nodes to two sides so that links lead from side to side as far as that can be, the shortest first: of the links
/// of an odd cycle the longest stays on its side.
fn two_sides(nodes: usize, links: &[(u32, u32, Duration)]) -> Vec<u8> {
    let mut by_delay: Vec<_> = links.iter().collect();
    by_delay.sort_by_key(|&&(.., delay)| delay);
    // Of each node: one that it hangs off, itself at first, and whether that is on the other side.
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

/// The node at the top of those that `node` hangs off, and whether they are on different sides.
fn top(above: &mut [(usize, u8)], mut node: usize) -> (usize, u8) {
    let mut side = 0;
    loop {
        let (next, differs) = above[node];
        if next == node {
            return (node, side);
        }
        // The way becomes shorter each time that it is gone.
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
    fn two_sides_take_turns_of_twice_the_lookahead() {
        let turns = Turns::longest(4, &both(&[(0, 1, US), (1, 2, US), (2, 3, US * 3)]), None);
        assert_eq!((turns.step, turns.sides), (US, 2));
        assert!(turns.side_of[0] != turns.side_of[1] && turns.side_of[1] != turns.side_of[2]);
    }

    #[test]
    fn what_stays_on_a_side_must_take_a_whole_turn() {
        let ring = |last| both(&[(0, 1, US), (1, 2, US), (2, 0, last)]);
        assert_eq!(Turns::longest(3, &ring(US), None), Turns::together(3, US));
        assert_eq!(Turns::longest(3, &ring(US * 3 / 2), None).length(), US * 3 / 2);
        assert_eq!(Turns::longest(3, &ring(US * 2), None).length(), US * 2);
        let tree = both(&[(0, 1, US), (1, 2, US)]);
        assert_eq!(Turns::longest(3, &tree, Some(US)), Turns::together(3, US));
        assert_eq!(Turns::longest(3, &tree, Some(US * 2)).length(), US * 2);
        assert_eq!(Turns::longest(3, &tree, Some(US / 2)), Turns::together(3, US / 2));
    }

    #[test]
    fn no_turn_is_longer_than_a_window_may_be() {
        let far = both(&[(0, 1, Duration::from_ms(1))]);
        assert!(Turns::longest(2, &far, None).length() <= MAX_WINDOW);
        assert!(Turns::longest(2, &[], None).length() <= MAX_WINDOW);
    }
}

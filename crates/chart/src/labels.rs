//! Names below an axis, none of which runs into another.

use crate::drawing::{Anchor, Drawing, Mark, Text};
use crate::font::{width, wrap};

/// Most lines of a name that is wrapped.
const MOST_LINES: usize = 3;
/// From one line of a text to the next, in its size.
pub(crate) const LINE: f64 = 1.2;

/// Names at places, as they fit.
pub(crate) struct Labels {
    names: Vec<(f64, Vec<String>)>,
    upright: bool,
    size: f64,
}

impl Labels {
    /// Names at places in rising order, within two ends: side by side, in several lines if need be; else upright, without
    /// those that have no room even then.
    pub(crate) fn fit(names: &[(f64, String)], ends: (f64, f64), size: f64) -> Self {
        if let Some(straight) = Self::straight(names, ends, size) {
            return straight;
        }
        let mut kept: Vec<(f64, Vec<String>)> = Vec::new();
        for (x, name) in names {
            if kept.last().is_none_or(|(before, _)| x - before >= size * LINE) {
                kept.push((*x, vec![name.clone()]));
            }
        }
        Self { names: kept, upright: true, size }
    }

    /// Those names side by side, if they have room.
    pub(crate) fn straight(names: &[(f64, String)], ends: (f64, f64), size: f64) -> Option<Self> {
        let gap = |i: usize| names.get(i + 1).map(|next| next.0 - names[i].0 - size * 0.6);
        let room = |i: usize| {
            let sides = [2.0 * (names[i].0 - ends.0), 2.0 * (ends.1 - names[i].0)];
            let near = [i.checked_sub(1).and_then(gap), gap(i)];
            near.into_iter().flatten().chain(sides).fold(f64::INFINITY, f64::min)
        };
        let lines: Vec<Vec<String>> =
            names.iter().enumerate().map(|(i, (_, name))| wrap(name, size, room(i))).collect();
        let fits = |(i, lines): (usize, &Vec<String>)| {
            lines.len() <= MOST_LINES && lines.iter().all(|line| width(line, size) <= room(i))
        };
        lines.iter().enumerate().all(fits).then(|| {
            let names = names.iter().zip(lines).map(|((x, _), lines)| (*x, lines)).collect();
            Self { names, upright: false, size }
        })
    }

    /// How far down they reach.
    pub(crate) fn height(&self) -> f64 {
        if self.upright {
            return self.names.iter().map(|(_, lines)| width(&lines[0], self.size)).fold(0.0, f64::max)
                + self.size * 0.4;
        }
        let lines = self.names.iter().map(|(_, lines)| lines.len()).max().unwrap_or_default();
        lines as f64 * self.size * LINE
    }

    /// Draws them below `top`.
    pub(crate) fn draw(&self, drawing: &mut Drawing, top: f64) {
        for (x, lines) in &self.names {
            if self.upright {
                drawing.marks.push(Mark::Text(Text {
                    text: lines[0].clone(),
                    at: (x + self.size * 0.36, top + self.size * 0.4),
                    anchor: Anchor::End,
                    upright: true,
                    size: self.size,
                }));
                continue;
            }
            for (i, line) in lines.iter().enumerate() {
                let y = top + self.size * (0.95 + LINE * i as f64);
                drawing.text(line.clone(), (*x, y), Anchor::Middle, self.size);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(at: &[f64], text: &str) -> Vec<(f64, String)> {
        at.iter().map(|x| (*x, format!("{text} {x}"))).collect()
    }

    const WIDE: (f64, f64) = (-100.0, 400.0);

    #[test]
    fn names_that_have_no_room_side_by_side_are_wrapped_and_then_stand_upright() {
        let wide = Labels::fit(&names(&[0.0, 100.0, 200.0], "short"), WIDE, 10.0);
        assert!(!wide.upright && wide.names.iter().all(|(_, lines)| lines.len() == 1));
        let narrow = Labels::fit(&names(&[0.0, 35.0, 70.0], "short"), WIDE, 10.0);
        assert!(!narrow.upright && narrow.names.iter().all(|(_, lines)| lines.len() == 2));
        let near = Labels::fit(&names(&[0.0, 15.0, 30.0], "short"), WIDE, 10.0);
        assert!(near.upright && near.names.len() == 3);
        // Even upright, some would stand on each other.
        let nearer = Labels::fit(&names(&[0.0, 5.0, 15.0], "short"), WIDE, 10.0);
        assert_eq!(nearer.names.iter().map(|(x, _)| *x).collect::<Vec<_>>(), [0.0, 15.0]);
    }

    #[test]
    fn no_name_ends_outside() {
        let at = |ends| Labels::fit(&[(0.0, "9 short flows".to_owned())], ends, 10.0).names[0].1.len();
        assert_eq!((at(WIDE), at((-20.0, 400.0)), at((-100.0, 20.0))), (1, 2, 2));
    }
}

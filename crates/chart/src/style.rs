//! How lines are told apart: by colour, dashes and marker. `farspan.plot` takes them from here.

/// A sign at the points of a line.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Marker {
    /// A disc.
    Disc,
    /// A square.
    Square,
    /// A square on its corner.
    Diamond,
    /// A triangle that points up.
    Up,
    /// A triangle that points down.
    Down,
    /// A thick plus.
    Plus,
    /// A thick cross.
    Cross,
}

impl Marker {
    /// Its letter in matplotlib.
    #[must_use]
    pub const fn letter(self) -> char {
        match self {
            Self::Disc => 'o',
            Self::Square => 's',
            Self::Diamond => 'D',
            Self::Up => '^',
            Self::Down => 'v',
            Self::Plus => 'P',
            Self::Cross => 'X',
        }
    }
}

/// The look of a line.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Look {
    /// Its colour, as `#rrggbb`.
    pub colour: &'static str,
    /// Lengths drawn and left out in turn, in widths of the line; none is a solid line.
    pub dashes: &'static [f64],
    /// The sign at its points.
    pub marker: Marker,
}

/// The colour of the last look: it is drawn in the colour of text, which is white on a dark ground.
pub(crate) const INK: &str = "#000000";

/// Okabe and Ito, "Color Universal Design", 2008, without its yellow, which is too light for lines.
const COLOURS: [&str; 7] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", INK];
const DASHES: [&[f64]; 7] = [
    &[],
    &[3.7, 1.6],
    &[6.4, 1.6, 1.0, 1.6],
    &[1.0, 1.65],
    &[5.0, 1.0, 1.0, 1.0, 1.0, 1.0],
    &[8.0, 2.0],
    &[1.0, 1.0],
];
const MARKERS: [Marker; 7] =
    [Marker::Disc, Marker::Square, Marker::Diamond, Marker::Up, Marker::Down, Marker::Plus, Marker::Cross];

/// The look of the line with this number, from 0. The first 49 differ, any seven in a row in their colour.
#[must_use]
pub const fn look(index: usize) -> Look {
    let (column, row) = (index % COLOURS.len(), index / COLOURS.len());
    let shifted = (column + row) % DASHES.len();
    Look { colour: COLOURS[column], dashes: DASHES[shifted], marker: MARKERS[shifted] }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_lines_of_a_chart_look_alike() {
        let looks: Vec<Look> = (0..49).map(look).collect();
        for (i, one) in looks.iter().enumerate() {
            for (j, other) in looks.iter().enumerate().skip(i + 1) {
                assert_ne!(one, other, "{i} and {j}");
                assert!(one.colour != other.colour || one.marker != other.marker, "{i} and {j}");
                assert!(j - i >= 7 || one.colour != other.colour, "{i} and {j}");
            }
        }
    }
}

//! The font: Arimo, which has the metrics of Arial and Helvetica, so that what is laid out here fits where a reader's
//! machine has one of those.

use std::sync::LazyLock;
use ttf_parser::Face;

/// The font's file.
pub(crate) const FILE: &[u8] = include_bytes!("../font/Arimo-Regular.ttf");
/// Families with its metrics, and what there is without them.
pub(crate) const FAMILIES: &str = "Arimo, 'Liberation Sans', Arial, Helvetica, sans-serif";

static FACE: LazyLock<Face<'static>> = LazyLock::new(|| Face::parse(FILE, 0).expect("the font is whole"));

/// The font, read.
pub(crate) fn face() -> &'static Face<'static> {
    &FACE
}

/// A glyph's number and its advance, in thousandths of the size. A sign that the font lacks is an empty box.
pub(crate) fn glyph(sign: char) -> (u16, f64) {
    let glyph = face().glyph_index(sign).unwrap_or_default();
    let advance = f64::from(face().glyph_hor_advance(glyph).unwrap_or_default());
    (glyph.0, advance * 1000.0 / f64::from(face().units_per_em()))
}

/// The width of a text of this size.
pub(crate) fn width(text: &str, size: f64) -> f64 {
    text.chars().map(|sign| glyph(sign).1).sum::<f64>() * size / 1000.0
}

/// Puts words into lines no wider than `most`, where no word is.
pub(crate) fn wrap(text: &str, size: f64, most: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if width(&format!("{line} {word}"), size) <= most => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_are_those_of_helvetica() {
        // Its digits are 556 thousandths wide, and its m 833.
        assert!((width("12", 10.0) - 11.12).abs() < 0.05, "{}", width("12", 10.0));
        assert!((width("m", 10.0) - 8.33).abs() < 0.05, "{}", width("m", 10.0));
    }

    #[test]
    fn lines_are_no_wider_than_asked_unless_a_word_is() {
        assert_eq!(wrap("9 short flows", 10.0, 40.0), ["9 short", "flows"]);
        assert_eq!(wrap("extraordinary", 10.0, 10.0), ["extraordinary"]);
    }
}

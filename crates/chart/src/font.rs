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

/// Puts a text into lines no wider than `most`. A word that is wider is broken, behind a dot or the like where it has one.
pub(crate) fn wrap_all(text: &str, size: f64, most: f64) -> Vec<String> {
    let words = text.split(|sign: char| sign.is_whitespace() || sign.is_control());
    let words = words.filter(|word| !word.is_empty()).flat_map(|word| broken(word, size, most));
    let text = words.collect::<Vec<_>>().join(" ");
    if text.is_empty() { Vec::new() } else { wrap(&text, size, most) }
}

/// A word in pieces no wider than `most`.
fn broken(mut word: &str, size: f64, most: f64) -> Vec<&str> {
    let mut pieces = Vec::new();
    while width(word, size) > most {
        let ends = word.char_indices().map(|(at, sign)| at + sign.len_utf8());
        let fits = ends.clone().take_while(|end| width(&word[..*end], size) <= most).last();
        let Some(end) = fits.or_else(|| ends.clone().next()).filter(|end| *end < word.len()) else { break };
        let sign = word[..end].rfind(['.', '_', '-', '/', ']']);
        let (piece, rest) = word.split_at(sign.map_or(end, |at| at + 1));
        pieces.push(piece);
        word = rest;
    }
    pieces.push(word);
    pieces
}

/// The first sign of a text that the font lacks.
#[must_use]
pub fn lacks(text: &str) -> Option<char> {
    text.chars().find(|sign| !sign.is_whitespace() && face().glyph_index(*sign).is_none())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_word_without_room_is_broken_behind_a_dot_if_it_has_one() {
        let wrapped = |text: &str, most: f64| wrap_all(text, 10.0, most).join("|");
        assert_eq!(wrapped("topology.wan.rtt (ms)", 60.0), "topology.|wan.rtt (ms)");
        assert_eq!(wrapped("  one\n two\u{7} ", 100.0), "one two");
        assert_eq!(wrapped("mmm", 9.0), "m|m|m");
        assert_eq!((wrapped("", 9.0), wrapped("mm", 1.0)), (String::new(), "m|m".to_owned()));
    }

    #[test]
    fn what_the_font_lacks_is_known() {
        assert_eq!((lacks("RTT (µs), Ω ≤ 5 ∞"), lacks("RTT 往返")), (None, Some('往')));
    }

    proptest! {
        #[test]
        fn no_line_is_too_wide_and_nothing_is_lost(text in "[a-zA-Z0-9._/ -]{0,60}", most in 12.0_f64..200.0) {
            let lines = wrap_all(&text, 10.0, most);
            prop_assert!(lines.iter().all(|line| width(line, 10.0) <= most), "{:?}", lines);
            prop_assert_eq!(lines.concat().replace(' ', ""), text.replace(' ', ""));
        }
    }

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

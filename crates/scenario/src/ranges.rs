//! Ranges, in one notation wherever seeds, hosts, flows, nodes, links or ports are listed.
//!
//! Numbers are `7`, `0..255` (both ends included), `0..15 step 4`, or a list of these: `1,2,8..11`. Names have numbers in brackets:
//! `host[0..7]`, `tor[0,2]->core[0..3]#0`, or a list of these. `0-255` is read as `0..255`.
//!
//! ```
//! use farspan_scenario::ranges::{names, numbers};
//!
//! assert_eq!(numbers("1..3,7", 100), Ok(vec![1, 2, 3, 7]));
//! assert_eq!(names("host[0..4 step 2],gateway", 100), Ok(["host0", "host2", "host4", "gateway"].map(str::to_owned).to_vec()));
//! ```

/// The largest number: TOML has no larger integers.
const LARGEST: u64 = i64::MAX as u64;

/// Why a text names no numbers, or no names.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RangeError {
    /// A part is not a number.
    #[error(
        "{text:?} is not a whole number from 0 to {LARGEST}; write a number, a range (both ends included) or a list, such as 7, 1..5 or \
         1,2,8..11"
    )]
    NotANumber {
        /// The part.
        text: String,
    },
    /// The first is larger than the last.
    #[error("no number lies between {first} and {last}; write the smaller one first")]
    Backwards {
        /// The first.
        first: u64,
        /// The last.
        last: u64,
    },
    /// A step that is no number, or zero.
    #[error("{text:?} is not a step; write a whole number of at least 1, such as 0..15 step 4")]
    NoStep {
        /// The step.
        text: String,
    },
    /// A bracket without the other one.
    #[error(
        "{text:?} has a bracket without the other one; write a range such as host[0..15] (both ends included)"
    )]
    Bracket {
        /// The text.
        text: String,
    },
    /// More than there is room for.
    #[error("{text:?} stands for more than {most}; give fewer")]
    TooMany {
        /// The text.
        text: String,
        /// The most that there may be.
        most: usize,
    },
}

/// Numbers with equal gaps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Range {
    first: u64,
    last: u64,
    step: u64,
}

impl Range {
    /// `7`, `0..255` or `0..15 step 4`.
    fn parse(text: &str) -> Result<Self, RangeError> {
        let (ends, step) = match text.split_once("step") {
            Some((ends, step)) => (ends, step.trim()),
            None => (text, "1"),
        };
        let (first, last) = ends.split_once("..").or_else(|| ends.split_once('-')).unwrap_or((ends, ends));
        let (first, last) = (number(first)?, number(last)?);
        if first > last {
            return Err(RangeError::Backwards { first, last });
        }
        match number(step) {
            Ok(step @ 1..) => Ok(Self { first, last, step }),
            _ => Err(RangeError::NoStep { text: step.to_owned() }),
        }
    }

    const fn contains(self, n: u64) -> bool {
        self.first <= n && n <= self.last && (n - self.first).is_multiple_of(self.step)
    }

    const fn count(self) -> u64 {
        (self.last - self.first) / self.step + 1
    }
}

fn number(text: &str) -> Result<u64, RangeError> {
    let number = text.trim().parse().ok().filter(|number| *number <= LARGEST);
    number.ok_or_else(|| RangeError::NotANumber { text: text.trim().to_owned() })
}

/// The numbers that a text stands for, in its order; at most `most`.
///
/// # Errors
/// If it stands for none, or for too many.
pub fn numbers(text: &str, most: usize) -> Result<Vec<u64>, RangeError> {
    let mut all = Vec::new();
    for part in text.split(',') {
        let range = Range::parse(part)?;
        if range.count().saturating_add(all.len() as u64) > most as u64 {
            return Err(RangeError::TooMany { text: text.to_owned(), most });
        }
        all.extend((range.first..=range.last).step_by(range.step as usize));
    }
    Ok(all)
}

/// The names that a text stands for, in its order, of several brackets the last varies fastest; at most `most`.
///
/// # Errors
/// If a bracket holds no numbers or has no other end, or if there are too many.
pub fn names(text: &str, most: usize) -> Result<Vec<String>, RangeError> {
    let mut all = Vec::new();
    for part in parts(text) {
        let mut names = vec![String::new()];
        for stretch in stretches(part)? {
            let endings = match stretch {
                Stretch::Text(text) => vec![text.to_owned()],
                Stretch::Numbers(text) => numbers(text, most)?.iter().map(u64::to_string).collect(),
            };
            if names.len().saturating_mul(endings.len()).saturating_add(all.len()) > most {
                return Err(RangeError::TooMany { text: text.to_owned(), most });
            }
            names =
                names.iter().flat_map(|name| endings.iter().map(move |end| format!("{name}{end}"))).collect();
        }
        all.append(&mut names);
    }
    Ok(all)
}

/// The items of a list: commas in brackets separate none.
pub(crate) fn parts(text: &str) -> impl Iterator<Item = &str> {
    let mut is_inside = false;
    let separates = move |c: char| {
        is_inside = c == '[' || is_inside && c != ']';
        c == ',' && !is_inside
    };
    text.split(separates).map(str::trim)
}

/// A stretch of a name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stretch<'a> {
    /// As it stands.
    Text(&'a str),
    /// The text in brackets.
    Numbers(&'a str),
}

/// A name cut at its brackets.
fn stretches(name: &str) -> Result<Vec<Stretch<'_>>, RangeError> {
    let fail = || RangeError::Bracket { text: name.to_owned() };
    let mut stretches = Vec::new();
    let mut rest = name;
    while let Some((before, inside)) = rest.split_once('[') {
        let (inside, after) = inside.split_once(']').ok_or_else(fail)?;
        if before.contains(']') || inside.contains('[') {
            return Err(fail());
        }
        stretches.extend([Stretch::Text(before), Stretch::Numbers(inside)]);
        rest = after;
    }
    if rest.contains(']') {
        return Err(fail());
    }
    stretches.push(Stretch::Text(rest));
    Ok(stretches)
}

/// A pattern of names: ranges, each of which takes all the digits in its place, `*` for any text, `?` for one character.
#[derive(Clone, Debug)]
pub struct Pattern(Vec<Token>);

/// A part of a pattern.
#[derive(Clone, Debug)]
enum Token {
    /// `*`: any text.
    Anything,
    /// `?`: one character.
    One,
    /// This one.
    Byte(u8),
    /// A number in one of these ranges.
    Number(Vec<Range>),
}

impl Pattern {
    /// The pattern that a text with ranges, `*` and `?` stands for.
    ///
    /// # Errors
    /// If a bracket holds no numbers, or has no other end.
    pub fn parse(text: &str) -> Result<Self, RangeError> {
        let mut tokens = Vec::new();
        for stretch in stretches(text)? {
            match stretch {
                Stretch::Text(text) => tokens.extend(text.bytes().map(|byte| match byte {
                    b'*' => Token::Anything,
                    b'?' => Token::One,
                    byte => Token::Byte(byte),
                })),
                Stretch::Numbers(text) => {
                    tokens.push(Token::Number(text.split(',').map(Range::parse).collect::<Result<_, _>>()?));
                }
            }
        }
        Ok(Self(tokens))
    }

    /// Whether the whole of a name fits.
    #[must_use]
    pub fn fits(&self, name: &str) -> bool {
        let name = name.as_bytes();
        let (mut at, mut read) = (0, 0);
        // The last star, and where in the name what follows it was tried last.
        let mut star: Option<(usize, usize)> = None;
        while read < name.len() {
            let taken = match self.0.get(at) {
                Some(Token::Anything) => {
                    star = Some((at, read));
                    at += 1;
                    continue;
                }
                Some(Token::One) => Some(1),
                Some(Token::Byte(byte)) => (*byte == name[read]).then_some(1),
                Some(Token::Number(ranges)) => digits(&name[read..])
                    .filter(|(n, _)| ranges.iter().any(|range| range.contains(*n)))
                    .map(|(_, length)| length),
                None => None,
            };
            if let Some(taken) = taken {
                (at, read) = (at + 1, read + taken);
                continue;
            }
            let Some((place, tried)) = star else { return false };
            star = Some((place, tried + 1));
            (at, read) = (place + 1, tried + 1);
        }
        self.0[at..].iter().all(|token| matches!(token, Token::Anything))
    }
}

/// The number that a text begins with, and of how many digits.
fn digits(text: &[u8]) -> Option<(u64, usize)> {
    let length = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let number = std::str::from_utf8(&text[..length]).ok()?.parse().ok()?;
    // As it would be written: no name has a zero before its number.
    (length == 1 || text[0] != b'0').then_some((number, length))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn all(text: &str) -> String {
        names(text, 1000).map_or_else(|error| error.to_string(), |names| names.join(" "))
    }

    fn listed(text: &str) -> String {
        let join = |all: Vec<u64>| all.iter().map(u64::to_string).collect::<Vec<_>>().join(" ");
        numbers(text, 1000).map_or_else(|error| error.to_string(), join)
    }

    #[test]
    fn numbers_come_in_their_order_with_both_ends() {
        for (text, expected) in [
            ("7", "7"),
            ("0..3", "0 1 2 3"),
            ("1-3", "1 2 3"),
            ("5..5", "5"),
            ("0..8 step 4", "0 4 8"),
            ("5, 1,2..3", "5 1 2 3"),
            (" 1 .. 2 ", "1 2"),
        ] {
            assert_eq!(listed(text), expected, "{text}");
        }
    }

    #[test]
    fn what_names_no_numbers_says_so() {
        for (text, words) in [
            ("", "\"\" is not a whole number"),
            ("a..b", "\"a\" is not"),
            ("-1..2", "\"-1\" is not"),
            ("1..2..3", "\"2..3\" is not"),
            ("1,", "\"\" is not"),
            ("1;2", "\"1;2\" is not"),
            ("9223372036854775808", "is not a whole number from 0 to 9223372036854775807"),
            ("3..1", "no number lies between 3 and 1; write the smaller one first"),
            ("0..3 step 0", "\"0\" is not a step"),
            ("0..3 step x", "\"x\" is not a step"),
            ("0..1000", "stands for more than 1000; give fewer"),
            ("0..9223372036854775807", "more than 1000"),
            ("0..999,7", "more than 1000"),
        ] {
            assert!(listed(text).contains(words), "{text}: {}", listed(text));
        }
    }

    #[test]
    fn names_have_numbers_in_brackets() {
        for (text, expected) in [
            ("host[0..3]", "host0 host1 host2 host3"),
            ("core[1..8 step 3]", "core1 core4 core7"),
            ("pod[2,5]-leaf", "pod2-leaf pod5-leaf"),
            ("a[0..1]->b[1..2]#0", "a0->b1#0 a0->b2#0 a1->b1#0 a1->b2#0"),
            ("leaf7", "leaf7"),
            ("a, b[0,1],c", "a b0 b1 c"),
        ] {
            assert_eq!(all(text), expected, "{text}");
        }
        for (text, words) in [
            ("host[0..", "a bracket without the other one"),
            ("host0]", "a bracket without"),
            ("a[[0]", "a bracket without"),
            ("host[3..1]", "no number lies between"),
            ("host[-1..3]", "\"-1\" is not a whole number"),
            ("host[]", "\"\" is not"),
            ("a[0..99]b[0..99]", "more than 1000"),
        ] {
            assert!(all(text).contains(words), "{text}: {}", all(text));
        }
    }

    #[test]
    fn a_range_in_a_pattern_takes_whole_numbers() {
        for (pattern, name, fits) in [
            ("host[0..7]", "host7", true),
            ("host[0..7]", "host8", false),
            ("host[0..7]", "host71", false),
            ("host[0..7]", "host07", false),
            ("host[0..7]", "host", false),
            ("tor[0,2]->*", "tor2->host3#0", true),
            ("tor[0,2]->*", "tor12->host3#0", false),
            ("*->host[10..12]#0", "tor1->host11#0", true),
            ("*->host[10..12]#0", "tor11->host1#0", false),
            ("border?->*#[0..3 step 3]", "border0->border1#3", true),
            ("border?->*#[0..3 step 3]", "border0->border1#2", false),
        ] {
            assert_eq!(Pattern::parse(pattern).unwrap().fits(name), fits, "{pattern} {name}");
        }
    }

    proptest! {
        #[test]
        fn a_pattern_fits_the_names_that_its_text_stands_for(first in 0_u64..30, length in 0_u64..30, step in 1_u64..5, n in 0_u64..70) {
            let text = format!("a[{first}..{} step {step}]#[1,4]", first + length);
            let (all, pattern) = (names(&text, 1000).unwrap(), Pattern::parse(&text).unwrap());
            prop_assert!(all.iter().all(|name| pattern.fits(name)));
            for end in [1, 2, 4] {
                let name = format!("a{n}#{end}");
                prop_assert_eq!(pattern.fits(&name), all.contains(&name));
            }
        }
    }
}

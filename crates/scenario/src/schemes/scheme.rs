//! The names of schemes: built-in ones, `CC+LB`, `CC+LB+CODING`, and `A/B` for intra and inter.

use super::alias::{ALIASES, Alias, is_alias};
use super::control;
use crate::names::{self, UnknownName};
use crate::scheme_error::SchemeError;
use crate::value::Part;
use farspan_transport::coding::Shape;
use farspan_transport::{ack, balance, coding};

/// The components that serve one class of flows, by name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stack {
    /// Congestion control.
    pub control: &'static str,
    /// Path selection.
    pub balance: &'static str,
    /// Coding.
    pub coding: &'static str,
    /// The shape of its blocks, if the name gives one.
    pub shape: Option<Shape>,
    /// The built-in scheme of which it serves one class.
    pub alias: Option<&'static str>,
}

/// A scheme's line in `farspan list schemes`.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize)]
pub struct SchemeEntry {
    /// Its name.
    pub name: String,
    /// The stack for flows inside a site.
    pub intra: String,
    /// The stack for flows between the sites.
    pub inter: String,
    /// Whether this release has it.
    pub available: bool,
}

/// Every scheme with a name of its own: the built-in ones, and those of registered controls. What `CC+LB` and `A/B` can combine
/// comes from the lists of controls and path selectors.
#[must_use]
pub fn built_in_schemes() -> Vec<SchemeEntry> {
    let aliases = ALIASES.iter().map(|a| (a.name.to_owned(), a.intra.to_owned(), a.inter.to_owned()));
    let controls =
        control::names().into_iter().filter(|name| *name != "unocc" && !is_alias(name)).map(|name| {
            let stack = format!("{name}+ecmp");
            (name.to_owned(), stack.clone(), stack)
        });
    let entry = |(name, intra, inter): (String, String, String)| SchemeEntry {
        available: stacks(&name).is_ok(),
        name,
        intra,
        inter,
    };
    aliases.chain(controls).map(entry).collect()
}

/// The names of the built-in schemes that this release has.
#[must_use]
pub fn available_schemes() -> Vec<String> {
    built_in_schemes().into_iter().filter(|scheme| scheme.available).map(|scheme| scheme.name).collect()
}

/// A component that a scheme's name asks for, but that is not there.
enum Missing {
    /// A coding.
    Coding(String),
    /// A name that is neither a scheme nor a control.
    Unknown(String),
    /// A path selector.
    Balance(String),
    /// A scheme that has all its parts, where a control is to stand; its own control.
    Whole(&'static str, &'static str),
}

/// The parts of a scheme for intra-DC and inter-DC flows.
///
/// # Errors
/// If the name, or a part of it, is unknown.
pub(crate) fn parse(name: &str) -> Result<(Stack, Stack), SchemeError> {
    stacks(name).map_err(|missing| error(name, missing))
}

fn stacks(name: &str) -> Result<(Stack, Stack), Missing> {
    if let Some((intra, inter)) = name.split_once('/') {
        return Ok((side(intra.trim(), |a| a.intra)?, side(inter.trim(), |a| a.inter)?));
    }
    // What is not said of a class by itself is coded between the sites only.
    let intra = Stack { coding: "none", shape: None, ..side(name, |a| a.intra)? };
    Ok((intra, side(name, |a| a.inter)?))
}

/// The stack of a scheme for one class: an alias, a control, or `CC+LB[+CODING]`.
fn side(name: &str, of_alias: fn(&Alias) -> &'static str) -> Result<Stack, Missing> {
    let alias = ALIASES.iter().find(|alias| alias.name == name);
    let mut parts = alias.map_or(name, |alias| of_alias(alias)).split('+').map(str::trim);
    let asked = parts.next().unwrap_or_default();
    let control = control::names().into_iter().find(|known| *known == asked);
    let control = control.ok_or_else(|| match ALIASES.iter().find(|alias| alias.name == asked) {
        Some(whole) => Missing::Whole(whole.name, of_alias(whole).split('+').next().unwrap_or_default()),
        None => Missing::Unknown(asked.to_owned()),
    })?;
    let asked = parts.next().unwrap_or("ecmp");
    let balance = balance::NAMES.iter().find(|known| **known == asked).copied();
    let balance = balance.ok_or_else(|| Missing::Balance(asked.to_owned()))?;
    let (coding, shape) = coding_of(parts.next().unwrap_or("none"))?;
    if let Some(more) = parts.next() {
        return Err(Missing::Coding(more.to_owned()));
    }
    Ok(Stack { control, balance, coding, shape, alias: alias.map(|alias| alias.name) })
}

/// A coding in a scheme's name: `none`, `mds`, or `mds(DATA,PARITY)`.
fn coding_of(text: &str) -> Result<(&'static str, Option<Shape>), Missing> {
    let missing = || Missing::Coding(text.to_owned());
    let (name, shape) = match text.strip_suffix(')').and_then(|text| text.split_once('(')) {
        None => (text, None),
        Some((name, numbers)) => {
            let (data, parity) = numbers.split_once(',').ok_or_else(missing)?;
            let number = |text: &str| text.trim().parse::<u8>().map_err(|_| missing());
            let shape = Shape::new(number(data)?, number(parity)?).ok_or_else(missing)?;
            (name, Some(shape))
        }
    };
    let name = coding::NAMES.iter().find(|known| **known == name).ok_or_else(missing)?;
    if *name == "none" && shape.is_some() { Err(missing()) } else { Ok((name, shape)) }
}

/// The error of a scheme's name that asks for what is not there.
fn error(scheme: &str, missing: Missing) -> SchemeError {
    let scheme = scheme.to_owned();
    match missing {
        Missing::Coding(coding) => match coding.split('(').next().unwrap_or_default() {
            name if coding::NAMES.contains(&name) => SchemeError::Coding { scheme, coding },
            name => {
                SchemeError::UnknownPart { scheme, part: names::unknown("coding", name, coding::NAMES, &[]) }
            }
        },
        Missing::Unknown(name) => {
            let entries = built_in_schemes();
            let there: Vec<_> = entries.iter().map(|entry| entry.name.as_str()).chain(["unocc"]).collect();
            SchemeError::Unknown(names::unknown("scheme", &name, &there, &[]))
        }
        Missing::Whole(whole, control) => {
            SchemeError::Whole { scheme, whole, control, controls: control::names() }
        }
        Missing::Balance(name) => {
            let part = names::unknown("path selector", &name, balance::NAMES, &[]);
            SchemeError::UnknownPart { scheme, part }
        }
    }
}

/// A path selector's name.
///
/// # Errors
/// If it is unknown.
pub(crate) fn balance_name(name: &str) -> Result<&'static str, UnknownName> {
    known("path selector", name, balance::NAMES)
}

/// A coding's name.
///
/// # Errors
/// If it is unknown.
pub(crate) fn coding_name(name: &str) -> Result<&'static str, UnknownName> {
    known("coding", name, coding::NAMES)
}

/// A coding with the numbers that its name has, `mds(8,2)`, in their own keys; any other as it is.
pub(crate) fn coding_in_full(mut coding: Part) -> Part {
    let has_numbers = ["data", "parity"].iter().any(|key| coding.0.contains_key(*key));
    if let Some(Ok((name, Some(shape)))) = coding.name().filter(|_| !has_numbers).map(coding_of) {
        coding.0.insert("name".to_owned(), name.into());
        coding.0.insert("data".to_owned(), i64::from(shape.data()).into());
        coding.0.insert("parity".to_owned(), i64::from(shape.parity()).into());
    }
    coding
}

/// An ACK policy's name.
///
/// # Errors
/// If it is unknown.
pub(crate) fn ack_name(name: &str) -> Result<&'static str, UnknownName> {
    known("ACK policy", name, ack::NAMES)
}

/// A control's name.
///
/// # Errors
/// If it is unknown.
pub(crate) fn control_name(name: &str) -> Result<&'static str, UnknownName> {
    known("congestion control", name, &control::names())
}

fn known(what: &str, name: &str, names: &[&'static str]) -> Result<&'static str, UnknownName> {
    let found = names.iter().find(|known| **known == name).copied();
    found.ok_or_else(|| names::unknown(what, name, names, &[]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stacks(name: &str) -> String {
        let text = |stack: Stack| {
            let shape = stack.shape.map_or(String::new(), |s| format!("({},{})", s.data(), s.parity()));
            let coding =
                if stack.coding == "none" { String::new() } else { format!("+{}{shape}", stack.coding) };
            format!("{}+{}{coding}", stack.control, stack.balance)
        };
        let (intra, inter) = parse(name).unwrap();
        format!("{}/{}", text(intra), text(inter))
    }

    fn said(name: &str) -> String {
        let error = parse(name).unwrap_err();
        format!("{error}; {}", error.cure())
    }

    #[test]
    fn names_and_combinations_give_the_parts() {
        assert_eq!(stacks("uno-noec"), "unocc+unolb/unocc+unolb");
        assert_eq!(stacks("uno-ecmp"), "unocc+ecmp/unocc+ecmp");
        assert_eq!(stacks("gemini"), "gemini+ecmp/gemini+ecmp");
        assert_eq!(stacks("unocc+rps"), "unocc+rps/unocc+rps");
        assert_eq!(stacks("uno-plb"), "unocc+plb/unocc+plb");
        assert_eq!(stacks("mprdma-bbr"), "mprdma+ecmp/bbr+ecmp");
        assert_eq!(stacks("bbr"), "bbr+ecmp/bbr+ecmp");
        assert_eq!(stacks("mprdma+rps/bbr+rps"), "mprdma+rps/bbr+rps");
        assert_eq!(stacks("mprdma+unolb/bbr+unolb"), "mprdma+unolb/bbr+unolb");
        assert_eq!(stacks("gemini+unolb"), "gemini+unolb/gemini+unolb");
        assert_eq!(stacks("dctcp+rps/uno-noec"), "dctcp+rps/unocc+unolb");
        assert_eq!(stacks("fixed_window"), "fixed_window+ecmp/fixed_window+ecmp");
    }

    #[test]
    fn coding_is_between_the_sites_unless_a_class_is_named_by_itself() {
        assert_eq!(stacks("uno"), "unocc+unolb/unocc+unolb+mds(8,2)");
        assert_eq!(stacks("uno-rps-ec"), "unocc+rps/unocc+rps+mds(8,2)");
        assert_eq!(stacks("dctcp+rps+mds(20, 4)"), "dctcp+rps/dctcp+rps+mds(20,4)");
        assert_eq!(stacks("dctcp+rps+mds(4,1)/uno"), "dctcp+rps+mds(4,1)/unocc+unolb+mds(8,2)");
        assert_eq!(stacks("uno/gemini+ecmp+mds"), "unocc+unolb/gemini+ecmp+mds");
        assert_eq!(stacks("unocc+rps+none"), "unocc+rps/unocc+rps");
        assert_eq!(parse("uno/gemini").map(|(a, b)| (a.alias, b.alias)).ok(), Some((Some("uno"), None)));
    }

    #[test]
    fn what_is_no_coding_is_told_from_what_is_unknown() {
        for text in ["mds(8)", "mds(8,x)", "mds(8,2,1)", "mds(8,2", "none(1,1)", "mds(0,2)", "mds(200,56)"] {
            let said = said(&format!("unocc+rps+{text}"));
            assert!(said.contains("is not a coding; write mds, mds(DATA,PARITY)"), "{said}");
        }
        assert!(said("unocc+rps+msd(8,2)").contains("did you mean \"mds\"?"));
        assert!(said("unocc+rps+mds(8,2)+none").contains("is not a coding"));
    }

    #[test]
    fn unknown_parts_have_a_name_that_is_near() {
        assert!(said("unocc+rep").contains("did you mean \"reps\"?"));
        assert!(said("unoo").contains("did you mean \"uno\"?"), "{}", said("unoo"));
        assert!(said("unocc+rsp").contains("did you mean \"rps\"?"));
    }

    #[test]
    fn a_whole_scheme_is_no_control() {
        for name in ["uno+x", "uno + rps", "gemini/uno-noec+rps+mds"] {
            let said = said(name);
            assert!(
                said.contains("is a whole scheme, but only a congestion control can stand before a +"),
                "{said}"
            );
            assert!(
                said.contains("has \"unocc\"; write CC+LB with CC one of ") && said.contains("gemini"),
                "{said}"
            );
        }
    }

    #[test]
    fn every_scheme_of_the_interface_is_listed() {
        let all = built_in_schemes();
        for name in [
            "uno",
            "uno-noec",
            "uno-ecmp",
            "uno-rps",
            "uno-plb",
            "uno-plb-ec",
            "gemini",
            "mprdma-bbr",
            "ndp",
            "hpcc-star",
            "newreno",
            "cubic",
            "vegas",
            "vegas-10",
            "oscar",
            "oscar-owd",
        ] {
            assert!(all.iter().any(|scheme| scheme.name == name), "{name}");
        }
        let mut available = available_schemes();
        available.sort();
        for name in ["uno", "uno-noec", "uno-rps-ec"] {
            assert!(available.contains(&name.to_owned()), "{name}");
        }
    }
}

//! Errors in the names of schemes.

use crate::names::UnknownName;

/// How a coding is written in a scheme's name.
pub(crate) const CODINGS: &str =
    "write mds, mds(DATA,PARITY) such as mds(8,2) with at most 255 packets, or none";

/// Why a scheme's name does not name a scheme.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SchemeError {
    /// No scheme and no control has this name.
    #[error("{}", .0.problem())]
    Unknown(UnknownName),
    /// A part of it has no name that is known.
    #[error("scheme {scheme:?}: {}", .part.problem())]
    UnknownPart {
        /// The scheme.
        scheme: String,
        /// The part.
        part: UnknownName,
    },
    /// A coding with numbers that it cannot have.
    #[error("scheme {scheme:?}: {coding:?} is not a coding")]
    Coding {
        /// The scheme.
        scheme: String,
        /// The coding, as written.
        coding: String,
    },
    /// A whole scheme stands where a control belongs.
    #[error(
        "scheme {scheme:?}: {whole:?} is a whole scheme, but only a congestion control can stand before a +"
    )]
    Whole {
        /// The scheme.
        scheme: String,
        /// The whole scheme in it.
        whole: &'static str,
        /// The control of that scheme.
        control: &'static str,
        /// All controls.
        controls: Vec<&'static str>,
    },
}

impl SchemeError {
    /// The cure: names that can be written instead.
    #[must_use]
    pub fn cure(&self) -> String {
        match self {
            Self::Unknown(name) => {
                format!("{}, any CC+LB such as unocc+rps, and A/B for intra and inter", name.cure())
            }
            Self::UnknownPart { part, .. } => part.cure(),
            Self::Coding { .. } => CODINGS.to_owned(),
            Self::Whole { whole, control, controls, .. } => {
                let controls = controls.join(", ");
                format!("{whole} has {control:?}; write CC+LB with CC one of {controls}")
            }
        }
    }
}

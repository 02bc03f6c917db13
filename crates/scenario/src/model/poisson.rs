//! Poisson arrivals, resolved: the classes of their flows, their sizes, and how many arrive.

use crate::value::{Hosts, LoadReference, LoadUnit, MixUnit, NamedMix, Sizes};
use farspan_transport::Class;
use farspan_units::{Bytes, Duration};

/// Poisson arrivals.
#[derive(Clone, PartialEq, Debug)]
pub struct Poisson {
    /// The hosts that receive; `None`: all.
    pub receivers: Option<Hosts>,
    /// Flows of which classes, and their sizes.
    pub classes: Classes,
    /// From which size on flows have a tag of their own, if any have.
    pub large: Option<Bytes>,
    /// Offered load, as a fraction of `load_reference`.
    pub load: f64,
    /// The capacity that the load is a fraction of.
    pub load_reference: LoadReference,
    /// Whether the load counts headers.
    pub load_unit: LoadUnit,
    /// How many flows.
    pub arrivals: FlowCount,
    /// Starts are cut to a multiple of this.
    pub start_granularity: Duration,
}

/// The classes of random arrivals, with their sizes.
#[derive(Clone, PartialEq, Debug)]
pub enum Classes {
    /// One of the two.
    One {
        /// Which.
        class: Class,
        /// The sizes of its flows.
        sizes: FlowSizes,
    },
    /// Both, with sizes of their own.
    Ratio {
        /// Parts intra and parts inter.
        parts: [f64; 2],
        /// The unit that the parts count in.
        unit: MixUnit,
        /// The sizes of flows.
        sizes: Sizes,
    },
    /// Both, as a named mix has them.
    Named {
        /// The mix.
        mix: NamedMix,
        /// The unit that its parts count in.
        unit: MixUnit,
    },
}

/// The sizes of random arrivals of one class.
#[derive(Clone, PartialEq, Debug)]
pub enum FlowSizes {
    /// These.
    Own(Sizes),
    /// Those that a named mix brings.
    OfMix(NamedMix),
}

impl Classes {
    /// Parts intra and parts inter.
    #[must_use]
    pub const fn parts(&self) -> [f64; 2] {
        match self {
            Self::One { class: Class::Intra, .. } => [1.0, 0.0],
            Self::One { class: Class::Inter, .. } => [0.0, 1.0],
            Self::Ratio { parts, .. } => *parts,
            Self::Named { .. } => NamedMix::RATIO,
        }
    }

    /// The unit that the parts count in.
    #[must_use]
    pub const fn unit(&self) -> MixUnit {
        match self {
            Self::One { .. } => MixUnit::Flows,
            Self::Ratio { unit, .. } | Self::Named { unit, .. } => *unit,
        }
    }

    /// The sizes of flows, or the mix that brings them.
    ///
    /// # Errors
    /// The mix, if the sizes are those of one.
    pub const fn sizes(&self) -> Result<&Sizes, NamedMix> {
        match self {
            Self::One { sizes: FlowSizes::Own(sizes), .. } | Self::Ratio { sizes, .. } => Ok(sizes),
            Self::One { sizes: FlowSizes::OfMix(mix), .. } | Self::Named { mix, .. } => Err(*mix),
        }
    }
}

/// How many flows arrive, or how long.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FlowCount {
    /// This many flows.
    Flows(u64),
    /// As many as come in this time.
    For(Duration),
}

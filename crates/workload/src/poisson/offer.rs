//! How much traffic is offered, and in which unit.

use farspan_units::Duration;

/// The capacity of which a load is a share.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum LoadReference {
    /// All host NICs together, one direction.
    Host,
    /// The busiest direction between two sites.
    Wan,
    /// The narrowest tier between racks, one direction.
    Bisection,
    /// The NICs of all receivers together.
    Receivers,
    /// Whichever of the others the traffic would fill first: below a load of 1, none is offered more than it carries.
    Tightest,
}

/// Which bytes a load counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LoadUnit {
    /// Payload.
    Payload,
    /// Payload and the headers of its packets; the last packet of a flow is not padded.
    Wire,
}

/// The unit in which the mix of intra and inter is a ratio.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MixUnit {
    /// Numbers of flows.
    Flows,
    /// Payload bytes.
    Bytes,
}

/// Traffic inside sites against traffic between them, such as 4 : 1.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Mix {
    /// The intra part of the ratio.
    pub intra: f64,
    /// The inter part of the ratio.
    pub inter: f64,
    /// The unit in which the ratio counts.
    pub unit: MixUnit,
}

/// How much traffic is offered.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Load {
    /// One load for both classes, divided by a mix. With a single site everything is intra.
    Mixed {
        /// Offered over capacity.
        load: f64,
        /// Whose capacity.
        reference: LoadReference,
        /// Intra against inter.
        mix: Mix,
    },
    /// A load for each class: steady scenarios, in which neither the hosts nor the WAN are overloaded.
    Separate {
        /// Intra traffic over the host NICs; 0: none.
        intra: f64,
        /// Inter traffic over the WAN, in each direction; 0: none.
        inter: f64,
    },
}

/// How many flows are measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Arrivals {
    /// The earliest over all sources from `warmup` on.
    Flows(u32),
    /// All that start within this time from `warmup` on.
    For(Duration),
}

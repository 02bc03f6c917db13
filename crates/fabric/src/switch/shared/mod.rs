//! State that the ports of a switch share: buffer pools, pause frames. A switch with any runs in ordered mode.
//!
//! Adding one: its file, and a line in the registry at the end of this module.

#[cfg(any(test, feature = "testing"))]
pub mod pause;
#[cfg(any(test, feature = "testing"))]
pub mod pool;

use crate::queue::port::Gate;
use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt::Debug;
use farspan_units::{Bytes, PortId, Time};

/// The links by which a packet comes to a switch and leaves it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Crossing {
    /// The link that it came over.
    pub ingress: PortId,
    /// The port that it leaves from.
    pub egress: PortId,
}

/// A value that switches send to each other and to their hosts beside packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Frame(pub u32);

impl Frame {
    /// Data may be sent to this node again.
    pub const RESUME: Self = Self(0);
    /// Data to this node must wait. A packet that has begun to leave still comes.
    pub const PAUSE: Self = Self(1);
}

/// An action that shared state requests from its switch. A neighbour is named by the link that comes from it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Effect {
    /// A frame leaves for the neighbour.
    Send { ingress: PortId, frame: Frame },
    /// Data to the neighbour waits from now on, or no longer.
    SetGate { ingress: PortId, gate: Gate },
}

impl Effect {
    pub(super) const fn ingress(self) -> PortId {
        match self {
            Self::Send { ingress, .. } | Self::SetGate { ingress, .. } => ingress,
        }
    }
}

/// The actions that shared state requests from its switch.
#[derive(Clone, Debug, Default)]
pub struct Effects(Vec<Effect>);

impl Effects {
    /// A frame leaves at once for where link `ingress` comes from. At one instant frames arrive before
    /// packets.
    pub fn send(&mut self, ingress: PortId, frame: Frame) {
        self.0.push(Effect::Send { ingress, frame });
    }

    /// Sets the gate of the port that leads back to where link `ingress` comes from.
    pub fn set_gate(&mut self, ingress: PortId, gate: Gate) {
        self.0.push(Effect::SetGate { ingress, gate });
    }

    pub(super) fn take(&mut self) -> Vec<Effect> {
        core::mem::take(&mut self.0)
    }
}

/// State for one switch, and what it needs of the network.
#[derive(Debug)]
pub struct Attached {
    /// The state.
    pub model: Box<dyn Shared>,
    /// The reverse of each link of the network.
    pub reverse: Arc<[PortId]>,
}

/// State that the ports of one switch share. Called in order of (time, port) over all ports.
pub trait Shared: Send + Debug {
    /// Whether there is room for a packet of `size`, which then takes it, until [`Self::released`].
    /// `control`: whether it is a control packet.
    fn admits(
        &mut self,
        now: Time,
        crossing: Crossing,
        size: Bytes,
        control: bool,
        effects: &mut Effects,
    ) -> bool;

    /// A packet that took `size` has left, or was discarded.
    fn released(&mut self, now: Time, crossing: Crossing, size: Bytes, effects: &mut Effects);

    /// A frame has arrived over link `ingress`.
    fn on_frame(&mut self, now: Time, ingress: PortId, frame: Frame, effects: &mut Effects);
}

/// Generates [`SharedConfig`].
macro_rules! shared {
    ($($(#[$attribute:meta])* $variant:ident, $module:ident::$config:ident, $name:literal;)*) => {
        /// Which state the ports of a switch share.
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
        #[non_exhaustive]
        pub enum SharedConfig {
            /// None.
            #[default]
            None,
            $(
                $(#[$attribute])*
                #[doc = concat!("`", $name, "`.")]
                $variant($module::$config),
            )*
        }

        impl SharedConfig {
            /// The state of one switch.
            #[must_use]
            pub fn build(&self) -> Option<Box<dyn Shared>> {
                match self {
                    Self::None => None,
                    $($(#[$attribute])* Self::$variant(config) => Some(Box::new($module::$variant::new(config))),)*
                }
            }
        }


    };
}

// The registry: variant, configuration, name.
shared! {
    #[cfg(any(test, feature = "testing"))] Pool, pool::PoolConfig, "pool";
    #[cfg(any(test, feature = "testing"))] Pause, pause::PauseConfig, "pause";
}

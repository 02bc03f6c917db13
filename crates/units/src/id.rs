//! Small integer names for the things of a network.

use core::fmt;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
        #[repr(transparent)]
        pub struct $name(pub u32);

        impl $name {
            /// The identifier as an index into a table.
            #[must_use]
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

id!(
    /// A host; hosts are numbered through the sites, from 0.
    HostId
);
id!(
    /// A flow: its position in the workload, fixed before the run.
    FlowId
);
id!(
    /// A node of the network: hosts first (a host's node has the host's number), then switches.
    NodeId
);
id!(
    /// A directed port, and with it the link that leaves it.
    PortId
);

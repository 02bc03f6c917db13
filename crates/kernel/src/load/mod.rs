//! eBPF programs in the kernel: loading, pins, network namespaces, sockets.

mod install;
mod instance;
mod mark;
mod netns;
mod object;
mod pin;
mod requirements;
mod restore;
mod saved_defaults;
mod sockets;
mod status;
mod sys;

pub use install::{
    InstallError, Installed, RemoveError, Removed, UpdateError, Updated, install, remove, replace, tune,
};
pub use mark::{Attached, MarkError, PortStatus, mark, marked, unmark};
pub use netns::{Namespace, NamespaceError};
pub use object::LoadError;
pub use requirements::{Missing, check};
pub use restore::{Refused, Restored};
pub use sockets::{Socket, SocketsError};
pub use status::{Program, Status, status};

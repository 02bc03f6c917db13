//! eBPF programs in the kernel: loading, pins, network namespaces, sockets.

mod before;
mod instance;
mod life;
mod mark;
mod missing;
mod netns;
mod object;
mod pin;
mod restore;
mod sockets;
mod status;
mod sys;

pub use life::{
    InstallError, Installed, RemoveError, Removed, UpdateError, Updated, install, remove, replace, tune,
};
pub use mark::{Attached, MarkError, PortStatus, mark, marked, unmark};
pub use missing::{Missing, check};
pub use netns::{Namespace, NamespaceError};
pub use object::LoadError;
pub use restore::{Refused, Restored};
pub use sockets::{Socket, SocketsError};
pub use status::{Program, Status, status};

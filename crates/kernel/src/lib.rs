//! TCP congestion controls in the Linux kernel, and phantom queues on its ports, as eBPF programs.
//!
//! - [`Control`] and [`Settings`]: the controls that can be installed, and their parameters with units and bounds. They build on every
//!   system.
//! - [`install`], [`tune`], [`replace`], [`remove`], [`status`]: manage a control (Linux, with the feature `load`). It lives in the
//!   kernel and in one pin of the BPF file system, and needs no process.
//! - [`mark`]: phantom queues on ports (Linux, with the feature `load`).
//! - [`PhantomQueue`]: the constants of a phantom queue, as the program reads them.
//!
//! ```
//! use farspan_kernel::{Control, Settings};
//!
//! let control: Control = "fixed".parse()?;
//! let settings = Settings::parse(control, &["window=64".to_owned()])?;
//! assert_eq!(settings.to_string(), "window=64");
//! assert!(Settings::parse(control, &["window=0".to_owned()]).is_err());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`install`]: https://docs.rs/farspan-kernel
//! [`tune`]: https://docs.rs/farspan-kernel
//! [`replace`]: https://docs.rs/farspan-kernel
//! [`remove`]: https://docs.rs/farspan-kernel
//! [`status`]: https://docs.rs/farspan-kernel
//! [`mark`]: https://docs.rs/farspan-kernel
#![deny(unsafe_code)]

mod control;
#[cfg(all(target_os = "linux", feature = "load"))]
mod load;
mod name;
mod parameter;
mod phantom;
mod setting;

pub use control::{Control, UnknownControl};
#[cfg(all(target_os = "linux", feature = "load"))]
pub use load::*;
pub use name::{Name, NameError};
pub use parameter::{Parameter, Unit};
pub use phantom::{PhantomError, PhantomQueue};
pub use setting::{SettingError, Settings};

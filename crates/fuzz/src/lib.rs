//! The bodies of the fuzz targets in `fuzz/`, as plain functions. `cargo fuzz` calls them with a nightly compiler, a test
//! replays the committed corpora, and the example `mutate` draws inputs on any compiler.
//!
//! Each function takes any bytes, and panics if an invariant does not hold. This crate also has inputs that [must be
//! refused](fn@invalid), and a check of [what an error message must say](flaw).
//!
//! ```
//! for (name, target) in farspan_fuzz::TARGETS {
//!     target(format!("nothing that {name} knows").as_bytes());
//! }
//! ```

mod bundle;
mod error_message;
mod input;
mod invalid;
mod mutation;
mod network;
mod protocol;
mod proxy;
pub mod runs;
mod text;

pub use bundle::bundle;
pub use error_message::flaw;
pub use invalid::{Invalid, InvalidKind, invalid};
pub use mutation::mutate;
pub use network::driver;
pub use protocol::{coding, endpoint, wire};
pub use proxy::proxy;
pub use text::{cm, hpcc_files, list, parquet, scenario, sizes, sweep, topo, topology};

/// A body: it takes the bytes of an input.
pub type Target = fn(&[u8]);

/// The targets by name, which is that of their corpus, too.
pub const TARGETS: [(&str, Target); 15] = [
    ("wire", wire),
    ("endpoint", endpoint),
    ("driver", driver),
    ("proxy", proxy),
    ("coding", coding),
    ("scenario", scenario),
    ("topology", topology),
    ("sweep", sweep),
    ("cm", cm),
    ("topo", topo),
    ("hpcc", hpcc_files),
    ("list", list),
    ("sizes", sizes),
    ("parquet", parquet),
    ("bundle", bundle),
];

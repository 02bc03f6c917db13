//! `farspan kernel` in a build without the eBPF programs.

use crate::Failure;
use crate::args::KernelArgs;

/// Says how to build with them.
pub fn kernel(_: &KernelArgs) -> Result<(), Failure> {
    Err(Failure::BadInput(
        "this farspan was built without its eBPF programs. They take clang, libelf-dev and zlib1g-dev to build:\n  \
         apt-get install clang libelf-dev zlib1g-dev\n  \
         cargo build --release --locked -p farspan-cli --features kernel --bin farspan"
            .to_owned(),
    ))
}

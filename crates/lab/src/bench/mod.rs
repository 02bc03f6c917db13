//! `farspan-lab bench`: what single parts of farspan cost. `farspan bench sim` measures the whole simulator.

mod coding;
mod congestion;
#[cfg(target_os = "linux")]
mod kernel;
mod proxy;
mod steps;

use self::coding::BenchCodingArgs;
use self::congestion::BenchCongestionArgs;
#[cfg(target_os = "linux")]
use self::kernel::BenchKernelArgs;
use self::proxy::BenchProxyArgs;
use crate::failure::Failure;
use clap::{Args, Subcommand};

/// Arguments of `bench`.
#[derive(Args, Debug)]
pub struct BenchArgs {
    /// The benchmark and its arguments.
    #[command(subcommand)]
    part: BenchPart,
}

/// The benchmarks of `farspan-lab bench`.
#[derive(Subcommand, Debug)]
enum BenchPart {
    /// Bytes per second that one core encodes and decodes, with every kernel that the CPU supports
    Coding(BenchCodingArgs),
    /// Instructions and time per ACK, and bytes of state, for every congestion control
    Congestion(BenchCongestionArgs),
    /// Instructions and time per packet at the proxies of an incast, beside the paper's times. Measures the code only, without sockets
    Proxy(BenchProxyArgs),
    /// Compare TCP of the Linux kernel with the simulator's at the same bottleneck (Linux, as root; needs `farspan` beside this program)
    #[cfg(target_os = "linux")]
    Kernel(BenchKernelArgs),
}

/// Runs the benchmark that the arguments name.
pub fn bench(args: &BenchArgs) -> Result<(), Failure> {
    match &args.part {
        BenchPart::Coding(coding) => coding::coding(coding),
        BenchPart::Congestion(congestion) => congestion::congestion(congestion),
        BenchPart::Proxy(proxy) => proxy::proxy(proxy),
        #[cfg(target_os = "linux")]
        BenchPart::Kernel(kernel) => kernel::kernel(kernel),
    }
}

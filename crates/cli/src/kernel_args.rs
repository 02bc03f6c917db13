//! The arguments of `farspan kernel`.

use clap::{Args, Subcommand};
use farspan_units::{Bytes, Rate};

/// Arguments of `kernel`.
#[derive(Args, Debug)]
pub struct KernelArgs {
    /// The subcommand and its arguments.
    #[command(subcommand)]
    pub part: KernelPart,
}

/// The subcommands of `kernel`.
#[derive(Subcommand, Debug)]
pub enum KernelPart {
    /// Put a congestion control into the kernel: it stays until `remove`, and needs no process
    Install(KernelInstallArgs),
    /// Show controls in the kernel: programs, parameters, namespaces, sockets; and phantom queues
    Status(KernelStatusArgs),
    /// Change parameters of an installed control for connections to come, and keep the others
    Tune(KernelUpdateArgs),
    /// Put this build's program in the place of an installed one, with its own defaults, for connections to come
    Replace(KernelUpdateArgs),
    /// Set the defaults of namespaces back, and take a control away; open connections keep it until they close
    Remove(KernelRemoveArgs),
    /// Give a port a phantom queue, which marks packets by ECN before a real queue builds
    ///
    /// The program is at TC egress, before the device's own queue. A super-packet that the device will cut (GSO) counts with the bytes of
    /// all its segments and is marked once: all of them carry the mark. `ip link set dev IF gso_max_segs 1` (or `ethtool -K IF tso off
    /// gso off`) ends super-packets, so that each packet has a decision of its own.
    Mark(KernelMarkArgs),
}

/// Arguments of `kernel install`.
#[derive(Args, Debug)]
pub struct KernelInstallArgs {
    /// The control: gemini, unocc, or fixed (a window that never changes)
    #[arg(value_name = "NAME")]
    pub control: String,
    /// Its name in the kernel, if not its own: one control can stand there several times, with other parameters
    #[arg(long = "as", value_name = "NAME")]
    pub name: Option<String>,
    /// Make it the default of this network namespace (a name of `ip netns`, or a path), with tcp_ecn=1
    #[arg(long, value_name = "N")]
    pub netns: Option<String>,
    /// Set a parameter; can be given several times
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
}

/// Arguments of `kernel status`.
#[derive(Args, Debug)]
pub struct KernelStatusArgs {
    /// The name in the kernel; without it, all controls and the phantom queues of the namespace
    pub name: Option<String>,
    /// Show sockets and phantom queues of this network namespace alone
    #[arg(long, value_name = "N")]
    pub netns: Option<String>,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `kernel tune` and `kernel replace`.
#[derive(Args, Debug)]
pub struct KernelUpdateArgs {
    /// The name in the kernel
    pub name: String,
    /// Make it the default of this network namespace too
    #[arg(long, value_name = "N")]
    pub netns: Option<String>,
    /// Set a parameter; can be given several times
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
}

/// Arguments of `kernel remove`.
#[derive(Args, Debug)]
pub struct KernelRemoveArgs {
    /// The name in the kernel
    pub name: String,
    /// Set the default of this network namespace back, and keep the control
    #[arg(long, value_name = "N")]
    pub netns: Option<String>,
}

/// Arguments of `kernel mark`.
#[derive(Args, Debug)]
pub struct KernelMarkArgs {
    /// The network device
    #[arg(long, value_name = "IF")]
    pub dev: String,
    /// The link's rate, such as 10Gbps
    #[arg(long, value_name = "R", required_unless_present_any = ["remove", "status"])]
    pub rate: Option<Rate>,
    /// The counter drains at this fraction of the rate
    #[arg(long, value_name = "D", default_value_t = 0.9)]
    pub drain: f64,
    /// Up to this level of the counter no packet is marked; without it, a quarter of what the link sends in 2 ms
    #[arg(long, value_name = "B", requires = "k_max")]
    pub k_min: Option<Bytes>,
    /// Above this level each packet is marked, and the counter saturates at 4/3 of it; without it, three quarters of what the link sends
    /// in 2 ms
    #[arg(long, value_name = "B", requires = "k_min")]
    pub k_max: Option<Bytes>,
    /// The network namespace of the device: a name of `ip netns`, or a path
    #[arg(long, value_name = "N")]
    pub netns: Option<String>,
    /// Take the phantom queue of the device away
    #[arg(long, conflicts_with_all = ["rate", "k_min", "k_max", "status"])]
    pub remove: bool,
    /// Show what the phantom queue of the device has counted
    #[arg(long, conflicts_with_all = ["rate", "k_min", "k_max"])]
    pub status: bool,
    /// Print the status as one JSON document
    #[arg(long, requires = "status")]
    pub json: bool,
}

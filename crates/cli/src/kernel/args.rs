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
    /// Install a congestion control in the kernel. It stays until `remove` and needs no process
    Install(KernelInstallArgs),
    /// Show installed controls (programs, parameters, namespaces, sockets) and phantom queues
    Status(KernelStatusArgs),
    /// Change parameters of an installed control for new connections. Other parameters keep their values
    Tune(KernelUpdateArgs),
    /// Replace the program of an installed control with this build's, for new connections. Parameters return to their defaults
    Replace(KernelUpdateArgs),
    /// Uninstall a control, and restore the defaults of namespaces. Open connections keep it until they close
    Remove(KernelRemoveArgs),
    /// Add a phantom queue to a port. It marks packets by ECN before a real queue builds
    ///
    /// The program runs at TC egress, before the device's own queue. The device cuts a super-packet (GSO) into segments
    /// after that. The program counts the bytes of all segments and marks them all or none. `ip link set dev IF
    /// gso_max_segs 1` (or `ethtool -K IF tso off gso off`) turns super-packets off, so that every packet is marked by
    /// itself.
    Mark(KernelMarkArgs),
}

/// Arguments of `kernel install`.
#[derive(Args, Debug)]
pub struct KernelInstallArgs {
    /// The control: gemini, unocc, or fixed (a window that never changes)
    #[arg(value_name = "NAME")]
    pub control: String,
    /// Name in the kernel [default: the control's name]. One control can be installed several times, with different parameters
    #[arg(long = "as", value_name = "NAME")]
    pub name: Option<String>,
    /// Make it the default of this network namespace (a name of `ip netns`, or a path), and set tcp_ecn=1
    #[arg(long, value_name = "N")]
    pub netns: Option<String>,
    /// Set a parameter; can be given several times
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
}

/// Arguments of `kernel status`.
#[derive(Args, Debug)]
pub struct KernelStatusArgs {
    /// The name in the kernel [default: all controls, and the phantom queues of the namespace]
    pub name: Option<String>,
    /// Show only the sockets and phantom queues of this network namespace
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
    /// Only restore the default of this network namespace. The control stays installed
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
    /// Fraction of the rate at which the counter drains
    #[arg(long, value_name = "D", default_value_t = 0.9)]
    pub drain: f64,
    /// Counter level up to which no packet is marked [default: a quarter of the bytes that the link sends in 2 ms]
    #[arg(long, value_name = "B", requires = "k_max")]
    pub k_min: Option<Bytes>,
    /// Counter level above which every packet is marked. The counter saturates at 4/3 of it [default: three quarters of
    /// the bytes that the link sends in 2 ms]
    #[arg(long, value_name = "B", requires = "k_min")]
    pub k_max: Option<Bytes>,
    /// The network namespace of the device: a name of `ip netns`, or a path
    #[arg(long, value_name = "N")]
    pub netns: Option<String>,
    /// Remove the phantom queue of the device
    #[arg(long, conflicts_with_all = ["rate", "k_min", "k_max", "status"])]
    pub remove: bool,
    /// Show the counters of the device's phantom queue
    #[arg(long, conflicts_with_all = ["rate", "k_min", "k_max"])]
    pub status: bool,
    /// Print the status as one JSON document
    #[arg(long, requires = "status")]
    pub json: bool,
}

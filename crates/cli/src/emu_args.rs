//! The arguments of `farspan emu`.

use crate::args::{ScenarioArgs, seed};
use clap::{Args, Subcommand};
use farspan_units::{Bytes, Duration};
use std::ffi::OsString;
use std::net::Ipv4Addr;
use std::path::PathBuf;

/// Arguments of `emu`.
#[derive(Args, Debug)]
pub struct EmuArgs {
    /// The subcommand and its arguments.
    #[command(subcommand)]
    pub part: EmuPart,
}

/// The subcommands of `emu`.
#[derive(Subcommand, Debug)]
pub enum EmuPart {
    /// Bring a scenario's network up, in the background: a network namespace for each host
    Up(EmuUpArgs),
    /// Run a program at a host; ends with the program's exit code
    Exec(EmuExecArgs),
    /// Show the emulations that are up, and how late they are
    Status(EmuStatusArgs),
    /// End an emulation, write its results, and remove all of it; ends with 6 if it was void
    Down(EmuDownArgs),
    /// Relay one UDP flow through a scenario's network, without root: delays, rates, losses, queues
    Udp(EmuUdpArgs),
    /// The process of an emulation: `up` starts it.
    #[command(hide = true)]
    Serve(EmuServeArgs),
    /// Programs at hosts that measure the kernel's TCP: benchmarks start them.
    #[command(hide = true, subcommand)]
    Tcp(EmuTcpPart),
}

/// Programs that measure the kernel's TCP.
#[derive(Subcommand, Debug)]
pub enum EmuTcpPart {
    /// Sets the host up: what connections keep, buffers, and a control that is an eBPF program.
    Prepare {
        /// The control, with ECN.
        #[arg(long)]
        control: Option<String>,
    },
    /// Takes connections, and reads what comes; says `ready` when it can.
    Sink,
    /// Flows that send all the time.
    Flows(EmuTcpFlowsArgs),
    /// Messages, one after another.
    Messages(EmuTcpMessagesArgs),
}

/// Arguments of `emu tcp flows`.
#[derive(Args, Clone, Debug)]
pub struct EmuTcpFlowsArgs {
    /// The address of the sink.
    pub to: Ipv4Addr,
    /// Their control; without it, that of the route or of the namespace.
    #[arg(long)]
    pub control: Option<String>,
    /// How many there are.
    #[arg(long, default_value_t = 1)]
    pub count: usize,
    /// When they begin.
    #[arg(long, default_value = "0s")]
    pub start: Duration,
    /// From when on they are measured.
    #[arg(long, default_value = "0s")]
    pub since: Duration,
    /// When they end.
    #[arg(long)]
    pub until: Duration,
}

/// Arguments of `emu tcp messages`.
#[derive(Args, Clone, Debug)]
pub struct EmuTcpMessagesArgs {
    /// The address of the sink.
    pub to: Ipv4Addr,
    /// Their control.
    #[arg(long)]
    pub control: String,
    /// Their size.
    #[arg(long)]
    pub size: Bytes,
    /// How many there are.
    #[arg(long)]
    pub count: usize,
}

/// Arguments of the process of an emulation.
#[derive(Args, Debug)]
pub struct EmuServeArgs {
    /// Those of `up`.
    #[command(flatten)]
    pub up: EmuUpArgs,
    /// The fingerprint of what `up` has read.
    #[arg(long)]
    pub fingerprint: u64,
}

/// Arguments of `emu up`.
#[derive(Args, Debug)]
pub struct EmuUpArgs {
    /// The scenario, whose workload is left out.
    #[command(flatten)]
    pub scenario: ScenarioArgs,
    /// Name of the emulation: several can be up side by side
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// Seed of all draws: losses, hashes, marks
    #[arg(long, allow_negative_numbers = true, value_parser = seed)]
    pub seed: Option<u64>,
    /// Folder for the results, which `down` writes
    #[arg(short, long, alias = "output", value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Capture the packets of ports, in DIR/trace/ports.pcapng: a name or a pattern, such as 'tor0->*'; can be given several
    /// times
    #[arg(long, value_name = "PORT", requires = "out")]
    pub pcap: Vec<String>,
    /// A table of the links that flows cross (TOML); without it, and for other flows, a hash of addresses and ports chooses
    #[arg(long, value_name = "FILE")]
    pub paths: Option<PathBuf>,
    /// Replace what stands in --out, whatever it is; without it, only results of the same scenario, scheme, profile and seed
    #[arg(long, requires = "out")]
    pub force: bool,
}

/// Arguments of `emu exec`.
#[derive(Args, Debug)]
pub struct EmuExecArgs {
    /// Which emulation, if several are up
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// The host: its name or its number
    pub host: String,
    /// The program and its arguments, after --
    #[arg(last = true, required = true, value_name = "PROGRAM")]
    pub command: Vec<OsString>,
}

/// Arguments of `emu status`.
#[derive(Args, Debug)]
pub struct EmuStatusArgs {
    /// Which emulation; without it, all
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
}

/// Arguments of `emu down`.
#[derive(Args, Debug)]
pub struct EmuDownArgs {
    /// Which emulation, if several are up
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
}

/// Arguments of `emu udp`.
#[derive(Args, Debug)]
pub struct EmuUdpArgs {
    /// Where the client sends to, such as 127.0.0.1:4433
    #[arg(value_name = "LISTEN")]
    pub listen: String,
    /// Where the server is
    #[arg(value_name = "HOST:PORT")]
    pub onward: String,
    /// A file, or the name of a built-in scenario; its workload is left out
    #[arg(long, value_name = "FILE")]
    pub scenario: String,
    /// Scheme, which says how ports are built
    #[arg(long, value_name = "NAME")]
    pub scheme: Option<String>,
    /// Seed of all draws: losses, marks
    #[arg(long, allow_negative_numbers = true, value_parser = seed)]
    pub seed: Option<u64>,
    /// Changes a key of the scenario; can be given several times
    #[arg(long, value_name = "PATH=VALUE")]
    pub set: Vec<String>,
    /// Send each datagram over a path of its own among equal-cost ones, drawn by the seed: datagrams overtake each other
    #[arg(long)]
    pub spray: bool,
    /// The host in whose place the client is
    #[arg(long, value_name = "HOST", default_value_t = 0)]
    pub from: u32,
    /// The host in whose place the server is; without it, the last
    #[arg(long, value_name = "HOST")]
    pub to: Option<u32>,
}

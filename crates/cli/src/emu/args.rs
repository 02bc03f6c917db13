//! The arguments of `farspan emu`.

use crate::scenario_args::ScenarioArgs;
use crate::seeds::seed;
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
    /// Start a scenario's network in the background, with a network namespace for each host
    Up(EmuUpArgs),
    /// Run a program on a host, and exit with the program's exit code
    Exec(EmuExecArgs),
    /// Show the running emulations, and how late they are
    Status(EmuStatusArgs),
    /// Stop an emulation, write its results, and remove everything it created. Exits with 6 if it was void
    Down(EmuDownArgs),
    /// Relay one UDP flow through a scenario's network: delays, rates, losses, queues. Needs no root
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
    /// Name of the emulation. Several emulations can run side by side
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// Seed of all random draws: losses, hashes, marks
    #[arg(long, allow_negative_numbers = true, value_parser = seed)]
    pub seed: Option<u64>,
    /// Folder for the results, which `down` writes
    #[arg(short, long, alias = "output", value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Capture the packets of ports in DIR/trace/ports.pcapng: a port's name or a pattern, such as 'tor0->*'; can be given several times
    #[arg(long, value_name = "PORT", requires = "out")]
    pub pcap: Vec<String>,
    /// TOML table of the links that flows cross. For flows that are not in it, a hash of addresses and ports chooses the links
    #[arg(long, value_name = "FILE")]
    pub paths: Option<PathBuf>,
    /// Replace whatever is in --out. Without it, only results of the same scenario, scheme, profile and seed are replaced
    #[arg(long, requires = "out")]
    pub force: bool,
}

/// Arguments of `emu exec`.
#[derive(Args, Debug)]
pub struct EmuExecArgs {
    /// Which emulation, if several are running
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
    /// Show only this emulation
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
}

/// Arguments of `emu down`.
#[derive(Args, Debug)]
pub struct EmuDownArgs {
    /// Which emulation, if several are running
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
}

/// Arguments of `emu udp`.
#[derive(Args, Debug)]
pub struct EmuUdpArgs {
    /// Address that the client sends to, such as 127.0.0.1:4433
    #[arg(value_name = "LISTEN")]
    pub listen: String,
    /// Address of the server
    #[arg(value_name = "HOST:PORT")]
    pub onward: String,
    /// A file, or the name of a built-in scenario. Its workload is ignored
    #[arg(long, value_name = "FILE")]
    pub scenario: String,
    /// Scheme. Only its settings of ports are used
    #[arg(long, value_name = "NAME")]
    pub scheme: Option<String>,
    /// Seed of all random draws: losses, marks
    #[arg(long, allow_negative_numbers = true, value_parser = seed)]
    pub seed: Option<u64>,
    /// Set a key of the scenario; can be given several times
    #[arg(long, value_name = "PATH=VALUE")]
    pub set: Vec<String>,
    /// Send each datagram over a random equal-cost path, drawn by the seed, so that datagrams overtake each other
    #[arg(long)]
    pub spray: bool,
    /// Host that the client stands for
    #[arg(long, value_name = "HOST", default_value_t = 0)]
    pub from: u32,
    /// Host that the server stands for [default: the last host]
    #[arg(long, value_name = "HOST")]
    pub to: Option<u32>,
}

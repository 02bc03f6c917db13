//! The cells of the comparison, with the network and the settings of each. They were fixed before the first run.

use farspan_scenario::Request;
use farspan_units::Bytes;

/// The bottleneck and its hosts.
const SCENARIO: &str = include_str!("bottleneck.toml");
/// One BDP.
const BDP: Bytes = Bytes::new(500_000);
const BUFFERS: [(&str, Bytes); 3] =
    [("0.1", Bytes::new(50_000)), ("1", BDP), ("4", Bytes::new(4 * BDP.get()))];
const LOSSES: [(&str, f64); 2] = [("0.1%", 0.001), ("1%", 0.01)];
const SIZES: [(&str, Bytes); 4] = [
    ("10 KB", Bytes::new(10_000)),
    ("100 KB", Bytes::new(100_000)),
    ("1 MB", Bytes::new(1_000_000)),
    ("10 MB", Bytes::new(10_000_000)),
];
/// Two flows are measured from then on, in s.
const SHARED_FROM: u64 = 10;
/// Messages of a run, whose median counts.
pub(super) const MESSAGES: usize = 10;

/// A control of Linux, and its settings in the simulator.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Control {
    pub(super) name: &'static str,
    /// How long a run takes, in s.
    pub(super) seconds: u64,
    /// Settings on both clocks: those of ports are the emulator's, too. Ports of a wide-area router do not mark. Linux counts windows
    /// in whole packets, and its BBR has room for bursts and for lumps of ACKs.
    settings: &'static [&'static str],
    /// The parameters of one that is an eBPF program, which make it what the simulator runs.
    pub(super) parameters: Option<&'static [&'static str]>,
}

const LEAST_CWND: &str = "scheme.intra.congestion.min_cwnd=2";
const NO_MARKS: &str = "scheme.ports.marking=none";
/// `set_pacing_rate` of `bpf/tcp/window.h`.
const PACING_GAIN: &str = "scheme.intra.congestion.pacing_gain=1.2";

pub(super) const CONTROLS: [Control; 4] = [
    Control {
        name: "cubic",
        seconds: 60,
        settings: &[
            NO_MARKS,
            "scheme.intra.congestion.hystart=linux",
            "scheme.intra.congestion.catches_up=false",
            "scheme.intra.congestion.whole_packets=true",
            "scheme.intra.window_check=fits",
            LEAST_CWND,
        ],
        parameters: None,
    },
    Control {
        name: "bbr",
        seconds: 30,
        settings: &[
            NO_MARKS,
            "scheme.intra.congestion.quantum=linux",
            "scheme.intra.congestion.extra_acked=true",
        ],
        parameters: None,
    },
    Control {
        name: "gemini",
        seconds: 30,
        settings: &[NO_MARKS, "scheme.intra.congestion.cut_interval=rtt_min", LEAST_CWND, PACING_GAIN],
        parameters: Some(&["line_rate=1Gbps"]),
    },
    Control {
        name: "unocc",
        seconds: 30,
        settings: &["scheme.intra.recovery=rack", PACING_GAIN],
        parameters: Some(&["line_rate=1Gbps", "intra_rtt=20ms", "start_cwnd=10"]),
    },
];

/// Settings of the simulator alone: the kernel sends bursts of up to 64 KB (TSO), which the host's own kernel cuts up here, and
/// paces from the tenth packet on.
const SIMULATED: [&str; 2] = ["transport.burst=64KiB", "transport.unpaced=10"];

/// The flows of a cell.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Traffic {
    /// One flow sends all the time.
    Steady,
    /// Two do.
    Share,
    /// Messages of this size, one after another.
    Completion(Bytes),
}

/// A number that both clocks give.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Measure {
    Throughput,
    Share,
    Completion,
    Wait,
}

impl Measure {
    pub(super) const ALL: [Self; 4] = [Self::Throughput, Self::Share, Self::Completion, Self::Wait];

    /// Its name among the numbers of a run, and in tables; its unit; its digits behind the point.
    pub(super) const fn words(self) -> (&'static str, &'static str, &'static str, usize) {
        match self {
            Self::Throughput => ("mbps", "throughput", "Mbit/s", 1),
            Self::Share => ("jain", "share", "Jain", 3),
            Self::Completion => ("ms", "completion", "ms", 1),
            Self::Wait => ("wait_ms", "wait", "wait, ms", 2),
        }
    }

    /// How far from the kernel's median the simulator may be.
    pub(super) fn band(self, median: f64) -> f64 {
        match self {
            Self::Throughput | Self::Share => 0.05 * median,
            Self::Completion => 0.10 * median,
            Self::Wait => (0.15 * median).max(1.0),
        }
    }
}

/// A cell of the comparison.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Cell {
    /// Its name, which begins with its control's.
    pub(super) key: String,
    pub(super) control: Control,
    pub(super) traffic: Traffic,
    buffer: Bytes,
    loss: Option<f64>,
}

/// All cells, in the order of tables.
pub(super) fn all() -> Vec<Cell> {
    CONTROLS.into_iter().flat_map(of).collect()
}

fn of(control: Control) -> Vec<Cell> {
    let cell = |name: &str, traffic, buffer, loss| {
        let key = format!("{} {name}", control.name);
        Cell { key, control, traffic, buffer, loss }
    };
    let mut cells = Vec::new();
    cells.extend(
        BUFFERS.map(|(name, buffer)| cell(&format!("steady {name} 0"), Traffic::Steady, buffer, None)),
    );
    cells.extend(
        LOSSES.map(|(name, loss)| cell(&format!("steady 1 {name}"), Traffic::Steady, BDP, Some(loss))),
    );
    cells.push(cell("share", Traffic::Share, BDP, None));
    cells.extend(
        SIZES.map(|(name, size)| cell(&format!("completion {name}"), Traffic::Completion(size), BDP, None)),
    );
    cells
}

impl Cell {
    /// The numbers that a run of it gives.
    pub(super) const fn measures(&self) -> &'static [Measure] {
        match self.traffic {
            Traffic::Steady => &[Measure::Throughput, Measure::Wait],
            Traffic::Share => &[Measure::Share],
            Traffic::Completion(_) => &[Measure::Completion],
        }
    }

    /// From when on flows are measured, in s.
    pub(super) const fn since(&self) -> u64 {
        match self.traffic {
            Traffic::Share => SHARED_FROM,
            Traffic::Steady | Traffic::Completion(_) => 0,
        }
    }

    /// The network of a run, with the ports of its scheme; its workload is left out.
    pub(super) fn emulated(&self, seed: u64) -> Request {
        let mut text = SCENARIO.to_owned();
        if let Some(loss) = self.loss {
            text += &format!(
                "\n[[fault]]\nkind = \"loss\"\nlink = \"tor0->tor1#0\"\nprobability = {loss}\npackets = \"all\"\n"
            );
        }
        let mut set = vec![format!("topology.buffer={}B", self.buffer.get())];
        set.extend(self.control.settings.iter().map(|&setting| setting.to_owned()));
        let scheme = Some(self.control.name.to_owned());
        Request {
            text: Some(text),
            scheme,
            seed: Some(seed),
            set,
            is_idle: true,
            ..Request::new("bench kernel")
        }
    }

    /// That run with simulated flows.
    pub(super) fn simulated(&self, seed: u64) -> Request {
        let mut request = Request { is_idle: false, ..self.emulated(seed) };
        let seconds = self.control.seconds;
        request.set.extend(SIMULATED.map(str::to_owned));
        request.set.push(format!("stop.time={seconds}s"));
        match self.traffic {
            Traffic::Completion(size) => request.set.push(format!("workload.flow_size={}B", size.get())),
            Traffic::Steady | Traffic::Share => request.set.extend([
                format!("measure.goodput_from={}s", self.since()),
                format!("measure.goodput_until={seconds}s"),
            ]),
        }
        if self.traffic == Traffic::Share {
            request.text =
                request.text.map(|text| text.replace("pairs = [[0, 2]]", "pairs = [[0, 2], [1, 3]]"));
            request.set.push("measure.fairness_group=flows".to_owned());
        }
        request
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_cell_has_a_name_of_its_own_and_a_network() {
        let cells = all();
        assert!(cells.len() <= 16 * CONTROLS.len());
        assert_eq!(cells.iter().map(|cell| &cell.key).collect::<BTreeSet<_>>().len(), cells.len());
        for cell in cells {
            let resolved = cell.simulated(1).resolve();
            assert!(resolved.is_ok(), "{}: {}", cell.key, resolved.unwrap_err());
            assert!(cell.emulated(1).resolve().is_ok(), "{}", cell.key);
        }
    }

    #[test]
    fn two_flows_share_two_pairs_of_hosts() {
        let cell = all().into_iter().find(|cell| cell.traffic == Traffic::Share).unwrap();
        assert!(cell.simulated(1).text.unwrap().contains("[[0, 2], [1, 3]]"));
    }
}

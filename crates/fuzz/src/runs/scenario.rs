//! Random scenarios of all that can be combined, small enough to end in a second.

use farspan_transport::{balance, congestion};
use farspan_units::{Purpose, Random};
use std::fmt::Write as _;

/// Draws by name.
struct Draw(Random);

impl Draw {
    const fn below(&mut self, n: u64) -> u64 {
        self.0.below(n)
    }

    /// Whether something happens that does so many times of a hundred.
    fn often(&mut self, percent: u64) -> bool {
        self.0.below(100) < percent
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.0.below(from.len() as u64) as usize]
    }

    /// Draws `count` different numbers of a range.
    fn some(&mut self, range: std::ops::Range<u64>, count: u64) -> Vec<u64> {
        let mut all: Vec<_> = range.collect();
        self.0.shuffle(&mut all);
        all.truncate(count as usize);
        all
    }
}

/// A network, as far as the rest has to fit it.
#[derive(Clone, Copy)]
struct Shape {
    kind: &'static str,
    hosts: u64,
    has_two_sites: bool,
}

/// A scenario in TOML.
struct Writer {
    draw: Draw,
    /// Draws of what came after the numbers of `fuzz/README.md` were found: the rest of a scenario stays as it is.
    later: Draw,
    text: String,
}

impl Writer {
    fn table(&mut self, header: &str) {
        let _ = writeln!(self.text, "{header}");
    }

    fn key(&mut self, key: &str, value: impl std::fmt::Display) {
        let _ = writeln!(self.text, "{key} = {value}");
    }

    fn word(&mut self, key: &str, value: &str) {
        let _ = writeln!(self.text, "{key} = \"{value}\"");
    }

    /// A key with one of these values, so many times of a hundred. Values in braces or brackets, and truths, stand as they are.
    fn sometimes(&mut self, percent: u64, key: &str, values: &[&str]) -> bool {
        let is_there = self.draw.often(percent);
        if is_there {
            let value = self.draw.pick(values);
            if value.starts_with(['{', '['])
                || value == "false"
                || value == "true"
                || value.parse::<f64>().is_ok()
            {
                self.key(key, value);
            } else {
                self.word(key, value);
            }
        }
        is_there
    }
}

/// The scenario of a number.
pub(super) fn text(number: u64) -> String {
    let [draw, later] = [29, 31].map(|stream| Draw(Random::new(number, Purpose::Test, stream)));
    let mut writer = Writer { draw, later, text: String::new() };
    let shape = topology(&mut writer);
    transport(&mut writer, number);
    let proxy = scheme(&mut writer, shape);
    for part in 0..1 + writer.draw.below(3) {
        workload(&mut writer, shape, part, proxy);
    }
    for _ in 0..[0, 0, 0, 1, 1, 2][writer.draw.below(6) as usize] {
        fault(&mut writer, shape, proxy);
    }
    if writer.draw.often(10) {
        writer.table("[stop]");
        writer.sometimes(100, "time", &["100us", "1ms"]);
    }
    writer.text
}

fn topology(writer: &mut Writer) -> Shape {
    let shapes = [
        ("fat_tree", "k = 4", 16, false),
        ("dual_fat_tree", "k = 4\ncore_border_links = 2", 32, true),
        ("dual_fat_tree", "k = 4", 32, true),
        ("leaf_spine", "leaves = 3\nhosts = 4\nspines = 2", 12, false),
        ("dual_leaf_spine", "leaves = 2\nhosts = 4\nspines = 2", 16, true),
        ("dual_leaf_spine", "leaves = 2\nhosts = 4\nspines = 2\ncore_border_links = 4", 16, true),
        (
            "dual_leaf_spine",
            "leaves = 2\nhosts = 4\nspines = 2\nbackbone = { routers = 4, links_per_spine = 2 }",
            16,
            true,
        ),
        ("dumbbell", "hosts = 4", 8, false),
        ("dumbbell", "hosts = 4\ntwo_sites = true", 8, true),
        ("star", "hosts = 8", 8, false),
        ("parking_lot", "bottlenecks = 2\nhosts = 3", 9, false),
    ];
    let (kind, keys, hosts, has_two_sites) = writer.draw.pick(&shapes);
    writer.table("[topology]");
    writer.word("kind", kind);
    writer.table(keys);
    writer.sometimes(100, "link_rate", &["10Gbps", "25Gbps", "100Gbps", "100Gbps", "400Gbps"]);
    writer.sometimes(100, "link_delay", &["100ns", "1us", "1us", "5us"]);
    writer.sometimes(100, "buffer", &["16KiB", "64KiB", "256KiB", "1MiB", "4MiB"]);
    writer.sometimes(15, "switch_delay", &["500ns"]);
    if kind.ends_with("fat_tree") {
        writer.sometimes(20, "oversubscription", &["2"]);
    }
    if has_two_sites {
        let (rtt, buffer) =
            (writer.draw.pick(&["100us", "400us", "2ms"]), writer.draw.pick(&["64KiB", "1MiB", "8MiB"]));
        let is_bundle = !keys.contains("backbone") && kind != "dumbbell";
        let links = writer.draw.pick(&["", ", links = 1", ", links = 2"]);
        let links = if is_bundle { links } else { "" };
        writer.key("wan", format_args!("{{ rtt = \"{rtt}\", buffer = \"{buffer}\"{links} }}"));
    }
    Shape { kind, hosts, has_two_sites }
}

fn transport(writer: &mut Writer, number: u64) {
    writer.table("[transport]");
    writer.sometimes(40, "payload", &["1000B", "1500B", "8192B"]);
    writer.sometimes(30, "header", &["20B", "40B", "48B", "128B"]);
    writer.sometimes(
        35,
        "ack",
        &[
            "coalesced",
            "{ name = \"coalesced\", bytes = \"16KiB\" }",
            "{ name = \"coalesced\", bytes = \"1B\" }",
        ],
    );
    writer.sometimes(40, "start", &["bdp", "bdp/8", "iw10", "64KiB"]);
    writer.sometimes(30, "rto", &["path", "rfc6298", "3rtt", "500us"]);
    writer.sometimes(15, "ack_priority", &["false"]);
    let mut newest = Draw(Random::new(number, Purpose::Test, 37));
    if newest.often(10) {
        writer.word("rtt_noise", newest.pick(&["1us", "100us"]));
    }
    tcp(writer, number);
    writer.table("[host]");
    writer.sometimes(40, "jitter", &["0ns", "1packet", "5us"]);
}

/// The habits of TCP's connections, sometimes.
fn tcp(writer: &mut Writer, number: u64) {
    let mut draw = Draw(Random::new(number, Purpose::Test, 41));
    if !draw.often(15) {
        return;
    }
    for key in ["handshake", "prr", "repeat_marks"] {
        writer.key(key, draw.often(50));
    }
    writer.word("burst", draw.pick(&["0B", "20KB", "64KiB"]));
    writer.key("unpaced", draw.pick(&[0, 10]));
    writer.word("connections", draw.pick(&["per_flow", "per_pair", "per_pair"]));
    writer.key("idle_restart", draw.often(50));
    if !writer.text.contains("\nack = ") && draw.often(50) {
        writer.key("ack", "{ name = \"delayed\", delay = \"100us\", quick = 3 }");
    }
}

/// Schemes of the controls that came later, some times.
fn later_scheme(draw: &mut Draw) -> Option<&'static str> {
    let tcp = ["newreno", "cubic", "cubic+rps", "vegas", "vegas-10", "uno/cubic", "dctcp/newreno"];
    draw.often(12).then(|| draw.pick(&tcp))
}

/// Controls that are not among those of all: one needs a script, the others are [later](Writer::later).
const APART: [&str; 4] = ["scripted", "newreno", "cubic", "vegas"];

/// Gives the kind of the proxy, if there is one.
fn scheme(writer: &mut Writer, shape: Shape) -> Option<&'static str> {
    let with = |names: &[&'static str]| {
        names.iter().copied().filter(|name| !APART.contains(name)).collect::<Vec<_>>()
    };
    let (controls, balancers) = (with(congestion::NAMES), with(balance::NAMES));
    let proxy =
        (shape.has_two_sites && writer.draw.often(45)).then(|| writer.draw.pick(&["naive", "streamlined"]));
    writer.table("[scheme]");
    let named =
        ["uno", "uno-noec", "uno-rps-ec", "uno-plb", "uno-ecmp-ec", "mprdma-bbr", "hpcc-star", "oscar-owd"];
    let name = match writer.draw.below(3) {
        0 => writer.draw.pick(&named).to_owned(),
        1 => writer.draw.pick(&controls).to_owned(),
        _ => format!("{}+{}", writer.draw.pick(&controls), writer.draw.pick(&balancers)),
    };
    let name = later_scheme(&mut writer.later).map_or(name, str::to_owned);
    writer.word("name", &name);
    writer.sometimes(30, "profile", &["artifact"]);
    for class in ["intra", "inter"] {
        writer.table(&format!("[scheme.{class}]"));
        writer.sometimes(
            30,
            "balance",
            &[&balancers[..], &["{ name = \"spray\", entropy_bits = 3 }"]].concat(),
        );
        let codings = [
            "mds",
            "{ name = \"mds\", data = 4, parity = 1 }",
            "{ name = \"mds\", data = 1, parity = 1 }",
            "none",
        ];
        if proxy.is_some() && class == "inter" {
            writer.word("coding", "none");
        } else {
            writer.sometimes(20, "coding", &codings);
        }
        let recoveries = [
            "per_packet_rto",
            "rack",
            "{ name = \"rack\", rto = \"rfc6298\" }",
            "{ name = \"per_packet_rto\", backoff = true }",
        ];
        writer.sometimes(30, "recovery", &recoveries);
        writer.sometimes(20, "window_check", &["below", "fits"]);
        let rules = ["published", "before", "in_flight", "none"]
            .map(|rule| format!("{{ name = \"{}\", on_nack = \"{rule}\" }}", writer.draw.pick(&controls)));
        let with_rules: Vec<_> = controls.iter().copied().chain(rules.iter().map(String::as_str)).collect();
        let is_written = writer.sometimes(25, "congestion", &with_rules);
        if !is_written && name.starts_with("bbr") && writer.later.often(50) {
            writer.key("congestion", "{ name = \"bbr\", quantum = \"linux\", extra_acked = true }");
        }
    }
    ports(writer);
    if let Some(kind) = proxy {
        writer.table("[scheme.proxy]");
        writer.word("kind", kind);
        writer.sometimes(50, "host", &["last", "random", "planned", "probed", "1"]);
        writer.sometimes(
            40,
            "delay",
            &["ebpf", "user-space", "1us", "[[0.0, \"0us\"], [0.5, \"2us\"], [1.0, \"9us\"]]"],
        );
        if kind == "naive" {
            writer.sometimes(50, "queue", &["16KiB", "1B", "240KB", "unbounded"]);
            writer.sometimes(30, "onward", &["scheme"]);
            writer.sometimes(30, "rto", &["3rtt"]);
        } else {
            writer.sometimes(
                70,
                "loss",
                &["trim", "gap-path", "gap-flow", "none", "{ name = \"gap-flow\", window = 256 }"],
            );
        }
        writer.sometimes(30, "patience", &["1", "2", "10"]);
    }
    proxy
}

fn ports(writer: &mut Writer) {
    writer.table("[scheme.ports]");
    // Headers of trimmed packets travel in the priority queue, so that ports trim only where there is one.
    let has_priority = !writer.text.contains("ack_priority = false");
    let overflow = writer.draw.pick(&["", "", "", "drop", "trim", "trim"]);
    let overflow = if overflow == "trim" && !has_priority { "" } else { overflow };
    if !overflow.is_empty() {
        writer.word("overflow", overflow);
    }
    if overflow == "trim" {
        writer.sometimes(40, "header_buffer", &["64B", "640B", "64KiB"]);
        writer.sometimes(30, "trim_victim", &["arriving"]);
        writer.sometimes(50, "trim_service", &["strict", "1:1", "2:1", "10:1"]);
    }
    writer.sometimes(15, "routing", &["adaptive"]);
    writer.sometimes(30, "telemetry", &["int", "mpd", "none"]);
    writer.sometimes(20, "telemetry_counts", &["departures", "arrivals"]);
    writer.sometimes(30, "marking", &["red", "phantom", "step", "red+phantom", "none", "phantom+step"]);
    writer.sometimes(20, "wan_red", &["{ max = 0.5 }", "{ min = 0.1, max = 0.5 }"]);
    if writer.draw.often(35) {
        let size = writer.draw.pick(&["512KiB", "2MiB", "8MiB", "32MiB"]);
        let more = writer.draw.pick(&["", "", ", alpha = 1", ", alpha = 64", ", reserve = \"0B\""]);
        writer.key("pool", format_args!("{{ size = \"{size}\"{more} }}"));
        if writer.draw.often(70) {
            let links = writer.draw.pick(&["site", "all"]);
            let more = writer.draw.pick(&[
                "",
                "",
                ", headroom = \"0B\"",
                ", resume_offset = \"0B\"",
                ", headroom = \"5KB\"",
            ]);
            writer.key("pfc", format_args!("{{ links = \"{links}\"{more} }}"));
        }
    }
}

const SIZES: [&str; 8] = ["1B", "100B", "4096B", "4097B", "20KB", "64KiB", "200KB", "1MiB"];

fn workload(writer: &mut Writer, shape: Shape, part: u64, proxy: Option<&str>) {
    let Shape { hosts, has_two_sites, .. } = shape;
    let half = hosts / 2;
    let kind =
        writer.draw.pick(&["incast", "incast", "declared", "permutation", "pairs", "poisson", "collective"]);
    let (receiver, senders) =
        if has_two_sites && (kind == "declared" || proxy.is_some() || writer.draw.often(50)) {
            let count = 1 + writer.draw.below(4.min(half - 1));
            (half + writer.draw.below(hosts - half), writer.draw.some(0..half, count))
        } else {
            let count = 2 + writer.draw.below(4);
            let mut some = writer.draw.some(0..hosts, count);
            (some.pop().unwrap_or_default(), some)
        };
    if kind == "declared" {
        writer.table("[[incast]]");
        writer.word("tag", &format!("w{part}"));
        writer.key("receiver", receiver);
        writer.key("senders", format_args!("{senders:?}"));
        writer.sometimes(100, "bytes", &["3B", "100KB", "1MB", "2MB"]);
        return;
    }
    writer.table("[[workload]]");
    writer.word("tag", &format!("w{part}"));
    match kind {
        "incast" => {
            writer.word("kind", kind);
            writer.key("receiver", receiver);
            writer.key("senders", format_args!("{senders:?}"));
            writer.sometimes(100, "flow_size", &SIZES);
            writer.sometimes(30, "spread", &["50us"]);
            writer.sometimes(30, "start", &["10us", "1ms"]);
        }
        "permutation" => {
            writer.word("kind", kind);
            writer.sometimes(100, "flow_size", &SIZES);
        }
        "pairs" => {
            let pairs: Vec<_> =
                (0..1 + writer.draw.below(5)).map(|_| writer.draw.some(0..hosts, 2)).collect();
            writer.word("kind", kind);
            writer.key("pairs", format_args!("{pairs:?}"));
            writer.sometimes(100, "flow_size", &SIZES);
            writer.sometimes(40, "gap", &["20us"]);
        }
        "poisson" => {
            writer.word("kind", kind);
            writer.sometimes(100, "load", &["0.1", "0.3"]);
            let flows = 1 + writer.draw.below(20);
            writer.key("flows", flows);
            writer.sometimes(100, "sizes", &["websearch", "fb-hadoop"]);
        }
        _ => {
            let count = 2 + writer.draw.below(5);
            let ranks = writer.draw.some(0..hosts, count);
            writer.sometimes(100, "kind", &["allreduce", "reduce_scatter", "all_gather", "all_to_all"]);
            writer.key("ranks", format_args!("{ranks:?}"));
            writer.sometimes(100, "flow_size", &["6B", "64KiB", "1MB"]);
            let iterations = 1 + writer.draw.below(3);
            writer.key("iterations", iterations);
        }
    }
}

fn fault(writer: &mut Writer, shape: Shape, proxy: Option<&str>) {
    let mut kinds = vec!["link_down", "black_hole", "rate", "loss", "block_loss"];
    kinds.extend(proxy.map(|_| "proxy_down"));
    let kind = writer.draw.pick(&kinds);
    writer.table("[[fault]]");
    writer.word("kind", kind);
    writer.sometimes(100, "at", &["0ns", "20us", "100us", "200us"]);
    if kind == "proxy_down" {
        return;
    }
    let mut links = vec!["host_up", "host_down"];
    if shape.kind != "star" && !(shape.kind == "dumbbell" && shape.has_two_sites) {
        links.push("fabric");
    }
    if shape.has_two_sites {
        links.push("wan");
    }
    writer.sometimes(100, "links", &links);
    writer.sometimes(50, "share", &["0.2", "0.5", "1.0"]);
    match kind {
        "link_down" | "black_hole" => drop(writer.sometimes(100, "until", &["250us", "1ms"])),
        _ => drop(writer.sometimes(50, "until", &["3ms"])),
    }
    writer.sometimes(40, "both_directions", &["true"]);
    if writer.sometimes(30, "withdraw_routes", &["true"]) {
        writer.sometimes(100, "withdraw_delay", &["0ns", "10us"]);
    }
    match kind {
        "rate" => drop(writer.sometimes(100, "rate", &["1Gbps", "5Gbps"])),
        "loss" => {
            writer.sometimes(100, "probability", &["0.001", "0.02", "0.1"]);
            writer.sometimes(100, "packets", &["data", "all"]);
        }
        "block_loss" => {
            writer.sometimes(100, "per", &["queue", "flow"]);
            writer.sometimes(100, "packets", &["data", "all"]);
        }
        _ => {}
    }
}

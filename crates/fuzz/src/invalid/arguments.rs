//! Arguments: assignments to keys of a scenario, and schemes.

use super::pick;
use farspan_units::Random;

/// Texts that are no time, size or rate.
pub(super) const NO_QUANTITIES: [&str; 9] =
    ["", "-1us", "1 parsec", "1e999Gbps", "99999999999999999999999B", "1us2", "0x1B", "nanus", "\u{2212}1us"];
const NO_NUMBERS: [&str; 6] = ["-1", "-9223372036854775808", "nan", "many", "[]", "1979-05-27"];

const QUANTITIES: [&str; 12] = [
    "topology.link_rate",
    "topology.link_delay",
    "topology.buffer",
    "topology.wan.rtt",
    "topology.wan.buffer",
    "transport.payload",
    "transport.header",
    "transport.rto",
    "host.jitter",
    "workload.flow_size",
    "probes.rate_interval",
    "stop.time",
];
const NUMBERS: [&str; 8] = [
    "topology.k",
    "topology.wan.links",
    "topology.core_border_links",
    "topology.oversubscription",
    "seed",
    "scheme.ports.phantom.drain",
    "scheme.ports.red.min",
    "workload[0].receiver",
];
const WORDS: [&str; 8] = [
    "topology.kind",
    "scheme.name",
    "scheme.profile",
    "scheme.ports.marking",
    "scheme.intra.congestion",
    "transport.balance",
    "transport.recovery",
    "transport.coding",
];

/// An assignment that cannot be right.
pub(super) fn assignment(random: &mut Random) -> (String, String) {
    let text = match random.below(6) {
        0 => format!("{}={}", pick(&QUANTITIES, random), pick(&NO_QUANTITIES, random)),
        1 => format!("{}={}", pick(&NUMBERS, random), pick(&NO_NUMBERS, random)),
        2 => {
            format!("{}={}", pick(&WORDS, random), pick(&["x", "17", "[1, 2]", "unno", "\u{1f980}"], random))
        }
        3 => {
            let path = pick(&QUANTITIES, random);
            let at = random.below(path.len() as u64) as usize;
            format!("{}x{}=1", &path[..at], &path[at..])
        }
        4 => {
            let [data, parity] = shape(random);
            format!("scheme.inter.coding={{ name = 'mds', data = {data}, parity = {parity} }}")
        }
        _ => {
            let path = pick(&NUMBERS, random);
            pick(&["{}", "{}..x=1", ".{}=1", "{}[x]=1", "{}[=1", "{}[99].tag=1", " =1"], random)
                .replace("{}", path)
        }
    };
    (format!("--set {text}"), text)
}

/// Numbers of data and parity that no block has.
fn shape(random: &mut Random) -> [i64; 2] {
    let small = random.below(100) as i64;
    match random.below(4) {
        0 => [0, small],
        1 => [-small - 1, 2],
        2 => [156 + small, 100 + small],
        _ => [8, 248 + small],
    }
}

/// A scheme whose coding cannot be right.
pub(super) fn scheme(random: &mut Random) -> (String, String) {
    let [data, parity] = shape(random);
    let before = pick(&["unocc+unolb", "unocc+rps", "gemini+ecmp", "uno/unocc+plb"], random);
    let text = match random.below(6) {
        0 | 1 => format!("{before}+mds({data},{parity})"),
        2 => format!(
            "{before}+{}",
            pick(&["mds(8)", "mds(8,2", "mds(,)", "mds(a,b)", "mds()", "none(8,2)"], random)
        ),
        3 => format!("{before}+{}({data},2)", pick(&["rs", "MDS", "raptor", "md"], random)),
        4 => format!("{before}+mds(8,2)+{}", pick(&["mds", "ecmp", "none"], random)),
        _ => format!(
            "{}+mds(8,2)",
            pick(&["uno", "dctcp", "unno+ecmp", "unocc+ecpm", "+", "/", "unocc+"], random)
        ),
    };
    (format!("--scheme {text}"), text)
}

//! `config.txt`: a key and its values a line. What follows in braces explains it.

use super::control::control;
use super::quantity::{micros, rate, seconds_or_longer, share};
use super::topology::HpccNetwork;
use super::{HpccFlaw, Odd, flaw, lines, shown, whole};
use farspan_scenario::names;
use farspan_units::{Bytes, Duration, Rate};
use std::collections::BTreeMap;

/// A configuration, as far as it means something here.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct Config {
    /// Payload of a full packet.
    pub payload: Option<Bytes>,
    /// The scheme.
    pub scheme: Option<&'static str>,
    /// Its control, with parameters, as TOML.
    pub congestion: Option<String>,
    /// Data bytes that a switch holds.
    pub buffer: Option<Bytes>,
    /// Whether switches may drop what they have no room for: else they pause who sends it.
    pub is_lossy: bool,
    /// RED.
    pub red: Option<Marks>,
    /// Whether ACKs go first.
    pub ack_priority: Option<bool>,
    /// When the run ends there, and the line that says so.
    pub stop: Option<(usize, Duration)>,
    /// The link that fails, and when after the start of traffic.
    pub down: Option<(Duration, [u32; 2])>,
    /// The probability with which links lose a packet that do not say otherwise.
    pub error_rate: f64,
}

/// RED as the ports of all links have it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Marks {
    /// Never up to this queue.
    pub min: Bytes,
    /// Always above this queue.
    pub max: Bytes,
    /// The probability at the upper threshold, from which it leaps to 1.
    pub max_probability: f64,
}

/// The use that is made of a key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Use {
    /// It counts here, too.
    Taken,
    /// It says what is written where, or nothing.
    Nothing,
    /// It counts there alone, unless it has this value.
    Unless(&'static str),
    /// It counts there alone, unless it has this value: why.
    Told(&'static str, &'static str),
    /// With this `CC_MODE` it counts there alone, unless it has this value: why.
    Of(u64, &'static str, &'static str),
}

const KEYS: &[(&str, Use)] = &[
    ("PACKET_PAYLOAD_SIZE", Use::Taken),
    ("SIMULATOR_STOP_TIME", Use::Taken),
    ("CC_MODE", Use::Taken),
    ("RATE_AI", Use::Taken),
    ("U_TARGET", Use::Taken),
    ("MI_THRESH", Use::Taken),
    ("INT_MULTI", Use::Unless("1")),
    ("ERROR_RATE_PER_LINK", Use::Taken),
    ("ACK_HIGH_PRIO", Use::Taken),
    ("LINK_DOWN", Use::Taken),
    ("KMAX_MAP", Use::Taken),
    ("KMIN_MAP", Use::Taken),
    ("PMAX_MAP", Use::Taken),
    ("BUFFER_SIZE", Use::Taken),
    ("ENABLE_PFC", Use::Taken),
    ("EWMA_GAIN", Use::Taken),
    ("ALPHA_RESUME_INTERVAL", Use::Taken),
    ("RATE_DECREASE_INTERVAL", Use::Taken),
    ("RP_TIMER", Use::Taken),
    ("FAST_RECOVERY_TIMES", Use::Taken),
    ("RATE_HAI", Use::Taken),
    ("MIN_RATE", Use::Taken),
    ("HAS_WIN", Use::Taken),
    ("ENABLE_QCN", Use::Unless("1")),
    ("L2_ACK_INTERVAL", Use::Unless("1")),
    ("VAR_WIN", Use::Unless("1")),
    ("FAST_REACT", Use::Unless("1")),
    ("RATE_BOUND", Use::Unless("1")),
    ("MULTI_RATE", Use::Unless("0")),
    ("SAMPLE_FEEDBACK", Use::Unless("0")),
    ("L2_BACK_TO_ZERO", Use::Unless("0")),
    ("GLOBAL_T", Use::Told("0", "is ignored: in farspan each flow has the base RTT of its own path")),
    (
        "USE_DYNAMIC_PFC_THRESHOLD",
        Use::Told(
            "1",
            "is ignored: thresholds follow the free buffer, as in the simulator whatever the value",
        ),
    ),
    (
        "CLAMP_TARGET_RATE",
        Use::Of(1, "1", "is ignored: in farspan a cut always lowers the target to the rate"),
    ),
    ("DCTCP_RATE_AI", Use::Of(8, "", "is ignored: in farspan the window grows by one packet per RTT")),
    ("PAUSE_TIME", Use::Nothing),
    ("NIC_TOTAL_PAUSE_TIME", Use::Nothing),
    ("L2_CHUNK_SIZE", Use::Nothing),
    ("PINT_LOG_BASE", Use::Nothing),
    ("PINT_PROB", Use::Nothing),
    ("DATA_RATE", Use::Nothing),
    ("LINK_DELAY", Use::Nothing),
    ("TOPOLOGY_FILE", Use::Nothing),
    ("FLOW_FILE", Use::Nothing),
    ("TRACE_FILE", Use::Nothing),
    ("TRACE_OUTPUT_FILE", Use::Nothing),
    ("FCT_OUTPUT_FILE", Use::Nothing),
    ("PFC_OUTPUT_FILE", Use::Nothing),
    ("SEND_OUTPUT_FILE", Use::Nothing),
    ("ENABLE_TRACE", Use::Nothing),
    ("QLEN_MON_FILE", Use::Nothing),
    ("QLEN_MON_START", Use::Nothing),
    ("QLEN_MON_END", Use::Nothing),
    ("QLEN_MON_INTERVAL", Use::Nothing),
    ("BW_MON_FILE", Use::Nothing),
    ("BW_MON_INTERVAL", Use::Nothing),
    ("RATE_MON_FILE", Use::Nothing),
    ("CNP_MON_FILE", Use::Nothing),
    ("QP_MON_INTERVAL", Use::Nothing),
    ("MON_START", Use::Nothing),
    ("MON_END", Use::Nothing),
];

/// A key's values, and their line.
struct Entry<'a> {
    line: usize,
    values: Vec<&'a str>,
}

type Entries<'a> = BTreeMap<&'static str, Entry<'a>>;

/// Reads a configuration for a network.
pub(super) fn parse(text: &str, network: &HpccNetwork) -> Result<(Config, Odd), HpccFlaw> {
    let mut odd = Vec::new();
    let entries = entries(text, &mut odd)?;
    let entries = Values(&entries);
    let mode = entries.whole("CC_MODE", 0..=u64::MAX)?;
    for (key, used) in KEYS {
        let Some(Entry { line, values }) = entries.0.get(key) else { continue };
        let (neutral, what) = match used {
            Use::Unless(neutral) => (neutral, "has no counterpart in farspan"),
            Use::Told(neutral, what) => (neutral, *what),
            Use::Of(of, neutral, what) if mode.is_some_and(|(_, mode)| mode == *of) => (neutral, *what),
            Use::Of(..) | Use::Taken | Use::Nothing => continue,
        };
        if values[..] != [*neutral] {
            odd.push((*line, format!("{key} {what}")));
        }
    }
    let mut config = Config {
        payload: entries.whole("PACKET_PAYLOAD_SIZE", 1..=60_000)?.map(|(_, payload)| Bytes::new(payload)),
        ack_priority: Some(entries.whole("ACK_HIGH_PRIO", 0..=1)?.is_some_and(|(_, first)| first == 1)),
        error_rate: entries.share("ERROR_RATE_PER_LINK")?.unwrap_or(0.0),
        down: down(&entries, network)?,
        ..Config::default()
    };
    if let Some((line, text)) = entries.one("SIMULATOR_STOP_TIME")? {
        let stop = seconds_or_longer(text).filter(|stop| !stop.is_zero());
        let Some(stop) = stop else {
            return flaw(line, format!("{} is not a time", shown(text)), "write seconds, such as 4.00");
        };
        config.stop = Some((line, stop));
    }
    config.buffer = entries.whole("BUFFER_SIZE", 1..=4096)?.map(|(_, megabytes)| Bytes::new(megabytes << 20));
    config.is_lossy = entries.whole("ENABLE_PFC", 0..=1)?.is_some_and(|(_, on)| on == 0);
    match mode {
        Some(mode) => control(&mut config, mode, &entries, network, &mut odd)?,
        None => odd.push((1, "has no CC_MODE, which means DCQCN in the simulator: name a scheme".to_owned())),
    }
    odd.sort_by_key(|(line, _)| *line);
    Ok((config, odd))
}

/// The known keys with their values; unknown ones bring a warning.
fn entries<'a>(text: &'a str, odd: &mut Odd) -> Result<Entries<'a>, HpccFlaw> {
    let mut entries = Entries::new();
    for (line, words) in lines(text) {
        let words: Vec<_> = words.into_iter().take_while(|word| !word.starts_with('{')).collect();
        let [key, values @ ..] = &words[..] else { continue };
        let Some((known, _)) = KEYS.iter().find(|(known, _)| known == key) else {
            let near = names::hint(key, KEYS.iter().map(|(known, _)| *known));
            let near = near.strip_suffix(' ').map_or(String::new(), |near| format!("; {near}"));
            odd.push((line, format!("{} is not a known key, and was left out{near}", shown(key))));
            continue;
        };
        if let Some(before) = entries.insert(known, Entry { line, values: values.to_vec() }) {
            return flaw(line, format!("{key} was given on line {}", before.line), "write it once");
        }
    }
    Ok(entries)
}

/// The values of keys, checked.
pub(super) struct Values<'a>(&'a Entries<'a>);

impl<'a> Values<'a> {
    /// The one value of a key.
    pub fn one(&self, key: &str) -> Result<Option<(usize, &'a str)>, HpccFlaw> {
        match self.0.get(key) {
            None => Ok(None),
            Some(Entry { line, values }) => match values[..] {
                [value] => Ok(Some((*line, value))),
                _ => flaw(*line, format!("{key} has {} values", values.len()), "give it one value"),
            },
        }
    }

    pub fn whole(
        &self,
        key: &str,
        range: std::ops::RangeInclusive<u64>,
    ) -> Result<Option<(usize, u64)>, HpccFlaw> {
        let value = self.one(key)?;
        value.map(|(line, text)| Ok((line, whole(line, key, text, range)?))).transpose()
    }

    pub fn share(&self, key: &str) -> Result<Option<f64>, HpccFlaw> {
        let Some((line, text)) = self.one(key)? else { return Ok(None) };
        match share(text).filter(|share| *share < 1.0) {
            Some(share) => Ok(Some(share)),
            None => flaw(
                line,
                format!("{key}: {} is out of range", shown(text)),
                "write a number from 0 to below 1",
            ),
        }
    }

    /// A rate, as a part of the line rate.
    pub fn part(&self, key: &str, line_rate: Rate) -> Result<Option<(usize, f64)>, HpccFlaw> {
        let Some((line, text)) = self.one(key)? else { return Ok(None) };
        match rate(text).filter(|rate| *rate <= line_rate) {
            Some(rate) => Ok(Some((line, rate.as_bps() as f64 / line_rate.as_bps() as f64))),
            None => flaw(
                line,
                format!("{key} {} is not a rate up to {line_rate}", shown(text)),
                "write a rate such as 50Mb/s",
            ),
        }
    }

    /// A time in microseconds, above zero, up to a second.
    pub fn micros(&self, key: &str) -> Result<Option<Duration>, HpccFlaw> {
        let Some((line, text)) = self.one(key)? else { return Ok(None) };
        match micros(text).filter(|time| !time.is_zero() && *time <= Duration::from_ms(1000)) {
            Some(time) => Ok(Some(time)),
            None => flaw(
                line,
                format!("{key} {} is not a time", shown(text)),
                "write microseconds above 0, up to 1000000",
            ),
        }
    }

    /// The value for links of a rate in a map of a count and as many pairs.
    pub fn of_rate(&self, key: &str, of: Rate) -> Result<Option<(usize, f64)>, HpccFlaw> {
        let Some(Entry { line, values }) = self.0.get(key) else { return Ok(None) };
        let cure =
            "write a count, and as many pairs of a rate in bit/s and a value, as in \"1 100000000000 400\"";
        let pairs = values.first().and_then(|count| count.parse::<usize>().ok());
        if pairs.is_none_or(|pairs| pairs.checked_mul(2).and_then(|n| n.checked_add(1)) != Some(values.len()))
        {
            return flaw(*line, format!("{key} has {} values, but its count differs", values.len()), cure);
        }
        for pair in values[1..].chunks_exact(2) {
            let value = pair[1].parse::<f64>().ok().filter(|value| (0.0..=1e9).contains(value));
            let (Ok(bps), Some(value)) = (pair[0].parse::<u64>(), value) else {
                return flaw(
                    *line,
                    format!("{key}: {} {} is not a pair", shown(pair[0]), shown(pair[1])),
                    cure,
                );
            };
            if Rate::from_bps(bps) == of {
                return Ok(Some((*line, value)));
            }
        }
        flaw(
            *line,
            format!("{key} has no value for links of {of}"),
            format!("add a pair for {}", of.as_bps()),
        )
    }
}

/// `LINK_DOWN t a b`: microseconds after the start of traffic; three zeros are none.
fn down(entries: &Values<'_>, network: &HpccNetwork) -> Result<Option<(Duration, [u32; 2])>, HpccFlaw> {
    let Some(Entry { line, values }) = entries.0.get("LINK_DOWN") else { return Ok(None) };
    let &[at, a, b] = &values[..] else {
        return flaw(
            *line,
            format!("LINK_DOWN has {} values", values.len()),
            "write a time in us and two nodes",
        );
    };
    let at = whole(*line, "LINK_DOWN's time", at, 0..=100_000_000)?;
    let node = |text| whole(*line, "LINK_DOWN's node", text, 0..=network.nodes.len() as u64 - 1);
    let [a, b] = [node(a)? as u32, node(b)? as u32];
    if at == 0 {
        return Ok(None);
    }
    if !network.links.iter().any(|link| link.ends == [a, b] || link.ends == [b, a]) {
        return flaw(*line, format!("there is no link between nodes {a} and {b}"), "give the ends of a link");
    }
    Ok(Some((Duration::from_us(at), [a, b])))
}

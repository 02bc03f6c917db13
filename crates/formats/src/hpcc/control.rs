//! The control of a configuration: the scheme with its constants, and the marks that it needs.

use super::config::{Config, Marks, Values};
use super::topology::{HpccNetwork, HpccNode};
use super::{HpccFlaw, Odd, flaw, shown};
use farspan_units::{Bytes, Duration, Rate};

/// The controls of the simulator: `CC_MODE`, name, scheme here, and what differs whatever the keys say.
const CONTROLS: [(u64, &str, &str, Option<&str>); 6] = [
    (
        1,
        "DCQCN",
        "dcqcn",
        Some(
            "alpha rises at each CNP in farspan, and in each ALPHA_RESUME_INTERVAL with marks in the simulator; hyper \
             increases need the byte counter and are left out",
        ),
    ),
    (3, "HPCC", "hpcc", None),
    (7, "TIMELY", "timely", Some("farspan divides the slope by the base RTT, the simulator by 20us")),
    (8, "DCTCP", "dctcp", Some("farspan cuts a window, the simulator a rate")),
    (10, "HPCC with PINT", "hpcc", Some("farspan has no PINT: the scheme is hpcc, with full telemetry")),
    (
        12,
        "no control",
        "fixed_window",
        Some("the simulator has no code for CC_MODE 12: hosts send at line rate in a window of one BDP"),
    ),
];
/// The least rate here, as a part of the line rate.
const LEAST: f64 = 0.001;

/// Takes over the control `mode`, given on a line.
pub(super) fn control(
    config: &mut Config,
    (line, mode): (usize, u64),
    entries: &Values<'_>,
    network: &HpccNetwork,
    odd: &mut Odd,
) -> Result<(), HpccFlaw> {
    let Some((_, title, name, differs)) = CONTROLS.iter().find(|(known, ..)| *known == mode) else {
        return flaw(
            line,
            format!("CC_MODE {mode} is not a control"),
            "write 1 (DCQCN), 3 (HPCC), 7 (TIMELY), 8 (DCTCP), 10 (PINT) or 12 (none, as ASTRA-sim has it)",
        );
    };
    odd.extend(differs.map(|differs| (line, format!("{title}: {differs}"))));
    config.scheme = Some(*name);
    let rate = host_rate(network);
    let constants = match *name {
        "hpcc" => hpcc(entries, rate)?,
        "dcqcn" => dcqcn(entries, rate)?,
        "timely" => timely(entries, rate, odd)?,
        "fixed_window" => Vec::new(),
        _ => dctcp(entries)?,
    };
    if !constants.is_empty() {
        config.congestion = Some(format!("{{ name = \"{name}\", {} }}", constants.join(", ")));
    }
    if matches!(*name, "dctcp" | "dcqcn") {
        config.red = red(entries, rate, network, odd)?;
    }
    // DCQCN can have a window and none, TIMELY has none, the others cannot do without.
    if let Some((line, window)) = entries.whole("HAS_WIN", 0..=1)?.filter(|_| *name != "dcqcn")
        && (window == 1) == (*name == "timely")
    {
        odd.push((line, format!("HAS_WIN {window} has no counterpart in farspan")));
    }
    if let Some((line, part)) = entries.part("MIN_RATE", rate)?
        && part != LEAST
    {
        odd.push((
            line,
            format!("MIN_RATE is ignored: the lowest rate in farspan is {LEAST} of the line rate"),
        ));
    }
    Ok(())
}

/// The rate of the first host's link.
pub(super) fn host_rate(network: &HpccNetwork) -> Rate {
    let host = network.nodes.iter().position(|kind| *kind == HpccNode::Host).unwrap_or(0) as u32;
    network.links.iter().find(|link| link.ends.contains(&host)).map_or(Rate::from_gbps(100), |link| link.rate)
}

/// The simulator's telemetry always has the widths of the published header.
fn hpcc(entries: &Values<'_>, line_rate: Rate) -> Result<Vec<String>, HpccFlaw> {
    let mut constants = Vec::new();
    if let Some((line, target)) = entries.one("U_TARGET")? {
        let Some(eta) = target.parse::<f64>().ok().filter(|eta| (0.1..=10.0).contains(eta)) else {
            return flaw(
                line,
                format!("U_TARGET {} is out of range", shown(target)),
                "write a number from 0.1 to 10",
            );
        };
        constants.push(format!("eta = {eta}"));
    }
    constants.extend(entries.whole("MI_THRESH", 0..=1000)?.map(|(_, stage)| format!("max_stage = {stage}")));
    constants.extend(entries.part("RATE_AI", line_rate)?.map(|(_, part)| format!("additive = {part}")));
    constants.push("quantised = true".to_owned());
    Ok(constants)
}

/// Marks come back on ACKs there, and cut the rate once in an interval: that of CNPs here. The stage of increases is counted
/// before it is compared here, after it there: one more. Keys that are missing have the simulator's defaults. It has no byte
/// counter: one that never runs out.
fn dcqcn(entries: &Values<'_>, line_rate: Rate) -> Result<Vec<String>, HpccFlaw> {
    let mut constants = Vec::new();
    constants.extend(entries.share("EWMA_GAIN")?.map(|gain| format!("gain = {gain}")));
    for (key, name) in [("ALPHA_RESUME_INTERVAL", "alpha_timer"), ("RP_TIMER", "increase_timer")] {
        constants.extend(entries.micros(key)?.map(|time| format!("{name} = \"{time}\"")));
    }
    let interval = entries.micros("RATE_DECREASE_INTERVAL")?.unwrap_or(Duration::from_us(4));
    constants.push(format!("cnp_interval = \"{interval}\""));
    let recoveries = entries.whole("FAST_RECOVERY_TIMES", 0..=999)?.map_or(5, |(_, times)| times);
    constants.push(format!("recoveries = {}, byte_counter = \"1000GB\"", recoveries + 1));
    for (key, name) in [("RATE_AI", "additive"), ("RATE_HAI", "hyper")] {
        constants.extend(entries.part(key, line_rate)?.map(|(_, part)| format!("{name} = {part}")));
    }
    constants.push("hyper_grows = false".to_owned());
    let has_window = entries.whole("HAS_WIN", 0..=1)?.is_none_or(|(_, window)| window == 1);
    constants.push(format!("window = {has_window}"));
    Ok(constants)
}

/// The thresholds are no keys there.
fn timely(entries: &Values<'_>, line_rate: Rate, odd: &mut Odd) -> Result<Vec<String>, HpccFlaw> {
    let mut constants = vec!["t_low = \"50us\"".to_owned(), "t_high = \"500us\"".to_owned()];
    let additive = entries.part("RATE_AI", line_rate)?;
    constants.extend(additive.map(|(_, part)| format!("delta = {part}")));
    if let Some((line, hyper)) = entries.part("RATE_HAI", line_rate)?
        && additive.is_none_or(|(_, additive)| (hyper - 5.0 * additive).abs() > 1e-9)
    {
        odd.push((
            line,
            "RATE_HAI is ignored: in farspan each increase after the fifth is five RATE_AI".to_owned(),
        ));
    }
    Ok(constants)
}

fn dctcp(entries: &Values<'_>) -> Result<Vec<String>, HpccFlaw> {
    let gain = entries.share("EWMA_GAIN")?;
    if let (Some((line, text)), Some(0.0)) = (entries.one("EWMA_GAIN")?, gain) {
        return flaw(
            line,
            format!("EWMA_GAIN {} never learns", shown(text)),
            "write a number above 0, such as 0.0625",
        );
    }
    Ok(gain.map(|gain| format!("gain = {gain}")).into_iter().collect())
}

/// RED of all ports: that of the hosts' rate, where links of other rates have their own.
fn red(
    entries: &Values<'_>,
    rate: Rate,
    network: &HpccNetwork,
    odd: &mut Odd,
) -> Result<Option<Marks>, HpccFlaw> {
    let Some((line, own)) = marks(entries, rate)? else { return Ok(None) };
    let mut others: Vec<_> =
        network.links.iter().map(|link| link.rate).filter(|other| *other != rate).collect();
    others.sort_unstable();
    others.dedup();
    for other in others {
        if marks(entries, other)?.is_some_and(|(_, marks)| marks != own) {
            odd.push((
                line,
                format!("the thresholds of {rate} are also used for links of {other}: in farspan all ports have one RED"),
            ));
        }
    }
    Ok(Some(own))
}

/// RED of the ports of a rate, and the line of its lower threshold; none where no key says any.
fn marks(entries: &Values<'_>, rate: Rate) -> Result<Option<(usize, Marks)>, HpccFlaw> {
    let keys = ["KMIN_MAP", "KMAX_MAP", "PMAX_MAP"];
    let [min, max, most] = [keys[0], keys[1], keys[2]].map(|key| entries.of_rate(key, rate));
    let (line, min, max, (most_line, most)) = match (min?, max?, most?) {
        (None, None, None) => return Ok(None),
        (Some((line, min)), Some((_, max)), Some(most)) => (line, min, max, most),
        (min, max, most) => {
            let given = min.or(max).or(most).map_or(1, |(line, _)| line);
            return flaw(given, format!("one of {} is missing", keys.join(", ")), "write all three, or none");
        }
    };
    if min > max {
        return flaw(line, format!("KMIN {min} is above KMAX {max}"), "write a KMIN_MAP below KMAX_MAP");
    }
    if most > 1.0 {
        return flaw(most_line, format!("PMAX {most} is not a probability"), "write numbers from 0 to 1");
    }
    let [min, max] = [min, max].map(|kilobytes| Bytes::new((kilobytes * 1000.0) as u64));
    // Without a chance in between, the upper threshold is a step.
    let marks = if most > 0.0 {
        Marks { min, max, max_probability: most }
    } else {
        Marks { min: max, max, max_probability: 1.0 }
    };
    Ok(Some((line, marks)))
}

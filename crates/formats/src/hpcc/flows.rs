//! `flow.txt`: how many flows, then a line each, in the order of their starts: `src dst pg dport bytes start_s`.

use super::quantity::seconds;
use super::topology::HpccNetwork;
use super::{HpccFlaw, Odd, TRAFFIC_START, flaw, left_out, lines, shown, whole};
use farspan_scenario::limits::LONGEST_RUN;
use farspan_units::Duration;
use farspan_workload::list::Row;

/// The port that its generators give to ordinary flows.
pub(super) const DPORT: u16 = 100;
const COUNT: &str = "begin with the number of flows";

/// The tag of flows to another port than [`DPORT`].
pub(super) fn tag(dport: u16) -> Option<String> {
    (dport != DPORT).then(|| format!("dport{dport}"))
}

/// Flows by the numbers of hosts here.
pub(super) struct HpccFlows {
    flows: Vec<HpccFlow>,
    /// The first start.
    pub first: Duration,
}

struct HpccFlow {
    src: u32,
    dst: u32,
    dport: u16,
    size: u64,
    start: Duration,
}

impl HpccFlows {
    /// The flow list, with `zero` as the time that is zero.
    pub fn rows(&self, zero: Duration) -> Vec<Row> {
        let row = |flow: &HpccFlow| Row {
            src: flow.src.into(),
            dst: flow.dst.into(),
            size_bytes: flow.size,
            start_ns: flow.start.saturating_sub(zero).as_ps() / 1000,
            tag: tag(flow.dport),
            ..Row::default()
        };
        self.flows.iter().map(row).collect()
    }
}

/// Reads the flows between the hosts of a network.
pub(super) fn parse(text: &str, network: &HpccNetwork) -> Result<(HpccFlows, Odd), HpccFlaw> {
    let mut rows = lines(text);
    let Some((head, words)) = rows.next() else {
        return Err((None, "has no lines".to_owned(), COUNT.to_owned()));
    };
    let [count] = words[..] else {
        return flaw(head, format!("{} words, where one number counts the flows", words.len()), COUNT);
    };
    let count = whole(head, "the number of flows", count, 1..=u64::from(u32::MAX))?;
    if let Some(line) = first_of_older(text, count) {
        let problem = "lines look like \"src dst pg packets start_s end_s\" of the older simulator of RDMA hosts, where here stand \
                       \"src dst pg dport bytes start_s\"";
        let cure = "write packets x payload as bytes and the start behind it, as in \"0 7 3 100 1000000 2\"; ports of 100 say that it is so";
        return flaw(line, problem, cure);
    }
    let (mut flows, mut odd): (Vec<HpccFlow>, Odd) = (Vec::new(), Vec::new());
    for n in 0..count {
        let Some((line, words)) = rows.next() else {
            let problem = format!("{count} flows are counted, and {n} lines follow");
            return flaw(head, problem, "correct the count, or add the flows");
        };
        let flow = flow(line, &words, network, &mut odd)?;
        if flows.last().is_some_and(|before| flow.start < before.start) {
            let problem = "starts before the flow above it, where the simulator aborts";
            return flaw(line, problem, "sort the lines by their last word");
        }
        flows.push(flow);
    }
    odd.extend(left_out(rows, count, "flows"));
    let first = flows.first().map_or(Duration::ZERO, |flow| flow.start);
    Ok((HpccFlows { flows, first }, once(odd)))
}

/// The line of the first flow, if all of them can be flows of the older format: they end behind their starts, which are seconds of a
/// run, and no size is above these. The port that generators give would be a count of packets.
fn first_of_older(text: &str, count: u64) -> Option<usize> {
    let longest = (LONGEST_RUN + TRAFFIC_START).as_secs_f64();
    let is_older = |words: &[&str]| match words {
        [_, _, _, packets, start, end] => {
            let [start, end] = [start, end].map(|word| word.parse::<f64>().unwrap_or(f64::NAN));
            packets.parse() != Ok(u64::from(DPORT)) && start < end && (0.0..=longest).contains(&start)
        }
        _ => false,
    };
    let mut flows = lines(text).skip(1).take(count as usize).peekable();
    let (first, _) = *flows.peek()?;
    flows.all(|(_, words)| is_older(&words)).then_some(first)
}

/// The first of the warnings with one text, and how many there are.
fn once(odd: Odd) -> Odd {
    let mut all: Vec<(usize, String, usize)> = Vec::new();
    for (line, text) in odd {
        match all.iter_mut().find(|(_, known, _)| *known == text) {
            Some((_, _, more)) => *more += 1,
            None => all.push((line, text, 0)),
        }
    }
    let said = |(line, text, more): (usize, String, usize)| {
        (line, if more == 0 { text } else { format!("{text} (and {more} more)") })
    };
    all.into_iter().map(said).collect()
}

fn flow(line: usize, words: &[&str], network: &HpccNetwork, odd: &mut Odd) -> Result<HpccFlow, HpccFlaw> {
    let [src, dst, pg, dport, size, start] = words else {
        let problem = format!("{} words, where a flow has 6", words.len());
        return flaw(
            line,
            problem,
            "write \"src dst pg dport bytes start_s\", as in \"2 1 3 100 200000 2.0\"",
        );
    };
    let id = |text| Ok(whole(line, "host", text, 0..=network.nodes.len() as u64 - 1)? as u32);
    let ids = [id(src)?, id(dst)?];
    let host = |id: u32| match network.host(id) {
        Some(host) => Ok(host),
        None => flaw(line, format!("node {id} is a switch"), "give the id of a host"),
    };
    let (src, dst) = (host(ids[0])?, host(ids[1])?);
    if src == dst {
        return flaw(
            line,
            format!("the flow goes from host {} to itself", ids[0]),
            "give two different hosts",
        );
    }
    if network.is_one_server(ids[0], ids[1]) {
        let problem =
            format!("an NVSwitch joins hosts {} and {}, over which the flow would go", ids[0], ids[1]);
        return flaw(line, problem, "remove the flow: there are no NVSwitches here");
    }
    if whole(line, "the priority group", pg, 0..=7)? != 3 {
        odd.push((line, "priority groups are not distinguished".to_owned()));
    }
    let dport = whole(line, "dport", dport, 0..=u16::MAX.into())? as u16;
    let size = whole(line, "the size", size, 1..=u64::MAX)?;
    let most = LONGEST_RUN + TRAFFIC_START;
    let cure = || format!("write seconds up to {}", most.as_secs_f64());
    let start = match seconds(start) {
        Some((start, rounded)) if start <= most => {
            if rounded {
                odd.push((line, "the start is not a whole number of ns, and was rounded half up".to_owned()));
            }
            start
        }
        _ => return flaw(line, format!("{} is not a start", shown(start)), cure()),
    };
    Ok(HpccFlow { src, dst, dport, size, start })
}

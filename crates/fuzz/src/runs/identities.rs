//! The promises of the documents of a run.

use farspan_metrics::{FlowRow, GoodputSum, PortRow, Probe, SeriesId};
use farspan_scenario::Resolved;
use farspan_transport::proxy::ProxyKind;
use farspan_units::{Bytes, Duration, Time};
use farspan_world::{Results, World};
use serde_json::Value;
use std::collections::BTreeMap;

/// A run that may take so long is long enough for all flows.
const LONG: Duration = Duration::from_ms(1_000);

/// The names of all identities, and what each says.
pub const IDENTITIES: [(&str, &str); 16] = [
    ("panic", "no accepted scenario panics"),
    ("alike", "engines, probes and traces change nothing in the document"),
    ("probes", "probes can be added to every scenario"),
    ("traces", "a flow and all ports can be traced in every scenario"),
    ("packets", "data packets: sent = delivered + trimmed + dropped + under way"),
    ("flows", "the counts of packets in the document are the sums of the flows"),
    ("ports", "the drops of all ports are those of flows and of control packets, each counted by itself"),
    ("tiers", "the counts of tiers in the document are the sums of their ports, and add up to those of all"),
    (
        "headers",
        "packets trimmed at ports = arrived trimmed + dropped after they were trimmed + under way + marks at the end of bursts",
    ),
    ("ends", "every flow ends, unless the run is stopped within a second, deadlocks, or was halved"),
    ("times", "no flow is delivered before its bytes can be there, nor finished before it is delivered"),
    ("bytes", "a flow that has finished has sent its size at least"),
    ("ranges", "shares are in [0, 1], and no queue's mean is above its largest value"),
    ("lossless", "where all links are lossless nothing is dropped for want of room"),
    (
        "between",
        "what arrives of a flow between two times is of its size, and classes and tags add up to all",
    ),
    ("goodput", "no host takes in more than its line carries over 100 packet times"),
];

/// An identity that does not hold.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Breach {
    /// Its name in [`IDENTITIES`].
    pub identity: &'static str,
    /// The numbers that show it.
    pub what: String,
}

impl Breach {
    pub(super) const fn new(identity: &'static str, what: String) -> Self {
        Self { identity, what }
    }
}

/// The results of a run, as they are published.
pub(super) struct Published<'a> {
    pub(super) resolved: &'a Resolved,
    pub(super) world: &'a World,
    pub(super) document: &'a Value,
    pub(super) flows: &'a [FlowRow],
    pub(super) ports: &'a [PortRow],
}

impl Published<'_> {
    /// Those that do not hold.
    pub(super) fn breaches(&self) -> Vec<Breach> {
        let mut all = Vec::new();
        self.packets(&mut all);
        self.tiers(&mut all);
        self.ends(&mut all);
        self.times(&mut all);
        self.ranges(&mut all);
        all
    }

    fn count(&self, key: &str) -> u64 {
        self.document["packets"][key].as_u64().unwrap_or_default()
    }

    fn has_faults(&self) -> bool {
        !self.world.spec.faults.is_empty()
    }

    /// Whether the run came to rest: all flows ended, and nothing is under way.
    fn is_at_rest(&self) -> bool {
        let flows = &self.document["flows"];
        let all = self.flows.len() as u64;
        flows["finished"].as_u64() == Some(all) && self.resolved.scenario().stop.time > self.end()
    }

    /// Whether bursts end with marks, for a proxy that looks for gaps: they may be trimmed, and are no packets of their flows.
    fn has_marks(&self) -> bool {
        let mut proxies = self.world.spec.proxies.iter();
        proxies.any(|proxy| matches!(proxy.kind, ProxyKind::Streamlined(Some(_))))
    }

    /// The simulated time of the end.
    fn end(&self) -> Duration {
        Duration::from_secs_f64(self.document["sim_time_s"].as_f64().unwrap_or_default())
    }

    fn packets(&self, all: &mut Vec<Breach>) {
        let [sent, delivered, trimmed, dropped, control] =
            ["sent", "delivered", "trimmed", "dropped", "control_dropped"].map(|key| self.count(key));
        let fates = delivered + trimmed + dropped;
        let packets = &self.document["packets"];
        if fates > sent || (self.is_at_rest() && fates != sent) {
            all.push(Breach::new("packets", packets.to_string()));
        }
        let sum = |of: fn(&FlowRow) -> u64| self.flows.iter().map(of).sum::<u64>();
        let sums = [
            ("dropped", sum(|flow| flow.dropped_packets)),
            ("trimmed", sum(|flow| flow.trimmed_packets)),
            ("ecn_marked", sum(|flow| flow.marked_packets)),
        ];
        for (key, sum) in sums.into_iter().filter(|(key, sum)| self.count(key) != *sum) {
            all.push(Breach::new("flows", format!("{key}: {sum} in flows, {packets}")));
        }
        let drops: u64 = self.ports.iter().map(|port| port.drops).sum();
        if drops != dropped + control {
            all.push(Breach::new("ports", format!("{drops} drops at ports, {packets}")));
        }
        let trims: u64 = self.ports.iter().map(|port| port.trims).sum();
        let headers = self.count("headers_dropped");
        let fates = trimmed + headers;
        if headers > dropped || fates > trims || (self.is_at_rest() && fates != trims && !self.has_marks()) {
            all.push(Breach::new("headers", format!("{trims} packets trimmed at ports, {packets}")));
        }
        if self.count("dropped_first_rtt") > dropped {
            all.push(Breach::new("first round trip", packets.to_string()));
        }
        if self.is_lossless() && drops > 0 {
            all.push(Breach::new("lossless", format!("{drops} drops")));
        }
    }

    fn tiers(&self, all: &mut Vec<Breach>) {
        let sums = &self.document["ports"];
        let tiers = sums["tiers"].as_object().into_iter().flatten();
        let number = |sums: &Value, key: &str| sums[key].as_u64().unwrap_or_default();
        let ports = |keep: &dyn Fn(&PortRow) -> bool| {
            let kept = || self.ports.iter().filter(|port| keep(port));
            [
                ("ports", kept().count() as u64),
                ("sent_bytes", kept().map(|port| port.bytes).sum()),
                ("dropped", kept().map(|port| port.drops).sum()),
                ("marked", kept().map(|port| port.marks).sum()),
                ("trimmed", kept().map(|port| port.trims).sum()),
            ]
        };
        let mut hold = |what: &str, sums: &Value, counts: [(&str, u64); 5]| {
            let differs = counts.into_iter().find(|(key, count)| number(sums, key) != *count);
            let is_share = |key: &str| sums[key].as_f64().is_none_or(|share| (0.0..=1.0).contains(&share));
            if differs.is_some() || !is_share("loss_rate") || !is_share("loss_of_sent") {
                all.push(Breach::new("tiers", format!("{what}: {differs:?} in ports, {sums}")));
            }
        };
        hold("all", &sums["all"], ports(&|_| true));
        hold("sites", &sums["sites"], ports(&|port| &*port.tier != "wan"));
        let mut arrived = 0;
        for (tier, of_tier) in tiers {
            hold(tier, of_tier, ports(&|port| *port.tier == **tier));
            arrived += number(of_tier, "arrived");
        }
        if arrived != number(&sums["all"], "arrived") {
            all.push(Breach::new("tiers", format!("{arrived} arrived by tier, {sums}")));
        }
    }

    /// Whether no port may drop anything for want of room.
    fn is_lossless(&self) -> bool {
        let text = self.resolved.to_toml();
        let is_full = self.world.spec.pool.is_some_and(|pool| pool.pause.is_some());
        // Trimming ports have room of their own for headers, which pauses do not guard.
        let trims = text.contains("overflow = \"trim\"");
        is_full
            && !trims
            && text.contains("links = \"all\"")
            && text.contains("headroom = \"auto\"")
            && !self.has_faults()
    }

    fn ends(&self, all: &mut Vec<Breach>) {
        let stop = self.resolved.scenario().stop.time;
        let is_deadlocked = self.document["pfc"]["deadlock"] == true;
        if stop < LONG || is_deadlocked {
            return;
        }
        let unfinished = self.flows.iter().filter(|flow| flow.fct_ns.is_none()).count();
        if unfinished > 0 {
            let stopped = if stop <= self.end() { ", which is when it was stopped" } else { "" };
            all.push(Breach::new(
                "ends",
                format!("{unfinished} flows had not ended after {}{stopped}", self.end()),
            ));
        }
    }

    fn times(&self, all: &mut Vec<Breach>) {
        let links = &self.world.spec.network.links;
        let fastest = links.iter().map(|link| link.rate).max().expect("there are links");
        for flow in self.flows {
            let least = fastest.transmission(Bytes::new(flow.size_bytes)).as_ns();
            let early = |at: Option<i64>| at.is_some_and(|at| at < i64::try_from(least).unwrap_or(i64::MAX));
            let delivery = flow.delivered_ns.zip(flow.start_ns).map(|(at, start)| at - start);
            let finish = flow.fct_ns;
            if early(delivery)
                || early(finish)
                || (finish.is_some() && delivery.is_none_or(|at| Some(at) > finish))
            {
                all.push(Breach::new("times", format!("{flow:?}")));
            }
            if finish.is_some() && flow.sent_bytes < flow.size_bytes + flow.parity_bytes {
                all.push(Breach::new("bytes", format!("{flow:?}")));
            }
        }
    }

    fn ranges(&self, all: &mut Vec<Breach>) {
        for port in self.ports {
            let is_share = (0.0..=1.0 + 1e-9).contains(&port.utilization);
            let is_mean = (0.0..=port.max_queue_bytes as f64 + 1e-6).contains(&port.mean_queue_bytes);
            if !is_share || !is_mean {
                all.push(Breach::new("ranges", format!("{port:?}")));
            }
        }
    }
}

/// The interval over which goodput is held to the line's: 100 packets of the slowest host.
pub(super) fn rate_interval(world: &World) -> Duration {
    let hosts = world.spec.network.hosts;
    let uplinks = world.spec.network.links.iter().filter(|link| link.from.0 < hosts);
    let slowest = uplinks.map(|link| link.rate).min().expect("hosts have links");
    slowest.transmission(world.spec.mss + world.spec.header) * 100
}

/// Goodput between two times, by class, by tag and by flow.
pub(super) fn between(measured: &Results) -> Option<Breach> {
    let breach = |what: String| Some(Breach::new("between", what));
    let Some(goodput) = &measured.summary.goodput else { return breach("it is not there".to_owned()) };
    let bytes = |sums: &mut dyn Iterator<Item = &GoodputSum>| sums.map(|sum| sum.bytes).sum::<u64>();
    let all = bytes(&mut goodput.all.iter());
    let classes = bytes(&mut goodput.intra.iter().chain(&goodput.inter));
    if classes != all || bytes(&mut goodput.tags.values()) != all {
        return breach(format!("{goodput:?}"));
    }
    let seconds = (goodput.until_us - goodput.from_us) / 1e6;
    // Rates are whole bits per second.
    let room = measured.flows.len() as f64 * (seconds / 8.0 + 1.0);
    let mut sum = 0.0;
    for flow in &measured.flows {
        let bytes = flow.goodput.map_or(0.0, |rate| rate.as_bps() as f64 * seconds / 8.0);
        if bytes > flow.outcome.size.as_f64() + seconds / 8.0 + 1.0 {
            return breach(format!("{flow:?}: {bytes} B"));
        }
        sum += bytes;
    }
    ((sum - all as f64).abs() > room)
        .then(|| Breach::new("between", format!("{sum} B of flows, {goodput:?}")))
}

/// Goodput of each host over each interval, where jitter is at most a packet.
pub(super) fn goodput(world: &World, interval: Duration, probed: &Results) -> Vec<Breach> {
    let spec = &world.spec;
    let line = |host: u32| spec.network.links.iter().find(|link| link.to.0 == host).map(|link| link.rate);
    let mtu = spec.mss + spec.header;
    let mut by_host = BTreeMap::<(u32, Time), f64>::new();
    for sample in probed.series.iter().filter(|sample| sample.probe == Probe::Rate) {
        let SeriesId::Flow(flow) = sample.id else { continue };
        *by_host.entry((world.workload.flows[flow.index()].dst.0, sample.t)).or_default() += sample.value;
    }
    let is_above = |(host, rate): (u32, f64)| {
        let line = line(host)?;
        // Two packets may lie across the ends of an interval, and jitter moves others by one.
        let room = spec.mss.as_f64() * 8.0 * 4.0 / interval.as_secs_f64();
        (spec.jitter <= line.transmission(mtu) && rate > line.as_bps() as f64 + room).then_some(line)
    };
    let breach = |((host, at), rate): ((u32, Time), f64)| {
        let line = is_above((host, rate))?;
        Some(Breach::new(
            "goodput",
            format!("host {host} takes in {:.3} Gb/s of {line} before {at}", rate / 1e9),
        ))
    };
    by_host.into_iter().filter_map(breach).take(1).collect()
}

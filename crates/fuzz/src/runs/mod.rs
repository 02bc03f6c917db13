//! Whole runs: random scenarios of all that can be combined, held to what the documents of a run promise.

mod identities;
mod scenario;

pub use identities::{Breach, IDENTITIES};

use identities::Published;

use farspan_metrics::{FlowRow, PortRow, read_flows, read_ports};
use farspan_scenario::{Request, Resolved};
use farspan_units::Duration;
use farspan_world::{EngineKind, Results, Size, World, run};
use serde_json::Value;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Packet-hops after which a run is stopped: it takes too long to be one of many.
const MOST_HOPS: u64 = 3_000_000;

/// The fate of a scenario.
#[derive(Clone, PartialEq, Debug)]
pub enum Trial {
    /// It is refused, with this message.
    Refused(String),
    /// It takes too long: this is how far it came.
    TooLong(Duration),
    /// It takes too long, its first half ran, and broke these.
    Halved(Vec<Breach>),
    /// It ran, and broke these.
    Ran(Vec<Breach>),
}

/// The scenario of a number, in TOML.
#[must_use]
pub fn scenario_of(number: u64) -> String {
    scenario::text(number)
}

/// Tries the scenario of a number: by every engine, with probes and with traces.
#[must_use]
pub fn try_number(number: u64) -> Trial {
    let written = Written { text: scenario::text(number), seed: number, set: &[], most_hops: MOST_HOPS };
    let tried = catch_unwind(AssertUnwindSafe(|| match written.try_out() {
        Trial::TooLong(reached) => written.try_until(reached / 2),
        tried => tried,
    }));
    tried.unwrap_or_else(|panic| {
        let said =
            panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref().copied());
        Trial::Ran(vec![Breach::new("panic", said.unwrap_or("no message").to_owned())])
    })
}

/// Tries the first millisecond of a scenario that was accepted, if it is small. Panics where an identity does not hold.
pub(crate) fn hold(resolved: &Resolved) {
    const LARGEST: u64 = 1000;
    let set = ["stop.time=1ms", "probes.rate_interval=10us", "probes.queue_interval=10us"];
    let written = Written { text: resolved.to_toml(), seed: resolved.seed(), set: &set, most_hops: 50_000 };
    let is_small = |size: Size| size.links <= LARGEST && size.flows <= LARGEST;
    if Size::of(resolved).is_ok_and(is_small) {
        let tried = written.try_out();
        assert!(
            !matches!(&tried, Trial::Ran(breaches) if !breaches.is_empty()),
            "{tried:?}\n{}",
            written.text
        );
    }
}

/// A scenario as it is written.
struct Written<'a> {
    /// In TOML.
    text: String,
    seed: u64,
    /// Keys that are set beside the text.
    set: &'a [&'a str],
    /// Packet-hops after which a run is given up.
    most_hops: u64,
}

impl Written<'_> {
    /// The world of the scenario, with more keys set; or why it is refused.
    fn build(&self, more: &[&str]) -> Result<(Resolved, World), String> {
        let request = Request {
            text: Some(self.text.clone()),
            seed: Some(self.seed),
            set: self.set.iter().chain(more).map(|&set| set.to_owned()).collect(),
            ..Request::new("drawn")
        };
        let resolved = request.resolve().map_err(|error| error.to_string())?;
        let world = World::build(&resolved).map_err(|error| error.to_string())?;
        Ok((resolved, world))
    }

    /// Tries it as if it were stopped at `end`.
    fn try_until(self, end: Duration) -> Trial {
        let stop = format!("stop.time={}ps", end.as_ps());
        match (Written { set: &[&stop], ..self }).try_out() {
            // Where it was stopped is no end of its own.
            Trial::Ran(mut breaches) => {
                breaches.retain(|breach| breach.identity != "ends");
                Trial::Halved(breaches)
            }
            tried => tried,
        }
    }

    /// Runs it in another way. Engines look up at moments of their own, so that this one has more hops.
    fn run(&self, resolved: &Resolved, world: &World, engine: EngineKind) -> Option<Results> {
        run_within(4 * self.most_hops, resolved, world, engine).ok()
    }

    fn try_out(&self) -> Trial {
        let (resolved, world) = match self.build(&[]) {
            Ok(built) => built,
            Err(refused) => return Trial::Refused(refused),
        };
        let plain = run_within(self.most_hops, &resolved, &world, EngineKind::Windowed);
        let plain = match plain {
            Ok(plain) => plain,
            Err(reached) => return Trial::TooLong(reached),
        };
        let mut breaches = Vec::new();
        let document = document(&plain);
        for engine in [EngineKind::Oracle, EngineKind::Ordered, EngineKind::Threads(2), EngineKind::Verbs] {
            compare(&document, self.run(&resolved, &world, engine), engine.name(), &mut breaches);
        }
        let mut traced = world.clone();
        if let Err(refused) = traced.trace(&["flow=0".to_owned()], &["*".to_owned()]) {
            breaches.push(Breach::new("traces", refused.to_string()));
        }
        compare(&document, self.run(&resolved, &traced, EngineKind::Windowed), "traces", &mut breaches);
        let end = Duration::from_secs_f64(plain.summary.sim_time_s);
        self.with_probes(identities::rate_interval(&world), end, &document, &mut breaches);
        let (flows, ports) = tables(&plain);
        let published = Published {
            resolved: &resolved,
            world: &world,
            document: &document,
            flows: &flows,
            ports: &ports,
        };
        breaches.extend(published.breaches());
        Trial::Ran(breaches)
    }

    /// Samples all that can be sampled, rates over `interval`, and reads what arrives in the second quarter of the run, which ends at `end`.
    fn with_probes(&self, interval: Duration, end: Duration, document: &Value, breaches: &mut Vec<Breach>) {
        let rate_interval = format!("probes.rate_interval={}ps", interval.as_ps());
        let probes =
            [&rate_interval[..], "probes.queue_interval=30us", "probes.ports=all", "probes.flows=all"];
        let from = format!("measure.goodput_from={}ps", (end / 4).as_ps());
        // A run may end before anything happens.
        let until = format!("measure.goodput_until={}ps", (end / 2).as_ps().max((end / 4).as_ps() + 1));
        let probes = [&probes[..], &[&from, &until]].concat();
        let (resolved, world) = match self.build(&probes) {
            Ok(built) => built,
            Err(refused) => return breaches.push(Breach::new("probes", refused)),
        };
        let probed = self.run(&resolved, &world, EngineKind::Windowed);
        breaches.extend(probed.iter().flat_map(|probed| identities::goodput(&world, interval, probed)));
        breaches.extend(probed.iter().filter_map(identities::between));
        compare(document, probed, "probes", breaches);
    }
}

/// Runs a world; or how far it came, if so many packet-hops do not do.
fn run_within(
    most_hops: u64,
    resolved: &Resolved,
    world: &World,
    engine: EngineKind,
) -> Result<Results, Duration> {
    let results = run(resolved, world, engine, &mut |progress| progress.packet_hops < most_hops);
    if results.summary.partial {
        Err(Duration::from_secs_f64(results.summary.sim_time_s))
    } else {
        Ok(results)
    }
}

/// The document without what the engine and the probes may change.
fn document(results: &Results) -> Value {
    let mut document = serde_json::to_value(&results.summary).expect("a summary has a JSON form");
    for key in ["engine", "threads", "warnings"] {
        document[key] = Value::Null;
    }
    document["fairness"] = Value::Null;
    document.as_object_mut().expect("a summary is an object").remove("goodput");
    document["queues"]["bottleneck_p99_bytes"] = Value::Null;
    document
}

/// Compares the document of another run of the scenario with the plain one's.
fn compare(plain: &Value, other: Option<Results>, how: &str, breaches: &mut Vec<Breach>) {
    let Some(other) = other else {
        return breaches.push(Breach::new("alike", format!("{how}: takes longer")));
    };
    let other = document(&other);
    let keys = plain.as_object().into_iter().flat_map(|fields| fields.keys());
    let differing = keys.filter(|key| plain[key.as_str()] != other[key.as_str()]);
    breaches.extend(differing.map(|key| {
        Breach::new("alike", format!("{how}: {key} is {}, not {}", other[key.as_str()], plain[key.as_str()]))
    }));
}

/// The tables of flows and ports, as they are read back from their files.
fn tables(results: &Results) -> (Vec<FlowRow>, Vec<PortRow>) {
    let folder = std::env::temp_dir().join(format!(
        "farspan-runs-{}-{:?}",
        std::process::id(),
        std::thread::current().id()
    ));
    results.save(&folder).expect("a temporary folder can be written");
    let flows = read_flows(&folder.join("flows.parquet")).expect("a table that was written");
    let ports = read_ports(&folder.join("ports.parquet")).expect("a table that was written");
    std::fs::remove_dir_all(&folder).expect("it was written");
    (flows, ports)
}

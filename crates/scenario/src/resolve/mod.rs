//! From a scenario as written to one in which every key that applies has a value.

mod coding;
mod fault;
mod files;
mod fitting;
mod proxy;
mod range;
mod scheme;
mod topology;
mod trimming;
mod workload;

use crate::catalog::builtin::{BUILT_IN, BuiltIn};
use crate::error::{ScenarioError, ValueError};
use crate::model::{
    Host, Measure, MeasureText, Probes, ProbesText, Scenario, ScenarioText, Stop, Transport, TransportText,
};
use crate::reader::read_value;
use crate::schemes::control;
use crate::schemes::profile::Profiles;
use crate::text::source::Source;
use crate::value::{ConnectionScope, Interval, Jitter, Part, PortChoice, Profile, RtoRule};
use farspan_transport::InitialWindow;
use farspan_units::{Bytes, Duration};
use serde::de::DeserializeOwned;
use std::sync::Arc;

pub use files::digest as file_digest;
pub use fitting::Fitting;
pub use proxy::check_naive_proxy;

/// A scenario in which every key that applies has a value.
#[derive(Clone, Debug)]
pub struct Resolved {
    scenario: Scenario,
    source: Arc<Source>,
}

impl Resolved {
    /// Fills in what the text and the arguments leave open.
    pub(crate) fn new(source: Source) -> Result<Self, ScenarioError> {
        let written = source.scenario(&toml::Table::new())?;
        let profile = written.scheme.profile.unwrap_or(Profile::Paper);
        let name = written.name.clone().unwrap_or_else(|| source.stem());
        let special = written.constants.clone().unwrap_or_else(|| name.clone());
        let world = Profiles::get().constants(profile, &special, "world");
        let scenario = source.scenario(&world)?;
        let context = Context { source: &source, name: &name, special: &special, profile };
        let scenario = context.fill(scenario).map_err(|error| {
            let place = source.place(&error.path);
            error.at(place)
        })?;
        Ok(Self { scenario, source: Arc::new(source) })
    }

    /// The values.
    #[must_use]
    pub const fn scenario(&self) -> &Scenario {
        &self.scenario
    }

    /// The scenario's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.scenario.name
    }

    /// The scheme's name.
    #[must_use]
    pub fn scheme(&self) -> &str {
        &self.scenario.scheme.name
    }

    /// The profile.
    #[must_use]
    pub const fn profile(&self) -> Profile {
        self.scenario.scheme.profile
    }

    /// The seed.
    #[must_use]
    pub const fn seed(&self) -> u64 {
        self.scenario.seed
    }

    /// A copy of the scenario with another seed.
    #[must_use]
    pub fn with_seed(&self, seed: u64) -> Self {
        let mut other = self.clone();
        other.scenario.seed = seed;
        other
    }

    /// As it would be written, every default spelled out. Resolving it gives the same scenario.
    #[must_use]
    pub fn text(&self) -> ScenarioText {
        (&self.scenario).into()
    }

    /// [`Self::text`] as TOML.
    #[must_use]
    pub fn to_toml(&self) -> String {
        toml::to_string(&self.text()).expect("a resolved scenario has a TOML form")
    }

    /// Keys that gave way to changes of the scenario, in words.
    #[must_use]
    pub fn dropped(&self) -> &[String] {
        self.source.dropped()
    }

    /// Files of which a digest is written, and which nothing reads since the scenario was changed.
    #[must_use]
    pub fn unread(&self) -> Vec<String> {
        self.source.keys("files").into_iter().filter(|file| !self.scenario.files.contains_key(file)).collect()
    }

    /// The error for a value that turns out wrong while the world is built.
    #[must_use]
    pub fn error(&self, error: ValueError) -> ScenarioError {
        let place = self.source.place(&error.path);
        error.at(place)
    }

    /// Where the `file` lies that is named at `path`: beside the text that names it.
    #[must_use]
    pub fn file(&self, path: &str, file: &str) -> std::path::PathBuf {
        self.source.file(path, file)
    }
}

/// The inputs on which default values depend.
struct Context<'a> {
    source: &'a Source,
    name: &'a str,
    /// The scenario whose constants hold.
    special: &'a str,
    profile: Profile,
}

impl Context<'_> {
    fn fill(&self, written: ScenarioText) -> Result<Scenario, ValueError> {
        if let Some(special) = &written.constants
            && BuiltIn::named(special).is_none()
        {
            let names: Vec<_> = BUILT_IN.iter().map(|scenario| scenario.name).collect();
            return Err(ValueError::unknown("constants", "built-in scenario", special, &names, &[]));
        }
        let jitter = written.host.jitter.unwrap_or(Jitter::OnePacket);
        let (topology, sites) = self.topology(written.topology, jitter)?;
        let ack = self.acks(written.transport.ack.clone())?;
        let transport = transport(written.transport, ack)?;
        let scheme = self.scheme(written.scheme, &transport)?;
        let mut parts = written.workload;
        parts.extend(proxy::incasts(written.incast)?);
        let workload = self.workload(parts, sites > 1)?;
        let files = files::digests(&topology, &workload, &written.files, self.source.has_other_files())?;
        let stop = written.stop.time.unwrap_or(Duration::from_ms(10_000));
        let scenario = Scenario {
            name: self.name.to_owned(),
            description: written.description,
            constants: written.constants.filter(|special| special != self.name),
            seed: written.seed.unwrap_or(1),
            topology,
            transport,
            host: Host { jitter },
            scheme,
            workload,
            fault: self.faults(written.fault)?,
            probes: probes(written.probes)?,
            measure: measure(written.measure, stop)?,
            stop: Stop { time: stop },
            files,
        };
        range::check(&scenario)?;
        Ok(scenario)
    }

    /// The constants of a component under this scenario's profile; a control of another crate brings its own.
    fn constants(&self, component: &str) -> toml::Table {
        let own = control::named(component).map(|control| control.constants.clone());
        own.unwrap_or_else(|| Profiles::get().constants(self.profile, self.special, component))
    }

    /// The value that is written, or else this constant of a component, if it is there.
    fn or_constant<T: DeserializeOwned>(
        &self,
        written: Option<T>,
        component: &str,
        key: &str,
    ) -> Result<Option<T>, ValueError> {
        if written.is_some() {
            return Ok(written);
        }
        let constants = self.constants(component);
        let constant = constants.get(key).map(read_value).transpose();
        constant.map_err(|error| error.below(key).below(component))
    }
}

fn transport(written: TransportText, ack: Part) -> Result<Transport, ValueError> {
    let payload = written.payload.unwrap_or(Bytes::new(4096));
    let header = written.header.unwrap_or(Bytes::new(64));
    let start = written.start.unwrap_or(InitialWindow::Bdp);
    if start == InitialWindow::Bytes(Bytes::ZERO) {
        return Err(ValueError::rule(
            "transport.start",
            "a first window of 0",
            "give \"bdp\", \"bdp/8\", \"iw10\" or a size",
        ));
    }
    let rto = written.rto.unwrap_or(RtoRule::Path);
    if rto == RtoRule::Value(Duration::ZERO) {
        return Err(ValueError::rule(
            "transport.rto",
            "a time-out of 0",
            "give \"path\", \"rfc6298\" or a time",
        ));
    }
    let rto_initial = written.rto_initial.unwrap_or(Duration::from_ms(1000));
    if rto_initial.is_zero() {
        let cure = "give a time, such as \"1s\"";
        return Err(ValueError::rule("transport.rto_initial", "a time-out of 0", cure));
    }
    let balance = shared("transport.balance", "a path selector", written.balance)?;
    let recovery = shared("transport.recovery", "a loss recovery", written.recovery)?;
    let coding = shared("transport.coding", "a coding", written.coding)?;
    let repeat_marks = written.repeat_marks.unwrap_or(false);
    if repeat_marks && ack.name() == Some("coalesced") {
        let cure = "write transport.ack = \"per_packet\" or \"delayed\"";
        return Err(ValueError::rule(
            "transport.repeat_marks",
            "\"coalesced\" ACKs already echo each mark",
            cure,
        ));
    }
    let connections = written.connections.unwrap_or(ConnectionScope::PerFlow);
    Ok(Transport {
        payload,
        header,
        start,
        rto,
        rto_initial,
        rto_variance_floor: written.rto_variance_floor.unwrap_or(Duration::from_ms(1)),
        rto_min: written.rto_min.unwrap_or(Duration::from_ms(1)),
        rto_nic: written.rto_nic.unwrap_or(true),
        ack_priority: written.ack_priority.unwrap_or(true),
        rtt_noise: written.rtt_noise.unwrap_or(Duration::ZERO),
        balance,
        recovery,
        coding,
        ack,
        repeat_marks,
        handshake: written.handshake.unwrap_or(false),
        connections,
        idle_restart: written.idle_restart.unwrap_or(true),
        burst: written.burst.unwrap_or(Bytes::ZERO),
        unpaced: written.unpaced.unwrap_or(0),
        prr: written.prr.unwrap_or(false),
    })
}

/// A part that all schemes share, or `"scheme"`: each has its own.
fn shared(path: &str, kind: &str, written: Option<Part>) -> Result<Part, ValueError> {
    let part = written.unwrap_or_else(|| Part::named(scheme::OWN));
    if part.name().is_none() {
        let cure = format!("give \"scheme\", {kind}, or {{ name = ..., ... }}");
        return Err(ValueError::rule(path, "no name", cure));
    }
    Ok(part)
}

fn probes(written: ProbesText) -> Result<Probes, ValueError> {
    let interval = |path: &str, written: Option<Interval>| {
        let interval = written.unwrap_or(Interval::Off);
        if interval == Interval::Value(Duration::ZERO) {
            return Err(ValueError::rule(
                path,
                "a sampling interval of 0",
                "give a time, such as \"2ms\", or \"off\"",
            ));
        }
        Ok(interval)
    };
    Ok(Probes {
        rate_interval: interval("probes.rate_interval", written.rate_interval)?,
        queue_interval: interval("probes.queue_interval", written.queue_interval)?,
        ports: written.ports.unwrap_or(PortChoice::Bottlenecks),
        links: written.links.unwrap_or(PortChoice::Named(Vec::new())),
        flows: written.flows,
        series: written.series.unwrap_or_else(|| vec!["*".to_owned()]),
    })
}

/// `stop`: when the run ends at the latest.
fn measure(written: MeasureText, stop: Duration) -> Result<Measure, ValueError> {
    let MeasureText { warmup, fairness_group, goodput_from, goodput_until } = written;
    let warmup = warmup.unwrap_or(Duration::ZERO);
    let Some(until) = goodput_until else {
        if goodput_from.is_some() {
            let cure = "give it as well, such as \"120ms\", or leave both out";
            return Err(ValueError::rule("measure.goodput_from", "measure.goodput_until is not given", cure));
        }
        return Ok(Measure { warmup, fairness_group, goodput_from, goodput_until });
    };
    let from = goodput_from.unwrap_or(warmup);
    let refused = |problem, cure| Err(ValueError::rule("measure.goodput_until", problem, cure));
    if until > stop {
        let problem = format!("{until} is after stop.time = {stop}, when the run has ended");
        return refused(problem, "give an earlier time, or a later stop.time");
    }
    if from >= until {
        let problem = format!("{until} is not after measure.goodput_from = {from}");
        return refused(problem, "give goodput_from before goodput_until");
    }
    Ok(Measure { warmup, fairness_group, goodput_from: Some(from), goodput_until: Some(until) })
}

/// A value that must be there, at `path`; `what`: such as which.
fn need<T>(path: impl FnOnce() -> String, what: &str, value: Option<T>) -> Result<T, ValueError> {
    value.ok_or_else(|| ValueError::missing(path(), what))
}

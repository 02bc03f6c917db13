//! Schemes: names to parts, parts to constants, and what they ask of the ports.

use super::{Context, need, trimming};
use crate::error::{Problem, ValueError};
use crate::limits::{LARGEST_BUFFER, each_within, within};
use crate::model::{
    Pfc, PfcText, Phantom, PhantomText, Pool, PoolText, Ports, PortsText, Red, RedText, Scheme, SchemeClass,
    SchemeClassText, SchemeText, Thresholds, Transport,
};
use crate::names::UnknownName;
use crate::reader::{component, read, read_value};
use crate::schemes::control;
use crate::schemes::scheme::{self, Stack};
use crate::table::overlay;
use crate::text::schema::Keys;
use crate::value::{
    Headroom, Marking, Part, PfcLinks, PoolAccounts, PoolSize, PortTier, Profile, Recovery, RoutingRule,
    SwitchSet, TelemetryCounts,
};
use farspan_fabric::switch::shared::pause::LosslessLinks;
use farspan_transport::ack::AckConfig;
use farspan_transport::balance::BalanceConfig;
use farspan_transport::congestion::{CongestionConfig, OnNack};
use farspan_transport::{ByName, ConfigError, WindowCheck, recovery};
use farspan_units::Bytes;
use serde::Serialize;
use toml::{Table, Value};

/// The scheme of a scenario that names none.
const DEFAULT: &str = "uno";

/// In the place of a part that all schemes share: each has its own.
pub(super) const OWN: &str = "scheme";

impl Context<'_> {
    pub(super) fn scheme(&self, written: SchemeText, transport: &Transport) -> Result<Scheme, ValueError> {
        let name = written.name.unwrap_or_else(|| DEFAULT.to_owned());
        let stacks = scheme::parse(&name);
        let (intra, inter) =
            stacks.map_err(|error| ValueError::new("scheme.name", Problem::Scheme(error)))?;
        let intra = self.class("scheme.intra", (intra, None), written.intra, transport)?;
        let inter =
            self.class("scheme.inter", (inter, shared(&transport.coding)), written.inter, transport)?;
        let proxy = self.proxy(written.proxy)?;
        let ports = self.ports(&intra, &inter, &written.ports, proxy.is_some())?;
        let profile = written.profile.unwrap_or(Profile::Paper);
        super::proxy::check(proxy.as_ref(), [&intra, &inter], &ports, transport)?;
        trimming::check(&ports, self.source.is_idle)?;
        Ok(Scheme { name, profile, intra, inter, ports, proxy })
    }

    /// The parts for a class of flows; `coding`: that of all schemes for these, if there is one.
    fn class(
        &self,
        path: &str,
        (stack, coding): (Stack, Option<Part>),
        written: SchemeClassText,
        transport: &Transport,
    ) -> Result<SchemeClass, ValueError> {
        let control_path = format!("{path}.congestion");
        let control = match written.congestion.as_ref().and_then(Part::name) {
            Some(name) => named(&control_path, scheme::control_name(name))?,
            None => stack.control,
        };
        let alias = stack.alias.filter(|_| control == stack.control);
        let constants = self.constants_under(alias, control, "congestion");
        let congestion = part(&constants, "congestion", control, written.congestion);
        let congestion = congestion_of(&control_path, control, &congestion)?;
        let balance = self.balance(&format!("{path}.balance"), stack, written.balance, transport)?;
        let recovery = match shared(&transport.recovery) {
            Some(shared) => known_recovery("transport.recovery", shared.0)?,
            None => {
                let own = part(&constants, "recovery", recovery::NAMES[0], written.recovery);
                known_recovery(&format!("{path}.recovery"), own)?
            }
        };
        let coding = match coding {
            Some(shared) => self.shared_coding(shared)?,
            None => self.coding(&format!("{path}.coding"), stack, written.coding)?,
        };
        let window_check = self.or_constant(written.window_check, control, "window_check")?;
        Ok(SchemeClass {
            congestion,
            balance: to_part(&balance),
            recovery,
            coding: to_part(&coding),
            window_check: window_check.unwrap_or(WindowCheck::Below),
        })
    }

    /// The path selector: the scenario's, if it has one for all schemes, else the class's own, else the scheme's.
    fn balance(
        &self,
        path: &str,
        stack: Stack,
        own: Option<Part>,
        transport: &Transport,
    ) -> Result<BalanceConfig, ValueError> {
        let (path, written) = match shared(&transport.balance) {
            Some(shared) => ("transport.balance", Some(shared)),
            None => (path, own),
        };
        let asked = written.as_ref().and_then(Part::name);
        let name = asked.map_or(Ok(stack.balance), |name| named(path, scheme::balance_name(name)))?;
        self.selector(path, name, stack.alias.filter(|_| name == stack.balance), written)
    }

    /// The constants of a component. A scheme with a name of its own may have its own ones of this kind for what others have, too.
    fn constants_under(&self, alias: Option<&str>, component: &str, kind: &str) -> Table {
        let mut constants = self.constants(component);
        if let Some(own) = alias.and_then(|alias| self.constants(alias).remove(kind)) {
            overlay(&mut constants, &Table::from_iter([(kind.to_owned(), own)]));
        }
        constants
    }

    /// When receivers acknowledge packets, every default spelled out.
    pub(super) fn acks(&self, written: Option<Part>) -> Result<Part, ValueError> {
        let path = "transport.ack";
        let written = written.unwrap_or_else(|| Part::named(AckConfig::default().name()));
        let Some(name) = written.name() else {
            return Err(ValueError::missing(format!("{path}.name"), "an ACK policy, such as \"coalesced\""));
        };
        let name = named(path, scheme::ack_name(name))?;
        let acks: AckConfig = checked(path, &part(&self.constants(name), "ack", name, Some(written)))?;
        in_range(path, acks.check())?;
        Ok(to_part(&acks))
    }

    /// A path selector of its own of a part of the workload, every default spelled out.
    pub(super) fn own_balance(&self, path: &str, written: Part) -> Result<Part, ValueError> {
        let Some(name) = written.name() else {
            return Err(ValueError::missing(format!("{path}.name"), "a path selector, such as \"ecmp\""));
        };
        let name = named(path, scheme::balance_name(name))?;
        self.selector(path, name, None, Some(written)).map(|balance| to_part(&balance))
    }

    fn selector(
        &self,
        path: &str,
        name: &'static str,
        alias: Option<&str>,
        written: Option<Part>,
    ) -> Result<BalanceConfig, ValueError> {
        let balance = part(&self.constants_under(alias, name, "balance"), "balance", name, written);
        let balance: BalanceConfig = checked(path, &balance)?;
        in_range(path, balance.check())?;
        Ok(balance)
    }

    /// The ports that the controls of both classes ask for: every marker that either asks for, and trimming if either
    /// does. Where both set a constant, that of intra-DC flows stands. Headers go back unasked
    /// only to senders that are simulated, and send through no proxy.
    fn ports(
        &self,
        intra: &SchemeClass,
        inter: &SchemeClass,
        written: &PortsText,
        has_proxy: bool,
    ) -> Result<Ports, ValueError> {
        let shared = self.constants("ports");
        let own = |class: &SchemeClass| {
            let own = self.constants(class.congestion.name().unwrap_or_default()).remove("ports");
            own.and_then(|ports| ports.as_table().cloned()).unwrap_or_default()
        };
        let over = |base: &Table, own: &Table| {
            let mut table = base.clone();
            overlay(&mut table, own);
            table
        };
        let (our_own, their_own) = (own(intra), own(inter));
        let (ours, theirs) = (over(&shared, &our_own), over(&shared, &their_own));
        // What a control asks for stands above what all share, whichever class it is in.
        let table = over(&theirs, &our_own);
        let typed = |table: &Table| read::<PortsText>("ports", table);
        let (ours, theirs, base) = (typed(&ours)?, typed(&theirs)?, typed(&table)?);
        let marking = ours.marking.unwrap_or_default().union(theirs.marking.unwrap_or_default());
        let tiers = union(ours.tiers, theirs.tiers);
        let (overflow, telemetry) =
            (ours.overflow.max(theirs.overflow), ours.telemetry.max(theirs.telemetry));
        let may_return = !has_proxy && !self.source.is_idle;
        let return_to_sender = base.return_to_sender.filter(|_| may_return);
        fill_ports(written, &PortsText { overflow, telemetry, return_to_sender, ..base }, marking, tiers)
    }
}

/// A control from its table, every default spelled out, and its answer to NACKs with it.
fn congestion_of(path: &str, control: &str, table: &Table) -> Result<Part, ValueError> {
    check_keys(path, table)?;
    let (own, written) = control::apart(table);
    let (mut part, rule) = match control::named(control) {
        Some(registered) => {
            let part = registered.spell_out(path, &own)?;
            let rule = control::congestion(path, &part)?.needs().nacks;
            (part, rule)
        }
        None => {
            let congestion: CongestionConfig = component(path, &own)?;
            in_range(path, congestion.check())?;
            (to_part(&congestion), congestion.needs().nacks)
        }
    };
    let on_nack = format!("{path}.{}", control::ON_NACK);
    let written = written.map(|value| read_value::<OnNack>(&value)).transpose();
    let answer = written.map_err(|error| error.below(&on_nack))?.unwrap_or(rule.by_default());
    rule.allows(answer).map_err(|(problem, cure)| {
        ValueError::rule(
            on_nack,
            format!("{answer:?} does not fit {control}: {problem}", answer = answer.name()),
            cure,
        )
    })?;
    part.0.insert(control::ON_NACK.to_owned(), Value::String(answer.name().to_owned()));
    Ok(part)
}

/// Constants of a component, under `name`, with what the scenario says on top.
pub(super) fn part(constants: &Table, kind: &str, name: &str, written: Option<Part>) -> Table {
    let mut table = Table::from_iter([("name".to_owned(), Value::String(name.to_owned()))]);
    if let Some(constants) = constants.get(kind).and_then(Value::as_table) {
        overlay(&mut table, constants);
    }
    if let Some(Part(written)) = written {
        overlay(&mut table, &written);
    }
    table
}

/// A component from its table; unknown keys name the nearest known one.
pub(super) fn checked<T: ByName>(path: &str, table: &Table) -> Result<T, ValueError> {
    check_keys(path, table)?;
    component(path, table)
}

/// Checks that the component at `path` has these keys.
fn check_keys(path: &str, table: &Table) -> Result<(), ValueError> {
    let nested = path.rsplit('.').fold(table.clone(), |inner, step| {
        let (key, value) = match step.split_once('[') {
            Some((key, _)) => (key, Value::Array(vec![Value::Table(inner)])),
            None => (step, Value::Table(inner)),
        };
        Table::from_iter([(key.to_owned(), value)])
    });
    Keys::of_scenario().check(&nested)
}

pub(super) fn in_range(path: &str, check: Result<(), ConfigError>) -> Result<(), ValueError> {
    check.map_err(|error| ValueError::new(format!("{path}.{}", error.parameter), Problem::Parameter(error)))
}

/// The part that all schemes share; `None`: each has its own.
fn shared(part: &Part) -> Option<Part> {
    Some(part.clone()).filter(|part| part.name() != Some(OWN))
}

/// Puts the error of a name at its path.
pub(super) fn named(path: &str, name: Result<&'static str, UnknownName>) -> Result<&'static str, ValueError> {
    name.map_err(|error| ValueError::new(path, Problem::UnknownName(error)))
}

fn to_part<T: Serialize>(component: &T) -> Part {
    match Value::try_from(component).expect("a component has a TOML form") {
        Value::Table(table) => Part(table),
        _ => Part::default(),
    }
}

fn known_recovery(path: &str, table: Table) -> Result<Part, ValueError> {
    Recovery::read(path, &table)?.policy(path)?;
    Ok(Part(table))
}

fn union(ours: Option<Vec<PortTier>>, theirs: Option<Vec<PortTier>>) -> Vec<PortTier> {
    let mut tiers = ours.unwrap_or_default();
    tiers.extend(theirs.unwrap_or_default());
    tiers.sort_unstable();
    tiers.dedup();
    tiers
}

fn fill_ports(
    written: &PortsText,
    base: &PortsText,
    marking: Marking,
    tiers: Vec<PortTier>,
) -> Result<Ports, ValueError> {
    let marking = written.marking.unwrap_or(marking);
    let path = "scheme.ports.red";
    let red = marking.red.then(|| fill_red(path, written.red.as_ref(), base.red.as_ref())).transpose()?;
    // What neither says stands in `red`.
    let (own, of_scheme, of_all) = (written.wan_red.as_ref(), base.wan_red.as_ref(), red.map(RedText::from));
    let has_own = marking.red && own.or(of_scheme).is_some();
    let wan_red = has_own.then(|| fill_red("scheme.ports.wan_red", own, of_scheme.or(of_all.as_ref())));
    let wan_red = wan_red.transpose()?;
    let phantom =
        marking.phantom.then(|| fill_phantom(written.phantom.as_ref(), base.phantom.as_ref())).transpose()?;
    let step =
        marking.step.then(|| need_port("step", "a size or \"bdp_over_7\"", written.step.or(base.step)));
    let overflow = trimming::full_buffer(written, base)?;
    let pool = fill_pool(written.pool.as_ref(), base.pool.as_ref())?;
    let pfc = fill_pfc(written.pfc.as_ref(), base.pfc.as_ref(), pool.is_some())?;
    if pfc.is_some() && pool.is_some_and(|pool| pool.accounts == PoolAccounts::Egress) {
        return Err(ValueError::rule(
            "scheme.ports.pool.accounts",
            "PFC pauses a neighbour by the space that its own packets take, but these accounts count all packets that wait at a port",
            "write accounts = \"ingress\", or pfc.links = \"none\"",
        ));
    }
    let switches = written.switches.or(base.switches).unwrap_or(SwitchSet::All);
    if pfc.is_some() && switches == SwitchSet::Site {
        return Err(ValueError::rule(
            "scheme.ports.switches",
            "border routers without a pool can neither pause their neighbours nor be paused",
            "write switches = \"all\", or pfc.links = \"none\"",
        ));
    }
    Ok(Ports {
        at: need_port("at", "\"enqueue\" or \"dequeue\"", written.at.or(base.at))?,
        red,
        wan_red,
        phantom,
        step: step.transpose()?,
        tiers: written.tiers.clone().unwrap_or(tiers),
        switches,
        overflow,
        routing: written.routing.or(base.routing).unwrap_or(RoutingRule::Ecmp),
        telemetry: written.telemetry.or(base.telemetry).unwrap_or_default(),
        telemetry_counts: written
            .telemetry_counts
            .or(base.telemetry_counts)
            .unwrap_or(TelemetryCounts::Departures),
        pool: pool.map(|pool| Pool { pfc, ..pool }),
    })
}

/// A key of ports that a profile gives.
fn need_port<T>(key: &str, what: &str, value: Option<T>) -> Result<T, ValueError> {
    need(|| format!("scheme.ports.{key}"), what, value)
}

/// Without a size, nothing else matters.
fn fill_pool(written: Option<&PoolText>, base: Option<&PoolText>) -> Result<Option<Pool>, ValueError> {
    fn value<T>(tables: [Option<&PoolText>; 2], get: fn(&PoolText) -> Option<T>) -> Option<T> {
        tables.into_iter().flatten().find_map(get)
    }
    let tables = [written, base];
    let size = value(tables, |pool| pool.size).unwrap_or(PoolSize::Off).get();
    let (alpha, reserve) = (value(tables, |pool| pool.alpha), value(tables, |pool| pool.reserve));
    each_within("scheme.ports.pool.size", size, Bytes::new(1), LARGEST_BUFFER)?;
    each_within("scheme.ports.pool.alpha", alpha, 0.001, 64.0)?;
    each_within("scheme.ports.pool.reserve", reserve, Bytes::ZERO, LARGEST_BUFFER)?;
    let Some(size) = size else { return Ok(None) };
    let alpha = need_port("pool.alpha", "a factor, such as 0.25", alpha)?;
    let reserve = need_port("pool.reserve", "a size, such as \"4KiB\"", reserve)?;
    let accounts = value(tables, |pool| pool.accounts).unwrap_or(PoolAccounts::Ingress);
    Ok(Some(Pool { size, alpha, reserve, accounts, pfc: None }))
}

/// Where no link is lossless, nothing else matters.
fn fill_pfc(
    written: Option<&PfcText>,
    base: Option<&PfcText>,
    has_pool: bool,
) -> Result<Option<Pfc>, ValueError> {
    fn value<T>(tables: [Option<&PfcText>; 2], get: fn(&PfcText) -> Option<T>) -> Option<T> {
        tables.into_iter().flatten().find_map(get)
    }
    let tables = [written, base];
    let (resume_offset, headroom) =
        (value(tables, |pfc| pfc.resume_offset), value(tables, |pfc| pfc.headroom));
    each_within("scheme.ports.pfc.resume_offset", resume_offset, Bytes::ZERO, LARGEST_BUFFER)?;
    if let Some(Headroom::Value(bytes)) = headroom {
        within("scheme.ports.pfc.headroom", bytes, Bytes::ZERO, LARGEST_BUFFER)?;
    }
    let links = match value(tables, |pfc| pfc.links).unwrap_or(PfcLinks::None) {
        PfcLinks::None => return Ok(None),
        PfcLinks::Site => LosslessLinks::InsideSites,
        PfcLinks::All => LosslessLinks::All,
    };
    if !has_pool {
        return Err(ValueError::rule(
            "scheme.ports.pfc.links",
            "PFC pauses senders by the space that their packets take in a switch's pool, but there is no pool",
            "give scheme.ports.pool.size, such as \"32MiB\", or write links = \"none\"",
        ));
    }
    let resume_offset = need_port("pfc.resume_offset", "a size, such as \"3KiB\"", resume_offset)?;
    Ok(Some(Pfc { links, resume_offset, headroom: headroom.unwrap_or(Headroom::Auto) }))
}

/// Where the scenario writes one kind of threshold, the profile's of the other kind do not count; where the profile has both, as
/// that of a control on top of what all have, those in bytes stand.
fn fill_red(path: &str, written: Option<&RedText>, base: Option<&RedText>) -> Result<Red, ValueError> {
    let in_bytes = |red: &RedText| red.min_bytes.or(red.max_bytes).is_some();
    let in_fractions = |red: &RedText| red.min.or(red.max).is_some();
    if written.is_some_and(|red| in_bytes(red) && in_fractions(red)) {
        let cure = "write min and max (fractions of the buffer), or min_bytes and max_bytes (sizes)";
        return Err(ValueError::rule(path, "thresholds are given both as fractions and in bytes", cure));
    }
    let own = written.filter(|red| in_bytes(red) || in_fractions(red));
    let decides = own.or(base);
    let value = |get: fn(&RedText) -> Option<f64>| written.and_then(get).or_else(|| base.and_then(get));
    let size = |get: fn(&RedText) -> Option<Bytes>| written.and_then(get).or_else(|| base.and_then(get));
    let of_thresholds = base.filter(|_| own.is_none()).and_then(|red| red.max_probability);
    let max_probability = written.and_then(|red| red.max_probability).or(of_thresholds).unwrap_or(1.0);
    if !(max_probability > 0.0 && max_probability <= 1.0) {
        let problem = format!("a probability of {max_probability}");
        let cure = "give a number above 0, at most 1, such as 0.2";
        return Err(ValueError::rule(format!("{path}.max_probability"), problem, cure));
    }
    let thresholds = if decides.is_some_and(in_bytes) {
        bytes(path, size(|red| red.min_bytes), size(|red| red.max_bytes))?
    } else {
        let (min, max) = (value(|red| red.min), value(|red| red.max));
        if min.is_some() != max.is_some() {
            let key = if min.is_none() { "min" } else { "max" };
            let cure = "give both with 0 <= min <= max <= 1, such as { min = 0.25, max = 0.75 }";
            return Err(ValueError::rule(format!("{path}.{key}"), "one threshold without the other", cure));
        }
        let (min, max) = fractions(path, min, max)?;
        Thresholds::Fractions(min, max)
    };
    Ok(Red { thresholds, max_probability })
}

/// Thresholds in bytes.
fn bytes(path: &str, min: Option<Bytes>, max: Option<Bytes>) -> Result<Thresholds, ValueError> {
    let problem = match (min, max) {
        (Some(min), Some(max)) if min <= max => return Ok(Thresholds::Bytes(min, max)),
        (Some(min), Some(max)) => format!("thresholds from {min} to {max}"),
        _ => "one threshold without the other".to_owned(),
    };
    let cure =
        "give both with min_bytes <= max_bytes, such as { min_bytes = \"400KiB\", max_bytes = \"1600KiB\" }";
    Err(ValueError::rule(format!("{path}.max_bytes"), problem, cure))
}

fn fill_phantom(written: Option<&PhantomText>, base: Option<&PhantomText>) -> Result<Phantom, ValueError> {
    let value = |get: fn(&PhantomText) -> Option<f64>| written.and_then(get).or_else(|| base.and_then(get));
    let (min, max) = fractions("scheme.ports.phantom", value(|p| p.min), value(|p| p.max))?;
    let drain = value(|p| p.drain).unwrap_or_default();
    if !(0.001..=1.0).contains(&drain) {
        let [value, least, most] = [format!("a drain rate of {drain}"), "0.001".to_owned(), "1".to_owned()];
        return Err(ValueError::new(
            "scheme.ports.phantom.drain",
            Problem::OutOfRange { value, least, most },
        ));
    }
    let size = written.and_then(|p| p.size).or_else(|| base.and_then(|p| p.size));
    let count_dropped = written.and_then(|p| p.count_dropped).or_else(|| base.and_then(|p| p.count_dropped));
    Ok(Phantom {
        size: need_port("phantom.size", "a size or \"inter_bdp\"", size)?,
        drain,
        min,
        max,
        count_dropped: count_dropped.unwrap_or(false),
    })
}

/// Thresholds as fractions.
fn fractions(path: &str, min: Option<f64>, max: Option<f64>) -> Result<(f64, f64), ValueError> {
    let (min, max) = (min.unwrap_or_default(), max.unwrap_or_default());
    let cure = "give fractions of the queue with 0 <= min <= max <= 1, such as { min = 0.25, max = 0.75 }";
    let key = match () {
        () if !(0.0..=1.0).contains(&min) => "min",
        () if !(0.0..=1.0).contains(&max) || max < min => "max",
        () => return Ok((min, max)),
    };
    Err(ValueError::rule(format!("{path}.{key}"), format!("thresholds from {min} to {max}"), cure))
}

//! The parts of the scheme of a run beside its congestion control, and whether its mechanisms have acted.

use crate::assemble::World;
use farspan_fabric::switch::shared::pause::LosslessLinks;
use farspan_fabric::{Overflow, PortConfig};
use farspan_metrics::{Acted, ClassSetup, PacketSums, Pfc, Recovery, Setup};
use farspan_scenario::Resolved;
use farspan_scenario::value::Part;
use farspan_sim::Totals;
use farspan_transport::congestion::Ecn;
use farspan_transport::recovery::RecoveryConfig;
use farspan_transport::{Class, Scheme};
use farspan_units::TelemetryKind;
use toml::Value;

/// The classes that have flows; in a world without a workload, those that have paths.
fn classes(world: &World) -> impl Iterator<Item = Class> {
    let flows = &world.workload.flows;
    let has = move |class: &Class| match (flows.is_empty(), class) {
        (true, Class::Intra) => world.intra.is_some(),
        (true, Class::Inter) => world.inter.is_some(),
        (false, class) => flows.iter().any(|flow| world.class(flow) == *class),
    };
    [Class::Intra, Class::Inter].into_iter().filter(has)
}

/// The parts of the scheme of a world.
pub(super) fn setup(resolved: &Resolved, world: &World) -> Setup {
    let mut setup = Setup::default();
    for class in classes(world) {
        let place = if class == Class::Intra { &mut setup.intra } else { &mut setup.inter };
        *place = Some(of_class(resolved, world, class));
    }
    setup
}

fn of_class(resolved: &Resolved, world: &World, class: Class) -> ClassSetup {
    let (scenario, scheme) = (resolved.scenario(), world.spec.scheme(class));
    let parts = if class == Class::Intra { &scenario.scheme.intra } else { &scenario.scheme.inter };
    let pause = world.spec.pool.and_then(|pool| pool.pause);
    ClassSetup {
        congestion: scheme.congestion.name().to_owned(),
        first_window: scenario.transport.start.to_string(),
        recovery: recovery(&scheme.recovery),
        balance: with_constants(parts.balance.name().unwrap_or_default(), &parts.balance, &[]),
        coding: coding(scheme, &parts.coding),
        lossless: pause.is_some_and(|pause| match pause.links {
            LosslessLinks::All => true,
            LosslessLinks::InsideSites => class == Class::Intra,
        }),
    }
}

fn recovery(config: &RecoveryConfig) -> String {
    let backoff = if config.backoff { ", backoff" } else { "" };
    format!("{} (rto {}{backoff})", config.policy.name(), config.rto)
}

fn coding(scheme: &Scheme, part: &Part) -> String {
    let name = part.name().unwrap_or_default();
    match scheme.coding.shape() {
        None => name.to_owned(),
        Some(shape) => {
            let name = format!("{name}({},{})", shape.data(), shape.parity());
            with_constants(&name, part, &["data", "parity"])
        }
    }
}

/// A part with the constants that its table has, beside its name and some others.
fn with_constants(name: &str, part: &Part, others: &[&str]) -> String {
    let constants = part.0.iter().filter(|(key, _)| *key != "name" && !others.contains(&key.as_str()));
    let text = |(key, value): (&String, &Value)| match value {
        Value::String(value) => format!("{key} {value}"),
        value => format!("{key} {value}"),
    };
    let constants: Vec<_> = constants.map(text).collect();
    if constants.is_empty() { name.to_owned() } else { format!("{name} ({})", constants.join(", ")) }
}

/// How often the mechanisms have acted that the scheme of a world has. Of programs' own traffic, which an emulation carries, its ports alone are
/// known.
pub(super) fn acted(
    world: &World,
    totals: &Totals,
    packets: &PacketSums,
    recovery: &Recovery,
    pfc: Option<Pfc>,
) -> Acted {
    let spec = &world.spec;
    let has_senders = !world.workload.flows.is_empty();
    let schemes: Vec<_> = classes(world).filter(|_| has_senders).map(|class| spec.scheme(class)).collect();
    let any = |has: fn(&Scheme) -> bool| schemes.iter().any(|scheme| has(scheme));
    let ports = |has: fn(&PortConfig) -> bool| {
        spec.ports.0.iter().chain(spec.own_ports.values().map(|port| &**port)).any(has)
    };
    let marks =
        any(|scheme| scheme.congestion.needs().ecn != Ecn::Ignored) || ports(|port| !port.markers.is_empty());
    let trims = ports(|port| matches!(port.overflow, Overflow::Trim(_)));
    let repairs = any(|scheme| scheme.coding.shape().is_some());
    let nacks = has_senders
        && (trims
            || repairs
            || any(|scheme| scheme.recovery.policy.wants_order())
            || !spec.proxies.is_empty());
    Acted {
        marks: marks.then_some(packets.ecn_marked),
        cnps: any(|scheme| scheme.congestion.needs().cnps.is_some()).then_some(totals.cnps),
        telemetry: any(|scheme| scheme.congestion.needs().telemetry != TelemetryKind::None)
            .then_some(totals.telemetry),
        trims: trims.then_some(packets.trimmed),
        pauses: pfc.map(|pfc| pfc.pauses),
        repairs: repairs.then_some(recovery.blocks_repaired),
        nacks: nacks.then_some(recovery.nacks),
        timeouts: has_senders.then_some(recovery.timeouts),
    }
}

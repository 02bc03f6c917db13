//! `farspan check`.

use crate::args::CheckArgs;
use crate::clock::now;
use crate::format::{bytes, percent, seconds, with_prefix};
use crate::runner::peak_rss;
use crate::{Failure, output};
use farspan_scenario::{EngineKind, PathFacts, Resolved, World};
use std::time::Duration;

/// How long the scenario is tried out, to learn this machine's speed.
const TRIAL: Duration = Duration::from_millis(500);

/// Prints the resolved scenario, and as comments below it what it means and costs: the whole is a scenario again.
pub fn check(args: &CheckArgs) -> Result<(), Failure> {
    let resolved = args.scenario.request(args.seed).resolve()?;
    let world = World::build(&resolved)?;
    let mut text = resolved.to_toml();
    for line in lines(&resolved, &world) {
        text += &format!("\n# {line}");
    }
    output::text(&(text + "\n"));
    Ok(())
}

fn lines(resolved: &Resolved, world: &World) -> Vec<String> {
    let mut lines = vec![String::new()];
    let path = |name: &str, path: Option<PathFacts>| {
        path.map(|path| {
            let PathFacts { hops, base_rtt, bdp, .. } = path;
            format!("{name}: {hops} links, base RTT {base_rtt}, BDP {} B", bdp.get())
        })
    };
    lines.extend(path("farthest pair inside a site", world.intra));
    let several = world.pairs.len() > 1;
    lines.extend(world.pairs.iter().filter_map(|pair| {
        let sites = format!("pair between sites {} and {}", pair.from, pair.to);
        path(if several { &sites } else { "pair between the sites" }, Some(pair.path))
    }));
    let load = &world.offered_load;
    let wan = load.wan.iter().map(|way| (format!("wan {} to {}", way.from, way.to), way.load));
    let tiers = [("host".to_owned(), load.host), ("fabric".to_owned(), load.fabric)].into_iter().chain(wan);
    let offered: Vec<_> = tiers.map(|(name, load)| format!("{name} {}", percent(load))).collect();
    lines.push(format!("offered load: {}", offered.join(", ")));
    lines.push(format!("transient: {}", load.transient()));
    lines.extend(cost(resolved, world));
    lines.extend(world.warnings.iter().map(|warning| format!("warning: {warning}")));
    lines
}

/// Packet-hops are counted; time follows from a short trial on this machine.
fn cost(resolved: &Resolved, world: &World) -> Vec<String> {
    let estimate = world.estimate();
    let began = now();
    let trial =
        farspan_scenario::run(resolved, world, EngineKind::Windowed, &mut |_| began.elapsed() < TRIAL);
    let speed = trial.summary.packet_hops as f64 / began.elapsed().as_secs_f64();
    let time = if trial.summary.partial {
        estimate.packet_hops as f64 / speed
    } else {
        began.elapsed().as_secs_f64()
    };
    let memory = peak_rss() + estimate.memory_bytes;
    vec![
        format!("flows: {}, payload {}", estimate.flows, bytes(Some(estimate.payload_bytes as f64))),
        format!(
            "work: about {}, without retransmissions",
            with_prefix(estimate.packet_hops as f64, "packet-hops")
        ),
        format!(
            "time: about {} here ({} in a short trial)",
            seconds(time),
            with_prefix(speed, "packet-hops/s")
        ),
        format!("memory: at most about {}", bytes(Some(memory as f64))),
    ]
}

//! `farspan check`.

use crate::args::CheckArgs;
use crate::format::percent;
use crate::{Failure, cost, output};
use farspan_scenario::Resolved;
use farspan_sweep::{Kind, Sweep};
use farspan_world::{Cost, PathFacts, Size, World};
use std::path::Path;

/// Prints the resolved scenario, and as comments below it what it means and costs: the whole is a scenario again.
pub fn check(args: &CheckArgs) -> Result<(), Failure> {
    let name = &args.scenario.scenario;
    if Kind::of(name).is_ok_and(|kind| kind == Kind::Sweep) {
        return Err(of_sweep(name));
    }
    let resolved = args.scenario.request(args.seed).resolve()?;
    let size = Size::of(&resolved)?;
    let lines = match size.is_small() {
        true => lines(&resolved, &World::build(&resolved)?),
        false => vec![String::new(), too_large(size)],
    };
    let mut text = resolved.to_toml();
    for line in lines {
        text += &format!("\n# {line}");
    }
    output::text(&(text + "\n"));
    Ok(())
}

/// The error of a sweep in a scenario's place, or what is wrong with the sweep itself.
fn of_sweep(name: &str) -> Failure {
    Sweep::read(Path::new(name)).map_or_else(Failure::from, |sweep| {
        let scenario = sweep.points.first().map_or("SCENARIO", |point| &point.request.scenario);
        Failure::BadInput(format!(
            "{name}: this is a sweep, and farspan check takes a scenario; farspan check {scenario} checks the one that it runs, and \
             --scheme NAME and --set PATH=VALUE one of its settings"
        ))
    })
}

/// Says that a world would take too long, or too much memory, to be looked at.
fn too_large(size: Size) -> String {
    let Size { links, flows, .. } = size;
    let flows = if links > Size::MOST { String::new() } else { format!(" and {flows} flows") };
    format!(
        "warning: {links} links{flows} are too many to be built for a check: hosts, links and files that the scenario names were \
         not looked for, and its cost is not known. farspan run builds them, or says why not"
    )
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
    let links = resolved.scenario().topology.link.lines(&world.spec.network);
    lines.extend(links.expect("the world was built with these patterns"));
    let load = &world.offered_load;
    let wan = load.wan.iter().map(|way| (format!("wan {} to {}", way.from, way.to), way.load));
    let tiers = [("host".to_owned(), load.host), ("fabric".to_owned(), load.fabric)].into_iter().chain(wan);
    let offered: Vec<_> = tiers.map(|(name, load)| format!("{name} {}", percent(load))).collect();
    lines.push(format!("offered load: {}", offered.join(", ")));
    lines.push(format!("transient: {}", load.transient()));
    lines.extend(cost::lines(&Cost::of(resolved, world)));
    lines.extend(world.warnings.iter().map(|warning| format!("warning: {warning}")));
    lines
}

//! `farspan check`.

use crate::offered_load::Offered;
use crate::scenario_args::ScenarioArgs;
use crate::seeds::seed;
use crate::{Failure, cost};
use clap::Args;
use farspan_metrics::Warned;
use farspan_scenario::{Resolved, ScenarioError};
use farspan_sweep::{Kind, Point, Sweep};
use farspan_terminal::output;
use farspan_world::{Cost, PathFacts, Size, World};
use std::panic::resume_unwind;
use std::path::Path;

/// Arguments of `check`.
#[derive(Args, Debug)]
pub struct CheckArgs {
    /// The scenario, or a sweep.
    #[command(flatten)]
    pub scenario: ScenarioArgs,
    /// Print only the summary and the cost, not the scenario itself
    #[arg(long)]
    pub brief: bool,
    /// Seed of all random draws
    #[arg(long, allow_negative_numbers = true, value_parser = seed)]
    pub seed: Option<u64>,
}

/// Prints the resolved scenario, and as comments below it what it means and costs: the whole is a scenario again. Of a sweep: how many runs it
/// has, and what they cost.
pub fn check(args: &CheckArgs) -> Result<(), Failure> {
    let name = &args.scenario.scenario;
    if Kind::of(name).is_ok_and(|kind| kind == Kind::Sweep) {
        return check_sweep(args);
    }
    let resolved = args.scenario.request(args.seed).resolve()?;
    let size = Size::of(&resolved)?;
    let lines = match size.is_small() {
        true => lines(&resolved, &World::build(&resolved)?),
        false => vec![too_large(size)],
    };
    if args.brief {
        output::text(&(lines.join("\n") + "\n"));
        return Ok(());
    }
    let comments: String = lines.iter().map(|line| format!("# {line}\n")).collect();
    output::text(&format!("{}\n# \n{comments}", resolved.to_toml()));
    Ok(())
}

/// Says that a world would take too long, or too much memory, to be looked at.
fn too_large(size: Size) -> String {
    let Size { links, flows, .. } = size;
    let flows = if links > Size::MOST { String::new() } else { format!(" and {flows} flows") };
    format!(
        "warning: {links} links{flows} are too many for a check, which did not build them. It did not look for the hosts, \
         links and files that the scenario names, and cannot estimate the cost. farspan run builds them, or says why it \
         cannot"
    )
}

fn lines(resolved: &Resolved, world: &World) -> Vec<String> {
    let mut lines = Vec::new();
    let path = |name: &str, path: Option<PathFacts>| {
        path.map(|path| {
            let PathFacts { hops, base_rtt, bdp, .. } = path;
            format!("{name}: {hops} links, base RTT {base_rtt}, BDP {} B", bdp.get())
        })
    };
    lines.extend(path("farthest pair inside a site", world.intra));
    let several = world.pairs.len() > 1;
    lines.extend(world.pairs.iter().filter_map(|pair| {
        let [from, to] = [pair.from, pair.to].map(|site| &world.site_names[site]);
        let sites = format!("pair between {from} and {to}");
        path(if several { &sites } else { "pair between the sites" }, Some(pair.path))
    }));
    let links = resolved.scenario().topology.link.lines(&world.spec.network);
    lines.extend(links.expect("the world was built with these patterns"));
    let load = &world.offered_load;
    let wan: Vec<_> = load.wan.iter().map(|way| ([way.from, way.to], way.load)).collect();
    let offered = Offered {
        host: load.host,
        fabric: load.fabric,
        wan: &wan,
        sites: &world.site_names,
        has_parity: world.has_parity(),
    };
    lines.push(format!("offered load: {}", offered.line()));
    lines.push(format!("transient: {}", load.transient()));
    lines.extend(cost::lines(&Cost::of(resolved, world)));
    lines.extend(world.warnings.iter().map(|warning| format!("warning: {warning}")));
    lines
}

/// A sweep with more points than this is judged by some of them: each takes half a second and more to try.
const MOST_TRIED: usize = 8;

/// Prints how many runs a sweep has, and what they cost, from some of its points.
fn check_sweep(args: &CheckArgs) -> Result<(), Failure> {
    let name = &args.scenario.scenario;
    if let Some(option) = args.scenario.given().or(args.seed.map(|_| "--seed")) {
        return Err(Failure::BadInput(format!(
            "{option}: {name} is a sweep file, and the file decides what runs; set it in the file, or check a scenario instead"
        )));
    }
    let sweep = Sweep::read(Path::new(name))?;
    let points: Vec<&[Point]> = sweep.apart_from_seeds().collect();
    let (runs, count) = (sweep.points.len(), points.len());
    let repeated = match sweep.repeated {
        0 => String::new(),
        repeated => format!("; {repeated} combinations repeat another run"),
    };
    let mut lines = vec![format!("sweep: {runs} runs of {count} points (seeds not counted){repeated}")];
    let tried: Vec<_> = chosen(&points, MOST_TRIED)
        .into_iter()
        .map(|index| {
            cost::tried_apart(|| try_out(&points[index][0])).unwrap_or_else(|panic| resume_unwind(panic))
        })
        .collect();
    lines.extend(estimate(&tried, runs, count)?);
    output::text(&(lines.join("\n") + "\n"));
    Ok(())
}

/// The indices of at most so many points, of each scheme as many: schemes cost differently.
fn chosen(points: &[&[Point]], most: usize) -> Vec<usize> {
    let mut by_scheme: Vec<(&str, Vec<usize>)> = Vec::new();
    for (index, seeds) in points.iter().enumerate() {
        let scheme = seeds[0].resolved.scheme();
        match by_scheme.iter_mut().find(|(known, _)| *known == scheme) {
            Some((_, of)) => of.push(index),
            None => by_scheme.push((scheme, vec![index])),
        }
    }
    let of_each = if points.len() <= most { most } else { (most / by_scheme.len().max(1)).max(1) };
    let schemes = spread(by_scheme.len(), most).into_iter().map(|scheme| &by_scheme[scheme].1);
    schemes.flat_map(|of| spread(of.len(), of_each).into_iter().map(|place| of[place])).collect()
}

/// The indices of at most so many of `count` things, spread evenly from the first to the last.
fn spread(count: usize, most: usize) -> Vec<usize> {
    match count > most {
        true => (0..most).map(|i| i * (count - 1) / (most - 1).max(1)).collect(),
        false => (0..count).collect(),
    }
}

/// The cost of a point, and what its run would warn of; `Err` within: it is too large to be tried.
type Tried = Result<Result<(Cost, Vec<String>), Size>, ScenarioError>;

fn try_out(point: &Point) -> Tried {
    let size = Size::of(&point.resolved)?;
    if !size.is_small() {
        return Ok(Err(size));
    }
    let world = World::build(&point.resolved)?;
    Ok(Ok((Cost::of(&point.resolved, &world), world.warnings)))
}

/// Lines on the cost of so many runs, of which some points were tried.
///
/// # Errors
/// That of the first point, if none can be built.
fn estimate(tried: &[Tried], runs: usize, count: usize) -> Result<Vec<String>, Failure> {
    let costs: Vec<_> = tried.iter().flatten().flatten().collect();
    let mut errors = tried.iter().filter_map(|tried| tried.as_ref().err());
    let mut lines = Vec::new();
    match (errors.next(), costs.first()) {
        (Some(error), None) => return Err(Failure::BadInput(error.to_string())),
        (Some(error), Some(_)) => {
            let failed = errors.count() + 1;
            lines.push(format!(
                "warning: {failed} of the tried points cannot be built; the first error: {error}"
            ));
        }
        (None, _) => {}
    }
    let large = tried.iter().flatten().find_map(|tried| tried.as_ref().err());
    lines.extend(large.map(|size| too_large(*size)));
    // What is too large to try would be the most of a total.
    if large.is_none() && !costs.is_empty() {
        let of = match costs.len() < count {
            true => format!("{} of the {count} points, equally many per scheme", costs.len()),
            false => "every point".to_owned(),
        };
        let only: Vec<Cost> = costs.iter().map(|(cost, _)| *cost).collect();
        // A run that cannot be built costs nothing.
        let built = runs * costs.len() / tried.len();
        lines.splice(0..0, cost::of_sweep(&only, built));
        lines.insert(0, format!("tried: {of}, one seed each"));
    }
    let warned = Warned::of(costs.iter().map(|(_, warnings)| warnings.iter().map(String::as_str)));
    lines.extend(warned.iter().map(|warned| format!("warning: {}", warned.line(costs.len()))));
    Ok(lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_each_scheme_as_many_points_are_tried() {
        let sizes: Vec<String> = (1..=8).map(|size| format!("'{size}KiB'")).collect();
        let text = format!(
            "scenario = 'uno/incast-intra'\nscheme = ['uno', 'dctcp']\n[grid]\n'workload.flow_size' = [{}]\n",
            sizes.join(", ")
        );
        let sweep = Sweep::parse("s.toml", &text, None).unwrap();
        let points: Vec<&[Point]> = sweep.points.chunks(1).collect();
        let tried = chosen(&points, 8);
        let of = |name: &str| tried.iter().filter(|i| points[**i][0].resolved.scheme() == name).count();
        assert_eq!((tried.len(), of("uno"), of("dctcp")), (8, 4, 4));
        assert_eq!(chosen(&points, 16).len(), 16);
    }

    #[test]
    fn few_points_are_tried_all_and_of_many_the_ends_and_some_between() {
        assert_eq!(spread(3, 8), [0, 1, 2]);
        assert_eq!(spread(8, 8), [0, 1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(spread(36, 8), [0, 5, 10, 15, 20, 25, 30, 35]);
        assert_eq!(spread(0, 8), [0; 0]);
    }
}

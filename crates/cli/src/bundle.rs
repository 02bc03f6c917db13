//! `farspan bundle`.

use crate::features::features;
use crate::figure_runs::{RunningArgs, parameters, points, run_points, size};
use crate::{Failure, Itself, reproduce};
use clap::Args;
use farspan_files::NewFile;
use farspan_ledger::{
    Build, Bundle, BundleCheck, BundledRun, Difference, Figure, LoadError, Manifest, PackError, Run, Size,
    select,
};
use farspan_scenario::{Request, ScenarioError};
use farspan_sweep::{Finished, Point, Program, Row, Store, encode_data_set};
use farspan_terminal::format::{Table, counted};
use farspan_terminal::output;
use farspan_world::clock::now;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Arguments of `bundle`.
#[derive(Args, Debug)]
pub struct BundleArgs {
    /// The figure (`farspan list figures`)
    #[arg(value_name = "PAPER/FIGURE", required_unless_present = "check")]
    pub figure: Option<String>,
    /// The archive
    #[arg(short, long, alias = "out", value_name = "FILE.tar.zst", required_unless_present = "check")]
    pub output: Option<PathBuf>,
    /// Run this archive again and compare every number. Exits with 3 if one differs
    #[arg(long, value_name = "FILE.tar.zst", conflicts_with_all = ["figure", "output", "size", "resume"])]
    pub check: Option<PathBuf>,
    /// How much to run: smoke (seconds, no verdicts), small (minutes) or full (as the papers)
    #[arg(long, value_name = "SIZE", default_value = "small", value_parser = size)]
    pub size: Size,
    /// Folder for the runs [default: out/reproduce, as `farspan reproduce`; with --check one that is removed at the end]
    #[arg(long, value_name = "DIR")]
    pub runs: Option<PathBuf>,
    /// Skip runs that are already complete, such as those of `farspan reproduce`
    #[arg(long)]
    pub resume: bool,
    /// How the runs are executed and reported.
    #[command(flatten)]
    pub running: RunningArgs,
}

/// The folder for the runs of a figure.
const RUNS: &str = "out/reproduce";

/// The most differences that a table shows.
const SHOWN: usize = 20;

impl From<LoadError> for Failure {
    fn from(error: LoadError) -> Self {
        Self::Failed(error.to_string())
    }
}

/// This program.
fn build() -> Build {
    Build {
        farspan_version: env!("CARGO_PKG_VERSION").to_owned(),
        commit: farspan_world::COMMIT.to_owned(),
        features: features(true).map(str::to_owned).collect(),
    }
}

/// Packs a figure, or runs a bundle again.
pub fn bundle(args: &BundleArgs, itself: &Itself<'_>) -> Result<(), Failure> {
    let program = Program::new(itself.words.to_vec(), &[itself.code])?;
    match (&args.check, &args.figure, &args.output) {
        (Some(file), _, _) => check(args, file, &program),
        (None, Some(name), Some(output)) => make(args, name, output, &program),
        _ => unreachable!("clap demands a figure and an archive, or --check"),
    }
}

fn make(args: &BundleArgs, name: &str, place: &Path, program: &Program) -> Result<(), Failure> {
    let began = now();
    let figure = one(name)?;
    let unwritable = |error: std::io::Error| {
        format!("{}: cannot be written ({error}): choose another -o, or make room", place.display())
    };
    // A place that cannot be written is refused before the runs.
    if place.is_dir() {
        return Err(Failure::BadInput(format!("{}: is a folder; give a file to -o", place.display())));
    }
    drop(NewFile::at(place).map_err(|error| Failure::BadInput(unwritable(error)))?);
    let plan = figure.plan(args.size);
    let points = points(&figure, &plan)?;
    let store = Store::open(args.runs.as_deref().unwrap_or(Path::new(RUNS)), program)?;
    let finished = run_points(&points, &store, args.size, args.resume, &args.running)?;
    let names = plan
        .iter()
        .map(|run| (figure.cases[run.case].name.as_str(), figure.arms[run.arm].name.as_str(), run.seed));
    let runs = loaded(&figure, names, &finished)?;
    let bundle = packed(&figure, args.size, &build(), &points, &runs)
        .map_err(|error| Failure::Failed(error.to_string()))?;
    let mut file = NewFile::at(place).map_err(|error| Failure::Failed(unwritable(error)))?;
    let written = bundle.write(&mut file).and_then(|()| file.finish());
    written.map_err(|error| Failure::Failed(unwritable(error)))?;
    let record = bundle.record().map_err(|error| Failure::Failed(format!("{}: {error}", figure.name)))?;
    if !args.running.json {
        let manifest = bundle.manifest();
        output::text(&format!(
            "{}\n{} files and {} in {}\n`farspan bundle --check {}` runs it again: {:.1} s of one core here\n",
            reproduce::table(&record),
            bundle.files(),
            counted(manifest.runs.len(), "run"),
            place.display(),
            place.display(),
            manifest.run_time_s
        ));
        return Ok(());
    }
    let mut document = json!(record);
    document["file"] = place.display().to_string().into();
    document["files"] = bundle.files().into();
    document["runs"] = bundle.manifest().runs.len().into();
    document["run_time_s"] = bundle.manifest().run_time_s.into();
    document["wall_time_s"] = began.elapsed().as_secs_f64().into();
    output::json(&document);
    Ok(())
}

/// The figure of a name.
fn one(name: &str) -> Result<Figure, Failure> {
    let mut found = select(name)?;
    match found.len() {
        1 => Ok(found.remove(0)),
        several => Err(Failure::BadInput(format!(
            "{name:?} has {several} figures, and a bundle holds one: name it, such as {}",
            found[0].name
        ))),
    }
}

/// The runs of a figure, by case, arm and seed, from what points have left.
fn loaded<'a>(
    figure: &Figure,
    names: impl Iterator<Item = (&'a str, &'a str, u64)>,
    finished: &[Finished],
) -> Result<Vec<BundledRun>, Failure> {
    let errors: Vec<&String> = finished.iter().filter_map(|done| done.result.as_ref().err()).collect();
    if let Some(first) = errors.first() {
        return Err(Failure::Failed(format!(
            "{} failed, so there is no bundle; the first error: {first}",
            counted(errors.len(), "run")
        )));
    }
    let load = |((case, arm, seed), done): ((&str, &str, u64), &Finished)| {
        BundledRun::load(figure, case, arm, seed, &done.folder)
    };
    Ok(names.zip(finished).map(load).collect::<Result<_, _>>()?)
}

/// The bundle of runs that points have left, the table over them with it.
fn packed(
    figure: &Figure,
    size: Size,
    build: &Build,
    points: &[Point],
    runs: &[BundledRun],
) -> Result<Bundle, PackError> {
    let row =
        |(point, run): (&Point, &BundledRun)| Ok(Row::new(run.folder(), point, Some(&Ok(run.document()?))));
    let rows = points.iter().zip(runs).map(row).collect::<Result<Vec<_>, PackError>>()?;
    Bundle::new(figure, size, build, runs, encode_data_set(&rows))
}

fn check(args: &BundleArgs, file: &Path, program: &Program) -> Result<(), Failure> {
    let began = now();
    let bad = |problem: String| Failure::BadInput(format!("{}: {problem}", file.display()));
    let opened = farspan_files::open(file).map_err(|error| {
        bad(format!("cannot be read ({error}); give a file that `farspan bundle -o` wrote"))
    })?;
    let bundle = Bundle::read(opened).map_err(|error| bad(error.to_string()))?;
    let manifest = bundle.manifest();
    let figure = one(&manifest.figure)?;
    let own;
    let folder = match &args.runs {
        Some(folder) => folder.as_path(),
        None => {
            own = tempfile::tempdir().map_err(|error| {
                Failure::Failed(format!("no folder for the runs ({error}): give --runs DIR"))
            })?;
            own.path()
        }
    };
    let store = Store::open(folder, program)?;
    let unpacked = unpack(&bundle, &store)?;
    let points = bundled_points(manifest, &unpacked)?;
    let finished =
        run_points(&points, &store, manifest.size, false, &args.running).map_err(
            |failure| match failure {
                Failure::InterruptedFigure { .. } => Failure::InterruptedFigure { kept: false },
                other => other,
            },
        )?;
    let names = manifest.runs.iter().map(|run| (run.case.as_str(), run.arm.as_str(), run.seed));
    let runs = loaded(&figure, names, &finished)?;
    let pack = |build: &Build, runs: &[BundledRun]| {
        packed(&figure, manifest.size, build, &points, runs).map_err(|error| bad(error.to_string()))
    };
    let this = build();
    let rerun = pack(&this, &runs)?;
    let remade = if manifest.build.is(&this) { Some(pack(&manifest.build, &bundle.runs())?) } else { None };
    let mut checked = bundle.compare(remade.as_ref(), &rerun);
    let mut unlike_plan = beside_plan(&figure, manifest, &points)?;
    if checked.same_build {
        // First: other scenarios give other numbers.
        checked.differences.splice(0..0, unlike_plan.drain(..));
    }
    let seconds = began.elapsed().as_secs_f64();
    if args.running.json {
        output::json(&document(manifest, &this, &checked, &unlike_plan, seconds));
    } else {
        output::text(&text(manifest, &this, &checked, &unlike_plan, seconds));
    }
    match checked.differences.first() {
        None => Ok(()),
        Some(first) => Err(Failure::Unheld(format!(
            "{}: {}; the first one: {}: {} in the bundle, {} now",
            file.display(),
            counted(checked.differences.len(), "difference"),
            one_line(&first.place),
            first.bundle,
            first.now
        ))),
    }
}

/// Writes the bundle's files beside its runs, in place of those of a bundle before.
fn unpack(bundle: &Bundle, store: &Store) -> Result<PathBuf, Failure> {
    let folder = store.root().join("bundle");
    let removed = match std::fs::remove_dir_all(&folder) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        other => other,
    };
    let written = removed.and_then(|()| bundle.save(&folder));
    written.map_err(|error| {
        Failure::Failed(format!(
            "{}: cannot be written ({error}): choose another --runs, or make room",
            folder.display()
        ))
    })?;
    Ok(folder)
}

/// The points of a bundle's own scenarios.
fn bundled_points(manifest: &Manifest, unpacked: &Path) -> Result<Vec<Point>, ScenarioError> {
    let point = |run| {
        let scenario = unpacked.join(Bundle::scenario(run)).display().to_string();
        Point::new(Request::new(&scenario), parameters(&manifest.figure, &run.case, &run.arm))
    };
    manifest.runs.iter().map(point).collect()
}

/// In what the bundle is not as this build plans the figure at its size: runs that it lacks, and scenarios that are other ones. The
/// plan of another build may be another one.
fn beside_plan(figure: &Figure, manifest: &Manifest, points: &[Point]) -> Result<Vec<Difference>, Failure> {
    let plan = figure.plan(manifest.size);
    let bundled: BTreeMap<(&str, &str, u64), &Point> = manifest
        .runs
        .iter()
        .zip(points)
        .map(|(run, point)| ((&*run.case, &*run.arm, run.seed), point))
        .collect();
    let planned = self::points(figure, &plan)?;
    let difference = |(run, planned): (&Run, &Point)| {
        let (case, arm) = (&*figure.cases[run.case].name, &*figure.arms[run.arm].name);
        let place = format!("{case}, {arm}, seed {}: the scenario, by its hash", run.seed);
        let bundle = bundled.get(&(case, arm, run.seed)).map(|point| point.identity());
        let shown = |identity: u64| Value::String(format!("{identity:016x}"));
        (bundle != Some(planned.identity())).then(|| Difference {
            place,
            bundle: bundle.map_or(Value::Null, shown),
            now: shown(planned.identity()),
        })
    };
    Ok(plan.iter().zip(&planned).filter_map(difference).collect())
}

fn document(
    manifest: &Manifest,
    this: &Build,
    checked: &BundleCheck,
    unlike_plan: &[Difference],
    seconds: f64,
) -> Value {
    let mut document = json!(checked);
    document["unlike_plan"] = json!(unlike_plan);
    document["figure"] = json!(manifest.figure);
    document["size"] = json!(manifest.size);
    document["holds"] = checked.differences.is_empty().into();
    document["build"] = json!(manifest.build);
    document["build_now"] = json!(this);
    document["wall_time_s"] = seconds.into();
    document
}

fn text(
    manifest: &Manifest,
    this: &Build,
    checked: &BundleCheck,
    unlike_plan: &[Difference],
    seconds: f64,
) -> String {
    let named = |build: &Build| format!("farspan {} (commit {})", build.farspan_version, build.commit);
    let by = match checked.same_build {
        true => format!("made and run again by {}", named(this)),
        false => format!("made by {}, run again by another build, {}", named(&manifest.build), named(this)),
    };
    let equal = checked.runs.iter().filter(|run| run.is_equal()).count();
    let mut claims = Table::new(["claim", "bundle", "now", "band", "verdict", "verdict now"]);
    for claim in &checked.claims {
        let band = format!("{} to {}", shown(&claim.low), shown(&claim.high));
        claims.row([
            one_line(&claim.id),
            shown(&claim.measured),
            shown(&claim.measured_now),
            band,
            shown(&claim.verdict),
            shown(&claim.verdict_now),
        ]);
    }
    format!(
        "{}, size {}, runs: {}, in {seconds:.1} s\n{by}\n\n{}\nruns with equal digests: {equal} of {}\n{}{}",
        manifest.figure,
        manifest.size.name(),
        checked.runs.len(),
        claims.render(&[]),
        checked.runs.len(),
        planned_otherwise(unlike_plan),
        differences(&checked.differences)
    )
}

/// A note on runs that this build plans otherwise.
fn planned_otherwise(unlike_plan: &[Difference]) -> String {
    let absent = unlike_plan.iter().filter(|difference| difference.bundle.is_null()).count();
    match unlike_plan.len() {
        0 => String::new(),
        all => format!(
            "note: this build plans the figure otherwise: {absent} of its runs are not in the bundle, {} have another scenario\n",
            all - absent
        ),
    }
}

fn differences(all: &[Difference]) -> String {
    if all.is_empty() {
        return "all of it holds: no number differs\n".to_owned();
    }
    let mut table = Table::new(["what differs", "bundle", "now"]);
    for difference in all.iter().take(SHOWN) {
        table.row([one_line(&difference.place), shown(&difference.bundle), shown(&difference.now)]);
    }
    let more = match all.len().saturating_sub(SHOWN) {
        0 => String::new(),
        more => format!("and {more} more; --json has them all\n"),
    };
    format!("\n{}{more}", table.render(&[]))
}

/// Words of an archive, which may be anything, on one line.
fn one_line(words: &str) -> String {
    words.replace(char::is_control, " ")
}

/// A value in a table.
fn shown(value: &Value) -> String {
    match value {
        Value::Null => "-".to_owned(),
        Value::String(text) => one_line(text),
        other => other.to_string(),
    }
}

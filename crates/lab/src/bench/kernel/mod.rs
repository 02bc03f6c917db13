//! `farspan-lab bench kernel`: the TCP of the Linux kernel beside the simulator's, at the same bottleneck of 200 Mbit/s and 20 ms: once in
//! an emulation, once simulated. Throughput and wait over buffer and loss, the shares of two flows, completion times.

mod cells;
mod emulated;
mod farspan;
mod kept;

use self::cells::{Cell, Measure, Traffic};
use self::farspan::Farspan;
use self::kept::{Judged, Kept, Numbers, Unfinished};
use crate::failure::Failure;
use clap::Args;
use farspan_metrics::Summary;
use farspan_scenario::unknown_name;
use farspan_terminal::format::Table;
use farspan_terminal::interrupt::{catch_interrupts, interrupted};
use farspan_terminal::output;
use farspan_world::{EngineKind, World, clock};
use serde::Serialize;
use std::path::PathBuf;

/// Most attempts at one run of the kernel.
const ATTEMPTS: usize = 6;
/// The port at which flows meet, and its rate in bit/s.
const BOTTLENECK: (&str, f64) = ("tor0->tor1#0", 200e6);

/// Arguments of `bench kernel`.
#[derive(Args, Debug)]
pub struct BenchKernelArgs {
    /// Run only cells whose name begins with this, such as 'bbr steady'; can be given several times
    #[arg(long, value_name = "CELL")]
    pub only: Vec<String>,
    /// Number of runs of each cell, both in the kernel and in the simulator. Medians count
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..=100))]
    pub repeat: u16,
    /// Start no new run after this many minutes. 0 only shows the kept numbers, and needs no root
    #[arg(long, value_name = "MINUTES", value_parser = clap::value_parser!(u32).range(0..=100_000))]
    pub minutes: Option<u32>,
    /// Keep the numbers of runs in this file, and continue from it
    #[arg(long, value_name = "FILE")]
    pub keep: Option<PathBuf>,
    /// Print one JSON document instead of a table
    #[arg(long)]
    pub json: bool,
    /// Show no progress
    #[arg(long)]
    pub quiet: bool,
}

/// All that was compared.
#[derive(Serialize)]
struct Comparison {
    cells: Vec<Judged>,
    /// Cells of each measure, and how many of them agree.
    measures: Vec<Agreement>,
    /// Cells that were begun and have too few runs.
    unfinished: Vec<Unfinished>,
    repeat: u16,
}

#[derive(Serialize)]
struct Agreement {
    measure: &'static str,
    cells: usize,
    agree: usize,
}

/// Makes the runs that are missing, and compares both clocks.
pub fn kernel(args: &BenchKernelArgs) -> Result<(), Failure> {
    let cells = chosen(args)?;
    let mut kept = args.keep.as_deref().map_or_else(|| Ok(Kept::default()), Kept::read)?;
    let mut made = Ok(());
    if args.minutes != Some(0) {
        let repeat = usize::from(args.repeat);
        let missing: Vec<_> = cells.iter().filter(|cell| !kept.is_whole(cell, repeat)).collect();
        let has_programs = missing.iter().any(|cell| cell.control.parameters.is_some());
        let farspan = Farspan::beside(if has_programs { &["emu", "kernel"] } else { &["emu"] })?;
        farspan_emu::check()?;
        catch_interrupts();
        let began = clock::now();
        let is_over = || {
            args.minutes.is_some_and(|minutes| began.elapsed().as_secs() >= 60 * u64::from(minutes))
                || interrupted()
        };
        // A control that cannot be had shows before hours of runs.
        let mut controls = missing.clone();
        controls.dedup_by_key(|cell| cell.control.name);
        controls.iter().try_for_each(|cell| emulated::check(cell, &farspan))?;
        made = missing.iter().try_for_each(|cell| fill(cell, args, &mut kept, &is_over, &farspan));
        if interrupted() {
            return Err(Failure::Interrupted);
        }
    }
    // What was made is shown, whatever ended it.
    let judged = kept.judged(&cells, usize::from(args.repeat));
    let unfinished = kept.unfinished(&cells, usize::from(args.repeat));
    let agreement = |measure: Measure| {
        let word = measure.words().1;
        let of = judged.iter().filter(|one| one.measure == word);
        Agreement { measure: word, cells: of.clone().count(), agree: of.filter(|one| one.agrees).count() }
    };
    let measures = Measure::ALL.map(agreement).into_iter().filter(|one| one.cells > 0).collect();
    let comparison = Comparison { cells: judged, measures, unfinished, repeat: args.repeat };
    if args.json {
        output::json(&comparison);
    } else {
        output::text(&table(&comparison));
    }
    made
}

/// The cells that `--only` leaves.
fn chosen(args: &BenchKernelArgs) -> Result<Vec<Cell>, Failure> {
    let mut all = cells::all();
    let names: Vec<_> = all.iter().map(|cell| cell.key.as_str()).collect();
    if let Some(stray) =
        args.only.iter().find(|part| !names.iter().any(|name| name.starts_with(part.as_str())))
    {
        let message = unknown_name("cell", stray, &names, &[]);
        return Err(Failure::BadInput(format!("--only {stray}: {message}")));
    }
    all.retain(|cell| {
        args.only.is_empty() || args.only.iter().any(|part| cell.key.starts_with(part.as_str()))
    });
    Ok(all)
}

/// Makes the runs of a cell that are missing. One that is void is counted, and made again.
fn fill(
    cell: &Cell,
    args: &BenchKernelArgs,
    kept: &mut Kept,
    is_over: &dyn Fn() -> bool,
    farspan: &Farspan,
) -> Result<(), Failure> {
    let repeat = usize::from(args.repeat);
    let say = |text: &str| {
        if !args.quiet {
            output::note(&format!("{}: {text}", cell.key));
        }
    };
    let keep = |kept: &Kept| args.keep.as_deref().map_or(Ok(()), |file| kept.write(file));
    while kept.of(cell).simulated.len() < repeat && !is_over() {
        let seed = kept.of(cell).simulated.len() as u64 + 1;
        let numbers = simulated(cell, seed)?;
        kept.of(cell).simulated.push(numbers);
        keep(kept)?;
    }
    for _ in 0..ATTEMPTS * repeat {
        if kept.of(cell).kernel.len() >= repeat || is_over() {
            return Ok(());
        }
        let seed = kept.of(cell).kernel.len() as u64 + 1;
        let (numbers, reasons) = emulated::run(cell, seed, farspan)?;
        let runs = kept.of(cell);
        if reasons.is_empty() {
            say(&format!("run {seed} of {repeat}: {numbers:?}"));
            runs.kernel.push(numbers);
        } else {
            let reasons = reasons.join("; ");
            say(&format!("void: {reasons}"));
            runs.void.push(reasons);
        }
        keep(kept)?;
    }
    if kept.of(cell).kernel.len() >= repeat {
        return Ok(());
    }
    let attempts = ATTEMPTS * repeat;
    Err(Failure::Void(format!("{}: too few of {attempts} runs hold: give the machine less to do", cell.key)))
}

/// One run of the simulator.
fn simulated(cell: &Cell, seed: u64) -> Result<Numbers, Failure> {
    let resolved = cell.simulated(seed).resolve()?;
    let world = World::build(&resolved)?;
    let summary =
        farspan_world::run(&resolved, &world, EngineKind::Windowed, &mut |_| !interrupted()).summary;
    if summary.partial {
        return Err(Failure::Interrupted);
    }
    let missing = || Failure::Failed(format!("{}: the simulator gives no number", cell.key));
    let goodput = summary.goodput.as_ref();
    Ok(match cell.traffic {
        Traffic::Steady => {
            let bps = goodput.and_then(|goodput| goodput.all).ok_or_else(missing)?.bps;
            let wait = wait_ms(cell, &summary)?;
            Numbers::from([("mbps".to_owned(), bps / 1e6), ("wait_ms".to_owned(), wait)])
        }
        Traffic::Share => {
            let jain = goodput.and_then(|goodput| goodput.jain).ok_or_else(missing)?;
            Numbers::from([("jain".to_owned(), jain)])
        }
        Traffic::Completion(_) => {
            let mean = summary.fct.all.and_then(|fct| fct.mean_us).ok_or_else(missing)?;
            Numbers::from([("ms".to_owned(), mean / 1e3)])
        }
    })
}

/// The mean queue of a run as the time that it takes to leave, in ms.
fn wait_ms(cell: &Cell, summary: &Summary) -> Result<f64, Failure> {
    let (port, rate) = BOTTLENECK;
    let queues = &summary.queues;
    let bytes = queues.bottleneck_mean_bytes.filter(|_| queues.bottleneck == port).ok_or_else(|| {
        Failure::Failed(format!("{}: flows met at {}, and not at {port}", cell.key, queues.bottleneck))
    })?;
    // An emulation is up for longer than its flows send.
    Ok(bytes * summary.sim_time_s / cell.control.seconds as f64 * 8.0 / rate * 1e3)
}

fn table(comparison: &Comparison) -> String {
    let unfinished = |cell: &Unfinished| {
        format!("{}: {} of {} runs, {} void\n", cell.cell, cell.runs, comparison.repeat, cell.void)
    };
    let unfinished: String = comparison.unfinished.iter().map(unfinished).collect();
    if comparison.cells.is_empty() {
        return format!("no cell has {} runs yet\n{unfinished}", comparison.repeat);
    }
    let heading = [
        "control",
        "cell",
        "measure",
        "kernel",
        "from",
        "to",
        "simulated",
        "ratio",
        "agrees",
        "runs",
        "void",
    ];
    let mut table = Table::new(heading);
    for judged in &comparison.cells {
        let show = |value: f64| format!("{value:.*}", judged.digits);
        table.row([
            judged.control.to_owned(),
            judged.cell.clone(),
            judged.unit.to_owned(),
            show(judged.kernel_median),
            show(judged.kernel_low),
            show(judged.kernel_high),
            show(judged.simulated_median),
            format!("{:.2}", judged.simulated_median / judged.kernel_median),
            if judged.agrees { "yes" } else { "no" }.to_owned(),
            judged.runs.to_string(),
            judged.void.to_string(),
        ]);
    }
    let sum = |one: &Agreement| format!("{}: {} of {} cells agree\n", one.measure, one.agree, one.cells);
    let sums: String = comparison.measures.iter().map(sum).collect();
    format!("{}\n{sums}{unfinished}", table.render(&[0, 1, 2]))
}

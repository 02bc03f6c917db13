//! Progress on standard error.

use crate::Failure;
use farspan_metrics::Summary;
use farspan_sweep::{self as sweep, Planned};
use farspan_terminal::format::{seconds, with_prefix};
use farspan_terminal::interrupt::interrupted;
use farspan_terminal::output;
use farspan_world::clock::now;
use farspan_world::runner::{self, Job, Watch};
use farspan_world::{EngineKind, Progress};
use indicatif::{ProgressBar, ProgressStyle};
use std::io::IsTerminal;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// From now on the process ends when its standard input does.
#[expect(clippy::disallowed_methods, reason = "the thread outlives every scope: it ends the process")]
pub fn end_with_stdin() {
    std::thread::spawn(|| {
        let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
        std::process::exit(130);
    });
}

/// Runs the jobs with progress on standard error, and gives their documents in order. After Ctrl-C those under way end early,
/// marked partial, and the others are left out.
pub fn run_all(jobs: &[Job], engine: EngineKind, quiet: bool) -> Result<Vec<Summary>, Failure> {
    let display = Display::new(jobs.len(), quiet);
    Ok(runner::run_all(jobs, engine, &display, |results| results.summary)?)
}

/// How often a line is printed where there is no terminal.
const LINE_EVERY: Duration = Duration::from_secs(10);

/// How far several runs have come, together.
pub struct Display {
    bar: Option<ProgressBar>,
    quiet: bool,
    began: Instant,
    state: Mutex<State>,
}

struct State {
    /// The fraction of each run that is done.
    fractions: Vec<f64>,
    hops: Vec<u64>,
    last_line: Instant,
}

impl Display {
    /// For so many runs.
    pub fn new(runs: usize, quiet: bool) -> Self {
        let bar = (!quiet && std::io::stderr().is_terminal()).then(|| {
            let style = ProgressStyle::with_template("{bar:40} {percent:>3}%  {msg}");
            ProgressBar::new(1000).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
        });
        let began = now();
        let state = State { fractions: vec![0.0; runs], hops: vec![0; runs], last_line: began };
        Self { bar, quiet, began, state: Mutex::new(state) }
    }

    fn record(&self, index: usize, fraction: f64, hops: Option<u64>) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.fractions[index] = fraction.clamp(0.0, 1.0);
        state.hops[index] = hops.unwrap_or(state.hops[index]);
        let share = state.fractions.iter().sum::<f64>() / state.fractions.len() as f64;
        let elapsed = self.began.elapsed();
        let rate = state.hops.iter().sum::<u64>() as f64 / elapsed.as_secs_f64().max(1e-3);
        let left = elapsed.as_secs_f64() * (1.0 - share) / share.max(1e-6);
        let left = if share > 0.002 { format!("{} left", seconds(left)) } else { String::new() };
        let message = format!("{left}  {}", with_prefix(rate, "packet-hops/s"));
        if let Some(bar) = &self.bar {
            bar.set_position((share * 1000.0) as u64);
            bar.set_message(message);
        } else if !self.quiet && state.last_line.elapsed() >= LINE_EVERY {
            state.last_line = now();
            output::note(&format!("{:.0}%  {message}", share * 100.0));
        }
    }
}

impl Watch for Display {
    fn update(&self, index: usize, progress: &Progress) -> bool {
        self.record(index, progress.fraction, Some(progress.packet_hops));
        !interrupted()
    }

    fn finished(&self, index: usize) {
        if !interrupted() {
            self.record(index, 1.0, None);
        }
    }

    fn warn(&self, warning: &str) {
        output::note(&format!("warning: {warning}"));
    }

    fn stopped(&self) -> bool {
        interrupted()
    }
}

impl Drop for Display {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// Says what runs take.
type Announce<'a> = dyn Fn(&[Planned]) + 'a;

/// How far a sweep has come.
pub struct SweepDisplay<'a> {
    bar: Option<ProgressBar>,
    quiet: bool,
    /// Says before the first run what they take.
    announce: Option<&'a Announce<'a>>,
    /// When the first run began.
    began: OnceLock<Instant>,
    last_line: Mutex<Instant>,
}

impl<'a> SweepDisplay<'a> {
    /// On standard error, unless quiet. `announce` is called with the runs before the first of them.
    pub fn new(quiet: bool, announce: Option<&'a Announce<'a>>) -> Self {
        let bar = (!quiet && std::io::stderr().is_terminal()).then(|| {
            let style = ProgressStyle::with_template("{bar:40} {pos} of {len} runs  {msg}");
            ProgressBar::new(0).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
        });
        Self { bar, quiet, announce, began: OnceLock::new(), last_line: Mutex::new(now()) }
    }

    /// From the estimated packet-hops of the runs that are done: the longest come first.
    fn message(&self, progress: &sweep::Progress) -> String {
        let share = progress.hops_done as f64 / progress.hops.max(1) as f64;
        let left = self.began.get_or_init(now).elapsed().as_secs_f64() * (1.0 - share) / share.max(1e-6);
        let failed =
            if progress.failed > 0 { format!("{} failed  ", progress.failed) } else { String::new() };
        if share > 0.0 { format!("{failed}{} left", seconds(left)) } else { failed }
    }
}

impl sweep::Watch for SweepDisplay<'_> {
    fn planned(&self, runs: &[Planned]) {
        if let Some(announce) = self.announce {
            announce(runs);
        }
        self.began.get_or_init(now);
    }

    fn update(&self, progress: &sweep::Progress) {
        let message = self.message(progress);
        let mut last_line = self.last_line.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(bar) = &self.bar {
            bar.set_length(progress.points as u64);
            bar.set_position(progress.done as u64);
            bar.set_message(message);
        } else if !self.quiet && last_line.elapsed() >= LINE_EVERY {
            *last_line = now();
            output::note(&format!("{} of {} runs  {message}", progress.done, progress.points));
        }
    }

    fn stopped(&self) -> bool {
        interrupted()
    }
}

impl Drop for SweepDisplay<'_> {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

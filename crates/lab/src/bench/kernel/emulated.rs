//! A run with the kernel's TCP, in an emulation in this process.

use super::cells::{Cell, MESSAGES, Traffic};
use super::farspan::{Farspan, cannot_start, printed};
use super::kept::Numbers;
use super::wait_ms;
use crate::failure::Failure;
use farspan_emu::{FlowsFound, MessagesFound, Name, Session};
use farspan_metrics::{Summary, jain, median};
use farspan_terminal::interrupt::interrupted;
use farspan_world::{World, clock};
use serde::de::DeserializeOwned;
use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

/// The name of the emulation.
const NAME: &str = "bench_kernel";
/// Whether CUBIC ends slow start by HyStart: `1`, as usual, or `0`. It is the whole machine's. A kernel without CUBIC has no such file.
const HYSTART: &str = "/sys/module/tcp_cubic/parameters/hystart";
/// The kernel takes the namespaces of the last emulation away after it is down, which holds processors for as long.
const PAUSE: std::time::Duration = std::time::Duration::from_secs(2);

/// A control that is an eBPF program, in the kernel until this is dropped.
struct Installed<'a> {
    control: &'static str,
    farspan: &'a Farspan,
}

impl<'a> Installed<'a> {
    fn new(control: &'static str, parameters: &[&str], farspan: &'a Farspan) -> Result<Self, Failure> {
        let mut words = vec!["kernel", "install", control];
        words.extend(parameters.iter().flat_map(|parameter| ["--set", parameter]));
        let output = farspan.command(&words).output().map_err(|error| cannot_start(&error))?;
        let code = output.status.code();
        let installed = Self { control, farspan };
        if code == Some(2) {
            // It was refused: what stands there is somebody else's.
            std::mem::forget(installed);
            return Err(printed(output).err().unwrap_or(Failure::Interrupted));
        }
        // One that was killed may have got as far as the kernel.
        printed(output).map(|_| installed)
    }
}

impl Drop for Installed<'_> {
    fn drop(&mut self) {
        // Where it stays, `farspan kernel status` shows it.
        let _ = self.farspan.command(&["kernel", "remove", self.control]).output();
    }
}

/// Removes what an emulation leaves, however a run ends.
struct Clear(Name);

impl Drop for Clear {
    fn drop(&mut self) {
        let _ = farspan_emu::down(&self.0);
    }
}

/// Ends the emulation, however what it is up for ends.
struct End<'a>(&'a AtomicBool);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Whether the control of a cell can be brought into the kernel at all.
pub(super) fn check(cell: &Cell, farspan: &Farspan) -> Result<(), Failure> {
    let control = cell.control;
    if control.name == "cubic" && std::fs::read_to_string(HYSTART).is_ok_and(|text| text.trim() == "0") {
        return Err(Failure::BadInput(format!(
            "CUBIC of this kernel is without HyStart, and that of the comparison has it: echo 1 > {HYSTART}"
        )));
    }
    control
        .parameters
        .map_or(Ok(()), |parameters| Installed::new(control.name, parameters, farspan).map(drop))
}

/// Waits, whoever wakes this thread meanwhile.
fn pause() {
    let began = clock::now();
    while let Some(left) = PAUSE.checked_sub(began.elapsed()).filter(|left| !left.is_zero()) {
        std::thread::park_timeout(left);
    }
}

/// One run: its numbers, and why they do not count, if they do not.
pub(super) fn run(cell: &Cell, seed: u64, farspan: &Farspan) -> Result<(Numbers, Vec<String>), Failure> {
    let resolved = cell.emulated(seed).resolve()?;
    let world = World::idle(&resolved)?;
    let name: Name = NAME.parse()?;
    let (control, parameters) = (cell.control.name, cell.control.parameters);
    let _installed = parameters.map(|parameters| Installed::new(control, parameters, farspan)).transpose()?;
    pause();
    farspan_emu::settle(&name);
    let session = Session::up(&name, &resolved, &world, None)?;
    let clear = Clear(name);
    if !session.facts().has_host_queues {
        // While it holds its lock, nothing of it can be removed.
        drop(session);
        return Err(Failure::BadInput(
            "this kernel has no HTB (sch_htb), so that packets would wait where TCP does not see them: load it, or take another kernel"
                .to_owned(),
        ));
    }
    let is_over = AtomicBool::new(false);
    let (finished, found) = std::thread::scope(|scope| {
        let is_over = &is_over;
        let running = scope
            .spawn(|| session.run(&resolved, &world, || is_over.load(Ordering::Relaxed) || interrupted()));
        let end = End(is_over);
        let found = measure(cell, farspan, &|| !running.is_finished() && !interrupted());
        drop(end);
        (running.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)), found)
    });
    let summary = finished.results.summary.clone();
    // Its lock ends before the rest is removed.
    drop(finished);
    drop(clear);
    if interrupted() {
        return Err(Failure::Interrupted);
    }
    judge(cell, &summary, found)
}

/// The numbers of a run, and why they do not count: those of an emulation that was void do not, whatever programs found.
fn judge(
    cell: &Cell,
    summary: &Summary,
    found: Result<(Numbers, Option<String>), Failure>,
) -> Result<(Numbers, Vec<String>), Failure> {
    let mut reasons = summary.emulation.as_ref().map(|judged| judged.reasons.clone()).unwrap_or_default();
    if !reasons.is_empty() {
        return Ok((Numbers::new(), reasons));
    }
    let (mut numbers, held_back) = found?;
    reasons.extend(held_back);
    if cell.traffic == Traffic::Steady {
        numbers.insert("wait_ms".to_owned(), wait_ms(cell, summary)?);
    }
    Ok((numbers, reasons))
}

/// Runs the programs of a cell; gives its numbers, and whether hosts held a flow back.
fn measure(
    cell: &Cell,
    farspan: &Farspan,
    is_up: &dyn Fn() -> bool,
) -> Result<(Numbers, Option<String>), Failure> {
    let control = cell.control;
    let go_on = || is_up().then_some(()).ok_or_else(|| Failure::Failed("the emulation has ended".to_owned()));
    let mut prepare = vec!["prepare"];
    if control.parameters.is_some() {
        prepare.extend(["--control", control.name]);
    }
    for host in ["0", "1", "2", "3"] {
        go_on()?;
        printed(start(host, &prepare, farspan)?.wait_with_output().map_err(|error| cannot_start(&error))?)?;
    }
    let _sinks = [sink("2", farspan)?, sink("3", farspan)?];
    go_on()?;
    if let Traffic::Completion(size) = cell.traffic {
        let (size, count) = (format!("{}B", size.get()), MESSAGES.to_string());
        let words = ["messages", "10.0.0.3", "--control", control.name, "--size", &size, "--count", &count];
        let found: MessagesFound = found(start("0", &words, farspan)?)?;
        let mut ms = found.ms;
        ms.sort_by(f64::total_cmp);
        expect(control.name, &found.control)?;
        return Ok((Numbers::from([("ms".to_owned(), median(&ms))]), found.held_back));
    }
    let pairs: &[_] = if cell.traffic == Traffic::Share {
        &[("0", "10.0.0.3"), ("1", "10.0.0.4")]
    } else {
        &[("0", "10.0.0.3")]
    };
    let (since, until) = (format!("{}s", cell.since()), format!("{}s", control.seconds));
    let flow = |(host, to): &(&str, &str)| {
        let words = ["flows", to, "--control", control.name, "--since", &since, "--until", &until];
        start(host, &words, farspan)
    };
    let flows = pairs.iter().map(flow).collect::<Result<Vec<_>, _>>()?;
    let found = flows.into_iter().map(found::<FlowsFound>).collect::<Result<Vec<_>, _>>()?;
    found.iter().try_for_each(|flow| expect(control.name, &flow.control))?;
    let held_back = found.iter().find_map(|flow| flow.held_back.clone());
    let rates: Vec<f64> = found.iter().flat_map(|flow| flow.bps.iter().copied()).collect();
    let number = match cell.traffic {
        Traffic::Share => {
            let nothing = || Failure::Failed("nothing of two flows arrived".to_owned());
            ("jain".to_owned(), jain(&rates).ok_or_else(nothing)?)
        }
        _ => ("mbps".to_owned(), rates.iter().sum::<f64>() / 1e6),
    };
    Ok((Numbers::from([number]), held_back))
}

fn expect(wanted: &str, control: &str) -> Result<(), Failure> {
    if wanted == control {
        return Ok(());
    }
    Err(Failure::Failed(format!(
        "the kernel gave flows {control} for {wanted}: the peer may not speak ECN, or the control is not allowed"
    )))
}

/// Starts a program that measures TCP at a host.
fn start(host: &str, words: &[&str], farspan: &Farspan) -> Result<Child, Failure> {
    let mut exec = farspan.command(&["emu", "exec", "--name", NAME, host, "--"]);
    exec.arg(farspan.path()).args(["emu", "tcp"]).args(words);
    exec.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().map_err(|error| cannot_start(&error))
}

/// The numbers of a program.
fn found<T: DeserializeOwned>(program: Child) -> Result<T, Failure> {
    let text = printed(program.wait_with_output().map_err(|error| cannot_start(&error))?)?;
    serde_json::from_slice(&text)
        .map_err(|error| Failure::Failed(format!("a program at a host printed no numbers ({error})")))
}

/// A sink, which ends with this.
struct Sink(Child);

impl Drop for Sink {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts a sink at a host, and waits until it can take connections.
fn sink(host: &str, farspan: &Farspan) -> Result<Sink, Failure> {
    let mut sink = Sink(start(host, &["sink"], farspan)?);
    let mut line = String::new();
    let stdout = sink.0.stdout.take().map(BufReader::new);
    let read = stdout.map(|mut stdout| stdout.read_line(&mut line));
    if line == "ready\n" {
        return Ok(sink);
    }
    let mut message = String::new();
    if let Some(mut stderr) = sink.0.stderr.take() {
        let _ = stderr.read_to_string(&mut message);
    }
    Err(Failure::Failed(format!("no sink at host {host}: {} ({read:?})", message.trim())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_is_one() {
        assert!(NAME.parse::<Name>().is_ok());
    }

    #[test]
    fn a_void_emulation_counts_for_nothing_and_says_why() {
        let cell = &super::super::cells::all()[0];
        let resolved = cell.simulated(1).resolve().unwrap();
        let world = World::build(&resolved).unwrap();
        let mut summary =
            farspan_world::run(&resolved, &world, farspan_world::EngineKind::Windowed, &mut |_| false)
                .summary;
        let found = |held_back: Option<&str>| {
            Ok((Numbers::from([("mbps".to_owned(), 1.0)]), held_back.map(str::to_owned)))
        };
        let reasons = vec!["late".to_owned()];
        summary.emulation =
            Some(farspan_metrics::Emulation { reasons: reasons.clone(), ..Default::default() });
        let broken = Err(Failure::Failed("the emulation has ended".to_owned()));
        assert_eq!(judge(cell, &summary, broken).unwrap(), (Numbers::new(), reasons));
        summary.emulation = None;
        let share =
            super::super::cells::all().into_iter().find(|cell| cell.traffic == Traffic::Share).unwrap();
        assert!(judge(&share, &summary, found(None)).unwrap().1.is_empty());
        assert_eq!(judge(&share, &summary, found(Some("held"))).unwrap().1, ["held"]);
    }
}

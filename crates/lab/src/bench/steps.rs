//! Instructions and time of one of many like steps, be they ACKs or packets.

use crate::failure::Failure;
use farspan_world::clock::now;
use std::io::ErrorKind;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Steps of a long count and of a short one. Their difference is what counts: start-up and first steps are in both.
pub(super) const LONG: usize = 4500;
/// See [`LONG`].
pub(super) const SHORT: usize = 500;
/// How long one thing is timed, at least.
const TIME: Duration = Duration::from_millis(20);
/// Said where instructions are not there.
pub(super) const NO_VALGRIND: &str =
    "instructions are not counted: valgrind is not here (apt-get install valgrind)";

/// Instructions of a step, those of a long count beyond those of a short one; none without valgrind. `fed` says, for a count, what
/// `bench PART --feed` makes a process of this program do.
pub(super) fn instructions_per_step(
    part: &str,
    fed: impl Fn(usize) -> String,
) -> Result<Option<f64>, Failure> {
    let Some(short) = instructions(part, &fed(SHORT))? else { return Ok(None) };
    let Some(long) = instructions(part, &fed(LONG))? else { return Ok(None) };
    Ok(Some((long as f64 - short as f64) / (LONG - SHORT) as f64))
}

/// All instructions of a process of this program, by callgrind.
fn instructions(part: &str, fed: &str) -> Result<Option<u64>, Failure> {
    let fail = |problem: &str| Failure::Failed(format!("{fed}: {problem}"));
    let own = std::env::current_exe().map_err(|error| fail(&error.to_string()))?;
    let mut command = Command::new("valgrind");
    command.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]).arg(own);
    command.args(["bench", part, "--feed", fed]);
    let done = match command.stdin(Stdio::null()).output() {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        done => done.map_err(|error| fail(&error.to_string()))?,
    };
    let said = String::from_utf8_lossy(&done.stderr);
    let count = said.lines().find_map(|line| line.split_once("Collected : ")?.1.trim().parse().ok());
    if !done.status.success() || count.is_none() {
        return Err(fail(&format!("valgrind, {}: {}", done.status, said.trim())));
    }
    Ok(count)
}

/// Passes over [`LONG`] steps, each from a new state that `fresh` makes, until they have taken their time. `pass` gives what it
/// has measured.
pub(super) fn passes<S, T>(repeat: u32, fresh: impl Fn() -> S, mut pass: impl FnMut(S) -> T) -> Vec<T> {
    let (began, mut found) = (now(), Vec::new());
    while began.elapsed() < TIME * repeat || found.is_empty() {
        found.push(pass(fresh()));
    }
    found
}

/// Nanoseconds of a step of the median pass: a pass is short, so that those in which something else had the core do not count.
pub(super) fn ns_per_step<S>(repeat: u32, fresh: impl Fn() -> S, steps: impl Fn(&mut S)) -> f64 {
    let mut times = passes(repeat, fresh, |mut state| {
        let pass = now();
        steps(&mut state);
        pass.elapsed().as_secs_f64() * 1e9 / LONG as f64
    });
    times.sort_by(f64::total_cmp);
    times[(times.len() - 1) / 2]
}

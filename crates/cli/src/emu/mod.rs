//! `farspan emu`: the life of an emulation, from the command line.

mod args;

pub use args::EmuArgs;

use crate::{Failure, Itself, report};
use args::{
    EmuDownArgs, EmuExecArgs, EmuPart, EmuServeArgs, EmuStatusArgs, EmuTcpFlowsArgs, EmuTcpMessagesArgs,
    EmuTcpPart, EmuUdpArgs, EmuUpArgs,
};
use farspan_emu::{
    ChoiceError, DownError, ExecError, Facts, Flows, Messages, Name, NameError, PathTable, Relay, RelayError,
    RelaySummary, Session, State, Status, UpError, check, choose, fits, settle,
};
use farspan_metrics::{Emulation, Lateness, Summary};
use farspan_scenario::{Request, Resolved};
use farspan_terminal::format::{NONE, Table, number, percent, time};
use farspan_terminal::interrupt::{catch_every_interrupt, catch_interrupts, interrupted};
use farspan_terminal::output;
use farspan_units::random::entity;
use farspan_world::runner::{self, Job};
use farspan_world::{ResultFolder, World};
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::fmt::Display;
use std::fs::File;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::PathBuf;
use std::process::{Command, Stdio};

impl From<UpError> for Failure {
    fn from(error: UpError) -> Self {
        match error {
            UpError::Namespace(_) | UpError::Io { .. } => Self::Failed(error.to_string()),
            _ => Self::BadInput(error.to_string()),
        }
    }
}

impl From<NameError> for Failure {
    fn from(error: NameError) -> Self {
        Self::BadInput(error.to_string())
    }
}

impl From<ChoiceError> for Failure {
    fn from(error: ChoiceError) -> Self {
        Self::BadInput(error.to_string())
    }
}

impl From<ExecError> for Failure {
    fn from(error: ExecError) -> Self {
        match error {
            ExecError::NoProgram { .. } => Self::Program(error.to_string(), 127),
            ExecError::NotExecutable { .. } => Self::Program(error.to_string(), 126),
            _ => Self::BadInput(error.to_string()),
        }
    }
}

impl From<RelayError> for Failure {
    fn from(error: RelayError) -> Self {
        match error {
            RelayError::Poll(_) => Self::Failed(error.to_string()),
            _ => Self::BadInput(error.to_string()),
        }
    }
}

impl From<DownError> for Failure {
    fn from(error: DownError) -> Self {
        match error {
            DownError::NotRoot => Self::BadInput(error.to_string()),
            _ => Self::Failed(error.to_string()),
        }
    }
}

/// The shortest round trip, in microseconds, of which 5% are what a thread needs to wake up.
const LEAST_RTT_US: f64 = 2000.0;

/// Does what one of the subcommands asks for.
pub fn emu(args: &EmuArgs, itself: &Itself<'_>) -> Result<(), Failure> {
    match &args.part {
        EmuPart::Up(up) => self::up(up, itself),
        EmuPart::Serve(up) => serve(up),
        EmuPart::Exec(exec) => self::exec(exec),
        EmuPart::Status(status) => self::status(status),
        EmuPart::Down(down) => self::down(down),
        EmuPart::Udp(udp) => self::udp(udp),
        EmuPart::Tcp(part) => tcp(part),
    }
}

/// Measures the kernel's TCP at the host where it runs.
fn tcp(part: &EmuTcpPart) -> Result<(), Failure> {
    let failed = |error: std::io::Error| Failure::Failed(format!("TCP between the hosts: {error}"));
    match part {
        EmuTcpPart::Prepare { control } => farspan_emu::prepare_host(control.as_deref()).map_err(failed),
        EmuTcpPart::Sink => farspan_emu::sink(|| output::text("ready\n")).map_err(failed),
        EmuTcpPart::Flows(args) => {
            let EmuTcpFlowsArgs { to, control, count, start, since, until } = args.clone();
            let flows = Flows { control, to, count, start, since, until };
            farspan_emu::send_flows(&flows).map(|found| output::json(&found)).map_err(failed)
        }
        EmuTcpPart::Messages(args) => {
            let EmuTcpMessagesArgs { to, control, size, count } = args.clone();
            let messages = Messages { control, to, size, count };
            farspan_emu::send_messages(&messages).map(|found| output::json(&found)).map_err(failed)
        }
    }
}

/// The process of an emulation says this when it is up, or cannot be.
#[derive(Serialize, Deserialize)]
enum Said {
    Up(Facts),
    Refused { message: String, code: u8 },
}

fn name(args: &EmuUpArgs) -> Result<Name, Failure> {
    Ok(args.name.as_deref().map(str::parse).transpose()?.unwrap_or_default())
}

/// The network that an emulation is to have.
struct Wanted {
    resolved: Resolved,
    world: World,
    paths: Option<PathTable>,
    /// The fingerprint of all that was read: the process of an emulation reads it anew, and must find the same.
    fingerprint: u64,
}

impl Wanted {
    /// Reads a scenario, whose workload is left out since programs send, and the table of paths, if there is one.
    fn read(args: &EmuUpArgs) -> Result<Self, Failure> {
        let resolved = Request { is_idle: true, ..args.scenario.request(args.seed) }.resolve()?;
        let mut world = World::idle(&resolved)?;
        world.trace(&[], &args.pcap)?;
        fits(&world)?;
        let bad =
            |file: &PathBuf, error: &dyn Display| Failure::BadInput(format!("{}: {error}", file.display()));
        let read = |file: &PathBuf| {
            let text = std::fs::read_to_string(file).map_err(|error| bad(file, &error))?;
            let table = PathTable::read(&text, &world.spec.network, world.spec.seed);
            Ok::<_, Failure>((table.map_err(|error| bad(file, &error))?, text))
        };
        let (paths, text) = args.paths.as_ref().map(read).transpose()?.unzip();
        let fingerprint = entity(&(resolved.to_toml() + &text.unwrap_or_default()));
        Ok(Self { resolved, world, paths, fingerprint })
    }
}

fn up(args: &EmuUpArgs, itself: &Itself<'_>) -> Result<(), Failure> {
    let name = name(args)?;
    // Bad input must show before anything is made.
    let Wanted { world, fingerprint, .. } = Wanted::read(args)?;
    check()?;
    if matches!(farspan_emu::status(&name).state, State::Up | State::ComingUp) {
        return Err(UpError::Up { name }.into());
    }
    // One that was killed may not have closed the files of its results yet.
    settle(&name);
    let facts = start(args, &name, fingerprint, itself).inspect_err(|_| {
        // Nothing is to be left of one that did not come up, unless another command has it.
        if let State::Ended | State::Killed = farspan_emu::status(&name).state
            && let Err(error) = farspan_emu::down(&name)
        {
            output::note(&format!("warning: some of it could not be removed: {error}"));
        }
    })?;
    for warning in &world.warnings {
        output::note(&format!("warning: {warning}"));
    }
    if !facts.is_real_time {
        output::note(
            "warning: the system refuses SCHED_FIFO: the emulation runs at normal priority and will be late more often",
        );
    }
    if !facts.has_host_queues {
        output::note(
            "warning: this kernel has no HTB (sch_htb): packets that a host sends too fast wait where its TCP cannot see \
             them, unlike at a real NIC",
        );
    }
    if facts.shortest_rtt_us < LEAST_RTT_US {
        output::note(&format!(
            "warning: the shortest round trip is {}: 5% of it is less than a thread needs to wake up, so the emulation will be void",
            time(Some(facts.shortest_rtt_us))
        ));
    }
    output::text(&page(&facts));
    Ok(())
}

/// Starts this command anew, as the process of the emulation, and waits until it is up.
fn start(args: &EmuUpArgs, name: &Name, fingerprint: u64, itself: &Itself<'_>) -> Result<Facts, Failure> {
    let log = name.log();
    let io =
        |error: std::io::Error| Failure::Failed(format!("{}: cannot be written ({error})", log.display()));
    let folder = log.parent().map_or(Ok(()), std::fs::create_dir_all);
    let file = folder.and_then(|()| File::create(&log)).map_err(io)?;
    let [first, words @ ..] = itself.words else {
        return Err(Failure::Failed("the path of this program is unknown".to_owned()));
    };
    let mut command = Command::new(first);
    command.args(words).args(["emu", "serve"]).args(arguments(args, name));
    command.args(["--fingerprint", &fingerprint.to_string()]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::from(file));
    let failed =
        |error: std::io::Error| Failure::Failed(format!("the emulation cannot be started ({error})"));
    let mut child = command.spawn().map_err(failed)?;
    let mut line = String::new();
    if let Some(from) = child.stdout.take() {
        BufReader::new(from).read_line(&mut line).map_err(failed)?;
    }
    let said = serde_json::from_str(&line);
    if !matches!(said, Ok(Said::Up(_))) {
        // It has nothing more to do: its end is awaited, so that nothing is left of it.
        let _ = child.wait();
    }
    match said {
        Ok(Said::Up(facts)) => Ok(facts),
        Ok(Said::Refused { message, code: 2 }) => Err(Failure::BadInput(message)),
        Ok(Said::Refused { message, .. }) => Err(Failure::Failed(message)),
        Err(_) => Err(Failure::Failed(format!("the emulation did not start: {}", last_words(name)))),
    }
}

/// Whatever the process of an emulation has said on standard error.
fn last_words(name: &Name) -> String {
    std::fs::read_to_string(name.log()).unwrap_or_default().trim().to_owned()
}

/// The arguments of the process of the emulation.
fn arguments(args: &EmuUpArgs, name: &Name) -> Vec<OsString> {
    let mut words: Vec<OsString> =
        vec![args.scenario.scenario.clone().into(), "--name".into(), name.to_string().into()];
    let mut option = |option: &str, value: OsString| words.extend([OsString::from(option), value]);
    let texts = [("--scheme", &args.scenario.scheme), ("--profile", &args.scenario.profile)];
    texts.into_iter().for_each(|(word, value)| {
        value.iter().for_each(|value| option(word, value.into()));
    });
    args.seed.iter().for_each(|seed| option("--seed", seed.to_string().into()));
    args.scenario.set.iter().for_each(|set| option("--set", set.into()));
    args.out.iter().for_each(|out| option("--out", out.into()));
    args.pcap.iter().for_each(|port| option("--pcap", port.into()));
    args.paths.iter().for_each(|paths| option("--paths", paths.into()));
    if args.force {
        words.push("--force".into());
    }
    words
}

/// The hosts, and what to know of an emulation that has come up.
fn page(facts: &Facts) -> String {
    let mut table = Table::new(["host", "name", "namespace", "IPv4", "IPv6"]);
    for (number, host) in facts.hosts.iter().enumerate() {
        let v6 = host.v6.clone().unwrap_or_else(|| NONE.to_owned());
        table.row([number.to_string(), host.name.clone(), host.namespace.clone(), host.v4.clone(), v6]);
    }
    let Facts { name, scenario, scheme, seed, mtu, .. } = facts;
    let option = if *name == Name::default().to_string() { String::new() } else { format!("--name {name} ") };
    let out = facts.out.as_ref().map_or_else(
        || "results: not kept; give --out DIR to keep them".to_owned(),
        |out| format!("results: `farspan emu down` writes them to {}", out.display()),
    );
    format!(
        "emulation {name} is up: {scenario}, ports of {scheme}, seed {seed}\n\n{}\n\
         MTU {mtu} bytes; the hosts use no offloads: every packet is sent by itself, with its checksums\nthe scenario's \
             workload is ignored: your programs send. Fault times count from now\n{out}\n\
         run a program: farspan emu exec {option}host0 -- PROGRAM\n",
        table.render(&[])
    )
}

/// The process of an emulation: moves packets until it is told to end, and writes the results.
fn serve(args: &EmuServeArgs) -> Result<(), Failure> {
    let (session, resolved, world, folder) = match open(args) {
        Ok(open) => open,
        Err(failure) => {
            let (message, code) = failure.message_and_code();
            say(&Said::Refused { message: message.clone(), code });
            return Err(Failure::Failed(message));
        }
    };
    catch_every_interrupt();
    say(&Said::Up(session.facts().clone()));
    let out = session.facts().out.clone();
    let mut finished = session.run(&resolved, &world, interrupted);
    let summary = &mut finished.results.summary;
    farspan_world::COMMIT.clone_into(&mut summary.commit);
    (summary.wall_time_s, summary.peak_rss_bytes) = (summary.sim_time_s, runner::peak_rss());
    let written = out.as_ref().map_or(Ok(()), |out| {
        finished.results.save(out)?;
        report::beside(out)
    });
    if let Some(folder) = folder.filter(|_| written.is_ok()) {
        folder.finish();
    }
    let unwritten = written.err().map(|failure| failure.message_and_code().0);
    let page = verdict(&finished.results.summary, out.as_ref());
    let left = finished.leave_verdict(page, unwritten);
    left.map_err(|error| Failure::Failed(format!("the verdict cannot be written ({error})")))
}

type Opened = (Session, Resolved, World, Option<ResultFolder>);

fn open(args: &EmuServeArgs) -> Result<Opened, Failure> {
    farspan_emu::detach();
    let EmuServeArgs { up: args, fingerprint: expected } = args;
    let name = name(args)?;
    let Wanted { resolved, world, paths, fingerprint } = Wanted::read(args)?;
    if fingerprint != *expected {
        let problem = "cannot be read twice, or has changed since: save it as a regular file";
        return Err(Failure::BadInput(format!("{}: {problem}", args.scenario.scenario)));
    }
    let absolute = |out: &PathBuf| std::path::absolute(out).unwrap_or_else(|_| out.clone());
    let out = args.out.as_ref().map(absolute);
    let job = Job::new(resolved.clone(), out.clone());
    let folder = out.as_deref().map(|out| runner::open(out, &[job], args.force)).transpose()?;
    let mut session = match Session::up(&name, &resolved, &world, out) {
        Ok(session) => session,
        Err(error) => {
            // Nothing was written there.
            folder.into_iter().for_each(ResultFolder::finish);
            return Err(error.into());
        }
    };
    paths.into_iter().for_each(|paths| session.choose_paths(paths));
    Ok((session, resolved, world, folder))
}

/// Says a line to the command that waits for it. If it is gone, nobody listens.
fn say(said: &Said) {
    let line = serde_json::to_string(said).expect("what is said has a JSON form");
    let _ = writeln!(std::io::stdout(), "{line}");
}

fn exec(args: &EmuExecArgs) -> Result<(), Failure> {
    let name = choose(args.name.as_deref())?;
    Err(farspan_emu::exec(&name, &args.host, &args.command).into())
}

fn status(args: &EmuStatusArgs) -> Result<(), Failure> {
    let names = match &args.name {
        Some(name) => vec![choose(Some(name))?],
        None => Name::known(),
    };
    if names.is_empty() {
        output::text("no emulation is up\n");
    }
    for name in names {
        let Status { state, facts, emulation } = farspan_emu::status(&name);
        match facts.filter(|_| state == State::Up) {
            Some(facts) => output::text(&page(&facts)),
            None => {
                output::text(&format!("the emulation {name} {}\n", state.advice(&name)));
                continue;
            }
        }
        if let Some(state) = emulation {
            let rendered = serde_json::to_string_pretty(&state).expect("a document has a JSON form");
            output::text(&format!("so far: {rendered}\n"));
        }
    }
    Ok(())
}

fn down(args: &EmuDownArgs) -> Result<(), Failure> {
    let name = choose(args.name.as_deref())?;
    let said = last_words(&name);
    let Some(verdict) = farspan_emu::down(&name)? else {
        return Err(Failure::Void(format!(
            "the emulation {name} was killed earlier and has no results; its namespaces and programs are removed {said}"
        )));
    };
    output::text(&verdict.summary);
    if let Some(unwritten) = verdict.unwritten {
        return Err(Failure::Failed(unwritten));
    }
    if verdict.void { Err(Failure::Void(format!("VOID: {}", verdict.reasons.join("; ")))) } else { Ok(()) }
}

/// The verdict on an emulation, as a page of text.
fn verdict(summary: &Summary, out: Option<&PathBuf>) -> String {
    let judged = summary.emulation.clone().unwrap_or_default();
    let Emulation { packets, bound_p99_us, bound_p999_us, .. } = &judged;
    let mut table = Table::new(["late", "count", "p50", "p99", "p99.9", "largest"]);
    let mut row = |name: &str, late: &Lateness| {
        let quantiles = [late.p50_us, late.p99_us, late.p999_us, late.max_us].map(time);
        let [p50, p99, p999, max] = quantiles;
        table.row([name.to_owned(), late.count.to_string(), p50, p99, p999, max]);
    };
    row("read", &judged.read);
    row("release", &judged.release);
    row("excess", &judged.excess);
    let written = out.map_or_else(String::new, |out| format!("results     {}\n", out.display()));
    let lost = packets.dropped + packets.lost;
    let other = packets.ended() - lost;
    format!(
        "{} under {}, {} s; {}\n\n{}\n\
         packets     {} read, {} of switches: {} delivered, {lost} dropped or lost at ports, {other} otherwise, {} under way; {} marked\n\
         unread      {} packets dropped by the kernel\n\
         core        {} of one, {}; {} of the machine stolen by a hypervisor\n\
         stall       {} at most\n\
         bound       excess p99 {}, p99.9 {}; stall {}\n{written}",
        summary.scenario,
        summary.scheme,
        number(Some(summary.sim_time_s)),
        if judged.void { "VOID" } else { "holds" },
        table.render(&[]),
        packets.read,
        packets.answered,
        packets.delivered,
        packets.under_way,
        summary.packets.ecn_marked,
        judged.unread_drops,
        percent(Some(judged.core_share)),
        judged.scheduler,
        percent(judged.steal_share),
        time(Some(judged.stall_us)),
        time(Some(*bound_p99_us)),
        time(Some(*bound_p999_us)),
        time(Some(judged.bound_stall_us)),
    )
}

/// The fates of the datagrams of a relay: the parts add up to the whole.
fn relayed(summary: &RelaySummary, seconds: f64) -> String {
    let RelaySummary { packets, trimmed, late, is_real_time } = summary;
    let lost = packets.dropped + packets.lost;
    let refused = packets.ended() - lost - packets.too_big - trimmed;
    let scheduler = if *is_real_time {
        ""
    } else {
        "; SCHED_FIFO was refused: run as root or with CAP_SYS_NICE to be late less often"
    };
    format!(
        "{} datagrams in {} s: {} delivered, {lost} dropped or lost at ports, {trimmed} trimmed, {} too large, {refused} refused, \
         {} under way; late p50 {}, p99 {}{scheduler}\n",
        packets.sent(),
        number(Some(seconds)),
        packets.delivered,
        packets.too_big,
        packets.under_way,
        time(late.p50_us),
        time(late.p99_us),
    )
}

fn udp(args: &EmuUdpArgs) -> Result<(), Failure> {
    let EmuUdpArgs { listen, onward, from, to, .. } = args;
    let request = Request {
        scheme: args.scheme.clone(),
        seed: args.seed,
        set: args.set.clone(),
        is_idle: true,
        ..Request::new(&args.scenario)
    };
    let world = World::idle(&request.resolve()?)?;
    let to = to.unwrap_or(world.spec.network.hosts.saturating_sub(1));
    let mut relay = Relay::bind(&world.spec, listen, onward, *from, to)?;
    if args.spray {
        relay.spray(world.spec.seed);
    }
    catch_interrupts();
    let address = relay.address().map_or_else(|_| listen.clone(), |address| address.to_string());
    output::text(&format!("{address} -> host {from} -> host {to} -> {onward}; Ctrl-C ends it\n"));
    relay.run(interrupted)?;
    output::text(&relayed(&relay.summary(), relay.elapsed().as_secs_f64()));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use farspan_metrics::EmulatedPackets;

    #[test]
    fn the_line_of_a_relay_adds_up() {
        let packets = EmulatedPackets {
            read: 41,
            delivered: 8,
            dropped: 7,
            lost: 6,
            unrouted: 5,
            expired: 4,
            too_big: 3,
            untrimmable: 2,
            refused: 5,
            under_way: 1,
            ..EmulatedPackets::default()
        };
        assert!(packets.conserved());
        let summary = RelaySummary { packets, trimmed: 2, late: Lateness::default(), is_real_time: false };
        let line = relayed(&summary, 1.5);
        let counts = line.split_once(" s: ").unwrap().1.split_once(';').unwrap().0.split(", ");
        let parts: Vec<u64> = counts.map(|part| part.split_once(' ').unwrap().0.parse().unwrap()).collect();
        assert_eq!(parts, [8, 13, 2, 3, 14, 1]);
        assert_eq!(parts.iter().sum::<u64>(), 41);
        assert!(line.contains("SCHED_FIFO was refused"), "{line}");
        assert!(!relayed(&RelaySummary { is_real_time: true, ..summary }, 1.5).contains("SCHED_FIFO"));
    }
}

//! `farspan kernel`: congestion controls and phantom queues in the kernel, from the command line.

use crate::Failure;
mod args;

pub use args::KernelArgs;

use args::{
    KernelInstallArgs, KernelMarkArgs, KernelPart, KernelRemoveArgs, KernelStatusArgs, KernelUpdateArgs,
};
use farspan_kernel::{
    Attached, Control, InstallError, Installed, MarkError, Missing, Name, NameError, Namespace,
    NamespaceError, PhantomError, PhantomQueue, PortStatus, Refused, RemoveError, Removed, Restored,
    SettingError, Settings, Socket, Status, UnknownControl, UpdateError, Updated,
};
use farspan_terminal::format::{NONE, Table, count, percent, time};
use farspan_terminal::output;
use serde::Serialize;

/// Bad input, whatever is wrong with it.
macro_rules! bad_input {
    ($($error:ty),*) => {
        $(impl From<$error> for Failure {
            fn from(error: $error) -> Self {
                Self::BadInput(error.to_string())
            }
        })*
    };
}

bad_input!(Missing, NameError, PhantomError, SettingError, UnknownControl);

impl From<NamespaceError> for Failure {
    fn from(error: NamespaceError) -> Self {
        match error {
            NamespaceError::Unknown { .. } | NamespaceError::Closed { .. } => {
                Self::BadInput(error.to_string())
            }
            _ => Self::Failed(error.to_string()),
        }
    }
}

impl From<InstallError> for Failure {
    fn from(error: InstallError) -> Self {
        match error {
            InstallError::Missing(_)
            | InstallError::Setting(_)
            | InstallError::Installed { .. }
            | InstallError::Taken { .. } => Self::BadInput(error.to_string()),
            _ => Self::Failed(error.to_string()),
        }
    }
}

impl From<UpdateError> for Failure {
    fn from(error: UpdateError) -> Self {
        match error {
            UpdateError::Missing(_)
            | UpdateError::NotInstalled { .. }
            | UpdateError::Unread { .. }
            | UpdateError::Setting(_) => Self::BadInput(error.to_string()),
            _ => Self::Failed(error.to_string()),
        }
    }
}

impl From<RemoveError> for Failure {
    fn from(error: RemoveError) -> Self {
        match error {
            RemoveError::Missing(_) | RemoveError::NotInstalled { .. } | RemoveError::Foreign { .. } => {
                Self::BadInput(error.to_string())
            }
            _ => Self::Failed(error.to_string()),
        }
    }
}

impl From<MarkError> for Failure {
    fn from(error: MarkError) -> Self {
        match error {
            MarkError::Missing(_)
            | MarkError::NoDevice { .. }
            | MarkError::Foreign { .. }
            | MarkError::Ingress { .. }
            | MarkError::NotMarked { .. } => Self::BadInput(error.to_string()),
            _ => Self::Failed(error.to_string()),
        }
    }
}

/// Does what one of the subcommands asks for.
pub fn kernel(args: &KernelArgs) -> Result<(), Failure> {
    match &args.part {
        KernelPart::Install(install) => self::install(install),
        KernelPart::Status(status) => self::status(status),
        KernelPart::Tune(tune) if tune.set.is_empty() => Err(Failure::BadInput(
            "tune changes parameters: give --set KEY=VALUE; `replace` changes only the program".to_owned(),
        )),
        KernelPart::Tune(tune) => update(tune, farspan_kernel::tune),
        KernelPart::Replace(replace) => update(replace, farspan_kernel::replace),
        KernelPart::Remove(remove) => self::remove(remove),
        KernelPart::Mark(mark) => self::mark(mark),
    }
}

fn namespace(name: Option<&String>) -> Result<Option<Namespace>, NamespaceError> {
    name.map(|name| Namespace::named(name)).transpose()
}

fn install(args: &KernelInstallArgs) -> Result<(), Failure> {
    let control: Control = args.control.parse()?;
    let name = args.name.as_deref().map(str::parse::<Name>).transpose()?;
    let name = name.map_or_else(|| Ok(Name::from(control)), Name::unreserved)?;
    let settings = Settings::parse(control, &args.set)?;
    farspan_kernel::check()?;
    let namespace = namespace(args.netns.as_ref())?;
    let installed = farspan_kernel::install(control, &name, &settings, namespace.as_ref())?;
    output::text(&format!(
        "{}{}",
        in_force(&name, &installed),
        how_to_use(control, &name, namespace.as_ref())
    ));
    Ok(())
}

fn in_force(name: &Name, installed: &Installed) -> String {
    let settings = installed.settings.as_ref().map_or_else(|| "unknown".to_owned(), ToString::to_string);
    format!("{name} is in the kernel: map {}\nparameters: {settings}\n", installed.map)
}

fn how_to_use(control: Control, name: &Name, namespace: Option<&Namespace>) -> String {
    let named = if control.as_str() == name.as_str() { String::new() } else { format!(" --as {name}") };
    match namespace {
        Some(namespace) => format!(
            "{namespace}: new connections get {name}, and tcp_ecn is 1\na sender sees marks only if its peer also has the \
             control and tcp_ecn=1: install it there too\n"
        ),
        None => format!(
            "nothing uses it yet. It can be the control of\n  \
             a namespace    farspan kernel install {control}{named} --netns N\n  \
             a destination  ip route change 10.0.0.0/8 via ... congctl {name}\n  \
             a socket       setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, \"{name}\")\n\
             for a destination or a socket, also set net.ipv4.tcp_ecn=1 at both ends, and set the control on the peer's\nlistener before it listens. Otherwise ECN is not negotiated\n"
        ),
    }
}

type Update = fn(&Name, &[String], Option<&Namespace>) -> Result<Updated, UpdateError>;

fn update(args: &KernelUpdateArgs, update: Update) -> Result<(), Failure> {
    let name: Name = args.name.parse()?;
    farspan_kernel::check()?;
    let namespace = namespace(args.netns.as_ref())?;
    let Updated { installed, defaults, failed, sockets, unseen, .. } =
        update(&name, &args.set, namespace.as_ref())?;
    let mut text = in_force(&name, &installed);
    for namespace in defaults {
        text += &format!("{namespace}: new connections get the new program\n");
    }
    text += &kept(&sockets);
    output::text(&text);
    unseen.iter().for_each(|error| output::note(&error.to_string()));
    all_done(&failed.iter().map(ToString::to_string).collect::<Vec<_>>())
}

/// One failure of all that could not be done, if there is any.
fn all_done(failures: &[String]) -> Result<(), Failure> {
    if failures.is_empty() { Ok(()) } else { Err(Failure::Failed(failures.join("\n"))) }
}

/// Sockets that keep the program that they have.
fn kept(sockets: &[Socket]) -> String {
    if sockets.is_empty() {
        return String::new();
    }
    format!("these connections keep their old program until they close:\n{}", table(sockets))
}

fn table(sockets: &[Socket]) -> String {
    let mut table =
        Table::new(["socket", "peer", "where", "state", "process", "window", "RTT", "delivered", "marked"]);
    let whole = |value: Option<u64>| count(value.map(|value| value as f64));
    for socket in sockets {
        let delivered = socket.delivered.filter(|delivered| *delivered > 0);
        let share = delivered.map(|all| socket.delivered_ce.unwrap_or(0) as f64 / all as f64);
        table.row([
            socket.local.clone(),
            socket.peer.clone(),
            socket.namespace.clone(),
            socket.state.clone(),
            socket.process.clone().unwrap_or_else(|| NONE.to_owned()),
            whole(socket.cwnd),
            time(socket.rtt_us),
            whole(socket.delivered),
            percent(share),
        ]);
    }
    table.render(&[1, 2, 3, 4])
}

fn remove(args: &KernelRemoveArgs) -> Result<(), Failure> {
    let name: Name = args.name.parse()?;
    farspan_kernel::check()?;
    let namespace = namespace(args.netns.as_ref())?;
    let Removed { defaults, sockets, unseen, maps, .. } = farspan_kernel::remove(&name, namespace.as_ref())?;
    let (mut text, mut failures) = (String::new(), Vec::new());
    for restored in defaults {
        match restored {
            Restored::Done { namespace, default, instead_of, ecn_stays } => {
                text += &format!("{namespace}: new connections get {default}");
                text += &instead_of.map_or_else(
                    || " again\n".to_owned(),
                    |Refused { default, source }| {
                        format!(
                            "; its old default {default} was refused ({source}; net.ipv4.tcp_allowed_congestion_control \
                             lists the allowed ones)\n"
                        )
                    },
                );
                if ecn_stays {
                    text += &format!("{namespace}: tcp_ecn stays 1, because its old value is not known\n");
                }
            }
            Restored::Failed { source } => failures.push(source.to_string()),
            _ => {}
        }
    }
    if namespace.is_none() {
        text += &format!("{name} is not in force any more\n{}", kept(&sockets));
        for (map, holders) in maps {
            text +=
                &format!("map {map} is still in the kernel: about {holders} sockets or defaults hold it\n");
        }
    }
    output::text(&text);
    unseen.iter().for_each(|error| output::note(&error.to_string()));
    all_done(&failures)
}

/// All that `status` shows.
#[derive(Serialize)]
struct Shown {
    controls: Vec<Status>,
    ports: Vec<PortStatus>,
}

fn status(args: &KernelStatusArgs) -> Result<(), Failure> {
    let name: Option<Name> = args.name.as_deref().map(str::parse).transpose()?;
    let chosen = namespace(args.netns.as_ref())?;
    let controls = farspan_kernel::status(name.as_ref(), chosen.as_ref())?;
    let ports = match (&name, chosen) {
        (Some(_), _) => Vec::new(),
        (None, Some(chosen)) => farspan_kernel::marked(None, &chosen)?,
        (None, None) => {
            let own = Namespace::current();
            own.map_or(Ok(Vec::new()), |own| farspan_kernel::marked(None, &own))?
        }
    };
    if args.json {
        output::json(&Shown { controls, ports });
        return Ok(());
    }
    let mut text: String = controls.iter().map(page).collect();
    text += &ports_page(&ports);
    if text.is_empty() {
        text = "farspan has no control in the kernel, and no port of this namespace has a phantom queue\n"
            .to_owned();
    }
    output::text(&text);
    Ok(())
}

fn page(status: &Status) -> String {
    let name = &status.name;
    let behind = status.control.as_ref().filter(|control| *control != name);
    let mut text = match (status.installed, status.registered) {
        (true, _) => format!("{name}: installed"),
        (false, true) => format!("{name}: registered, but not by `farspan kernel install`"),
        (false, false) if status.programs.is_empty() => format!("{name}: not in the kernel"),
        (false, false) => format!("{name}: removed; something still holds its program"),
    };
    text += &behind.map_or_else(String::new, |control| format!(" ({control})"));
    text.push('\n');
    for program in &status.programs {
        let state = if program.in_force { "new connections get it" } else { "left over" };
        let settings = program.settings.as_ref();
        let settings = settings.map_or_else(|| "unknown parameters".to_owned(), |all| all.join(" "));
        let other = program.control.as_ref().filter(|control| Some(*control) != status.control.as_ref());
        let other = other.map_or_else(String::new, |control| format!(" ({control})"));
        let (map, holders) = (program.map, program.holders);
        text += &format!("  map {map}{other}: {state}; held by about {holders}; {settings}\n");
    }
    if !status.defaults.is_empty() {
        text += &format!("  default of: {}\n", status.defaults.join(", "));
    }
    for unseen in &status.unseen {
        text += &format!("  not seen: {unseen}\n");
    }
    if !status.sockets.is_empty() {
        text += &table(&status.sockets);
    }
    text
}

fn ports_page(ports: &[PortStatus]) -> String {
    if ports.is_empty() {
        return String::new();
    }
    let mut table = Table::new([
        "port", "drain", "k-min", "k-max", "level", "packets", "segments", "bytes", "not ECT", "marked",
    ]);
    let whole = |value: u64| count(Some(value as f64));
    for port in ports {
        let numbers =
            [port.k_min_bytes, port.k_max_bytes, port.level_bytes, port.packets, port.segments, port.bytes];
        let drain = farspan_terminal::format::bits_per_second(Some(port.drain_bps as f64));
        let mut row = vec![port.device.clone(), drain];
        row.extend(numbers.map(whole));
        row.extend([whole(port.not_ect), whole(port.marked)]);
        table.row(row);
    }
    table.render(&[])
}

fn mark(args: &KernelMarkArgs) -> Result<(), Failure> {
    let queue = args.rate.map(|rate| PhantomQueue::new(rate, args.drain, args.k_min.zip(args.k_max)));
    let queue = queue.transpose()?;
    let chosen = namespace(args.netns.as_ref())?;
    let current = || Namespace::current().map_err(|error| Failure::Failed(format!("/proc: {error}")));
    let place = chosen.map_or_else(current, Ok)?;
    let Some(queue) = queue else {
        if args.remove {
            farspan_kernel::unmark(&args.dev, &place)?;
            output::text(&format!("{}: phantom queue removed\n", args.dev));
            return Ok(());
        }
        let ports = farspan_kernel::marked(Some(&args.dev), &place)?;
        if args.json {
            output::json(&ports);
        } else {
            output::text(&ports_page(&ports));
        }
        return Ok(());
    };
    let attached = farspan_kernel::mark(&args.dev, &queue, &place)?;
    let [size, k_min, k_max] =
        [queue.size(), queue.k_min(), queue.k_max()].map(|bytes| bytes.get().to_string());
    output::text(&format!(
        "{}: {} that drains at {}; marks from {k_min} to {k_max} bytes, and holds {size} at most\n\
         a super-packet (GSO) counts all its bytes and gets one mark; `ip link set dev {} gso_max_segs 1` turns super-packets off\n",
        args.dev,
        match attached {
            Attached::New => "a phantom queue",
            Attached::Replaced => "a new phantom queue, in place of the old one,",
        },
        farspan_terminal::format::bits_per_second(Some(queue.drain().as_bps() as f64)),
        args.dev,
    ));
    Ok(())
}

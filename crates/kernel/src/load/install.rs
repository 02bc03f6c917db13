//! The life of a control: installed, replaced, removed.

use super::instance::{Instance, linked};
use super::netns::{Namespace, NamespaceError};
use super::object::{LoadError, Opened, listened};
use super::pin::{BPFFS, Pins, lock};
use super::requirements::{Missing, check};
use super::restore::{Restored, ours, restore, take, tidy};
use super::sockets::{Socket, SocketsError};
use super::sys::update_link;
use crate::{Control, Name, SettingError, Settings};
use libbpf_rs::{ErrorKind, Link, MapCore as _, MapType, Object};
use std::os::fd::AsFd as _;
use std::time::Duration;
use std::{fs, io};

/// Congestion controls that Linux has now.
const AVAILABLE: &str = "/proc/sys/net/ipv4/tcp_available_congestion_control";
/// The kernel takes a control away after the link is gone, in its own time.
const LOOKS: u32 = 200;
const BETWEEN_LOOKS: Duration = Duration::from_millis(10);

/// A control that has come to be installed.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Installed {
    /// The id of the map of its operations; 0: it cannot be read.
    pub map: u32,
    /// Its parameters, all of them; `None`: they cannot be read.
    pub settings: Option<Settings>,
}

/// Why a control was not installed. Nothing of it is left then, unless it was there before.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InstallError {
    /// The machine cannot.
    #[error(transparent)]
    Missing(#[from] Missing),
    /// It is installed.
    #[error(
        "{name} is already installed: `farspan kernel tune {name} --set ...` changes its parameters, `replace {name}` its \
         program, and `remove {name}` uninstalls it; to install a second one, give it a name with --as"
    )]
    Installed {
        /// The name.
        name: Name,
    },
    /// Another control has the name.
    #[error(
        "the kernel already has a congestion control {name} that farspan did not install: `farspan kernel status {name}` \
         shows its owner; give yours another name with --as"
    )]
    Taken {
        /// The name.
        name: Name,
    },
    /// A setting is refused.
    #[error(transparent)]
    Setting(#[from] SettingError),
    /// The kernel refuses the program.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The kernel does not register it.
    #[error(
        "the kernel refuses to register {name}: {source}; `bpftool struct_ops` lists what is registered\n{log}"
    )]
    Register {
        /// The name.
        name: Name,
        /// The error of the operating system.
        source: libbpf_rs::Error,
        /// The words of the library that loads.
        log: String,
    },
    /// The BPF file system does not take it.
    #[error("{BPFFS}: {name} cannot be kept there ({source})")]
    Pin {
        /// The name.
        name: Name,
        /// The error of the operating system.
        source: io::Error,
    },
    /// It cannot be the default of the namespace.
    #[error(transparent)]
    Namespace(#[from] NamespaceError),
}

/// Why a control was not replaced.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum UpdateError {
    /// The machine cannot.
    #[error(transparent)]
    Missing(#[from] Missing),
    /// It is not installed.
    #[error(
        "{name} is not installed: install it with `farspan kernel install`; `farspan kernel status` lists installed controls"
    )]
    NotInstalled {
        /// The name.
        name: Name,
    },
    /// A setting is refused.
    #[error(transparent)]
    Setting(#[from] SettingError),
    /// The kernel refuses the program.
    #[error("{0}\nthe old program stays in use")]
    Load(#[from] LoadError),
    /// Parameters of the program that is there cannot be read, so that they cannot be kept.
    #[error(
        "the current parameters of {name} cannot be read: set all of them again with `farspan kernel replace {name} --set ...`"
    )]
    Unread {
        /// The name.
        name: Name,
    },
    /// The kernel does not put it in place.
    #[error(
        "the kernel refuses to replace {name}, whose old program stays in use: {source}; `farspan kernel status {name}` shows it"
    )]
    Refused {
        /// The name.
        name: Name,
        /// The error of the operating system.
        source: io::Error,
    },
}

/// Why a control was not removed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RemoveError {
    /// The machine cannot.
    #[error(transparent)]
    Missing(#[from] Missing),
    /// It is not installed.
    #[error("{name} is not installed: `farspan kernel status` lists installed controls")]
    NotInstalled {
        /// The name.
        name: Name,
    },
    /// Somebody else registered it.
    #[error(
        "{name} is registered, but farspan did not install it: only its owner can remove it (`bpftool struct_ops show`)"
    )]
    Foreign {
        /// The name.
        name: Name,
    },
    /// Its pins cannot be removed.
    #[error("{BPFFS}: the pin of {name} cannot be removed ({source})")]
    Pin {
        /// The name.
        name: Name,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The kernel still has it.
    #[error("{name} is still registered: another process holds its link; `bpftool link` shows it")]
    Held {
        /// The name.
        name: Name,
    },
}

/// A control whose program was replaced.
#[derive(Debug)]
#[non_exhaustive]
pub struct Updated {
    /// The control as it is now.
    pub installed: Installed,
    /// Namespaces whose default has moved to the new program.
    pub defaults: Vec<String>,
    /// Namespaces whose default could not be moved: new connections there get the old program.
    pub failed: Vec<NamespaceError>,
    /// Sockets that were opened before, and keep the old program until they close.
    pub sockets: Vec<Socket>,
    /// Namespaces whose sockets could not be listed, and why.
    pub unseen: Vec<SocketsError>,
}

/// A control that was removed.
#[derive(Debug)]
#[non_exhaustive]
pub struct Removed {
    /// Namespaces whose default it was.
    pub defaults: Vec<Restored>,
    /// Sockets that hold its program until they close.
    pub sockets: Vec<Socket>,
    /// Namespaces whose sockets could not be listed, and why.
    pub unseen: Vec<SocketsError>,
    /// Maps of its programs that are still in the kernel, with how much holds each.
    pub maps: Vec<(u32, u32)>,
}

/// The object of a control, as clang made it.
const fn object(control: Control) -> &'static [u8] {
    match control {
        Control::Gemini => include_bytes!(concat!(env!("OUT_DIR"), "/gemini.bpf.o")),
        Control::Unocc => include_bytes!(concat!(env!("OUT_DIR"), "/unocc.bpf.o")),
        Control::Fixed => include_bytes!(concat!(env!("OUT_DIR"), "/fixed.bpf.o")),
    }
}

/// Brings a control into the kernel under a name: it is checked, and not registered yet.
fn load<E>(control: Control, name: &Name, settings: &Settings) -> Result<Object, E>
where
    E: From<LoadError> + From<SettingError>,
{
    let mut opened = Opened::new(control.as_str(), object(control))?;
    opened.set(settings.iter().map(|(parameter, raw)| (parameter.variable, raw)))?;
    settings.check(control, |parameter| opened.value(parameter.variable))?;
    opened.rename(name.as_str())?;
    Ok(opened.load()?)
}

/// Registers what was loaded.
fn register(object: &mut Object) -> libbpf_rs::Result<Link> {
    let operations = object.maps_mut().find(|map| map.map_type() == MapType::StructOps);
    operations.ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?.attach_struct_ops()
}

/// Whether Linux has a control of this name, whoever registered it.
pub(super) fn is_available(name: &Name) -> bool {
    let all = fs::read_to_string(AVAILABLE).unwrap_or_default();
    all.split_ascii_whitespace().any(|found| found == name.as_str())
}

/// The program in force of a control that is installed.
fn in_force(pins: &Pins, name: &Name) -> Option<Instance> {
    let map = linked(&pins.link())?;
    Instance::of(name).into_iter().find(|instance| instance.map == map)
}

impl Installed {
    fn read(pins: &Pins, name: &Name) -> Option<Self> {
        let Instance { map, settings, .. } = in_force(pins, name)?;
        Some(Self { map, settings })
    }
}

/// Installs a control under a name, and makes it the default of a namespace if one is given.
///
/// It stays until [`remove`]: a pin in the BPF file system keeps it registered, and no process has to live. If it is installed already
/// and nothing is set, it becomes the default of the namespace.
///
/// # Errors
/// If the machine cannot, the name is taken, or the kernel refuses the program.
pub fn install(
    control: Control,
    name: &Name,
    settings: &Settings,
    namespace: Option<&Namespace>,
) -> Result<Installed, InstallError> {
    check()?;
    let _alone = lock().map_err(|source| InstallError::Pin { name: name.clone(), source })?;
    let pins = Pins::of(name);
    if let Some(Instance { control: found, map, settings: held, .. }) = in_force(&pins, name) {
        let namespace = namespace.filter(|_| settings.is_empty() && found == Some(control));
        let namespace = namespace.ok_or_else(|| InstallError::Installed { name: name.clone() })?;
        take(name, namespace)?;
        return Ok(Installed { map, settings: held });
    }
    if is_available(name) {
        return Err(InstallError::Taken { name: name.clone() });
    }
    let mut object: Object = load::<InstallError>(control, name, settings)?;
    let pin = |source| InstallError::Pin { name: name.clone(), source };
    pins.create().map_err(pin)?;
    let (link, log) = listened(|| register(&mut object));
    let kept = match link {
        Ok(mut link) => link.pin(pins.link()).map_err(|error| pin(io::Error::other(error))),
        Err(source) => Err(InstallError::Register { name: name.clone(), source, log }),
    };
    // The pin holds it from here on. What could not be kept leaves nothing.
    let leave_nothing = |_: &InstallError| drop(pins.remove().and_then(|()| tidy(None)));
    let taken = kept.and_then(|()| Ok(namespace.map(|namespace| take(name, namespace)).transpose()?));
    let taken = taken.inspect_err(leave_nothing)?;
    let installed = Installed::read(&pins, name).ok_or_else(|| pin(io::ErrorKind::NotFound.into()));
    installed.inspect_err(|error| {
        if let Some((taken, namespace)) = taken.zip(namespace) {
            taken.undo(namespace);
        }
        leave_nothing(error);
    })
}

/// Changes parameters of an installed control, and keeps the others: the program of this build takes the place of the one that is
/// there. Connections that are open keep theirs.
///
/// # Errors
/// If it is not installed, or the kernel refuses; what was there goes on then.
pub fn tune(name: &Name, texts: &[String], namespace: Option<&Namespace>) -> Result<Updated, UpdateError> {
    update(name, texts, true, namespace)
}

/// Puts the program of this build in the place of the one that is installed, with its own defaults beside what is set. Connections
/// that are open keep the old one.
///
/// # Errors
/// If it is not installed, or the kernel refuses; what was there goes on then.
pub fn replace(name: &Name, texts: &[String], namespace: Option<&Namespace>) -> Result<Updated, UpdateError> {
    update(name, texts, false, namespace)
}

fn update(
    name: &Name,
    texts: &[String],
    keeps: bool,
    namespace: Option<&Namespace>,
) -> Result<Updated, UpdateError> {
    check()?;
    let _alone = lock().map_err(|source| UpdateError::Refused { name: name.clone(), source })?;
    let pins = Pins::of(name);
    let not_installed = || UpdateError::NotInstalled { name: name.clone() };
    let before = in_force(&pins, name).ok_or_else(not_installed)?;
    let control = before.control.ok_or_else(not_installed)?;
    let mut settings = Settings::parse(control, texts)?;
    if keeps {
        let held = before.settings.ok_or_else(|| UpdateError::Unread { name: name.clone() })?;
        settings = settings.or(control, |parameter| held.get(parameter.key));
    }
    let mut object: Object = load::<UpdateError>(control, name, &settings)?;
    let (sockets, unseen) = sockets(name);
    swap(&pins, name, &mut object)?;
    let (defaults, mut failed) = move_defaults(name);
    if let Some(namespace) = namespace {
        failed.extend(take(name, namespace).err());
    }
    // The new program is in force, whatever can be read of it.
    let installed = Installed::read(&pins, name).unwrap_or(Installed { map: 0, settings: None });
    Ok(Updated { installed, defaults, failed, sockets, unseen })
}

/// Moves the defaults of namespaces, which a link's update leaves on the old program; gives those that could not be moved, too.
fn move_defaults(name: &Name) -> (Vec<String>, Vec<NamespaceError>) {
    let (mut moved, mut failed) = (Vec::new(), Vec::new());
    for place in Namespace::all() {
        match place.default_control() {
            Ok(default) if default == name.as_str() => {}
            Ok(_) => continue,
            Err(error) => {
                failed.push(error);
                continue;
            }
        }
        match place.set_default_control(name.as_str()) {
            Ok(()) => moved.push(place.to_string()),
            Err(source) => failed.push(place.failed("its default stays on the old program")(source)),
        }
    }
    (moved, failed)
}

/// Puts what was loaded in the place of what the pinned link holds.
fn swap(pins: &Pins, name: &Name, object: &mut Object) -> Result<(), UpdateError> {
    let refused = |source| UpdateError::Refused { name: name.clone(), source };
    // Attaching fills the map and makes it ready; registering it then fails, since the name is there, and that is meant.
    match listened(|| register(object)).0 {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
        Err(error) => return Err(refused(io::Error::other(error))),
        // The one that was there is gone: this one takes its place by a pin of its own.
        Ok(mut link) => {
            let pinned = pins.create().map_err(refused).map(|()| link.pin(pins.link()));
            return pinned?.map_err(|error| refused(io::Error::other(error)));
        }
    }
    let link = Link::open(pins.link()).map_err(|error| refused(io::Error::other(error)))?;
    let operations = object.maps().find(|map| map.map_type() == MapType::StructOps);
    let operations = operations.ok_or_else(|| refused(io::ErrorKind::NotFound.into()))?;
    update_link(link.as_fd(), operations.as_fd()).map_err(refused)
}

/// The sockets of a control in all known namespaces, and why they could not be listed in some.
fn sockets(name: &Name) -> (Vec<Socket>, Vec<SocketsError>) {
    let (mut sockets, mut unseen) = (Vec::new(), Vec::new());
    for namespace in Namespace::all() {
        match Socket::of(name, &namespace) {
            Ok(found) => sockets.extend(found),
            Err(error) => unseen.push(error),
        }
    }
    (sockets, unseen)
}

/// Takes a control away: sets the defaults of namespaces back first, then unregisters it. Its open connections go on until they
/// close. With a namespace, only that one's default is set back.
///
/// # Errors
/// If it is not installed, or its pins cannot be removed.
pub fn remove(name: &Name, namespace: Option<&Namespace>) -> Result<Removed, RemoveError> {
    check()?;
    let _alone = lock().map_err(|source| RemoveError::Pin { name: name.clone(), source })?;
    let pins = Pins::of(name);
    let (ours, all) = (ours(), namespace.map_or_else(Namespace::all, |namespace| vec![namespace.clone()]));
    if !pins.is_there() {
        let pin = |source| RemoveError::Pin { name: name.clone(), source };
        // Pins may be gone, with the file system that had them, and namespaces still have what they held. What is registered without one
        // is somebody else's.
        if ours.contains(name) && is_available(name) {
            return Err(RemoveError::Foreign { name: name.clone() });
        }
        let has_it =
            |place: &Namespace| place.default_control().is_ok_and(|default| default == name.as_str());
        if !ours.contains(name) || !all.iter().any(has_it) {
            tidy(None).map_err(pin)?;
            return Err(RemoveError::NotInstalled { name: name.clone() });
        }
    }
    let defaults = all.iter().filter_map(|namespace| restore(name, namespace, &ours)).collect();
    if namespace.is_none() {
        let pin = |source| RemoveError::Pin { name: name.clone(), source };
        // Another process may hold the link: the kernel takes the control from it. Older kernels do not know how.
        if let Ok(link) = Link::open(pins.link()) {
            let _ = link.detach();
        }
        tidy(Some(name)).and_then(|()| pins.remove()).map_err(pin)?;
        let is_gone = (0..LOOKS).any(|look| {
            if look > 0 {
                std::thread::park_timeout(BETWEEN_LOOKS);
            }
            !is_available(name)
        });
        if !is_gone {
            return Err(RemoveError::Held { name: name.clone() });
        }
    }
    let maps = Instance::of(name).into_iter().map(|instance| (instance.map, instance.holders)).collect();
    let (sockets, unseen) = sockets(name);
    Ok(Removed { defaults, sockets, unseen, maps })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The page's table of a control's parameters.
    fn table(control: Control) -> String {
        let opened = Opened::new(control.as_str(), object(control)).unwrap();
        let mut table = format!("| {control} | values | default | |\n|---|---|---|---|\n");
        for parameter in control.parameters() {
            let (key, about) = (parameter.key, parameter.about);
            let default = opened.value(parameter.variable).expect(key);
            assert!((parameter.least..=parameter.most).contains(&default), "{control}: {key}={default}");
            let text = parameter.unit.show(default);
            assert_eq!(parameter.unit.read(&text), Some(default), "{control}: {key}={text}");
            table += &format!("| {key} | {} | {text} | {about} |\n", parameter.bounds());
        }
        table
    }

    #[test]
    fn parameters_are_variables_of_the_programs_with_defaults_within_bounds_as_the_page_has_them() {
        let page = include_str!("../../../../docs/src/kernel.md");
        for control in Control::ALL {
            let table = table(*control);
            assert!(page.contains(&table), "docs/src/kernel.md: the table of {control} is\n{table}");
        }
    }
}

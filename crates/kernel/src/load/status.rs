//! A look at what is in the kernel.

use super::install::is_available;
use super::instance::{Instance, linked};
use super::netns::Namespace;
use super::pin::Pins;
use super::requirements::{Missing, root};
use super::sockets::Socket;
use crate::{Name, Settings};
use serde::Serialize;

/// A control in the kernel, or what is left of one.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[non_exhaustive]
pub struct Status {
    /// Its name in the kernel.
    pub name: String,
    /// The control behind the name: of the program in force, or where none is, of one that is left.
    pub control: Option<String>,
    /// Whether it is installed: a pin keeps it registered.
    pub installed: bool,
    /// Whether new connections can get it: also where another program has registered it.
    pub registered: bool,
    /// Its programs, by the id of the map that holds the operations: the one in force, and older ones that something still holds.
    pub programs: Vec<Program>,
    /// Namespaces in which new connections get it.
    pub defaults: Vec<String>,
    /// Sockets that have it.
    pub sockets: Vec<Socket>,
    /// Namespaces that could not be looked at, and why.
    pub unseen: Vec<String>,
}

/// A program of a control.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[non_exhaustive]
pub struct Program {
    /// The id of the map of its operations, as `bpftool map` shows it.
    pub map: u32,
    /// The control that it was made from, if it is one of farspan's: a name may have had another before.
    pub control: Option<String>,
    /// Whether it is the one that new connections get.
    pub in_force: bool,
    /// How much holds it, at about: its link, sockets, defaults of namespaces.
    pub holders: u32,
    /// Its parameters, as `--set` takes them; `None`: they cannot be read.
    pub settings: Option<Vec<String>>,
}

/// Looks at one control in the kernel, or at all that are there; at its defaults and sockets in one namespace, or in all that are known.
///
/// It goes by the ids of maps, and needs no pins: what a killed loader or a removed control has left shows too.
///
/// # Errors
/// If the process may not look.
pub fn status(name: Option<&Name>, namespace: Option<&Namespace>) -> Result<Vec<Status>, Missing> {
    root()?;
    let all = Instance::all();
    let mut names: Vec<Name> = match name {
        Some(name) => vec![name.clone()],
        None => {
            let ours = all.iter().filter(|(_, instance)| instance.control.is_some());
            ours.map(|(name, _)| name.clone()).chain(Pins::names()).collect()
        }
    };
    names.sort();
    names.dedup();
    let namespaces = namespace.map_or_else(Namespace::all, |namespace| vec![namespace.clone()]);
    Ok(names.iter().map(|name| of(name, &all, &namespaces)).collect())
}

fn of(name: &Name, all: &[(Name, Instance)], namespaces: &[Namespace]) -> Status {
    let linked = linked(&Pins::of(name).link());
    let instances: Vec<_> =
        all.iter().filter(|(found, _)| found == name).map(|(_, instance)| instance).collect();
    let program = |instance: &&Instance| Program {
        map: instance.map,
        control: instance.control.map(|control| control.to_string()),
        in_force: linked == Some(instance.map),
        holders: instance.holders,
        settings: instance.settings.as_ref().map(Settings::texts),
    };
    let programs: Vec<_> = instances.iter().map(program).collect();
    let in_force = programs.iter().find(|program| program.in_force);
    let control = match in_force {
        Some(program) => program.control.clone(),
        None => programs.iter().find_map(|program| program.control.clone()),
    };
    let (mut defaults, mut sockets, mut unseen) = (Vec::new(), Vec::new(), Vec::new());
    for namespace in namespaces {
        match namespace.default_control() {
            Ok(default) if default == name.as_str() => defaults.push(namespace.to_string()),
            Ok(_) => {}
            Err(error) => unseen.push(error.to_string()),
        }
        match Socket::of(name, namespace) {
            Ok(found) => sockets.extend(found),
            Err(error) => unseen.push(error.to_string()),
        }
    }
    Status {
        name: name.to_string(),
        control,
        installed: linked.is_some(),
        registered: is_available(name),
        programs,
        defaults,
        sockets,
        unseen,
    }
}

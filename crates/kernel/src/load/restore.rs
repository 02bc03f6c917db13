//! Setting the defaults of namespaces back.

use super::netns::{Namespace, NamespaceError};
use super::pin::{Before, Pins};
use crate::Name;

/// A namespace's default after it was set back, or not.
#[derive(Debug)]
#[non_exhaustive]
pub enum Restored {
    /// It has another default now.
    Done {
        /// The namespace.
        namespace: String,
        /// Its default now.
        default: String,
        /// Its default before, if that could not be set: Linux lets namespaces have no restricted control.
        instead_of: Option<String>,
    },
    /// It could not be set back.
    Failed {
        /// Why not.
        source: NamespaceError,
    },
}

/// Every system has it, and lets each namespace have it.
const ALWAYS: &str = "reno";

/// Makes a control the default of a namespace, and ECN with it; keeps what was there.
pub(super) fn take(pins: &Pins, name: &Name, namespace: &Namespace) -> Result<(), NamespaceError> {
    let before = Before { default: namespace.default_control()?, ecn: namespace.ecn()? };
    if before.default != name.as_str() {
        let kept = pins.keep(namespace.id(), &before).map_err(std::io::Error::other);
        kept.map_err(namespace.failed("what it had cannot be kept"))?;
    }
    let set = namespace.set_default_control(name.as_str());
    set.map_err(namespace.failed("its default congestion control cannot be set"))?;
    let set = namespace.set_ecn(1).map_err(namespace.failed("tcp_ecn cannot be set"));
    // Half of it would be neither what it had nor what was asked for.
    set.inspect_err(|_| drop(restore(pins, name, namespace)))
}

/// Sets a namespace back whose default is this control; `None`: it is another.
pub(super) fn restore(pins: &Pins, name: &Name, namespace: &Namespace) -> Option<Restored> {
    match namespace.default_control() {
        Ok(default) if default == name.as_str() => {}
        Ok(_) => return None,
        Err(source) if source.is_gone() => return None,
        Err(source) => return Some(Restored::Failed { source }),
    }
    let before = pins.kept(namespace.id());
    let wanted = before.as_ref().map_or(ALWAYS, |before| before.default.as_str());
    let set = namespace.set_default_control(wanted);
    let (default, set) = match set {
        Err(_) if wanted != ALWAYS => (ALWAYS, namespace.set_default_control(ALWAYS)),
        set => (wanted, set),
    };
    if let Err(source) = set {
        let source = namespace.failed("its default cannot be set back")(source);
        return Some(Restored::Failed { source });
    }
    if let Some(before) = &before
        && let Err(source) = namespace.set_ecn(before.ecn)
    {
        let source = namespace.failed("its tcp_ecn cannot be set back")(source);
        return Some(Restored::Failed { source });
    }
    pins.forget(namespace.id());
    let instead_of = (default != wanted).then(|| wanted.to_owned());
    Some(Restored::Done { namespace: namespace.to_string(), default: default.to_owned(), instead_of })
}

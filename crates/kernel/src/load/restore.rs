//! Defaults of namespaces: taken by a control, and set back.

use super::before::{self, Before};
use super::instance::Instance;
use super::netns::{Namespace, NamespaceError};
use super::pin::Pins;
use crate::Name;
use std::io;

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
        /// Its default before, if that could not be set.
        instead_of: Option<Refused>,
    },
    /// It could not be set back.
    Failed {
        /// Why not.
        source: NamespaceError,
    },
}

/// A default that a namespace had and does not take again.
#[derive(Debug)]
pub struct Refused {
    /// The control.
    pub default: String,
    /// The error of the operating system: EPERM where the control is one that Linux restricts.
    pub source: io::Error,
}

/// Every system has it, and lets each namespace have it.
const ALWAYS: &str = "reno";

/// The controls of farspan's in the kernel, installed or left over.
pub(super) fn ours() -> Vec<Name> {
    let known = Instance::all().into_iter().filter(|(_, instance)| instance.control.is_some());
    known.map(|(name, _)| name).chain(Pins::names()).collect()
}

fn is_among(names: &[Name], default: &str) -> bool {
    names.iter().any(|name| name.as_str() == default)
}

/// The default that a namespace began with where nothing was kept of it: a new one gets that of the machine's first.
fn inherited() -> String {
    let first = Namespace::first().ok().and_then(|first| before::kept(first.cookie().ok()?));
    first.map_or_else(|| ALWAYS.to_owned(), |before| before.default)
}

/// Makes a control the default of a namespace, and ECN with it; keeps what was there.
pub(super) fn take(name: &Name, namespace: &Namespace) -> Result<(), NamespaceError> {
    let (default, ecn, cookie) = (namespace.default_control()?, namespace.ecn()?, namespace.cookie()?);
    let before = match (before::kept(cookie), is_among(&ours(), &default) || default == name.as_str()) {
        // Another control of farspan's gives way: what the namespace had before both is kept.
        (Some(_), true) => None,
        (None, true) => Some(Before { default: inherited(), ecn }),
        // Somebody gave it another default since. ECN may still be on from then.
        (Some(kept), false) if ecn == 1 => Some(Before { default, ecn: kept.ecn }),
        (_, false) => Some(Before { default, ecn }),
    };
    if let Some(before) = before {
        let kept = before::keep(cookie, &before).map_err(io::Error::other);
        kept.map_err(namespace.failed("what it had cannot be kept"))?;
    }
    let set = namespace.set_default_control(name.as_str());
    set.map_err(namespace.failed("its default congestion control cannot be set"))?;
    let set = namespace.set_ecn(1).map_err(namespace.failed("tcp_ecn cannot be set"));
    // Half of it would be neither what it had nor what was asked for.
    set.inspect_err(|_| drop(restore(name, namespace, &ours())))
}

/// Sets a namespace back whose default is this control, or was until somebody else changed it; `None`: there is nothing to set back.
pub(super) fn restore(name: &Name, namespace: &Namespace, ours: &[Name]) -> Option<Restored> {
    set_back(name, namespace, ours).unwrap_or_else(|source| Some(Restored::Failed { source }))
}

fn set_back(name: &Name, namespace: &Namespace, ours: &[Name]) -> Result<Option<Restored>, NamespaceError> {
    let (default, cookie) = (namespace.default_control()?, namespace.cookie()?);
    let (is_its_default, before) = (default == name.as_str(), before::kept(cookie));
    if !is_its_default && (before.is_none() || is_among(ours, &default)) {
        return Ok(None);
    }
    // ECN first: a command that ends in between leaves the default, by which the next finds what is to be done.
    if let Some(before) = &before
        && namespace.ecn()? == 1
    {
        namespace.set_ecn(before.ecn).map_err(namespace.failed("its tcp_ecn cannot be set back"))?;
    }
    if !is_its_default {
        before::forget(cookie);
        return Ok(None);
    }
    let wanted = before.map_or_else(inherited, |before| before.default);
    let (default, instead_of) = match namespace.set_default_control(&wanted) {
        Ok(()) => (wanted, None),
        Err(source) if wanted != ALWAYS => {
            let set = namespace.set_default_control(ALWAYS);
            set.map_err(namespace.failed("its default cannot be set back"))?;
            (ALWAYS.to_owned(), Some(Refused { default: wanted, source }))
        }
        Err(source) => return Err(namespace.failed("its default cannot be set back")(source)),
    };
    before::forget(cookie);
    Ok(Some(Restored::Done { namespace: namespace.to_string(), default, instead_of }))
}

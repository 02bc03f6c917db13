//! Defaults of namespaces: taken by a control, and set back.

use super::instance::Instance;
use super::netns::{Namespace, NamespaceError};
use super::pin::Pins;
use super::saved_defaults::{self, Before};
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
        /// Whether its `tcp_ecn` stays 1, since what it had is not known.
        ecn_stays: bool,
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
fn inherited(ours: &[Name]) -> String {
    let first = Namespace::first().ok();
    let kept = first
        .as_ref()
        .and_then(|first| saved_defaults::kept(first.cookie().ok()?))
        .map(|before| before.default);
    let present = || first.and_then(|first| first.default_control().ok()).filter(|now| !is_among(ours, now));
    kept.or_else(present).unwrap_or_else(|| ALWAYS.to_owned())
}

/// The settings of a namespace at the start of a command, to go back to if it fails.
pub(super) struct Taken {
    default: String,
    ecn: u32,
    before: Option<Before>,
}

impl Taken {
    /// Sets the namespace back, as well as that goes: what failed is the error that counts.
    pub(super) fn undo(self, namespace: &Namespace) {
        let _ = namespace.set_ecn(self.ecn);
        let _ = namespace.set_default_control(&self.default);
        if let Ok(cookie) = namespace.cookie() {
            match self.before {
                Some(before) => drop(saved_defaults::keep(cookie, &before)),
                None => saved_defaults::forget(cookie),
            }
        }
    }
}

/// Makes a control the default of a namespace, and ECN with it; keeps what was there.
pub(super) fn take(name: &Name, namespace: &Namespace) -> Result<Taken, NamespaceError> {
    let (default, ecn, cookie) = (namespace.default_control()?, namespace.ecn()?, namespace.cookie()?);
    let (ours, kept, taker) = (ours(), saved_defaults::kept(cookie), name.to_string());
    let is_ours = default == name.as_str() || is_among(&ours, &default);
    let taken = Taken { default: default.clone(), ecn, before: kept.clone() };
    let before = match (kept, is_ours) {
        // Another control of farspan's gives way: what the namespace had before both is kept.
        (Some(kept), true) => Before { taker, ..kept },
        (None, true) => Before { default: inherited(&ours), ecn, taker },
        // Somebody gave it another default since. ECN may still be on from then.
        (Some(kept), false) if ecn == 1 => Before { default, ecn: kept.ecn, taker },
        (_, false) => Before { default, ecn, taker },
    };
    let kept = saved_defaults::keep(cookie, &before).map_err(io::Error::other);
    kept.map_err(namespace.failed("what it had cannot be kept"))?;
    let set = namespace.set_default_control(name.as_str());
    let set = set.map_err(namespace.failed("its default congestion control cannot be set"));
    let set = set.and_then(|()| namespace.set_ecn(1).map_err(namespace.failed("tcp_ecn cannot be set")));
    match set {
        Ok(()) => Ok(taken),
        // Half of it would be neither what it had nor what was asked for.
        Err(error) => {
            taken.undo(namespace);
            Err(error)
        }
    }
}

/// Sets a namespace back whose default is this control, or was until somebody else changed it; `None`: there is nothing to set back.
pub(super) fn restore(name: &Name, namespace: &Namespace, ours: &[Name]) -> Option<Restored> {
    set_back(name, namespace, ours).unwrap_or_else(|source| Some(Restored::Failed { source }))
}

fn set_back(name: &Name, namespace: &Namespace, ours: &[Name]) -> Result<Option<Restored>, NamespaceError> {
    let (default, cookie) = (namespace.default_control()?, namespace.cookie()?);
    let (is_its_default, before) = (default == name.as_str(), saved_defaults::kept(cookie));
    let was_its = before.as_ref().is_some_and(|before| before.taker == name.as_str());
    if !is_its_default && (!was_its || is_among(ours, &default)) {
        return Ok(None);
    }
    let has_ecn = namespace.ecn()? == 1;
    // ECN first: a command that ends in between leaves the default, by which the next finds what is to be done.
    if let Some(before) = before.as_ref().filter(|_| has_ecn) {
        namespace.set_ecn(before.ecn).map_err(namespace.failed("its tcp_ecn cannot be set back"))?;
    }
    if !is_its_default {
        saved_defaults::forget(cookie);
        return Ok(None);
    }
    let ecn_stays = has_ecn && before.is_none();
    let wanted = before.map_or_else(|| inherited(ours), |before| before.default);
    let (default, instead_of) = match namespace.set_default_control(&wanted) {
        Ok(()) => (wanted, None),
        Err(source) if wanted != ALWAYS => {
            let set = namespace.set_default_control(ALWAYS);
            set.map_err(namespace.failed("its default cannot be set back"))?;
            (ALWAYS.to_owned(), Some(Refused { default: wanted, source }))
        }
        Err(source) => return Err(namespace.failed("its default cannot be set back")(source)),
    };
    saved_defaults::forget(cookie);
    let namespace = namespace.to_string();
    Ok(Some(Restored::Done { namespace, default, instead_of, ecn_stays }))
}

/// Forgets what namespaces had where no control is left but `gone`, and none of those that can be seen has to get anything back.
pub(super) fn tidy(gone: Option<&Name>) -> io::Result<()> {
    let owes = |place: &Namespace| place.cookie().is_ok_and(|cookie| saved_defaults::kept(cookie).is_some());
    let others = Pins::names().iter().any(|name| Some(name) != gone);
    if others || Namespace::all().iter().any(owes) { Ok(()) } else { saved_defaults::forget_all() }
}

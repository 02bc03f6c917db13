//! Constants that depend on the scenario, of a scenario that names none: under `artifact` the published code ran each with
//! its own.

use super::{Context, Resolved};
use crate::catalog::builtin::BuiltIn;
use crate::model::{Scheme, SchemeText, WorkloadKind};
use crate::schemes::profile::Profiles;
use crate::table::join;
use crate::value::Profile;
use toml::Value;

/// A built-in scenario whose constants would fit.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fitting {
    /// Its name.
    pub name: &'static str,
    /// The keys of the scheme to which it gives other values.
    pub keys: Vec<String>,
}

impl Resolved {
    /// The published scenario nearest to this one, if this one takes the constants of none and the scheme's differ there.
    #[must_use]
    pub fn fitting(&self) -> Option<Fitting> {
        let (profile, own) = (self.profile(), self.scenario.constants.as_deref().unwrap_or(self.name()));
        if profile != Profile::Artifact || BuiltIn::named(own).is_some() {
            return None;
        }
        let name = nearest(self.scenario.workload.first()?.kind());
        let world = Profiles::get().constants(profile, own, "world");
        let written = self.source.scenario(&world).ok()?.scheme;
        let context = Context { source: &self.source, name: self.name(), special: name, profile };
        let there = context.scheme(written, &self.scenario.transport).ok()?;
        let mut keys = Vec::new();
        differing("scheme", &value(&self.scenario.scheme), &value(&there), &mut keys);
        (!keys.is_empty()).then_some(Fitting { name, keys })
    }
}

/// The built-in scenario with this kind of traffic.
const fn nearest(kind: WorkloadKind) -> &'static str {
    match kind {
        WorkloadKind::Incast => "uno/incast-mixed",
        WorkloadKind::Poisson => "uno/websearch",
        WorkloadKind::Pairs => "uno/border-failure",
        WorkloadKind::Allreduce
        | WorkloadKind::ReduceScatter
        | WorkloadKind::AllGather
        | WorkloadKind::AllToAll => "uno/allreduce",
        _ => "uno/permutation",
    }
}

fn value(scheme: &Scheme) -> Value {
    Value::try_from(SchemeText::from(scheme)).expect("a scheme has a TOML form")
}

/// The keys of two tables whose values differ; one that names a component stands for all of it.
fn differing(path: &str, a: &Value, b: &Value, keys: &mut Vec<String>) {
    match (a, b) {
        _ if a == b => {}
        (Value::Table(a), Value::Table(b)) if !a.contains_key("name") || path == "scheme" => {
            let only_there = b.keys().filter(|key| !a.contains_key(*key));
            for key in a.keys().chain(only_there) {
                match (a.get(key), b.get(key)) {
                    (Some(a), Some(b)) => differing(&join(path, key), a, b, keys),
                    _ => keys.push(join(path, key)),
                }
            }
        }
        _ => keys.push(path.to_owned()),
    }
}

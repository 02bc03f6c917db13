//! Loss recovery of a class of flows, as it is written.

use super::RtoRule;
use crate::error::ValueError;
use crate::reader::read;
use farspan_transport::recovery::{NAMES, RecoveryPolicy};
use farspan_units::Duration;
use serde::Deserialize;
use toml::Table;

/// The keys of loss recovery; what is left out is the scenario's, or follows from the policy.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Recovery {
    name: Option<String>,
    /// As `transport.rto`, for this class only.
    pub rto: Option<RtoRule>,
    /// As `transport.rto_initial`, for this class only.
    pub rto_initial: Option<Duration>,
    /// As `transport.rto_variance_floor`, for this class only.
    pub rto_variance_floor: Option<Duration>,
    /// As `transport.rto_min`, for this class only.
    pub rto_min: Option<Duration>,
    /// Whether a time-out doubles with each one before it.
    pub backoff: Option<bool>,
}

impl Recovery {
    /// Reads the table at `path`.
    ///
    /// # Errors
    /// The first value that does not fit, or a time-out of zero.
    pub fn read(path: &str, table: &Table) -> Result<Self, ValueError> {
        let recovery: Self = read(path, table)?;
        if recovery.rto_initial.is_some_and(Duration::is_zero) {
            let cure = "give a time, such as \"1s\"";
            return Err(ValueError::rule("rto_initial", "a time-out of 0", cure).below(path));
        }
        if matches!(recovery.rto, Some(RtoRule::Value(time)) if time.is_zero()) {
            let cure = "give \"path\", \"rfc6298\" or a time";
            return Err(ValueError::rule("rto", "a time-out of 0", cure).below(path));
        }
        Ok(recovery)
    }

    /// The policy; the first one where none is named.
    ///
    /// # Errors
    /// If there is none of that name, which stands at `path`.
    pub fn policy(&self, path: &str) -> Result<RecoveryPolicy, ValueError> {
        let name = self.name.as_deref().unwrap_or(NAMES[0]);
        RecoveryPolicy::by_name(name)
            .ok_or_else(|| ValueError::unknown(path, "loss recovery", name, NAMES, &[]))
    }
}

#[cfg(test)]
mod tests {
    use crate::Request;

    #[test]
    fn a_scenario_with_wrong_recovery_is_refused_before_it_is_built() {
        let cases = [
            ("{ rto_min = \"5 parsecs\" }", "rto_min: ", "\"14us\""),
            ("{ rto = 5 }", "rto: 5 does not fit here", "in quotes"),
            ("{ rto = \"0ns\" }", "rto: a time-out of 0", "\"rfc6298\""),
            ("{ rto_initial = \"0ns\" }", "rto_initial: a time-out of 0", "\"1s\""),
            ("{ backoff = \"x\" }", "backoff: ", "true or false"),
            ("{ name = \"rck\" }", "\"rck\" is not a known loss recovery", "did you mean \"rack\"?"),
        ];
        for (value, problem, cure) in cases {
            let set = vec![format!("scheme.intra.recovery={value}")];
            let error =
                Request { set, ..Request::new("uno/incast-intra") }.resolve().unwrap_err().to_string();
            let is_said =
                error.contains("scheme.intra.recovery") && error.contains(problem) && error.contains(cure);
            assert!(is_said, "{value}: {error}");
        }
    }
}

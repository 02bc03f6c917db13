//! Receivers that take packets in their order alone (go-back-N), and what they do not go with.

use farspan_scenario::ValueError;
use farspan_scenario::model::Scenario;
use farspan_transport::coding::CodingConfig;

/// Checks that the flows of the scheme at `path` have neither coded blocks nor a proxy before their receivers.
///
/// # Errors
/// Either of them, with the cure.
pub(super) fn check(path: &str, scenario: &Scenario, coding: &CodingConfig) -> Result<(), ValueError> {
    let refuse = |problem, cure: &str| Err(ValueError::rule(format!("{path}.recovery"), problem, cure));
    if scenario.scheme.proxy.is_some() {
        let problem = "receivers accept packets only in order, but a proxy forwards packets as they arrive";
        return refuse(problem, "write recovery = \"rack\", or remove scheme.proxy");
    }
    if !matches!(coding, CodingConfig::None(_)) {
        let problem = "receivers accept packets only in order, but a coded block needs no particular packets";
        return refuse(problem, &format!("write {path}.coding = \"none\", or recovery = \"rack\""));
    }
    Ok(())
}

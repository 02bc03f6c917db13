//! Requests of commands: a scenario by name or file, and the changes that arguments make to it.

use crate::catalog::builtin::BuiltIn;
use crate::error::{Place, ScenarioError, ValueError};
use crate::resolve::Resolved;
use crate::text::file;
use crate::text::source::Source;
use std::path::Path;

/// The request of a command: a scenario, and the changes to it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Request {
    /// A built-in scenario's name, or a file.
    pub scenario: String,
    /// The text of the scenario, if it stands in no file; `scenario` names it then.
    pub text: Option<String>,
    /// `--scheme`: replaces the scheme, and what the text overrides of its own.
    pub scheme: Option<String>,
    /// `--profile`.
    pub profile: Option<String>,
    /// `--seed`.
    pub seed: Option<u64>,
    /// `--set PATH=VALUE`, in order.
    pub set: Vec<String>,
    /// Whether the workload is left out: the traffic comes from elsewhere, such as programs on an emulated network.
    pub is_idle: bool,
}

impl Request {
    /// A built-in scenario, or a file, as it stands.
    #[must_use]
    pub fn new(scenario: &str) -> Self {
        Self { scenario: scenario.to_owned(), ..Self::default() }
    }

    /// Reads the scenario, applies the arguments, and fills in every default.
    ///
    /// # Errors
    /// Bad input: the error names the place, what was expected, and the cure.
    pub fn resolve(&self) -> Result<Resolved, ScenarioError> {
        let mut source = match &self.text {
            Some(text) => Source::new(&self.scenario, text, None)?,
            None => open(&self.scenario)?,
        };
        if let Some(scheme) = &self.scheme {
            source.set_scheme(scheme)?;
        }
        if let Some(profile) = &self.profile {
            source.set_value("scheme.profile", &profile.as_str().into(), &format!("--profile {profile}"))?;
        }
        if let Some(seed) = self.seed {
            let argument = format!("--seed {seed}");
            let value = i64::try_from(seed).map_err(|_| {
                ValueError::rule("seed", "too large", format!("give at most {}", i64::MAX))
                    .at(Place::Argument(argument.clone()))
            })?;
            source.set_value("seed", &value.into(), &argument)?;
        }
        for assignment in &self.set {
            source.set(assignment)?;
        }
        if self.is_idle {
            source.leave_out_workload();
        }
        Resolved::new(source)
    }
}

/// A scenario by its name or file, as it stands.
fn open(scenario: &str) -> Result<Source, ScenarioError> {
    if let Some(built_in) = BuiltIn::named(scenario) {
        return Source::new(scenario, built_in.text, None);
    }
    let path = Path::new(scenario);
    let text = file::read(path, scenario).map_err(|error| error.at(Place::Whole(scenario.to_owned())))?;
    Source::new(scenario, &text, path.parent().map(Path::to_owned))
}

//! The arguments that choose a scenario, and what changes it: one run's, and those of `run` and `sweep`, which may ask for several.

use crate::seeds::Seeds;
use clap::Args;
use farspan_scenario::Request;
use farspan_scenario::value::SchemePart;
use farspan_sweep::{Ask, split};

/// Which scenario, and what changes it.
#[derive(Args, Debug)]
pub struct ScenarioArgs {
    /// A file, or the name of a built-in scenario (`farspan list scenarios`)
    pub scenario: String,
    /// Scheme: a built-in name (`farspan list schemes`), CC+LB, or A/B (A inside a datacenter, B between datacenters)
    #[arg(long, value_name = "NAME", value_parser = one_scheme)]
    pub scheme: Option<String>,
    /// Set of constants: paper, or artifact (those of the published code; also called published-code)
    #[arg(long, value_name = "NAME")]
    pub profile: Option<String>,
    /// Set a key of the scenario; can be given several times
    #[arg(long, value_name = "PATH=VALUE")]
    pub set: Vec<String>,
}

impl ScenarioArgs {
    /// The first option that was given.
    pub fn given(&self) -> Option<&'static str> {
        let given = [
            ("--scheme", self.scheme.is_some()),
            ("--profile", self.profile.is_some()),
            ("--set", !self.set.is_empty()),
        ];
        given.into_iter().find(|(_, given)| *given).map(|(name, _)| name)
    }

    /// The request that they make.
    pub fn request(&self, seed: Option<u64>) -> Request {
        Request {
            scenario: self.scenario.clone(),
            scheme: self.scheme.clone(),
            profile: self.profile.clone(),
            seed,
            set: self.set.clone(),
            ..Request::default()
        }
    }
}

/// Schemes, values and axes of a scenario.
#[derive(Args, Debug)]
pub struct AskArgs {
    /// Schemes: built-in names (`farspan list schemes`), CC+LB, or A/B (A inside a datacenter, B between datacenters);
    /// can be given several times. Ratios are over the first scheme
    #[arg(long, value_name = "NAME[,NAME]...", alias = "schemes", value_parser = names)]
    pub scheme: Vec<Names>,
    /// Set of constants: paper, or artifact (those of the published code; also called published-code)
    #[arg(long, value_name = "NAME")]
    pub profile: Option<String>,
    /// Set a key of the scenario; can be given several times
    #[arg(long, value_name = "PATH=VALUE")]
    pub set: Vec<String>,
    /// Run each of these values of a key. If given several times, every combination of values runs
    #[arg(long, value_name = "PATH=V1,V2")]
    pub grid: Vec<String>,
    /// Parts of the first scheme that all other schemes use too: recovery, balance, coding
    #[arg(long, value_name = "PART[,PART]...", value_delimiter = ',', value_parser = part)]
    pub same: Vec<SchemePart>,
}

/// The schemes of one `--scheme`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Names(Vec<String>);

fn names(text: &str) -> Result<Names, String> {
    let names = split(text);
    match names.contains(&"") {
        true => Err("a name is missing; write names with commas between them, such as uno,oscar".to_owned()),
        false => Ok(Names(names.into_iter().map(str::to_owned).collect())),
    }
}

/// A scheme, where there can be no other.
pub fn one_scheme(text: &str) -> Result<String, String> {
    match split(text).len() {
        1 => Ok(text.to_owned()),
        _ => Err("one scheme can stand here; farspan run and farspan sweep take several".to_owned()),
    }
}

/// A part of a scheme that others can take over.
pub fn part(text: &str) -> Result<SchemePart, String> {
    text.trim().parse::<SchemePart>().map_err(|error| error.to_string())
}

impl AskArgs {
    /// Every scheme, in the order in which they were given.
    pub fn schemes(&self) -> Vec<String> {
        self.scheme.iter().flat_map(|Names(names)| names.iter().cloned()).collect()
    }

    /// Whether they ask for runs of more than seeds.
    pub fn is_sweep(&self) -> bool {
        !self.grid.is_empty() || self.schemes().len() > 1
    }

    /// The options that were given.
    pub fn given(&self) -> Option<&'static str> {
        let given = [
            ("--scheme", !self.scheme.is_empty()),
            ("--profile", self.profile.is_some()),
            ("--set", !self.set.is_empty()),
            ("--grid", !self.grid.is_empty()),
            ("--same", !self.same.is_empty()),
        ];
        given.into_iter().find(|(_, given)| *given).map(|(name, _)| name)
    }

    /// The request of one run, where they ask for one.
    pub fn request(&self, scenario: &str, seed: Option<u64>) -> Request {
        Request {
            scheme: self.schemes().into_iter().next(),
            profile: self.profile.clone(),
            seed,
            set: self.set.clone(),
            ..Request::new(scenario)
        }
    }

    /// The sweep that they ask for.
    pub fn ask(&self, scenario: &str, seed: Option<u64>, seeds: Option<&Seeds>) -> Ask {
        let seeds = seeds.map_or_else(|| seed.into_iter().collect(), |Seeds(seeds)| seeds.clone());
        Ask {
            scenario: scenario.to_owned(),
            schemes: self.schemes(),
            profile: self.profile.clone(),
            seeds,
            set: self.set.clone(),
            grid: self.grid.clone(),
            same: self.same.clone(),
        }
    }
}

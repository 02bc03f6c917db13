//! Scenario or sweep: a file says so by its keys.

use crate::file::KEYS;
use farspan_scenario::{
    BuiltIn, Document, LONGEST_SCENARIO, Place, Problem, ScenarioError, read_file, schema, utf8,
};
use std::path::Path;

/// The two things that can be run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A scenario: a built-in one, or a file of one.
    Scenario,
    /// The file of a sweep.
    Sweep,
}

impl Kind {
    /// The kind of what `argument` names. A file that cannot be read counts as a scenario: who reads it says why, and names those there
    /// are.
    ///
    /// # Errors
    /// If it is a file without a key of either, or no TOML.
    pub fn of(argument: &str) -> Result<Self, ScenarioError> {
        if BuiltIn::named(argument).is_some() {
            return Ok(Self::Scenario);
        }
        let bytes = read_file(Path::new(argument), LONGEST_SCENARIO);
        let Some(text) = bytes.ok().and_then(|bytes| utf8(bytes).ok()) else { return Ok(Self::Scenario) };
        let document = Document::parse(argument, &text)?;
        Self::of_keys(&document).ok_or_else(|| {
            let problem = "neither a scenario nor a sweep: it has no key of either".to_owned();
            let cure = "a sweep begins with scenario = \"uno/incast-mixed\", or the name of a file; `farspan new` writes a \
                        scenario";
            let problem = Problem::Rule { problem, cure: cure.to_owned() };
            let place = Place::Whole(argument.to_owned());
            ScenarioError { place, path: String::new(), problem: Box::new(problem) }
        })
    }

    /// `scenario` makes a sweep; else the first key that only one of them has decides, a scenario's before a sweep's.
    fn of_keys(document: &Document) -> Option<Self> {
        let table = &document.table;
        let schema = schema();
        let is_of_scenario = |key: &String| {
            let known = schema.pointer("/properties").is_some_and(|keys| keys.get(key).is_some());
            known && (key != "scheme" || table[key].is_table())
        };
        match () {
            () if table.contains_key("scenario") => Some(Self::Sweep),
            () if table.keys().any(is_of_scenario) => Some(Self::Scenario),
            () if table.keys().any(|key| KEYS.contains(&key.as_str())) => Some(Self::Sweep),
            () => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_say_what_a_file_is() {
        for (text, kind) in [
            ("scenario = 'uno/steady'", Some(Kind::Sweep)),
            ("scenario = 'uno/steady'\n[topology]\nk = 4", Some(Kind::Sweep)),
            ("scheme = ['uno', 'gemini']", Some(Kind::Sweep)),
            ("[grid]\n'topology.k' = 4", Some(Kind::Sweep)),
            ("base = 'uno/steady'", Some(Kind::Scenario)),
            ("[topology]\nk = 4", Some(Kind::Scenario)),
            ("[scheme]\nname = 'uno'", Some(Kind::Scenario)),
            ("[topology]\nk = 4\n[grid]\n'topology.k' = 4", Some(Kind::Scenario)),
            ("scenari = 'uno/steady'", None),
            ("", None),
        ] {
            assert_eq!(Kind::of_keys(&Document::parse("f.toml", text).unwrap()), kind, "{text}");
        }
    }

    #[test]
    fn what_is_no_file_is_a_scenario() {
        assert_eq!(Kind::of("uno/steady"), Ok(Kind::Scenario));
        assert_eq!(Kind::of("no/such.toml"), Ok(Kind::Scenario));
    }

    #[test]
    fn a_file_of_neither_is_refused() {
        let file = std::env::temp_dir().join(format!("farspan-kind-{}.toml", std::process::id()));
        let kind = |text: &str| {
            std::fs::write(&file, text).unwrap();
            Kind::of(&file.display().to_string()).map_err(|error| error.to_string())
        };
        let (neither, broken) = (kind("x = 1").unwrap_err(), kind("x = = 1").unwrap_err());
        std::fs::remove_file(&file).unwrap();
        assert!(
            neither.contains("neither a scenario nor a sweep") && neither.contains("farspan new"),
            "{neither}"
        );
        assert!(broken.contains(":1:5: not TOML"), "{broken}");
    }
}

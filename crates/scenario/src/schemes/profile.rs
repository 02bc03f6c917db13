//! The constants of schemes and scenarios, by profile: one data file, read by everyone.

use crate::table::overlay;
use crate::value::Profile;
use std::sync::OnceLock;

/// The constants of schemes and scenarios by profile: the text of the data file, where a comment behind each says its source.
pub const DATA: &str = include_str!("../../data/profiles.toml");

/// Constants by profile, component and scenario.
#[derive(Debug)]
pub(crate) struct Profiles(toml::Table);

impl Profiles {
    /// The data file.
    pub fn get() -> &'static Self {
        static PROFILES: OnceLock<Profiles> = OnceLock::new();
        PROFILES.get_or_init(|| Self(DATA.parse().expect("the data file is TOML")))
    }

    /// Whether a component of any scenario has this name.
    pub fn knows(&self, component: &str) -> bool {
        self.0.values().any(|layer| layer.get(component).is_some())
    }

    /// The constants of a component (`world`, or the name of a control or path selector) in a scenario.
    ///
    /// Later layers win: `paper`, `paper` in this scenario, then the same two of `artifact`.
    pub fn constants(&self, profile: Profile, scenario: &str, component: &str) -> toml::Table {
        let mut constants = toml::Table::new();
        let artifact = (profile == Profile::Artifact).then_some("artifact");
        for layer in ["paper"].into_iter().chain(artifact) {
            let Some(layer) = table(&self.0, layer) else { continue };
            let special = table(layer, "scenario").into_iter().flatten();
            let special =
                special.filter(|(pattern, _)| matches(pattern, scenario)).filter_map(|(_, v)| v.as_table());
            for source in [layer].into_iter().chain(special) {
                if let Some(found) = table(source, component) {
                    overlay(&mut constants, found);
                }
            }
        }
        constants
    }
}

fn table<'a>(parent: &'a toml::Table, key: &str) -> Option<&'a toml::Table> {
    parent.get(key).and_then(toml::Value::as_table)
}

/// Whether a scenario has this name; a trailing `*` stands for anything.
fn matches(pattern: &str, scenario: &str) -> bool {
    pattern.strip_suffix('*').map_or(pattern == scenario, |prefix| scenario.starts_with(prefix))
}

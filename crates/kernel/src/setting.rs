//! Settings: values for the parameters of a control.

use crate::control::Control;
use crate::parameter::Parameter;
use std::fmt;

/// Why a setting is refused. Nothing has been loaded then.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SettingError {
    /// There is no value.
    #[error("`{text}` does not set a parameter: write KEY=VALUE")]
    NoValue {
        /// The text.
        text: String,
    },
    /// The control has no such parameter.
    #[error("{control} has no parameter `{key}`: it has {}", keys(*control))]
    UnknownKey {
        /// The control.
        control: Control,
        /// The key.
        key: String,
    },
    /// The key is set twice.
    #[error("`{key}` is set twice: leave one out")]
    Twice {
        /// The key.
        key: &'static str,
    },
    /// The value means nothing in the parameter's unit.
    #[error("{key}={value}: expected {}, {}", parameter.unit.name(), parameter.bounds(), key = parameter.key)]
    Unreadable {
        /// The parameter.
        parameter: Parameter,
        /// The value.
        value: String,
    },
    /// Two values do not go together.
    #[error("{low} is above {high}: lower the first or raise the second one of {control}")]
    Order {
        /// The control.
        control: Control,
        /// The smaller one, as it is written.
        low: String,
        /// The larger one.
        high: String,
    },
    /// The value is out of bounds.
    #[error("{key}={value} is out of bounds: {}", parameter.bounds(), key = parameter.key)]
    OutOfBounds {
        /// The parameter.
        parameter: Parameter,
        /// The value.
        value: String,
    },
}

fn keys(control: Control) -> String {
    control.parameters().iter().map(|parameter| parameter.key).collect::<Vec<_>>().join(", ")
}

/// Values for some parameters of a control, in the order of its parameters.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Settings {
    values: Vec<(Parameter, u64)>,
}

impl Settings {
    /// Reads `KEY=VALUE` texts.
    ///
    /// # Errors
    /// If one of them names no parameter, or gives it a value that it cannot have.
    pub fn parse(control: Control, texts: &[String]) -> Result<Self, SettingError> {
        let mut settings = Self::default();
        for text in texts {
            let (key, value) =
                text.split_once('=').ok_or_else(|| SettingError::NoValue { text: text.clone() })?;
            let (key, value) = (key.trim(), value.trim());
            let found = control.parameters().iter().find(|parameter| parameter.key == key);
            let parameter =
                *found.ok_or_else(|| SettingError::UnknownKey { control, key: key.to_owned() })?;
            if settings.get(parameter.key).is_some() {
                return Err(SettingError::Twice { key: parameter.key });
            }
            let value = value.to_owned();
            let Some(raw) = parameter.unit.read(&value) else {
                return Err(SettingError::Unreadable { parameter, value });
            };
            if !(parameter.least..=parameter.most).contains(&raw) {
                return Err(SettingError::OutOfBounds { parameter, value });
            }
            settings.values.push((parameter, raw));
        }
        Ok(settings)
    }

    /// Whether the values go together; those that are not set are `default`'s.
    ///
    /// # Errors
    /// If one exceeds another that bounds it.
    #[cfg(all(target_os = "linux", feature = "load"))]
    pub(crate) fn check(
        &self,
        control: Control,
        default: impl Fn(&Parameter) -> Option<u64>,
    ) -> Result<(), SettingError> {
        let all = self.clone().or(control, default);
        for [low, high] in control.orders() {
            if let (Some(least), Some(most)) = (all.get(low), all.get(high))
                && least > most
            {
                let [low, high] = [low, high].map(|key| all.text(key));
                return Err(SettingError::Order { control, low, high });
            }
        }
        Ok(())
    }

    #[cfg(all(target_os = "linux", feature = "load"))]
    fn text(&self, key: &str) -> String {
        let found = self.iter().find(|(parameter, _)| parameter.key == key);
        found.map_or_else(String::new, |(parameter, raw)| format!("{key}={}", parameter.unit.show(raw)))
    }

    /// The value of a parameter as the program holds it, if it is set.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<u64> {
        self.values.iter().find(|(parameter, _)| parameter.key == key).map(|(_, raw)| *raw)
    }

    /// Whether nothing is set.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// The parameters that are set, with values as the program holds them.
    pub fn iter(&self) -> impl Iterator<Item = (Parameter, u64)> {
        self.values.iter().copied()
    }

    /// Each of them as `--set` takes it.
    #[cfg(all(target_os = "linux", feature = "load"))]
    pub(crate) fn texts(&self) -> Vec<String> {
        self.iter()
            .map(|(parameter, raw)| format!("{}={}", parameter.key, parameter.unit.show(raw)))
            .collect()
    }

    /// Sets what is held elsewhere, for the parameters that are not set yet.
    #[cfg(all(target_os = "linux", feature = "load"))]
    pub(crate) fn or(mut self, control: Control, held: impl Fn(&Parameter) -> Option<u64>) -> Self {
        for parameter in control.parameters() {
            if self.get(parameter.key).is_none()
                && let Some(raw) = held(parameter)
            {
                self.values.push((*parameter, raw));
            }
        }
        self
    }
}

impl fmt::Display for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (parameter, raw)) in self.iter().enumerate() {
            let gap = if index == 0 { "" } else { " " };
            write!(f, "{gap}{}={}", parameter.key, parameter.unit.show(raw))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(texts: &[&str]) -> Result<Settings, SettingError> {
        Settings::parse(Control::Fixed, &texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn what_is_wrong_with_a_setting_is_said() {
        for (texts, expected) in [
            (&["window"][..], "`window` does not set a parameter: write KEY=VALUE"),
            (&["windows=3"], "fixed has no parameter `windows`: it has window"),
            (&["window=3", "window=4"], "`window` is set twice: leave one out"),
            (&["window=3.5"], "window=3.5: expected packets, 2 to 1000000"),
            (&["window=-1"], "window=-1: expected packets, 2 to 1000000"),
            (&["window=1"], "window=1 is out of bounds: 2 to 1000000"),
        ] {
            assert_eq!(parse(texts).unwrap_err().to_string(), expected);
        }
        assert_eq!(parse(&["window = 7"]).unwrap().get("window"), Some(7));
        assert!(parse(&[]).unwrap().is_empty());
    }
}

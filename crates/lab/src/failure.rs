//! Failures of the command, and their exit codes.

use farspan_scenario::ScenarioError;

/// Why a command did not end well.
#[derive(Debug)]
pub enum Failure {
    /// Bad input: 2.
    BadInput(String),
    /// Failed while running: 1.
    Failed(String),
    /// An emulation was void: 6.
    #[cfg(target_os = "linux")]
    Void(String),
    /// Interrupted; the numbers so far are kept: 130.
    #[cfg(target_os = "linux")]
    Interrupted,
}

impl Failure {
    /// The message, and the exit code.
    pub fn message_and_code(self) -> (String, u8) {
        match self {
            Self::Failed(message) => (message, 1),
            Self::BadInput(message) => (message, 2),
            #[cfg(target_os = "linux")]
            Self::Void(message) => (message, 6),
            #[cfg(target_os = "linux")]
            Self::Interrupted => {
                ("interrupted; with --keep, run the same command again to continue".to_owned(), 130)
            }
        }
    }
}

impl From<ScenarioError> for Failure {
    fn from(error: ScenarioError) -> Self {
        Self::BadInput(error.to_string())
    }
}

#[cfg(target_os = "linux")]
impl From<farspan_emu::UpError> for Failure {
    fn from(error: farspan_emu::UpError) -> Self {
        match error {
            farspan_emu::UpError::Namespace(_) | farspan_emu::UpError::Io { .. } => {
                Self::Failed(error.to_string())
            }
            _ => Self::BadInput(error.to_string()),
        }
    }
}

#[cfg(target_os = "linux")]
impl From<farspan_emu::NameError> for Failure {
    fn from(error: farspan_emu::NameError) -> Self {
        Self::BadInput(error.to_string())
    }
}

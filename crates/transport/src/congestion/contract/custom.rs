//! Controls from outside this crate.

use super::{Congestion, Needs, SignalBytes, Start};
use crate::path::Path;
use crate::registry::ConfigError;
use alloc::boxed::Box;
use alloc::sync::Arc;
use core::fmt;
use farspan_units::Duration;

/// Makes the controls of flows. It is asked once for each flow, on the thread that runs the flow's host.
pub trait Factory: Send + Sync {
    /// The control's name in results.
    fn name(&self) -> &'static str;

    /// All that the control needs. A user is warned where ports do not give it.
    fn needs(&self) -> Needs;

    /// The queueing delay that the control aims at on a path, if it aims at one. A user is warned where ports cannot hold it.
    fn target_delay(&self, _path: &Path) -> Option<Duration> {
        None
    }

    /// The control of one flow. The same start must give a control that decides the same.
    fn control(&self, start: &Start<'_>) -> Box<dyn Congestion + Send>;
}

/// A control from outside this crate, instead of a built-in one. Two are equal if they are the same factory.
#[derive(Clone)]
pub struct Custom(Arc<dyn Factory>);

impl Custom {
    /// Controls made by `factory`.
    pub fn new(factory: impl Factory + 'static) -> Self {
        Self(Arc::new(factory))
    }

    /// The control's name in results.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.0.name()
    }

    /// All that the control needs.
    #[must_use]
    pub fn needs(&self) -> Needs {
        self.0.needs()
    }

    /// The queueing delay that the control aims at on a path, if it aims at one.
    pub(crate) fn target_delay(&self, path: &Path) -> Option<Duration> {
        self.0.target_delay(path)
    }

    /// Checks what the control needs.
    ///
    /// # Errors
    /// Its signals take more than [`SignalBytes::MOST`].
    pub fn check(&self) -> Result<(), ConfigError> {
        let SignalBytes { data, ack } = self.needs().signal_bytes;
        let most = SignalBytes::MOST.as_f64();
        ConfigError::unless_in(0.0..=most, self.name(), "signal_bytes", data.max(ack).as_f64())
    }

    /// The control of one flow.
    pub(crate) fn control(&self, start: &Start<'_>) -> Box<dyn Congestion + Send> {
        self.0.control(start)
    }
}

impl PartialEq for Custom {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl fmt::Debug for Custom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Custom").field(&self.name()).finish()
    }
}

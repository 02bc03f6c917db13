//! Controls from outside this crate.

use super::{Congestion, Ecn, Start};
use crate::notifier::CnpConfig;
use crate::pulls::PullConfig;
use alloc::boxed::Box;
use alloc::sync::Arc;
use core::fmt;

/// Makes the controls of flows. It is asked once for each flow, on the thread that runs the flow's host.
pub trait Factory: Send + Sync {
    /// The control's name in results.
    fn name(&self) -> &'static str;

    /// Whether the control needs marks. A user is warned of one that does where no port sets any.
    fn ecn(&self) -> Ecn {
        Ecn::Ignored
    }

    /// The pulls that the receiver is to send, of a control that runs on credit.
    fn pulls(&self) -> Option<PullConfig> {
        None
    }

    /// The CNPs that the receiver is to send, of a control that waits for them.
    fn cnps(&self) -> Option<CnpConfig> {
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

    /// Whether the control needs marks.
    #[must_use]
    pub fn ecn(&self) -> Ecn {
        self.0.ecn()
    }

    /// The pulls that the receiver is to send.
    pub(crate) fn pulls(&self) -> Option<PullConfig> {
        self.0.pulls()
    }

    /// The CNPs that the receiver is to send.
    pub(crate) fn cnps(&self) -> Option<CnpConfig> {
        self.0.cnps()
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

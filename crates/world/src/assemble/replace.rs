//! A control from outside in the place of a scheme's.

use super::{World, check, check_signals, warnings};
use farspan_fabric::Routes;
use farspan_scenario::{Resolved, ScenarioError, ValueError, check_naive_proxy};
use farspan_sim::Spec;
use farspan_transport::congestion::{CongestionConfig, Custom, Ecn};
use farspan_transport::proxy::ProxyKind;
use farspan_transport::{Class, FlowProfile, Scheme};
use std::mem;
use std::sync::Arc;

impl World {
    /// Puts a control from outside in the place of the scheme's, for the flows of a class. All else stays as the scheme has
    /// it: path selection, recovery, coding, and what its own control asks of the ports. Receivers send what the new control needs,
    /// and warnings are about it.
    ///
    /// # Errors
    /// If it needs what this scenario cannot give. The world is as before, then.
    pub fn set_control(
        &mut self,
        resolved: &Resolved,
        class: Class,
        control: Custom,
    ) -> Result<(), ScenarioError> {
        let congestion = CongestionConfig::Custom(control.clone());
        let mut scheme = Scheme::clone(self.spec.scheme(class));
        let FlowProfile { acks, persistent, .. } = scheme.profile;
        let repeats_marks = self.repeat_marks && congestion.needs().ecn == Ecn::AsLoss;
        let profile = FlowProfile::new(acks, &congestion, scheme.recovery.policy);
        scheme.profile = FlowProfile { repeats_marks, persistent, ..profile };
        (scheme.congestion, scheme.on_nack) = (congestion, None);
        let before = mem::replace(self.scheme_mut(class), Arc::new(scheme));
        let routes = Routes::new(&self.spec.network, resolved.seed());
        if let Err(error) = self.fits(resolved, class, &routes) {
            *self.scheme_mut(class) = before;
            return Err(resolved.error(error));
        }
        self.replaced[usize::from(class == Class::Inter)] = Some(control);
        self.warnings = warnings::of(resolved, self, &routes);
        Ok(())
    }

    const fn scheme_mut(&mut self, class: Class) -> &mut Arc<Scheme> {
        match class {
            Class::Intra => &mut self.spec.intra,
            Class::Inter => &mut self.spec.inter,
        }
    }

    /// Whether the scenario can give what the control of a class needs.
    fn fits(&self, resolved: &Resolved, class: Class, routes: &Routes) -> Result<(), ValueError> {
        let path = match class {
            Class::Intra => "scheme.intra.congestion",
            Class::Inter => "scheme.inter.congestion",
        };
        check_signals(path, resolved.scenario(), &self.spec.scheme(class).congestion)?;
        naive_proxy_serves(&self.spec)?;
        check(&self.spec, routes)
    }
}

/// Whether naive proxies, if there are any, give the control of the connections to them all that it needs.
fn naive_proxy_serves(spec: &Spec) -> Result<(), ValueError> {
    let is_naive = spec.proxies.iter().any(|proxy| matches!(proxy.kind, ProxyKind::Naive(_)));
    if is_naive { check_naive_proxy(&spec.scheme(Class::Intra).congestion) } else { Ok(()) }
}

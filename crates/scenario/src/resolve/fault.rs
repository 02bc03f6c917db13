//! Faults of links: which keys each kind needs, their defaults and ranges.

use super::Context;
use crate::error::ValueError;
use crate::limits::{FASTEST, LONGEST_DELAY, LONGEST_RUN, SLOWEST, within};
use crate::model::LinkFault;
use crate::value::{FaultKind, LossPackets};
use farspan_fabric::fault::LossProcess;
use farspan_units::Duration;

/// The keys of every fault, beside `kind`.
const COMMON: &[&str] =
    &["link", "links", "share", "at", "until", "both_directions", "withdraw_routes", "withdraw_delay"];

/// The keys that a kind has beside.
const fn keys(kind: FaultKind) -> &'static [&'static str] {
    match kind {
        FaultKind::LinkDown | FaultKind::BlackHole | FaultKind::ProxyDown => &[],
        FaultKind::Rate => &["rate"],
        FaultKind::Loss => &["probability", "packets"],
        FaultKind::BlockLoss => &["block", "probabilities", "per", "packets"],
    }
}

impl Context<'_> {
    pub(super) fn faults(&self, written: Vec<LinkFault>) -> Result<Vec<LinkFault>, ValueError> {
        (0..).zip(written).map(|(n, fault)| self.fault(&format!("fault[{n}]"), fault)).collect()
    }

    fn fault(&self, path: &str, written: LinkFault) -> Result<LinkFault, ValueError> {
        let missing = |key: &str, example: &str| ValueError::missing(format!("{path}.{key}"), example);
        let names = FaultKind::NAMES.join(", ");
        let kind = written.kind.ok_or_else(|| missing("kind", &format!("one of {names}")))?;
        if kind == FaultKind::ProxyDown {
            self.only(path, kind.name(), &["host", "at"], "")?;
            let at = Some(written.at.unwrap_or(Duration::ZERO));
            within(&format!("{path}.at"), at, Duration::ZERO, LONGEST_RUN)?;
            return Ok(LinkFault { at, ..written });
        }
        self.only(path, kind.name(), &[COMMON, keys(kind)].concat(), "")?;
        match (&written.link, &written.links) {
            (None, None) => {
                let example = "a link, such as \"border0->border1#0\", or a pattern, such as \"border0->border1#*\"; \
                               or links by tier, such as links = \"fabric:agg-core\"";
                return Err(missing("link", example));
            }
            (Some(_), Some(_)) => {
                let cure = "give one of them: link by name, links by tier";
                return Err(ValueError::rule(format!("{path}.links"), "link is given, too", cure));
            }
            _ => {}
        }
        if let Some(share) = written.share.filter(|share| !(*share > 0.0 && *share <= 1.0)) {
            let problem = format!("{share} is out of range");
            return Err(ValueError::rule(
                format!("{path}.share"),
                problem,
                "give a share above 0, at most 1",
            ));
        }
        let mut fault = times(path, written)?;
        match kind {
            FaultKind::LinkDown | FaultKind::BlackHole | FaultKind::ProxyDown => {}
            FaultKind::Rate if fault.rate.is_none() => {
                return Err(missing("rate", "the rate meanwhile, such as \"10Gbps\""));
            }
            FaultKind::Rate => within(&format!("{path}.rate"), fault.rate, SLOWEST, FASTEST)?,
            FaultKind::Loss if fault.probability.is_none() => {
                return Err(missing("probability", "the share of packets lost, such as 1e-4"));
            }
            FaultKind::Loss => {
                within(&format!("{path}.probability"), fault.probability, 0.0, 1.0)?;
                fault.packets = Some(fault.packets.unwrap_or(LossPackets::Data));
            }
            FaultKind::BlockLoss => self.blocks(path, &mut fault)?,
        }
        Ok(fault)
    }

    fn blocks(&self, path: &str, fault: &mut LinkFault) -> Result<(), ValueError> {
        fault.block = fault.block.or_else(|| self.constant("block_loss", "block"));
        fault.probabilities =
            fault.probabilities.take().or_else(|| self.constant("block_loss", "probabilities"));
        fault.per = fault.per.or_else(|| self.constant("block_loss", "per"));
        fault.packets = fault.packets.or_else(|| self.constant("block_loss", "packets"));
        within(&format!("{path}.block"), fault.block, 1, LossProcess::LONGEST_BLOCK)?;
        let (key, probabilities) =
            (format!("{path}.probabilities"), fault.probabilities.as_deref().unwrap_or_default());
        probabilities.iter().try_for_each(|&probability| within(&key, Some(probability), 0.0, 1.0))?;
        let (count, block) = (probabilities.len(), fault.block.unwrap_or_default());
        if !(1..=block as usize).contains(&count) {
            let problem = format!("{count} probabilities for a block of {block}");
            let cure = "give those of losing 1, 2, ... packets, up to the whole block";
            return Err(ValueError::rule(key, problem, cure));
        }
        let sum: f64 = probabilities.iter().sum();
        if sum > 1.0 {
            let problem = format!("together {sum}");
            return Err(ValueError::rule(
                key,
                problem,
                "give at most 1 together; the rest is that of no loss",
            ));
        }
        Ok(())
    }
}

/// When it begins, ends, and routes change.
fn times(path: &str, written: LinkFault) -> Result<LinkFault, ValueError> {
    let at = written.at.unwrap_or(Duration::ZERO);
    within(&format!("{path}.at"), Some(at), Duration::ZERO, LONGEST_RUN)?;
    within(&format!("{path}.until"), written.until, Duration::ZERO, LONGEST_RUN)?;
    if let Some(until) = written.until.filter(|until| *until <= at) {
        let problem = format!("{until}, but it begins at {at}");
        return Err(ValueError::rule(
            format!("{path}.until"),
            problem,
            "give a later time, or leave it out: for ever",
        ));
    }
    let withdraws = written.withdraw_routes.unwrap_or(false);
    if written.withdraw_delay.is_some() && !withdraws {
        let cure = "write withdraw_routes = true, or remove it";
        return Err(ValueError::rule(format!("{path}.withdraw_delay"), "no routes are withdrawn", cure));
    }
    within(&format!("{path}.withdraw_delay"), written.withdraw_delay, Duration::ZERO, LONGEST_DELAY)?;
    Ok(LinkFault {
        at: Some(at),
        both_directions: Some(written.both_directions.unwrap_or(false)),
        withdraw_routes: Some(withdraws),
        withdraw_delay: withdraws.then(|| written.withdraw_delay.unwrap_or(Duration::ZERO)),
        ..written
    })
}

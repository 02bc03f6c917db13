//! Faults of links: which keys each kind needs, their defaults and ranges.

use super::{Context, need};
use crate::error::ValueError;
use crate::limits::{FASTEST, LONGEST_DELAY, LONGEST_RUN, SLOWEST, each_within, within};
use crate::model::{
    BlockLossKeys, Fault, LinkChoice, LinkEvent, LinkFault, LinkFaultCommon, LinkFaultText, LossKeys,
    ProxyDownKeys, RateKeys,
};
use crate::value::{LossPackets, LossPer};
use farspan_fabric::fault::LossProcess;
use farspan_units::Duration;

impl Context<'_> {
    pub(super) fn faults(&self, written: Vec<LinkFaultText>) -> Result<Vec<Fault>, ValueError> {
        (0..).zip(written).map(|(n, fault)| self.fault(&format!("fault[{n}]"), fault)).collect()
    }

    fn fault(&self, path: &str, written: LinkFaultText) -> Result<Fault, ValueError> {
        let kind = written.kind();
        self.only(path, kind.name(), kind.keys(), "")?;
        let common = written.common();
        let event = match written {
            LinkFaultText::LinkDown(_) => LinkEvent::Down,
            LinkFaultText::BlackHole(_) => LinkEvent::BlackHole,
            LinkFaultText::Rate(RateKeys { rate, .. }) => {
                let rate = need(|| format!("{path}.rate"), "the rate meanwhile, such as \"10Gbps\"", rate)?;
                within(&format!("{path}.rate"), rate, SLOWEST, FASTEST)?;
                LinkEvent::Rate(rate)
            }
            LinkFaultText::Loss(LossKeys { probability, packets, .. }) => {
                let what = "the share of packets lost, such as 1e-4";
                let probability = need(|| format!("{path}.probability"), what, probability)?;
                within(&format!("{path}.probability"), probability, 0.0, 1.0)?;
                LinkEvent::Loss { probability, packets: packets.unwrap_or(LossPackets::Data) }
            }
            LinkFaultText::BlockLoss(keys) => self.blocks(path, keys)?,
            LinkFaultText::ProxyDown(ProxyDownKeys { host, at }) => {
                let at = at.unwrap_or(Duration::ZERO);
                within(&format!("{path}.at"), at, Duration::ZERO, LONGEST_RUN)?;
                return Ok(Fault::ProxyDown { host, at });
            }
        };
        let links = links(path, &common)?;
        if let Some(share) = common.share.filter(|share| !(*share > 0.0 && *share <= 1.0)) {
            let problem = format!("{share} is out of range");
            return Err(ValueError::rule(
                format!("{path}.share"),
                problem,
                "give a share above 0, at most 1",
            ));
        }
        let Times { at, withdraw_after } = times(path, &common)?;
        Ok(Fault::OfLinks(LinkFault {
            share: common.share,
            until: common.until,
            both_directions: common.both_directions.unwrap_or(false),
            event,
            links,
            at,
            withdraw_after,
        }))
    }

    fn blocks(&self, path: &str, written: BlockLossKeys) -> Result<LinkEvent, ValueError> {
        let constants = "block_loss";
        let block = self.or_constant(written.block, constants, "block")?;
        let block = need(|| format!("{path}.block"), "packets of a block, such as 10", block)?;
        let probabilities = self.or_constant(written.probabilities, constants, "probabilities")?;
        let probabilities = probabilities.unwrap_or_default();
        within(&format!("{path}.block"), block, 1, LossProcess::LONGEST_BLOCK)?;
        let key = format!("{path}.probabilities");
        each_within(&key, probabilities.iter().copied(), 0.0, 1.0)?;
        let count = probabilities.len();
        if !(1..=block as usize).contains(&count) {
            let problem = format!("{count} probabilities for a block of {block}");
            let cure = "give the probabilities of losing 1, 2, ... packets, up to the whole block";
            return Err(ValueError::rule(key, problem, cure));
        }
        let sum: f64 = probabilities.iter().sum();
        if sum > 1.0 {
            let problem = format!("together {sum}");
            return Err(ValueError::rule(
                key,
                problem,
                "give at most 1 in total; the rest is the probability of no loss",
            ));
        }
        let per = self.or_constant(written.per, constants, "per")?.unwrap_or(LossPer::Queue);
        let packets = self.or_constant(written.packets, constants, "packets")?;
        Ok(LinkEvent::BlockLoss { block, probabilities, per, packets: packets.unwrap_or(LossPackets::Data) })
    }
}

/// The links that a fault names.
fn links(path: &str, written: &LinkFaultCommon) -> Result<LinkChoice, ValueError> {
    match (&written.link, &written.links) {
        (None, None) => {
            let example = "a link, such as \"border0->border1#0\", or a pattern, such as \"border0->border1#*\"; \
                           or links by tier, such as links = \"fabric:agg-core\"";
            Err(ValueError::missing(format!("{path}.link"), example))
        }
        (Some(_), Some(_)) => {
            let cure = "give one of them: link by name, links by tier";
            Err(ValueError::rule(format!("{path}.links"), "link is also given", cure))
        }
        (Some(name), None) => Ok(LinkChoice::Named(name.clone())),
        (None, Some(place)) => Ok(LinkChoice::At(place.clone())),
    }
}

/// The times of a fault that have defaults.
struct Times {
    at: Duration,
    withdraw_after: Option<Duration>,
}

/// When it begins, ends, and routes change.
fn times(path: &str, written: &LinkFaultCommon) -> Result<Times, ValueError> {
    let at = written.at.unwrap_or(Duration::ZERO);
    within(&format!("{path}.at"), at, Duration::ZERO, LONGEST_RUN)?;
    each_within(&format!("{path}.until"), written.until, Duration::ZERO, LONGEST_RUN)?;
    if let Some(until) = written.until.filter(|until| *until <= at) {
        let problem = format!("{until}, but it begins at {at}");
        return Err(ValueError::rule(
            format!("{path}.until"),
            problem,
            "give a later time, or leave it out to last until the end",
        ));
    }
    let withdraws = written.withdraw_routes.unwrap_or(false);
    if written.withdraw_delay.is_some() && !withdraws {
        let cure = "write withdraw_routes = true, or remove it";
        return Err(ValueError::rule(format!("{path}.withdraw_delay"), "no routes are withdrawn", cure));
    }
    each_within(&format!("{path}.withdraw_delay"), written.withdraw_delay, Duration::ZERO, LONGEST_DELAY)?;
    let withdraw_after = withdraws.then(|| written.withdraw_delay.unwrap_or(Duration::ZERO));
    Ok(Times { at, withdraw_after })
}

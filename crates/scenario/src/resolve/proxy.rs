//! Proxies and declared incasts: defaults and ranges.

use super::scheme::in_range;
use crate::error::ValueError;
use crate::limits::{LONGEST_DELAY, within};
use crate::model::{Incast, Ports, Proxy, SchemeClass, Workload};
use crate::value::{
    OnwardRule, Overflow, Part, ProxyDelay, ProxyHost, ProxyHostRule, ProxyLoss, ProxyQueueLimit, ProxyRule,
    RtoRule, WorkloadKind,
};
use farspan_units::{Bytes, Duration};

/// A proxy with every default spelled out; `None`: there is none.
pub(super) fn proxy(written: Option<Proxy>) -> Result<Option<Proxy>, ValueError> {
    let Some(written) = written else { return Ok(None) };
    let kind = written.kind.unwrap_or(ProxyRule::None);
    if kind == ProxyRule::None {
        return Ok(None);
    }
    let is_naive = kind == ProxyRule::Naive;
    let stray = [
        ("queue", written.queue.is_some() && !is_naive),
        ("onward", written.onward.is_some() && !is_naive),
        ("rto", written.rto.is_some() && !is_naive),
        ("loss", written.loss.is_some() && is_naive),
    ];
    if let Some((key, _)) = stray.iter().find(|(_, is_stray)| *is_stray) {
        let cure = format!("remove it, or write kind = {:?}", if is_naive { "streamlined" } else { "naive" });
        let problem = format!("a {kind} proxy has no such setting");
        return Err(ValueError::rule(format!("scheme.proxy.{key}"), problem, cure));
    }
    let delay = written.delay.unwrap_or(ProxyDelay::Constant(Duration::ZERO));
    if let ProxyDelay::Constant(delay) = delay {
        within("scheme.proxy.delay", Some(delay), Duration::ZERO, LONGEST_DELAY)?;
    }
    if let Err(error) = delay.get() {
        let cure = "write points such as [[0.0, \"0us\"], [0.5, \"2us\"], [1.0, \"9us\"]]";
        return Err(ValueError::rule("scheme.proxy.delay", error.to_string(), cure));
    }
    if let Some(ProxyLoss::GapFlow(config)) = &written.loss {
        in_range("scheme.proxy.loss", config.check())?;
    }
    let patience = written.patience.unwrap_or(3);
    within("scheme.proxy.patience", Some(patience), 1, 1000)?;
    Ok(Some(Proxy {
        kind: Some(kind),
        host: Some(written.host.unwrap_or(ProxyHost::Rule(ProxyHostRule::Last))),
        delay: Some(delay),
        queue: is_naive.then(|| written.queue.unwrap_or(ProxyQueueLimit::Unbounded)),
        loss: (!is_naive).then(|| written.loss.unwrap_or(ProxyLoss::Trim)),
        onward: is_naive.then(|| written.onward.unwrap_or(OnwardRule::LineRate)),
        rto: is_naive.then(|| written.rto.unwrap_or(RtoRule::Path)),
        patience: Some(patience),
    }))
}

/// Whether a proxy fits the rest of its scheme.
pub(super) fn check(
    proxy: Option<&Proxy>,
    [intra, inter]: [&SchemeClass; 2],
    ports: &Ports,
    ack: Option<&Part>,
) -> Result<(), ValueError> {
    let Some(proxy) = proxy else { return Ok(()) };
    let name = |part: &Option<Part>| part.as_ref().and_then(Part::name).unwrap_or_default().to_owned();
    if name(&inter.coding) != "none" {
        let cure = "write scheme.inter.coding = \"none\", or remove the proxy";
        return Err(ValueError::rule("scheme.proxy.kind", "what a proxy relays is not coded", cure));
    }
    let is_trimming = ports.overflow == Some(Overflow::Trim);
    if proxy.loss == Some(ProxyLoss::None) && is_trimming {
        let cure = "write scheme.ports.overflow = \"drop\", or loss = \"trim\"";
        return Err(ValueError::rule("scheme.proxy.loss", "ports trim, and nothing tells the senders", cure));
    }
    let naive = proxy.kind == Some(ProxyRule::Naive);
    let on_signals = ["ndp", "dcqcn"].into_iter().find(|control| name(&intra.congestion) == *control);
    if let Some(control) = on_signals.filter(|_| naive) {
        let problem =
            format!("{control} needs more from its receiver than ACKs, which a naive proxy gives alone");
        let cure = "choose another control for scheme.intra, or write kind = \"streamlined\"";
        return Err(ValueError::rule("scheme.proxy.kind", problem, cure));
    }
    if naive && ack.is_some_and(|ack| ack.name() != Some("per_packet")) {
        let cure = "write transport.ack = \"per_packet\", or kind = \"streamlined\"";
        return Err(ValueError::rule("scheme.proxy.kind", "a naive proxy acknowledges each packet", cure));
    }
    Ok(())
}

/// Declared incasts as parts of the workload.
pub(super) fn incasts(declared: Vec<Incast>) -> Result<Vec<Workload>, ValueError> {
    let part = |(n, incast): (usize, Incast)| {
        let missing = |key: &str, example: &str| ValueError::missing(format!("incast[{n}].{key}"), example);
        let senders = incast.senders.filter(|senders| !senders.is_empty());
        let senders = senders.ok_or_else(|| missing("senders", "hosts, such as [0, 1, 2]"))?;
        let receiver = incast.receiver.ok_or_else(|| missing("receiver", "a host, such as 64"))?;
        let bytes = incast.bytes.filter(|bytes| !bytes.is_zero());
        let bytes = bytes.ok_or_else(|| missing("bytes", "a size, such as \"100MB\""))?;
        Ok(Workload {
            kind: Some(WorkloadKind::Incast),
            tag: incast.tag,
            receiver: Some(receiver),
            flow_size: Some(Bytes::new(bytes.get().div_ceil(senders.len() as u64))),
            senders: Some(senders),
            start: incast.start,
            ..Workload::default()
        })
    };
    declared.into_iter().enumerate().map(part).collect()
}

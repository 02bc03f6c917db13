//! Proxies and declared incasts: defaults and ranges.

use super::Context;
use super::scheme::{checked, in_range};
use crate::error::ValueError;
use crate::limits::{LONGEST_DELAY, within};
use crate::model::{
    FullBuffer, IncastKeys, IncastText, NaiveProxy, Ports, Proxy, ProxyText, SchemeClass, Transport,
    WorkloadText,
};
use crate::schemes::control::congestion;
use crate::value::{
    ConnectionScope, OnwardRule, Part, ProxyDelay, ProxyHost, ProxyHostRule, ProxyLoss, ProxyQueueLimit,
    ProxyRule, RtoRule,
};
use farspan_transport::congestion::CongestionConfig;
use farspan_transport::proxy::ProxyKind;
use farspan_units::{Bytes, Duration};

/// The keys of every proxy, beside `kind`.
const COMMON: &[&str] = &["host", "delay", "patience"];

impl Context<'_> {
    /// A proxy with every default spelled out; `None`: there is none.
    pub(super) fn proxy(&self, written: Option<ProxyText>) -> Result<Option<Proxy>, ValueError> {
        let Some(written) = written else { return Ok(None) };
        let loss = written.loss.as_ref().map_or(Ok(ProxyLoss::Trim), loss)?;
        let (kind, keys, elsewhere) = match written.kind.unwrap_or(ProxyRule::None) {
            ProxyRule::None => return Ok(None),
            kind @ ProxyRule::Naive => {
                (kind, &["queue", "onward", "rto"][..], "remove it, or write kind = \"streamlined\"")
            }
            kind @ ProxyRule::Streamlined => (kind, &["loss"][..], "remove it, or write kind = \"naive\""),
        };
        self.only("scheme.proxy", &format!("a {kind} proxy"), &[COMMON, keys].concat(), elsewhere)?;
        let delay = written.delay.unwrap_or(ProxyDelay::Constant(Duration::ZERO));
        if let ProxyDelay::Constant(delay) = delay {
            within("scheme.proxy.delay", delay, Duration::ZERO, LONGEST_DELAY)?;
        }
        delay.get("scheme.proxy.delay")?;
        let kind = if kind == ProxyRule::Naive {
            ProxyKind::Naive(NaiveProxy {
                queue: written.queue.unwrap_or(ProxyQueueLimit::Unbounded),
                onward: written.onward.unwrap_or(OnwardRule::LineRate),
                rto: written.rto.unwrap_or(RtoRule::Path),
            })
        } else {
            ProxyKind::Streamlined(loss)
        };
        let patience = written.patience.unwrap_or(3);
        within("scheme.proxy.patience", patience, 1, 1000)?;
        let host = written.host.unwrap_or(ProxyHost::Rule(ProxyHostRule::Last));
        Ok(Some(Proxy { kind, host, delay, patience }))
    }
}

/// How a proxy learns of losses.
fn loss(written: &Part) -> Result<ProxyLoss, ValueError> {
    let path = "scheme.proxy.loss";
    if written.name().is_none() {
        let cure = "write { name = \"gap-flow\", window = 256 }";
        return Err(ValueError::rule(path, "a table without a name", cure));
    }
    let loss = checked(path, &written.0)?;
    if let ProxyLoss::GapFlow(config) = &loss {
        in_range(path, config.check())?;
    }
    Ok(loss)
}

/// Whether a proxy fits the rest of its scheme.
pub(super) fn check(
    proxy: Option<&Proxy>,
    [intra, inter]: [&SchemeClass; 2],
    ports: &Ports,
    transport: &Transport,
) -> Result<(), ValueError> {
    let Some(proxy) = proxy else { return Ok(()) };
    if inter.coding.name() != Some("none") {
        let cure = "write scheme.inter.coding = \"none\", or remove the proxy";
        return Err(ValueError::rule("scheme.proxy.kind", "a proxy cannot relay coded flows", cure));
    }
    let is_trimming = matches!(ports.overflow, FullBuffer::Trims { .. });
    if proxy.kind == ProxyKind::Streamlined(ProxyLoss::None) && is_trimming {
        let cure = "write scheme.ports.overflow = \"drop\", or loss = \"trim\"";
        return Err(ValueError::rule(
            "scheme.proxy.loss",
            "ports trim packets, but nothing notifies the senders",
            cure,
        ));
    }
    if matches!(ports.overflow, FullBuffer::Trims { return_to_sender: true, .. }) {
        let problem =
            "ports would return the headers of forwarded packets to the proxy, which cannot handle them";
        let cure = "write scheme.ports.return_to_sender = false, or remove the proxy";
        return Err(ValueError::rule("scheme.ports.return_to_sender", problem, cure));
    }
    let naive = matches!(proxy.kind, ProxyKind::Naive(_));
    if naive {
        check_naive_proxy(&congestion("scheme.intra.congestion", &intra.congestion)?)?;
    }
    if naive && intra.coding.name() != Some("none") {
        let cure = "write scheme.intra.coding = \"none\", or kind = \"streamlined\"";
        let problem = "the connection to a naive proxy cannot be coded";
        return Err(ValueError::rule("scheme.proxy.kind", problem, cure));
    }
    if naive && transport.ack.name() != Some("per_packet") {
        let cure = "write transport.ack = \"per_packet\", or kind = \"streamlined\"";
        return Err(ValueError::rule("scheme.proxy.kind", "a naive proxy acknowledges each packet", cure));
    }
    if transport.connections == ConnectionScope::PerPair {
        let cure = "write transport.connections = \"per_flow\", or remove the proxy";
        return Err(ValueError::rule("transport.connections", "a proxy relays flow by flow", cure));
    }
    if transport.handshake {
        let cure = "write transport.handshake = false, or remove the proxy";
        return Err(ValueError::rule("transport.handshake", "flows through a proxy have no handshake", cure));
    }
    Ok(())
}

/// Refuses a control inside the sites that needs more of its receiver than a naive proxy gives.
///
/// # Errors
/// If it needs pulls or CNPs.
pub fn check_naive_proxy(control: &CongestionConfig) -> Result<(), ValueError> {
    let needs = control.needs();
    if needs.pulls.is_none() && needs.cnps.is_none() {
        return Ok(());
    }
    let problem = format!(
        "{} needs more than ACKs from its receiver, but a naive proxy sends only ACKs",
        control.name()
    );
    let cure = "choose another control for scheme.intra, or write kind = \"streamlined\"";
    Err(ValueError::rule("scheme.proxy.kind", problem, cure))
}

/// Declared incasts as parts of the workload.
pub(super) fn incasts(declared: Vec<IncastText>) -> Result<Vec<WorkloadText>, ValueError> {
    let part = |(n, incast): (usize, IncastText)| {
        let missing = |key: &str, example: &str| ValueError::missing(format!("incast[{n}].{key}"), example);
        let senders = incast.senders.filter(|senders| !senders.is_empty());
        let senders = senders.ok_or_else(|| missing("senders", "hosts, such as [0, 1, 2] or \"0..2\""))?;
        let count = senders.count().ok_or_else(|| {
            let problem = "the number of hosts, and what each sends, depend on the topology";
            let cure = "give numbers, ranges or names, such as \"0..7\" or \"host[0..7]\"";
            ValueError::rule(format!("incast[{n}].senders"), problem, cure)
        })?;
        let receiver = incast.receiver.ok_or_else(|| missing("receiver", "a host, such as 64"))?;
        let bytes = incast.bytes.filter(|bytes| !bytes.is_zero());
        let bytes = bytes.ok_or_else(|| missing("bytes", "a size, such as \"100MB\""))?;
        Ok(WorkloadText::Incast(IncastKeys {
            tag: incast.tag,
            receiver: Some(receiver),
            flow_size: Some(Bytes::new(bytes.get().div_ceil(count.max(1)))),
            senders: Some(senders),
            start: incast.start,
            ..IncastKeys::default()
        }))
    };
    declared.into_iter().enumerate().map(part).collect()
}

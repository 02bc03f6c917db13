//! Proxies between the senders of an incast and its receiver: as a text has them, and resolved by kind.

use crate::value::{OnwardRule, Part, ProxyDelay, ProxyHost, ProxyLoss, ProxyQueueLimit, ProxyRule, RtoRule};
use farspan_transport::proxy::ProxyKind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A proxy in the sending site for incasts between sites: parts of the workload whose kind is incast, declared ones among them.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "Proxy")]
pub struct ProxyText {
    /// How it relays: "none", "naive" (it ends the senders' connections, and opens its own to the receiver) or
    /// "streamlined" (one connection through it, and early NACKs). Default: none.
    pub kind: Option<ProxyRule>,
    /// Which host is the proxy: its number; "last" or "random" (the last, or a random host of the sending site that
    /// neither sends nor receives in the incast); "planned" (by a planner that knows all incasts, and may choose none);
    /// "probed" (by the planner, from two hosts drawn for each incast); or a list with a number or "none" for each
    /// incast, in order. Default: last.
    pub host: Option<ProxyHost>,
    /// How long the proxy takes per packet: a time, "ebpf" or "user-space" (as the paper measured), or a distribution
    /// as points of probability and time, such as [[0.0, "0us"], [0.5, "2us"], [1.0, "9us"]]. Default: 0ns.
    pub delay: Option<ProxyDelay>,
    /// Naive: bytes that may wait at the proxy, shared by its flows (at least two packets each), or "unbounded".
    /// Default: unbounded.
    pub queue: Option<ProxyQueueLimit>,
    /// Streamlined: how it detects losses: "trim" (from trimmed packets), "gap-path" (from gaps in the sequence numbers
    /// of each path), "gap-flow" (from later packets of the flow, and from time; or with parameters, { name =
    /// "gap-flow", window = 256 }) or "none". Default: trim.
    #[serde(serialize_with = "Part::in_short")]
    #[schemars(with = "Option<ProxyLoss>")]
    pub loss: Option<Part>,
    /// Naive: the control of the second connection: "line-rate", or "scheme" (the scheme's between sites). Default: line-rate.
    pub onward: Option<OnwardRule>,
    /// Naive: the time-out of the first connection, written like transport.rto. Default: path.
    pub rto: Option<RtoRule>,
    /// How many time-outs a sender waits without news from the proxy before it sends directly to the receiver. The
    /// time-out is that of the direct path. Default: 3.
    pub patience: Option<u32>,
}

/// A proxy: the keys that every kind has, and those of one. Keys are those of [`ProxyText`].
#[derive(Clone, PartialEq, Debug)]
pub struct Proxy {
    /// How it relays; of a streamlined one, how it learns of losses.
    pub kind: ProxyKind<NaiveProxy, ProxyLoss>,
    /// Which host.
    pub host: ProxyHost,
    /// How long it takes over a packet.
    pub delay: ProxyDelay,
    /// After how many time-outs of the direct path without news from the proxy a sender goes straight to its receiver.
    pub patience: u32,
}

/// The keys of a naive proxy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NaiveProxy {
    /// Bytes that may wait at the proxy.
    pub queue: ProxyQueueLimit,
    /// The control of the second connection.
    pub onward: OnwardRule,
    /// The time-out of the first connection.
    pub rto: RtoRule,
}

impl From<&Proxy> for ProxyText {
    fn from(proxy: &Proxy) -> Self {
        let text = Self {
            host: Some(proxy.host.clone()),
            delay: Some(proxy.delay.clone()),
            patience: Some(proxy.patience),
            ..Self::default()
        };
        match proxy.kind {
            ProxyKind::Naive(NaiveProxy { queue, onward, rto }) => Self {
                kind: Some(ProxyRule::Naive),
                queue: Some(queue),
                onward: Some(onward),
                rto: Some(rto),
                ..text
            },
            ProxyKind::Streamlined(loss) => {
                Self { kind: Some(ProxyRule::Streamlined), loss: Some(loss.into()), ..text }
            }
        }
    }
}

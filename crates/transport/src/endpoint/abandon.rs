//! Flows and peers that the driver ends: only it knows how long a peer may be silent, and when one begins anew.

use super::live::Live;
use super::{Endpoint, is_live};
use crate::sender::SenderReport;
use crate::table::{Key, Named as _, PeerFlow};
use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use farspan_units::{FlowId, HostId, Time};

impl Endpoint {
    /// Ends a live sender before its message is acknowledged in full, and gives its report; `None` without one. Its
    /// receiver is not told. Of a [persistent](crate::FlowProfile::persistent) flow it is the report of the oldest message that has not
    /// ended, or of an empty one.
    pub fn cancel(&mut self, now: Time, flow: FlowId) -> Option<SenderReport> {
        let live = self.senders.remove(self.senders.key(flow)?)?;
        self.purge_timers();
        Some(live.sender.report(now))
    }

    /// Forgets a receiver of a message from `peer`, live or complete, and says whether there was one; with it, under which
    /// numbers the message might come through proxies. A packet of the flow that comes later is the first of a message again,
    /// also if the number is closed since the [peer was forgotten](Self::forget_peer); ACKs that wait for the NIC still leave.
    pub fn forget(&mut self, peer: HostId, flow: FlowId) -> bool {
        let name = self.known_as(PeerFlow { peer, flow });
        self.other_names.retain(|_, known_as| *known_as != name);
        self.reopen(name);
        let live = self.receivers.key(name).and_then(|key| self.receivers.remove(key)).is_some();
        let complete = self.delivered.remove(name);
        self.trimmed.remove(&name);
        self.decoded.remove(&name);
        self.pulls.forget(|other| other == name);
        self.purge_timers();
        live || complete
    }

    /// Forgets a peer that is gone, or begins anew: all that came from it, what is relayed for it, and what waits to be said to
    /// it. Afterwards its numbers mean other messages, from 0 on. Senders of messages to it end: gives their reports, by number; of a
    /// persistent flow those of its messages that have not ended.
    /// What it says of them later is dropped, until their [numbers](crate::Message::flow) are used towards it again. What is
    /// relayed to it goes no further, and its sender hears no more of it from here. Of a peer that is a proxy, the messages that
    /// came through it stay: they are their senders'.
    ///
    /// The numbers of flows that it sent through here stay closed: their packets are dropped, so that a sender that was only
    /// silent hears nothing from here, and goes straight to its receiver. [`Self::relay`] and [`Self::forget`] open a number
    /// again; before, no message from the peer to this host itself may bear it. A name stays for each such flow, some 20 bytes,
    /// until the peer is forgotten once more.
    ///
    /// It walks all flows of the endpoint. To end single flows, call [`Self::cancel`] and [`Self::forget`].
    pub fn forget_peer(&mut self, now: Time, peer: HostId) -> Vec<SenderReport> {
        let onward = self.forget_relays(now, peer);
        let reports = self.forget_senders(now, peer, &onward);
        let gone = |name: PeerFlow| name.peer == peer;
        self.receivers.extract(|receiver| gone(receiver.name()));
        self.receivers.iter_mut().for_each(|receiver| receiver.forget_proxy(peer));
        self.delivered.forget(gone);
        self.trimmed.retain(|&name, _| !gone(name));
        self.trimmed.shrink_to_fit();
        self.decoded.retain(|&name, _| !gone(name));
        self.decoded.shrink_to_fit();
        self.other_names.retain(|name, known_as| !gone(*name) && !gone(*known_as));
        self.other_names.shrink_to_fit();
        self.pulls.forget(gone);
        self.replies.forget_to(peer);
        let Self { senders, receivers, timers, .. } = self;
        timers.retain(|timer| is_live(timer, senders, receivers));
        reports
    }

    /// Ends the senders of messages to a peer, and the senders numbered in `onward`, for which it gives no report.
    fn forget_senders(&mut self, now: Time, peer: HostId, onward: &BTreeSet<FlowId>) -> Vec<SenderReport> {
        let ended = self.senders.extract(|live| {
            let sender = &live.sender;
            sender.receiver() == peer || onward.contains(&sender.flow())
        });
        let (senders, has_forwards) = (&self.senders, self.has_forwards());
        let new_key =
            |key: Key<_>| if key == Key::NONE { has_forwards.then_some(key) } else { senders.key(key.name) };
        self.schedule.rekey(new_key);
        let mut own: Vec<_> = ended.iter().filter(|live| !onward.contains(&live.sender.flow())).collect();
        own.sort_by_key(|live| live.sender.flow());
        let reports = |live: &Live| {
            let sender = &live.sender;
            let whole = (!sender.is_persistent()).then(|| sender.report(now));
            whole.into_iter().chain(sender.open_messages(now)).collect::<Vec<_>>()
        };
        own.into_iter().flat_map(reports).collect()
    }
}

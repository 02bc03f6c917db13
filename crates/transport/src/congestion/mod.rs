//! Congestion control: one control per file, one trait for all.
//!
//! | folder | what stands there |
//! |---|---|
//! | `contract/` | what a control is: the trait, its events and decisions, controls of other crates |
//! | `parts/` | what several controls are made of: windows, rates, averages of signals |
//! | `controls/` | the controls, and their registry |
//! | `testing/` | what holds for all of them: conformance, window curves, closed forms |
//!
//! A control only decides: it is notified of events and returns a [`Decision`]. It never sees the
//! sender's tables, the clock or another flow. Its [`Needs`] name all that it reads beside ACKs and losses. Where a control
//! finds its inputs:
//!
//! | need | place |
//! |---|---|
//! | RTT of each ACK (Swift, TIMELY, theta-PowerTCP, Vegas) | [`Ack::rtt`] |
//! | delivery-rate samples, app-limited flags (BBR) | [`Ack::at_send`] |
//! | send time, in-flight at send (OSCAR) | [`Ack::sent_at`], [`Ack::at_send`] |
//! | queues and rates of ports (HPCC, PowerTCP, Poseidon) | [`Ack::hops`] |
//! | one-way delay (OSCAR) | [`Ack::received_at`] |
//! | trims, bytes acknowledged in a period (SMaRTT) | [`Congestion::on_nack`], [`Ack::bytes_acked`], [`Congestion::on_timeout`] |
//! | a window below one packet (Swift, HPCC) | a window of one packet with a `pacing_rate` of what it really is, a round trip |
//! | a rate without a window (TIMELY, DCQCN) | `cwnd = Bytes::MAX` with a `pacing_rate`, [`Congestion::on_timer`] |
//! | notifications of marks (DCQCN) | [`Congestion::on_cnp`] |
//! | a window that may close | [`Congestion::floor`] |
//! | a window that falls to what is in flight | [`Congestion::lower`], by [`OnNack`] |
//! | credit from the receiver (NDP, EQDS) | [`Decision::allowance`], [`Congestion::on_pull`] |
//!
//! A new kind of signal is one more event of [`Congestion`] (or a field of an event) whose default leaves the decision
//! alone, and a field of [`Needs`].
//!
//! Adding a control: write its file in `controls/`, then one line in the registry at the end of `controls/mod.rs`, which
//! enrols it in the conformance, fuzz and window-curve tests. A control in a crate of its own has a [`Factory`] instead, and the same tests
//! in `testing`, with the feature `conformance`.

mod contract;
mod controls;
mod parts;
#[cfg(any(test, feature = "conformance"))]
pub mod testing;

pub use contract::{
    Ack, Cnp, Congestion, Custom, Decision, Ecn, Factory, Floor, Idle, Loss, Nack, NackCause, NackRule,
    Needs, OnNack, Pull, SendRecord, Sent, SignalBytes, Start, Timeout,
};
pub use controls::*;
pub use parts::pace::Pacing;
pub use parts::signals::{Threshold, ThresholdRule};
pub use parts::window::Cap;

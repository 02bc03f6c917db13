//! TCP's window: slow start, and the reactions to loss and time-outs that DCTCP and Gemini keep.
//!
//! RFC 5681, with bytes counted (RFC 3465). The window grows only while at least half of it is used (RFC 7661 section
//! 4.3): a sender that its NIC holds back would otherwise grow it for ever. Left out: the pipe accounting of fast
//! recovery, which the sender does by taking lost bytes out of flight.

use crate::congestion::contract::{Ack, Idle, Start};
use crate::path::Path;
use farspan_units::{Bytes, Time};

/// The largest part of a window that one signal of congestion may take (RFC 5681; DCTCP's cut with every packet
/// marked).
pub(crate) const LARGEST_CUT: f64 = 0.5;

/// The largest window.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub enum Cap {
    /// None.
    None,
    /// The bandwidth-delay product of the path.
    Bdp,
}

impl Cap {
    /// The largest window on this path, in bytes.
    pub(crate) fn bytes(self, path: &Path) -> f64 {
        match self {
            Self::None => f64::INFINITY,
            Self::Bdp => path.bdp.as_f64(),
        }
    }
}

/// Bytes that were sent, for formulas: a signed integer costs less to convert, and holds them.
#[inline]
pub(crate) const fn to_f64(bytes: Bytes) -> f64 {
    bytes.get() as i64 as f64
}

/// Between what a path's windows stay, in bytes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Bounds {
    /// One full packet: the smallest window.
    pub mss: f64,
    /// The largest window.
    cap: f64,
}

impl Bounds {
    pub(crate) fn new(path: &Path, cap: f64) -> Self {
        let mss = path.mss.as_f64();
        Self { mss, cap: cap.max(mss) }
    }

    /// The nearest window that a path may have.
    pub fn clamp(&self, cwnd: f64) -> f64 {
        cwnd.clamp(self.mss, self.cap)
    }
}

/// A congestion window in bytes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Window {
    /// The window.
    cwnd: f64,
    /// Slow start below this, congestion avoidance from it on.
    ssthresh: f64,
    /// When loss last reduced the window: losses of packets sent before belong to the same episode.
    lost_at: Time,
    /// When a time-out last collapsed the window.
    timed_out_at: Time,
}

impl Window {
    /// The first window. One smaller than the bandwidth-delay product begins with slow start; one as large has nothing
    /// to look for and begins with congestion avoidance.
    pub(crate) fn new(bounds: &Bounds, start: &Start<'_>) -> Self {
        let cwnd = bounds.clamp(start.initial_cwnd.as_f64());
        let ssthresh = if start.initial_cwnd < start.path.bdp { f64::INFINITY } else { cwnd };
        Self { cwnd, ssthresh, lost_at: Time::ZERO, timed_out_at: Time::ZERO }
    }

    /// The name of the state, as TCP calls it.
    pub(crate) fn state(&self) -> &'static str {
        if self.is_slow_start() { "slow_start" } else { "congestion_avoidance" }
    }

    /// Whether it is below its slow start threshold.
    #[inline]
    pub(crate) fn is_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// Ends slow start where the window is.
    pub(crate) const fn end_slow_start(&mut self) {
        self.ssthresh = self.cwnd;
    }

    /// Gives the window another size; slow start stays, or stays over.
    pub(crate) fn resize(&mut self, bounds: &Bounds, cwnd: f64) {
        let is_slow_start = self.is_slow_start();
        self.cwnd = bounds.clamp(cwnd);
        if !is_slow_start {
            self.ssthresh = self.ssthresh.min(self.cwnd);
        }
    }

    /// The window in bytes.
    #[inline]
    pub(crate) const fn get(&self) -> f64 {
        self.cwnd
    }

    /// The window in whole bytes.
    #[inline]
    pub(crate) const fn bytes(&self) -> Bytes {
        // A signed integer costs less to convert to, and holds every window.
        Bytes::new(self.cwnd as i64 as u64)
    }

    /// Grows for an ACK as [`Self::grow_always`] does, but not for ACKs of packets sent before the last loss, nor while
    /// less than half of the window is used.
    #[inline(always)]
    pub(crate) fn grow(&mut self, bounds: &Bounds, ack: &Ack, step: f64) {
        if self.may_grow(ack) {
            self.grow_always(bounds, ack, step);
        }
    }

    /// Whether an ACK may grow it: one of a packet sent after the last loss, while at least half of the window is used.
    #[inline(always)]
    pub(crate) fn may_grow(&self, ack: &Ack) -> bool {
        let used = to_f64(ack.in_flight + ack.bytes_acked);
        self.is_recovered(ack) && 2.0 * used >= self.cwnd
    }

    /// Whether an ACK is of a packet sent after the last loss.
    #[inline(always)]
    pub(crate) fn is_recovered(&self, ack: &Ack) -> bool {
        ack.sent_at >= self.lost_at
    }

    /// Grows for an ACK: by the bytes acked in slow start, by `step` bytes a round trip after it.
    #[inline(always)]
    pub(crate) fn grow_always(&mut self, bounds: &Bounds, ack: &Ack, step: f64) {
        let acked = to_f64(ack.bytes_acked);
        self.cwnd = if self.cwnd < self.ssthresh {
            (self.cwnd + acked).min(self.ssthresh.max(bounds.mss))
        } else {
            self.cwnd + step * acked / self.cwnd
        };
        if self.cwnd > bounds.cap {
            self.cwnd = bounds.cap;
        }
    }

    /// Takes a part of the window away and ends slow start (RFC 3168 section 6.1.2).
    #[inline(never)]
    pub(crate) fn cut(&mut self, bounds: &Bounds, part: f64) {
        self.keep(bounds, 1.0 - part, 1.0);
    }

    /// Leaves this share of the window, and so many packets at least, and ends slow start (RFC 5681 section 3.1, equation 4).
    pub(crate) fn keep(&mut self, bounds: &Bounds, share: f64, least: f64) {
        self.cwnd = (self.cwnd * share).max(least * bounds.mss).min(self.cwnd);
        self.ssthresh = self.cwnd;
    }

    /// Takes a part of the window away; slow start goes on up to its threshold.
    pub(crate) fn cut_in_slow_start(&mut self, bounds: &Bounds, part: f64) {
        let threshold = self.ssthresh;
        let in_slow_start = self.cwnd < threshold;
        self.cut(bounds, part);
        if in_slow_start {
            self.ssthresh = threshold;
        }
    }

    /// The window is at most this from here on, which ends slow start if it falls.
    pub(crate) fn lower(&mut self, bounds: &Bounds, most: Bytes) {
        let most = most.as_f64().max(bounds.mss);
        if self.cwnd > most {
            (self.cwnd, self.ssthresh) = (most, most);
        }
    }

    /// After an idle time longer than the time-out: half the window for each time-out that has passed, down to the first window,
    /// and slow start up to three quarters of it at least (RFC 5681 section 4.1; Linux's `tcp_cwnd_restart`, RFC 2861).
    pub(crate) fn restart(&mut self, bounds: &Bounds, idle: &Idle) {
        if idle.idle <= idle.rto || idle.rto.is_zero() {
            return;
        }
        let timeouts = (idle.idle.as_ps() - 1) / idle.rto.as_ps();
        let first = idle.initial_cwnd.as_f64().min(self.cwnd);
        let halved = self.cwnd / libm::exp2(timeouts.min(64) as f64);
        self.ssthresh = self.ssthresh.max(0.75 * self.cwnd);
        self.cwnd = bounds.clamp(halved.max(first));
    }

    /// Halves the window, once for all packets that were in flight together (RFC 5681 section 3.2, RFC 6582).
    /// Says whether it did.
    pub(crate) fn on_loss(&mut self, bounds: &Bounds, now: Time, sent_at: Time) -> bool {
        let is_new = self.begins_episode(now, sent_at);
        if is_new {
            self.cut(bounds, LARGEST_CUT);
        }
        is_new
    }

    /// Whether the loss of a packet sent at `sent_at` is the first of those that were in flight together (RFC 6582).
    pub(crate) fn begins_episode(&mut self, now: Time, sent_at: Time) -> bool {
        let is_new = sent_at >= self.lost_at;
        if is_new {
            self.lost_at = now;
        }
        is_new
    }

    /// Goes back to one packet and slow start up to half the window (RFC 5681 section 3.1), once for all packets that
    /// were in flight together. A window that is one packet already keeps its threshold.
    pub(crate) fn on_timeout(&mut self, bounds: &Bounds, now: Time, sent_at: Time) {
        self.collapse(bounds, now, sent_at, 0.5);
    }

    /// As [`Self::on_timeout`], with slow start up to this share of the window. Says whether it collapsed.
    pub(crate) fn collapse(&mut self, bounds: &Bounds, now: Time, sent_at: Time, share: f64) -> bool {
        if sent_at < self.timed_out_at {
            return false;
        }
        self.timed_out_at = now;
        self.lost_at = now;
        if self.cwnd > bounds.mss {
            self.ssthresh = (self.cwnd * share).max(2.0 * bounds.mss);
        }
        self.cwnd = bounds.mss;
        true
    }
}

/// The methods of [`super::Congestion`] that controls with a [`Window`] and a pace share: the decision, and TCP's reactions to losses,
/// where a NACK counts as a loss. The control's `lost` and `timed_out` take the time and the send time of the newest lost transmission.
macro_rules! tcp_window {
    () => {
        fn state(&self) -> Option<&'static str> {
            Some(self.window.state())
        }

        #[inline(always)]
        fn decision(&self) -> Decision {
            Decision {
                pacing_rate: self.pace.rate(&self.params.pace, self.window.get()),
                ..Decision::window(self.window.bytes())
            }
        }

        fn on_nack(&mut self, nack: &$crate::congestion::Nack) -> Decision {
            self.lost(nack.now, nack.sent_at);
            self.decision()
        }

        fn lower(&mut self, most: ::farspan_units::Bytes) -> Decision {
            self.window.lower(&self.params.bounds, most);
            self.decision()
        }

        fn on_idle(&mut self, idle: &$crate::congestion::Idle) -> Decision {
            self.window.restart(&self.params.bounds, idle);
            self.decision()
        }

        fn on_loss(&mut self, loss: &$crate::congestion::Loss) -> Decision {
            self.lost(loss.now, loss.sent_at);
            self.decision()
        }

        fn on_timeout(&mut self, timeout: &$crate::congestion::Timeout) -> Decision {
            self.timed_out(timeout.now, timeout.sent_at);
            self.decision()
        }
    };
}
pub(crate) use tcp_window;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::testing::{AckStream, MSS, near, path, start, start_with};
    use farspan_units::Duration;

    const BOUNDS: Bounds = Bounds { mss: MSS, cap: f64::INFINITY };

    fn window(packets: u64) -> Window {
        Window::new(&Bounds::new(&path(), f64::INFINITY), &start_with(Bytes::new(packets * 4096)))
    }

    /// A window of ten packets in congestion avoidance.
    fn steady() -> Window {
        let mut window = window(20);
        window.cut(&BOUNDS, 0.5);
        window
    }

    fn at(us: u64) -> Time {
        Time::ZERO + Duration::from_us(us)
    }

    #[test]
    fn slow_start_doubles_the_window_each_round() {
        let mut w = window(10);
        let mut acks = AckStream::new(&start());
        for _ in 0..10 {
            w.grow(&BOUNDS, &acks.next(false), MSS);
        }
        near(w.get(), 20.0 * MSS, 1e-9);
    }

    #[test]
    fn congestion_avoidance_adds_one_step_a_round() {
        let mut w = steady();
        let mut acks = AckStream::new(&start());
        for _ in 0..10 {
            w.grow(&BOUNDS, &acks.next(false), MSS);
        }
        near(w.get(), 11.0 * MSS, 0.05 * MSS);
    }

    #[test]
    fn a_start_with_one_bdp_skips_slow_start() {
        let mut w = Window::new(&BOUNDS, &start());
        w.grow(&BOUNDS, &AckStream::new(&start()).next(false), MSS);
        assert!(w.get() < start().path.bdp.as_f64() + MSS / 40.0);
    }

    #[test]
    fn a_window_less_than_half_used_does_not_grow() {
        let mut w = steady();
        let mut ack = AckStream::new(&start()).next(false);
        ack.in_flight = Bytes::new(3 * 4096);
        w.grow(&BOUNDS, &ack, MSS);
        near(w.get(), 10.0 * MSS, 0.0);
        ack.in_flight = Bytes::new(4 * 4096);
        w.grow(&BOUNDS, &ack, MSS);
        assert!(w.get() > 10.0 * MSS);
    }

    #[test]
    fn the_window_stops_at_its_cap() {
        let bounds = Bounds::new(&path(), 10.5 * MSS);
        let mut w = Window::new(&bounds, &start_with(Bytes::new(10 * 4096)));
        w.grow(&bounds, &AckStream::new(&start()).next(false), MSS);
        near(w.get(), 10.5 * MSS, 0.0);
    }

    #[test]
    fn one_episode_of_loss_halves_once() {
        let mut w = steady();
        assert!(w.on_loss(&BOUNDS, at(100), at(50)));
        assert!(!w.on_loss(&BOUNDS, at(110), at(90)), "sent before the first loss was found");
        near(w.get(), 5.0 * MSS, 0.0);
        assert!(w.on_loss(&BOUNDS, at(200), at(100)), "sent after it");
        near(w.get(), 2.5 * MSS, 0.0);
    }

    #[test]
    fn acks_of_the_window_that_lost_do_not_grow_it() {
        let mut w = steady();
        w.on_loss(&BOUNDS, at(100), at(50));
        let mut ack = AckStream::new(&start()).next(false);
        ack.sent_at = at(99);
        w.grow(&BOUNDS, &ack, MSS);
        near(w.get(), 5.0 * MSS, 0.0);
        ack.sent_at = at(100);
        w.grow(&BOUNDS, &ack, MSS);
        assert!(w.get() > 5.0 * MSS);
    }

    #[test]
    fn a_time_out_goes_to_one_packet_and_slow_start_to_half_the_window() {
        let mut w = steady();
        w.on_timeout(&BOUNDS, at(100), at(0));
        near(w.get(), MSS, 0.0);
        let mut acks = AckStream::new(&start());
        acks.now = at(200);
        for expected in [2.0, 3.0, 4.0, 5.0] {
            w.grow(&BOUNDS, &acks.next(false), MSS);
            near(w.get(), expected * MSS, 0.0);
        }
        w.grow(&BOUNDS, &acks.next(false), MSS);
        near(w.get(), 5.2 * MSS, 1e-9);
    }

    #[test]
    fn time_outs_of_one_flight_collapse_the_window_once() {
        let mut w = steady();
        w.on_timeout(&BOUNDS, at(100), at(0));
        let mut acks = AckStream::new(&start());
        acks.now = at(200);
        w.grow(&BOUNDS, &acks.next(false), MSS);
        w.on_timeout(&BOUNDS, at(201), at(99));
        near(w.get(), 2.0 * MSS, 0.0);
    }

    #[test]
    fn a_repeated_time_out_keeps_the_slow_start_threshold() {
        let mut w = steady();
        w.on_timeout(&BOUNDS, at(100), at(0));
        let threshold = w.ssthresh;
        w.on_timeout(&BOUNDS, at(600), at(100));
        near(w.ssthresh, threshold, 0.0);
    }

    #[test]
    fn a_cut_ends_slow_start_or_leaves_its_threshold() {
        let slow = |cut: fn(&mut Window)| {
            let mut w = steady();
            w.on_timeout(&BOUNDS, at(100), at(0));
            let mut acks = AckStream::new(&start());
            acks.now = at(200);
            (0..3).for_each(|_| w.grow(&BOUNDS, &acks.next(false), MSS));
            cut(&mut w);
            w.state()
        };
        assert_eq!(slow(|w| w.cut(&BOUNDS, 0.1)), "congestion_avoidance");
        assert_eq!(slow(|w| w.cut_in_slow_start(&BOUNDS, 0.1)), "slow_start");
        let mut w = steady();
        w.cut_in_slow_start(&BOUNDS, 0.1);
        assert_eq!(w.state(), "congestion_avoidance", "it does not begin anew");
    }

    /// A window of ten packets after so many nanoseconds, with a time-out of 100 us and a first window of so many packets.
    fn rested(ns: u64, first: u64) -> Window {
        let (now, idle, rto) = (at(1_000_000), Duration::from_ns(ns), Duration::from_us(100));
        let mut w = steady();
        w.restart(&BOUNDS, &Idle { now, idle, rto, initial_cwnd: Bytes::new(first * 4096) });
        w
    }

    #[test]
    fn an_idle_time_halves_the_window_for_each_time_out_down_to_the_first_window() {
        let after = |ns, first| rested(ns, first).get() / MSS;
        let times = [0, 99_999, 100_000, 100_001, 200_000, 200_001, 300_001, 400_001, u64::MAX / 1000];
        let windows = times.map(|ns| after(ns, 1));
        let expected = [10.0, 10.0, 10.0, 5.0, 5.0, 2.5, 1.25, 1.0, 1.0];
        windows.iter().zip(expected).for_each(|(&window, expected)| near(window, expected, 0.0));
        near(after(200_001, 4), 4.0, 0.0);
        near(after(1_000_001, 20), 10.0, 0.0);
    }

    #[test]
    fn after_an_idle_time_slow_start_goes_to_three_quarters_of_the_window_or_its_threshold() {
        near(rested(100_000, 1).ssthresh, 10.0 * MSS, 0.0);
        near(rested(200_001, 1).ssthresh, 10.0 * MSS, 0.0);
        let (now, idle, rto) = (at(1_000_000), Duration::from_us(350), Duration::from_us(100));
        let idle = Idle { now, idle, rto, initial_cwnd: Bytes::new(4096) };
        let mut w = Window { cwnd: 16.0 * MSS, ..steady() };
        w.restart(&BOUNDS, &idle);
        assert_eq!((w.get() / MSS, w.ssthresh / MSS, w.state()), (2.0, 12.0, "slow_start"));
        // Without a time-out to measure it by, no time is long.
        w.restart(&BOUNDS, &Idle { rto: Duration::ZERO, ..idle });
        near(w.get(), 2.0 * MSS, 0.0);
    }

    #[test]
    fn any_ack_grows_a_window_that_asks_for_no_use() {
        let mut w = steady();
        w.on_loss(&BOUNDS, at(100), at(50));
        let mut ack = AckStream::new(&start()).next(false);
        (ack.sent_at, ack.in_flight) = (at(99), Bytes::ZERO);
        w.grow_always(&BOUNDS, &ack, MSS);
        assert!(w.get() > 5.0 * MSS);
    }

    #[test]
    fn the_window_is_never_below_one_packet() {
        let mut w = window(1);
        w.cut(&BOUNDS, 0.5);
        near(w.get(), MSS, 0.0);
    }
}

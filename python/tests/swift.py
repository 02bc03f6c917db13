"""Swift as farspan's own, statement by statement, with the constants of its paper: the delay of each ACK."""

from __future__ import annotations

from math import sqrt

import farspan as fs
from farspan.control import Ack, Decision, FlowPath, Loss, Timeout


class Swift(fs.Control):
    needs = frozenset[str]()
    base_target_ps = 12_500_000
    fs_range = 50_000_000.0
    fs_min = 0.1
    fs_max = 100.0
    ai = 1.0
    beta = 0.8
    max_mdf = 0.5
    min_cwnd = 0.01
    reset_after = 5

    def start(self, path: FlowPath) -> Decision:
        self.mss = path.mss
        # Packets are the unit of windows. Of a window of payload, the headers fill a part of the link.
        unit = float(path.mss)
        payload = unit / (path.mss + path.header)
        target = path.base_rtt_ps + self.base_target_ps
        self.base_target = float(target)
        least, most = 1.0 / sqrt(self.fs_min * unit), 1.0 / sqrt(self.fs_max * unit)
        self.fs_alpha = self.fs_range / (least - most)
        self.fs_offset = -self.fs_alpha * most
        self.increase = self.ai * unit
        self.smallest = min(self.min_cwnd * unit, unit)
        self.bits_per_byte = 8.0 / payload * 1e12
        self.cwnd = float(max(path.initial_cwnd, path.mss))
        cap = path.line_rate / 8.0 * (target * 1e-12) * payload
        self.max = max(self.cwnd, max(cap, unit))
        self.rtt = path.base_rtt_ps
        self.decreased_at = 0
        self.timeouts = self.flight_at = 0
        return self.decision()

    def decision(self) -> Decision:
        if self.cwnd >= self.mss:
            return self.cwnd, None
        # A packet each RTT / cwnd.
        return self.mss, max(self.cwnd * self.bits_per_byte / max(float(self.rtt), 1.0), 1.0)

    def target(self) -> float:
        addition = self.fs_alpha / sqrt(self.cwnd) + self.fs_offset
        return self.base_target + min(max(addition, 0.0), self.fs_range)

    def on_ack(self, ack: Ack) -> Decision:
        self.timeouts = 0
        self.rtt = ack.rtt_ps
        delay, target = float(ack.rtt_ps), self.target()
        if delay < target:
            self.cwnd = min(self.cwnd + self.increase * ack.bytes_acked / max(self.cwnd, self.mss), self.max)
        else:
            left = 1.0 - self.beta * (delay - target) / delay
            self.decrease(ack.now_ps, max(left, 1.0 - self.max_mdf))
        return self.decision()

    def on_loss(self, loss: Loss) -> Decision:
        self.timeouts = 0
        self.decrease(loss.now_ps, 1.0 - self.max_mdf)
        return self.decision()

    def on_nack(self, nack: Loss) -> Decision:
        return self.on_loss(nack)

    def on_timeout(self, timeout: Timeout) -> Decision:
        # One time-out counts among packets that were in flight together.
        if timeout.sent_at_ps >= self.flight_at:
            self.flight_at = timeout.now_ps
            self.timeouts += 1
        if self.timeouts >= self.reset_after:
            self.cwnd, self.decreased_at = self.smallest, timeout.now_ps
        else:
            self.decrease(timeout.now_ps, 1.0 - self.max_mdf)
        return self.decision()

    def decrease(self, now_ps: int, left: float) -> None:
        if now_ps - self.decreased_at >= self.rtt:
            self.decreased_at = now_ps
            self.cwnd = max(self.cwnd * left, self.smallest)

    def lower(self, most: int) -> Decision:
        self.cwnd = min(self.cwnd, float(max(most, self.mss)))
        return self.decision()

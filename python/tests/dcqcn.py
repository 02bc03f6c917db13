"""DCQCN as farspan's own, statement by statement, with the constants of its paper: CNPs, timers and sent packets."""

from __future__ import annotations

import math

import farspan as fs
from farspan.control import Ack, Cnp, Decision, FlowPath, Sent

US = 1_000_000


class Dcqcn(fs.Control):
    needs = frozenset({"ecn", "cnp", "sent"})
    cnp_interval_ps = 50 * US
    gain = 1.0 / 256.0
    alpha_timer = 55 * US
    increase_timer = 55 * US
    byte_counter = 10_000_000
    recoveries = 5
    additive = 0.001
    hyper = 0.01
    least = 0.001

    def start(self, path: FlowPath) -> Decision:
        self.mss, self.header = path.mss, path.header
        self.line_rate = float(path.line_rate)
        self.bdp = max(float(path.bdp), 1.0)
        # Rates are parts of the line rate.
        self.rate = min(max(path.cwnd_on_wire / self.bdp, self.least), 1.0)
        self.target = self.rate
        self.alpha = 1.0
        self.by_timer = self.by_bytes = self.sent = 0
        # When the timers come up; they run from the first CNP on.
        self.timers: tuple[int, int] | None = None
        return self.decision()

    def decision(self) -> Decision:
        timer = min(self.timers) if self.timers else None
        return math.inf, max(self.line_rate * self.rate, 1.0), timer

    def on_ack(self, ack: Ack) -> None:
        return None

    def on_sent(self, sent: Sent) -> Decision | None:
        if self.timers is None and self.rate < 1.0:
            self.restart(sent.now_ps)
        if self.timers is None:
            return None
        self.sent += sent.bytes + self.header
        if self.sent >= self.byte_counter:
            self.sent -= self.byte_counter
            self.by_bytes += 1
            self.increase()
        return self.decision()

    def on_cnp(self, cnp: Cnp) -> Decision:
        self.target = self.rate
        self.rate = max(self.rate * (1.0 - self.alpha / 2.0), self.least)
        self.alpha = (1.0 - self.gain) * self.alpha + self.gain
        self.by_timer = self.by_bytes = self.sent = 0
        self.restart(cnp.now_ps)
        return self.decision()

    def on_timer(self, now_ps: int) -> Decision:
        if self.timers:
            alpha, increase = self.timers
            if alpha <= now_ps:
                self.alpha *= 1.0 - self.gain
                alpha = now_ps + self.alpha_timer
            if increase <= now_ps:
                increase = now_ps + self.increase_timer
                self.by_timer += 1
                self.increase()
            self.timers = alpha, increase
        return self.decision()

    def lower(self, most: int) -> Decision:
        rate = max(most, self.mss) / self.bdp
        self.rate, self.target = min(self.rate, rate), min(self.target, rate)
        return self.decision()

    def restart(self, now_ps: int) -> None:
        self.timers = now_ps + self.alpha_timer, now_ps + self.increase_timer

    def increase(self) -> None:
        most, least = max(self.by_timer, self.by_bytes), min(self.by_timer, self.by_bytes)
        if least > self.recoveries:
            self.target += self.hyper * (least - self.recoveries)
        elif most >= self.recoveries:
            self.target += self.additive
        self.target = min(self.target, 1.0)
        self.rate = (self.target + self.rate) / 2.0

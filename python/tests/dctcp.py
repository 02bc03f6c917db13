"""DCTCP as farspan's own, statement by statement: the twin that shows that both get the same events and numbers."""

from __future__ import annotations

import math

import farspan as fs
from farspan.control import Ack, Decision, FlowPath, Loss


class Dctcp(fs.Control):
    needs = frozenset({"ecn"})
    gain = 0.0625

    def start(self, path: FlowPath) -> Decision:
        self.mss = float(path.mss)
        self.cwnd = max(float(path.initial_cwnd), self.mss)
        searching = path.initial_cwnd < path.bdp
        self.ssthresh = math.inf if searching else self.cwnd
        self.alpha = 1.0 if searching else 0.0
        self.acked = self.marked = 0
        self.round_at = self.reduced_at = self.lost_at = self.timed_out_at = 0
        return self.cwnd, None

    def on_ack(self, ack: Ack) -> Decision:
        self.acked += ack.bytes_acked
        if ack.ecn_ce:
            self.marked += ack.bytes_acked
        if ack.sent_at_ps >= self.round_at:
            self.round_at = ack.now_ps
            if self.acked > 0:
                self.alpha = (1.0 - self.gain) * self.alpha + self.gain * (self.marked / self.acked)
                self.acked = self.marked = 0
        if not ack.ecn_ce:
            self.grow(ack)
        elif ack.sent_at_ps >= self.reduced_at:
            self.reduced_at = ack.now_ps
            self.cut(self.alpha / 2.0)
        return self.cwnd, None

    def grow(self, ack: Ack) -> None:
        if ack.sent_at_ps < self.lost_at or 2.0 * (ack.in_flight + ack.bytes_acked) < self.cwnd:
            return
        if self.cwnd < self.ssthresh:
            self.cwnd = min(self.cwnd + ack.bytes_acked, max(self.ssthresh, self.mss))
        else:
            self.cwnd += self.mss * ack.bytes_acked / self.cwnd

    def cut(self, part: float) -> None:
        self.cwnd = max(self.cwnd * (1.0 - part), self.mss)
        self.ssthresh = self.cwnd

    def on_loss(self, loss: Loss) -> Decision:
        if loss.sent_at_ps >= self.reduced_at:
            self.reduced_at = loss.now_ps
            if loss.sent_at_ps >= self.lost_at:
                self.lost_at = loss.now_ps
                self.cut(0.5)
        return self.cwnd, None

    def on_nack(self, loss: Loss) -> Decision:
        return self.on_loss(loss)

    def on_timeout(self, loss: Loss) -> Decision:
        if loss.sent_at_ps >= self.timed_out_at:
            self.timed_out_at = self.lost_at = loss.now_ps
            if self.cwnd > self.mss:
                self.ssthresh = max(self.cwnd * 0.5, 2.0 * self.mss)
            self.cwnd = self.mss
        return self.cwnd, None

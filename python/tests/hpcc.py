"""HPCC as farspan's own, statement by statement, with the constants of its paper: a control that reads telemetry."""

from __future__ import annotations

import farspan as fs
from farspan.control import Ack, Decision, FlowPath, Hop


class Hpcc(fs.Control):
    needs = frozenset({"telemetry"})
    signal_bytes = (42, 42)
    eta = 0.95
    max_stage = 5
    additive = 0.0005
    least = 0.001

    def start(self, path: FlowPath) -> Decision:
        self.mss = path.mss
        self.base_rtt = path.base_rtt_ps * 1e-12
        self.bdp = max(float(path.bdp), 1.0)
        self.window = float(path.cwnd_on_wire)
        # The first window counts payload alone, until the window has moved.
        self.first: int | None = path.initial_cwnd
        self.reference = self.window
        self.max = max(self.window, self.bdp)
        self.utilization = 1.0
        self.stage = 0
        self.round_at = 0
        self.stamps: list[tuple[int, int, int]] = []
        return self.decision()

    def decision(self) -> Decision:
        rate = max(self.window * 8.0 / self.base_rtt, 1.0)
        cwnd = int(self.window)
        if self.first is not None:
            cwnd = min(cwnd, self.first)
        return max(cwnd, self.mss), rate

    def on_ack(self, ack: Ack) -> Decision:
        if self.measure(ack.hops):
            ends_round = ack.sent_at_ps >= self.round_at
            if ends_round:
                self.round_at = ack.now_ps
            self.update(ends_round)
        elif self.round_at == 0:
            self.round_at = ack.now_ps
        return self.decision()

    def measure(self, hops: tuple[Hop, ...]) -> bool:
        stamps = [(hop.at_ps, hop.sent, hop.queued) for hop in hops]
        before, self.stamps = self.stamps, stamps
        if len(before) != len(stamps):
            return False
        busiest = None
        for hop, (at, sent, queued), (at_before, sent_before, queued_before) in zip(hops, stamps, before, strict=True):
            if at <= at_before:
                continue
            elapsed = (at - at_before) * 1e-12
            rate = hop.rate / 8.0
            load = min(queued_before, queued) / (rate * self.base_rtt) + max(sent - sent_before, 0) / elapsed / rate
            if busiest is None or load > busiest[0]:
                busiest = load, min(elapsed, self.base_rtt)
        if busiest is None:
            return False
        load, elapsed = busiest
        weight = elapsed / self.base_rtt
        self.utilization = (1.0 - weight) * self.utilization + weight * load
        return True

    def update(self, ends_round: bool) -> None:
        multiplies = self.utilization >= self.eta or self.stage >= self.max_stage
        scaled = self.reference / (self.utilization / self.eta) if multiplies else self.reference
        self.window = min(max(scaled + self.additive * self.bdp, self.least * self.bdp), self.max)
        self.first = None
        if ends_round:
            self.stage = 0 if multiplies else self.stage + 1
            self.reference = self.window

    def lower(self, most: int) -> Decision:
        limit = float(max(most, self.mss))
        self.window, self.reference = min(self.window, limit), min(self.reference, limit)
        return self.decision()

    def signal(self) -> float:
        return self.utilization

    def state(self) -> str:
        return "multiplying" if self.stage == 0 else "adding"

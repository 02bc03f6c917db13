"""How long OSCAR's long flow needs to take a link back when N short flows leave it, in a model that shares no code with
farspan. Algorithms 1 and 2 of the OSCAR paper (NSDI 2026) with one FIFO port of 100 Gb/s, a base round trip of 12 us and packet times (section 6.3), packets
of 1,000 B and 60 B of headers, an ACK a packet. The short flows come at 500 us and stop sending at the end of the burst.
The end is swept over one batch of the long flow, in steps of a thirteenth, from where a batch begins.

usage: oscar_model.py [paper | artifact] [SHORT FLOWS ...]      one line a phase; 1, 9 and 31 short flows if none is said
"""

import heapq
import sys

# Bytes and microseconds; MU is the line rate.
MU = 12500.0
MTU, ACK = 1060, 60
HOP = 3.0
TX, ACK_TX = MTU / MU, ACK / MU
BASE = 4 * HOP + 2 * TX + 2 * ACK_TX
BDP = MU * BASE
# When the short flows start, and for how long a run goes on after the end of the burst.
START, AFTER = 500.0, 700.0
# A sweep is over the first batch after one of these times, in so many steps.
SWEEPS, STEPS = [1500.0, 1600.0, 1700.0, 1800.0], 13
# Back: goodput of the last 5 us at nine tenths of the full rate, for good. Early: by then slopes have said what they can.
WINDOW, LEVEL, EARLY = 5.0, 0.9, 30.0

# Table 4; steepest is the published code's bound of slopes, of which the paper says nothing. EPS is the paper's epsilon, for which it
# gives no value, and LEAST the smallest share.
PAPER = {
    "target": 1.5 * BASE,
    "tau": 0.5 * BASE,
    "hai": 0.01,
    "ai": 0.001,
    "band": 0.0,
    "own_start": False,
    "longest": None,
    "steepest": -0.9,
}
# What the published code sets otherwise: a queue of 75 KB, 5 us, a dead band, batches from their own first packet, wide batches.
ARTIFACT = PAPER | {"target": BASE + 75000 / MU, "tau": 5.0, "band": 0.5, "own_start": True, "longest": 3.0}
PROFILES = {"paper": PAPER, "artifact": ARTIFACT}
EPS, LEAST = 1.0, 0.001


class Flow:
    """A sender: algorithms 1 and 2, a window and a pace."""

    def __init__(self, constants, start):
        self.c = constants
        self.u, self.window, self.rate = 1.0, BDP, MU
        self.in_flight, self.next_send, self.waits = 0, start, False
        self.start_ts = None
        self.clear()
        # (when, u, when the first and the last packet of its batch left) of each estimate.
        self.estimates = []

    def clear(self):
        self.x = self.y = self.xx = self.xy = self.counts = self.infl = 0.0

    def new_ack(self, now, send_ts, infl):
        """Algorithm 1. Send times count from the batch's start, which changes no slope and keeps the sums exact."""
        if self.start_ts is None:
            self.start_ts = send_ts
        x, y = send_ts - self.start_ts, now - send_ts
        self.x, self.y, self.xx, self.xy = self.x + x, self.y + y, self.xx + x * x, self.xy + x * y
        self.counts, self.infl = self.counts + 1, self.infl + infl
        if x < self.c["tau"] or self.counts < 3:
            return
        n = self.counts
        slope = (n * self.xy - self.x * self.y) / (n * self.xx - self.x * self.x)
        self.update(self.y / n, slope, self.infl / n, n * MTU / x, x)
        self.estimates.append((now, self.u, self.start_ts, send_ts))
        self.clear()
        self.start_ts = None if self.c["own_start"] else send_ts

    def update(self, delay, slope, infl, rate, span):
        """Algorithm 2; line 12 by the text: the window is not above the BDP."""
        c = self.c
        if delay <= BASE + EPS:
            self.u += c["hai"]
        else:
            by_window = infl / (delay * MU)
            by_rate = rate / ((1 + max(slope, c["steepest"])) * MU)
            if c["longest"] and span > c["longest"] * c["tau"]:
                by_rate = by_window
            choose = max if delay < c["target"] - c["band"] else min
            self.u = choose(by_window, by_rate) + c["ai"]
        self.u = min(max(self.u, LEAST), 1.0)
        self.window = min(self.u * c["target"] * MU, BDP)
        self.rate = self.u * MU


def run(constants, shorts, end, until):
    """The long flow, when its packets were delivered, and when one left that found the queue just drained after the end."""
    flows = [Flow(constants, START if number else 0.0) for number in range(shorts + 1)]
    events = [(flow.next_send, number, "send", number, None) for number, flow in enumerate(flows)]
    order, free, delivered, drained = len(events), 0.0, [], until

    def push(at, kind, number, what=None):
        nonlocal order
        order += 1
        heapq.heappush(events, (at, order, kind, number, what))

    def send(now, number):
        flow = flows[number]
        if number and now >= end:
            return
        while flow.in_flight < flow.window:
            if now < flow.next_send:
                if not flow.waits:
                    flow.waits = True
                    push(flow.next_send, "send", number)
                return
            flow.in_flight += MTU
            flow.next_send = now + MTU / flow.rate
            push(now + TX + HOP, "port", number, (now, flow.in_flight))

    while events and events[0][0] < until:
        now, _, kind, number, what = heapq.heappop(events)
        if kind == "send":
            flows[number].waits = False
            send(now, number)
        elif kind == "port":
            if now > free and now > end + TX + HOP:
                drained = min(drained, free - TX - HOP)
            free = max(now, free) + TX
            if number == 0:
                delivered.append(free + HOP)
            push(free + 3 * HOP + 2 * ACK_TX, "ack", number, what)
        else:
            flows[number].in_flight -= MTU
            flows[number].new_ack(now, *what)
            send(now, number)
    return flows[0], delivered, drained


def back(delivered, end):
    """How long after the end the goodput of the last 5 us was last below nine tenths; None: it is so when the run ends."""
    needed, first, last, found = LEVEL * WINDOW * MU / MTU, 0, 0, 0
    tenths = int((AFTER - 2 * BASE) * 10)
    for tenth in range(tenths):
        at = end + tenth / 10
        while last < len(delivered) and delivered[last] <= at:
            last += 1
        while delivered[first] <= at - WINDOW:
            first += 1
        if last - first < needed:
            found = tenth + 1
    return found / 10 if found < tenths else None


def sweep(constants, shorts, since):
    """Of each phase the time until the long flow is back, in us, its share of the line rate early on, and the largest part of a batch that
    left while the queue drained; and the length of the batch that is swept over."""
    long, _, _ = run(constants, shorts, 1e9, since + 200)
    begin, after = [first for _, _, first, _ in long.estimates if first >= since][:2]
    found = []
    for step in range(STEPS):
        end = begin + (after - begin) * step / STEPS
        long, delivered, drained = run(constants, shorts, end, end + AFTER)
        share = [u for now, u, _, _ in long.estimates if now <= end + EARLY][-1]
        inside = max((min(last, drained) - max(first, end)) / (last - first) for _, _, first, last in long.estimates if last > end)
        found.append((back(delivered, end), share, inside))
    return found, after - begin


def main():
    profile = next((word for word in sys.argv[1:] if word in PROFILES), "paper")
    for shorts in [int(word) for word in sys.argv[1:] if word.isdigit()] or [1, 9, 31]:
        found, length = sweep(PROFILES[profile], shorts, SWEEPS[0])
        print(f"{profile}, {shorts} short flows, a batch of {length:.2f} us: part of it before the end, us, share early on, in the drain")
        for step, (us, share, inside) in enumerate(found):
            print(f"  {step / STEPS:.2f}  {'never' if us is None else f'{us:5.1f}'}  {share:.2f}  {inside:.2f}")


if __name__ == "__main__":
    main()

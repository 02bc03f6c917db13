"""What controls in Python ask for, and are given."""

from __future__ import annotations

import itertools
import math
from typing import Any

import farspan as fs
import pytest
from dctcp import Dctcp
from farspan.control import Ack, Cnp, Decision, FlowPath, Idle, Loss, Nack, Pull, SendRecord, Sent
from hpcc import Hpcc

SMALL = {"workload.flow_size": "256KiB", "topology.wan.rtt": "200us", "probes.rate_interval": "200us"}


class Still(fs.Control):
    """A window that stays."""

    needs = frozenset[str]()

    def start(self, path: FlowPath) -> Decision:
        self.mss, self.cwnd = path.mss, float(max(path.initial_cwnd, path.mss))
        return self.cwnd, None

    def on_ack(self, ack: Ack) -> Decision | None:
        return None


def run(control: type[fs.Control], scheme: str = "dctcp", **changes: object) -> fs.Result:
    return fs.run("uno/incast-mixed", scheme=scheme, control=control, set=SMALL | changes)


@pytest.mark.parametrize(
    ("field", "word"),
    [("ecn_ce", "ecn"), ("hops", "telemetry"), ("received_at_ps", "arrival"), ("at_send", "send_record")],
)
def test_what_is_not_asked_for_is_not_given_and_what_is_asked_for_is(field: str, word: str) -> None:
    seen: list[Any] = []

    class Looks(Still):
        def on_ack(self, ack: Ack) -> None:
            seen.append(getattr(ack, field))

    for go in (run, fs.testing.check, fs.testing.window_curve):
        with pytest.raises(AttributeError) as caught:
            go(Looks)
        assert str(caught.value) == f'ack.{field} is not given; add "{word}" to the control\'s needs'
    assert seen == []

    class Asks(Looks):
        needs = frozenset({word})

    fs.testing.check(Asks)
    run(Asks, "hpcc" if word == "telemetry" else "dctcp")
    assert len(seen) > 1000


def test_telemetry_says_the_state_of_each_port() -> None:
    hops = []

    class Looks(Still):
        needs = frozenset({"telemetry"})

        def on_ack(self, ack: Ack) -> None:
            hops.append((ack, ack.hops))

    with pytest.warns(UserWarning, match=r"Looks needs telemetry, but no port .* writes any"):
        run(Looks)
    assert not any(one for _, one in hops)
    hops.clear()
    run(Looks, "hpcc")
    assert {len(one) for _, one in hops} == {5, 8}
    for ack, one in hops:
        assert all(ack.sent_at_ps < hop.at_ps < ack.now_ps for hop in one)
        assert [hop.at_ps for hop in one] == sorted(hop.at_ps for hop in one)
        assert all(hop.rate == 100_000_000_000 for hop in one)
        assert all(hop.queueing_delay_ps == hop.queued * 80 for hop in one)
    assert any(hop.queued > 0 for _, one in hops for hop in one)
    assert any(hop.sent > 0 for _, one in hops for hop in one)


def test_the_poorer_telemetry_is_that_of_the_slowest_port() -> None:
    counts = set()

    class Looks(Still):
        needs = frozenset({"telemetry"})
        telemetry_kind = "mpd"

        def on_ack(self, ack: Ack) -> None:
            counts.add(len(ack.hops))

    run(Looks, "poseidon")
    assert counts == {1}


def test_a_control_that_reads_more_telemetry_than_it_asks_for_is_found() -> None:
    class Poor(Hpcc):
        telemetry_kind = "mpd"

        def on_ack(self, ack: Ack) -> Decision:
            return super().on_ack(ack) if len(ack.hops) > 1 else self.decision()

    with pytest.raises(AssertionError, match="it reads what its needs do not name: telemetry"):
        fs.testing.check(Poor)


def test_packets_say_when_they_arrived_and_how_they_left() -> None:
    class Looks(Still):
        needs = frozenset({"arrival", "send_record", "sent"})

        def start(self, path: FlowPath) -> Decision:
            self.base_rtt_ps = path.base_rtt_ps
            self.left: dict[int, int] = {}
            return super().start(path)

        def on_sent(self, sent: Sent) -> None:
            assert sent.bytes <= sent.in_flight < self.cwnd + self.mss
            assert not sent.retransmission
            self.left[sent.now_ps] = sent.in_flight

        def on_ack(self, ack: Ack) -> None:
            assert ack.received_at_ps is not None
            assert self.base_rtt_ps / 4 < ack.received_at_ps - ack.sent_at_ps < ack.rtt_ps
            record = ack.at_send
            assert isinstance(record, SendRecord)
            assert record.in_flight == self.left[ack.sent_at_ps]
            assert record.cwnd == int(self.cwnd)
            assert record.delivered < ack.delivered
            assert record.first_sent_at_ps <= ack.sent_at_ps
            assert ack.acked_below < ack.sent_below + 1
            assert (ack.acked_packets, ack.mapped, ack.has_losses) == (1, 0, False)
            assert ack.echoed_bytes == ack.bytes_acked

    assert run(Looks).summary["flows"]["finished"] == 8


def test_a_timer_comes_when_it_was_asked_for_and_once() -> None:
    came: list[tuple[int, int]] = []

    class Timed(Still):
        due = times = 0

        def on_ack(self, ack: Ack) -> Decision | None:
            if self.due:
                return None
            self.due = ack.now_ps + 5_000_000
            return self.cwnd, None, self.due

        def on_timer(self, now_ps: int) -> Decision | None:
            came.append((now_ps, self.due))
            self.due, self.times = now_ps + 7_000_000, self.times + 1
            return (self.cwnd, None, self.due) if self.times == 1 else None

    run(Timed)
    assert all(now == due for now, due in came)
    assert len(came) == 16
    fs.testing.check(Timed)

    class Late(Timed):
        def on_timer(self, now_ps: int) -> Decision:
            return self.cwnd, None, now_ps

    with pytest.raises(ValueError, match="give a later time, such as"):
        run(Late)

    class Past(Timed):
        def on_ack(self, ack: Ack) -> Decision:
            return self.cwnd, None, ack.now_ps - 1

    with pytest.raises(ValueError, match=r"returned a timer at \d+ ps, and it is \d+ ps; give a later time"):
        run(Past)


def test_two_values_take_the_timer_back() -> None:
    class Changes(Still):
        def on_ack(self, ack: Ack) -> Decision:
            return (self.cwnd, None, ack.now_ps + 10**13) if ack.delivered < 40_000 else (self.cwnd, None)

        def on_timer(self, now_ps: int) -> None:
            raise AssertionError("it was taken back")

    run(Changes)


def test_receivers_send_cnps_to_a_control_that_needs_them_whatever_the_scheme() -> None:
    at: dict[int, list[int]] = {}

    class Notified(Still):
        needs = frozenset({"ecn", "cnp"})
        cnp_interval_ps = 20_000_000

        def start(self, path: FlowPath) -> Decision:
            self.flow = path.flow
            return super().start(path)

        def on_cnp(self, cnp: Cnp) -> None:
            assert cnp.in_flight >= 0
            at.setdefault(self.flow, []).append(cnp.now_ps)

    result = run(Notified, **{"workload.flow_size": "1MiB"})
    # Some may find their flow ended.
    assert 50 < sum(map(len, at.values())) <= result.summary["acted"]["cnps"]
    gaps = [late - early for times in at.values() for early, late in itertools.pairwise(times)]
    # They leave at least an interval apart, and wait in queues on their way.
    assert min(gaps) > 10_000_000
    assert min(gaps) < 50_000_000


def test_a_control_on_credit_gets_pulls_and_spends_its_allowance() -> None:
    pulls: list[int] = []

    class Credit(Still):
        needs = frozenset({"pull", "sent"})
        may_close = True
        pull_rate = 0.9

        def start(self, path: FlowPath) -> Decision:
            self.mss, self.pulled = path.mss, 0
            self.credit = path.initial_cwnd
            self.rto_ps = 1_000_000_000
            return self.decision()

        def decision(self, timer: int | None = None) -> Decision:
            return math.inf, None, timer, self.credit

        def on_sent(self, sent: Sent) -> Decision:
            self.credit = max(self.credit - sent.bytes, 0)
            return self.decision()

        def on_ack(self, ack: Ack) -> None:
            return None

        def on_pull(self, pull: Pull) -> Decision:
            pulls.append(pull.count)
            self.credit += max(pull.count - self.pulled, 0) * self.mss
            self.pulled = max(self.pulled, pull.count)
            return self.decision()

    result = run(Credit, "ndp", **{"transport.start": "iw10"})
    assert result.summary["flows"]["finished"] == 8
    assert len(pulls) > 100


def test_nacks_say_why_they_came_and_lower_the_window_of_a_control_without_a_rule() -> None:
    causes: list[str] = []
    lowered: list[int] = []

    class Own(Still):
        def start(self, path: FlowPath) -> Decision:
            super().start(path)
            return 200.0 * path.mss, None

        def on_nack(self, nack: Nack) -> Decision | None:
            assert isinstance(nack, Loss)
            causes.append(nack.cause)
            return None

    class Lowered(Own):
        on_nack = fs.Control.on_nack

        def lower(self, most: int) -> None:
            lowered.append(most)

    trims = {"scheme.ports.overflow": "trim", "topology.buffer": "64KiB"}
    assert run(Own, **trims).summary["recovery"]["nacks"] == len(causes) > 10
    assert set(causes) == {"trimmed"}
    run(Lowered, **trims)
    assert len(lowered) > 10


@pytest.mark.filterwarnings("ignore:measure.fairness_group:UserWarning")
def test_a_message_on_an_idle_connection_is_told() -> None:
    idle: list[Idle] = []

    class Looks(Still):
        def on_idle(self, event: Idle) -> None:
            idle.append(event)

    scenario = {
        "base": "uno/incast-intra",
        "measure": {"fairness_group": "pairs"},
        "transport": {"connections": "per_pair", "idle_restart": True},
        "workload": [
            {"kind": "pairs", "tag": "pairs", "pairs": [[0, 9]], "flow_size": "64KiB", "flows": 3, "gap": "5ms"},
        ],
    }
    fs.run(scenario, scheme="dctcp", control=Looks)
    assert len(idle) == 2
    assert all(event.idle_ps > event.rto_ps > 0 for event in idle)


def test_signals_and_states_go_into_probes_and_traces(tmp_path: Any) -> None:
    out = tmp_path / "run"
    result = fs.run(
        "uno/incast-mixed",
        scheme="hpcc",
        control=Hpcc,
        set=SMALL | {"probes.series": ["signal"]},
        out=out,
        trace=["flow=0"],
    )
    signals = result.series("signal")
    assert len(signals) > 0
    assert '"multiplying"' in "".join(file.read_text() for file in (out / "trace").rglob("*flow*"))


@pytest.mark.parametrize(
    ("said", "attributes"),
    [
        ("has needs = 'ecn'; write a set of words", {"needs": "ecn"}),
        ("needs 'cnps', which is no signal; did you mean 'cnp'?", {"needs": {"cnps"}}),
        ("needs 'weather', which is no signal; there are 'ecn', 'telemetry', ", {"needs": {"weather"}}),
        ("has ecn = True and needs = set(), and they differ; leave `ecn` out", {"needs": set(), "ecn": True}),
        ("needs 'sent' and has no on_sent; define on_sent, or leave 'sent' out", {"needs": {"sent"}}),
        ("has on_cnp, which nothing calls; add 'cnp' to needs", {"on_cnp": lambda self, cnp: None}),
        ("has on_pull, which nothing calls; add 'pull' to needs", {"on_pull": lambda self, pull: None}),
        ("has target_delay, which has no form in Python; leave it out", {"target_delay": lambda self, path: 0}),
        ('has telemetry_kind = \'all\'; write "int" or "mpd"', {"needs": {"telemetry"}, "telemetry_kind": "all"}),
        ("has signal_bytes = 42; give the bytes in a data packet and in an ACK", {"signal_bytes": 42}),
        ("has signal_bytes = (0, 257); give", {"signal_bytes": (0, 257)}),
        ("has may_close = 1; write True or False", {"may_close": 1}),
        (
            "has cnp_interval_ps = 0; give a whole number of ps, from 1 up to 1000000000000",
            {"needs": {"cnp"}, "on_cnp": lambda self, cnp: None, "cnp_interval_ps": 0},
        ),
        (
            "has cnp_interval_ps = 0.5; give a whole number of ps",
            {"needs": {"cnp"}, "on_cnp": lambda self, cnp: None, "cnp_interval_ps": 0.5},
        ),
        (
            "has pull_rate = 2; give a part of the line rate, above 0, up to 1",
            {"needs": {"pull"}, "on_pull": lambda self, pull: None, "pull_rate": 2},
        ),
    ],
)
def test_a_class_that_contradicts_itself_is_refused_with_its_cure(said: str, attributes: dict[str, object]) -> None:
    wrong = type("Wrong", (Still,), attributes)
    for ask in (run, fs.testing.check):
        with pytest.raises(fs.ScenarioError) as caught:
            ask(wrong)
        assert f"Wrong {said}" in str(caught.value)


def test_ecn_alone_stands_for_needs() -> None:
    class Marks(Dctcp):
        ecn = True

    class Old(fs.Control):
        ecn = True

        def start(self, path: FlowPath) -> Decision:
            return path.initial_cwnd, None

        def on_ack(self, ack: Ack) -> None:
            assert ack.ecn_ce in (False, True)

    run(Marks)
    run(Old)

    class Blind(Old):
        ecn = False

    with pytest.raises(AttributeError, match='add "ecn" to the control'):
        run(Blind)


def test_what_a_scenario_cannot_give_is_refused() -> None:
    class Wide(Still):
        signal_bytes = (256, 0)

    class Notified(Still):
        needs = frozenset({"cnp"})

        def on_cnp(self, cnp: Cnp) -> None:
            return None

    with pytest.raises(fs.ScenarioError, match=r"write a smaller transport\.payload"):
        run(Wide, **{"transport.payload": "65400B"})
    with pytest.raises(fs.ScenarioError, match="Notified needs more than ACKs from its receiver"):
        run(Notified, **{"scheme.proxy.kind": "naive"})

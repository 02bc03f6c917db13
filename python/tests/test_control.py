"""Controls in Python."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import farspan as fs
import pytest
from dcqcn import Dcqcn
from dctcp import Dctcp
from farspan.control import Ack, Decision, FlowPath, Loss, Timeout
from hpcc import Hpcc
from swift import Swift

SMALL = {"workload.flow_size": "1MiB", "topology.wan.rtt": "200us", "probes.rate_interval": "200us"}


class Still(fs.Control):
    """A window that stays."""

    needs = frozenset[str]()
    packets = 4

    def start(self, path: FlowPath) -> Decision:
        return self.packets * path.mss, None

    def on_ack(self, ack: Ack) -> None:
        return None


TWINS: dict[str, type[fs.Control]] = {"dctcp": Dctcp, "hpcc": Hpcc, "dcqcn": Dcqcn, "swift": Swift}


@pytest.mark.parametrize("path", ["intra", "inter"])
@pytest.mark.parametrize("name", TWINS)
def test_a_twin_moves_its_window_bit_for_bit(name: str, path: Literal["intra", "inter"]) -> None:
    ours = fs.testing.window_curve(TWINS[name], path)
    assert len(ours) > (10 if name == "dcqcn" else 1000)
    assert ours == fs.testing.window_curve(name, path)


# What each goes by, among the mechanisms that have counters; Swift goes by round trips, which have none.
ACTS = {"dctcp": "marks", "hpcc": "telemetry", "dcqcn": "cnps"}


@pytest.mark.filterwarnings("ignore:.* was made for lossless fabrics:UserWarning")
@pytest.mark.parametrize("scenario", ["uno/incast-mixed", "uno/incast-intra"])
@pytest.mark.parametrize("name", TWINS)
def test_a_run_of_a_twin_is_that_of_the_built_in_control(name: str, scenario: str) -> None:
    builtin = fs.run(scenario, scheme=name, set=SMALL)
    ours = fs.run(scenario, scheme=name, control=TWINS[name], set=SMALL)
    assert (ours.digest, ours.summary["packet_digest"]) == (builtin.digest, builtin.summary["packet_digest"])
    assert ours.scheme == TWINS[name].__name__
    assert ours.summary["acted"] == builtin.summary["acted"]
    assert name not in ACTS or ours.summary["acted"][ACTS[name]] > 0
    # DCQCN has a rate, and no window.
    assert name == "dcqcn" or len(set(ours.series("cwnd").column("value"))) > 5
    for probe in ("cwnd", "rate"):
        mine, theirs = ours.series(probe), builtin.series(probe)
        assert len(mine) > 0
        assert all(mine.column(name) == theirs.column(name) for name in mine.columns)


@pytest.mark.filterwarnings("ignore:.* (was made for lossless fabrics|aims at a queueing delay):UserWarning")
@pytest.mark.parametrize("overflow", ["drop", "trim"])
@pytest.mark.parametrize("name", TWINS)
def test_a_twin_stands_losses_nacks_and_time_outs_as_the_built_in_control_does(name: str, overflow: str) -> None:
    lossy = SMALL | {"topology.buffer": "64KiB", "topology.wan.buffer": "64KiB", "scheme.ports.overflow": overflow}
    lossy |= {"scheme.ports.marking": "none"} if name == "dctcp" else {}
    builtin = fs.run("uno/incast-mixed", scheme=name, set=lossy)
    assert builtin.summary["packets"]["dropped" if overflow == "drop" else "trimmed"] > 0
    assert fs.run("uno/incast-mixed", scheme=name, control=TWINS[name], set=lossy).digest == builtin.digest


def test_either_class_of_flows_has_its_own() -> None:
    result = fs.run("uno/incast-mixed", scheme="dctcp", control={"inter": Still}, set=SMALL)
    assert result.scheme == "dctcp/Still"
    both = fs.run("uno/incast-mixed", scheme="dctcp", control={"intra": Dctcp, "inter": Still}, set=SMALL)
    assert (both.scheme, both.digest) == ("Dctcp/Still", result.digest)


def test_a_subclass_changes_parameters_and_seeds_take_turns() -> None:
    class Wide(Still):
        packets = 32

    runs = fs.run("uno/incast-mixed", scheme="dctcp", control=Wide, seeds=[1, 2, 3], set=SMALL)
    assert [run.seed for run in runs] == [1, 2, 3]
    assert runs[1].digest == fs.run("uno/incast-mixed", scheme="dctcp", control=Wide, seed=2, set=SMALL).digest
    still = fs.run("uno/incast-mixed", scheme="dctcp", control=Still, seed=2, set=SMALL)
    assert still.summary["fct"]["inter"]["mean_us"] > runs[1].summary["fct"]["inter"]["mean_us"]


def test_the_events_are_those_of_the_interface() -> None:
    seen: dict[str, object] = {}

    class Watcher(Still):
        def start(self, path: FlowPath) -> Decision:
            seen["path"] = path
            return super().start(path)

        def on_ack(self, ack: Ack) -> None:
            seen["ack"] = ack

        def on_loss(self, loss: Loss) -> None:
            seen["loss"] = loss

        def on_timeout(self, timeout: Timeout) -> None:
            seen["timeout"] = timeout

    fs.testing.window_curve(Watcher)
    path, ack, loss = seen["path"], seen["ack"], seen["loss"]
    assert isinstance(path, FlowPath)
    assert (path.class_name, path.mss, path.bdp, path.line_rate) == ("intra", 4096, 175_344, 100_000_000_000)
    assert isinstance(ack, Ack)
    assert ack.rtt_ps == ack.now_ps - ack.sent_at_ps
    assert ack.rtt_ps >= path.base_rtt_ps
    assert isinstance(loss, Loss)
    assert loss.bytes == 4096
    timeout = seen["timeout"]
    assert isinstance(timeout, Timeout)
    assert isinstance(timeout, Loss)
    assert timeout.rto_ps == 414_027_520


def test_what_a_control_raises_ends_the_run(tmp_path: Path) -> None:
    class Broken(Still):
        def on_ack(self, ack: Ack) -> None:
            raise LookupError("of my own")

    with pytest.raises(LookupError, match="of my own") as caught:
        fs.run("uno/incast-mixed", control=Broken, set=SMALL, out=tmp_path / "broken")
    assert caught.traceback[-1].name == "on_ack"
    assert fs.load(tmp_path / "broken").partial

    class Unborn(Still):
        def __init__(self) -> None:
            raise LookupError("not even made")

    for control in (Broken, Unborn):
        with pytest.raises(LookupError):
            fs.testing.window_curve(control)


@pytest.mark.parametrize(
    ("returned", "kind", "said"),
    [
        (4096.0, TypeError, "return (window in bytes, rate in bit/s or None)"),
        ((4096.0,), TypeError, "return (window in bytes, rate in bit/s or None)"),
        ((4096.0, None, None, None, None), TypeError, "return (window in bytes, rate in bit/s or None)"),
        ((4096.0, None, 1.5), TypeError, "behind them the next timer in ps or None"),
        ((4096.0, None, 10**15), ValueError, "a timer, and there is no on_timer; define on_timer(self, now_ps)"),
        ((4096.0, None, None, 4096.0), ValueError, 'add "sent" to its needs'),
        (("wide", None), TypeError, "returned ('wide', None)"),
        ((float("nan"), None), ValueError, "a window of NaN bytes"),
        ((2048.0, None), ValueError, "max(window, 4096)"),
        ((4096.0, 0.0), ValueError, "a rate of 0 bit/s"),
    ],
)
def test_a_wrong_decision_is_refused_with_its_cure(returned: Decision, kind: type[Exception], said: str) -> None:
    class Wrong(Still):
        def on_ack(self, ack: Ack) -> Decision:  # type: ignore[override]
            return returned

    with pytest.raises(kind) as caught:
        fs.run("uno/incast-mixed", control=Wrong, set=SMALL)
    assert str(caught.value).startswith("Wrong.on_ack returned ")
    assert said in str(caught.value)


def test_wrong_arguments_are_told_before_anything_runs() -> None:
    class Half(fs.Control):
        def start(self, path: FlowPath) -> Decision:
            return path.mss, None

    class Silent(Half):
        def on_ack(self, ack: Ack) -> None:
            return None

    for wrong, said in [
        (Still(), "is no class of controls"),
        (Half, "Half lacks methods; define on_ack"),
        (Silent, "Silent does not say what it needs; write `needs = {...}` with those of 'ecn', 'telemetry', "),
        ({"wan": Still}, "['wan'] names no class of flows"),
        ({}, "names no class of flows"),
        ("dctcp", "is no class of controls"),
    ]:
        with pytest.raises(fs.ScenarioError) as caught:
            fs.run("uno/incast-mixed", control=wrong, set=SMALL)  # type: ignore[call-overload]
        assert caught.value.argument == "control"
        assert said in str(caught.value)
    with pytest.raises(fs.ScenarioError, match="leave threads out"):
        fs.run("uno/incast-mixed", control=Still, threads=2)


def test_the_contract_is_checked_as_for_built_in_controls() -> None:
    fs.testing.check(Dctcp)
    fs.testing.check("unocc")

    class Eager(Dctcp):
        def on_nack(self, loss: Loss) -> Decision:
            return self.cwnd + 2 * self.mss, None

    with pytest.raises(AssertionError, match="a NACK widened the window"):
        fs.testing.check(Eager)

    class Denies(Dctcp):
        needs = frozenset[str]()

    with pytest.raises(AttributeError, match=r'ack\.ecn_ce is not given; add "ecn" to the control'):
        fs.testing.check(Denies)

    class Silent(fs.Control):
        def start(self, path: FlowPath) -> Decision:
            return path.mss, None

        def on_ack(self, ack: Ack) -> None:
            return None

    for ask in (fs.testing.check, fs.testing.window_curve):
        with pytest.raises(fs.ScenarioError, match="Silent does not say what it needs"):
            ask(Silent)

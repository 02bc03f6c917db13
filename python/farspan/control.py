"""Congestion controls in Python: :class:`Control` and what its methods are given.

A control in Python is for prototypes: it takes the interpreter's lock for each ACK, and DCTCP's run takes 2.3 times
the CPU time of its twin in Rust (``bench/python_control.py``). ``farspan new --control NAME`` starts one in Rust.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import ClassVar, TypeAlias

from farspan._errors import ScenarioError
from farspan._farspan import Ack, FlowPath, Loss

__all__ = ["Ack", "Control", "Decision", "FlowPath", "Loss"]

Decision: TypeAlias = tuple[float, float | None]
"""The window in bytes (a fraction of a byte is cut off), and the rate in bit/s at which packets leave, or ``None``."""


class Control(ABC):
    """A congestion control: one object for each flow, made without arguments.

    Methods return a :data:`Decision`, or ``None`` where the last one stays. A window is at least ``path.mss`` bytes.
    What a method raises ends the run, and ``farspan.run`` raises it. The object may keep any state; a control that
    looks at nothing but its events gives the same results on every machine.

    Parameters are class attributes, and a subclass changes them: ``class Gentle(Mine): cut = 0.1``.

    Examples
    --------
    >>> import farspan as fs
    >>> class Halve(fs.Control):
    ...     ecn = True
    ...
    ...     def start(self, path):
    ...         self.mss, self.cwnd, self.cut_at = path.mss, float(path.initial_cwnd), 0
    ...         return self.cwnd, None
    ...
    ...     def on_ack(self, ack):
    ...         if not ack.ecn_ce:
    ...             self.cwnd += self.mss * ack.bytes_acked / self.cwnd
    ...         elif ack.sent_at_ps >= self.cut_at:
    ...             self.cwnd, self.cut_at = max(self.cwnd / 2, self.mss), ack.now_ps
    ...         return self.cwnd, None
    >>> small = {"workload.flow_size": "64KiB"}
    >>> fs.run("uno/incast-mixed", scheme="dctcp", control=Halve, set=small)
    <farspan.Result uno/incast-mixed scheme Halve seed 1: 8 of 8 flows>
    """

    ecn: ClassVar[bool]
    """Whether it needs marks: without, ``ack.ecn_ce`` must not move it. Each control says so; there is no default."""

    @abstractmethod
    def start(self, path: FlowPath) -> Decision:
        """Give the first decision: the flow starts."""

    @abstractmethod
    def on_ack(self, ack: Ack) -> Decision | None:
        """An ACK for one packet arrived."""

    def on_loss(self, loss: Loss) -> Decision | None:
        """Packets were found lost from the ACKs of later ones."""
        return None

    def on_nack(self, loss: Loss) -> Decision | None:
        """A packet reached the receiver trimmed, or a coded block lacks packets; never a reason to send more."""
        return None

    def on_timeout(self, loss: Loss) -> Decision | None:
        """Packets were not acknowledged within the retransmission time-out."""
        return None


Controls: TypeAlias = type[Control] | Mapping[str, type[Control]]

_CURE = 'give a subclass of farspan.Control, or {"intra": ..., "inter": ...} with one for either'


def classes(control: Controls | None) -> tuple[type[Control] | None, type[Control] | None]:
    """Give the classes of flows inside a site and between sites."""
    if control is None:
        return None, None
    if not isinstance(control, Mapping):
        return _checked(control), _checked(control)
    unknown = [name for name in control if name not in ("intra", "inter")]
    if unknown or not control:
        raise ScenarioError(f"{unknown or control!r} names no class of flows", argument="control", cure=_CURE)
    intra, inter = (None if name not in control else _checked(control[name]) for name in ("intra", "inter"))
    return intra, inter


def _checked(control: object) -> type[Control]:
    if not isinstance(control, type) or not issubclass(control, Control):
        raise ScenarioError(f"{control!r} is no class of controls", argument="control", cure=_CURE)
    missing = sorted(getattr(control, "__abstractmethods__", ()))
    if missing:
        cure = f"define {' and '.join(missing)}"
        raise ScenarioError(f"{control.__name__} lacks methods", argument="control", cure=cure)
    if not isinstance(getattr(control, "ecn", None), bool):
        problem = f"{control.__name__} does not say whether it needs marks"
        cure = "write `ecn = True` if it looks at `ack.ecn_ce`, else `ecn = False`"
        raise ScenarioError(problem, argument="control", cure=cure)
    return control

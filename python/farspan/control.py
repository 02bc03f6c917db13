"""Congestion controls in Python: :class:`Control` and what its methods are given.

A control in Python is for prototypes: it takes the interpreter's lock for each event (``bench/python_control.py`` has
the cost). ``farspan new --control NAME`` starts one in Rust.
"""

from __future__ import annotations

import difflib
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

from farspan._errors import ScenarioError
from farspan._farspan import Ack, Cnp, FlowPath, Hop, Idle, Loss, Nack, Pull, SendRecord, Sent, Timeout

__all__ = [
    "Ack",
    "Cnp",
    "Control",
    "Decision",
    "FlowPath",
    "Hop",
    "Idle",
    "Loss",
    "Nack",
    "Pull",
    "SendRecord",
    "Sent",
    "Timeout",
]

Decision: TypeAlias = (
    tuple[float, float | None]
    | tuple[float, float | None, int | None]
    | tuple[float, float | None, int | None, float | None]
)
"""The window in bytes, and the rate in bit/s at which packets leave, or ``None``. Then, where there are any, when
``on_timer`` is to be called, in ps, and the bytes that may leave from now on. Fractions are cut off."""


class Control(ABC):
    """A congestion control: one object for each flow, made without arguments.

    Methods return a :data:`Decision`, or ``None`` where the last one stays. A window is at least ``path.mss`` bytes;
    ``math.inf`` is none. What a method raises ends the run, and ``farspan.run`` raises it. The object may keep any
    state; a control that looks at nothing but its events gives the same results on every machine.

    Parameters are class attributes, and a subclass changes them: ``class Gentle(Mine): cut = 0.1``.

    Examples
    --------
    >>> import farspan as fs
    >>> class Halve(fs.Control):
    ...     needs = {"ecn"}
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

    needs: ClassVar[Collection[str]]
    """All that it needs beside what every flow has; what it does not name is not given. Each control says so.

    ``"ecn"``: marks, ``ack.ecn_ce``. ``"telemetry"``: what ports write on packets, ``ack.hops``. ``"arrival"``: when
    the packet arrived, ``ack.received_at_ps``. ``"send_record"``: the sender's state when it left, ``ack.at_send``.
    ``"sent"``: ``on_sent``. ``"cnp"``: ``on_cnp``. ``"pull"``: ``on_pull``. ``needs = set()``: nothing.
    """

    ecn: ClassVar[bool]
    """In the place of `needs`: ``ecn = True`` is ``needs = {"ecn"}``, and ``ecn = False`` is ``needs = set()``."""

    ecn_as_loss: ClassVar[bool] = False
    """With ``"ecn"``: marks count once a window, as a loss does (RFC 3168), and an ACK may repeat one until then."""

    telemetry_kind: ClassVar[str] = "int"
    """With ``"telemetry"``: the least that ports are to write, ``"int"`` (all ports) or ``"mpd"`` (the slowest)."""

    cnp_interval_ps: ClassVar[int] = 50_000_000
    """With ``"cnp"``: the shortest time between two CNPs of a flow, up to a second."""

    pull_rate: ClassVar[float] = 1.0
    """With ``"pull"``: the part of its line rate that the receiver asks for, above 0, up to 1."""

    signal_bytes: ClassVar[tuple[int, int]] = (0, 0)
    """Bytes that the signals take on the wire, in each data packet and in its ACK, up to 256."""

    may_close: ClassVar[bool] = False
    """Whether the window may be below a packet, down to 0: its timer or a pull opens it again."""

    @abstractmethod
    def start(self, path: FlowPath) -> Decision:
        """Give the first decision: the flow starts."""

    @abstractmethod
    def on_ack(self, ack: Ack) -> Decision | None:
        """An ACK arrived. It is for one packet, and may acknowledge others with it."""

    def on_sent(self, sent: Sent) -> Decision | None:
        """A packet left; with ``"sent"`` in `needs`."""
        return None

    def on_loss(self, loss: Loss) -> Decision | None:
        """Packets were found lost from the ACKs of later ones."""
        return None

    def on_nack(self, nack: Nack) -> Decision | None:
        """A NACK arrived, and its cause says why; never a reason to send more."""
        return None

    def lower(self, most: int) -> Decision | None:
        """The window is to be `most` bytes at most, or one packet: a packet was trimmed or lost.

        Of a control that has this method and no ``on_nack``: its window falls to what was in flight, for each NACK.
        """
        return None

    def on_timeout(self, timeout: Timeout) -> Decision | None:
        """Packets were not acknowledged within the retransmission time-out."""
        return None

    def on_cnp(self, cnp: Cnp) -> Decision | None:
        """A CNP arrived: packets come marked; with ``"cnp"`` in `needs`. Never a reason to send more."""
        return None

    def on_pull(self, pull: Pull) -> Decision | None:
        """A pull arrived: the receiver wants more packets; with ``"pull"`` in `needs`."""
        return None

    def on_idle(self, idle: Idle) -> Decision | None:
        """A message follows on an idle connection (``transport.idle_restart``); never a reason to send more."""
        return None

    def on_timer(self, now_ps: int) -> Decision | None:
        """The time that the last decision gave has come. ``None``: there is no next one."""
        return None

    def signal(self) -> float | None:
        """Give the number that it judges congestion by, for the probe ``signal``."""
        return None

    def state(self) -> str | None:
        """Give the state that it is in, such as ``"slow_start"``, for traces."""
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
    asked(control)
    return control


@dataclass(frozen=True)
class Asked:
    """What a class asks for, field by field as a control in Rust has it, for the native part."""

    ecn: str
    sent: bool
    send_record: bool
    pull_rate: float | None
    cnp_interval_ps: int | None
    telemetry: str
    arrival: bool
    nacks: str
    signal_bytes: tuple[int, int]
    may_close: bool
    has_timer: bool
    has_signal: bool
    has_state: bool


# The words of `needs`, and the method that comes with one.
_WORDS = {
    "ecn": None,
    "telemetry": None,
    "arrival": None,
    "send_record": None,
    "sent": "on_sent",
    "cnp": "on_cnp",
    "pull": "on_pull",
}


def asked(control: type[Control]) -> Asked:
    """Read off a class what it asks for, and refuse one that does not say it, or contradicts itself."""
    needs = _needs(control)
    for word, method in _WORDS.items():
        if method is None or _has(control, method) == (word in needs):
            continue
        if word in needs:
            problem, cure = f"needs {word!r} and has no {method}", f"define {method}, or leave {word!r} out of needs"
        else:
            problem, cure = f"has {method}, which nothing calls", f"add {word!r} to needs"
        raise _refused(control, problem, cure)
    if callable(getattr(control, "target_delay", None)):
        problem = "has target_delay, which has no form in Python"
        raise _refused(control, problem, "leave it out, or write the control in Rust: farspan new --control NAME")
    data, ack = _signal_bytes(control)
    ecn = "as_loss" if _flag(control, "ecn_as_loss") else "required"
    answers = "published" if _has(control, "on_nack") else "unsaid"
    return Asked(
        ecn=ecn if "ecn" in needs else "ignored",
        sent="sent" in needs,
        send_record="send_record" in needs,
        pull_rate=_number(control, "pull_rate", 0.0, 1.0, "a part of the line rate") if "pull" in needs else None,
        cnp_interval_ps=_whole(control, "cnp_interval_ps", 10**12, "ps") if "cnp" in needs else None,
        telemetry=_kind(control) if "telemetry" in needs else "none",
        arrival="arrival" in needs,
        nacks=answers if _has(control, "lower") else "only",
        signal_bytes=(data, ack),
        may_close=_flag(control, "may_close"),
        has_timer=_has(control, "on_timer"),
        has_signal=_has(control, "signal"),
        has_state=_has(control, "state"),
    )


def _needs(control: type[Control]) -> Collection[str]:
    """Give the words of `needs`, or those that `ecn` stands for."""
    needs, ecn = getattr(control, "needs", None), getattr(control, "ecn", None)
    words = ", ".join(map(repr, _WORDS))
    if needs is None:
        if isinstance(ecn, bool):
            return {"ecn"} if ecn else set()
        cure = f"write `needs = {{...}}` with those of {words} that it looks at, or `needs = set()`"
        raise _refused(control, "does not say what it needs", cure)
    if isinstance(needs, str) or not isinstance(needs, Collection) or not all(isinstance(one, str) for one in needs):
        raise _refused(control, f"has needs = {needs!r}", 'write a set of words, such as `needs = {"ecn"}`')
    for word in sorted(set(needs) - _WORDS.keys()):
        near = difflib.get_close_matches(word, _WORDS, 1)
        cure = f"did you mean {near[0]!r}?" if near else f"there are {words}"
        raise _refused(control, f"needs {word!r}, which is no signal", cure)
    if ecn is not None and bool(ecn) != ("ecn" in needs):
        cure = 'leave `ecn` out, and write "ecn" in needs or not'
        raise _refused(control, f"has ecn = {ecn} and needs = {needs!r}, and they differ", cure)
    return needs


def _has(control: type[Control], method: str) -> bool:
    """Whether a class has a method of its own."""
    own = getattr(control, method)
    return callable(own) and own is not getattr(Control, method)


def _refused(control: type[Control], problem: str, cure: str) -> ScenarioError:
    return ScenarioError(f"{control.__name__} {problem}", argument="control", cure=cure)


def _flag(control: type[Control], name: str) -> bool:
    value: Any = getattr(control, name)
    if not isinstance(value, bool):
        raise _refused(control, f"has {name} = {value!r}", "write True or False")
    return value


def _number(control: type[Control], name: str, above: float, most: float, unit: str) -> float:
    value: Any = getattr(control, name)
    if isinstance(value, bool) or not isinstance(value, int | float) or not above < value <= most:
        raise _refused(control, f"has {name} = {value!r}", f"give {unit}, above {above:g}, up to {most:g}")
    return value


def _whole(control: type[Control], name: str, most: int, unit: str) -> int:
    value: Any = getattr(control, name)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 < value <= most:
        raise _refused(control, f"has {name} = {value!r}", f"give a whole number of {unit}, from 1 up to {most}")
    return value


def _kind(control: type[Control]) -> str:
    if control.telemetry_kind not in ("int", "mpd"):
        raise _refused(control, f"has telemetry_kind = {control.telemetry_kind!r}", 'write "int" or "mpd"')
    return control.telemetry_kind


def _signal_bytes(control: type[Control]) -> tuple[int, int]:
    match control.signal_bytes:
        case (int(data), int(ack)) if 0 <= data <= 256 and 0 <= ack <= 256:
            return data, ack
    cure = "give the bytes in a data packet and in an ACK, each from 0 to 256: signal_bytes = (42, 42)"
    raise _refused(control, f"has signal_bytes = {control.signal_bytes!r}", cure)

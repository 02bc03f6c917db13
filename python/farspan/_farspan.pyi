"""The native part."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from farspan._request import Request
from farspan._run import How
from farspan._sweep import _Plan
from farspan.control import Control

__version__: str

class Table:
    """Rows in columns, held as Arrow arrays.

    Libraries that know the Arrow PyCapsule interface take it without copying: ``pyarrow.table(table)``,
    ``polars.DataFrame(table)``, ``pandas.DataFrame.from_arrow(table)``, ``duckdb.from_arrow(pyarrow.table(table))``.
    """

    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def __len__(self) -> int: ...
    @property
    def columns(self) -> list[str]:
        """Names of the columns."""

    @property
    def units(self) -> dict[str, str]:
        """Units by column; columns without a unit are left out."""

    def column(self, name: str) -> list[int | float | bool | str | None]:
        """The values of a column as Python objects, ``None`` for null. ``KeyError`` if there is no such column."""

    def filter(self, name: str, value: str) -> Table:
        """The rows whose text column `name` is `value`. ``KeyError`` or ``TypeError`` if there is none of text."""

    def to_pandas(self) -> Any:
        """The table as a ``pandas.DataFrame``. ``ImportError`` if pandas is not installed."""

    def to_polars(self) -> Any:
        """The table as a ``polars.DataFrame``. ``ImportError`` if polars is not installed."""

class Ran:
    summary: str
    scenario: str
    flows: Table
    ports: Table
    series: Table
    collectives: Table

class Sweep:
    def __init__(self, plan: _Plan) -> None: ...
    def run(self, progress: Callable[[float, int], object] | None) -> tuple[str, int, list[str]]: ...
    def pending(self) -> list[tuple[int, str, list[str], str]]: ...
    def finish(self, errors: dict[int, str], ran: list[int]) -> tuple[str, int, list[str]]: ...
    def close(self) -> None: ...

def sweep_plan(args: Sequence[str]) -> tuple[str, Path, int | None, bool, bool, str | None]: ...
def sweep_told(out: Path) -> tuple[str, str, str]: ...
def main(args: Sequence[str], itself: Sequence[str], code: str) -> int: ...

class FlowPath:
    """A flow's path, as its sender knows it before the first packet. Times are whole picoseconds."""

    @property
    def class_name(self) -> str:
        """``"intra"`` or ``"inter"``."""
    @property
    def base_rtt_ps(self) -> int:
        """Round trip of a full packet and its ACK through an empty network."""
    @property
    def intra_base_rtt_ps(self) -> int:
        """Base round trip of the farthest pair inside one datacenter."""
    @property
    def largest_base_rtt_ps(self) -> int:
        """Base round trip of the farthest pair of the network."""
    @property
    def max_queueing_ps(self) -> int:
        """Largest wait in full buffers along the path."""
    @property
    def k_min(self) -> int | None:
        """The shortest queue at which a port of the path marks, in bytes; `None`: no port marks for its queue."""
    @property
    def trims(self) -> bool:
        """Whether full ports of the path trim packets; else they drop them."""
    @property
    def line_rate(self) -> int:
        """Rate of the sender's NIC, in bit/s."""
    @property
    def bdp(self) -> int:
        """`line_rate` x `base_rtt_ps`, in bytes."""
    @property
    def hops(self) -> int:
        """Links from sender to receiver."""
    @property
    def mss(self) -> int:
        """Payload of a full packet, in bytes."""
    @property
    def header(self) -> int:
        """Header of every packet, in bytes."""
    @property
    def initial_cwnd(self) -> int:
        """First window, in bytes: the same for every scheme of a scenario."""
    @property
    def cwnd_on_wire(self) -> int:
        """`initial_cwnd` as `bdp` counts: with headers, up to `bdp`; a larger window of payload stays as it is."""
    @property
    def size(self) -> int:
        """Payload of the message, in bytes."""
    @property
    def active_flows(self) -> int:
        """How many flows of the same host were under way when this one began."""
    @property
    def seed(self) -> int:
        """The run's seed: draws of a control follow from it and from `flow`, so that a run can be repeated."""
    @property
    def flow(self) -> int:
        """The flow's id."""

class Hop:
    """The state of a port when its service of a packet began, without that packet."""

    @property
    def at_ps(self) -> int:
        """When that was."""
    @property
    def sent(self) -> int:
        """Bytes that left the port before the packet; at a port that counts arrivals, that had come to it."""
    @property
    def queued(self) -> int:
        """The data queue that waits behind the packet, in bytes."""
    @property
    def rate(self) -> int:
        """The rate of its link, in bit/s."""
    @property
    def queueing_delay_ps(self) -> int:
        """How long the port takes to send the queue."""

class SendRecord:
    """The state of the sender when a packet left. Times are whole picoseconds, sizes are bytes of payload."""

    @property
    def in_flight(self) -> int:
        """In flight after the packet was sent."""
    @property
    def cwnd(self) -> int:
        """The congestion window by which it was sent."""
    @property
    def delivered(self) -> int:
        """Delivered so far."""
    @property
    def delivered_at_ps(self) -> int:
        """When `delivered` last changed."""
    @property
    def first_sent_at_ps(self) -> int:
        """Send time of the first packet of the current flight."""
    @property
    def app_limited(self) -> bool:
        """Whether the sender had nothing more to send."""

class Ack:
    """An ACK for one packet. Times are whole picoseconds, sizes are bytes of payload.

    A signal that the control does not ask for is an ``AttributeError``, which says what to add to its needs.
    """

    @property
    def now_ps(self) -> int:
        """Now."""
    @property
    def bytes_acked(self) -> int:
        """What is acknowledged for the first time; zero for a duplicate."""
    @property
    def mapped(self) -> int:
        """Of these, what only a map names, each packet of which had an ACK of its own that was lost, as a rule."""
    @property
    def echoed_bytes(self) -> int:
        """`bytes_acked` without `mapped`: a mark counts for this much."""
    @property
    def acked_packets(self) -> int:
        """For how many packets' ACKs it stands: 1, but of a receiver that holds or delays ACKs."""
    @property
    def rtt_ps(self) -> int:
        """Round trip of the acknowledged transmission."""
    @property
    def sent_at_ps(self) -> int:
        """When it left."""
    @property
    def in_flight(self) -> int:
        """In flight after this ACK."""
    @property
    def delivered(self) -> int:
        """Delivered so far, this ACK included."""
    @property
    def acked_below(self) -> int:
        """All packets below this one are acknowledged."""
    @property
    def sent_below(self) -> int:
        """All packets below this one have been sent."""
    @property
    def has_losses(self) -> bool:
        """Whether packets were lost that are not acknowledged since."""
    @property
    def ecn_ce(self) -> bool:
        """Whether the packet arrived with a congestion mark; with ``"ecn"`` in the needs."""
    @property
    def hops(self) -> tuple[Hop, ...]:
        """What ports wrote on the packet, the first on its way first; with ``"telemetry"`` in the needs.

        Empty where ports write none.
        """
    @property
    def received_at_ps(self) -> int | None:
        """When the packet arrived, by the receiver's clock; with ``"arrival"`` in the needs."""
    @property
    def at_send(self) -> SendRecord | None:
        """The sender's state when the packet left; with ``"send_record"`` in the needs."""

class Loss:
    """Packets that were lost. Times are whole picoseconds, sizes are bytes of payload."""

    @property
    def now_ps(self) -> int:
        """Now."""
    @property
    def bytes(self) -> int:
        """What was lost."""
    @property
    def sent_at_ps(self) -> int:
        """When the newest of the lost transmissions left."""
    @property
    def in_flight(self) -> int:
        """In flight after the loss was taken out."""

class Nack(Loss):
    """A NACK: a packet did not arrive whole."""

    @property
    def cause(self) -> str:
        """Why it came.

        ``"trimmed"``: a port trimmed the packet; ``"gap"``: a proxy found it lost; ``"returned"``: a port had no room
        for its header and sent it back; ``"block"``: the timer of a coded block ran out.
        """

class Timeout(Loss):
    """Packets were not acknowledged within the retransmission time-out."""

    @property
    def rto_ps(self) -> int:
        """The time-out that ran out, before any doubling."""

class Sent:
    """A packet left."""

    @property
    def now_ps(self) -> int:
        """Now."""
    @property
    def bytes(self) -> int:
        """Its payload."""
    @property
    def in_flight(self) -> int:
        """Payload in flight, this packet included."""
    @property
    def retransmission(self) -> bool:
        """Whether the same payload was sent before."""

class Pull:
    """A pull. It may be lost or overtake another: the largest count is the one that holds."""

    @property
    def now_ps(self) -> int:
        """Now."""
    @property
    def count(self) -> int:
        """How many packets the receiver has pulled of this flow so far, this one included."""
    @property
    def in_flight(self) -> int:
        """Payload in flight."""

class Cnp:
    """A CNP: packets of the flow come marked."""

    @property
    def now_ps(self) -> int:
        """Now."""
    @property
    def in_flight(self) -> int:
        """Payload in flight."""

class Idle:
    """A message follows on a flow that had nothing left to send, and nothing in flight."""

    @property
    def now_ps(self) -> int:
        """Now."""
    @property
    def idle_ps(self) -> int:
        """How long ago a packet last left."""
    @property
    def rto_ps(self) -> int:
        """The time-out, which says what a long idle time is."""
    @property
    def initial_cwnd(self) -> int:
        """The flow's first window."""

def window_curve(control: type[Control] | str, between: bool) -> list[tuple[int, int, int | None]]: ...
def conforms(control: type[Control] | str) -> None: ...
def run(
    ask: Request, how: How, progress: Callable[[float, int], object] | None
) -> tuple[list[Ran], str | None, list[str]]: ...
def check(ask: Request) -> str: ...
def catalog(kind: str) -> str: ...
def seeds(text: str) -> list[int]: ...
def slowdown_bins(
    sizes: Sequence[int], slowdowns: Sequence[float], quantile: float
) -> list[tuple[int, int, float | None]]: ...
def looks(count: int) -> list[tuple[str, list[float], str]]: ...
def over(
    runs: Sequence[tuple[str, str]] | str | os.PathLike[str],
    asked: tuple[str, str, str],
    only: Sequence[tuple[str, str]],
) -> str: ...
def default_folder(file: str) -> os.PathLike[str]: ...
def read_table(path: str | os.PathLike[str]) -> Table: ...
def compare(folders: Sequence[str], baseline: str | None) -> str: ...
def report(folder: str | os.PathLike[str], output: str | os.PathLike[str] | None) -> os.PathLike[str]: ...

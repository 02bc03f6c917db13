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
    def flow(self) -> int:
        """The flow's id."""

class Ack:
    """An ACK for one packet. Times are whole picoseconds, sizes are bytes of payload."""

    @property
    def now_ps(self) -> int:
        """Now."""
    @property
    def bytes_acked(self) -> int:
        """What is acknowledged for the first time; zero for a duplicate."""
    @property
    def ecn_ce(self) -> bool:
        """Whether the packet arrived with a congestion mark."""
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

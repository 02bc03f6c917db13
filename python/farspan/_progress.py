"""Progress: a bar of rich or tqdm if one of them is installed, or a function of the caller's."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import NamedTuple


class Progress(NamedTuple):
    """How far the runs of a call have come, together.

    Attributes
    ----------
    fraction : float
        Payload delivered over payload to deliver, from 0 to 1.
    packet_hops : int
        Packets that finished transmission on a link.
    """

    fraction: float
    packet_hops: int


Listener = Callable[[Progress], object]


@contextmanager
def listening(progress: bool | Listener | None, label: str) -> Iterator[Callable[[float, int], object] | None]:
    """Give the function that the native part calls now and then, or nothing if nobody listens."""
    if callable(progress):
        listener = progress
        yield lambda fraction, packet_hops: listener(Progress(fraction, packet_hops))
    elif progress is False or (progress is None and not _watched()):
        yield None
    elif find_spec("rich"):
        yield from _rich(label)
    elif find_spec("tqdm"):
        yield from _tqdm(label)
    else:
        yield None


def _watched() -> bool:
    """Whether somebody sees a bar: in a terminal, or in a notebook."""
    return "ipykernel" in sys.modules or sys.stderr.isatty()


def _rich(label: str) -> Iterator[Callable[[float, int], object]]:
    from rich.console import Console
    from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(label, total=1.0)
        yield lambda fraction, packet_hops: bar.update(task, completed=fraction)


def _tqdm(label: str) -> Iterator[Callable[[float, int], object]]:
    from tqdm.auto import tqdm

    with tqdm(total=100, desc=label, leave=False, unit="%", bar_format="{l_bar}{bar}| {remaining}") as bar:
        yield lambda fraction, packet_hops: bar.update(100 * fraction - bar.n)

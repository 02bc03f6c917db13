"""The native part."""

import os
from collections.abc import Callable, Sequence

from farspan._request import Request
from farspan._run import _How
from farspan._sweep import _Plan

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

class Ran:
    summary: str
    scenario: str
    flows: Table
    ports: Table
    series: Table
    collectives: Table

class Sweep:
    def __init__(self, plan: _Plan) -> None: ...
    def run(self, progress: Callable[[float, int], object] | None) -> str: ...
    def pending(self) -> list[tuple[int, str, list[str]]]: ...
    def finish(self, errors: dict[int, str]) -> str: ...
    def close(self) -> None: ...

def main(args: Sequence[str], itself: Sequence[str], code: str) -> int: ...
def run(
    ask: Request, how: _How, progress: Callable[[float, int], object] | None
) -> tuple[list[Ran], str | None, list[str]]: ...
def check(ask: Request) -> str: ...
def catalog(kind: str) -> str: ...
def read_table(path: str | os.PathLike[str]) -> Table: ...
def compare(folders: Sequence[str], baseline: str | None) -> str: ...
def report(folder: str | os.PathLike[str], output: str | os.PathLike[str] | None) -> os.PathLike[str]: ...

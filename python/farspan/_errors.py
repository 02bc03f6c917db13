"""What can go wrong."""

from __future__ import annotations


class ScenarioError(ValueError):
    """Bad input: a scenario, or an argument that changes it, is wrong. Nothing was run or written.

    Attributes
    ----------
    problem : str
        What is wrong, and what was expected.
    file : str or None
        The file, or the name of the built-in scenario.
    line, column : int or None
        Where in the file, both from 1.
    argument : str or None
        The argument of the Python call that is wrong, instead of a file.
    key : str or None
        The key of the scenario, as a dotted path.
    cure : str or None
        What to do about it, unless the problem says so.

    Examples
    --------
    >>> import farspan as fs
    >>> try:
    ...     fs.check("uno/incast-mixed", set={"topology.wan.rrt": "4ms"})
    ... except fs.ScenarioError as error:
    ...     print(error.key)
    ...     print(error.cure)
    topology.wan.rrt
    did you mean "rtt"? Known here: buffer, links, rate, rtt
    """

    def __init__(
        self,
        problem: str,
        *,
        file: str | None = None,
        line: int | None = None,
        column: int | None = None,
        argument: str | None = None,
        key: str | None = None,
        cure: str | None = None,
    ) -> None:
        super().__init__(problem)
        self.problem = problem
        self.file = file
        self.line = line
        self.column = column
        self.argument = argument
        self.key = key
        self.cure = cure

    def __str__(self) -> str:
        place = ":".join(str(part) for part in (self.file, self.line, self.column) if part is not None)
        parts = [part for part in (self.argument or place, self.key, self.problem) if part]
        return ": ".join(parts) + (f"; {self.cure}" if self.cure else "")

    def __reduce__(self) -> tuple[object, ...]:
        # Exceptions are rebuilt from `args` alone, which has no keywords: other processes would lose them.
        return (_rebuild, (self.problem, self.__dict__))


def _rebuild(problem: str, fields: dict[str, object]) -> ScenarioError:
    error = ScenarioError(problem)
    error.__dict__.update(fields)
    return error


class RunError(RuntimeError):
    """A run failed though its input was right: its results could not be written, for example.

    A bug of farspan, too, is one of these: the run is lost, and Python goes on.
    """


for _error in (ScenarioError, RunError):
    # The name that users know.
    _error.__module__ = "farspan"

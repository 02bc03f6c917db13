"""Running scenarios."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import overload

from farspan import _farspan
from farspan._errors import ScenarioError
from farspan._progress import Listener, listening
from farspan._request import LARGEST_SEED, Scenario, folder, request, whole
from farspan._result import Result, Runs
from farspan.control import Control, Controls, classes

MOST_THREADS = 2**16 - 1


@dataclass(frozen=True)
class How:
    """How to run, as the native part takes it."""

    seeds: list[int] | None = None
    threads: int = 1
    engine: str = "windowed"
    out: Path | None = None
    trace: list[str] = field(default_factory=list)
    pcap: list[str] = field(default_factory=list)
    force: bool = False
    controls: tuple[type[Control] | None, type[Control] | None] = (None, None)


@overload
def run(
    scenario: Scenario,
    *,
    scheme: str | None = None,
    control: Controls | None = None,
    profile: str | None = None,
    seed: int | None = None,
    seeds: None = None,
    threads: int = 1,
    engine: str = "windowed",
    set: Mapping[str, object] | None = None,
    out: str | os.PathLike[str] | None = None,
    trace: Sequence[str] = (),
    pcap: Sequence[str] = (),
    force: bool = False,
    progress: bool | Listener | None = None,
) -> Result: ...
@overload
def run(
    scenario: Scenario,
    *,
    scheme: str | None = None,
    control: Controls | None = None,
    profile: str | None = None,
    seed: None = None,
    seeds: Iterable[int] | str,
    threads: int = 1,
    engine: str = "windowed",
    set: Mapping[str, object] | None = None,
    out: str | os.PathLike[str] | None = None,
    trace: Sequence[str] = (),
    pcap: Sequence[str] = (),
    force: bool = False,
    progress: bool | Listener | None = None,
) -> Runs: ...
def run(
    scenario: Scenario,
    *,
    scheme: str | None = None,
    control: Controls | None = None,
    profile: str | None = None,
    seed: int | None = None,
    seeds: Iterable[int] | str | None = None,
    threads: int = 1,
    engine: str = "windowed",
    set: Mapping[str, object] | None = None,
    out: str | os.PathLike[str] | None = None,
    trace: Sequence[str] = (),
    pcap: Sequence[str] = (),
    force: bool = False,
    progress: bool | Listener | None = None,
) -> Result | Runs:
    """Run a scenario, for one seed or several.

    Other Python threads keep running, and several runs can run side by side. Ctrl-C ends the run early: with
    `out` the partial results are written there, marked ``partial``, for :func:`load` to read; without it they are
    discarded. Then ``KeyboardInterrupt`` is raised.

    Parameters
    ----------
    scenario : str, path or mapping
        The name of a built-in scenario (see :func:`scenarios`), a TOML file, or a scenario as a mapping, such as
        ``{"base": "uno/steady", "workload": {"load": 0.3}}``.
    scheme : str, optional
        The scheme, such as ``"uno-noec"`` (see :func:`schemes`), ``"unocc+rps"``, or ``"A/B"`` for flows inside a
        datacenter and between them; by default the scenario's.
    control : class or mapping, optional
        A subclass of :class:`Control` that replaces the scheme's congestion control; or
        ``{"intra": ..., "inter": ...}``. The scheme's path selector, recovery, coding and marking at ports stay. Slow:
        for prototypes. Results have the class name as their scheme. Seeds run one after another.
    profile : str, optional
        ``"paper"`` or ``"artifact"``; by default the scenario's.
    seed : int, optional
        The seed of all random draws; by default the scenario's.
    seeds : iterable of int, or str, optional
        Several seeds instead, such as ``range(1, 7)`` or ``"1..6"`` (both ends included): they run side by side on all
        cores. A 95% interval needs six.
    threads : int
        Maximum number of threads per run; the result is the same.
    engine : str
        ``"windowed"`` (fast) or ``"oracle"`` (plain); the result is the same.
    set : mapping, optional
        Values by path, such as ``{"topology.wan.rtt": "4ms", "topology.k": 8}``. Text stays text, a list becomes a
        list; ``"workload.X"`` sets ``X`` in every part of the workload that has such a key.
    out : path, optional
        A folder for ``summary.json``, ``scenario.toml``, the Parquet tables and ``report.html``; with `seeds`, a
        folder ``seed-N`` in it for each of them. It replaces results of the same scenario, scheme, profile and seeds.
    trace : sequence of str
        Flows to log as qlog in ``out/trace``, such as ``["flow=0,5", "class=inter"]``.
    pcap : sequence of str
        Ports whose packets to capture in ``out/trace/ports.pcapng``, by name or pattern.
    force : bool
        Replace whatever is in `out`.
    progress : bool or callable, optional
        ``True``: a bar of rich or tqdm, if one is installed; a callable: called about 20 times a second with a
        :class:`Progress`, on the calling thread; an exception in it ends the run. By default a bar if
        somebody can see it.

    Returns
    -------
    Result
        Or, with `seeds`, :class:`Runs`.

    Raises
    ------
    ScenarioError
        If the input is wrong, or `out` holds other results: a ``ValueError`` with the place and the cure.
    RunError
        If the results cannot be written to `out`, or another run writes there.
    Exception
        What a method of `control` raised, which ended the run.

    Warns
    -----
    UserWarning
        If something about the scenario is odd, or flows had not ended at ``stop.time``.

    Examples
    --------
    >>> import farspan as fs
    >>> small = {"workload.flow_size": "64KiB"}
    >>> result = fs.run("uno/incast-mixed", scheme="gemini", seed=1, set=small)
    >>> result
    <farspan.Result uno/incast-mixed scheme gemini seed 1: 8 of 8 flows>
    >>> runs = fs.run("uno/incast-mixed", scheme="gemini", seeds=range(1, 4), set=small)
    >>> [run.seed for run in runs]
    [1, 2, 3]
    >>> runs[0].digest == result.digest
    True
    """
    ask = request(scenario, scheme, profile, seed, set)
    how = How(
        seeds=_seeds(seed, seeds),
        threads=whole(threads, 1, MOST_THREADS, "threads"),
        engine=engine,
        out=folder(out),
        trace=_selected(trace, "trace", out),
        pcap=_selected(pcap, "pcap", out),
        force=force,
        controls=classes(control),
    )
    if control is not None and how.threads > 1:
        raise ScenarioError("a control in Python runs on one thread", argument="threads", cure="leave threads out")
    name = "/".join(dict.fromkeys(cls.__name__ for cls in how.controls if cls)) or scheme
    label = " ".join(part for part in (ask.scenario, name) if part)
    with listening(progress, label) as listener:
        ran, document, texts = _farspan.run(ask, how, listener)
    for text in texts:
        warnings.warn(text, stacklevel=2)
    results = [
        Result(json.loads(run.summary), run.scenario, run.flows, run.ports, run.collectives, run.series) for run in ran
    ]
    return results[0] if document is None else Runs(results, json.loads(document))


def _selected(words: Sequence[str], argument: str, out: object) -> list[str]:
    if isinstance(words, str):
        raise ScenarioError(f"{words!r} is text", argument=argument, cure=f"give a list: [{words!r}]")
    if words and out is None:
        raise ScenarioError("traces need a folder", argument=argument, cure="give out, the folder for them")
    return list(words)


def _seeds(seed: int | None, seeds: Iterable[int] | str | None) -> list[int] | None:
    if seeds is None:
        return None
    if seed is not None:
        raise ScenarioError("seed and seeds exclude each other", argument="seeds", cure="give one of them")
    if isinstance(seeds, str):
        return _farspan.seeds(seeds)
    if not isinstance(seeds, Iterable):
        cure = "give seed=... for one seed"
        if isinstance(seeds, int) and seeds > 1:
            many = f'seeds=range(1, {seeds + 1}) or seeds="1..{seeds}" for {seeds} of them'
            cure = f"give seed={seeds} for that one, or {many}"
        raise ScenarioError(f"{seeds!r} is not several seeds", argument="seeds", cure=cure)
    checked = [whole(one, 0, LARGEST_SEED, "seeds") for one in seeds]
    if not checked or len(checked) != len({*checked}):
        problem = "a seed is given twice" if checked else "it has no seeds"
        raise ScenarioError(problem, argument="seeds", cure="give different ints, such as range(1, 7)")
    return checked

"""Threads, signals and progress."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import farspan as fs
import pytest
from common import INCAST, SMALL


def test_other_threads_go_on_during_a_run() -> None:
    with ThreadPoolExecutor(1) as pool:
        run = pool.submit(fs.run, INCAST, set={"workload.flow_size": "128MiB"})
        longest, last = 0.0, time.monotonic()
        while not run.done():
            now = time.monotonic()
            longest, last = max(longest, now - last), now
        assert longest < run.result().summary["wall_time_s"] / 2


def test_runs_side_by_side_are_those_one_after_another() -> None:
    schemes = ["uno", "uno-noec", "gemini", "dctcp"] * 2

    def digest(scheme: str) -> str:
        return fs.run(INCAST, scheme=scheme, seed=3, set=SMALL).digest

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(digest, schemes)) == [digest(scheme) for scheme in schemes]


class Interrupter:
    """Presses Ctrl-C once a run is under way."""

    def __init__(self) -> None:
        self.under_way = threading.Event()
        self.thread = threading.Thread(target=self.press)
        self.thread.start()

    def press(self) -> None:
        self.under_way.wait()
        os.kill(os.getpid(), signal.SIGINT)

    def __call__(self, progress: fs.Progress) -> None:
        if progress.fraction > 0:
            self.under_way.set()


@pytest.mark.skipif(sys.platform == "win32", reason="signals to this process alone are POSIX")
@pytest.mark.parametrize("out", [False, True])
def test_ctrl_c_ends_a_run_and_leaves_partial_results_in_out(out: bool, tmp_path: Path) -> None:
    interrupter = Interrupter()
    folder = tmp_path / "out"
    with pytest.raises(KeyboardInterrupt):
        fs.run(INCAST, out=folder if out else None, progress=interrupter)
    interrupter.thread.join()
    if out:
        partial = fs.load(folder)
        assert partial.partial
        assert partial.flows.column("finish_ns") == [None] * 8
        assert repr(partial).endswith("0 of 8 flows, partial>")


@pytest.mark.skipif(sys.platform == "win32", reason="signals to this process alone are POSIX")
def test_ctrl_c_ends_all_seeds(tmp_path: Path) -> None:
    interrupter = Interrupter()
    with pytest.raises(KeyboardInterrupt):
        fs.run(INCAST, seeds=range(1, 100), out=tmp_path, progress=interrupter)
    interrupter.thread.join()
    runs = fs.load_runs(tmp_path)
    assert 0 < len(runs) < 99
    assert all(run.partial for run in runs)


def test_what_a_listener_raises_ends_the_run() -> None:
    def listener(progress: fs.Progress) -> None:
        raise LookupError("enough")

    with pytest.raises(LookupError, match="enough"):
        fs.run(INCAST, progress=listener)


def test_a_listener_hears_on_the_calling_thread_how_far_runs_have_come() -> None:
    heard: list[tuple[fs.Progress, int]] = []
    fs.run(
        INCAST,
        set={"workload.flow_size": "128MiB"},
        progress=lambda progress: heard.append((progress, threading.get_ident())),
    )
    assert heard
    assert {thread for _, thread in heard} == {threading.get_ident()}
    fractions = [progress.fraction for progress, _ in heard]
    assert fractions == sorted(fractions)
    assert 0 <= fractions[0] <= fractions[-1] <= 1
    assert heard[-1][0].packet_hops > 0


@pytest.mark.parametrize("there", ["rich", "tqdm", "nothing"])
def test_a_bar_needs_no_library(there: str, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    from farspan import _progress

    monkeypatch.setattr(_progress, "find_spec", lambda name: name == there)
    with _progress.listening(True, "label") as listener:
        assert (listener is None) == (there == "nothing")
        if listener:
            listener(0.5, 10)
            listener(1.0, 20)
    assert capsys.readouterr().out == ""


def test_nobody_is_shown_a_bar_unless_somebody_looks() -> None:
    from farspan import _progress

    with _progress.listening(None, "label") as listener:
        assert listener is None
    with _progress.listening(False, "label") as listener:
        assert listener is None

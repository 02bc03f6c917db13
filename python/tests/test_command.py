"""The command that the wheel brings."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import sysconfig
import time
from pathlib import Path

import farspan as fs
import pytest
from common import INCAST

SCRIPT = Path(sysconfig.get_path("scripts")) / ("farspan.exe" if sys.platform == "win32" else "farspan")
RUN = ["run", INCAST, "--seed", "1", "--set", "workload.flow_size=64KiB", "--json", "--quiet"]


def call(*command: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def test_the_command_gives_the_same_digests(small: fs.Result) -> None:
    ways: list[list[str | Path]] = [[SCRIPT], [sys.executable, "-m", "farspan"]]
    if binary := os.environ.get("FARSPAN_BINARY"):
        ways.append([binary])
    for way in ways:
        done = call(*way, *RUN)
        assert (done.returncode, done.stderr) == (0, "")
        document = json.loads(done.stdout)
        for key in ["digest", "packet_digest", "packet_hops", "fct", "farspan_version", "commit"]:
            assert document[key] == small.summary[key], (way, key)


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--version"], 0, f"farspan {fs.__version__}"),
        (["--help"], 0, "Usage: farspan <COMMAND>"),
        (["list", "schemes"], 0, "uno-noec"),
        ([], 2, "Usage: farspan <COMMAND>"),
        (["rum"], 2, 'did you mean "run"?'),
        (["run", "no/such"], 2, "neither a built-in scenario nor a file"),
        (["run", INCAST, "--threads", "0"], 2, "--threads"),
    ],
)
def test_exit_codes_are_those_of_the_program(arguments: list[str], code: int, words: str) -> None:
    done = call(SCRIPT, *arguments)
    assert done.returncode == code
    assert words in (done.stdout if code == 0 else done.stderr)
    assert (done.stderr if code == 0 else done.stdout) == ""


def test_benchmarks_start_the_command_anew() -> None:
    done = call(
        SCRIPT,
        "bench",
        "sim",
        "--only",
        "fat_tree_k8_permutation_fifo_probes",
        "--threads",
        "1",
        "--json",
        "--quiet",
        "--set",
        "workload.flow_size=16KiB",
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["benchmarks"][0]["packet_hops"] > 0


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
def test_ctrl_c_leaves_partial_results_and_exits_with_130(tmp_path: Path) -> None:
    small = ["--set", "workload.flow_size=16MiB"]
    command: list[str | Path] = [SCRIPT, "run", INCAST, "--seeds", "1..999", *small, "--json", "--out", tmp_path]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        while not (tmp_path / "seed-1" / "summary.json").exists():
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    runs = json.loads(out)["runs"]
    assert 0 < len(runs) < 999
    assert [run.digest for run in fs.load_runs(tmp_path)] == [run["digest"] for run in runs]

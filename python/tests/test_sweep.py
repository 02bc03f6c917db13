"""Sweeps from Python."""

from __future__ import annotations

import importlib
import json
import os
import signal
import sys
import threading
import time
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

import farspan as fs
import pytest
from common import need_module
from dctcp import Dctcp
from farspan import _farspan
from farspan._main import main
from farspan._place import command
from farspan.control import Ack, Decision

SMALL: dict[str, object] = {
    "scenario": "bench/fat-tree",
    "scheme": ["uno", "dctcp"],
    "seeds": "1..2",
    "grid": {"topology.k": 4, "workload.flow_size": ["4KiB", "8KiB"]},
}


class Broken(Dctcp):
    def on_ack(self, ack: Ack) -> Decision:
        raise RuntimeError("out of windows")


def told(sweep: fs.Sweep) -> list[dict[str, object]]:
    """The rows without what a computer took."""
    machine = {"wall_time_s", "setup_time_s", "peak_rss_bytes"}
    return [{name: value for name, value in row.items() if name not in machine} for row in sweep.rows]


def table_of(folder: Path) -> _farspan.Table:
    return _farspan.read_table(folder / "runs.parquet")


def parents_of(word: str) -> list[int]:
    """The parents of processes with this in their arguments: Ray's workers, of this test alone."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if word in (entry / "cmdline").read_text(errors="replace"):
                found.append(int((entry / "stat").read_text().rpartition(")")[2].split()[1]))
        except OSError:
            continue
    return found


def test_a_sweep_leaves_a_table_and_a_folder_for_each_run(tmp_path: Path) -> None:
    done = fs.sweep(SMALL, out=tmp_path / "s", jobs=2)
    assert (len(done.rows), len(done.runs), done.failed) == (8, 8, [])
    assert done.runs.column("workload.flow_size_bytes")[0] == 4096
    first = done.load(str(done.rows[0]["run"]))
    assert first.digest == done.rows[0]["digest"]
    before = {path: path.stat().st_mtime_ns for path in done.folder.glob("*/summary.json")}
    assert fs.sweep(SMALL, out=tmp_path / "s").rows == done.rows
    assert {path: path.stat().st_mtime_ns for path in done.folder.glob("*/summary.json")} == before


def test_a_file_names_its_folder(tmp_path: Path) -> None:
    file = tmp_path / "sizes.toml"
    file.write_text("scenario = 'bench/fat-tree'\n[grid]\n'topology.k' = 4\n'workload.flow_size' = '4KiB'\n")
    assert fs.sweep(file).folder == tmp_path / "sizes"


def test_failed_runs_are_rows_and_a_warning(tmp_path: Path) -> None:
    grid = {"topology.k": [4, 7], "workload.flow_size": "4KiB"}
    with pytest.warns(UserWarning, match="1 of 2 runs failed"):
        done = fs.sweep({"scenario": "bench/fat-tree", "grid": grid}, out=tmp_path / "s")
    assert "topology.k" in str(done.failed[0]["error"])


def test_wrong_sweeps_name_place_and_cure(tmp_path: Path) -> None:
    file = tmp_path / "s.toml"
    file.write_text("scenario = 'bench/fat-tree'\nschemes = 'uno'\n")
    with pytest.raises(fs.ScenarioError, match="did you mean") as raised:
        fs.sweep(file)
    assert (raised.value.line, raised.value.column, (tmp_path / "s").exists()) == (2, 1, False)
    with pytest.raises(fs.ScenarioError, match="a mapping has no name"):
        fs.sweep(SMALL)
    with pytest.raises(fs.ScenarioError, match="is not a backend"):
        fs.sweep(SMALL, out=tmp_path / "s", backend="slurm")
    with pytest.raises(fs.ScenarioError, match="that no sweep wrote"):
        fs.sweep(SMALL, out=tmp_path)


def test_a_control_runs_in_every_process(tmp_path: Path) -> None:
    small = {**SMALL, "scheme": "dctcp"}
    mine = fs.sweep(small, out=tmp_path / "s", control=Dctcp, jobs=2)
    assert (len(mine.rows), mine.failed, {row["scheme"] for row in mine.rows}) == (4, [], {"Dctcp"})
    twin = fs.sweep(small, out=tmp_path / "t")
    assert [row["packet_digest"] for row in mine.rows] == [row["packet_digest"] for row in twin.rows]
    both = fs.sweep(small, out=tmp_path / "s", control={"intra": Dctcp})
    assert {*(row["run"] for row in both.rows)}.isdisjoint(row["run"] for row in mine.rows), "another program"


def test_what_a_control_left_goes_on_with_that_control_alone(tmp_path: Path) -> None:
    small = {**SMALL, "scheme": "dctcp"}
    mine = fs.sweep(small, out=tmp_path / "s", control=Dctcp)
    text = tmp_path / "s" / "sweep.toml"
    assert text.read_text().startswith('control = "Dctcp"\n')
    again = fs.sweep(text, control=Dctcp)
    assert (again.folder, again.reused) == (tmp_path / "s", len(mine.rows))
    with pytest.raises(fs.ScenarioError, match='"Dctcp", a control in Python, which is not given'):
        fs.sweep(text)
    with pytest.raises(fs.ScenarioError, match='not "Dctcp/scheme"'):
        fs.sweep(text, control={"intra": Dctcp})


def test_another_text_of_a_class_above_it_is_another_control() -> None:
    _, files = command(Broken)
    assert [Path(file).name for file in files] == ["test_sweep.py", "dctcp.py"]


def test_a_control_without_a_file_is_refused(tmp_path: Path) -> None:
    class Local(Dctcp):
        pass

    with pytest.raises(fs.ScenarioError, match="cannot be imported by other processes"):
        fs.sweep(SMALL, out=tmp_path / "s", control=Local)
    with pytest.raises(fs.ScenarioError, match="runs on this machine"):
        fs.sweep(SMALL, out=tmp_path / "s", control=Dctcp, backend="ray")
    assert not (tmp_path / "s").exists()


def test_a_control_that_was_changed_after_its_import_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Dctcp, "gain", 0.5)
    for control in (Dctcp, Broken):
        with pytest.raises(
            fs.ScenarioError, match=r"Dctcp\.gain is 0\.5, and 0\.0625 in its file.*gain = \.\.\."
        ) as caught:
            fs.sweep(SMALL, out=tmp_path / "s", control=control)
        assert caught.value.argument == "control"
    monkeypatch.undo()
    monkeypatch.setattr(Dctcp, "on_timeout", Broken.on_ack)
    with pytest.raises(fs.ScenarioError, match=r"Dctcp\.on_timeout is on_ack of test_sweep"):
        fs.sweep(SMALL, out=tmp_path / "s", control=Dctcp)
    assert not (tmp_path / "s").exists()


PACKAGED = """
from .parent import Dctcp
class Mine(Dctcp):
    gain = 0.125
"""


def test_a_control_of_a_package_imports_its_neighbours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "controls" / "inner"
    folder.mkdir(parents=True)
    for package in (folder, folder.parent):
        (package / "__init__.py").touch()
    (folder / "parent.py").write_text("from dctcp import Dctcp\n")
    (folder / "mine.py").write_text(PACKAGED)
    tests = str(Path(__file__).parent)
    monkeypatch.setenv("PYTHONPATH", tests)
    monkeypatch.syspath_prepend(tmp_path)
    mine = importlib.import_module("controls.inner.mine").Mine
    one = {"scenario": "bench/fat-tree", "grid": {"topology.k": 4, "workload.flow_size": "4KiB"}}
    assert [row["status"] for row in fs.sweep(one, out=tmp_path / "s", control=mine).rows] == ["done"]
    (folder / "parent.py").write_text("from nowhere_at_all import Dctcp\n")
    with pytest.raises(fs.ScenarioError, match=r"cannot be imported by other processes \(.*nowhere_at_all"):
        fs.sweep(one, out=tmp_path / "s", control=mine)


def test_what_a_control_raises_is_the_error_of_its_row(tmp_path: Path) -> None:
    one = {"scenario": "bench/fat-tree", "grid": {"topology.k": 4}}
    with pytest.warns(UserWarning, match="out of windows"):
        assert len(fs.sweep(one, out=tmp_path / "s", control=Broken).failed) == 1


def test_ctrl_c_keeps_what_is_whole(tmp_path: Path) -> None:
    def press() -> None:
        while len(list(tmp_path.glob("s/[!.]*/summary.json"))) < 3:
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    many = {**SMALL, "seeds": "1..20"}
    pressing = threading.Thread(target=press)
    pressing.start()
    with pytest.raises(KeyboardInterrupt):
        fs.sweep(many, out=tmp_path / "s", jobs=2)
    pressing.join()
    there = len(list(tmp_path.glob("s/[!.]*/summary.json")))
    assert 3 <= there < 80
    assert len(fs.sweep(many, out=tmp_path / "s", jobs=2).rows) == 80


def test_without_ray_the_message_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install \"farspan\[ray\]\""):
        fs.sweep(SMALL, out=tmp_path / "s", backend="ray")
    assert not (tmp_path / "s").exists()


class OneByOne:
    """As much of Ray as a sweep asks for: tasks run when they are made. `after` so many, Ctrl-C is pressed."""

    class exceptions:  # noqa: N801
        RayError = OSError

    def __init__(self, after: int) -> None:
        self.after = after

    def is_initialized(self) -> bool:
        return True

    def remote(self, **_: int) -> Callable[[Callable[..., object]], OneByOne]:
        def made(task: Callable[..., object]) -> OneByOne:
            self.remote = lambda *arguments: iter([task(*arguments)])  # type: ignore[method-assign, assignment]
            return self

        return made

    def wait(self, references: list[object], timeout: float) -> tuple[list[object], list[object]]:
        self.after -= len(references)
        if self.after < 0:
            raise KeyboardInterrupt
        return references, []

    def get(self, reference: Iterator[object]) -> object:
        return next(reference)

    def cancel(self, reference: object, force: bool) -> None:
        pass


def test_on_a_cluster_ctrl_c_keeps_what_is_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", OneByOne(after=3))
    with pytest.raises(KeyboardInterrupt):
        fs.sweep(SMALL, out=tmp_path / "s", backend="ray", jobs=1)
    status = table_of(tmp_path / "s").column("status")
    assert (len(status), status.count("not_run")) == (8, 4), "the fourth ran, and nobody heard of it"
    monkeypatch.setitem(sys.modules, "ray", OneByOne(after=100))
    done = fs.sweep(SMALL, out=tmp_path / "s", backend="ray")
    assert (done.reused, done.failed, len(done.rows)) == (4, [], 8)


def test_on_a_cluster_a_folder_without_a_whole_document_is_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = {"scenario": "bench/fat-tree", "grid": {"topology.k": 4, "workload.flow_size": "4KiB"}}
    monkeypatch.setitem(sys.modules, "ray", OneByOne(after=100))
    run = fs.sweep(one, out=tmp_path / "s", backend="ray").rows[0]
    document = tmp_path / "s" / str(run["run"]) / "summary.json"
    for broken in ('{"partial": true}', "{"):
        document.write_text(broken)
        monkeypatch.setitem(sys.modules, "ray", OneByOne(after=100))
        again = fs.sweep(one, out=tmp_path / "s", backend="ray")
        assert (again.reused, again.rows[0]["digest"]) == (0, run["digest"])
        assert fs.load(document.parent).digest == run["digest"]
        assert not list((tmp_path / "s" / ".under-way").glob("*"))


def test_the_command_hands_a_sweep_to_ray(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "s.toml"
    file.write_text("scenario = 'bench/fat-tree'\n[grid]\n'topology.k' = [4, 7]\n'workload.flow_size' = '4KiB'\n")

    def call(*more: str) -> tuple[object, str, str]:
        monkeypatch.setitem(sys.modules, "ray", OneByOne(after=100))
        monkeypatch.setattr(sys, "argv", ["farspan", "sweep", str(file), "--backend", "ray", "--quiet", *more])
        with pytest.raises(SystemExit) as ended:
            main()
        return ended.value.code, *capfd.readouterr()

    code, out, said = call("--json")
    document = json.loads(out)
    told = [document[name] for name in ("runs", "done", "failed", "not_run", "reused", "partial")]
    assert (code, told) == (1, [2, 1, 1, 0, 0, False])
    assert "1 of 2 runs failed; the first error: " in said
    file.write_text(file.read_text().replace(", 7", ""))
    code, out, said = call()
    assert (code, said) == (0, "")
    assert out.startswith("1 run done, 1 already complete\ndata set: ")
    code, out, said = call("--jobs", "0")
    assert (code, out) == (2, "")
    assert "jobs" in said
    assert call("--job", "1")[0] == 2
    file.unlink()
    assert call()[0] == 2


def test_the_command_hands_several_schemes_to_ray(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def call(out: str, *more: str) -> tuple[object, str, str]:
        small = ["--set", "topology.k=4", "--grid", "workload.flow_size=4KiB,8KiB", "--out", str(tmp_path / out)]
        monkeypatch.setitem(sys.modules, "ray", OneByOne(after=100))
        monkeypatch.setattr(sys, "argv", ["farspan", "sweep", "bench/fat-tree", "--quiet", *small, *more])
        with pytest.raises(SystemExit) as ended:
            main()
        return ended.value.code, *capfd.readouterr()

    ask = ["--scheme", "uno,dctcp", "--same", "recovery"]
    code, out, said = call("ray", *ask, "--backend", "ray")
    assert (code, said) == (0, "")
    assert "ratio to uno" in out
    assert "\n4 runs done\ndata set: " in out
    assert (tmp_path / "ray" / "report.html").is_file()
    assert call("local", *ask)[0] == 0
    columns = [[table_of(tmp_path / name).column(key) for key in ("run", "digest")] for name in ("ray", "local")]
    assert columns[0] == columns[1]
    code, out, said = call("none", "--scheme", "uno,osca", "--backend", "ray")
    assert (code, out) == (2, "")
    assert 'did you mean "oscar"?' in said
    assert not (tmp_path / "none").exists()


def test_the_command_says_on_ray_what_it_says_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "s.toml"
    grid = "[grid]\n'topology.buffer' = ['64KiB', '128KiB']\n'workload.flow_size' = '1MiB'\n"
    file.write_text(f"scenario = 'uno/incast-mixed'\nseeds = '1,2'\n{grid}")

    def call(backend: str) -> list[str]:
        monkeypatch.setitem(sys.modules, "ray", OneByOne(after=100))
        words = ["farspan", "sweep", str(file), "--backend", backend, "--out", str(tmp_path / backend)]
        monkeypatch.setattr(sys, "argv", words)
        with pytest.raises(SystemExit) as ended:
            main()
        said = capfd.readouterr().err
        assert ended.value.code == 0, said
        return [line for line in said.splitlines() if "note: " in line or "warning: " in line]

    said = call("ray")
    assert said == call("local")
    assert said[0].startswith("farspan: note: 2 seeds are too few for a 95% interval")
    assert any(line.startswith("farspan: warning: transport.start: the first window") for line in said)
    assert len(fs.sweep(file, out=tmp_path / "local").notes) == len(said) - 1


# Ray opens files and sockets that it leaves to its end.
@pytest.mark.filterwarnings("ignore")
def test_ray_does_the_same_though_a_worker_is_killed(tmp_path: Path) -> None:
    need_module("ray", "no sweep ran on a Ray cluster: pip install ray")
    many = {**SMALL, "seeds": "1..10"}
    killed = []

    def kill() -> None:
        while len(list(tmp_path.glob("ray/[!.]*/summary.json"))) < 3:
            time.sleep(0.01)
        while not (workers := parents_of(f"{tmp_path}/ray/.under-way")):
            time.sleep(0.001)
        os.kill(workers[0], signal.SIGKILL)
        killed.append(workers[0])

    killing = threading.Thread(target=kill)
    killing.start()
    on_ray = fs.sweep(many, out=tmp_path / "ray", backend="ray")
    killing.join()
    assert killed, "no worker was found to kill"
    assert on_ray.failed == []
    assert told(on_ray) == told(fs.sweep(many, out=tmp_path / "local", jobs=2))


def test_other_schemes_take_parts_over_from_the_first(tmp_path: Path) -> None:
    grid = {"topology.k": 4, "workload.flow_size": "4KiB", "topology.buffer": ["64KiB", "1MiB"]}
    question = {"scenario": "bench/fat-tree", "scheme": ["uno", "dctcp"], "grid": grid}
    same = fs.sweep({**question, "same": ["recovery"]}, out=tmp_path / "s")
    parts = [tomllib.loads(same.load(row["run"]).scenario)["scheme"]["intra"] for row in same.rows]
    assert [row["scheme"] for row in same.rows] == ["uno", "dctcp"] * 2
    assert len({json.dumps(part["recovery"], sort_keys=True) for part in parts}) == 1
    assert parts[0]["balance"] != parts[1]["balance"]
    own = fs.sweep(same.folder / "sweep.toml")
    assert (own.folder, own.reused, own.rows) == (same.folder, 4, same.rows)
    with pytest.raises(fs.ScenarioError, match='did you mean "recovery"'):
        fs.sweep({**question, "same": ["recover"]}, out=tmp_path / "t")
    with pytest.raises(fs.ScenarioError, match="there is no other scheme"):
        fs.sweep({**question, "scheme": "uno", "same": ["recovery"]}, out=tmp_path / "t")
    assert not (tmp_path / "t").exists()

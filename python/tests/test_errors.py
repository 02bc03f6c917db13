from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import farspan as fs
import numpy as np
import pytest
from common import INCAST, SMALL

BAD = "[topology]\nkind = 'star'\nhosts = 4\n\n[[workload]]\nkind = 'incast'\nflow_sizes = '1MiB'\n"


def test_a_bad_file_is_named_with_line_column_key_and_cure(tmp_path: Path) -> None:
    file = tmp_path / "bad.toml"
    file.write_text(BAD)
    with pytest.raises(fs.ScenarioError) as caught:
        fs.run(file)
    error = caught.value
    assert (error.file, error.line, error.column) == (str(file), 7, 1)
    assert error.key == "workload[0].flow_sizes"
    assert error.argument is None
    assert error.cure is not None
    assert 'did you mean "flow_size"' in str(error)
    assert str(error).startswith(f"{file}:7:1: workload[0].flow_sizes: ")
    assert isinstance(error, ValueError)


@pytest.mark.parametrize(
    ("arguments", "argument", "words"),
    [
        ({"scheme": "unoo"}, 'scheme="unoo"', 'did you mean "uno"'),
        ({"scheme": 5}, "scheme", "5 is not text; give a name"),
        ({"profile": ["paper"]}, "profile", '[\'paper\'] is not text; give "paper" or "artifact"'),
        ({"profile": "papper"}, 'profile="papper"', "paper"),
        ({"engine": "windoed"}, 'engine="windoed"', 'did you mean "windowed"'),
        ({"set": {"topology.bufer": 4}}, 'set={"topology.bufer": 4}', 'did you mean "buffer"'),
        ({"set": {"topology.colour": 4}}, 'set={"topology.colour": 4}', 'unknown key "colour"; Known here: '),
        ({"set": {"topology.k": "four"}}, 'set={"topology.k": "four"}', "topology.k"),
        ({"set": {"topology.k=4": 4}}, "set={'topology.k=4': ...}", "give the value apart"),
        ({"set": {"topology.k": None}}, "set", "None has no TOML form"),
        ({"set": {"host.jitter": float("nan")}}, "set", "nan has no TOML form"),
        ({"set": {"workload.tag": "\ud800"}}, "set", "is not Unicode text"),
        ({"seed": -1}, "seed", "from 0 to"),
        ({"seed": 2**63}, "seed", "from 0 to"),
        ({"seed": True}, "seed", "not a whole number"),
        ({"seed": 1.5}, "seed", "not a whole number"),
        ({"seeds": []}, "seeds", "it has no seeds"),
        ({"seeds": [1, 1]}, "seeds", "given twice"),
        ({"seeds": "3..1"}, 'seeds="3..1"', "write the smaller one first"),
        ({"seeds": 5}, "seeds", 'give seed=5 for that one, or seeds=range(1, 6) or seeds="1..5" for 5 of them'),
        ({"seeds": 1}, "seeds", "give seed=... for one seed"),
        ({"seeds": [1], "seed": 1}, "seeds", "exclude each other"),
        ({"trace": ["flow=0"]}, "trace", "give out"),
        ({"pcap": "tor0->*"}, "pcap", "give a list: ['tor0->*']"),
        ({"threads": 0}, "threads", "from 1 to 65535"),
    ],
)
def test_a_bad_argument_is_named_with_a_cure(arguments: dict[str, Any], argument: str, words: str) -> None:
    with pytest.raises(fs.ScenarioError) as caught:
        fs.run(INCAST, **arguments)
    assert caught.value.argument == argument
    assert words in str(caught.value)
    assert str(caught.value).startswith(argument)


def test_a_scenario_that_is_not_there_is_named() -> None:
    with pytest.raises(fs.ScenarioError, match=r"^uno/incast-mixd: .*did you mean \"uno/incast-mixed\"") as caught:
        fs.check("uno/incast-mixd")
    assert caught.value.file == "uno/incast-mixd"


def test_a_list_that_is_not_there_is_named() -> None:
    with pytest.raises(fs.ScenarioError, match='did you mean "schemes"'):
        fs.catalog("scheme")


def test_bad_input_writes_nothing(tmp_path: Path) -> None:
    with pytest.raises(fs.ScenarioError):
        fs.run(INCAST, scheme="unoo", out=tmp_path / "out")
    with pytest.raises(fs.ScenarioError) as caught:
        fs.run(INCAST, trace=["flow=99"], out=tmp_path / "out")
    assert caught.value.argument == 'trace="flow=99"'
    assert not (tmp_path / "out").exists()


def test_results_that_cannot_be_written_are_a_run_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(fs.RunError, match="cannot be written"):
        fs.run(INCAST, set=SMALL, out=tmp_path / "file" / "below")
    with pytest.raises(fs.ScenarioError, match="is not a folder"):
        fs.run(INCAST, set=SMALL, out=tmp_path / "file")


def test_errors_go_to_other_processes_whole() -> None:
    with pytest.raises(fs.ScenarioError) as caught:
        fs.check(INCAST, scheme="unoo")
    again = pickle.loads(pickle.dumps(caught.value))
    assert (str(again), again.argument, again.cure) == (str(caught.value), caught.value.argument, caught.value.cure)


def test_an_unknown_probe_is_named(small: fs.Result) -> None:
    with pytest.raises(ValueError, match="'rates' is not a probe; there are: rate, cwnd"):
        small.series("rates")


def test_scalars_of_numpy_are_taken(small: fs.Result) -> None:
    seed: Any = np.int64(1)
    again = fs.run(INCAST, seed=seed, set=SMALL | {"host.jitter": "1packet", "topology.k": np.int32(8)})
    assert again.digest == small.digest


def test_folders_without_results_say_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="no results here; run a scenario with out="):
        fs.load(tmp_path / "nowhere")
    (tmp_path / "flows.parquet.partial").touch()
    with pytest.raises(FileNotFoundError, match="killed before it finished"):
        fs.load(tmp_path)
    (tmp_path / "summary.json").write_text("{")
    with pytest.raises(ValueError, match="not JSON"):
        fs.load(tmp_path)
    (tmp_path / "summary.json").write_text("{}")
    with pytest.raises(ValueError, match="not a summary of farspan"):
        fs.load(tmp_path)


def test_one_seed_and_several_are_told_apart(tmp_path: Path) -> None:
    fs.run(INCAST, seeds=[1], set=SMALL, out=tmp_path)
    with pytest.raises(ValueError, match="load_runs"):
        fs.load(tmp_path)
    with pytest.raises(ValueError, match="holds one seed"):
        fs.load_runs(tmp_path / "seed-1")


def test_a_table_that_is_broken_is_named(tmp_path: Path) -> None:
    fs.run(INCAST, set=SMALL, out=tmp_path)
    (tmp_path / "ports.parquet").write_bytes(b"no parquet")
    with pytest.raises(OSError, match=r"ports\.parquet: is not a readable"):
        fs.load(tmp_path)

from __future__ import annotations

import json
from pathlib import Path

import farspan as fs
import pytest
from common import INCAST, SMALL
from dctcp import Dctcp


def test_the_summary_is_the_document_of_the_command(small: fs.Result) -> None:
    summary = small.summary
    assert (summary["scenario"], summary["scheme"], summary["profile"], summary["engine"]) == (
        INCAST,
        "uno",
        "paper",
        "windowed",
    )
    assert summary["farspan_version"] == fs.__version__
    assert summary["flows"]["finished"] == summary["fct"]["all"]["count"] == 8
    assert summary["wall_time_s"] > 0
    assert not small.partial


def test_two_runs_are_equal_to_the_last_bit(small: fs.Result) -> None:
    again = fs.run(INCAST, seed=1, set=SMALL)
    assert again.digest == small.digest
    assert again.summary["packet_digest"] == small.summary["packet_digest"]
    assert [again.flows.column(name) for name in again.flows.columns] == [
        small.flows.column(name) for name in small.flows.columns
    ]


@pytest.mark.parametrize("how", [{"engine": "oracle"}, {"threads": 2}])
def test_engines_and_threads_change_no_digest(small: fs.Result, how: dict[str, object]) -> None:
    assert fs.run(INCAST, seed=1, set=SMALL, **how).digest == small.digest  # type: ignore[call-overload]


def test_a_seed_changes_the_digest(small: fs.Result) -> None:
    assert fs.run(INCAST, seed=2, set=SMALL).digest != small.digest


def test_scheme_and_profile_are_taken() -> None:
    result = fs.run(INCAST, scheme="dctcp/gemini", profile="artifact", set=SMALL)
    assert (result.scheme, result.summary["profile"]) == ("dctcp/gemini", "artifact")


def test_several_seeds_give_the_runs_and_their_spread(small: fs.Result) -> None:
    runs = fs.run(INCAST, seeds=(seed for seed in [3, 1]), set=SMALL)
    assert [run.seed for run in runs] == [3, 1]
    assert runs[1].digest == small.digest
    assert runs[-1] is list(runs)[1]
    spread = runs.summary["summary"]["fct"]["all"]["mean_us"]
    means = [run.summary["fct"]["all"]["mean_us"] for run in runs]
    assert (spread["min"], spread["max"]) == (min(means), max(means))
    assert [one["digest"] for one in runs.summary["runs"]] == [run.digest for run in runs]
    assert repr(runs) == "<farspan.Runs of uno/incast-mixed scheme uno: seeds 3, 1>"


def test_the_resolved_scenario_runs_again_with_the_same_digest(small: fs.Result, tmp_path: Path) -> None:
    file = tmp_path / "again.toml"
    file.write_text(small.scenario)
    assert fs.run(file).digest == small.digest


def test_tables_have_a_row_for_each_flow_and_sample(recorded: fs.Result) -> None:
    assert recorded.flows.column("flow_id") == list(range(8))
    rate, queue = recorded.series("rate"), recorded.series("queue")
    assert set(rate.column("id")) == {str(flow) for flow in range(8)}
    assert set(queue.column("probe")) == {"queue"}
    assert recorded.series("rate") is rate
    assert len(rate) + len(queue) < len(recorded.series())
    assert max(v for v in rate.column("value") if isinstance(v, float)) <= 100e9
    assert recorded.ports.columns[:2] == ["port", "bytes"]
    assert len(recorded.collectives) == 0


def test_a_probe_that_is_off_has_no_samples() -> None:
    result = fs.run(INCAST, set=SMALL | {"probes.rate_interval": "off", "probes.queue_interval": "off"})
    assert len(result.series("rate")) == len(result.series()) == 0


def test_iterations_of_collectives_are_a_table() -> None:
    result = fs.run("uno/allreduce", set={"workload.flow_size": "64KiB", "workload.iterations": 2})
    assert set(result.collectives.column("iteration")) == {0, 1}


def test_flows_left_over_are_warned_about() -> None:
    with pytest.warns(UserWarning, match="flows had not finished at stop.time") as caught:
        result = fs.run(INCAST, set={"stop.time": "1ms"})
    assert result.summary["flows"]["finished"] == 0
    assert Path(caught[0].filename).name == "test_run.py"


def test_out_holds_what_the_result_holds(small: fs.Result, tmp_path: Path) -> None:
    fs.run(INCAST, scheme="uno", seed=1, set=SMALL, out=tmp_path / "one")
    loaded = fs.load(tmp_path / "one")
    assert loaded.digest == small.digest
    assert loaded.scenario == small.scenario
    for mine, theirs in [(loaded.flows, small.flows), (loaded.ports, small.ports), (loaded.series(), small.series())]:
        assert mine.columns == theirs.columns
        assert mine.units == theirs.units
        assert [mine.column(name) for name in mine.columns] == [theirs.column(name) for name in theirs.columns]


def test_flows_and_ports_are_traced_into_out(small: fs.Result, tmp_path: Path) -> None:
    port = small.summary["queues"]["bottleneck"]
    traced = fs.run(INCAST, scheme="uno", seed=1, set=SMALL, out=tmp_path, trace=["flow=0"], pcap=[port])
    assert traced.digest == small.digest
    names = {"flow-0.sqlog", "flow-0-receiver.sqlog", "ports.pcapng"}
    assert names <= {file.name for file in (tmp_path / "trace").iterdir()}


@pytest.mark.parametrize("seeds", ["1..3", "1-3", "1,2,3"])
def test_seeds_are_a_text_as_the_command_has_it(seeds: str) -> None:
    assert [run.seed for run in fs.run(INCAST, seeds=seeds, set=SMALL)] == [1, 2, 3]


def test_out_of_several_seeds_is_loaded_whole(tmp_path: Path) -> None:
    runs = fs.run(INCAST, seeds=range(1, 3), set=SMALL, out=tmp_path)
    loaded = fs.load_runs(tmp_path)
    assert [run.digest for run in loaded] == [run.digest for run in runs]
    assert loaded.summary == json.loads((tmp_path / "summary.json").read_text())
    assert fs.load(tmp_path / "seed-2").digest == runs[1].digest


def test_check_resolves_and_estimates() -> None:
    checked = fs.check("uno/websearch", set={"workload.flows": 100})
    assert checked.flows == 100
    assert checked.packet_hops > 0
    assert checked.intra is not None
    assert checked.inter is not None
    assert checked.intra.base_rtt_us < checked.inter.base_rtt_us
    assert set(checked.offered_load) == {"host", "fabric", "wan_0_to_1", "wan_1_to_0"}
    assert 'name = "uno/websearch"' in checked.scenario


def test_lists_are_those_of_the_command() -> None:
    assert {"uno/incast-mixed", "uno/websearch"} <= set(fs.scenarios())
    assert {"uno", "gemini"} <= set(fs.schemes())
    everything = fs.catalog("schemes")
    assert set(everything[0]) == {"name", "summary", "source", "available"}
    assert fs.schemes() == [entry["name"] for entry in everything if entry["available"]]


def test_other_results_are_replaced_with_force_alone(tmp_path: Path) -> None:
    fs.run(INCAST, seed=1, set=SMALL, out=tmp_path)
    fs.run(INCAST, seed=1, set=SMALL, out=tmp_path)
    with pytest.raises(fs.ScenarioError, match="their seed is 1 and this run's is 2") as caught:
        fs.run(INCAST, seed=2, set=SMALL, out=tmp_path)
    assert caught.value.argument == "out"
    fs.run(INCAST, seed=2, set=SMALL, out=tmp_path, force=True)
    assert json.loads((tmp_path / "summary.json").read_text())["seed"] == 2
    assert not (tmp_path / "run.lock").exists()
    fs.run(INCAST, seeds=[1, 2], set=SMALL, out=tmp_path, force=True)
    assert json.loads((tmp_path / "summary.json").read_text())["partial"] is False


def test_warnings_of_the_world_are_warnings_of_python() -> None:
    with pytest.warns(UserWarning, match="dctcp needs ECN marks"):
        fs.run(INCAST, scheme="dctcp", seed=1, set={**SMALL, "scheme.ports.marking": "none"})


def test_a_control_is_another_scheme_than_the_one_it_replaced(tmp_path: Path) -> None:
    fs.run(INCAST, scheme="dctcp", seed=1, set=SMALL, out=tmp_path)
    with pytest.raises(fs.ScenarioError, match=r'their scheme is "dctcp" and this run.s is "Dctcp"'):
        fs.run(INCAST, scheme="dctcp", control=Dctcp, seed=1, set=SMALL, out=tmp_path)
    fs.run(INCAST, scheme="dctcp", control=Dctcp, seed=1, set=SMALL, out=tmp_path, force=True)
    fs.run(INCAST, scheme="dctcp", control=Dctcp, seed=1, set=SMALL, out=tmp_path)
    assert fs.load(tmp_path).scheme == "Dctcp"

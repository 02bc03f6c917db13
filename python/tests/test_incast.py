"""Declared incasts."""

from __future__ import annotations

import farspan as fs
import pytest


def test_an_incast_is_declared_as_a_scenario_writes_it() -> None:
    assert fs.incast([0, 1], 8, "3MB", tag="shuffle", start="2us") == {
        "incast": [{"senders": [0, 1], "receiver": 8, "bytes": "3MB", "tag": "shuffle", "start": "2us"}]
    }
    assert fs.incast((0, 1), 8, 3_000_000)["incast"][0]["bytes"] == "3000000B"


def test_a_declared_incast_runs() -> None:
    scenario = {"name": "declared", "topology": {"kind": "star", "hosts": 9}} | fs.incast(range(3), 8, "30KB")
    result = fs.run(scenario, seed=1)
    assert result.summary["flows"]["finished"] == 3
    assert list(result.flows.column("size_bytes")) == [10_000] * 3


def test_an_incast_without_senders_is_refused() -> None:
    with pytest.raises(fs.ScenarioError, match="no sender"):
        fs.incast([], 8, "3MB")

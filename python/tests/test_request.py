"""Values of `set` reach the scenario as they are."""

from __future__ import annotations

import tomllib
from fractions import Fraction
from pathlib import Path
from typing import Any

import farspan as fs
import numpy as np
import pytest
from common import INCAST
from farspan._request import toml
from hypothesis import given, settings
from hypothesis import strategies as st

SCALARS = (
    st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"]))
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner, max_size=4)
    ),
    max_leaves=8,
)


@given(VALUES)
def test_values_come_back_from_toml_as_they_went_in(value: Any) -> None:
    assert tomllib.loads(f"value = {toml(value)}")["value"] == value


@given(st.sampled_from([np.int64(3), np.uint8(3), np.float64(0.5), np.bool_(True), np.str_("4ms")]))
def test_scalars_of_numpy_are_those_of_python(value: Any) -> None:
    assert toml(value) == toml(value.item())


def test_tuples_ranges_and_arrays_are_lists() -> None:
    assert toml((0, 4)) == toml(range(0, 8, 4)) == toml(np.array([0, 4])) == "[0, 4]"


@settings(max_examples=30, deadline=None)
@given(st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1))
def test_text_stays_text_all_the_way_to_the_resolved_scenario(text: str) -> None:
    checked = fs.check(INCAST, set={"workload[0].tag": text, "measure.fairness_group": text})
    assert tomllib.loads(checked.scenario)["workload"][0]["tag"] == text


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 280_000), st.sampled_from(["ns", "us", "ms"]))
def test_quantities_come_back_equal(number: int, unit: str) -> None:
    once = tomllib.loads(fs.check(INCAST, set={"stop.time": f"{number}{unit}"}).scenario)["stop"]["time"]
    twice = tomllib.loads(fs.check(INCAST, set={"stop.time": once}).scenario)["stop"]["time"]
    picoseconds = {"ps": 1, "ns": 10**3, "us": 10**6, "ms": 10**9, "s": 10**12}
    digits = once.rstrip("pnums")
    assert Fraction(digits) * picoseconds[once[len(digits) :]] == number * picoseconds[unit]
    assert twice == once


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**63 - 1))
def test_every_seed_comes_back(seed: int) -> None:
    assert tomllib.loads(fs.check(INCAST, seed=seed).scenario)["seed"] == seed


def test_a_scenario_can_be_a_mapping() -> None:
    scenario = {"base": INCAST, "workload": {"flow_size": "64KiB"}, "seed": 1}
    result = fs.run(scenario, scheme="gemini")
    assert result.digest == fs.run(INCAST, scheme="gemini", seed=1, set={"workload.flow_size": "64KiB"}).digest
    assert result.summary["scenario"] == "scenario"
    named = fs.check({"name": "mine", **scenario})
    assert 'name = "mine"' in named.scenario
    assert 'constants = "uno/incast-mixed"' in named.scenario


@pytest.mark.parametrize(
    ("scenario", "key", "said"),
    [
        ({"base": INCAST, "topology": {"kk": 4}}, "topology.kk", "unknown key"),
        ({"base": INCAST, "workload": {"flow_size": "4 parsecs"}}, "workload.flow_size", "is not a size"),
        ({"base": "uno/none"}, "base", "neither a built-in scenario"),
        ({"base": INCAST, "topology": {"k": None}}, "topology.k", "has no TOML form"),
        ({"base": INCAST, "topology": {4: 8}}, "topology", "is not a key"),
    ],
)
def test_errors_of_a_mapping_name_the_key(scenario: dict[str, object], key: str, said: str) -> None:
    with pytest.raises(fs.ScenarioError) as caught:
        fs.run(scenario)
    assert (caught.value.argument, caught.value.key, caught.value.line) == ("scenario", key, None)
    assert said in str(caught.value)


NESTED: list[Any] = []
NESTED.append(NESTED)


@pytest.mark.parametrize(
    ("arguments", "argument"),
    [
        ({"set": [1]}, "set"),
        ({"set": {1: 2}}, "set"),
        ({"set": {"topology.k": NESTED}}, "set"),
        ({"scheme": "uno,unocc+plb+mds(8,2)"}, "scheme"),
        ({"scheme": ["uno", "oscar"]}, "scheme"),
        ({"scenario": None}, "scenario"),
        ({"out": "a\0b"}, "out"),
        ({"out": 3}, "out"),
    ],
)
def test_arguments_of_another_kind_are_bad_input_with_a_cure(arguments: dict[str, Any], argument: str) -> None:
    with pytest.raises(fs.ScenarioError) as raised:
        fs.run(**({"scenario": INCAST} | arguments))
    assert raised.value.argument == argument
    assert raised.value.cure


def test_several_schemes_are_a_sweep() -> None:
    with pytest.raises(fs.ScenarioError, match=r"farspan\.sweep"):
        fs.run(INCAST, scheme="uno,oscar")
    assert "unocc+plb+mds(8,2)" in fs.check(INCAST, scheme="unocc+plb+mds(8,2)").scenario


def test_a_file_is_no_folder_of_results(tmp_path: Path) -> None:
    file = tmp_path / "x"
    file.write_text("no results")
    with pytest.raises(NotADirectoryError, match="give the folder"):
        fs.load(file)

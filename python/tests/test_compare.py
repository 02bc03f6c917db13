from __future__ import annotations

import re
import statistics
import subprocess
import sys
from pathlib import Path

import farspan as fs
import pytest
from common import INCAST, SMALL


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("both")
    for scheme in ["uno", "gemini"]:
        fs.run(INCAST, scheme=scheme, seeds=[1, 2], set=SMALL, out=folder / scheme)
    return folder


def test_schemes_are_put_in_proportion_seed_by_seed(both: Path) -> None:
    (comparison,) = fs.compare([both / "uno", both / "gemini"])
    assert comparison["baseline"] == "uno"
    (ratios,) = comparison["ratios"]
    assert (ratios["name"], ratios["seeds"]) == ("gemini", [1, 2])
    means = {
        scheme: [run.summary["fct"]["all"]["mean_us"] for run in fs.load_runs(both / scheme)]
        for scheme in ["uno", "gemini"]
    }
    entry = ratios["fields"]["fct"]["all"]["mean_us"]
    assert [one["ratio"] for one in entry["ratios"]] == [
        pytest.approx(theirs / ours) for ours, theirs in zip(means["uno"], means["gemini"], strict=True)
    ]


def test_the_baseline_can_be_named(both: Path) -> None:
    (comparison,) = fs.compare([both], baseline="gemini")
    assert comparison["ratios"][0]["name"] == "uno"


def test_a_run_with_out_leaves_a_page_and_another_can_be_made(both: Path, tmp_path: Path) -> None:
    assert (both / "uno" / "report.html").exists()
    page = fs.report(both, output=tmp_path / "page.html")
    assert page == tmp_path / "page.html"
    text = page.read_text(encoding="utf-8")
    assert "gemini" in text
    assert fs.report(both / "uno" / "seed-1") == both / "uno" / "seed-1" / "report.html"


def test_what_does_not_pair_is_named(both: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="nothing to compare"):
        fs.compare([both / "uno"])
    with pytest.raises(ValueError, match="baseline nobody"):
        fs.compare([both], baseline="nobody")
    with pytest.raises(FileNotFoundError, match="is not a folder"):
        fs.compare([both, tmp_path / "nowhere"])
    with pytest.raises(FileNotFoundError, match="no run in this folder or below"):
        fs.report(tmp_path)
    with pytest.raises(TypeError, match="give a list"):
        fs.compare(str(both))
    with pytest.raises(fs.RunError, match="cannot be written"):
        fs.report(both, output=tmp_path / "no" / "page.html")


def test_the_demo_says_what_compare_and_the_runs_say(tmp_path: Path) -> None:
    words = ["demo", "--quiet", "--seeds", "1..6", "--set", "workload.flow_size=64KiB", "--out", str(tmp_path)]
    run = subprocess.run([sys.executable, "-m", "farspan", *words], check=True, capture_output=True, text=True)
    table = [re.split(r" {2,}", line.strip()) for line in run.stdout.split("\nuno/")[0].splitlines()]
    heading = next(row for row in table if row[-1] == "best")
    drops = dict(zip(heading, next(row for row in table if row[0] == "packets dropped")[1:], strict=True))
    (comparison,) = fs.compare([tmp_path / "border-failure"])
    for side in comparison["runs"]:
        runs = [fs.load(folder).summary for folder in side["folders"]]
        dropped = statistics.median(run["packets"]["dropped"] for run in runs)
        assert side["summary"]["packets"]["dropped"]["median"] == dropped
        assert drops[side["name"]] == f"{dropped:,g}"
    assert [verdict["path"] for verdict in comparison["verdicts"]].count("/packets/dropped") == 1


PARTS = {
    "first_window": {"transport.start": "iw10"},
    "recovery": {"transport.recovery": "rack"},
    "balance": {"transport.balance": "rps"},
    "coding": {"transport.coding": "mds"},
    "lossless": {"scheme.ports.pfc.links": "site"},
}


@pytest.mark.parametrize("part", PARTS)
def test_one_part_that_is_changed_is_named_and_no_other(part: str, tmp_path: Path) -> None:
    base = {**SMALL, "scheme.ports.pool": {"size": "64MiB"}}
    runs = [
        fs.run(INCAST, scheme="uno-noec", seed=1, set={**base, **changed}, out=tmp_path / name)
        for name, changed in [("base", {}), ("other", PARTS[part])]
    ]
    (comparison,) = fs.compare([tmp_path / "base", tmp_path / "other"])
    assert [other["part"] for other in comparison["setup"]["differ"]] == [part]
    assert sorted([part, *(same["part"] for same in comparison["setup"]["same"])]) == sorted(PARTS)
    before, after = ([run.summary["setup"][name] for name in ["intra", "inter"]] for run in runs)
    changed = {key for one, two in zip(before, after, strict=True) for key in one if one[key] != two[key]}
    assert changed == {part}
    assert all(run.summary["acted"]["timeouts"] == run.summary["recovery"]["timeouts"] for run in runs)
    assert all(run.summary["packets"]["dropped_first_rtt"] <= run.summary["packets"]["dropped"] for run in runs)

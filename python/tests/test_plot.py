from __future__ import annotations

import builtins
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import farspan as fs
import numpy as np
import pytest
from farspan.plot._style import COLOURS, line, marker
from farspan.plot._time import jain_over_time
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.image import imread


def labels(figure: Figure) -> tuple[str, str]:
    return figure.axes[0].get_xlabel(), figure.axes[0].get_ylabel()


def legend(figure: Figure) -> list[str]:
    return [text.get_text() for text in figure.axes[0].get_legend().get_texts()]  # type: ignore[union-attr]


def test_every_axis_has_a_name_and_a_unit(recorded: fs.Result) -> None:
    time = "time (ms)"
    assert labels(fs.plot.fct_cdf(recorded)) == ("flow completion time (ms)", "CDF: fraction of flows")
    ccdf = fs.plot.fct_cdf(recorded, complementary=True)
    assert labels(ccdf)[1] == "CCDF: fraction of flows that took longer"
    assert labels(fs.plot.fct_cdf(recorded, slowdown=True))[0] == "slowdown (FCT / ideal FCT)"
    assert labels(fs.plot.slowdown_by_size(recorded)) == (
        "flow size, up to (bytes)",
        "slowdown (FCT / ideal FCT)",
    )
    assert labels(fs.plot.rates(recorded)) == (time, "goodput of a flow (Gbit/s)")
    assert labels(fs.plot.queues(recorded)) == (time, "queue (KB)")
    assert labels(fs.plot.convergence(recorded)) == (time, "Jain's index")
    axes = fs.plot.comparison(recorded).axes
    assert [ax.get_xlabel() for ax in axes] == [
        f"{name} {value} FCT (us)" for name in ["intra", "inter"] for value in ["mean", "p99"]
    ]


def test_one_line_for_each_scheme(recorded: fs.Result, rival: fs.Runs) -> None:
    assert legend(fs.plot.fct_cdf([recorded, rival])) == ["uno-noec", "gemini"]
    assert legend(fs.plot.convergence([rival, recorded])) == ["gemini", "uno-noec"]
    assert legend(fs.plot.slowdown_by_size(rival)) == ["gemini", "p50", "p99"]
    panels = fs.plot.comparison([recorded, *rival], measures=["fct.all.max_us"]).axes
    assert [tick.get_text() for tick in panels[0].get_yticklabels()] == ["uno-noec", "gemini"]


def test_the_line_of_a_distribution_is_that_of_the_flows(recorded: fs.Result) -> None:
    line = fs.plot.fct_cdf(recorded, group="inter").axes[0].lines[0]
    inter = recorded.flows.filter("class", "inter").column("fct_ns")
    fcts = sorted(float(v) / 1e6 for v in inter if v is not None)
    assert np.asarray(line.get_xdata())[1:].tolist() == fcts
    assert np.asarray(line.get_ydata()).tolist() == [0.0, 0.25, 0.5, 0.75, 1.0]


def test_flows_that_never_ended_leave_a_gap() -> None:
    with pytest.warns(UserWarning, match="not finished"):
        result = fs.run(
            "uno/incast-mixed", set={"workload.flow_size": "16MiB", "stop.time": "13.5ms"}, scheme="uno-noec"
        )
    finished = result.summary["flows"]["finished"]
    assert 0 < finished < 8
    line = fs.plot.fct_cdf(result).axes[0].lines[0]
    assert np.max(np.asarray(line.get_ydata())) == finished / 8
    heights = fs.plot.slowdown_by_size(result, quantiles=(0.1, 0.8)).axes[0].lines[1:3]
    assert [bool(np.isnan(np.asarray(one.get_ydata())).all()) for one in heights] == [False, True]


def test_flows_that_never_started_do_not_count(tmp_path: Path) -> None:
    (tmp_path / "list.csv").write_text(
        "src,dst,size_bytes,start_ns,after\n0,1,1000,0,\n0,1,100000000,0,\n1,2,1000,0,1\n"
    )
    scenario = tmp_path / "waits.toml"
    scenario.write_text(
        "[topology]\nkind = 'star'\n[[workload]]\nkind = 'flows'\nfile = 'list.csv'\n[stop]\ntime = '1ms'\n"
    )
    with pytest.warns(UserWarning, match=r"never started|not finished"):
        result = fs.run(scenario)
    assert result.summary["flows"]["not_started"] == 1
    line = fs.plot.fct_cdf(result).axes[0].lines[0]
    assert np.asarray(line.get_ydata()).tolist() == [0.0, 0.5]


def test_numbers_of_the_summary_have_their_units(recorded: fs.Result) -> None:
    measures = ["packets.dropped", "queues.bottleneck_mean_bytes", "queues.bottleneck_utilization", "sim_time_s"]
    axes = fs.plot.comparison(recorded, measures=measures).axes
    assert [ax.get_xlabel() for ax in axes] == [
        "packets dropped",
        "queues bottleneck mean (bytes)",
        "queues bottleneck utilization (fraction)",
        "sim time (s)",
    ]


def test_a_quantile_needs_flows_above_it() -> None:
    result = fs.run("uno/permutation", set={"workload.flow_size": "4KiB"})
    assert result.summary["flows"]["started"] >= 100
    lines = fs.plot.slowdown_by_size(result, quantiles=(0.5, 0.99, 0.9999)).axes[0].lines
    assert [int(np.isfinite(np.asarray(one.get_ydata())).sum()) for one in lines[1:4]] == [1, 1, 0]


def test_the_line_of_a_ccdf_is_that_of_the_cdf_turned_over(recorded: fs.Result) -> None:
    line = fs.plot.fct_cdf(recorded, group="inter", complementary=True).axes[0].lines[0]
    assert np.asarray(line.get_ydata()).tolist() == [1.0, 0.75, 0.5, 0.25, 0.25]


def test_slowdown_has_the_bins_of_the_report(tmp_path: Path) -> None:
    sizes = [1000 + 100 * i for i in range(20)] + [100_000] * 3
    rows = "".join(f"{i % 8},{8 + i % 7},{size},{i * 1000}\n" for i, size in enumerate(sizes))
    (tmp_path / "list.csv").write_text("src,dst,size_bytes,start_ns\n" + rows)
    scenario = tmp_path / "sizes.toml"
    scenario.write_text("[topology]\nkind = 'star'\nhosts = 16\n[[workload]]\nkind = 'flows'\nfile = 'list.csv'\n")
    result = fs.run(scenario, out=tmp_path / "out")
    page = fs.report(tmp_path / "out").read_text()
    data = json.loads(page.split('id="data">')[1].split("</script>")[0])
    bins = data["groups"][0]["arms"][0]["slowdown"]["all"]["p50"]
    assert [bin[:2] for bin in bins] == [[2048, 11], [131072, 12]]
    line = fs.plot.slowdown_by_size(result).axes[0].lines[1]
    assert np.asarray(line.get_xdata()).tolist() == [bin[0] for bin in bins]
    assert np.asarray(line.get_ydata()) == pytest.approx([bin[2] for bin in bins], rel=1e-3)


def test_each_flow_has_a_colour_of_its_own(recorded: fs.Result) -> None:
    lines = [line for line in fs.plot.rates(recorded).axes[0].lines if len(np.asarray(line.get_xdata()))]
    assert len(lines) == 8
    assert len({to_hex(line.get_color()) for line in lines}) == 8


def test_jain_over_time_has_the_mean_of_the_summary(recorded: fs.Result, rival: fs.Runs) -> None:
    for result in [recorded, *rival]:
        times, index = jain_over_time(result)
        assert index.mean() == pytest.approx(result.summary["fairness"]["jain_mean"], rel=1e-9)
        assert (np.diff(times) > 0).all()


def test_queues_of_ports_by_name(recorded: fs.Result) -> None:
    port = recorded.summary["queues"]["bottleneck"]
    assert legend(fs.plot.queues(recorded, ports=[port])) == [port]
    assert len(fs.plot.queues(recorded, most=2).axes[0].lines) == 2
    with pytest.raises(ValueError, match="no samples of port 'nowhere'; there are: "):
        fs.plot.queues(recorded, ports=["nowhere"])


def test_figures_go_into_given_axes(recorded: fs.Result) -> None:
    mine = Figure()
    left, right = mine.subplots(1, 2)
    assert fs.plot.rates(recorded, ax=left) is mine
    assert fs.plot.fct_cdf(recorded, ax=right) is mine
    assert left.get_ylabel() != right.get_ylabel()


def test_pictures_are_not_blank(recorded: fs.Result, rival: fs.Runs, tmp_path: Path) -> None:
    draws: list[Callable[..., Figure]] = [
        fs.plot.fct_cdf,
        fs.plot.slowdown_by_size,
        fs.plot.convergence,
        fs.plot.comparison,
    ]
    for draw in draws:
        figure = draw([recorded, rival])
        figure.savefig(tmp_path / "figure.png")
        picture = imread(tmp_path / "figure.png")
        assert 0.005 < (picture[..., :3].min(axis=2) < 0.9).mean() < 0.5
        shown: Any = figure
        assert imread(io.BytesIO(shown._repr_png_())).shape == picture.shape


def test_neighbouring_colours_differ_in_lightness_as_printed_in_grey() -> None:
    def lightness(colour: str) -> float:
        red, green, blue = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    assert len(set(COLOURS)) == len(COLOURS)
    assert all(lightness(colour) < 0.7 for colour in COLOURS)


def test_what_is_missing_is_named(small: fs.Result) -> None:
    off = fs.run(
        "uno/incast-mixed",
        set={"workload.flow_size": "64KiB", "probes.rate_interval": "off", "probes.queue_interval": "off"},
    )
    for draw, knob in [
        (fs.plot.rates, "rate_interval"),
        (fs.plot.queues, "queue_interval"),
        (fs.plot.convergence, "rate_interval"),
    ]:
        with pytest.raises(ValueError, match=knob):
            draw(off)
    with pytest.raises(ValueError, match="there are: intra, inter, "):
        fs.plot.fct_cdf(small, group="nobody")
    with pytest.raises(ValueError, match="no results"):
        fs.plot.fct_cdf([])
    with pytest.raises(KeyError, match="has no 'mean'"):
        fs.plot.comparison(small, measures=["fct.all.mean"])
    with pytest.raises(ValueError, match="every measure is null"):
        fs.plot.comparison(small, measures=["fct.all.p999_us"])
    steady = fs.run("uno/permutation", set={"workload.flow_size": "4KiB", "probes.rate_interval": "2ms"})
    with pytest.raises(ValueError, match="no fairness group"):
        fs.plot.convergence(steady)


@pytest.mark.parametrize("draw", [fs.plot.rates, fs.plot.queues])
def test_a_figure_of_one_result_says_which_to_give(draw: Any, rival: fs.Runs) -> None:
    with pytest.raises(TypeError, match=rf"draws one Result, and there are 2 Runs; .*{draw.__name__}\(runs\[0\]\)"):
        draw(rival)
    with pytest.raises(TypeError, match="draws one Result, not list"):
        draw(list(rival))


def test_without_matplotlib_the_error_says_what_to_install(small: fs.Result, monkeypatch: pytest.MonkeyPatch) -> None:
    there = builtins.__import__

    def without(name: str, *rest: Any, **more: Any) -> Any:
        if name.split(".")[0] in ("matplotlib", "numpy"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return there(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    for name in fs.plot.__all__:
        with pytest.raises(ImportError, match=r"pip install 'farspan\[plot\]'"):
            getattr(fs.plot, name)(small, **({"x": "seed", "y": "packet_hops"} if name == "over" else {}))


RTTS = ["20ms", "1ms", "2ms"]


def swept(**changes: Any) -> list[fs.Result]:
    """Two schemes over three RTTs, whose p99 is the RTT in ms times the scheme's number, and more by seed."""
    empty: Any = None
    results = []
    for scheme, times in [("uno", 1000), ("oscar", 2000)]:
        for rtt in RTTS:
            for seed in (1, 2, 3):
                p99 = changes.get(rtt, times * int(rtt[:-2]) + seed)
                summary = {
                    "scenario": "s", "scheme": scheme, "profile": "paper", "seed": seed,
                    "fct": {"inter": {"unfinished": int(p99 is None), "p99_us": p99}},
                }  # fmt: skip
                scenario = f"[topology]\nwan.rtt = '{rtt}'\n"
                results.append(fs.Result(summary, scenario, empty, empty, empty, empty))
    return results


def test_a_number_over_an_axis_has_a_line_of_medians_for_each_scheme() -> None:
    figure = fs.plot.over(swept(), x="topology.wan.rtt", y="fct.inter.p99_us")
    ax = figure.axes[0]
    assert labels(figure) == ("topology.wan.rtt (ms)", "fct.inter.p99 (ms)")
    assert (legend(figure), ax.get_xscale()) == (["uno", "oscar"], "log")
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["1", "2", "20"]
    assert np.asarray(ax.lines[1].get_xydata()).tolist() == [[1, 2.002], [2, 4.002], [20, 40.002]]
    band = ax.collections[0].get_paths()[0].vertices
    assert {1.001, 1.003} <= {round(float(height), 6) for _, height in np.asarray(band)}
    assert "median over 3 seeds; band: smallest to largest" in figure.get_supxlabel().replace("\n", " ")
    assert figure.get_size_inches()[0] == 3.33
    assert fs.plot.over(swept(), x="topology.wan.rtt", y="fct.inter.p99_us", width=7).get_size_inches()[0] == 7


def test_axes_and_figure_are_called_as_asked_and_long_words_have_several_lines() -> None:
    asked: dict[str, Any] = {"x": "topology.wan.rtt", "y": "fct.inter.p99_us", "title": "Who waits " * 12}
    figure = fs.plot.over(swept(), **asked, x_label="RTT between the sites (ms)", y_label="p99 of what waits " * 5)
    assert labels(figure)[0] == "RTT between the sites (ms)"
    assert labels(figure)[1].split() == ("p99 of what waits " * 5).split()
    assert "\n" in labels(figure)[1]
    figure.draw_without_rendering()
    right, top = figure.bbox.max
    for text in (figure.axes[0].xaxis.label, figure.axes[0].yaxis.label, figure.axes[0].title):
        box = text.get_window_extent()
        assert (box.x0 >= 0, box.y0 >= 0, box.x1 <= right, box.y1 <= top) == (True,) * 4
    alone = fs.plot.over(swept(), **asked, y_label="", ax=figure.subplots())
    assert (alone.axes[-1].get_ylabel(), alone.axes[-1].get_title(loc="left")) == ("", asked["title"])


def test_text_stays_text_in_files(tmp_path: Path) -> None:
    figure = fs.plot.over(swept(), x="topology.wan.rtt", y="fct.inter.p99_us")
    figure.savefig(tmp_path / "f.pdf")
    figure.savefig(tmp_path / "f.svg")
    pdf = (tmp_path / "f.pdf").read_bytes()
    assert b"/FontFile2" in pdf
    assert b"/Type3" not in pdf
    assert ">topology.wan.rtt (ms)<" in (tmp_path / "f.svg").read_text()


def test_what_is_infinite_stands_above_the_axis() -> None:
    figure = fs.plot.over(swept(**{"20ms": None}), x="topology.wan.rtt", y="fct.inter.p99_us")
    ax = figure.axes[0]
    assert "∞" in [text.get_text() for text in ax.texts]
    assert "∞: some flows did not finish" in figure.get_supxlabel().replace("\n", " ")
    above = [drawn for drawn in ax.lines if drawn.get_transform() == ax.get_xaxis_transform()]
    assert [np.asarray(drawn.get_xdata())[0] for drawn in above] == [20, 20]


def test_an_axis_that_is_not_there_is_refused_with_the_nearest() -> None:
    with pytest.raises(ValueError, match=r"^x topology.wan.rt: no run has it; did you mean topology.wan.rtt"):
        fs.plot.over(swept(), x="topology.wan.rt", y="fct.inter.p99_us")
    with pytest.raises(ValueError, match=r"^y fct.inter.p99: no run has it; did you mean fct.inter.p99_us"):
        fs.plot.over(swept(), x="topology.wan.rtt", y="fct.inter.p99")
    with pytest.raises(ValueError, match=r"^where topology.wan.rtt=7ms: no run has it; there are: 1ms, 2ms, 20ms$"):
        fs.plot.over(swept(), x="scheme", y="fct.inter.p99_us", where={"topology.wan.rtt": "7ms"})


def test_lines_beyond_seven_differ_in_dashes_and_marker() -> None:
    looks = [(line(i)["color"], str(line(i)["linestyle"]), marker(i)) for i in range(49)]
    assert len(set(looks)) == 49
    assert len({(colour, sign) for colour, _, sign in looks}) == 49

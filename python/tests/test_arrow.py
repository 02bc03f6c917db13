"""Tables go to other libraries without copies: the buffers they hold are ours."""

from __future__ import annotations

import sys

import duckdb
import farspan as fs
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest


def address(table: pa.Table, column: str) -> int:
    return int(table.column(column).chunk(0).buffers()[1].address)


def test_pyarrow_takes_the_buffers_themselves(recorded: fs.Result) -> None:
    first, second = pa.table(recorded.flows), pa.table(recorded.flows)
    assert first.equals(second)
    for column in ["flow_id", "fct_ns", "slowdown", "tag"]:
        assert first.column(column).num_chunks == 1
        assert address(first, column) == address(second, column)
    rate = recorded.series("rate")
    assert address(pa.table(rate), "value") == address(pa.table(recorded.series("rate")), "value")


def test_units_are_in_the_schema(recorded: fs.Result) -> None:
    schema = pa.schema(recorded.flows)
    assert schema.names == recorded.flows.columns
    assert schema.field("fct_ns").metadata == {b"unit": b"ns"}
    assert recorded.flows.units["size_bytes"] == "B"
    assert "src" not in recorded.flows.units


def test_polars_takes_the_buffers_themselves(recorded: fs.Result) -> None:
    frame = pl.DataFrame(recorded.flows)
    assert frame.shape == (8, len(recorded.flows.columns))
    ours = address(pa.table(recorded.flows), "fct_ns")
    assert frame["fct_ns"].to_numpy(allow_copy=False).__array_interface__["data"][0] == ours
    assert frame["fct_ns"].to_list() == recorded.flows.column("fct_ns")


def test_pandas_takes_the_buffers_themselves(recorded: fs.Result) -> None:
    frame = pa.table(recorded.flows).to_pandas(types_mapper=pd.ArrowDtype)
    theirs = pa.chunked_array(frame["fct_ns"].array.__arrow_array__()).chunk(0).buffers()[1].address
    assert theirs == address(pa.table(recorded.flows), "fct_ns")
    plain = pd.DataFrame.from_arrow(recorded.flows)
    assert plain["fct_ns"].tolist() == recorded.flows.column("fct_ns")


def test_a_table_becomes_a_data_frame(recorded: fs.Result) -> None:
    flows = recorded.flows
    for frame in [flows.to_pandas(), flows.to_polars()]:
        assert list(frame.columns) == flows.columns
        assert frame["fct_ns"].to_list() == flows.column("fct_ns")


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_missing_library_is_named(recorded: fs.Result, library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(ImportError, match=f"pip install {library}"):
        getattr(recorded.flows, f"to_{library}")()


def test_duckdb_asks_it_by_name(recorded: fs.Result) -> None:
    flows = recorded.flows  # noqa: F841
    answer = duckdb.execute("select class, count(*), max(fct_ns) from flows group by class order by class").fetchall()
    longest = [v for v in recorded.flows.column("fct_ns") if isinstance(v, int)]
    assert [row[:2] for row in answer] == [("inter", 4), ("intra", 4)]
    assert max(row[2] for row in answer) == max(longest)


def test_buffers_outlive_the_result() -> None:
    flows = fs.run("uno/incast-mixed", set={"workload.flow_size": "64KiB"}).flows
    values = flows.column("size_bytes")
    table = pa.table(flows)
    del flows
    assert table.column("size_bytes").to_pylist() == values == [65536] * 8


def test_unfinished_flows_are_null() -> None:
    with pytest.warns(UserWarning, match="not finished"):
        flows = fs.run("uno/incast-mixed", set={"stop.time": "1ms"}).flows
    assert flows.column("fct_ns") == pa.table(flows).column("fct_ns").to_pylist() == [None] * 8


def test_filter_keeps_the_rows_of_a_text(recorded: fs.Result) -> None:
    inter = recorded.flows.filter("class", "inter")
    assert len(inter) == 4
    assert pa.table(inter).equals(pa.table(recorded.flows).filter(pa.compute.field("class") == "inter"))
    assert len(recorded.flows.filter("class", "nothing")) == 0
    assert pa.table(recorded.flows.filter("class", "nothing")).num_rows == 0


def test_columns_that_are_not_there_are_named(recorded: fs.Result) -> None:
    with pytest.raises(KeyError, match="the table has: flow_id, src"):
        recorded.flows.column("fct")
    with pytest.raises(TypeError, match="not text"):
        recorded.flows.filter("fct_ns", "1")

"""The examples of the docs give what stands there."""

from __future__ import annotations

import doctest
import os
import re
import runpy
from pathlib import Path

import pytest

BOOK = Path(__file__).parents[2] / "docs" / "src"


@pytest.mark.parametrize("name", ["python.md", "sweep.md"])
def test_the_examples_of_the_docs_give_what_stands_there(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = BOOK / name
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```python\n(.*?)^```$", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    text = "\n".join(blocks)
    assert all(block.startswith(">>> ") for block in blocks)
    test = doctest.DocTestParser().get_doctest(text, {}, page.name, os.fspath(page), 0)
    report: list[str] = []
    doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test, out=report.append)
    assert not report, "".join(report)


def test_the_control_of_the_docs_runs_beside_uno(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    runpy.run_path(os.fspath(BOOK / "python-control" / "mine.py"), run_name="__main__")
    assert re.search(r"^Mine  mean .*\nuno   mean ", capsys.readouterr().out)
    assert (tmp_path / "convergence.png").is_file()
    assert (tmp_path / "runs" / "mine" / "report.html").is_file()

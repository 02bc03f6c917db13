"""farspan simulates traffic inside and across datacenters, packet by packet.

>>> import farspan as fs
>>> result = fs.run("uno/incast-mixed", set={"workload.flow_size": "64KiB"})
>>> result.summary["flows"]["finished"]
8
"""

from farspan import control, plot, testing
from farspan._compare import compare, report
from farspan._errors import RunError, ScenarioError
from farspan._farspan import Table, __version__
from farspan._incast import incast
from farspan._load import load, load_runs
from farspan._look import Check, Path, catalog, check, scenarios, schemes
from farspan._progress import Progress
from farspan._result import Result, Runs
from farspan._run import run
from farspan._sweep import Sweep, sweep
from farspan.control import Control

__all__ = [
    "Check",
    "Control",
    "Path",
    "Progress",
    "Result",
    "RunError",
    "Runs",
    "ScenarioError",
    "Sweep",
    "Table",
    "__version__",
    "catalog",
    "check",
    "compare",
    "control",
    "incast",
    "load",
    "load_runs",
    "plot",
    "report",
    "run",
    "scenarios",
    "schemes",
    "sweep",
    "testing",
]

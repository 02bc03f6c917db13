"""The scenario that the tests run, at two sizes, and how a test says that it is skipped."""

from __future__ import annotations

import importlib

import pytest

INCAST = "uno/incast-mixed"
SMALL = {"workload.flow_size": "64KiB"}
RECORDED = {"workload.flow_size": "16MiB", "probes.rate_interval": "2ms", "probes.queue_interval": "100us"}


def need_module(module: str, why: str) -> None:
    """Skips a test whose module is not installed. With FARSPAN_TESTS=must the test fails."""
    try:
        importlib.import_module(module)
    except ImportError:
        # Processes of a sweep import this file without the folder `tools`.
        from skipped import skipped

        skipped(module, why)
        pytest.skip(why)

"""Runs that several tests look at; none of them changes a result."""

from __future__ import annotations

import signal

import farspan as fs
import pytest
from common import INCAST, RECORDED, SMALL


@pytest.fixture(scope="session", autouse=True)
def ctrl_c() -> None:
    """What a shell starts in the background ignores Ctrl-C, and so would the tests that press it."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def small() -> fs.Result:
    """Eight short flows."""
    return fs.run(INCAST, scheme="uno", seed=1, set=SMALL)


@pytest.fixture(scope="session")
def recorded() -> fs.Result:
    """Eight longer flows, with samples of rates and queues."""
    return fs.run(INCAST, scheme="uno-noec", seed=1, set=RECORDED)


@pytest.fixture(scope="session")
def rival() -> fs.Runs:
    """Two seeds of the same under another scheme."""
    return fs.run(INCAST, scheme="gemini", seeds=[1, 2], set=RECORDED)

"""Settings for the whole suite: headless rendering, few threads, full or reduced counts."""

from __future__ import annotations

import os
import signal

import pytest

# before any test module imports mujoco or torch
os.environ.setdefault("MUJOCO_GL", "egl")
os.environ.setdefault("OMP_NUM_THREADS", "1")

# a suite started in the background or under nohup was told to ignore these; the commands that it starts must not
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)

FULL = os.environ.get("BEDPLATE_FULL") == "1"


@pytest.fixture(scope="session")
def full() -> bool:
    """True under `make test-long`: tests use their full counts instead of the reduced ones."""
    return FULL

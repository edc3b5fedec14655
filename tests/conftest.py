"""Settings for the whole suite: headless rendering, few threads, full or reduced counts."""

from __future__ import annotations

import os

import pytest

# before any test module imports mujoco or torch
os.environ.setdefault("MUJOCO_GL", "egl")
os.environ.setdefault("OMP_NUM_THREADS", "1")

FULL = os.environ.get("BEDPLATE_FULL") == "1"


@pytest.fixture(scope="session")
def full() -> bool:
    """True under `make test-long`: tests use their full counts instead of the reduced ones."""
    return FULL

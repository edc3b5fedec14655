"""Thread counts follow the affinity mask and the cgroup's quota."""

from __future__ import annotations

import math
import os

import pytest

from bedplate.sim import threads
from bedplate.sim.batch import BatchEngine


@pytest.fixture
def eight_cores(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(8)))


def cgroup(tmp_path, **files):
    for name, text in files.items():
        path = tmp_path / name.replace("__", "/").replace("_max", ".max").replace("cpu_cfs", "cpu.cfs")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


@pytest.mark.parametrize(
    ("text", "cores"),
    [("max 100000\n", 8), ("200000 100000\n", 2), ("150000 100000\n", 2), ("10000 100000\n", 1), ("nonsense\n", 8)],
)
def test_version_2_quota(eight_cores, tmp_path, text, cores):
    assert threads.usable_cores(cgroup(tmp_path, cpu_max=text)) == cores


@pytest.mark.parametrize(("quota_us", "cores"), [("-1\n", 8), ("300000\n", 3), ("900000000\n", 8)])
def test_version_1_quota(eight_cores, tmp_path, quota_us, cores):
    folder = cgroup(tmp_path, cpu__cpu_cfs_quota_us=quota_us, cpu__cpu_cfs_period_us="100000\n")
    assert threads.usable_cores(folder) == cores


def test_no_cgroup_means_no_quota(eight_cores, tmp_path):
    assert math.isinf(threads.cpu_quota(tmp_path))
    assert threads.usable_cores(tmp_path) == 8


def test_affinity_wins_when_it_is_smaller(monkeypatch, tmp_path):
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {3})
    assert threads.usable_cores(cgroup(tmp_path, cpu_max="400000 100000\n")) == 1


def test_the_engine_uses_that_many_threads_and_never_more_than_worlds(rover, monkeypatch):
    monkeypatch.setattr("bedplate.sim.batch.usable_cores", lambda: 3)
    assert BatchEngine(rover(), 8).batch.nthread == 3
    assert BatchEngine(rover(), 2).batch.nthread == 2
    assert BatchEngine(rover(), 8, num_threads=1).batch.nthread == 1

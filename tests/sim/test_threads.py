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


def groups(tmp_path, files, membership="0::/\n"):
    """A fake /sys/fs/cgroup and /proc/self/cgroup."""
    for name, text in files.items():
        path = tmp_path / "cgroup" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (tmp_path / "membership").write_text(membership)
    return tmp_path / "cgroup", tmp_path / "membership"


@pytest.mark.parametrize(
    ("text", "cores"),
    [
        ("max 100000\n", 8),
        ("200000 100000\n", 2),
        ("150000 100000\n", 1),
        ("290000 100000\n", 2),
        ("10000 100000\n", 1),
        ("nonsense\n", 8),
        ("100000 0\n", 8),
    ],
)
def test_version_2_quota_in_whole_cores(eight_cores, tmp_path, text, cores):
    assert threads.usable_cores(*groups(tmp_path, {"cpu.max": text})) == cores


@pytest.mark.parametrize(("quota_us", "cores"), [("-1\n", 8), ("300000\n", 3), ("900000000\n", 8)])
@pytest.mark.parametrize("folder", ["cpu", "cpu,cpuacct"])
def test_version_1_quota(eight_cores, tmp_path, folder, quota_us, cores):
    files = {f"{folder}/cpu.cfs_quota_us": quota_us, f"{folder}/cpu.cfs_period_us": "100000\n"}
    assert threads.usable_cores(*groups(tmp_path, files, "3:memory:/\n")) == cores


def test_a_quota_of_the_process_s_own_group_counts(eight_cores, tmp_path):
    # as systemd's CPUQuota=300% sets it
    files = {"cpu.max": "max 100000", "system.slice/job.service/cpu.max": "300000 100000"}
    assert threads.usable_cores(*groups(tmp_path, files, "0::/system.slice/job.service\n")) == 3


def test_the_smallest_quota_on_the_way_up_counts(eight_cores, tmp_path):
    files = {"slurm/job/cpu.max": "200000 100000", "slurm/job/step/cpu.max": "600000 100000", "other/cpu.max": "1 1"}
    assert threads.usable_cores(*groups(tmp_path, files, "0::/slurm/job/step\n")) == 2


def test_version_1_group_of_its_own_beside_other_controllers(eight_cores, tmp_path):
    own = "cpu,cpuacct/slurm/job_7"
    files = {f"{own}/cpu.cfs_quota_us": "500000", f"{own}/cpu.cfs_period_us": "100000"}
    membership = "5:memory:/elsewhere\n4:cpu,cpuacct:/slurm/job_7\n2:cpuset:/\n0::/\n"
    assert threads.usable_cores(*groups(tmp_path, files, membership)) == 5


def test_a_group_outside_the_namespace_and_damaged_lines_are_passed_over(eight_cores, tmp_path):
    # "/../.." would lead out of the mount, to a quota that is not ours
    (tmp_path / "cpu.max").write_text("100000 100000")
    folders = groups(tmp_path, {"cpu.max": "max 100000"}, "0::/../..\nnonsense\n\n")
    assert threads.usable_cores(*folders) == 8


def test_no_cgroup_means_no_quota(eight_cores, tmp_path):
    assert math.isinf(threads.cpu_quota(tmp_path, tmp_path / "nothing"))
    assert threads.usable_cores(tmp_path, tmp_path / "nothing") == 8


def test_affinity_wins_when_it_is_smaller(monkeypatch, tmp_path):
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {3})
    assert threads.usable_cores(*groups(tmp_path, {"cpu.max": "400000 100000\n"})) == 1


def test_the_engine_uses_that_many_threads_and_never_more_than_worlds(rover, monkeypatch):
    monkeypatch.setattr("bedplate.sim.batch.usable_cores", lambda: 3)
    assert BatchEngine(rover(), 8).batch.nthread == 3
    assert BatchEngine(rover(), 2).batch.nthread == 2
    assert BatchEngine(rover(), 8, num_threads=1).batch.nthread == 1

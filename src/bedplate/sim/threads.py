"""How many threads physics and torch may use, so that they share the cores instead of fighting for them."""

from __future__ import annotations

import math
import os
from pathlib import Path

import torch

CGROUP = Path("/sys/fs/cgroup")


def usable_cores(cgroup: Path = CGROUP) -> int:
    """Cores this process may use: its affinity mask, cut by the cgroup's CPU quota (version 1 or 2); at least 1."""
    cores = len(os.sched_getaffinity(0))
    quota = cpu_quota(cgroup)
    return max(1, cores if math.isinf(quota) else min(cores, round(quota)))


def cpu_quota(cgroup: Path = CGROUP) -> float:
    """CPU quota of the cgroup in cores; infinity when there is none."""
    # version 2: "max 100000" or "150000 100000"
    try:
        quota, period = (cgroup / "cpu.max").read_text().split()[:2]
        return math.inf if quota == "max" else int(quota) / int(period)
    except (OSError, ValueError):
        pass
    # version 1: -1 means no quota
    try:
        quota_us = int((cgroup / "cpu/cpu.cfs_quota_us").read_text())
        period_us = int((cgroup / "cpu/cpu.cfs_period_us").read_text())
        return quota_us / period_us if quota_us > 0 and period_us > 0 else math.inf
    except (OSError, ValueError):
        return math.inf


def limit_torch_threads(num_threads: int) -> None:
    """Let torch use `num_threads` threads inside one operation."""
    if torch.get_num_threads() != num_threads:
        torch.set_num_threads(num_threads)

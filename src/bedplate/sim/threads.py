"""How many threads physics and torch may use, so that they share the cores instead of fighting for them."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from pathlib import Path

import torch

MOUNT = Path("/sys/fs/cgroup")
MEMBERSHIP = Path("/proc/self/cgroup")
CONTROLLER = "cpu"


def usable_cores(mount: Path = MOUNT, membership: Path = MEMBERSHIP) -> int:
    """Whole cores this process may use: its affinity mask, cut by the smallest CPU quota above it; at least 1."""
    cores = len(os.sched_getaffinity(0))
    quota = cpu_quota(mount, membership)
    # a part of a core is no core for a thread: it would be stopped for the rest of each period
    return max(1, cores if math.isinf(quota) else min(cores, math.floor(quota)))


def cpu_quota(mount: Path = MOUNT, membership: Path = MEMBERSHIP) -> float:
    """Smallest CPU quota, in cores, of this process's control group and all groups above it; infinity without one.

    systemd's CPUQuota= and Slurm put the quota on a group of the job's own; a container shows its group as the root.

    Args:
        mount: where control groups are mounted, version 1 or 2.
        membership: the kernel's list of this process's groups.
    """
    return min((_quota(folder) for folder in _groups(mount, membership)), default=math.inf)


def _groups(mount: Path, membership: Path) -> Iterator[Path]:
    """Folders of the process's groups with their parents up to each hierarchy's root, both versions."""
    roots = [(mount, "/")]
    roots += [(mount / name, "/") for name in ("cpu", "cpu,cpuacct")]
    try:
        lines = membership.read_text().splitlines()
    except OSError:
        lines = []
    for line in lines:
        # "0::/path" of version 2, "4:cpu,cpuacct:/path" of version 1
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if not controllers:
            roots += [(mount, path), (mount / "unified", path)]
        elif CONTROLLER in controllers.split(","):
            roots += [(mount / name, path) for name in (controllers, CONTROLLER)]
    for root, path in roots:
        # a group outside this namespace's root is shown as "/../other"; its folder is not there
        parts = [part for part in path.split("/") if part]
        if ".." in parts:
            continue
        for depth in range(len(parts) + 1):
            yield root.joinpath(*parts[:depth])


def _quota(folder: Path) -> float:
    """Quota of one group in cores; infinity when it has none."""
    # version 2: "max 100000" or "150000 100000"
    try:
        quota, period = (folder / "cpu.max").read_text().split()[:2]
        return math.inf if quota == "max" else _cores(int(quota), int(period))
    except (OSError, ValueError):
        pass
    # version 1: -1 means no quota
    try:
        return _cores(*(int((folder / f"cpu.cfs_{name}_us").read_text()) for name in ("quota", "period")))
    except (OSError, ValueError):
        return math.inf


def _cores(quota_us: int, period_us: int) -> float:
    return quota_us / period_us if quota_us > 0 and period_us > 0 else math.inf


def limit_torch_threads(num_threads: int) -> None:
    """Let torch use `num_threads` threads inside one operation."""
    if torch.get_num_threads() != num_threads:
        torch.set_num_threads(num_threads)

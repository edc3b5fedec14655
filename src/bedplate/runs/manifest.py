"""What a run was made with, written before it starts and compared when its results are used.

Reading versions never imports the packages: a manifest costs no start-up time and no GPU.
"""

from __future__ import annotations

import json
import os
import platform
import re
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

from bedplate.core.errors import BedplateError
from bedplate.core.files import read_json, storage_error, write_json
from bedplate.runs.layout import CONFIG

PACKAGES = ("bedplate", "torch", "mujoco", "stable-baselines3", "gymnasium", "numpy", "onnx", "onnxruntime")
SCHEMA = 1

SOURCE = Path(__file__).parents[1]
"""Where the code that runs lies: "git" is its state, "site_git" that of the folder with the user's own tasks."""

COMPARED = ("kernel", "python", "driver", "cuda", "cudnn", "packages", "git", "site_git")
"""Parts whose change may change results."""


def write_manifest(path: Path, **facts: Any) -> dict[str, Any]:
    """Record this machine, this installation, and `facts` such as seed and recipe hash; returns what was written."""
    manifest = {"schema": SCHEMA, "status": "running", "started": _now(), **current(), **facts}
    write_json(path, manifest)
    return manifest


def finish_manifest(path: Path, status: str, **facts: Any) -> None:
    """Set the run's final status, "finished", "interrupted" or "failed", and add `facts`."""
    write_json(path, {**read_json(path), "status": status, "ended": _now(), **facts})


def mark_ended(path: Path, status: str) -> None:
    """Set the final status by writing over the file in its place: a full disk has no room for a second one.

    Raises:
        StorageError: the file cannot be written at all.
        BedplateError: there is no manifest, or it is damaged.
    """
    recorded = {**read_json(path), "status": status, "ended": _now()}
    try:
        with path.open("r+", encoding="utf-8") as file:
            # without indentation it is shorter than before, so that it needs no further block
            file.write(json.dumps(recorded) + "\n")
            file.truncate()
    except OSError as error:
        raise storage_error(path, error) from error


def read_manifest(path: Path) -> dict[str, Any]:
    """What was recorded; empty when there is no manifest.

    Raises:
        BedplateError: the file is damaged.
    """
    if not path.exists():
        return {}
    recorded = read_json(path)
    if not isinstance(recorded, dict):
        raise BedplateError(f"{path} holds a {type(recorded).__name__}", "a JSON object written by bedplate")
    return recorded


def world_version(recorded: Mapping[str, Any]) -> int | None:
    """Version of the world generator in a manifest, or in a bundle's provenance; None when it was not recorded."""
    version = recorded.get("world_version")
    return version if isinstance(version, int) and not isinstance(version, bool) else None


def world_change(task: str, trained: int | None, now: int) -> str:
    """One line when the world generator of `task` is another one than in training; "" when it is not, or not known."""
    if trained is None or trained == now:
        return ""
    return f"world generator of {task}: version {trained} -> {now}; these are not the worlds of the training"


def current() -> dict[str, Any]:
    """This machine and installation, as far as they can change a result; what is absent is said in words."""
    return {
        "kernel": platform.release(),
        "os": _os_name(),
        "cpu": _cpu_model(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "driver": _driver(),
        "cuda": _torch_build("cuda"),
        "cudnn": _cudnn(),
        "packages": {name: _version(name) for name in PACKAGES},
        "git": git_state(SOURCE),
        "site_git": git_state(Path.cwd()),
        "argv": sys.argv,
    }


def compare(recorded: dict[str, Any], now: dict[str, Any] | None = None) -> list[str]:
    """What differs between a recorded manifest and this machine, one line each; empty when nothing does."""
    now = now or current()
    changes = []
    for key in COMPARED:
        # a manifest written before this part was recorded says nothing about it
        if key == "site_git" and key not in recorded:
            continue
        before, after = recorded.get(key, "not recorded"), now.get(key)
        if before == after:
            continue
        if isinstance(before, dict) and isinstance(after, dict):
            changes += [
                f"{key}.{name}: {before.get(name, 'not recorded')} -> {after.get(name, 'absent')}"
                for name in sorted({*before, *after})
                if before.get(name) != after.get(name)
            ]
        else:
            changes.append(f"{key}: {before} -> {after}")
    return changes


def git_state(folder: Path) -> dict[str, Any] | str:
    """Commit of the work tree around `folder`, and whether its code is that of the commit; or why it is not known.

    Returns:
        "commit", and "dirty": a tracked file was changed, or git does not know a Python or YAML file that is there.
    """
    git = ["git", "-C", str(folder)]
    try:
        commit = _run([*git, "rev-parse", "HEAD"])
        # an installation inside somebody's work tree, as in its .venv, is not that tree's code
        if subprocess.run([*git, "check-ignore", "-q", "."], capture_output=True, timeout=5).returncode == 0:
            return "not a git work tree"
        changed = _run([*git, "status", "--porcelain", "--untracked-files=no"])
        # what a training wrote is no code
        unknown = _run([*git, "ls-files", "--others", "--exclude-standard", "--", "*.py", "*.yaml", "*.yml"])
    except (OSError, subprocess.SubprocessError):
        return "not a git work tree"
    outputs = [line for line in unknown.splitlines() if Path(line).name != CONFIG]
    return {"commit": commit, "dirty": bool(changed or outputs)}


def _run(argv: Sequence[str]) -> str:
    done = subprocess.run(argv, capture_output=True, text=True, timeout=5, check=True)
    return done.stdout.strip()


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"


def _os_name() -> str:
    try:
        return platform.freedesktop_os_release().get("PRETTY_NAME", "unknown")
    except OSError:
        return "unknown"


def _cpu_model() -> str:
    try:
        match = re.search(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    except OSError:
        match = None
    return match.group(1) if match else platform.machine()


def _driver() -> str:
    # printed by the loaded kernel module; absent on a machine without one
    try:
        match = re.search(r"\s(\d{3}\.[\d.]+)\s", Path("/proc/driver/nvidia/version").read_text())
    except OSError:
        return "no NVIDIA driver loaded"
    return match.group(1) if match else "unreadable"


def _torch_build(field: str) -> str:
    # torch writes its build into torch/version.py; importing torch for it would cost a second
    try:
        location = metadata.distribution("torch").locate_file("torch/version.py")
        text = Path(str(location)).read_text()
    except (metadata.PackageNotFoundError, OSError):
        return "no torch"
    match = re.search(rf"^{field}[^=\n]*=\s*'([^']+)'", text, re.MULTILINE)
    return match.group(1) if match else "CPU build"


def _cudnn() -> str:
    wheels = [d for d in metadata.distributions() if (d.metadata["Name"] or "").startswith("nvidia-cudnn")]
    return wheels[0].version if wheels else "no cuDNN wheel"


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())

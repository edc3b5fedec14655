"""Crash reports: what a maintainer needs to mend a bug of ours, in one text file."""

from __future__ import annotations

import platform
import shlex
import sys
import tempfile
import time
import traceback
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path

from bedplate import __version__
from bedplate.core.errors import StorageError
from bedplate.core.files import write_text

PACKAGES = ("torch", "mujoco", "stable-baselines3", "gymnasium", "numpy", "onnxruntime", "pydantic", "typer", "rich")


def write_crash_report(error: BaseException, argv: Sequence[str]) -> Path | None:
    """Write `bedplate-crash-<time>.txt` into the current folder, or into the temporary folder when that fails.

    Args:
        error: the exception that escaped.
        argv: the command line without the program's name.

    Returns:
        The report's path; None when neither folder can be written.
    """
    text = crash_text(error, argv)
    name = f"bedplate-crash-{time.strftime('%Y%m%d-%H%M%S')}-{time.time_ns() % 1_000_000:06d}.txt"
    for folder in (Path.cwd, lambda: Path(tempfile.gettempdir())):
        try:
            path = folder() / name
            write_text(path, text)
        except (StorageError, OSError):
            continue
        return path
    return None


def crash_text(error: BaseException, argv: Sequence[str]) -> str:
    """The report: command, versions, traceback."""
    lines = [
        f"bedplate {__version__} crashed at {time.strftime('%Y-%m-%dT%H:%M:%S%z')}",
        f"command: bedplate {shlex.join(argv)}",
        f"python: {sys.version.split()[0]} ({sys.executable})",
        f"system: {platform.platform()}",
        *(f"{name}: {_version(name)}" for name in PACKAGES),
        "",
        *traceback.format_exception(error),
    ]
    return "\n".join(lines)


def _version(package: str) -> str:
    # read from the installation's records: importing torch to ask its version could fail again
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"

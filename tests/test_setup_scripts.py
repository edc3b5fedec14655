"""The scripts behind make: a Python that really runs is found, and a test log is summed up."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).parents[1] / "scripts"


def executable(path: Path, text: str) -> Path:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def find_python(folder: Path, *argv: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PATH": f"{folder}:/bin:/usr/bin"}
    return subprocess.run([SCRIPTS / "find_python.sh", *argv], capture_output=True, text=True, env=environment)


@pytest.fixture
def shims(tmp_path: Path) -> Path:
    """A folder where python3.12 is a shim that fails and python3.11 is this interpreter."""
    executable(tmp_path / "python3.12", "echo 'command not found' >&2; exit 127")
    executable(tmp_path / "python3.11", f'exec {sys.executable} "$@"')
    return tmp_path


def test_a_shim_that_fails_is_passed_over(shims: Path) -> None:
    assert find_python(shims).stdout == "python3.11\n"


def test_a_working_3_12_comes_first(shims: Path) -> None:
    executable(shims / "python3.12", f'exec {sys.executable} "$@"')
    assert find_python(shims).stdout == "python3.12\n"


def test_a_python_that_was_asked_for_is_never_replaced(shims: Path) -> None:
    done = find_python(shims, str(shims / "python3.12"))
    assert done.returncode == 2
    assert done.stdout == ""
    assert "expected: Python 3.11 or 3.12" in done.stderr


def test_a_python_without_venv_is_refused(shims: Path) -> None:
    # a module path that hides ensurepip stands for a system that ships it apart
    blocked = shims / "blocked"
    (blocked / "ensurepip").mkdir(parents=True)
    (blocked / "ensurepip" / "__init__.py").write_text("raise ImportError('ensurepip')\n")
    executable(shims / "no_pip", f'PYTHONPATH={blocked} exec {sys.executable} "$@"')
    assert find_python(shims, str(shims / "no_pip")).returncode == 2


def test_summary_keeps_slow_tests_and_the_closing_line(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("...\n===== slowest 10 durations =====\n1.0s call a\n==== 3 passed in 2.0s ====\n")
    done = subprocess.run([SCRIPTS / "summarise_tests.sh", log], capture_output=True, text=True, check=True)
    assert "command: make test-long" in done.stdout
    assert done.stdout.endswith("1.0s call a\n==== 3 passed in 2.0s ====\n")
    assert "..." not in done.stdout

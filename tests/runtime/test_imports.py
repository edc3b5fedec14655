"""What the processes on the robot's side carry: no training stack, and the writer no inference library either."""

from __future__ import annotations

import subprocess
import sys

import pytest

TRAINING = {"torch", "gymnasium", "mujoco", "stable_baselines3", "ray", "matplotlib", "onnx"}


def imported(code: str) -> set[str]:
    """Top-level modules that are loaded after `code`, in a fresh interpreter."""
    script = f"{code}\nimport sys\nprint('\\n'.join(sorted(sys.modules)))"
    out = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    return {line.partition(".")[0] for line in out.splitlines()}


ALL_MODULES = """
import importlib, pkgutil, bedplate.runtime
for module in pkgutil.walk_packages(bedplate.runtime.__path__, "bedplate.runtime."):
    importlib.import_module(module.name)
"""


def test_no_module_of_the_runtime_imports_the_training_stack() -> None:
    loaded = imported(ALL_MODULES)
    assert "onnxruntime" in loaded
    assert not loaded & TRAINING


@pytest.mark.parametrize(
    "code",
    [
        "import bedplate.runtime.session",
        "import bedplate.runtime.writer, bedplate.runtime.links.unix, bedplate.runtime.policy_process",
        "import bedplate.cli.serve, bedplate.cli.notes, bedplate.runtime.session, bedplate.runtime.telemetry",
    ],
)
def test_the_writer_carries_no_inference_library(code: str) -> None:
    assert not imported(code) & (TRAINING | {"onnxruntime"})


def test_this_test_can_fail() -> None:
    assert "onnxruntime" in imported("from bedplate.runtime import policy")

"""The table of host checks. Order is causal: what can cause a finding stands before it."""

from __future__ import annotations

from functools import cache
from importlib import import_module

from bedplate.host.checks.kinds import HostCheck

THEMES = (
    "hardware",
    "pci",
    "nouveau",
    "secure_boot",
    "packages",
    "repositories",
    "kernels",
    "build",
    "driver_kind",
    "driver",
    "fabric",
    "nodes",
    "podman",
    "cdi",
    "hook",
    "python_env",
    "torch_build",
    "libraries",
    "memory",
    "rendering",
    "heat",
    "serving",
    "symptoms",
    "forms_driver",
    "forms_python",
    "forms_container",
    "forms_code",
)
"""Modules of this folder, each with a tuple CHECKS."""


@cache
def all_checks() -> tuple[HostCheck, ...]:
    """Every check, in causal order."""
    return tuple(check for theme in THEMES for check in import_module(f"{__name__}.{theme}").CHECKS)

"""The table of plan steps, in the order of their work."""

from __future__ import annotations

from functools import cache
from importlib import import_module

from bedplate.host.plan.step import PlanStep

THEMES = ("repositories", "kernel", "driver", "boot", "python", "containers", "tuning", "after_boot")
"""Modules of this folder, each with a tuple STEPS."""


@cache
def all_steps() -> tuple[PlanStep, ...]:
    """Every step; those before a reboot first."""
    steps = [step for theme in THEMES for step in import_module(f"{__name__}.{theme}").STEPS]
    return tuple(sorted(steps, key=lambda step: step.stage))

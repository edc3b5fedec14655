"""Gymnasium spaces of a task, the same on every face."""

from __future__ import annotations

import gymnasium
import numpy as np

from bedplate.tasks.spec import Task


def observation_space(task: Task) -> gymnasium.spaces.Box:
    """Unbounded box of (obs_dim,) float32."""
    return gymnasium.spaces.Box(-np.inf, np.inf, (task.obs_dim,), np.float32)


def action_space(task: Task) -> gymnasium.spaces.Box:
    """[-1, 1] box of (act_dim,) float32."""
    return gymnasium.spaces.Box(-1.0, 1.0, (task.act_dim,), np.float32)

"""Reward terms that several tasks share."""

from __future__ import annotations

import torch
from torch import Tensor

from bedplate.tasks.state import State


def action_rate(state: State) -> Tensor:
    """(num_envs,) minus the squared change of the policy output."""
    return -(state.action - state.previous_action).square().sum(dim=1)


def proximity(gap_m: Tensor, scale_m: float) -> Tensor:
    """(num_envs,) -1 at contact, rising to 0 with the gap (num_envs,): by a factor e for each `scale_m`."""
    return -torch.exp(-gap_m.clamp(min=0.0) / scale_m)

"""What the peers' worker processes import: little, so that they start fast."""

from __future__ import annotations

import gymnasium

from bedplate.sim.library import keep_mujoco_quiet


def make(env_id: str) -> gymnasium.Env:
    """One environment, in this process or in a worker; without MuJoCo's remarks on Gymnasium's model files."""
    keep_mujoco_quiet()
    return gymnasium.make(env_id)

"""Drone obstacle avoidance: fly a nano quadrotor to a goal among unseen pillars without touching anything.

`flight.py` is what the drone measures and how it is commanded, `arena.py` the worlds and the distances in them,
`variation.py` the randomisation, `steering.py` the classical controller, `task.py` the task itself. The drone is
`robots/quad/quad.xml`.
"""

from __future__ import annotations

from bedplate.tasks.quad_avoid.task import quad_avoid

__all__ = ["quad_avoid"]

"""arm_reach: a 7-axis arm brings its tip to a target pose past an obstacle."""

from bedplate.tasks.arm_reach.task import arm_reach

__all__ = ["arm_reach"]

"""The arm's velocity dampers: far from everything nothing changes, near something no gap closes too fast."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from bedplate.tasks.arm_reach.damper import DAMPING_HZ, KEEP_M, RANGE_M, Damper
from bedplate.tasks.arm_reach.kinematics import Chain
from bedplate.tasks.robots.load import load_arm

FAR = torch.tensor([[5.0, 5.0, 5.0]], dtype=torch.float64)
HALF = torch.full((1, 3), 0.05, dtype=torch.float64)


@pytest.fixture(scope="module")
def chain() -> Chain:
    arm = load_arm("arm7", "")
    return Chain(arm.spec.copy().compile(), arm.joints, arm.tip)


@pytest.fixture(scope="module")
def home() -> torch.Tensor:
    return torch.tensor([load_arm("arm7", "").home], dtype=torch.float64)


def test_free_motion_is_left_alone(chain, home):
    speed = torch.full((1, 7), 0.2, dtype=torch.float64)
    damped = Damper(chain, table_m=-5.0).damp(chain.pose(home), speed, FAR, HALF)
    assert torch.equal(damped, speed)


def test_the_tip_does_not_run_into_an_obstacle(chain, home):
    pose = chain.pose(home)
    # a ball-sized box 6 cm before the last point, and a motion of all joints that drives that point at it
    obstacle = pose.points[:, -1] + torch.tensor([[0.06 + 0.05 + float(chain.radii[-1]), 0.0, 0.0]])
    towards = chain.along(pose, torch.tensor([1.0, 0.0, 0.0], dtype=torch.float64).expand_as(pose.points))[0, -1]
    speed = 2.0 * (towards / towards.norm())[None]
    damped = Damper(chain, table_m=-5.0).damp(pose, speed, obstacle, HALF)
    closing_before, closing_after = float(speed[0] @ towards), float(damped[0] @ towards)
    assert closing_before > 0.3
    assert closing_after <= DAMPING_HZ * (0.06 - KEEP_M) + 1e-3


def test_the_arm_does_not_fold_into_itself(chain):
    # elbow and wrist bent until the hand is near the upper arm, and bending on
    q = torch.tensor([[0.0, 0.0, 0.0, -2.9, 0.0, 0.3, 0.0]], dtype=torch.float64)
    speed = torch.tensor([[0.0, 0.0, 0.0, -0.5, 0.0, -0.5, 0.0]], dtype=torch.float64)
    damper = Damper(chain, table_m=-5.0)
    damped = damper.damp(chain.pose(q), speed, FAR, HALF)
    opening, gap = damper._rows(chain.pose(q), FAR, HALF)
    near = gap[0] < RANGE_M
    assert near.any()
    least = -DAMPING_HZ * (gap[0, near] - KEEP_M)
    assert (opening[0, near] @ speed[0] < least - 0.02).any()
    assert (opening[0, near] @ damped[0] >= least - 0.02).all()


def test_gaps_open_as_fast_as_the_rows_say(chain, home):
    damper = Damper(chain, table_m=0.0)
    obstacle = torch.tensor([[0.5, 0.2, 0.4]], dtype=torch.float64)
    opening, _ = damper._rows(chain.pose(home), obstacle, HALF)
    for joint in range(7):
        step = torch.zeros_like(home)
        step[0, joint] = 1e-4
        gaps = [damper._rows(chain.pose(q), obstacle, HALF)[1] for q in (home - step, home + step)]
        np.testing.assert_allclose(opening[0, :, joint], (gaps[1] - gaps[0])[0] / 2e-4, atol=2e-3)

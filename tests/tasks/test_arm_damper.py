"""The arm's dampers and its classical controller: free motion stays free, and no gap closes too fast."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from bedplate.tasks.arm_reach.controller import Controller, nearest
from bedplate.tasks.arm_reach.damper import DAMPING_HZ, KEEP_M, RANGE_M, Damper, Rows
from bedplate.tasks.arm_reach.geometry import Obstacle
from bedplate.tasks.arm_reach.kinematics import Chain
from bedplate.tasks.arm_reach.servo import Servo
from bedplate.tasks.arm_reach.sight import Sight
from bedplate.tasks.robots.arm import Arm


def box(centre: list[float] | torch.Tensor) -> Obstacle:
    """A box of 10 cm at `centre` (3,)."""
    place = torch.as_tensor(centre, dtype=torch.float64).reshape(1, 3)
    return Obstacle(place, torch.full((1, 3), 0.05, dtype=torch.float64), torch.eye(3, dtype=torch.float64)[2:])


FAR = box([5.0, 5.0, 5.0])
# elbow and wrist bent until the hand is near the upper arm
FOLDED = torch.tensor([[0.0, 0.0, 0.0, -2.9, 0.0, 0.3, 0.0]], dtype=torch.float64)


@pytest.fixture(scope="module")
def damper(arm: Arm, chain: Chain) -> Damper:
    return Damper(chain, -5.0, arm.position_low, arm.position_high)


def seen(damper: Damper, q: torch.Tensor, obstacle: Obstacle) -> Sight:
    """The arm at `q` (1, 7), with nowhere to go."""
    pose = damper.chain.pose(q)
    return Sight.at(damper.chain, q, pose.tip, pose.axis, obstacle)


def within(damper: Damper, q: torch.Tensor, speed: torch.Tensor, obstacle: Obstacle) -> tuple[torch.Tensor, Rows]:
    """The speed that the dampers leave of a wanted one, and their rows."""
    rows = damper.rows(seen(damper, q, obstacle))
    eye = torch.eye(7, dtype=torch.float64)[None]
    return nearest(speed, rows, eye), rows


def test_free_motion_is_left_alone(damper, arm):
    home = torch.tensor([arm.home], dtype=torch.float64)
    speed = torch.full((1, 7), 0.02, dtype=torch.float64)
    assert torch.equal(within(damper, home, speed, FAR)[0], speed)


def test_no_part_runs_into_an_obstacle(damper, arm):
    home = torch.tensor([arm.home], dtype=torch.float64)
    chain, pose = damper.chain, damper.chain.pose(home)
    # a box 6 cm before the last point, and a motion of all joints that drives that point at it
    obstacle = box(pose.points[0, -1] + torch.tensor([0.06 + 0.05 + float(chain.radii[-1]), 0.0, 0.0]))
    x_axis = torch.tensor([1.0, 0.0, 0.0], dtype=torch.float64).expand_as(pose.points)
    towards = chain.along(pose, pose.points, x_axis, chain.moved)[0, -1]
    speed = 2.0 * (towards / towards.norm())[None]
    damped, _ = within(damper, home, speed, obstacle)
    assert float(speed[0] @ towards) > 0.3
    assert float(damped[0] @ towards) <= DAMPING_HZ * (0.06 - KEEP_M) + 5e-3


@pytest.mark.parametrize(
    "speed",
    [[0.0, 0.0, 0.0, -0.5, 0.0, -0.5, 0.0], [0.3, -0.4, 0.2, -0.9, 0.5, -0.9, 0.1]],
)
def test_the_arm_neither_folds_into_itself_nor_drives_past_a_joint_end(damper, speed):
    wanted = torch.tensor([speed], dtype=torch.float64)
    damped, rows = within(damper, FOLDED, wanted, FAR)
    assert (rows.short(wanted) > 0.02).any()
    assert rows.short(damped).max() < 0.02


def test_gaps_open_as_fast_as_the_rows_say(damper, arm):
    home = torch.tensor([arm.home], dtype=torch.float64)
    obstacle = box([0.5, 0.2, 0.4])
    opening, gap = damper.gaps(seen(damper, home, obstacle))
    assert opening.shape == (1, gap.shape[1], 7)
    for joint in range(7):
        step = torch.zeros_like(home)
        step[0, joint] = 1e-4
        gaps = [damper.gaps(seen(damper, q, obstacle))[1] for q in (home - step, home + step)]
        np.testing.assert_allclose(opening[0, :, joint], (gaps[1] - gaps[0])[0] / 2e-4, atol=2e-3)


def test_a_row_far_away_asks_for_nothing(damper, arm):
    home = torch.tensor([arm.home], dtype=torch.float64)
    sight = seen(damper, home, FAR)
    _, gap = damper.gaps(sight)
    rows = damper.rows(sight)
    assert (gap > RANGE_M).any()
    assert (rows.least[:, : gap.shape[1]][gap > RANGE_M] < -100).all()


def test_the_controller_brings_a_free_arm_to_its_target(damper, arm):
    speed = tuple(0.5 * limit for limit in arm.velocity)
    controller = Controller(Servo(damper.chain, speed), damper)
    q = torch.tensor([arm.home], dtype=torch.float64)
    pose = damper.chain.pose(q + 0.3 * torch.tensor([[1.0, -1.0, 0.5, 1.0, -0.5, 0.5, 0.0]]))
    signals = {
        "target_position": pose.tip,
        "target_axis": pose.axis,
        "obstacle_position": FAR.centre,
        "obstacle_size": FAR.half,
        "obstacle_shape": FAR.shape,
    }
    for _ in range(200):
        command = controller.command({**signals, "joint_position": q})
        assert (command.abs() <= torch.tensor(speed) * (1 + 1e-6)).all()
        q = q + 0.02 * command
    reached = damper.chain.pose(q)
    assert float((reached.tip - pose.tip).norm()) < 0.005
    assert float((reached.axis - pose.axis).norm()) < 0.05

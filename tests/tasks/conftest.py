"""The arm that comes with Bedplate, its kinematics and its worlds."""

from __future__ import annotations

import pytest

from bedplate.tasks.arm_reach.kinematics import Chain
from bedplate.tasks.arm_reach.worlds import WorldSampler
from bedplate.tasks.robots.arm import Arm
from bedplate.tasks.robots.load import load_arm


@pytest.fixture(scope="module")
def arm() -> Arm:
    return load_arm()


@pytest.fixture(scope="module")
def chain(arm: Arm) -> Chain:
    return Chain(arm.spec.copy().compile(), arm.joints, arm.tip)


@pytest.fixture(scope="module")
def sampler(arm: Arm, chain: Chain) -> WorldSampler:
    return WorldSampler(arm, chain, 0.0)

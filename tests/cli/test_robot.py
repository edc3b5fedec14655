from __future__ import annotations

import inspect
import shlex

from bedplate.cli.robot import _build
from bedplate.core.settings import TASK_EXAMPLE, parse_setting
from bedplate.tasks.nav_lidar import nav_lidar


def test_the_example_of_the_advice_is_accepted() -> None:
    (setting,) = shlex.split(TASK_EXAMPLE)
    assert parse_setting(setting)[0][1] in inspect.signature(nav_lidar).parameters
    assert _build("nav_lidar", [setting]).id


def test_numbers_are_read_as_training_reads_them() -> None:
    assert _build("nav_lidar", ["task.episode_length_s=2e1"]).episode_length_s == 20.0

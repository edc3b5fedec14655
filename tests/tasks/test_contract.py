from __future__ import annotations

import dataclasses
import math

import pytest

from bedplate.bundle.contract import GuardSettings
from bedplate.core.errors import BedplateError, UnknownName
from bedplate.runtime.guard import ReferenceGuard
from bedplate.tasks import TASKS
from bedplate.tasks.contract import contract_of
from bedplate.tasks.nav_lidar import nav_lidar


@pytest.mark.parametrize("name", list(TASKS))
def test_every_task_has_a_contract_that_a_guard_can_enforce(name: str) -> None:
    task = TASKS.load(name)()
    contract = contract_of(task)
    ReferenceGuard(contract, GuardSettings())
    assert contract.task == task.id and contract.control_dt_s == task.control_dt_s
    assert [s.name for s in contract.signals] == [s.name for s in task.signals]
    assert contract.channels == task.action.channels and contract.limits == task.limits
    assert all(s.rate_hz > 0 for s in contract.signals)


def test_equal_tasks_have_equal_contracts_and_other_ones_do_not() -> None:
    task = nav_lidar()
    assert contract_of(task).hash == contract_of(nav_lidar()).hash
    slower = dataclasses.replace(task, decimation=2 * task.decimation)
    first, second = task.signals[:2]
    swapped = dataclasses.replace(task, signals=(second, first, *task.signals[2:]))
    renamed = dataclasses.replace(first, components=("renamed", *first.components[1:]))
    other_joint = dataclasses.replace(task, signals=(renamed, *task.signals[1:]))
    hashes = {contract_of(changed).hash for changed in (task, slower, swapped, other_joint)}
    assert len(hashes) == 4


@pytest.mark.parametrize(
    ("field", "value"), [("low", -math.inf), ("high", math.nan), ("max_age_s", 0.0), ("max_age_s", math.inf)]
)
def test_a_signal_that_no_guard_could_judge_is_refused(field: str, value: float) -> None:
    task = nav_lidar()
    bad = dataclasses.replace(task.signals[0], **{field: value})
    with pytest.raises(BedplateError, match=task.signals[0].name):
        contract_of(dataclasses.replace(task, signals=(bad, *task.signals[1:])))


def test_a_kind_of_action_that_no_guard_knows_is_refused_with_the_nearest() -> None:
    task = nav_lidar()
    mistyped = dataclasses.replace(task, action=dataclasses.replace(task.action, kind="postion"))  # type: ignore[arg-type]
    with pytest.raises(UnknownName, match="'postion'") as error:
        contract_of(mistyped)
    assert error.value.nearest == "position"

"""Policy and guard as a library: whatever comes in, each step gives a decision."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from bedplate.bundle.bundle import Bundle
from bedplate.bundle.contract import Contract, GuardSettings
from bedplate.core.limits import SafeAction
from bedplate.runtime import Controller, load
from bedplate.runtime.guard import ReferenceGuard

T = 0.02


class Scripted:
    """A policy that answers with a value, or raises it."""

    def __init__(self) -> None:
        self.answer: Any = np.array([0.05, 0.05])
        self.sent: list[Any] = []

    def reset(self) -> None:
        pass

    def act(self, signals: Any, sent: np.ndarray | None = None) -> Any:
        self.sent.append(sent)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


class Steps:
    """A controller in simulated time."""

    def __init__(self, contract: Contract) -> None:
        self.policy = Scripted()
        self.controller = Controller(contract, self.policy, ReferenceGuard(contract, GuardSettings()))
        self.signals: dict[str, Any] = {name: np.zeros(2) for name in ("position", "goal", "effort")}
        self.now_s = 10.0

    def step(self, age_s: float = 0.0) -> Any:
        self.now_s += T
        return self.controller.step(self.signals, self.now_s - age_s, self.now_s)


@pytest.fixture
def steps(contract_with: Callable[..., Contract]) -> Steps:
    return Steps(contract_with())


class Raises:
    def __array__(self, *arguments: object, **keywords: object) -> np.ndarray:
        raise RuntimeError("no array today")


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (np.float64(0.0), r"has shape \(\)"),
        (0.0, r"has shape \(\)"),
        (np.zeros((1, 2)), r"has shape \(1, 2\)"),
        ("ahead", "does not hold numbers"),
        ([0.0, [1.0]], "does not hold numbers"),
        ([None, 0.0], "nan is outside"),
        (Raises(), "does not hold numbers"),
        (None, "absent"),
    ],
)
def test_a_signal_that_is_no_measurement_is_judged(steps: Steps, value: Any, words: str) -> None:
    steps.step()
    steps.signals["goal"] = value
    for _ in range(5):
        decision = steps.step()
        assert np.isfinite(decision.command).all() and "observation_range" in decision.rules
    assert decision.fault.rule == "observation_range"
    assert re.search(words, decision.fault.detail)


def test_a_list_of_numbers_is_a_measurement(steps: Steps) -> None:
    steps.signals = {name: [0.0, 0.0] for name in steps.signals}
    assert steps.step().rules == ()


def test_a_policy_that_raises_has_given_no_command(steps: Steps) -> None:
    assert steps.step().fault is None
    steps.policy.answer = ZeroDivisionError("by nought")
    decision = steps.step()
    assert decision.fault.rule == "stale_action" and np.isfinite(decision.command).all()
    assert steps.controller.policy_error == "ZeroDivisionError: by nought"
    steps.policy.answer = np.array([0.05, 0.05])
    steps.step()
    assert steps.controller.policy_error == ""


@pytest.mark.parametrize("answer", ["fast", [0.1], np.float64(0.1), object()])
def test_an_answer_that_is_no_command_is_judged(steps: Steps, answer: Any) -> None:
    steps.step()
    steps.policy.answer = answer
    assert steps.step().fault.rule == "finite"


def test_states_that_are_rejected_latch_under_their_own_name(steps: Steps) -> None:
    steps.step()
    steps.signals["goal"] = np.array([99.0, 0.0])
    assert [steps.step().fault for _ in range(4)] == [None] * 4
    assert steps.step().fault.rule == "observation_range"


def test_a_position_command_waits_for_a_fresh_state(contract_with: Callable[..., Contract]) -> None:
    steps = Steps(contract_with("position", SafeAction("ramp", (0.0, 0.0))))
    steps.signals["position"] = np.array([0.9, 0.9])
    assert [steps.step(age_s=1.0).hold_back for _ in range(3)] == [True] * 3
    decision = steps.step()
    assert not decision.hold_back and decision.command == pytest.approx([0.8, 0.8])
    # and again when it was put somewhere else
    steps.controller.reset()
    assert steps.step(age_s=1.0).hold_back
    # what was held back was not sent
    steps.step()
    assert steps.policy.sent[-1] is None


def test_a_velocity_command_need_not_wait(steps: Steps) -> None:
    decision = steps.step(age_s=1.0)
    assert not decision.hold_back and decision.command.tolist() == [0.0, 0.0]


def test_deltas_do_not_wind_up_against_the_guard(delta_bundle: Bundle) -> None:
    controller, now_s = load(delta_bundle.folder), 10.0
    state = {name: np.zeros(2) for name in ("position", "goal", "effort")}
    sent = np.zeros(2)
    for tick in range(30):
        now_s += T
        before, sent = sent, controller.step(state, now_s, now_s).command
        asked = controller.policy._outputs["command"][0]  # type: ignore[attr-defined]
        assert asked == pytest.approx(before + 0.3, abs=1e-6), tick
    assert sent.tolist() == [1.0, 1.0]

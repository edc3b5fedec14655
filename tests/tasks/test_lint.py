"""Task lint: a sound toy task passes every rule, and each rule fails a task that is bad in just that way."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import mujoco
import numpy as np
import pytest
import torch
from torch import Tensor

from bedplate.core.check import Finding, Status, run_checks
from bedplate.core.errors import BedplateError
from bedplate.core.limits import ChannelLimits, Limits, SafeAction
from bedplate.envs.lint import collect, lint_task
from bedplate.tasks import make_task
from bedplate.tasks.lint import CHECKS, Play
from bedplate.tasks.quad_avoid import quad_avoid
from bedplate.tasks.spec import Action, Event, Feature, Memory, RewardTerm, Signal, Task, Termination
from bedplate.tasks.state import State

CART = """
<mujoco>
  <worldbody>
    <body name="cart">
      <joint name="x" type="slide" axis="1 0 0" range="-2 2" limited="true"/>
      <geom size="0.1" mass="1"/>
    </body>
  </worldbody>
  <actuator><velocity joint="x" kv="20"/></actuator>
</mujoco>
"""


def _cart(**changes: object) -> Task:
    """A cart that must reach a goal about 1 m away; sound, unless `changes` makes it bad."""
    task = Task(
        id="cart",
        model=lambda: mujoco.MjSpec.from_string(CART),
        sim_dt_s=0.02,
        decimation=1,
        episode_length_s=3.0,
        signals=(
            _signal("position", lambda state: state.qpos),
            _signal("goal", lambda state: state.world["goal"]),
        ),
        features=(
            Feature("offset", 1, lambda signals, memory: signals["goal"] - signals["position"]),
            Feature("position", 1, lambda signals, memory: signals["position"]),
        ),
        action=Action(channels=("x",), kind="velocity", unit=("m/s",), low=(-1.0,), high=(1.0,), apply=_drive),
        limits=Limits((ChannelLimits("x", "m/s", -1.0, 1.0, 50.0),), SafeAction("ramp", (0.0,))),
        rewards=(
            RewardTerm("progress", _approach, 1.0),
            RewardTerm("time", lambda state: -torch.ones(state.num_envs), 0.5),
            RewardTerm("success", _arrived, 2.0, event=True),
        ),
        terminations=(Termination("success", _arrived),),
        events=(Event("world", _place, randomisation=False),),
        success=_arrived,
        update=_remember_distance,
        world={"goal": 1, "before": 1, "now": 1},
    )
    return dataclasses.replace(task, **changes)  # type: ignore[arg-type]


def _signal(name: str, read: Callable[[State], Tensor]) -> Signal:
    return Signal(name=name, components=("x",), unit="m", frame="world", read=read, low=-5, high=5, max_age_s=1)


def _drive(state: State, command: Tensor) -> None:
    state.ctrl[:] = command


def _distance(state: State) -> Tensor:
    return (state.world["goal"] - state.qpos).abs()[:, 0]


def _approach(state: State) -> Tensor:
    return (state.world["before"] - state.world["now"])[:, 0] / state.control_dt_s


def _arrived(state: State) -> Tensor:
    return _distance(state) < 0.02


def _place(state: State, ids: np.ndarray, rng: np.random.Generator) -> None:
    rows = torch.from_numpy(ids)
    side = np.where(np.arange(len(ids)) % 2, 1.0, -1.0)
    state.world["goal"][rows] = torch.from_numpy(side * rng.uniform(0.8, 1.2, len(ids)))[:, None]
    state.world["before"][rows] = state.world["now"][rows] = state.world["goal"][rows].abs()


def _remember_distance(state: State) -> None:
    state.world["before"].copy_(state.world["now"])
    state.world["now"].copy_(_distance(state)[:, None])


def _solve(signals: dict[str, Tensor], memory: dict[str, Tensor]) -> Tensor:
    return (3 * (signals["goal"] - signals["position"])).clamp(-1, 1)


def _finding(task: Task, code: str, **options: object) -> Finding:
    findings = {finding.code: finding for finding in lint_task(task, worlds=12, **options)}  # type: ignore[arg-type]
    assert len(findings) == len(CHECKS)
    return findings[code]


def _with_reward(name: str, func: Callable[[State], Tensor], weight: float) -> Task:
    return _cart(rewards=(*_cart().rewards, RewardTerm(name, func, weight)))


def _nowhere(**changes: object) -> Task:
    """The cart with a goal that no policy reaches."""

    def never(state: State) -> Tensor:
        return torch.zeros(state.num_envs, dtype=torch.bool)

    return _cart(success=never, terminations=(Termination("success", never),), **changes)


def test_a_sound_task_passes_every_rule() -> None:
    findings = lint_task(_cart(), worlds=12, solution=_solve)
    assert [f.code for f in findings] == [check.code for check in CHECKS]
    assert {f.code: f.summary for f in findings if f.status is not Status.PASS} == {}


def test_a_task_without_a_contract_is_refused() -> None:
    timeless = dataclasses.replace(_cart().signals[0], max_age_s=float("inf"))
    with pytest.raises(BedplateError, match="'position' has max_age_s inf"):
        lint_task(_cart(signals=(timeless, *_cart().signals[1:])), worlds=2)


def test_pay_for_standing_is_found() -> None:
    bad = _with_reward("calm", lambda state: (state.qvel[:, 0].abs() < 0.1).double(), 2.0)
    finding = _finding(bad, "TASK-STANDING")
    assert finding.status is Status.FAIL
    assert "'calm'" in finding.summary


def test_pay_for_oscillating_is_found() -> None:
    # rewards approach without charging for retreat
    bad = _with_reward("approach", lambda state: _approach(state).clamp(min=0), 10.0)
    assert _finding(bad, "TASK-OSCILLATING").status is Status.FAIL
    assert _finding(bad, "TASK-STANDING").status is Status.PASS


def test_pay_for_steady_motion_is_found() -> None:
    # a circle at constant command earns speed for ever
    bad = _with_reward("speed", lambda state: state.command[:, 0].abs().double(), 4.0)
    assert _finding(bad, "TASK-CIRCLING").status is Status.FAIL
    assert _finding(bad, "TASK-STANDING").status is Status.PASS


@pytest.mark.parametrize("kind", ["reward", "feature", "metric"])
def test_a_term_that_is_not_finite_at_the_bounds_is_found(kind: str) -> None:
    def log_room(position: Tensor) -> Tensor:
        # fine anywhere but at the joint's own limit
        return torch.log(2.0 - position)

    if kind == "reward":
        bad = _with_reward("room", lambda state: log_room(state.qpos[:, 0]), 0.01)
    elif kind == "feature":
        bad = _cart(
            features=(*_cart().features, Feature("room", 1, lambda signals, memory: log_room(signals["position"])))
        )
    else:
        bad = _cart(metrics={"room": lambda state: log_room(state.qpos[:, 0])})
    finding = _finding(bad, "TASK-FINITE")
    assert finding.status is Status.FAIL
    assert f"{kind} 'room'" in finding.summary


def test_a_dominating_reward_is_found() -> None:
    bad = _with_reward("penalty", lambda state: -torch.ones(state.num_envs), 1e4)
    finding = _finding(bad, "TASK-SCALES")
    assert finding.status is Status.FAIL
    assert "'penalty'" in finding.summary


def test_a_large_step_reward_is_found() -> None:
    # two large terms: none dominates the other
    terms = [RewardTerm(n, lambda state: -torch.ones(state.num_envs), 1e4) for n in ("penalty", "other")]
    bad = _cart(rewards=(*_cart().rewards, *terms))
    assert _finding(bad, "TASK-SCALES").status is Status.WARN


def test_a_start_that_ends_at_once_is_found() -> None:
    bad = _cart(terminations=(*_cart().terminations, Termination("left", lambda state: state.world["goal"][:, 0] < 0)))
    assert _finding(bad, "TASK-START").status is Status.FAIL


def test_success_without_skill_is_found() -> None:
    bad = _cart(success=lambda state: state.qpos[:, 0].abs() < 5)
    finding = _finding(bad, "TASK-SUCCESS")
    assert finding.status is Status.FAIL
    assert "without skill" in finding.summary


def test_a_goal_out_of_reach_is_found_with_a_solution_and_untold_without() -> None:
    assert _finding(_nowhere(), "TASK-SUCCESS").status is Status.SKIP
    assert _finding(_nowhere(), "TASK-SUCCESS", solution=_solve).status is Status.FAIL


def test_a_constant_feature_is_found() -> None:
    features = (*_cart().features, Feature("one", 1, lambda signals, memory: torch.ones_like(signals["goal"])))
    finding = _finding(_cart(features=features), "TASK-FEATURES")
    assert finding.status is Status.WARN
    assert "one[0]" in finding.summary
    assert "offset" not in finding.summary


@pytest.mark.parametrize(("low", "high"), [(-2.0, 1.0), (1.0, -1.0), (-0.001, 0.001)])
def test_an_action_range_that_does_not_fit_the_limits_is_found(low: float, high: float) -> None:
    action = dataclasses.replace(_cart().action, low=(low,), high=(high,))
    finding = _finding(_cart(action=action), "TASK-ACTION")
    assert finding.status is Status.FAIL
    assert finding.summary.startswith("x ")


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Loose(Action):
    """An action whose largest output gives a command that is wrong in one way."""

    wrong: float

    def to_command(self, action: Tensor, signals: Memory, memory: Memory, limits: Limits) -> Tensor:
        command = super().to_command(action, signals, memory, limits)
        return torch.where(action > 0.99, torch.tensor(self.wrong), command)


@pytest.mark.parametrize("wrong", [1.5, -1.5, float("nan"), float("inf")])
def test_a_command_outside_of_the_limits_is_found(wrong: float) -> None:
    sound = _cart().action
    fields = {field.name: getattr(sound, field.name) for field in dataclasses.fields(sound)}
    facts = {
        "task": _cart(action=_Loose(wrong=wrong, **fields)),
        "signals": {"position": torch.zeros(4, 1), "goal": torch.ones(4, 1)},
        "memory": {},
    }
    action_check = next(check for check in CHECKS if check.code == "TASK-ACTION")
    (finding,) = run_checks((action_check,), facts)
    assert finding.status is Status.FAIL
    assert finding.summary == "policy output +1 gives a command outside of the limits"
    (finding,) = run_checks((action_check,), {**facts, "task": _cart()})
    assert finding.status is Status.PASS


def test_a_classical_controller_settles_whether_the_goal_can_be_reached() -> None:
    driven = _cart(baseline=lambda signals: _solve(signals, {}))
    finding = _finding(driven, "TASK-SUCCESS")
    assert finding.status is Status.PASS and "baseline in 12 of 12" in finding.summary
    # one that fails is no proof of the contrary
    finding = _finding(_nowhere(baseline=driven.baseline), "TASK-SUCCESS")
    assert finding.status is Status.SKIP and "nor the baseline" in finding.summary


@pytest.mark.parametrize("seed", range(6))
def test_half_cheetah_does_not_pay_for_standing_whatever_the_seed(seed: int) -> None:
    cheetah = dataclasses.replace(make_task("half_cheetah", {}), episode_length_s=5.0)
    facts = collect(cheetah, 24, seed)
    assert abs(facts["plays"]["standing"].returns.mean()) < 1.0
    assert {finding.code: finding.status for finding in run_checks(CHECKS[:1], facts)} == {"TASK-STANDING": Status.PASS}
    # the same task with pay for every second in which the robot is alive
    alive = RewardTerm("alive", lambda state: torch.ones(state.num_envs), 0.1)
    paying = dataclasses.replace(cheetah, rewards=(*cheetah.rewards, alive))
    (finding,) = run_checks(CHECKS[:1], collect(paying, 24, seed))
    assert finding.status is Status.FAIL and "'alive'" in finding.summary


@pytest.mark.parametrize(("mean", "status"), [(-3.0, Status.PASS), (0.9, Status.PASS), (1.1, Status.FAIL)])
def test_a_return_counts_as_pay_above_one_per_cent_of_the_largest_term(mean: float, status: Status) -> None:
    def play(policy: str, drift: float, cost: float) -> Play:
        sums = {"drift": np.full(4, drift), "cost": np.full(4, cost)}
        return Play(policy, np.full(4, drift + cost), sums, np.full(4, 50), 0, 1.0)

    # the cost moves 100 per episode in the mean of both plays
    plays = {"standing": play("standing", mean, 0.0), "random": play("random", 0.0, -200.0)}
    (finding,) = run_checks(CHECKS[:1], {"plays": plays})
    assert finding.status is status


def test_without_any_scale_the_smallest_return_is_pay() -> None:
    sums = {"success": np.array([0.0, 0.0, 0.0, 1.0])}
    lucky = Play("standing", sums["success"], sums, np.full(4, 50), 1, 1.0)
    (finding,) = run_checks(CHECKS[:1], {"plays": {"standing": lucky}})
    assert finding.status is Status.FAIL and "'success'" in finding.summary


def test_quad_avoid_passes_every_rule() -> None:
    findings = lint_task(quad_avoid(), worlds=8)
    assert {f.code: f.summary for f in findings if f.status is not Status.PASS} == {}

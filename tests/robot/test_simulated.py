"""The simulated robot in simulated time, with a link that is a list."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest
import torch

from bedplate.core.clock import FakeClock
from bedplate.core.limits import ChannelLimits, Limits, PositionLimit, SafeAction
from bedplate.envs.vec_env import Episode
from bedplate.robot.simulated import SimulatedRobot
from bedplate.runtime.links.frame import CommandMessage, StateMessage
from bedplate.tasks.nav_lidar import nav_lidar
from bedplate.tasks.spec import Action, Event, Feature, RewardTerm, Signal, Task, Termination

T = 0.05


class Writer:
    """A link and a listener in one: answers each state after 1 ms with what `answer` says."""

    def __init__(self, clock: FakeClock, answer: Callable[[StateMessage], list[float] | None]) -> None:
        self.clock = clock
        self.answer = answer
        self.states: list[StateMessage] = []
        self.coming: list[tuple[int, CommandMessage]] = []
        self.refusals: list[str] = []
        self.refused: Counter[str] = Counter()
        self.dropped = 0
        self.peer_gone = False
        self.peer_reason = ""
        self.handed_out = False
        self.closed = 0
        self.next_writer: Writer | None = None

    def accept(self) -> Writer | None:
        if self.handed_out:
            newer, self.next_writer = self.next_writer, None
            return newer
        self.handed_out = True
        return self

    def send(self, message: StateMessage | CommandMessage) -> bool:
        assert isinstance(message, StateMessage)
        self.states.append(message)
        values = self.answer(message)
        if values is not None:
            command = CommandMessage(message.sequence, 0, message.sequence, message.stamp_ns, np.array(values))
            self.coming.append((self.clock.now_ns() + 1_000_000, command))
        return True

    def drain(self) -> list[CommandMessage]:
        ready = [command for at_ns, command in self.coming if at_ns <= self.clock.now_ns()]
        self.coming = self.coming[len(ready) :]
        return ready

    def wait(self, timeout_s: float | None) -> bool:
        until_ns = self.clock.now_ns() + round((timeout_s or 0.0) * 1e9)
        self.clock.sleep_until(min([until_ns] + [at_ns for at_ns, _ in self.coming]) * 1e-9 + 1e-9)
        return bool(self.coming)

    def close(self) -> None:
        self.closed += 1


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(10.0)


@pytest.fixture
def events() -> list[str]:
    return []


@pytest.fixture
def robot(clock: FakeClock, events: list[str]) -> Iterator[SimulatedRobot]:
    made = SimulatedRobot(nav_lidar(), clock, seed=1, randomisation=False, on_event=events.append)
    yield made
    made.close()


def drive(robot: SimulatedRobot, clock: FakeClock, writer: Writer, seconds: float) -> None:
    until_s = clock.now_s() + seconds
    robot.run(writer, lambda: clock.now_s() >= until_s)


def test_a_state_goes_out_every_period(robot: SimulatedRobot, clock: FakeClock) -> None:
    writer = Writer(clock, lambda state: [0.0, 0.0])
    drive(robot, clock, writer, 2.0)
    stamps_s = np.array([state.stamp_ns for state in writer.states]) * 1e-9
    assert len(stamps_s) == 40 and np.diff(stamps_s) == pytest.approx(T, abs=1e-6)
    assert [state.sequence for state in writer.states] == list(range(1, 41))
    sizes = {len(state.values) for state in writer.states}
    assert sizes == {sum(signal.size for signal in robot.contract.signals)}


def test_the_command_of_a_period_is_applied_over_that_period(robot: SimulatedRobot, clock: FakeClock) -> None:
    applied: list[list[float]] = []
    env = robot._env
    task_filter = env.command_filter
    assert task_filter is not None

    def spy(command: object) -> object:
        result = task_filter(command)  # type: ignore[arg-type]
        applied.append(result[0].tolist())
        return result

    env.command_filter = spy  # type: ignore[assignment]
    writer = Writer(clock, lambda state: [0.1, 0.1 * state.sequence] if state.sequence % 2 else None)
    drive(robot, clock, writer, 0.3)
    turns = [turn for _, turn in applied]
    # a period without a command repeats the last one
    assert turns == pytest.approx([0.1, 0.1, 0.3, 0.3, 0.5, 0.5])


@pytest.mark.parametrize(("physics_s", "answers"), [(0.03, True), (0.02, False)])
def test_states_leave_on_time_while_the_physics_takes_its_own(
    robot: SimulatedRobot, clock: FakeClock, physics_s: float, answers: bool
) -> None:
    step = robot._env.step

    def slow(action: torch.Tensor) -> object:
        clock.sleep_until(clock.now_s() + physics_s)
        return step(action)

    robot._env.step = slow  # type: ignore[method-assign, assignment]
    writer = Writer(clock, lambda state: [0.0, 0.0] if answers else None)
    drive(robot, clock, writer, 2.0)
    # without an answer the first period waits to its end: only then is it known what the physics takes
    stamps_s = np.array([state.stamp_ns for state in writer.states])[2:] * 1e-9
    assert np.diff(stamps_s) == pytest.approx(T, abs=1e-6)
    assert robot.record.missed_ticks == 0


def test_before_the_first_command_it_does_its_safe_action(robot: SimulatedRobot, clock: FakeClock) -> None:
    drive(robot, clock, Writer(clock, lambda state: None), 0.5)
    assert robot._env.state.command.tolist() == [list(robot.contract.limits.safe_action.value)]


def test_it_moves_as_it_is_told(robot: SimulatedRobot, clock: FakeClock) -> None:
    before = robot._env.state.qpos[0].clone()
    drive(robot, clock, Writer(clock, lambda state: [0.3, 0.0]), 1.0)
    moved_m = float((robot._env.state.qpos[0, :2] - before[:2]).norm())
    assert 0.2 < moved_m < 0.35


def test_a_command_that_is_not_finite_is_counted_and_not_applied(robot: SimulatedRobot, clock: FakeClock) -> None:
    writer = Writer(clock, lambda state: [0.2, 0.0] if state.sequence < 5 else [float("nan"), 0.0])
    drive(robot, clock, writer, 0.5)
    assert robot.record.num_not_finite == 6
    assert robot._env.state.command.tolist()[0] == pytest.approx([0.2, 0.0])


def test_an_episode_that_ends_is_counted_and_a_new_one_announced(
    robot: SimulatedRobot, clock: FakeClock, events: list[str]
) -> None:
    # straight ahead ends at a wall or an obstacle
    writer = Writer(clock, lambda state: [0.5, 0.0])
    drive(robot, clock, writer, 30.0)
    count = len(robot.record.episodes)
    assert count >= 1 and robot.record.episodes[0].reason == "collision"
    assert {state.episode for state in writer.states} == set(range(count + 1)) or count > 1
    assert robot.record.summary()["episodes"]["by_reason"]["collision"] >= 1
    assert any("collision" in event for event in events)


def test_a_writer_that_leaves_does_not_stop_the_world(
    robot: SimulatedRobot, clock: FakeClock, events: list[str]
) -> None:
    writer = Writer(clock, lambda state: [0.0, 1.0])
    drive(robot, clock, writer, 0.5)
    writer.peer_gone = True
    writer.handed_out = False
    drive(robot, clock, writer, 0.5)
    assert robot.record.ticks == 20
    assert robot._env.state.command.tolist()[0] == pytest.approx([0.0, 1.0])


@pytest.mark.parametrize("noticed", ["send", "drain"])
def test_a_writer_that_has_gone_is_said_once_whoever_notices(
    robot: SimulatedRobot, clock: FakeClock, events: list[str], noticed: str
) -> None:
    writer = Writer(clock, lambda state: [0.0, 0.0])
    call = getattr(writer, noticed)

    def gone(*arguments: object) -> object:
        writer.peer_gone = len(writer.states) > 3
        return call(*arguments)

    setattr(writer, noticed, gone)
    drive(robot, clock, writer, 0.5)
    assert sum("has gone" in event for event in events) == 1


def test_latency_is_counted_for_fresh_answers_only(robot: SimulatedRobot, clock: FakeClock) -> None:
    drive(robot, clock, Writer(clock, lambda state: [0.0, 0.0]), 1.0)
    summary = robot.record.latency.summary()
    assert summary.n == 20 and summary.p99_us == pytest.approx(1000.0, rel=0.02)


def test_a_link_that_was_replaced_is_closed(robot: SimulatedRobot, clock: FakeClock) -> None:
    first, second = (Writer(clock, lambda state: [0.0, 0.0]) for _ in range(2))
    first.next_writer = second
    drive(robot, clock, first, 0.5)
    assert len(first.states) == 0 and len(second.states) == 10
    assert first.closed == second.closed == 1


def test_a_metric_that_is_not_a_number_does_not_lose_the_report(
    robot: SimulatedRobot, clock: FakeClock, tmp_path: Path
) -> None:
    drive(robot, clock, Writer(clock, lambda state: [float("inf"), 0.0]), 0.2)
    metrics = {"path_efficiency": math.nan}
    robot.record.episodes.append(
        Episode(0, 0, length=3, ret=math.inf, success=False, reason="collision", metrics=metrics, reward_terms={})
    )
    robot.record.write(tmp_path / "robot.json")
    read = json.loads((tmp_path / "robot.json").read_text())
    assert read["episodes"]["each"][-1]["metrics"] == {"path_efficiency": "nan"}
    assert read["episodes"]["each"][-1]["ret"] == "inf" and read["log"]["rows"][0][-2] == "inf"
    json.dumps(robot.record.summary(), allow_nan=False)


def test_a_position_robot_stays_where_it_is_until_the_first_command(clock: FakeClock) -> None:
    robot = SimulatedRobot(rail(), clock, randomisation=False)
    try:
        drive(robot, clock, Writer(clock, lambda state: None), 0.5)
        assert robot._env.state.command[0].tolist() == pytest.approx([0.7])
        assert robot._env.state.qpos[0].tolist() == pytest.approx([0.7])
    finally:
        robot.close()


def rail() -> Task:
    """A cart on a rail that takes positions, and starts where its safe action's own value is not."""

    def go(state: Any, command: torch.Tensor) -> None:
        state.qvel[:, 0] = (command[:, 0].double() - state.qpos[:, 0]) / T

    def start(state: Any, ids: np.ndarray, rng: np.random.Generator) -> None:
        state.qpos[torch.from_numpy(ids), 0] = 0.7

    model = """<mujoco><worldbody><body gravcomp="1">
      <joint type="slide" axis="1 0 0"/><geom size="0.1"/>
    </body></worldbody></mujoco>"""
    channel = ChannelLimits("x", "m", -2.0, 2.0, rate_per_s=1.0, position=PositionLimit("x", 0, -2.0, 2.0))
    return Task(
        id="rail",
        description="a cart on a rail",
        model=lambda: mujoco.MjSpec.from_string(model),
        sim_dt_s=T,
        decimation=1,
        episode_length_s=60.0,
        signals=(
            Signal(
                name="x",
                components=("x",),
                unit="m",
                frame="world",
                read=lambda state: state.qpos[:, :1],
                low=-3.0,
                high=3.0,
                max_age_s=0.2,
            ),
        ),
        features=(Feature("x", 1, lambda signals, memory: signals["x"]),),
        action=Action(channels=("x",), kind="position", unit=("m",), low=(-2.0,), high=(2.0,), apply=go),
        limits=Limits((channel,), SafeAction("hold", (0.0,))),
        rewards=(RewardTerm("none", lambda state: 0.0 * state.qpos[:, 0], 1.0),),
        terminations=(Termination("success", lambda state: state.qpos[:, 0] > 1.9),),
        events=(Event("start", start, randomisation=False),),
        success=lambda state: state.qpos[:, 0] > 1.9,
    )

"""A small robot for the runtime's tests: two velocity axes that go to a goal, as contract, bundle and peer."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from bedplate.bundle.bundle import GOLDEN, POLICY_ONNX, Bundle, read_bundle, write_bundle
from bedplate.bundle.contract import (
    BundleInfo,
    Contract,
    FeatureContract,
    GuardSettings,
    MemoryContract,
    SignalContract,
)
from bedplate.bundle.golden import Golden
from bedplate.core.limits import ChannelLimits, EffortLimit, Limits, PositionLimit, SafeAction
from bedplate.runtime.decision import Decision
from bedplate.runtime.guard import ReferenceGuard

PERIOD_S = 0.02


def signal(name: str, unit: str, low: float, high: float, max_age_s: float = 0.1) -> SignalContract:
    return SignalContract(
        name=name,
        components=("x", "y"),
        unit=unit,
        frame="world",
        low=low,
        high=high,
        max_age_s=max_age_s,
        rate_hz=1.0 / PERIOD_S,
    )


def make_contract(
    kind: str = "velocity",
    safe: SafeAction | None = None,
    position: bool = True,
    effort: bool = True,
    rate_per_s: float = 5.0,
    period_s: float = PERIOD_S,
    task: str = "tiny",
    memory: tuple[MemoryContract, ...] = (),
) -> Contract:
    channels = tuple(
        ChannelLimits(
            channel=name,
            unit="m/s",
            low=-1.0,
            high=1.0,
            rate_per_s=rate_per_s,
            position=PositionLimit("position", index, -2.0, 2.0) if position else None,
            effort=EffortLimit("effort", index, 10.0) if effort else None,
        )
        for index, name in enumerate(("axis_x", "axis_y"))
    )
    return Contract(
        task=task,
        control_dt_s=period_s,
        signals=(
            signal("position", "m", -5.0, 5.0),
            signal("goal", "m", -5.0, 5.0),
            signal("effort", "N", -50.0, 50.0, max_age_s=0.06),
        ),
        memory=memory,
        action_kind=kind,
        limits=Limits(channels, safe or SafeAction("ramp", (0.0, 0.0))),
    )


def make_policy(*, not_finite_beyond: float | None = None, memory_only: bool = False) -> bytes:
    """command = clip(goal - position, -1, 1); memory "sum" adds the commands up.

    With `not_finite_beyond`, the command is NaN while a goal is above it; or the memory alone, with `memory_only`.
    """
    inputs = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, (1, 2))
        for name in ("position", "goal", "effort", "memory.sum")
    ]
    outputs = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, (1, 2)) for name in ("command", "memory.sum.next")
    ]
    constants = [
        helper.make_tensor("low", TensorProto.FLOAT, (), [-1.0]),
        helper.make_tensor("high", TensorProto.FLOAT, (), [1.0]),
        helper.make_tensor("zero", TensorProto.FLOAT, (), [0.0]),
        helper.make_tensor("limit", TensorProto.FLOAT, (), [1e9 if not_finite_beyond is None else not_finite_beyond]),
    ]
    nodes = [
        helper.make_node("Sub", ["goal", "position"], ["error"]),
        helper.make_node("Mul", ["effort", "zero"], ["nothing"]),
        helper.make_node("Add", ["error", "nothing"], ["wanted"]),
        helper.make_node("Clip", ["wanted", "low", "high"], ["clipped"]),
        # 0 / 0 where the goal is beyond the limit, x / 1 elsewhere
        helper.make_node("LessOrEqual", ["goal", "limit"], ["fine"]),
        helper.make_node("Cast", ["fine"], ["divisor"], to=TensorProto.FLOAT),
        helper.make_node("Mul", ["clipped", "divisor"], ["kept"]),
        helper.make_node("Div", ["kept", "divisor"], ["judged"]),
        helper.make_node("Identity", ["clipped" if memory_only else "judged"], ["command"]),
        helper.make_node("Add", ["memory.sum", "judged"], ["memory.sum.next"]),
    ]
    graph = helper.make_graph(nodes, "tiny", inputs, outputs, constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    return model.SerializeToString()


def make_delta_policy(step: float = 0.3) -> bytes:
    """command = memory "commanded" + step, and that is what it remembers."""
    given = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, (1, 2))
        for name in ("position", "goal", "effort", "memory.commanded")
    ]
    answers = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, (1, 2)) for name in ("command", "memory.commanded.next")
    ]
    nodes = [
        helper.make_node("Add", ["memory.commanded", "step"], ["command"]),
        helper.make_node("Identity", ["command"], ["memory.commanded.next"]),
    ]
    constants = [helper.make_tensor("step", TensorProto.FLOAT, (), [step])]
    graph = helper.make_graph(nodes, "delta", given, answers, constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    return model.SerializeToString()


def stamped(policy: bytes, contract: Contract) -> bytes:
    """The graph with the contract's hash in its metadata: protobuf lets a field (here 14) follow behind everything."""
    return policy + b"\x72\x5a\x0a\x16bedplate.contract_hash\x12\x40" + contract.hash.encode()


def make_bundle(folder: Path, contract: Contract, policy: bytes, settings: GuardSettings) -> Bundle:
    rng = np.random.default_rng(0)
    position, goal = (rng.uniform(-2, 2, (256, 2)).astype(np.float32) for _ in range(2))
    command = np.clip(goal - position, -1, 1)
    past = rng.uniform(-1, 1, (256, 2)).astype(np.float32)
    golden = Golden(
        signals={"position": position, "goal": goal, "effort": np.zeros_like(position)},
        memory={term.name: past for term in contract.memory},
        command=command,
        memory_next={term.name: past + command for term in contract.memory},
        contract=contract,
    )
    info = BundleInfo(
        contract=contract,
        contract_hash=contract.hash,
        features=(FeatureContract(name="error", start=0, stop=2),),
        guard=settings,
    )
    write_bundle(folder, info, {POLICY_ONNX: stamped(policy, contract), GOLDEN: golden.to_bytes()})
    return read_bundle(folder)


@pytest.fixture(scope="session")
def contract_with() -> Callable[..., Contract]:
    return make_contract


SUM = MemoryContract(name="sum", size=2, initial=0.5)


@pytest.fixture
def bundle_with(tmp_path: Path) -> Callable[..., Bundle]:
    """Writes a bundle; keyword arguments change its contract, policy or guard settings."""

    def make(
        policy: bytes | None = None, settings: GuardSettings | None = None, name: str = "bundle", **changes: object
    ) -> Bundle:
        contract = make_contract(**{"memory": (SUM,), **changes})  # type: ignore[arg-type]
        return make_bundle(tmp_path / name, contract, policy or make_policy(), settings or GuardSettings())

    return make


@pytest.fixture
def bundle(bundle_with: Callable[..., Bundle]) -> Bundle:
    return bundle_with()


@pytest.fixture
def nan_policy() -> bytes:
    """A policy whose command is NaN while a goal is above 4."""
    return make_policy(not_finite_beyond=4.0)


@pytest.fixture
def delta_bundle(bundle_with: Callable[..., Bundle]) -> Bundle:
    """Commands that are 0.3 above the remembered one; the guard lets 0.1 per tick through."""
    memory = (MemoryContract(name="commanded", size=2, initial=0.0),)
    return bundle_with(policy=make_delta_policy(), memory=memory, position=False)


@pytest.fixture
def nan_memory_policy() -> bytes:
    """A policy whose memory becomes NaN while a goal is above 4; its command stays finite."""
    return make_policy(not_finite_beyond=4.0, memory_only=True)


class GuardedWorld:
    """Calls a guard once per period with inputs that are fine unless a test says otherwise."""

    def __init__(self, contract: Contract, guard_settings: GuardSettings | None = None) -> None:
        self.guard = ReferenceGuard(contract, guard_settings or GuardSettings())
        self.now_s = 100.0
        self.signals = {name: np.zeros(2) for name in ("position", "goal", "effort")}
        self.last = np.zeros(2)

    def tick(
        self,
        command: list[float] | None = None,
        *,
        dt_s: float = PERIOD_S,
        state_age_s: float | list[float] = 0.0,
        action_age_s: float = 0.0,
    ) -> Decision:
        self.now_s += dt_s
        stamps = self.now_s - np.array(state_age_s)
        decision = self.guard.filter(
            self.now_s,
            stamps.tolist(),
            self.signals,
            self.now_s - action_age_s,
            None if command is None else np.array(command),
        )
        self.last = decision.command
        return decision

    def run_in(self, command: list[float], ticks: int = 50) -> Decision:
        for _ in range(ticks):
            decision = self.tick(command)
        return decision


@pytest.fixture(scope="session")
def make_world() -> type[GuardedWorld]:
    return GuardedWorld


@pytest.fixture
def world(contract_with: Callable[..., Contract]) -> GuardedWorld:
    return GuardedWorld(contract_with())

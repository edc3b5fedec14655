"""A bundle for the simulated robot of nav_lidar, whose policy always gives the same command."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from bedplate.bundle.bundle import GOLDEN, POLICY_ONNX, Bundle, read_bundle, write_bundle
from bedplate.bundle.contract import BundleInfo, Contract, FeatureContract, GuardSettings
from bedplate.bundle.golden import Golden
from bedplate.tasks.contract import contract_of
from bedplate.tasks.nav_lidar import nav_lidar


def constant_policy(contract: Contract, command: list[float]) -> bytes:
    """A graph with the contract's inputs and outputs; memory is handed on."""
    memory = {f"memory.{term.name}": term.size for term in contract.memory}
    inputs = {signal.name: signal.size for signal in contract.signals} | memory
    outputs = {"command": len(contract.channels)} | {f"{name}.next": size for name, size in memory.items()}
    nodes = [helper.make_node("Identity", ["value"], ["command"])]
    nodes += [helper.make_node("Identity", [name], [f"{name}.next"]) for name in memory]
    graph = helper.make_graph(
        nodes,
        "constant",
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, (1, size)) for name, size in inputs.items()],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, (1, size)) for name, size in outputs.items()],
        [helper.make_tensor("value", TensorProto.FLOAT, (1, len(command)), command)],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    model.metadata_props.add(key="bedplate.contract_hash", value=contract.hash)
    onnx.checker.check_model(model)
    return model.SerializeToString()


@pytest.fixture(scope="session")
def turning_bundle(tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    """Drives nav_lidar's robot in a small circle, 0.1 m/s and 1 rad/s; its guard is patient with a busy machine."""
    contract = contract_of(nav_lidar())
    rng = np.random.default_rng(0)
    samples = 256
    memory = {term.name: rng.uniform(-1, 1, (samples, term.size)).astype(np.float32) for term in contract.memory}
    golden = Golden(
        signals={s.name: rng.uniform(s.low, s.high, (samples, s.size)).astype(np.float32) for s in contract.signals},
        memory=memory,
        command=np.tile(np.float32([0.1, 1.0]), (samples, 1)),
        memory_next=memory,
        contract=contract,
    )
    info = BundleInfo(
        contract=contract,
        contract_hash=contract.hash,
        features=(FeatureContract(name="all", start=0, stop=1),),
        guard=GuardSettings(action_max_age_periods=4.0, overrun_limit=20),
    )
    folder: Path = tmp_path_factory.mktemp("nav") / "bundle"
    write_bundle(folder, info, {POLICY_ONNX: constant_policy(contract, [0.1, 1.0]), GOLDEN: golden.to_bytes()})
    return read_bundle(folder)

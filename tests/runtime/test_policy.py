from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from bedplate.bundle.bundle import Bundle
from bedplate.bundle.contract import MemoryContract
from bedplate.core.errors import BedplateError, ContractMismatch
from bedplate.runtime import load
from bedplate.runtime.policy import OnnxPolicy

BundleWith = Callable[..., Bundle]


def signals(position: float, goal: float) -> dict[str, np.ndarray]:
    return {"position": np.full(2, position), "goal": np.full(2, goal), "effort": np.zeros(2)}


def test_every_golden_sample_is_reproduced(bundle: Bundle) -> None:
    policy, golden = OnnxPolicy(bundle), bundle.golden
    for row in range(golden.num_samples):
        command = policy.act({name: values[row] for name, values in golden.signals.items()})
        assert np.abs(command - golden.command[row]).max() <= 1e-6


def test_the_command_is_a_copy_of_its_own(bundle: Bundle) -> None:
    policy = OnnxPolicy(bundle)
    first = policy.act(signals(0.0, 0.5))
    policy.act(signals(0.0, -0.5))
    assert first.tolist() == [0.5, 0.5] and first.dtype == np.float64


def test_memory_goes_on_and_starts_anew_at_a_reset(bundle: Bundle) -> None:
    policy = OnnxPolicy(bundle)
    memory = policy._inputs["memory.sum"]
    assert memory.tolist() == [[0.5, 0.5]]
    for _ in range(3):
        policy.act(signals(0.0, 0.25))
    assert memory.tolist() == [[1.25, 1.25]]
    policy.reset()
    assert memory.tolist() == [[0.5, 0.5]]


def test_memory_may_start_from_a_signal(bundle_with: BundleWith) -> None:
    term = MemoryContract(name="sum", size=2, initial=0.0, initial_signal="position")
    policy = OnnxPolicy(bundle_with(memory=(term,)))
    for start in (0.5, -0.25):
        policy.reset()
        policy.act(signals(start, start))
        policy.act(signals(9.0, 9.0))
        assert policy._inputs["memory.sum"].tolist() == [[start, start]]


def test_a_bad_command_does_not_stay_in_the_memory(bundle_with: BundleWith, nan_policy: bytes) -> None:
    policy = OnnxPolicy(bundle_with(policy=nan_policy))
    assert np.isnan(policy.act(signals(0.0, 4.5))).all()
    assert policy.act(signals(0.0, 0.25)).tolist() == [0.25, 0.25]
    assert policy._inputs["memory.sum"].tolist() == [[0.75, 0.75]]


def test_a_graph_without_the_contracts_inputs_is_refused(bundle_with: BundleWith) -> None:
    bundle = bundle_with()
    object.__setattr__(bundle.info, "contract", bundle.contract.model_copy(update={"memory": ()}))
    with pytest.raises(ContractMismatch, match=r"memory\.sum"):
        OnnxPolicy(bundle)


def test_a_file_that_is_no_graph_is_refused_in_words(bundle: Bundle) -> None:
    files = {**bundle.files, "policy.onnx": b"not a graph"}
    object.__setattr__(bundle, "files", files)
    with pytest.raises(BedplateError, match="cannot load"):
        OnnxPolicy(bundle)


def test_load_gives_policy_and_guard_as_a_library(bundle: Bundle) -> None:
    controller = load(bundle.folder)
    now_s = 10.0
    for _ in range(30):
        now_s += 0.02
        decision = controller.step(signals(0.0, 0.25), now_s, now_s)
    assert decision.command.tolist() == [0.25, 0.25] and decision.rules == ()


def test_load_runs_on_real_time_when_no_time_is_given(bundle: Bundle) -> None:
    controller = load(str(bundle.folder))
    first = controller.step(signals(0.0, 1.0)).command
    assert 0.0 < first[0] <= 0.2


def test_the_library_keeps_a_bad_state_from_the_policy(bundle: Bundle) -> None:
    controller = load(bundle.folder)
    controller.step(signals(0.0, 0.25), 10.0, 10.0)
    decision = controller.step(signals(0.0, float("nan")), 10.02, 10.02)
    assert "observation_range" in decision.rules
    assert controller.step(signals(0.0, 0.25), 10.04, 10.04).fault is None


def test_the_library_latches_what_the_policy_breaks(bundle_with: BundleWith, nan_policy: bytes) -> None:
    controller = load(bundle_with(policy=nan_policy).folder)
    controller.step(signals(0.0, 0.25), 10.0, 10.0)
    fault = controller.step(signals(0.0, 4.5), 10.02, 10.02).fault
    assert fault is not None and fault.rule == "finite"
    controller.reset()
    assert controller.step(signals(0.0, 0.25), 10.04, 10.04).fault is fault
    controller.guard.rearm(fault.token)
    assert controller.step(signals(0.0, 0.25), 10.06, 10.06).fault is None


def test_load_refuses_a_changed_bundle(bundle: Bundle) -> None:
    file = bundle.folder / "policy.onnx"
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)
    with pytest.raises(ContractMismatch, match=r"policy\.onnx"):
        load(bundle.folder)


def test_a_bad_memory_does_not_stay(bundle_with: BundleWith, nan_memory_policy: bytes) -> None:
    policy = OnnxPolicy(bundle_with(policy=nan_memory_policy))
    assert policy.act(signals(0.0, 4.5)).tolist() == [1.0, 1.0]
    policy.act(signals(0.0, 0.25))
    assert policy._inputs["memory.sum"].tolist() == [[0.75, 0.75]]


def test_what_was_sent_replaces_what_was_asked(delta_bundle: Bundle) -> None:
    policy = OnnxPolicy(delta_bundle)
    assert policy.act(signals(0.0, 0.0)) == pytest.approx([0.3, 0.3])
    assert policy.act(signals(0.0, 0.0), np.array([0.1, -0.5])) == pytest.approx([0.4, -0.2])
    # nothing was sent: its own memory counts
    assert policy.act(signals(0.0, 0.0)) == pytest.approx([0.7, 0.1])

"""verify passes a good bundle, fails each gate for its own reason, and needs no torch."""

from __future__ import annotations

import dataclasses
import json
import shutil
import subprocess
import sys

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from bedplate.bundle.bundle import BUNDLE_JSON, GOLDEN, POLICY_BPW, POLICY_ONNX, read_bundle, write_bundle
from bedplate.cli.app import run as bedplate
from bedplate.core import files
from bedplate.core.errors import ContractMismatch, StorageError
from bedplate.export.native.lower import to_bpw
from bedplate.runtime.native.library import available
from bedplate.runtime.policy import OnnxPolicy
from bedplate.runtime.verification import NOT_FINITE, verify

WITHOUT_TORCH = """
import sys

class Block:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {blocked!r}:
            raise ModuleNotFoundError(f"blocked: {name}", name=name)

sys.meta_path.insert(0, Block())
from bedplate.cli.app import main
main({argv!r})
"""

BLOCKED = ("torch", "gymnasium", "mujoco", "stable_baselines3", "onnx", "ray", "scipy", "matplotlib")


def gates(result):
    return {gate.name: gate.passed for gate in result.gates}


def rewrite(exported, folder, graph=None, golden=None, **contract):
    """A bundle with right hashes, but another graph, other samples or another contract."""
    bundle = read_bundle(exported.folder)
    changed = bundle.contract.model_copy(update=contract)
    golden = dataclasses.replace(golden or bundle.golden, contract=changed)
    model = onnx.load_model_from_string(bundle.policy_onnx)
    del model.metadata_props[:]
    model.metadata_props.add(key="bedplate.contract_hash", value=changed.hash)
    if graph is not None:
        graph(model.graph)
    files = {POLICY_ONNX: model.SerializeToString(), GOLDEN: golden.to_bytes()}
    write_bundle(folder, bundle.info.model_copy(update={"contract": changed}), files)
    return read_bundle(folder)


def test_a_good_bundle_passes(exported):
    result = verify(read_bundle(exported.folder))
    assert result.passed
    native = set() if available() else {"native parity"}
    assert set(gates(result)) == {"samples", "parity", "determinism", "latency"} | native
    assert result.latency.n >= 2000
    assert 0 < result.latency.p50_us <= result.latency.p99_us <= result.latency.p99_9_us
    assert result.parity.max_error >= result.parity.mean_error > 0


def test_too_few_samples_fail(exported, tmp_path):
    golden = read_bundle(exported.folder).golden
    few = dataclasses.replace(
        golden,
        signals={name: values[:255] for name, values in golden.signals.items()},
        memory={name: values[:255] for name, values in golden.memory.items()},
        memory_next={name: values[:255] for name, values in golden.memory_next.items()},
        command=golden.command[:255],
    )
    result = verify(rewrite(exported, tmp_path / "b", golden=few))
    assert gates(result) == {"samples": False, "parity": True, "determinism": True, "latency": True}
    assert not result.passed


def test_one_changed_weight_fails(exported, tmp_path):
    def nudge(graph):
        weights = next(tensor for tensor in graph.initializer if len(tensor.dims) == 2)
        values = numpy_helper.to_array(weights).copy()
        values.flat[3] += 1e-3
        weights.CopyFrom(numpy_helper.from_array(values, weights.name))

    result = verify(rewrite(exported, tmp_path / "b", graph=nudge))
    assert gates(result) == {"samples": True, "parity": False, "determinism": True, "latency": True}


@pytest.mark.parametrize("output", ["command", "memory.commanded.next"])
def test_one_changed_expectation_fails_and_is_named(output, exported, tmp_path):
    golden = read_bundle(exported.folder).golden
    values = golden.outputs()[output].copy()
    values[77, 1] += 5e-5
    if output == "command":
        changed = dataclasses.replace(golden, command=values)
    else:
        changed = dataclasses.replace(golden, memory_next={**golden.memory_next, "commanded": values})
    result = verify(rewrite(exported, tmp_path / "b", golden=changed))
    assert not gates(result)["parity"]
    assert (result.parity.output, result.parity.sample, result.parity.component) == (output, 77, 1)


def test_errors_are_in_units_of_half_the_channels_range(exported, tmp_path):
    golden = read_bundle(exported.folder).golden
    command = golden.command.copy()
    command[5, 0] += 0.0135
    result = verify(rewrite(exported, tmp_path / "b", golden=dataclasses.replace(golden, command=command)))
    # the channel spans [-1.5, 1.2]
    assert result.parity.max_error == pytest.approx(0.01, rel=1e-3)
    assert result.parity.channel_errors["left"] == pytest.approx(0.0135, rel=1e-3)


def route(graph, node):
    """Put a node behind the graph's command."""
    for other in graph.node:
        for index, name in enumerate(other.output):
            if name == "command":
                other.output[index] = "plain_command"
    for other in graph.node:
        for index, name in enumerate(other.input):
            if name == "command":
                other.input[index] = "plain_command"
    graph.node.extend(node)


def test_an_answer_that_is_not_finite_fails(exported, tmp_path):
    zero = helper.make_tensor("zero", onnx.TensorProto.FLOAT, [1, 2], [0.0, 0.0])

    def divide(graph):
        graph.initializer.append(zero)
        route(graph, [helper.make_node("Div", ["plain_command", "zero"], ["command"])])

    result = verify(rewrite(exported, tmp_path / "b", graph=divide))
    assert not gates(result)["parity"]
    assert result.parity.max_error >= NOT_FINITE / 2
    json.dumps(dataclasses.asdict(result), allow_nan=False)


def test_a_graph_that_draws_numbers_fails(exported, tmp_path, monkeypatch):
    # past the reader's own refusal of random operators, the replay still finds it
    monkeypatch.setattr("bedplate.bundle.bundle.check_graph", lambda *args: None)

    def noise(graph):
        graph.node.append(helper.make_node("RandomNormal", [], ["noise"], shape=[1, 2], scale=1e-7))
        route(graph, [helper.make_node("Add", ["plain_command", "noise"], ["command"])])

    result = verify(rewrite(exported, tmp_path / "b", graph=noise))
    assert gates(result) == {"samples": True, "parity": True, "determinism": False, "latency": True}


def test_a_call_that_takes_longer_than_a_period_fails(exported, tmp_path):
    result = verify(rewrite(exported, tmp_path / "b", control_dt_s=1e-6))
    assert gates(result) == {"samples": True, "parity": True, "determinism": True, "latency": False}


def test_a_graph_with_other_inputs_is_refused(exported, tmp_path):
    def widen(graph):
        graph.input.append(helper.make_tensor_value_info("extra", onnx.TensorProto.FLOAT, [1, 1]))

    with pytest.raises(ContractMismatch, match="extra"):
        verify(rewrite(exported, tmp_path / "b", graph=widen))


@pytest.fixture
def copied(exported, tmp_path):
    shutil.copytree(exported.folder, tmp_path / "bundle")
    return tmp_path / "bundle"


def test_command_writes_beside_the_bundle(copied, capsys):
    before = {path.name: path.read_bytes() for path in copied.iterdir()}
    assert bedplate(["verify", str(copied), "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert json.loads((copied.parent / "verification.json").read_text()) == printed
    assert printed["passed"] and printed["bundle_hash"] == read_bundle(copied).info.bundle_hash
    assert {path.name: path.read_bytes() for path in copied.iterdir()} == before


def test_command_keeps_bundles_apart(copied):
    other = copied.rename(copied.with_name("left_arm"))
    assert bedplate(["verify", str(other)]) == 0
    assert (other.parent / "left_arm.verification.json").exists()


def test_command_says_no(exported, tmp_path, capsys):
    golden = read_bundle(exported.folder).golden
    rewrite(exported, tmp_path / "bundle", golden=dataclasses.replace(golden, command=golden.command + np.float32(0.1)))
    assert bedplate(["verify", str(tmp_path / "bundle")]) == 1
    assert "parity" in capsys.readouterr().err
    assert json.loads((tmp_path / "verification.json").read_text())["passed"] is False


def test_command_refuses_a_changed_bundle(copied, capsys):
    path = copied / BUNDLE_JSON
    path.write_text(path.read_text().replace('"left"', '"middle"'))
    assert bedplate(["verify", str(copied)]) == 2
    assert "middle" in capsys.readouterr().err
    assert not (copied.parent / "verification.json").exists()


def test_command_does_not_write_into_the_bundle(copied, capsys):
    assert bedplate(["verify", str(copied), "-o", str(copied / "verification.json")]) == 2
    assert "lies in the bundle" in capsys.readouterr().err


def test_command_without_torch(copied):
    argv = ["verify", str(copied), "--json"]
    code = WITHOUT_TORCH.replace("{blocked!r}", repr(BLOCKED)).replace("{argv!r}", repr(argv))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["passed"]


def test_the_block_blocks(copied):
    # the test above proves nothing if its block lets torch through
    code = WITHOUT_TORCH.replace("{blocked!r}", repr(BLOCKED)).split("from bedplate")[0] + "import torch"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert "blocked: torch" in done.stderr


@pytest.mark.parametrize("broken", ["memory", "command"])
def test_a_served_policy_that_differs_from_a_bare_session_fails(exported, monkeypatch, broken):
    act = OnnxPolicy.act

    def wrong(self, signals, sent=None):
        if broken == "memory":
            self.reset()
        command = act(self, signals, sent)
        return command if broken == "memory" else np.nextafter(command, np.inf)

    monkeypatch.setattr(OnnxPolicy, "act", wrong)
    result = verify(read_bundle(exported.folder))
    assert not result.passed and not gates(result)["determinism"]
    # the graph itself is as it was exported
    assert gates(result)["parity"]


def test_a_full_disk_loses_the_file_and_not_the_result(copied, monkeypatch, capsys):
    def full(path, value):
        raise StorageError(f"cannot write {path}: No space left on device")

    monkeypatch.setattr(files, "write_json", full)
    assert bedplate(["verify", str(copied)]) == 2
    seen = capsys.readouterr()
    assert "determinism" in seen.out and "No space left on device" in seen.err


def test_a_path_that_leads_in_circles_is_refused(tmp_path, capsys):
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    assert bedplate(["verify", str(tmp_path / "a")]) == 2
    assert "cannot read bundle" in capsys.readouterr().err


def test_another_network_in_policy_bpw_is_found(exported, tmp_path, capsys):
    if reason := available():
        pytest.skip(reason)
    bundle = read_bundle(exported.folder)
    model = onnx.load_model_from_string(bundle.policy_onnx)
    weights = max(model.graph.initializer, key=lambda tensor: np.prod(tensor.dims))
    weights.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(weights) * np.float32(1.01), weights.name))
    other = to_bpw(model.SerializeToString(), bundle.contract, bundle.info.guard)
    # hashes and contract fit, policy.onnx is the right one
    write_bundle(tmp_path / "bundle", bundle.info, {**bundle.files, POLICY_BPW: other})
    result = verify(read_bundle(tmp_path / "bundle"), 2000)
    assert [name for name, passed in gates(result).items() if not passed] == ["native parity"]
    assert bedplate(["verify", str(tmp_path / "bundle")]) == 1
    assert "native parity" in capsys.readouterr().err


def test_without_a_compiler_verify_says_that_policy_bpw_was_not_replayed(exported, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("bedplate.runtime.verification.available", lambda: "no C compiler here")
    assert bedplate(["verify", str(exported.folder), "-o", str(tmp_path / "v.json")]) == 0
    assert "no C compiler here" in "".join(capsys.readouterr())
    written = json.loads((tmp_path / "v.json").read_text())
    assert written["native_parity"] is None and written["native_skipped"] == "no C compiler here"

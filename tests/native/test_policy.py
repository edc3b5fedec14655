"""The native policy gives ONNX Runtime's commands, and refuses by name what it cannot compute."""

from __future__ import annotations

import os
import struct
import subprocess
import sys

import numpy as np
import onnxruntime as ort
import pytest
from onnx import helper
from tests.native.networks import contract_for, graph, mlp

from bedplate.bundle.bpw import HEADER_BYTES, encode_contract
from bedplate.bundle.contract import GuardSettings, MemoryContract
from bedplate.core.errors import BedplateError
from bedplate.export.native.lower import Unsupported, to_bpw
from bedplate.runtime.native.policy import NativePolicy

pytestmark = pytest.mark.usefixtures("native")


def both(data: bytes, num_inputs: int, num_outputs: int, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Answers of ONNX Runtime and of the native core."""
    contract = contract_for(num_inputs, num_outputs)
    policy = NativePolicy(to_bpw(data, contract, GuardSettings()), contract)
    session = ort.InferenceSession(data)
    expected = np.concatenate([session.run(["command"], {"x": row[None]})[0] for row in rows])
    return expected, np.stack([policy.evaluate(row) for row in rows])


@pytest.mark.parametrize("activation", ["Tanh", "Relu", "Elu", "Sigmoid", "LeakyRelu", "Softplus"])
@pytest.mark.parametrize("sizes", [(17, 256, 256, 6), (3, 7, 1), (1, 64, 65, 9), (5, 2)])
def test_networks(activation, sizes):
    rows = np.random.default_rng(1).normal(0, 3, (50, sizes[0])).astype(np.float32)
    expected, found = both(mlp(sizes, activation), sizes[0], sizes[-1], rows)
    assert np.abs(found - expected).max() <= 1e-5
    assert np.ptp(expected) > 0.1


UNARY = ["Tanh", "Exp", "Sigmoid", "Relu", "Neg", "Abs", "Sin", "Cos", "Tan", "Atan", "Floor", "Ceil", "Round", "Sign",
         "Sqrt", "Log", "Reciprocal", "Softplus"]  # fmt: skip


def in_doubles(nodes: list) -> list:
    """The same nodes between casts of "x" to doubles and of "command" back."""
    for node in nodes:
        for names in (node.input, node.output):
            names[:] = [f"{name}64" if name in ("x", "command") else name for name in names]
    return [
        helper.make_node("Cast", ["x"], ["x64"], to=11),
        *nodes,
        helper.make_node("Cast", ["command64"], ["command"], to=1),
    ]


FLOATS_ONLY = ("Tan", "Atan", "Softplus")
"""What ONNX Runtime has for floats alone."""


@pytest.mark.parametrize(
    ("kind", "wide"), [(k, w) for k in UNARY for w in (False, True) if not w or k not in FLOATS_ONLY]
)
def test_functions_of_one_number(kind, wide):
    values = np.concatenate([np.linspace(-90, 90, 1203), np.linspace(-1, 1, 77), [0.0, -0.0, 1e-30, 2.5, -0.5]])
    rows = values.astype(np.float32)[:, None]
    rows = np.abs(rows) + 1e-3 if kind in ("Sqrt", "Log", "Reciprocal") else rows
    nodes = [helper.make_node(kind, ["x"], ["command"])]
    expected, found = both(graph(in_doubles(nodes) if wide else nodes, {"x": 1}, {"command": 1}), 1, 1, rows)
    # beyond float32 both are infinite, or nearly
    fine = np.abs(expected) < 1e38
    assert np.all(np.abs(found[fine] - expected[fine]) <= 2e-6 * np.maximum(1.0, np.abs(expected[fine])))
    assert np.all(found[~fine] > 1e38)


BINARY = ["Add", "Sub", "Mul", "Div", "Max", "Min"]
TRUTHS = ["Equal", "Less", "Greater", "LessOrEqual", "GreaterOrEqual"]


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("kind", BINARY + TRUTHS)
def test_functions_of_two_numbers(kind, wide):
    rows = np.random.default_rng(2).integers(-3, 4, (60, 4)).astype(np.float32)
    rows[:, 2:] += 0.25 * (kind == "Div")
    out = "truth" if kind in TRUTHS else "command"
    nodes = [
        helper.make_node("Split", ["x"], ["a", "b"], axis=1),
        helper.make_node(kind, ["a", "b"], [out]),
    ]
    if kind in TRUTHS:
        nodes.append(helper.make_node("Cast", [out], ["command"], to=11 if wide else 1))
    nodes = in_doubles(nodes) if wide else nodes
    expected, found = both(graph(nodes, {"x": 4}, {"command": 2}), 4, 2, rows)
    assert np.array_equal(found, expected)


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("kind", ["ReduceMean", "ReduceMax", "ReduceMin", "ReduceL2", "ArgMax", "ArgMin"])
@pytest.mark.parametrize("axis", [1, 2])
def test_reductions_of_rearranged_numbers(kind, axis, wide):
    rows = np.random.default_rng(3).normal(size=(40, 12)).astype(np.float32)
    how = {"axis": axis} if kind.startswith("Arg") else {"axes": [axis]}
    nodes = [
        helper.make_node("Reshape", ["x", "shape"], ["cube"]),
        helper.make_node("Transpose", ["cube"], ["turned"], perm=[0, 2, 1]),
        helper.make_node(kind, ["turned"], ["less"], keepdims=0, **how),
        helper.make_node("Cast", ["less"], ["command"], to=11 if wide else 1),
    ]
    nodes = in_doubles(nodes) if wide else nodes
    size = 3 if axis == 1 else 4
    data = graph(nodes, {"x": 12}, {"command": size}, shape=np.array([1, 3, 4], np.int64))
    expected, found = both(data, 12, size, rows)
    assert np.abs(found - expected).max() <= 1e-6


@pytest.mark.parametrize("wide", [False, True])
def test_the_choice_of_a_row_and_products_of_matrices(wide):
    rows = np.random.default_rng(4).normal(size=(40, 12)).astype(np.float32)
    nodes = [
        helper.make_node("Reshape", ["x", "shape"], ["cube"]),
        helper.make_node("Transpose", ["cube"], ["turned"], perm=[1, 0]),
        helper.make_node("MatMul", ["cube", "turned"], ["square"]),
        helper.make_node("ReduceMax", ["square"], ["heights"], axes=[1], keepdims=0),
        helper.make_node("ArgMax", ["heights"], ["best"], axis=0, keepdims=1),
        helper.make_node("Gather", ["square", "best"], ["command"], axis=0),
    ]
    nodes = in_doubles(nodes) if wide else nodes
    data = graph(nodes, {"x": 12}, {"command": 3}, shape=np.array([3, 4], np.int64))
    expected, found = both(data, 12, 3, rows)
    assert np.abs(found - expected).max() <= 1e-5


def test_what_is_computed_in_doubles_keeps_their_digits():
    # x + 1e-12 - x is 0 in floats
    nodes = [
        helper.make_node("Add", ["x", "little"], ["more"]),
        helper.make_node("Sub", ["more", "x"], ["difference"]),
        helper.make_node("Div", ["difference", "little"], ["command"]),
    ]
    rows = np.random.default_rng(5).uniform(0.5, 2, (40, 2)).astype(np.float32)
    data = graph(in_doubles(nodes), {"x": 2}, {"command": 2}, little=np.array(1e-12))
    expected, found = both(data, 2, 2, rows)
    assert np.array_equal(found, expected)
    assert np.abs(found - 1).max() < 1e-3


def test_truths_and_whole_numbers_go_between_floats_and_doubles():
    # a choice made in doubles takes floats, one made in floats takes doubles, and both are put side by side
    nodes = [
        helper.make_node("Cast", ["x"], ["wide"], to=11),
        helper.make_node("Greater", ["wide", "third"], ["large"]),
        helper.make_node("Less", ["x", "half"], ["small"]),
        helper.make_node("Where", ["large", "x", "half"], ["chosen"]),
        helper.make_node("Where", ["small", "wide", "third"], ["chosen_wide"]),
        helper.make_node("And", ["large", "small"], ["between"]),
        helper.make_node("Concat", ["large", "small", "between"], ["truths"], axis=1),
        helper.make_node("Cast", ["truths"], ["numbers"], to=1),
        helper.make_node("ArgMax", ["wide"], ["place"], axis=1, keepdims=0),
        helper.make_node("Gather", ["x", "place"], ["largest"], axis=1),
        helper.make_node("Cast", ["place"], ["place_number"], to=1),
        helper.make_node("Unsqueeze", ["place_number", "one"], ["place_column"]),
        helper.make_node("Clip", ["chosen_wide", "low", ""], ["clipped"]),
        helper.make_node("Cast", ["clipped"], ["narrow"], to=1),
        helper.make_node("Concat", ["chosen", "narrow", "numbers", "largest", "place_column"], ["command"], axis=1),
    ]
    constants = {"third": np.array(1 / 3), "half": np.array(0.5, np.float32), "low": np.array(-0.7), "one": [1]}
    rows = np.random.default_rng(6).uniform(-1, 1, (60, 4)).astype(np.float32)
    expected, found = both(graph(nodes, {"x": 4}, {"command": 22}, **constants), 4, 22, rows)
    assert np.array_equal(found, expected)
    assert np.all(np.ptp(expected, axis=0) > 0)


@pytest.mark.parametrize("activation", ["Elu", "LeakyRelu"])
def test_a_graph_without_doubles_has_no_section_of_them(activation):
    contract = contract_for(3, 2)
    data = to_bpw(mlp((3, 5, 2), activation), contract, GuardSettings())
    section = data[HEADER_BYTES + len(encode_contract(contract, GuardSettings())) :]
    _, constants, _, outputs, weights, index, ops = struct.unpack_from("<7I", section)
    assert len(section) == 4 * (7 + constants + outputs + weights + index + 8 * ops)


def test_what_the_core_does_not_have_is_refused_by_name():
    nodes = [helper.make_node("Erf", ["x"], ["command"])]
    with pytest.raises(Unsupported, match="Erf"):
        to_bpw(graph(nodes, {"x": 1}, {"command": 1}), contract_for(1, 1), GuardSettings())
    nodes = [
        helper.make_node("Cast", ["x"], ["half"], to=10),
        helper.make_node("Cast", ["half"], ["command"], to=1),
    ]
    with pytest.raises(Unsupported, match="Cast to FLOAT16"):
        to_bpw(graph(nodes, {"x": 1}, {"command": 1}), contract_for(1, 1), GuardSettings())


def test_every_instruction_set_gives_the_same_bits():
    program = (
        "import sys, numpy as np; sys.path.insert(0, '.')\n"
        "from tests.native.networks import contract_for, mlp\n"
        "from bedplate.bundle.contract import GuardSettings\n"
        "from bedplate.export.native.lower import to_bpw\n"
        "from bedplate.runtime.native.policy import NativePolicy\n"
        "c = contract_for(17, 6); p = NativePolicy(to_bpw(mlp((17, 256, 256, 6)), c, GuardSettings()), c)\n"
        "x = np.random.default_rng(0).normal(size=(20, 17)).astype(np.float32)\n"
        "print(np.stack([p.evaluate(row) for row in x]).tobytes().hex())\n"
    )
    answers = {
        isa: subprocess.run(
            [sys.executable, "-c", program], env={**os.environ, "BEDPLATE_ISA": isa}, capture_output=True, check=True
        ).stdout
        for isa in ("", "plain")
    }
    assert answers[""] == answers["plain"] != b""


def memory_policy(not_finite: bool = False) -> tuple[bytes, tuple[MemoryContract, ...]]:
    """command = commanded + sum; sum' = sum + x (or their quotient)."""
    nodes = [
        helper.make_node("Add", ["memory.commanded", "memory.sum"], ["command"]),
        helper.make_node("Identity", ["command"], ["memory.commanded.next"]),
        helper.make_node("Div" if not_finite else "Add", ["memory.sum", "x"], ["memory.sum.next"]),
    ]
    terms = (
        MemoryContract(name="commanded", size=2, initial=0.0, initial_signal="x"),
        MemoryContract(name="sum", size=2, initial=0.5),
    )
    sizes = {"x": 2, "memory.commanded": 2, "memory.sum": 2}
    outputs = {"command": 2, "memory.commanded.next": 2, "memory.sum.next": 2}
    return graph(nodes, sizes, outputs), terms


def test_memory_begins_is_kept_and_takes_what_was_sent():
    data, terms = memory_policy()
    contract = contract_for(2, 2, terms)
    policy = NativePolicy(to_bpw(data, contract, GuardSettings()), contract)
    for _ in range(2):
        assert policy.act({"x": np.array([1.0, 2.0])}).tolist() == [1.5, 2.5]
        assert policy.act({"x": np.array([0.0, 0.0])}).tolist() == [3.0, 5.0]
        assert policy.act({"x": np.array([0.0, 0.0])}, np.array([0.25, 0.0])).tolist() == [1.75, 2.5]
        policy.reset()


def test_what_is_not_finite_does_not_stay_in_the_memory():
    data, terms = memory_policy(not_finite=True)
    contract = contract_for(2, 2, terms)
    policy = NativePolicy(to_bpw(data, contract, GuardSettings()), contract)
    policy.act({"x": np.zeros(2)})
    assert policy.act({"x": np.ones(2)}).tolist() == [0.5, 0.5]


def test_a_file_without_a_policy_says_so():
    from bedplate.bundle.bpw import encode

    contract = contract_for(1, 1)
    with pytest.raises(BedplateError, match="no policy"):
        NativePolicy(encode(contract, GuardSettings()), contract)

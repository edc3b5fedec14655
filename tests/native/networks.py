"""Small policies as ONNX graphs, with the contract they fit."""

from __future__ import annotations

import itertools

import numpy as np
from onnx import TensorProto, helper, numpy_helper
from tests.native.robots import make_signal

from bedplate.bundle.contract import Contract, MemoryContract
from bedplate.core.limits import ChannelLimits, Limits, SafeAction

FLOAT = TensorProto.FLOAT


def contract_for(num_inputs: int, num_outputs: int, memory: tuple[MemoryContract, ...] = ()) -> Contract:
    """A velocity robot with one signal "x" of `num_inputs` elements."""
    channels = tuple(ChannelLimits(f"axis_{i}", "1", -9.0, 9.0, 1e3) for i in range(num_outputs))
    return Contract(
        task="network",
        control_dt_s=0.002,
        signals=(make_signal("x", num_inputs, 20.0, 0.1),),
        memory=memory,
        action_kind="velocity",
        limits=Limits(channels, SafeAction("ramp", (0.0,) * num_outputs)),
    )


def graph(nodes, sizes, outputs, **constants) -> bytes:
    """A graph with inputs and outputs name -> size, and constants as initializers."""
    values = [
        [helper.make_tensor_value_info(name, FLOAT, (1, size)) for name, size in side.items()]
        for side in (sizes, outputs)
    ]
    weights = [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()]
    made = helper.make_graph(nodes, "test", *values, weights)
    model = helper.make_model(made, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return model.SerializeToString()


def mlp(sizes: tuple[int, ...], activation: str = "Tanh", seed: int = 0) -> bytes:
    """A network of these layer sizes from "x" to "command"."""
    rng = np.random.default_rng(seed)
    nodes, constants, last = [], {}, "x"
    for index, (inputs, outputs) in enumerate(itertools.pairwise(sizes)):
        constants[f"w{index}"] = (rng.normal(size=(outputs, inputs)) / np.sqrt(inputs)).astype(np.float32)
        constants[f"b{index}"] = rng.normal(size=outputs).astype(np.float32)
        final = index == len(sizes) - 2
        name = "command" if final else f"h{index}"
        nodes.append(helper.make_node("Gemm", [last, f"w{index}", f"b{index}"], [name], transB=1))
        last = name
        if not final:
            nodes.append(helper.make_node(activation, [name], [f"a{index}"]))
            last = f"a{index}"
    return graph(nodes, {"x": sizes[0]}, {"command": sizes[-1]}, **constants)


def chooser(size: int = 4) -> bytes:
    """A graph from "x" to a "command" of 2 that chooses in doubles: every kind of operation on them."""
    wide = [("Cast", ["x"], ["wide"], {"to": TensorProto.DOUBLE}), ("MatMul", ["wide", "turn"], ["turned"], {}),
            ("Sin", ["turned"], ["waves"], {}), ("Mul", ["waves", "wide"], ["heights"], {}),
            ("ArgMax", ["heights"], ["best"], {"axis": 1, "keepdims": 0}),
            ("Gather", ["heights", "best"], ["high"], {"axis": 1}),
            ("ReduceMin", ["heights"], ["low"], {"axes": [1]}), ("Less", ["high", "low"], ["never"], {}),
            ("Where", ["never", "low", "high"], ["chosen"], {}), ("Concat", ["chosen", "low"], ["both"], {"axis": 1}),
            ("Cast", ["both"], ["command"], {"to": FLOAT})]  # fmt: skip
    nodes = [helper.make_node(kind, given, made, **how) for kind, given, made, how in wide]
    turn = np.random.default_rng(0).normal(size=(size, size))
    return graph(nodes, {"x": size}, {"command": 2}, turn=turn)

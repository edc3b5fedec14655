"""Walk policy.onnx and write its program.

What depends on no input is computed here. Operators that only move elements about are run on the addresses themselves
and cost nothing on the robot. The rest must be in the closed table, or the export is refused by the operator's name.
What the graph computes in doubles the program computes in doubles; whole numbers and truths lie with the numbers they
come from, and are converted where they meet the others.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from bedplate.bundle.bpw import encode
from bedplate.bundle.contract import Contract, GuardSettings
from bedplate.core.errors import BedplateError
from bedplate.export.native.program import BINARY, REDUCE, UNARY, Program, is_wide

MOVES = ("Identity", "Reshape", "Flatten", "Squeeze", "Unsqueeze", "Transpose", "Expand", "Slice", "Split", "Concat",
         "Tile")  # fmt: skip
OPSET = 17
WHOLE_TYPES = (TensorProto.INT64, TensorProto.INT32)


class Unsupported(BedplateError):
    """The native core has no such operation: the bundle goes without policy.bpw."""


def to_bpw(policy_onnx: bytes, contract: Contract, settings: GuardSettings) -> bytes:
    """The content of policy.bpw.

    Args:
        policy_onnx: the graph, as in the bundle.
        contract: of the bundle.
        settings: of the guard.

    Raises:
        Unsupported: names the operator that is not in the closed table.
    """
    graph = onnx.load_model_from_string(policy_onnx).graph
    lowering = _Lowering(graph)
    for node in graph.node:
        lowering.lower(node)
    outputs = np.concatenate([lowering.addresses(value.name).reshape(-1) for value in graph.output])
    return encode(contract, settings, lowering.program.encode(outputs))


class _Lowering:
    """Values by name: a constant array, or the addresses of elements that the robot computes."""

    def __init__(self, graph: onnx.GraphProto) -> None:
        self.constants = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
        self.dynamic: dict[str, np.ndarray] = {}
        self.whole: set[str] = set()
        start = 0
        for value in graph.input:
            size = value.type.tensor_type.shape.dim[1].dim_value
            self.dynamic[value.name] = np.arange(start, start + size).reshape(1, size)
            start += size
        self.program = Program(start)

    def is_wide(self, *names: str) -> bool:
        """Whether any of these values are doubles."""
        return any(
            is_wide(self.dynamic[name]) if name in self.dynamic else self.constants[name].dtype == np.float64
            for name in names
        )

    def addresses(self, name: str, wide: bool | None = None) -> np.ndarray:
        """Where the elements lie, as doubles if `wide`; constants are put into the program."""
        as_wide = self.is_wide(name) if wide is None else wide
        if name in self.dynamic:
            return self.program.convert(self.dynamic[name], as_wide)
        return self.program.intern(self.constants[name], as_wide)

    def lower(self, node: onnx.NodeProto) -> None:
        """Write one node."""
        kind, names = node.op_type, [name for name in node.input if name]
        if all(name in self.constants for name in names):
            results = _evaluate(node, [self.constants[name] for name in names])
            self.constants.update(zip(node.output, results, strict=True))
            return
        if kind == "Shape":
            self.constants[node.output[0]] = np.array(self.dynamic[names[0]].shape)
            return
        if kind in MOVES:
            # the moved elements are addresses; what says how to move them stays as it is
            moved = names if kind == "Concat" else names[:1]
            if any(name in self.dynamic for name in names[len(moved) :]):
                raise _unsupported(node, "with a size that changes")
            wide = self.is_wide(*moved)
            given = [self.addresses(name, wide) if name in moved else self.constants[name] for name in names]
            self.dynamic.update(zip(node.output, _evaluate(node, given), strict=True))
            return
        handler = getattr(self, f"_{kind.lower()}", None)
        if handler is not None:
            result = handler(node, names)
        elif kind in UNARY:
            result = self.unary(kind, self.addresses(names[0]))
        elif kind in BINARY:
            wide = self.is_wide(*names)
            result = self.addresses(names[0], wide)
            for name in names[1:]:
                if kind == "Div" and self.whole & {names[0], name}:
                    raise _unsupported(node, "of whole numbers")
                # a square is a product, in ONNX Runtime too
                square = kind == "Pow" and name in self.constants and bool(np.all(self.constants[name] == 2))
                other = result if square else self.addresses(name, wide)
                result = self.binary("Mul" if square else kind, result, other)
        elif kind in REDUCE:
            result = self.reduce(node, names)
        else:
            raise _unsupported(node)
        self.dynamic[node.output[0]] = result
        if kind in ("ArgMax", "ArgMin") or (kind == "Cast" and _attributes(node)["to"] in WHOLE_TYPES):
            self.whole.add(node.output[0])

    def unary(self, kind: str, x: np.ndarray) -> np.ndarray:
        """Element by element, in the type of x."""
        n = x.size
        dst = self.program.emit(kind, n, n, self.program.run(x), wide=is_wide(x))
        return np.arange(dst, dst + n).reshape(x.shape)

    def binary(self, kind: str, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Element by element, broadcast; both of one type."""
        shape = np.broadcast_shapes(x.shape, y.shape)
        n = int(np.prod(shape))
        (a, step_a), (b, step_b) = self.program.operand(x, shape), self.program.operand(y, shape)
        dst = self.program.emit(kind, n, n, a, b, flags=step_a | step_b << 1, wide=is_wide(x))
        return np.arange(dst, dst + n).reshape(shape)

    def reduce(self, node: onnx.NodeProto, names: list[str]) -> np.ndarray:
        """Over the named axes."""
        x, attributes = self.addresses(names[0]), _attributes(node)
        if attributes.get("select_last_index"):
            raise _unsupported(node, "with select_last_index")
        axes: Any = attributes.get("axis", 0) if node.op_type.startswith("Arg") else attributes.get("axes")
        if len(names) > 1:
            axes = self.constants[names[1]].tolist()
        chosen = [axis % x.ndim for axis in np.atleast_1d(range(x.ndim) if axes is None else axes).tolist()]
        kept = [axis for axis in range(x.ndim) if axis not in chosen]
        inner = int(np.prod([x.shape[axis] for axis in chosen]))
        n = x.size // inner
        start = self.program.run(np.transpose(x, [*kept, *chosen]))
        dst = self.program.emit(node.op_type, n, n, start, d=inner, wide=is_wide(x))
        shape = [1 if axis in chosen else x.shape[axis] for axis in range(x.ndim)]
        if not attributes.get("keepdims", 1):
            shape = [x.shape[axis] for axis in kept]
        return np.arange(dst, dst + n).reshape(shape)

    def _cast(self, node: onnx.NodeProto, names: list[str]) -> np.ndarray:
        to, x = _attributes(node)["to"], self.addresses(names[0])
        if to in (TensorProto.FLOAT, TensorProto.DOUBLE):
            return self.program.convert(x, to == TensorProto.DOUBLE)
        if to == TensorProto.BOOL:
            return self.unary("is_true", x)
        if to not in WHOLE_TYPES:
            raise _unsupported(node, f"to {TensorProto.DataType.Name(to)}")
        return self.unary("trunc", x)

    def _clip(self, node: onnx.NodeProto, names: list[str]) -> np.ndarray:
        wide = self.is_wide(*names)
        result = self.addresses(names[0], wide)
        for kind, place in (("Max", 1), ("Min", 2)):
            if len(node.input) > place and node.input[place]:
                result = self.binary(kind, result, self.addresses(node.input[place], wide))
        return result

    def _where(self, node: onnx.NodeProto, names: list[str]) -> np.ndarray:
        wide = self.is_wide(*names[1:])
        parts = [self.addresses(name, wide) for name in names]
        shape = np.broadcast_shapes(*(part.shape for part in parts))
        n = int(np.prod(shape))
        (c, step_c), (a, step_a), (b, step_b) = (self.program.operand(part, shape) for part in parts)
        dst = self.program.emit("where", n, n, a, b, c, flags=step_c | step_a << 1 | step_b << 2, wide=wide)
        return np.arange(dst, dst + n).reshape(shape)

    def _elu(self, node: onnx.NodeProto, names: list[str]) -> np.ndarray:
        x, wide = self.addresses(names[0]), self.is_wide(names[0])
        zero = self.program.intern(np.zeros(()), wide)
        alpha = self.program.intern(np.array(_attributes(node).get("alpha", 1.0)), wide)
        below = self.binary("Mul", alpha, self.unary("expm1", self.binary("Min", x, zero)))
        return self.binary("Add", self.binary("Max", x, zero), below)

    def _leakyrelu(self, node: onnx.NodeProto, names: list[str]) -> np.ndarray:
        x, wide = self.addresses(names[0]), self.is_wide(names[0])
        zero = self.program.intern(np.zeros(()), wide)
        alpha = self.program.intern(np.array(_attributes(node).get("alpha", 0.01)), wide)
        return self.binary("Add", self.binary("Max", x, zero), self.binary("Mul", alpha, self.binary("Min", x, zero)))

    def _gemm(self, node: onnx.NodeProto, names: list[str]) -> np.ndarray:
        attributes = _attributes(node)
        if any(name in self.dynamic for name in names[1:]) or attributes.get("transA"):
            raise _unsupported(node, "with weights that are computed")
        if self.is_wide(names[0]):
            raise _unsupported(node, "in doubles")
        weights = self.constants[names[1]] * np.float32(attributes.get("alpha", 1.0))
        weights = weights.T if attributes.get("transB") else weights
        bias = self.constants[names[2]] if len(names) > 2 else np.zeros(weights.shape[1], np.float32)
        bias = np.broadcast_to(bias.reshape(-1) * np.float32(attributes.get("beta", 1.0)), weights.shape[1])
        rows = [self.program.dense(self.program.run(row), weights, bias) for row in self.addresses(names[0])]
        return np.stack(rows)

    def _matmul(self, node: onnx.NodeProto, names: list[str]) -> np.ndarray:
        wide = self.is_wide(*names)
        x, y = (self.addresses(name, wide) for name in names)
        left, right = x[None, :] if x.ndim == 1 else x, y[:, None] if y.ndim == 1 else y
        batch = np.broadcast_shapes(left.shape[:-2], right.shape[:-2])
        left = np.broadcast_to(left, batch + left.shape[-2:]).reshape(-1, *left.shape[-2:])
        right = np.broadcast_to(right, batch + right.shape[-2:]).reshape(-1, *right.shape[-2:])
        rows, inner, columns = left.shape[1], left.shape[2], right.shape[2]
        results = []
        for one, other in zip(left, right, strict=True):
            a, b = self.program.run(one), self.program.run(other)
            dst = self.program.emit("matmul", rows, rows * columns, a, b, inner, columns, wide=wide)
            results.append(np.arange(dst, dst + rows * columns).reshape(rows, columns))
        result = np.stack(results).reshape(*batch, rows, columns)
        # a vector has lost its axis
        result = result[..., 0, :] if x.ndim == 1 else result
        return result[..., 0] if y.ndim == 1 else result

    def _gather(self, node: onnx.NodeProto, names: list[str]) -> np.ndarray:
        axis = _attributes(node).get("axis", 0)
        x = self.addresses(names[0])
        if names[1] in self.constants:
            return np.take(x, self.constants[names[1]], axis=axis)
        rows, index = np.moveaxis(x, axis, 0), self.addresses(names[1], is_wide(x))
        table = rows.reshape(rows.shape[0], -1)
        picked = np.stack([self.program.pick(int(row), table) for row in index.reshape(-1)])
        picked = picked.reshape(*index.shape, *rows.shape[1:])
        return np.moveaxis(picked, range(index.ndim), range(axis % x.ndim, axis % x.ndim + index.ndim))


def _evaluate(node: onnx.NodeProto, given: list[np.ndarray]) -> list[np.ndarray]:
    names = [name for name in node.input if name]
    inputs = [helper.make_tensor_value_info(name, TensorProto.UNDEFINED, None) for name in dict.fromkeys(names)]
    outputs = [helper.make_tensor_value_info(name, TensorProto.UNDEFINED, None) for name in node.output]
    graph = helper.make_graph([node], "one", inputs, outputs)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)])
    results: Any = ReferenceEvaluator(model).run(None, dict(zip(names, given, strict=True)))
    return list(results)


def _attributes(node: onnx.NodeProto) -> dict[str, Any]:
    return {attribute.name: helper.get_attribute_value(attribute) for attribute in node.attribute}


def _unsupported(node: onnx.NodeProto, how: str = "") -> Unsupported:
    return Unsupported(
        f"the policy graph holds {node.op_type} {how}".rstrip() + ", which the native core does not have",
        f"operators of its closed table: {', '.join((*UNARY, *BINARY, *REDUCE))}",
        "write that feature with other torch operations, or run the bundle on ONNX Runtime",
    )

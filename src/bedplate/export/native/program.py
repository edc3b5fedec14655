"""The program in policy.bpw while it is being written: constants, operations, and where each value lies.

A value is an array of addresses, one per element. Constants have addresses from CONSTANTS on until `encode` puts them
first; inputs begin at 0, and what operations compute follows them.
"""

from __future__ import annotations

import struct

import numpy as np

CONSTANTS = 2**40

# the tables of native/src/policy.c
OPS = ("dense", "gather", "where", "matmul", "pick")
UNARY = (
    "Tanh", "Exp", "Sigmoid", "Relu", "Neg", "Abs", "Sqrt", "Sin", "Cos", "Tan", "Asin", "Acos", "Atan", "Log",
    "Reciprocal", "Not", "trunc", "Floor", "Ceil", "Round", "Sign", "Softplus", "is_true", "expm1",
)  # fmt: skip
BINARY = (
    "Add", "Sub", "Mul", "Div", "Max", "Min", "Pow", "Equal", "Less", "Greater", "LessOrEqual", "GreaterOrEqual",
    "And", "Or",
)  # fmt: skip
REDUCE = ("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceL2", "ArgMax", "ArgMin")
CODES = {name: first + place for first, names in ((0, OPS), (16, UNARY), (48, BINARY), (80, REDUCE))
         for place, name in enumerate(names)}  # fmt: skip


class Program:
    """A program that grows.

    Args:
        num_inputs: signals and memory terms, in the order of the contract.
    """

    def __init__(self, num_inputs: int) -> None:
        self.num_inputs = num_inputs
        self._next = num_inputs
        self._constants: list[float] = []
        self._known: dict[bytes, int] = {}
        self._gathered: dict[bytes, int] = {}
        self._weights: list[np.ndarray] = []
        self._num_weights = 0
        self._index: list[int] = []
        self._ops: list[tuple[int, ...]] = []

    def intern(self, values: np.ndarray) -> np.ndarray:
        """Addresses of constants, in the shape of `values`."""
        flat = np.ascontiguousarray(values, np.float32).reshape(-1)
        key = flat.tobytes()
        if key not in self._known:
            self._known[key] = CONSTANTS + len(self._constants)
            self._constants += flat.tolist()
        return self._known[key] + np.arange(flat.size, dtype=np.int64).reshape(values.shape)

    def run(self, addresses: np.ndarray) -> int:
        """Address of the first of these elements, once they lie side by side in this order."""
        flat = addresses.reshape(-1)
        if flat.size == 1 or np.all(np.diff(flat) == 1):
            return int(flat[0])
        key = flat.tobytes()
        if key not in self._gathered:
            start = self._table(flat)
            self._gathered[key] = self.emit("gather", flat.size, flat.size, start)
        return self._gathered[key]

    def operand(self, addresses: np.ndarray, shape: tuple[int, ...]) -> tuple[int, int]:
        """Address of the first element, and 0 when it stands for all of `shape` or 1 when they follow it."""
        flat = np.broadcast_to(addresses, shape).reshape(-1)
        if np.all(flat == flat[0]):
            return int(flat[0]), 0
        return self.run(flat), 1

    def emit(
        self, name: str, n: int, results: int, a: int = 0, b: int = 0, c: int = 0, d: int = 0, flags: int = 0
    ) -> int:
        """Add an operation; gives the address of its first result."""
        dst = self._next
        self._next += results
        self._ops.append((CODES[name], n, dst, a, b, c, d, flags))
        return dst

    def dense(self, start: int, weights: np.ndarray, bias: np.ndarray) -> np.ndarray:
        """Bias + x @ weights, weights (inputs, outputs); the outputs' addresses."""
        inputs, outputs = weights.shape
        offset = self._num_weights
        for array in (weights, bias):
            self._weights.append(np.ascontiguousarray(array, np.float32).reshape(-1))
            self._num_weights += array.size
        dst = self.emit("dense", outputs, -(-outputs // 8) * 8, start, offset, 0, inputs)
        return np.arange(dst, dst + outputs)

    def pick(self, row: int, table: np.ndarray) -> np.ndarray:
        """One row of a table of addresses (rows, n), chosen when the policy runs."""
        rows, n = table.shape
        dst = self.emit("pick", n, n, row, self._table(table.reshape(-1)), 0, rows)
        return np.arange(dst, dst + n)

    def encode(self, outputs: np.ndarray) -> bytes:
        """The program section of policy.bpw; `outputs` are the addresses of the command and the next memory."""
        count = len(self._constants)
        weights = np.concatenate(self._weights) if self._weights else np.zeros(0, np.float32)
        head = struct.pack(
            "<7I", count + self._next, count, self.num_inputs, outputs.size, weights.size, len(self._index),
            len(self._ops),
        )  # fmt: skip
        parts = [head, np.array(self._constants, "<f4").tobytes(), weights.astype("<f4").tobytes()]
        parts.append(np.array([self._place(v) for v in self._index], "<u4").tobytes())
        parts.append(np.array([self._place(v) for v in outputs.tolist()], "<u4").tobytes())
        for code, n, dst, a, b, c, d, flags in self._ops:
            name = next(key for key, value in CODES.items() if value == code)
            # a is an address but for "gather", where it is a place in the index; b and c are addresses for few
            a = a if name == "gather" else self._place(a)
            b = self._place(b) if name in ("where", "matmul", *BINARY) else b
            c = self._place(c) if name == "where" else c
            parts.append(struct.pack("<8I", code, n, self._place(dst), a, b, c, d, flags))
        return b"".join(parts)

    def _table(self, addresses: np.ndarray) -> int:
        start = len(self._index)
        self._index += addresses.tolist()
        return start

    def _place(self, address: int) -> int:
        return address - CONSTANTS if address >= CONSTANTS else address + len(self._constants)

"""The program in policy.bpw while it is being written: constants, operations, and where each value lies.

A value is an array of addresses, one per element, among the floats or, from WIDE on, among the doubles. Constants
have addresses from CONSTANTS on until `encode` puts them first; inputs begin at 0 among the floats, and what operations
compute follows them.
"""

from __future__ import annotations

import struct

import numpy as np

CONSTANTS = 2**40
WIDE = 2**41
WIDE_FLAG = 256

# the tables of native/src/policy.c
OPS = ("dense", "gather", "where", "matmul", "pick", "widen", "narrow")
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


class _Space:
    """Numbers of one type: constants, and what is computed.

    Args:
        dtype: of the numbers.
        first: address of the first one that is no constant.
    """

    def __init__(self, dtype: type, first: int) -> None:
        self.dtype = dtype
        self.base = first // WIDE * WIDE
        self.next = first
        self.constants: list[float] = []
        self.index: list[int] = []
        self._known: dict[bytes, int] = {}

    def intern(self, values: np.ndarray) -> np.ndarray:
        """Addresses of constants, in the shape of `values`."""
        flat: np.ndarray = np.ascontiguousarray(values, self.dtype).reshape(-1)
        key = flat.tobytes()
        if key not in self._known:
            self._known[key] = self.base + CONSTANTS + len(self.constants)
            self.constants += flat.tolist()
        return self._known[key] + np.arange(flat.size, dtype=np.int64).reshape(values.shape)

    def table(self, addresses: np.ndarray) -> int:
        """Put addresses into the index; gives the place of the first."""
        start = len(self.index)
        self.index += addresses.tolist()
        return start

    def place(self, address: int) -> int:
        """Where the element lies when all constants come first."""
        inside = address - self.base
        return inside - CONSTANTS if inside >= CONSTANTS else inside + len(self.constants)

    @property
    def size(self) -> int:
        """How many numbers there are."""
        return len(self.constants) + self.next - self.base


class Program:
    """A program that grows.

    Args:
        num_inputs: signals and memory terms, in the order of the contract.
    """

    def __init__(self, num_inputs: int) -> None:
        self.num_inputs = num_inputs
        self._spaces = (_Space(np.float32, num_inputs), _Space(np.float64, WIDE))
        self._gathered: dict[bytes, int] = {}
        self._converted: dict[bytes, int] = {}
        self._weights: list[np.ndarray] = []
        self._num_weights = 0
        self._ops: list[tuple[int, ...]] = []

    def intern(self, values: np.ndarray, wide: bool) -> np.ndarray:
        """Addresses of constants, in the shape of `values`."""
        return self._spaces[wide].intern(values)

    def convert(self, addresses: np.ndarray, wide: bool) -> np.ndarray:
        """Addresses of the same numbers as doubles, or as floats."""
        if addresses.size == 0 or is_wide(addresses) == wide:
            return addresses
        key = addresses.tobytes()
        if key not in self._converted:
            start, n = self.run(addresses), addresses.size
            self._converted[key] = self.emit("widen" if wide else "narrow", n, n, start, wide=wide)
        first = self._converted[key]
        return np.arange(first, first + addresses.size).reshape(addresses.shape)

    def run(self, addresses: np.ndarray) -> int:
        """Address of the first of these elements, once they lie side by side in this order."""
        flat = addresses.reshape(-1)
        if flat.size == 1 or np.all(np.diff(flat) == 1):
            return int(flat[0])
        key = flat.tobytes()
        if key not in self._gathered:
            wide = is_wide(flat)
            start = self._spaces[wide].table(flat)
            self._gathered[key] = self.emit("gather", flat.size, flat.size, start, wide=wide)
        return self._gathered[key]

    def operand(self, addresses: np.ndarray, shape: tuple[int, ...]) -> tuple[int, int]:
        """Address of the first element, and 0 when it stands for all of `shape` or 1 when they follow it."""
        flat = np.broadcast_to(addresses, shape).reshape(-1)
        if np.all(flat == flat[0]):
            return int(flat[0]), 0
        return self.run(flat), 1

    def emit(
        self, name: str, n: int, results: int, a: int = 0, b: int = 0, c: int = 0, d: int = 0, flags: int = 0, *,
        wide: bool = False,
    ) -> int:  # fmt: skip
        """Add an operation whose results are floats, or doubles where `wide`; gives the address of its first result."""
        space = self._spaces[wide]
        dst = space.next
        space.next += results
        self._ops.append((CODES[name], n, dst, a, b, c, d, flags | WIDE_FLAG * wide))
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
        """One row of a table of addresses (rows, n), chosen when the policy runs; `row` lies in the table's space."""
        rows, n = table.shape
        wide = is_wide(table)
        dst = self.emit("pick", n, n, row, self._spaces[wide].table(table.reshape(-1)), 0, rows, wide=wide)
        return np.arange(dst, dst + n)

    def encode(self, outputs: np.ndarray) -> bytes:
        """The program section of policy.bpw; `outputs` are the addresses of the command and the next memory."""
        floats, doubles = self._spaces
        weights = np.concatenate(self._weights) if self._weights else np.zeros(0, np.float32)
        head = struct.pack(
            "<7I", floats.size, len(floats.constants), self.num_inputs, outputs.size, weights.size, len(floats.index),
            len(self._ops),
        )  # fmt: skip
        parts = [head, np.array(floats.constants, "<f4").tobytes(), weights.astype("<f4").tobytes()]
        parts.append(np.array([self._place(v) for v in floats.index], "<u4").tobytes())
        parts.append(np.array([self._place(v) for v in outputs.tolist()], "<u4").tobytes())
        names = {code: name for name, code in CODES.items()}
        for code, n, dst, a, b, c, d, flags in self._ops:
            name = names[code]
            # a is an address but for "gather", where it is a place in the index; b and c are addresses for few
            a = a if name == "gather" else self._place(a)
            b = self._place(b) if name in ("where", "matmul", *BINARY) else b
            c = self._place(c) if name == "where" else c
            parts.append(struct.pack("<8I", code, n, self._place(dst), a, b, c, d, flags))
        # the doubles come last, and only where there are any
        if doubles.size:
            parts.append(struct.pack("<3I", doubles.size, len(doubles.constants), len(doubles.index)))
            parts.append(np.array(doubles.constants, "<f8").tobytes())
            parts.append(np.array([self._place(v) for v in doubles.index], "<u4").tobytes())
        return b"".join(parts)

    def _place(self, address: int) -> int:
        return self._spaces[address >= WIDE].place(address)


def is_wide(addresses: np.ndarray) -> bool:
    """Whether these elements, all of one type, are doubles."""
    return bool(addresses.size and addresses.flat[0] >= WIDE)

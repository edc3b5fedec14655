"""How the named signals of a contract lie side by side in one vector, and whether a measurement can be believed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from bedplate.bundle.contract import Contract

# signals are float32 on the simulator's side: a value at its bound may round to just outside, by this part of the span
RANGE_SLACK = 1e-6


class SignalLayout:
    """The signals of a contract in one vector, in contract order.

    Args:
        contract: of the robot.
    """

    def __init__(self, contract: Contract) -> None:
        self.names = tuple(signal.name for signal in contract.signals)
        stops = np.cumsum([signal.size for signal in contract.signals]).tolist()
        starts = [0, *stops[:-1]]
        self.slices = tuple(slice(start, stop) for start, stop in zip(starts, stops, strict=True))
        self.size: int = stops[-1] if stops else 0
        self._ranges = tuple(
            (s.name, s.size, s.low - slack, s.high + slack, s.components)
            for s in contract.signals
            for slack in (RANGE_SLACK * (s.high - s.low),)
        )

    def unpack(self, values: np.ndarray) -> dict[str, np.ndarray]:
        """Name the parts of a state vector.

        Args:
            values: (size,) float64.

        Returns:
            Name -> view of `values`.
        """
        return {name: values[part] for name, part in zip(self.names, self.slices, strict=True)}

    def pack(self, signals: Mapping[str, np.ndarray]) -> np.ndarray:
        """Put named signals side by side; (size,) float64."""
        values = np.empty(self.size)
        for name, part in zip(self.names, self.slices, strict=True):
            values[part] = signals[name]
        return values

    def violation(self, signals: Mapping[str, np.ndarray]) -> str:
        """Say which measurement cannot be believed: absent, no numbers, of another shape, not finite, out of its range.

        Returns:
            The first such measurement in words, or "" when all are fine.
        """
        for name, size, low, high, components in self._ranges:
            signal = signals.get(name)
            if signal is None:
                return f"signal {name!r} is absent"
            array = numbers(signal)
            if array is None:
                return f"signal {name!r} is a {type(signal).__name__} that does not hold numbers"
            if array.shape != (size,):
                return f"signal {name!r} has shape {array.shape}, expected ({size},)"
            for index, value in enumerate(array.tolist()):
                # written so that NaN fails
                if not (low <= value <= high):
                    return f"signal {name!r}, {components[index]}: {value} is outside [{low}, {high}]"
        return ""


def numbers(value: Any) -> np.ndarray | None:
    """`value` as float64, or None when it holds no numbers; never raises, for a bad input must not stop a loop."""
    try:
        return np.asarray(value, np.float64)
    except Exception:  # whatever an object's own conversion raises
        return None

"""Gates: numbers that an evaluation must reach, such as "success>=0.95"."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from bedplate.core.errors import BedplateError, GateFailed, UnknownName

COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
}

FIGURES = ("success", "collisions", "time_outs", "return", "length_s", "clamp_rate", "faults")
"""Figures that every evaluation has; a task's metrics come on top, as medians over successful episodes."""

_FORM = re.compile(r"^([A-Za-z_][\w.]*)(>=|<=|>|<)([-+]?[0-9.]+(?:[eE][-+]?[0-9]+)?)(%?)$")


@dataclass(frozen=True)
class Gate:
    """One bound on one figure of an evaluation.

    Attributes:
        figure: name of the figure, such as "success".
        comparison: one of COMPARISONS.
        bound: what it is compared with.
    """

    figure: str
    comparison: str
    bound: float

    def __str__(self) -> str:
        return f"{self.figure}{self.comparison}{self.bound:g}"

    def holds(self, value: float) -> bool:
        """Whether `value` passes; NaN never does."""
        return COMPARISONS[self.comparison](value, self.bound)


def parse_gates(texts: Iterable[str]) -> list[Gate]:
    """Read gates; one text may hold several, separated by blanks or commas.

    Raises:
        BedplateError: a gate has another form; names it.
    """
    gates = []
    for text in texts:
        # blanks around a comparison belong to it
        joined = re.sub(r"\s*(>=|<=|>|<)\s*", r"\1", text)
        gates += [_parse(part) for part in re.split(r"[\s,]+", joined) if part]
    return gates


def check_names(gates: Iterable[Gate], metrics: Iterable[str]) -> None:
    """Refuse a gate on a figure that will not exist, before anything is measured.

    Args:
        gates: as parsed.
        metrics: the task's own metrics, which have figures of their name.

    Raises:
        UnknownName: a gate names no figure.
    """
    known = [*FIGURES, *metrics]
    for gate in gates:
        if gate.figure not in known:
            raise UnknownName("figure", gate.figure, known)


def check_gates(gates: Iterable[Gate], figures: Mapping[str, float | None]) -> None:
    """Hold an evaluation's figures against its gates.

    Args:
        gates: what must hold.
        figures: name -> value; None where it was not measured.

    Raises:
        UnknownName: a gate names no figure.
        GateFailed: lists every gate that does not hold.
    """
    failed = []
    for gate in gates:
        if gate.figure not in figures:
            raise UnknownName("figure", gate.figure, figures)
        value = figures[gate.figure]
        if value is None:
            failed.append(f"{gate.figure} was not measured, {gate} asked")
        elif not gate.holds(value):
            failed.append(f"{gate.figure} is {value:.4g}, {gate} asked")
    if failed:
        next_step = "train longer, or look at the report for what fails"
        raise GateFailed("gate failed: " + "; ".join(failed), next_step=next_step)


def _parse(text: str) -> Gate:
    match = _FORM.match(text)
    try:
        if match is None:
            raise ValueError(text)
        name, comparison, number, sign = match.groups()
        bound = float(number) / (100.0 if sign else 1.0)
        if not math.isfinite(bound):
            raise ValueError(number)
    except ValueError:
        raise BedplateError(
            f"gate {text!r} is not understood",
            "NAME>=NUMBER with one of >=, <=, >, <",
            "put gates in quotes, since the shell reads > itself: --gate 'success>=0.95 collisions<=0.03'",
        ) from None
    return Gate(name, comparison, bound)

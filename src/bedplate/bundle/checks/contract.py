"""A contract that agrees with itself, and two contracts that agree with each other."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from bedplate.bundle.contract import BundleInfo, Contract
from bedplate.core.errors import BedplateError, ContractMismatch


def check_contract(info: BundleInfo, path: Path) -> None:
    """Check hash, names, bounds, periods and feature slices of a bundle's contract.

    Raises:
        ContractMismatch: names the field, what was found and what was expected.
    """
    contract = info.contract
    if info.contract_hash != contract.hash:
        raise ContractMismatch(
            f"{path}: contract_hash is {info.contract_hash}",
            f"{contract.hash}, the hash of the names, units, limits and control period in this file",
            "somebody edited the contract; export the bundle again",
        )
    _check_numbers(info, path)
    _check_names(contract, path)
    # slices of the observation follow each other without a gap
    start = 0
    for feature in info.features:
        if feature.start != start or feature.stop <= start:
            raise ContractMismatch(
                f"{path}: feature {feature.name!r} spans [{feature.start}, {feature.stop})",
                f"a slice that starts at {start}",
            )
        start = feature.stop


def check_same_contract(found: Contract, expected: Contract, whose: str) -> None:
    """Check that two sides agree on what they exchange.

    Args:
        found: the bundle's contract.
        expected: the other side's contract.
        whose: who expects it, such as "the robot".

    Raises:
        ContractMismatch: names the first field that differs, with both values.
    """
    if found.hash == expected.hash:
        return
    difference = first_difference(found.model_dump(mode="json"), expected.model_dump(mode="json"))
    assert difference is not None, "equal contracts with different hashes"
    field, theirs, ours = difference
    raise ContractMismatch(f"the bundle says {field} = {theirs!r:.200}", f"{ours!r:.200}, as {whose} has it")


def first_difference(found: Any, expected: Any, field: str = "") -> tuple[str, Any, Any] | None:
    """Path and both values of the first place where two JSON values differ; None when they are equal."""
    if isinstance(found, dict) and isinstance(expected, dict) and found.keys() == expected.keys():
        pairs = [(f"{field}.{key}".lstrip("."), found[key], expected[key]) for key in found]
    elif isinstance(found, list) and isinstance(expected, list) and len(found) == len(expected):
        pairs = [(f"{field}[{index}]", a, b) for index, (a, b) in enumerate(zip(found, expected, strict=True))]
    else:
        return None if found == expected else (field, found, expected)
    return next((inner for name, a, b in pairs if (inner := first_difference(a, b, name))), None)


def _check_numbers(info: BundleInfo, path: Path) -> None:
    contract = info.contract
    try:
        contract.limits.validate()
    except BedplateError as error:
        raise ContractMismatch(f"{path}: {error.found}", error.expected) from error
    # a period or an age that is zero would switch a guard rule off
    positive = {f"guard.{name}": float(value) for name, value in info.guard.model_dump().items()}
    positive["control_dt_s"] = contract.control_dt_s
    for signal in contract.signals:
        positive[f"max_age_s of signal {signal.name!r}"] = signal.max_age_s
        positive[f"rate_hz of signal {signal.name!r}"] = signal.rate_hz
    for name, value in positive.items():
        if not (math.isfinite(value) and value > 0):
            raise ContractMismatch(f"{path}: {name} is {value}", "a finite number above zero")
    for signal in contract.signals:
        if not (math.isfinite(signal.low) and math.isfinite(signal.high) and signal.low < signal.high):
            raise ContractMismatch(
                f"{path}: bounds of signal {signal.name!r} are [{signal.low}, {signal.high}]",
                "two finite numbers, low < high",
            )


def _check_names(contract: Contract, path: Path) -> None:
    # graph inputs and outputs share one name space
    names = [signal.name for signal in contract.signals] + ["command"]
    for term in contract.memory:
        names += [f"memory.{term.name}", f"memory.{term.name}.next"]
    named = [("graph input or output", names), ("channel", list(contract.channels))]
    named += [(f"component of signal {signal.name!r}", list(signal.components)) for signal in contract.signals]
    for kind, group in named:
        twice = sorted({name for name in group if group.count(name) > 1})
        if twice:
            raise ContractMismatch(f"{path}: {kind} {twice[0]!r} is named twice", "unique names")
    for name, size in [(s.name, s.size) for s in contract.signals] + [(m.name, m.size) for m in contract.memory]:
        if size < 1 or not name:
            raise ContractMismatch(f"{path}: {name!r} has the size {size}", "a name and at least one element")
    # memory may only start from a signal of its size
    sizes = {signal.name: signal.size for signal in contract.signals}
    for term in contract.memory:
        if term.initial_signal and sizes.get(term.initial_signal) != term.size:
            raise ContractMismatch(
                f"{path}: memory {term.name!r} starts from {term.initial_signal!r}", f"a signal of size {term.size}"
            )
    # a limit may only watch an element that exists
    for limit in contract.limits.channels:
        for watch in (limit.position, limit.effort):
            if watch is not None and not 0 <= watch.index < sizes.get(watch.signal, 0):
                raise ContractMismatch(
                    f"{path}: channel {limit.channel!r} watches {watch.signal!r}[{watch.index}]",
                    "an element of a signal",
                )

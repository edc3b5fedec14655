"""A small bundle made by hand: readers never run the graph, so any bytes stand for it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bedplate.bundle.bundle import BUNDLE_JSON, GOLDEN, POLICY_ONNX, seal, write_bundle
from bedplate.bundle.checks.document import render_info
from bedplate.bundle.contract import (
    BundleInfo,
    Contract,
    FeatureContract,
    GuardSettings,
    MemoryContract,
    SignalContract,
)
from bedplate.bundle.golden import Golden
from bedplate.core.limits import ChannelLimits, EffortLimit, Limits, PositionLimit, SafeAction

CHANNELS = ("shoulder", "elbow")


def make_contract(**changes: Any) -> Contract:
    """Two joints commanded by velocity at 100 Hz."""
    position = {name: PositionLimit("position", index, -2.0, 2.0) for index, name in enumerate(CHANNELS)}
    channels = tuple(
        ChannelLimits(name, "rad/s", -1.0, 1.0, 5.0, position[name], EffortLimit("effort", index, 40.0))
        for index, name in enumerate(CHANNELS)
    )
    signals = tuple(
        SignalContract(
            name=name, components=CHANNELS, unit=unit, frame="joint", low=-4.0, high=50.0, max_age_s=0.03, rate_hz=100.0
        )
        for name, unit in (("position", "rad"), ("effort", "Nm"))
    )
    fields: dict[str, Any] = {
        "task": "two_joints",
        "control_dt_s": 0.01,
        "signals": signals,
        "memory": (MemoryContract(name="previous_action", size=2, initial=0.0),),
        "action_kind": "velocity",
        "limits": Limits(channels, SafeAction("ramp", (0.0, 0.0))),
    }
    return Contract(**{**fields, **changes})


def make_golden(contract: Contract, samples: int = 8) -> Golden:
    """Random samples that fit the contract."""
    rng = np.random.default_rng(0)

    def rows(size: int) -> np.ndarray:
        return rng.normal(size=(samples, size)).astype(np.float32)

    return Golden(
        signals={signal.name: rows(signal.size) for signal in contract.signals},
        memory={term.name: rows(term.size) for term in contract.memory},
        command=rows(len(contract.channels)),
        memory_next={term.name: rows(term.size) for term in contract.memory},
        contract=contract,
    )


def make_info(contract: Contract, **changes: Any) -> BundleInfo:
    """bundle.json before its hashes are filled in."""
    fields: dict[str, Any] = {
        "contract": contract,
        "contract_hash": contract.hash,
        "features": (
            FeatureContract(name="position", start=0, stop=2),
            FeatureContract(name="effort", start=2, stop=4),
        ),
        "guard": GuardSettings(),
        "evaluation": {"episodes": 500, "success": {"rate": 0.97, "low": 0.951, "high": 0.982}},
        "provenance": {"run": "demo", "note": "Übung"},
    }
    return BundleInfo(**{**fields, **changes})


def stamp(contract: Contract) -> bytes:
    """The metadata of a graph that was exported for the contract."""
    return b"\x72\x5a\x0a\x16bedplate.contract_hash\x12\x40" + contract.hash.encode()


def make_files(contract: Contract) -> dict[str, bytes]:
    """The bundle's other files."""
    return {POLICY_ONNX: b"stands for a graph" + stamp(contract), GOLDEN: make_golden(contract).to_bytes()}


def write_unchecked(folder: Path, info: BundleInfo, files: dict[str, bytes]) -> Path:
    """Write a bundle with right hashes, but without the writer's checks: what a careful forger would write."""
    folder.mkdir(parents=True)
    for name, data in {BUNDLE_JSON: render_info(seal(info, files)), **files}.items():
        (folder / name).write_bytes(data)
    return folder


@pytest.fixture
def contract() -> Contract:
    """A contract of two joints."""
    return make_contract()


@pytest.fixture
def info(contract: Contract) -> BundleInfo:
    """bundle.json of that contract."""
    return make_info(contract)


@pytest.fixture
def files(contract: Contract) -> dict[str, bytes]:
    """Graph and samples of that contract."""
    return make_files(contract)


@pytest.fixture
def folder(tmp_path: Path, info: BundleInfo, files: dict[str, bytes]) -> Path:
    """A whole bundle on disk."""
    write_bundle(tmp_path / "bundle", info, files)
    return tmp_path / "bundle"


@pytest.fixture
def forge(tmp_path: Path) -> Callable[[BundleInfo, dict[str, bytes]], Path]:
    """Write a bundle without the writer's checks."""
    return lambda info, files: write_unchecked(tmp_path / "forged", info, files)


@pytest.fixture(scope="session")
def make() -> dict[str, Callable[..., Any]]:
    """The makers above, by name."""
    return {"contract": make_contract, "golden": make_golden, "info": make_info, "files": make_files, "stamp": stamp}

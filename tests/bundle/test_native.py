"""A policy.bpw that was made for another robot, or changed, is refused with the bundle."""

from __future__ import annotations

from pathlib import Path

import pytest

from bedplate.bundle.bpw import encode
from bedplate.bundle.checks.native import check_native
from bedplate.bundle.contract import BundleInfo, Contract, GuardSettings, SignalContract
from bedplate.core.errors import ContractMismatch
from bedplate.core.limits import ChannelLimits, Limits, SafeAction

PATH = Path("bundle/policy.bpw")


@pytest.fixture
def info() -> BundleInfo:
    limits = Limits((ChannelLimits("elbow", "rad/s", -1.0, 1.0, 4.0),), SafeAction("ramp", (0.0,)))
    angle = SignalContract(
        name="angle", components=("elbow",), unit="rad", frame="", low=-3, high=3, max_age_s=0.1, rate_hz=50
    )
    contract = Contract(task="t", control_dt_s=0.02, signals=(angle,), memory=(), action_kind="velocity", limits=limits)
    return BundleInfo(contract=contract, contract_hash=contract.hash, features=(), guard=GuardSettings())


def test_the_bundles_own_file_is_taken(info):
    check_native(encode(info.contract, info.guard, b"program"), info, PATH)


def test_another_contract_is_named(info):
    other = info.contract.model_copy(update={"control_dt_s": 0.01})
    with pytest.raises(ContractMismatch, match=other.hash):
        check_native(encode(other, info.guard), info, PATH)


def test_looser_guard_settings_are_refused(info):
    loose = GuardSettings(action_max_age_periods=50.0)
    with pytest.raises(ContractMismatch, match="guard settings"):
        check_native(encode(info.contract, loose), info, PATH)


@pytest.mark.parametrize(
    "change", [lambda d: d[:60], lambda d: d + b"x", lambda d: b"X" + d[1:], lambda d: d[:-1] + b"X"]
)
def test_a_damaged_file_is_refused(info, change):
    with pytest.raises(ContractMismatch, match=r"policy\.bpw"):
        check_native(change(encode(info.contract, info.guard, b"program")), info, PATH)

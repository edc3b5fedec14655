"""What the bytes of policy.bpw tell without the native core: whole, and made for this contract and these settings."""

from __future__ import annotations

from pathlib import Path

from bedplate.bundle.bpw import contract_hash_of, encode_contract, section_of
from bedplate.bundle.contract import BundleInfo
from bedplate.core.errors import BedplateError, ContractMismatch


def check_native(data: bytes, info: BundleInfo, path: Path) -> None:
    """Check that a robot in C would get the contract and the guard settings of bundle.json.

    Raises:
        ContractMismatch: says what differs.
    """
    try:
        found = contract_hash_of(data)
        section = section_of(data)
    except BedplateError as error:
        raise ContractMismatch(f"{path}: {error.found}", error.expected, error.next_step) from error
    if found != info.contract_hash:
        raise ContractMismatch(
            f"{path} was exported for the contract {found}", f"{info.contract_hash}, as in bundle.json"
        )
    if section != encode_contract(info.contract, info.guard):
        raise ContractMismatch(
            f"{path} holds other names, limits or guard settings", "those of bundle.json", "export the bundle again"
        )

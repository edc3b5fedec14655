"""policy.bpw: what a robot side in C needs of a bundle, in one binary file that needs no JSON parser.

Little-endian. A header of 128 bytes, the contract with the guard's settings, then the program of the policy (empty
where only a guard is wanted). `native/src/contract.c` reads what is written here.
"""

from __future__ import annotations

import hashlib
import struct
import zlib

from bedplate.bundle.contract import Contract, GuardSettings
from bedplate.core.errors import BedplateError

MAGIC = b"BEDPLATE"
VERSION = 1
HEADER_BYTES = 128
_HEADER = struct.Struct("<8sIIQ32s32sQQ20x")
_LARGEST_U32 = 2**32 - 1


def encode(contract: Contract, settings: GuardSettings, program: bytes = b"") -> bytes:
    """The content of a policy.bpw.

    Args:
        contract: of robot and policy.
        settings: of the guard.
        program: the policy as `bedplate.export.native` writes it; empty for a guard alone.

    Raises:
        BedplateError: a name or number that the format cannot hold.
    """
    try:
        contract_hash = bytes.fromhex(contract.hash)
    except ValueError as error:
        raise BedplateError("a number in the contract is not finite", "finite bounds and times") from error
    section = encode_contract(contract, settings)
    content = section + program
    head = _HEADER.pack(
        MAGIC,
        VERSION,
        HEADER_BYTES,
        HEADER_BYTES + len(content),
        contract_hash,
        hashlib.sha256(content).digest(),
        len(section),
        len(program),
    )
    return head + struct.pack("<I", zlib.crc32(head)) + content


def encode_contract(contract: Contract, settings: GuardSettings) -> bytes:
    """The contract section: texts with length and NUL, unsigned 32-bit counts, doubles."""
    limits = contract.limits
    parts = [_text(contract.task), _text(contract.action_kind), _text(limits.safe_action.mode)]
    parts += [_numbers(contract.control_dt_s, settings.action_max_age_periods)]
    parts += [_count(settings.overrun_limit), _count(settings.range_fault_ticks)]

    # signals, in the order of the state vector
    parts += [_count(len(contract.signals)), _count(sum(signal.size for signal in contract.signals))]
    for signal in contract.signals:
        parts += [_text(signal.name), _text(signal.unit), _text(signal.frame)]
        parts += [_numbers(signal.low, signal.high, signal.max_age_s, signal.rate_hz), _count(signal.size)]
        parts += [_text(component) for component in signal.components]

    parts.append(_count(len(contract.memory)))
    for term in contract.memory:
        parts += [_text(term.name), _count(term.size), _numbers(term.initial), _text(term.initial_signal)]

    # channels; "" stands for a limit that is not there
    if len(limits.safe_action.value) != len(limits.channels):
        raise BedplateError(
            f"safe_action has {len(limits.safe_action.value)} values", f"{len(limits.channels)}, one per channel"
        )
    parts.append(_count(len(limits.channels)))
    for limit, safe in zip(limits.channels, limits.safe_action.value, strict=True):
        parts += [_text(limit.channel), _text(limit.unit), _numbers(limit.low, limit.high, limit.rate_per_s, safe)]
        position, effort = limit.position, limit.effort
        parts += [_text(position.signal if position else ""), _count(position.index if position else 0)]
        parts += [_numbers(position.low if position else 0.0, position.high if position else 0.0)]
        parts += [_text(effort.signal if effort else ""), _count(effort.index if effort else 0)]
        parts += [_numbers(effort.high if effort else 0.0)]
    return b"".join(parts)


def contract_hash_of(data: bytes) -> str:
    """The contract hash in a policy.bpw's header.

    Raises:
        BedplateError: the header is not one.
    """
    if len(data) < HEADER_BYTES or data[:8] != MAGIC:
        raise BedplateError("not a policy.bpw", "a file written by bedplate export", "export the bundle again")
    (crc,) = struct.unpack_from("<I", data, HEADER_BYTES - 4)
    fields = _HEADER.unpack_from(data)
    if crc != zlib.crc32(data[: HEADER_BYTES - 4]) or fields[1] != VERSION or fields[3] != len(data):
        raise BedplateError(
            f"policy.bpw of version {fields[1]} is damaged or cut off",
            f"{fields[3]} bytes of version {VERSION}",
            "export the bundle again",
        )
    found: str = fields[4].hex()
    return found


def section_of(data: bytes) -> bytes:
    """The contract section of a policy.bpw whose header is whole.

    Raises:
        BedplateError: the content was changed.
    """
    fields = _HEADER.unpack_from(data)
    content = data[HEADER_BYTES:]
    if fields[5] != hashlib.sha256(content).digest() or fields[6] + fields[7] != len(content):
        raise BedplateError("policy.bpw was changed: its SHA-256 does not fit", "", "export the bundle again")
    return content[: fields[6]]


def _text(value: str) -> bytes:
    data = value.encode()
    if b"\0" in data:
        raise BedplateError(f"the name {value!r} holds a NUL", "a plain name")
    return struct.pack("<I", len(data)) + data + b"\0"


def _numbers(*values: float) -> bytes:
    return struct.pack(f"<{len(values)}d", *values)


def _count(value: int) -> bytes:
    if not 0 <= value <= _LARGEST_U32:
        raise BedplateError(f"the count {value}", f"a number from 0 to {_LARGEST_U32}")
    return struct.pack("<I", value)

"""Read golden.npz strictly: exactly the arrays of the contract, float32, finite, no pickle, bounded memory."""

from __future__ import annotations

import io
import json
import math
import struct
import tokenize
import zipfile
import zlib
from pathlib import Path
from typing import TYPE_CHECKING

from bedplate.bundle.checks.contract import first_difference
from bedplate.bundle.checks.folder import MAX_FILE_BYTES
from bedplate.bundle.contract import Contract
from bedplate.bundle.golden import Golden
from bedplate.core.errors import ContractMismatch

if TYPE_CHECKING:
    import numpy as np

# everything that zipfile and NumPy raise on a damaged or hostile archive
_BROKEN = (
    zipfile.BadZipFile, zlib.error, struct.error, ValueError, TypeError, SyntaxError, KeyError, EOFError, OSError,
    NotImplementedError, RuntimeError, MemoryError, OverflowError, tokenize.TokenError,
)  # fmt: skip


def read_golden(data: bytes, contract: Contract, path: Path) -> Golden:
    """The samples in golden.npz.

    Raises:
        ContractMismatch: names the array, what was found and what was expected.
    """
    try:
        arrays = _read_arrays(data)
    except _BROKEN as error:
        raise ContractMismatch(f"{path} cannot be read: {error}", "a golden.npz written by bedplate export") from error
    _check_contract(arrays.pop("contract", None), contract, path)
    # exactly the arrays that the contract implies
    sizes = {f"signal.{signal.name}": signal.size for signal in contract.signals}
    for term in contract.memory:
        sizes |= {f"memory.{term.name}": term.size, f"memory.{term.name}.next": term.size}
    sizes["command"] = len(contract.channels)
    if arrays.keys() != sizes.keys():
        raise ContractMismatch(f"{path} holds the arrays {sorted(arrays)}", f"{sorted(sizes)}")
    samples = len(arrays["command"]) if arrays["command"].ndim else 0
    for name, size in sizes.items():
        _check_array(arrays[name], name, (samples, size), path)
    return Golden(
        signals={signal.name: arrays[f"signal.{signal.name}"] for signal in contract.signals},
        memory={term.name: arrays[f"memory.{term.name}"] for term in contract.memory},
        command=arrays["command"],
        memory_next={term.name: arrays[f"memory.{term.name}.next"] for term in contract.memory},
        contract=contract,
    )


def _read_arrays(data: bytes) -> dict[str, np.ndarray]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = archive.infolist()
        total_bytes = sum(member.file_size for member in members)
        if total_bytes > MAX_FILE_BYTES:
            raise ValueError(f"it unpacks to {total_bytes} bytes, more than {MAX_FILE_BYTES}")
        if len({member.filename for member in members}) != len(members):
            raise ValueError("an array occurs twice")
        return {member.filename.removesuffix(".npy"): _read_array(archive, member) for member in members}


def _read_array(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> np.ndarray:
    import numpy as np

    # read no more than the archive declares, whatever the compressed stream holds
    with archive.open(member) as file:
        content = io.BytesIO(file.read(member.file_size))
    # the header must not promise more than there is
    version = np.lib.format.read_magic(content)
    if version != (1, 0):
        raise ValueError(f"array {member.filename} has the format {version}")
    shape, _, dtype = np.lib.format.read_array_header_1_0(content)
    if dtype.hasobject:
        raise ValueError(f"array {member.filename} holds Python objects (pickle)")
    if math.prod(shape) * dtype.itemsize != len(content.getbuffer()) - content.tell():
        raise ValueError(f"array {member.filename} says shape {shape}, but holds another number of bytes")
    content.seek(0)
    return np.lib.format.read_array(content, allow_pickle=False)


def _check_contract(text: np.ndarray | None, contract: Contract, path: Path) -> None:
    # samples of another contract prove nothing
    if text is None or text.dtype.kind != "U" or text.ndim:
        raise ContractMismatch(f"{path} does not say which contract its samples belong to", "an array named contract")
    try:
        theirs = json.loads(str(text))
    except (ValueError, RecursionError) as error:
        raise ContractMismatch(f"{path}: its contract is not JSON: {error}", "a golden.npz of this bundle") from error
    difference = first_difference(contract.model_dump(mode="json"), theirs)
    if difference is not None:
        field, found, expected = difference
        raise ContractMismatch(
            f"{path.with_name('bundle.json')}: {field or 'contract'} is {found!r:.200}",
            f"{expected!r:.200}, with which {path.name} was recorded",
            "somebody edited the contract; export the bundle again",
        )


def _check_array(values: np.ndarray, name: str, shape: tuple[int, int], path: Path) -> None:
    import numpy as np

    if values.dtype != np.float32 or values.shape != shape or shape[0] < 1:
        expected = f"float32 (samples >= 1, {shape[1]}), the same number of samples in each"
        raise ContractMismatch(f"{path}: {name} is {values.dtype} {values.shape}", expected)
    if not np.isfinite(values).all():
        raise ContractMismatch(f"{path}: {name} holds a number that is not finite", "finite numbers")

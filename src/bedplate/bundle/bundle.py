"""Write a bundle whole or not at all; read it with every check that needs no inference."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from bedplate.bundle.checks.contract import check_contract, check_same_contract
from bedplate.bundle.checks.document import EXPORT_AGAIN, check_own_hash, parse_info, render_info
from bedplate.bundle.checks.folder import read_files, size_limit_bytes
from bedplate.bundle.checks.golden import read_golden
from bedplate.bundle.checks.graph import check_graph
from bedplate.bundle.checks.hashes import check_hashes
from bedplate.bundle.checks.native import check_native
from bedplate.bundle.contract import BundleInfo, Contract
from bedplate.bundle.golden import Golden
from bedplate.bundle.replace import replace_folder
from bedplate.core.errors import BedplateError, ContractMismatch
from bedplate.core.files import storage_error

BUNDLE_JSON = "bundle.json"
POLICY_ONNX = "policy.onnx"
GOLDEN = "golden.npz"
POLICY_BPW = "policy.bpw"
"""For the native core; absent where the policy holds an operation that the core does not have."""


@dataclass(frozen=True)
class Bundle:
    """A bundle that passed every check.

    Attributes:
        folder: where it was read from.
        info: bundle.json.
        files: file name -> content as hashed; use these bytes, not the files on disk.
        golden: the recorded samples.
    """

    folder: Path
    info: BundleInfo
    files: Mapping[str, bytes] = field(repr=False)
    golden: Golden = field(repr=False)

    @property
    def contract(self) -> Contract:
        """What robot and policy agree on."""
        return self.info.contract

    @property
    def policy_onnx(self) -> bytes:
        """The policy graph."""
        return self.files[POLICY_ONNX]


def write_bundle(folder: Path, info: BundleInfo, files: Mapping[str, bytes]) -> BundleInfo:
    """Write a bundle folder; an earlier bundle at the same place is replaced in one step.

    Args:
        folder: the bundle's folder; it may hold an earlier bundle, and nothing else.
        info: its hashes are filled in here.
        files: file name -> content, with policy.onnx and golden.npz.

    Returns:
        The info as written, hashes included.

    Raises:
        ContractMismatch: the result would not pass its own reader.
        BedplateError: the folder holds something that is not a bundle.
        StorageError: the disk is full or the place cannot be written; an earlier bundle is unchanged.
    """
    folder = Path(os.path.realpath(folder))
    sealed = seal(info, files)
    contents = {BUNDLE_JSON: render_info(sealed), **files}
    # never write what the reader would refuse
    for name, data in contents.items():
        if name != os.path.basename(name) or name in {"", ".", ".."} or len(data) > size_limit_bytes(name):
            raise BedplateError(f"file {name!r} of {len(data)} bytes", "a plain file name and a bounded size")
    check_contents(folder, contents)
    # never throw away what is not a bundle
    if not _replaceable(folder):
        raise BedplateError(
            f"{folder} exists and is not a bundle, or holds more than one",
            "an absent folder or an earlier bundle and nothing else",
            "move the other files away",
        )
    replace_folder(folder, contents)
    return sealed


def _replaceable(folder: Path) -> bool:
    try:
        names = os.listdir(folder)
    except FileNotFoundError:
        return True
    except NotADirectoryError:
        return False
    except OSError as error:
        raise storage_error(folder, error) from error
    if not names:
        return True
    # exactly what that bundle.json lists may be thrown away, also when it is damaged or of another schema
    try:
        listed = json.loads((folder / BUNDLE_JSON).read_bytes())["files"]
        return set(names) <= {BUNDLE_JSON, *listed}
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return False


def seal(info: BundleInfo, files: Mapping[str, bytes]) -> BundleInfo:
    """`info` with the hashes of contract, files and itself filled in.

    Raises:
        BedplateError: a number is NaN or infinite, or a value does not go into JSON.
    """
    hashes = {name: hashlib.sha256(data).hexdigest() for name, data in sorted(files.items())}
    try:
        sealed = info.model_copy(update={"contract_hash": info.contract.hash, "files": hashes, "bundle_hash": ""})
        return sealed.model_copy(update={"bundle_hash": sealed.content_hash})
    except (TypeError, ValueError) as error:
        raise BedplateError(f"bundle.json cannot be written: {error}", "finite numbers and texts") from error


def read_bundle(folder: Path, expected: Contract | None = None) -> Bundle:
    """Read a bundle; refuse it on any mismatch.

    Args:
        folder: the bundle's folder.
        expected: the contract of the robot it shall drive, if known.

    Raises:
        BedplateError: the folder is absent.
        ContractMismatch: names the file or field, what was found and what was expected.
    """
    folder = Path(folder)
    bundle = check_contents(folder, read_files(folder))
    if expected is not None:
        check_same_contract(bundle.contract, expected, "the robot")
    return bundle


def check_contents(folder: Path, contents: Mapping[str, bytes]) -> Bundle:
    """Every check on the content of a bundle: schema, hashes, contract, graph, samples.

    Args:
        folder: where it came from, for messages.
        contents: file name -> content, with bundle.json.

    Raises:
        ContractMismatch: names the file or field.
    """
    for name in (BUNDLE_JSON, POLICY_ONNX, GOLDEN):
        if name not in contents:
            raise ContractMismatch(f"{folder} lacks {name}", "a bundle written by bedplate export", EXPORT_AGAIN)
    files = {name: data for name, data in contents.items() if name != BUNDLE_JSON}
    info = parse_info(contents[BUNDLE_JSON], folder / BUNDLE_JSON)
    check_hashes(info.files, files, folder)
    # the samples carry the contract they were made with, so a changed name or number can be named
    golden = read_golden(files[GOLDEN], info.contract, folder / GOLDEN)
    check_contract(info, folder / BUNDLE_JSON)
    check_own_hash(info, folder / BUNDLE_JSON)
    check_graph(files[POLICY_ONNX], info.contract_hash, folder / POLICY_ONNX)
    if POLICY_BPW in files:
        check_native(files[POLICY_BPW], info, folder / POLICY_BPW)
    return Bundle(folder, info, files, golden)

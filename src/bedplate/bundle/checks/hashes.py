"""Every file is there, none is extra, and each has the content that was exported."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

from bedplate.bundle.checks.document import EXPORT_AGAIN
from bedplate.core.errors import ContractMismatch


def check_hashes(expected: Mapping[str, str], files: Mapping[str, bytes], folder: Path) -> None:
    """Compare the files found with the table in bundle.json.

    Args:
        expected: file name -> SHA-256.
        files: file name -> content, without bundle.json.
        folder: the bundle, for messages.

    Raises:
        ContractMismatch: names the file.
    """
    missing, extra = sorted(expected.keys() - files.keys()), sorted(files.keys() - expected.keys())
    if missing:
        raise ContractMismatch(
            f"{folder} lacks {', '.join(missing)}", "every file that bundle.json lists", EXPORT_AGAIN
        )
    if extra:
        raise ContractMismatch(
            f"{folder} also holds {', '.join(extra)}",
            "only files that bundle.json lists",
            "move them out of the bundle",
        )
    for name, wanted in expected.items():
        found = hashlib.sha256(files[name]).hexdigest()
        if found != wanted:
            raise ContractMismatch(
                f"{folder / name} has the SHA-256 {found}", f"{wanted}, as bundle.json says", EXPORT_AGAIN
            )

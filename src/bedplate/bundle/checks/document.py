"""Read bundle.json strictly: no unknown or repeated keys, no NaN, no other schema, no changed byte."""

from __future__ import annotations

import json
import math
from itertools import zip_longest
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from bedplate.bundle.contract import SCHEMA, BundleInfo
from bedplate.core.errors import ContractMismatch, nearest

EXPORT_AGAIN = "copy the bundle again, or export it again with: bedplate export RUN"


def render_info(info: BundleInfo) -> bytes:
    """bundle.json as it is written: indented, full-precision numbers; `info` is sealed."""
    return (json.dumps(info.model_dump(mode="json", by_alias=True), indent=2, allow_nan=False) + "\n").encode()


def parse_info(data: bytes, path: Path) -> BundleInfo:
    """The BundleInfo in `data`, checked for schema, keys, types and form.

    Args:
        data: content of bundle.json.
        path: where it came from, for messages.

    Raises:
        ContractMismatch: names the field, what was found and what was expected.
    """
    raw = _parse_json(data, path)
    _check_schema(raw.get("schema"), path)
    # unknown keys and wrong types
    try:
        info = BundleInfo.model_validate(raw)
    except (ValidationError, RecursionError) as error:
        raise _explain(error, path) from error
    # every byte must be what the exporter wrote; this also finds numbers written as texts and ignored keys
    rendered = render_info(info)
    if rendered != data:
        difference = _first_difference(data, rendered)
        raise ContractMismatch(f"{path} was changed after export: {difference}", "", EXPORT_AGAIN)
    return info


def check_own_hash(info: BundleInfo, path: Path) -> None:
    """Check that guard settings, features, evaluation and provenance are as exported.

    Raises:
        ContractMismatch: bundle.json was edited.
    """
    if info.bundle_hash != info.content_hash:
        raise ContractMismatch(
            f"{path}: bundle_hash is {info.bundle_hash or 'empty'}",
            f"{info.content_hash}, the hash of this file's content: somebody edited it",
            EXPORT_AGAIN,
        )


def _parse_json(data: bytes, path: Path) -> dict[str, Any]:
    try:
        raw = json.loads(
            data.decode("utf-8"),
            parse_constant=_refuse_constant,
            parse_float=_finite_float,
            object_pairs_hook=_unique_keys,
        )
    except (ValueError, RecursionError) as error:
        raise ContractMismatch(f"{path} is not valid JSON: {error}", "a file written by bedplate export") from error
    if not isinstance(raw, dict):
        raise ContractMismatch(f"{path} holds a {type(raw).__name__}", "a JSON object")
    return raw


def _refuse_constant(text: str) -> float:
    raise ValueError(f"the number {text}")


def _finite_float(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"the number {text} is too large")
    return value


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError(f"the key {next(key for key in keys if keys.count(key) > 1)!r} occurs twice")
    return result


def _check_schema(found: Any, path: Path) -> None:
    if found == SCHEMA and isinstance(found, int):
        return
    if isinstance(found, int) and found > SCHEMA:
        next_step = "update Bedplate on this machine, or export the bundle with this version"
    else:
        next_step = EXPORT_AGAIN
    raise ContractMismatch(f"{path}: schema is {found!r}", f"{SCHEMA}, the one this Bedplate reads", next_step)


def _explain(error: ValidationError | RecursionError, path: Path) -> ContractMismatch:
    if isinstance(error, RecursionError):
        return ContractMismatch(f"{path} is nested too deeply", "a file written by bedplate export")
    first = error.errors()[0]
    field = ".".join(str(part) for part in first["loc"])
    if first["type"] in ("extra_forbidden", "unexpected_keyword_argument"):
        near = nearest(str(first["loc"][-1]), BundleInfo.model_fields)
        next_step = f"nearest: {near}" if near else ""
        return ContractMismatch(f"{path}: unknown key {field!r}", f"the keys of schema {SCHEMA}", next_step)
    found = str(first.get("input"))[:80]
    return ContractMismatch(f"{path}: {field} is {found}", first["msg"], EXPORT_AGAIN)


def _first_difference(found: bytes, expected: bytes) -> str:
    lines = zip_longest(found.decode("utf-8").split("\n"), expected.decode("utf-8").split("\n"), fillvalue="")
    for number, (line, wanted) in enumerate(lines, start=1):
        if line != wanted:
            return f"line {number} is {line.strip()[:80]!r}, expected {wanted.strip()[:80]!r}"
    return "line ends differ"

"""The version matrix as data: `data/matrix.yaml`, each row with its source and the date it was checked."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

import yaml

from bedplate.core.errors import BedplateError
from bedplate.host.versions import version

TABLES: dict[str, frozenset[str]] = {
    "driver_branches": frozenset({"branch", "kind", "end"}),
    "cuda_drivers": frozenset({"cuda", "driver"}),
    "gpu_generations": frozenset({"generation", "capabilities", "flavour", "last_branch", "last_cuda", "first_cuda"}),
    "torch_builds": frozenset({"torch", "python", "cuda"}),
    "wheel_architectures": frozenset({"wheel", "torch", "capabilities"}),
    "podman": frozenset({"rhel", "podman", "cdi"}),
}
"""Table -> the keys of a row, beside source and verified."""


@dataclass(frozen=True)
class DriverBranch:
    """One driver branch; `end` is its last month, "2026-06"."""

    branch: int
    kind: str
    end: str

    @property
    def ended(self) -> bool:
        """Whether the last month is over today."""
        return self.end < datetime.date.today().strftime("%Y-%m")


@cache
def load() -> dict[str, list[dict[str, Any]]]:
    """Every table.

    Raises:
        BedplateError: a row has no source or date, or an unknown key.
    """
    text = (resources.files("bedplate.host") / "data" / "matrix.yaml").read_text(encoding="utf-8")
    return checked(yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)))


def checked(tables: dict[str, list[dict[str, Any]]]) -> dict[str, list[dict[str, Any]]]:
    """The same tables, refused when a row is not whole.

    Raises:
        BedplateError: an unknown table or key, or a row without source or date.
    """
    for name, rows in tables.items():
        if name not in TABLES:
            raise BedplateError(f"matrix: unknown table {name!r}", f"one of {', '.join(TABLES)}")
        for row in rows:
            _check_row(name, row)
    return tables


def _check_row(name: str, row: dict[str, Any]) -> None:
    unknown = set(row) - TABLES[name] - {"source", "verified"}
    if unknown:
        raise BedplateError(
            f"matrix: {name} has the unknown key {sorted(unknown)[0]!r}", ", ".join(sorted(TABLES[name]))
        )
    if not row.get("source") or not (row.get("verified") is False or isinstance(row.get("verified"), datetime.date)):
        raise BedplateError(
            f"matrix: a row of {name} has no source or date: {row}", "source, and verified: a date or false"
        )


def rows(table: str) -> list[dict[str, Any]]:
    """Rows that were verified; others are for reading only and decide nothing."""
    return [row for row in load()[table] if row["verified"] is not False]


def driver_branch(number: int) -> DriverBranch | None:
    """The branch with that number, when it is known."""
    found = [row for row in rows("driver_branches") if row["branch"] == number]
    return DriverBranch(number, found[0]["kind"], str(found[0]["end"])) if found else None


def least_driver(cuda: str) -> str | None:
    """The driver that a CUDA runtime needs, by minor-version compatibility: the first of its major version."""
    floor = {11: "450.80.02", 12: "525.60.13", 13: "580.65.06"}
    return floor.get(version(cuda)[0]) if version(cuda) else None


def matching_driver(cuda: str) -> str | None:
    """The driver that came with a CUDA version: what PTX compilation of that version needs."""
    found = [row for row in rows("cuda_drivers") if str(row["cuda"]) == cuda]
    return str(found[0]["driver"]) if found else None

"""The matrix: whole rows, and what is not verified decides nothing."""

from __future__ import annotations

import datetime

import pytest

from bedplate.core.errors import BedplateError
from bedplate.host import matrix

ROW = {"branch": 1, "kind": "x", "end": "2030-01", "source": "s", "verified": datetime.date(2026, 1, 1)}


def test_the_shipped_tables_are_whole() -> None:
    assert set(matrix.load()) == set(matrix.TABLES)
    assert all(matrix.rows(table) for table in matrix.TABLES)


@pytest.mark.parametrize("change", [{"source": ""}, {"verified": "yesterday"}, {"brnach": 2}])
def test_a_row_that_is_not_whole_is_refused(change: dict) -> None:
    assert matrix.checked({"driver_branches": [ROW]})
    with pytest.raises(BedplateError, match="matrix"):
        matrix.checked({"driver_branches": [{**ROW, **change}]})
    with pytest.raises(BedplateError, match="unknown table"):
        matrix.checked({"drivers": [ROW]})


def test_rows_that_are_not_verified_are_not_used() -> None:
    assert any(row["verified"] is False for row in matrix.load()["driver_branches"])
    assert matrix.driver_branch(470) is None
    assert matrix.matching_driver("13.3") is None


def test_answers() -> None:
    assert matrix.least_driver("13.0") == "580.65.06"
    assert matrix.matching_driver("12.8") == "570.26.00"
    assert matrix.DriverBranch(535, "LTS", "2026-06").ended
    assert not matrix.DriverBranch(999, "LTS", "2999-01").ended

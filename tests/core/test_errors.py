"""Messages say what was found, what was expected and what to do next; codes are those of the command line."""

from __future__ import annotations

import pytest

from bedplate.core.errors import (
    BedplateError,
    ContractMismatch,
    GateFailed,
    Interrupted,
    StorageError,
    UnknownName,
    nearest,
)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (BedplateError, 2),
        (ContractMismatch, 2),
        (StorageError, 2),
        (UnknownName, 2),
        (GateFailed, 1),
        (Interrupted, 130),
    ],
)
def test_exit_codes(error: type, code: int) -> None:
    assert error.exit_code == code


def test_text_has_all_parts_and_no_empty_ones() -> None:
    assert str(BedplateError("a", "b", "c")) == "a\nexpected: b\nnext step: c"
    assert str(BedplateError("a")) == "a"


def test_interrupted_is_not_caught_as_bad_input() -> None:
    assert not issubclass(Interrupted, BedplateError)


def test_unknown_name_with_an_empty_table() -> None:
    assert UnknownName("task", "x", []).expected == "one of: none"


@pytest.mark.parametrize(
    ("name", "known", "near"), [("nav_lidr", ["arm_reach", "nav_lidar"], "nav_lidar"), ("qq", ["ant"], "")]
)
def test_nearest(name: str, known: list[str], near: str) -> None:
    assert nearest(name, known) == near

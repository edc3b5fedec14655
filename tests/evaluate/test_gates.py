"""Gates: what they understand, what they refuse, and that they can fail."""

from __future__ import annotations

import pytest

from bedplate.core.errors import BedplateError, GateFailed, UnknownName
from bedplate.evaluate.gates import Gate, check_gates, check_names, parse_gates


def test_several_gates_in_one_text():
    expected = [Gate("success", ">=", 0.95), Gate("collisions", "<=", 0.03), Gate("clamp_rate", "<", 0.1)]
    assert parse_gates(["success>=0.95 collisions <= 3%", "clamp_rate<1e-1"]) == expected
    assert parse_gates([]) == []


@pytest.mark.parametrize(
    "text", ["success", "success=0.9", "success>=high", ">=0.9", "success>=0.9.1", "success>=1e999"]
)
def test_other_forms_are_refused(text):
    with pytest.raises(BedplateError) as error:
        parse_gates([text])
    assert error.value.exit_code == 2
    assert "quotes" in error.value.next_step


def test_a_gate_holds_on_its_bound_and_fails_beyond_it():
    gates = parse_gates(["success>=0.95"])
    check_gates(gates, {"success": 0.95})
    with pytest.raises(GateFailed, match=r"success is 0\.949, success>=0\.95 asked") as error:
        check_gates(gates, {"success": 0.949})
    assert error.value.exit_code == 1


@pytest.mark.parametrize("value", [None, float("nan")])
def test_what_was_not_measured_fails(value):
    with pytest.raises(GateFailed):
        check_gates(parse_gates(["clamp_rate<=1"]), {"clamp_rate": value})


def test_every_failure_is_listed():
    with pytest.raises(GateFailed, match=r"success.*; collisions"):
        check_gates(parse_gates(["success>0.5, collisions<0.1"]), {"success": 0.1, "collisions": 0.9})


def test_an_unknown_figure_is_refused_before_anything_runs():
    with pytest.raises(UnknownName, match="unknown figure 'sucess'") as error:
        check_names(parse_gates(["sucess>=0.9"]), ["path_efficiency"])
    assert "success" in error.value.next_step
    check_names(parse_gates(["path_efficiency>=0.9"]), ["path_efficiency"])

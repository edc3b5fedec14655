from __future__ import annotations

from typing import Any

import pytest

from bedplate.core.errors import BedplateError
from bedplate.core.settings import expectation, parse_setting, task_parameters


@pytest.mark.parametrize(
    ("text", "keys", "value"),
    [
        ("learn.gamma=0.98", ("learn", "gamma"), 0.98),
        ("learn.learning_rate=1e-3", ("learn", "learning_rate"), 1e-3),
        ("seed=3", ("seed",), 3),
        ("task.obstacles=[12, 12]", ("task", "obstacles"), [12, 12]),
        ("task.robot=arm7", ("task", "robot"), "arm7"),
        ("env.randomisation=false", ("env", "randomisation"), False),
        ("description=a=b", ("description",), "a=b"),
        ("learn.target_kl=", ("learn", "target_kl"), None),
    ],
)
def test_keys_and_value(text: str, keys: tuple[str, ...], value: Any) -> None:
    found = parse_setting(text)
    assert found == (keys, value) and type(found[1]) is type(value)


@pytest.mark.parametrize(
    ("text", "words"), [("gamma", "has no value"), ("=3", "has no value"), ("a..b=3", "has no value"), ("a=[", "YAML")]
)
def test_what_is_no_setting_is_refused(text: str, words: str) -> None:
    with pytest.raises(BedplateError, match=words):
        parse_setting(text)


def test_the_example_is_the_callers() -> None:
    with pytest.raises(BedplateError) as refusal:
        parse_setting("obstacles", "task.obstacles=[12, 12]")
    assert "task.obstacles=[12, 12]" in refusal.value.next_step


def test_task_parameters_are_read_as_yaml() -> None:
    assert task_parameters(["task.a=[1, 2]", "task.b=x", "task.c=1e-3"]) == {"a": [1, 2], "b": "x", "c": 0.001}


@pytest.mark.parametrize("setting", ["a=1", "learn.gamma=1", "task.a.b=1"])
def test_a_setting_of_something_else_is_no_task_parameter(setting: str) -> None:
    with pytest.raises(BedplateError) as error:
        task_parameters([setting])
    assert "task.KEY=VALUE" in error.value.expected


@pytest.mark.parametrize(
    ("message", "text"),
    [
        ("Input should be a finite number", "a finite number"),
        ("Value error, Two do not fit", "two do not fit"),
        ("", ""),
    ],
)
def test_what_pydantic_expected_reads_after_expected(message: str, text: str) -> None:
    assert expectation(message) == text

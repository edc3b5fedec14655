"""`--set KEY.KEY=VALUE`: one setting of the command line as a path of keys and a value."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import yaml

from bedplate.core.errors import BedplateError

TASK_EXAMPLE = "'task.obstacles=[12, 12]'"


def parse_setting(text: str, example: str = "learn.gamma=0.98") -> tuple[tuple[str, ...], Any]:
    """Split "a.b=c" into the keys ("a", "b") and the YAML value c; numbers such as 1e-3 are numbers.

    Args:
        text: what stands behind `--set`.
        example: a setting that the command would take, for the message.

    Raises:
        BedplateError: no "=", an empty key, or a value that is not YAML.
    """
    key, equals, value_text = text.partition("=")
    keys = tuple(key.strip().split("."))
    if not equals or not all(keys):
        raise BedplateError(f"--set {text!r} has no value", "--set key.key=value", f"such as --set {example}")
    try:
        value = yaml.safe_load(value_text)
    except yaml.YAMLError as error:
        raise BedplateError(f"--set {text!r}: the value is not YAML", "a number, a word, or [a, b]") from error
    # YAML 1.1 reads 1e-3 as a word
    return keys, _number(value) if isinstance(value, str) else value


def task_parameters(settings: Iterable[str]) -> dict[str, Any]:
    """Arguments of a task's factory from settings such as "task.obstacles=[24, 40]".

    Raises:
        BedplateError: a setting is not of the form task.KEY=VALUE.
    """
    params: dict[str, Any] = {}
    for setting in settings:
        keys, value = parse_setting(setting, TASK_EXAMPLE)
        if len(keys) != 2 or keys[0] != "task":
            raise BedplateError(f"--set {setting!r}", "task.KEY=VALUE", f"such as --set {TASK_EXAMPLE}")
        params[keys[1]] = value
    return params


def _number(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def expectation(message: str) -> str:
    """What pydantic expected, as it reads after "expected:"; "Input should be a number" gives "a number"."""
    text = message.removeprefix("Value error, ").removeprefix("Input should be ")
    return text[:1].lower() + text[1:]

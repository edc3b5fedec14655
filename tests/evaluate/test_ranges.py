"""What was drawn from where, in words, for the events that were active."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest

from bedplate.evaluate.evaluation import Plan, evaluate
from bedplate.evaluate.ranges import active_ranges, in_words
from bedplate.evaluate.rollouts import Worlds
from bedplate.runs.layout import EVALUATION
from bedplate.tasks import TASKS, make_task
from bedplate.tasks.spec import Event


@dataclasses.dataclass(frozen=True)
class _Layout:
    size_m: tuple[float, float] = (8.0, 12.0)
    walled: bool = True


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ((0.8, 1.2), "0.8 to 1.2"),
        ([-1, 1], "-1 to 1"),
        ((3.0, 1.0, 2.0), "1 to 3 (3 values)"),
        (np.array([0.5, 0.25]), "0.25 to 0.5"),
        ((2.5,), "2.5"),
        (0.1, "0.1"),
        (True, "True"),
        ((), ""),
        ("anywhere", "anywhere"),
        (((0, 1), (2, 3)), "0 to 1, 2 to 3"),
        (_Layout(), "size_m 8 to 12; walled True"),
    ],
)
def test_a_range_in_words(value, text):
    assert in_words(value) == text


def nothing(state, ids, rng):
    """An event that changes nothing."""


@pytest.fixture
def varied(task):
    events = (
        *task.events,
        Event("layout", nothing, ranges={"worlds": _Layout()}, randomisation=False),
        Event("mass", nothing, ranges={"factor": (0.8, 1.2)}),
        Event("push", nothing, mode="interval", interval_s=(2.0, 5.0), ranges={"force_n": (0.0, 3.0)}),
    )
    return dataclasses.replace(task, events=events)


def test_an_evaluation_records_the_ranges_of_active_events_only(varied, full_speed, tmp_path):
    layout = {"layout": {"worlds": "size_m 8 to 12; walled True"}}
    for randomisation in (True, False):
        evaluate(varied, full_speed, Plan(Worlds(5, randomisation=randomisation), pictures=False), tmp_path)
        written = json.loads((tmp_path / EVALUATION).read_text())["randomisation_ranges"]
        drawn = {"mass": {"factor": "0.8 to 1.2"}, "push": {"force_n": "0 to 3", "every_s": "2 to 5"}}
        assert written == ({**layout, **drawn} if randomisation else layout)


@pytest.mark.parametrize("name", list(TASKS))
def test_the_ranges_of_every_task_are_text(name):
    ranges = active_ranges(make_task(name, {}), True)
    assert all(isinstance(text, str) and text for texts in ranges.values() for text in texts.values())

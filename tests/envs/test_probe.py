"""A task whose parts raise or give the wrong thing is refused before it is played, and the part is named."""

from __future__ import annotations

import dataclasses

import pytest
import torch

from bedplate.core.errors import BedplateError
from bedplate.envs.probe import probe_task
from bedplate.tasks import TASKS, make_task
from bedplate.tasks.spec import Event, Feature, RewardTerm, Termination


def _raise(*arguments):
    raise ValueError("a slip")


BROKEN = {
    "reward 'bad' raised ValueError: a slip": {"rewards": (RewardTerm("bad", _raise, 1.0),)},
    "reward 'bad' gives (2, 1)": {"rewards": (RewardTerm("bad", lambda s: torch.zeros(s.num_envs, 1), 1.0),)},
    "reward 'bad' gives float": {"rewards": (RewardTerm("bad", lambda s: 0.0, 1.0),)},
    "termination 'bad' gives torch.float32": {"terminations": (Termination("bad", lambda s: torch.zeros(s.num_envs)),)},
    "termination 'bad' raised ValueError": {"terminations": (Termination("bad", _raise),)},
    "success gives bool": {"success": lambda s: True},
    "metric 'bad' raised ValueError": {"metrics": {"bad": _raise}},
    "feature 'wide' gives (2, 1)": {"features": (Feature("wide", 3, lambda s, m: s["position"]),)},
    "reset raised ValueError": {"events": (Event("bad", _raise),)},
    "a control step raised ValueError": {"update": _raise},
    "model raised ValueError": {"model": _raise},
    "model gives a int": {"model": lambda: 3},
}


@pytest.mark.parametrize("words", BROKEN)
def test_a_broken_part_is_refused_by_name(make_cart, words):
    probe_task(make_cart())
    with pytest.raises(BedplateError) as error:
        probe_task(dataclasses.replace(make_cart(), **BROKEN[words]))
    assert words in error.value.found


def test_what_raises_says_where_to_mend_it(make_cart):
    with pytest.raises(BedplateError) as error:
        probe_task(make_cart(update=_raise))
    assert "test_probe.py" in error.value.next_step


def test_our_own_code_that_raises_is_our_bug(make_cart):
    own = lambda state: _raise()  # noqa: E731
    own.__module__ = "bedplate.tasks.cart"
    with pytest.raises(ValueError, match="a slip"):
        probe_task(make_cart(metrics={"bad": own}))


@pytest.mark.parametrize("name", list(TASKS))
def test_every_task_of_the_table_passes(name):
    probe_task(make_task(name, {}))

"""Broken physics is flagged in its own world, never silent, and leaves nothing in the user's folder."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from bedplate.core.errors import BedplateError
from bedplate.sim.batch import BatchEngine

NUM_ENVS = 4


def flags(engine):
    return engine.diverged.tolist()


@pytest.mark.parametrize("current", [True, False], ids=["own data", "shared data"])
@pytest.mark.parametrize("poison", [np.nan, np.inf, -np.inf, 1e12], ids=str)
@pytest.mark.parametrize("field", ["qpos", "qvel"])
def test_a_broken_world_is_flagged_and_its_neighbours_are_untouched(rover, field, poison, current):
    model = rover()
    engine, clean = (BatchEngine(model, NUM_ENVS, decimation=3, current=current) for _ in range(2))
    for e in (engine, clean):
        e.reset(np.arange(NUM_ENVS))
        e.forward(np.arange(NUM_ENVS))
        e.step()
    engine.field(field).numpy()[2, 1] = poison
    engine.step()
    clean.step()
    assert flags(engine) == [False, False, True, False]
    others = [0, 1, 3]
    np.testing.assert_array_equal(engine.field("qpos").numpy()[others], clean.field("qpos").numpy()[others])
    assert sum(engine.warnings().values()) == 1


def test_every_divergence_is_flagged_even_without_a_reset_in_between(rover):
    """MuJoCo's own counter reads 1 after each of them: comparing counters would miss the second."""
    engine = BatchEngine(rover(), NUM_ENVS, decimation=2)
    for _ in range(3):
        engine.field("qvel").numpy()[1] = np.nan
        engine.step()
        assert flags(engine) == [False, True, False, False]
    engine.step()
    assert flags(engine) == [False] * NUM_ENVS


def test_a_world_that_breaks_in_the_last_substep_is_flagged_at_once(rover):
    """MuJoCo would notice at the next step only, when its observation has already been used."""
    engine = BatchEngine(rover(), NUM_ENVS, decimation=1)
    engine.reset(np.arange(NUM_ENVS))
    engine.forward(np.arange(NUM_ENVS))
    # finite before, out of range after: MuJoCo checks positions and velocities before it integrates
    engine.expand("opt.timestep").numpy()[3] = np.inf
    engine.step()
    assert flags(engine) == [False, False, False, True]


def test_a_non_finite_control_is_flagged(rover):
    engine = BatchEngine(rover(), NUM_ENVS, decimation=2)
    engine.field("ctrl").numpy()[0] = np.nan
    engine.step()
    assert flags(engine) == [True, False, False, False]


def test_worlds_in_which_mujoco_raises_are_flagged(weld):
    engine = BatchEngine(weld, NUM_ENVS, decimation=2)
    engine.expand("eq_type").numpy()[[1, 3]] = 99
    engine.step()
    assert flags(engine) == [False, True, False, True]
    times = engine.field("time").numpy()
    assert times[0] > 0 and times[1] == 0.0


def test_a_raise_in_forward_is_flagged_by_the_next_step(weld):
    engine = BatchEngine(weld, NUM_ENVS, decimation=2)
    kinds = engine.expand("eq_type").numpy()
    kinds[2] = 99
    engine.forward(np.arange(NUM_ENVS))
    kinds[2] = kinds[0]
    engine.step()
    assert flags(engine) == [False, False, True, False]
    engine.step()
    assert flags(engine) == [False] * NUM_ENVS


def test_impossible_constants_are_refused_by_world(weld):
    engine = BatchEngine(weld, NUM_ENVS)
    engine.expand("body_mass").numpy()[2] = 0.0
    with pytest.raises(BedplateError, match="world 2"):
        engine.set_const(np.arange(NUM_ENVS))


def test_no_log_file_and_no_print_when_a_world_diverges(rover, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    engine = BatchEngine(rover(), NUM_ENVS, decimation=2)
    engine.field("qvel").numpy()[:] = np.nan
    engine.step()
    assert engine.diverged.all()
    assert list(tmp_path.iterdir()) == []
    assert capfd.readouterr() == ("", "")


def test_a_users_own_warning_handler_still_hears(rover):
    heard = []
    before = mujoco.get_mju_user_warning()
    mujoco.set_mju_user_warning(heard.append)
    try:
        engine = BatchEngine(rover(), NUM_ENVS, decimation=2)
        engine.field("qvel").numpy()[1] = np.nan
        engine.step()
    finally:
        mujoco.set_mju_user_warning(before)
    assert "QVEL" in heard[0]

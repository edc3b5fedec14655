"""Disc worlds: a function of their id, within their description, and solvable."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from bedplate.core.errors import BedplateError
from bedplate.tasks.terms.worlds import DiscWorld, DiscWorlds

WORLDS = DiscWorlds(
    version=1,
    arena_m=10.0,
    radii_m=tuple(np.linspace(0.15, 0.5, 20)),
    count=(12, 20),
    robot_radius_m=0.177,
    inflation_m=0.1,
    min_distance_m=5.0,
    keep_open=0.5,
)


@pytest.fixture(scope="module")
def sampled() -> list[DiscWorld]:
    return [WORLDS.sample(i) for i in range(150)]


def test_equal_ids_give_equal_worlds_and_others_do_not(sampled):
    again = WORLDS.sample(17)
    assert np.array_equal(again.centres, sampled[17].centres)
    assert np.array_equal(again.goal, sampled[17].goal)
    assert not np.array_equal(sampled[17].goal, sampled[18].goal)
    assert not np.array_equal(replace(WORLDS, version=2).sample(17).goal, again.goal)


def test_worlds_keep_to_their_description(sampled):
    for world in sampled:
        assert 12 <= len(world.centres) <= 20
        assert world.radii_m.min() >= 0.15
        assert world.radii_m.max() <= 0.5
        assert np.linalg.norm(world.goal - world.start) >= 5.0
        for point in (world.start, world.goal):
            assert np.abs(point).max() < 5.0 - 0.177
            assert (np.linalg.norm(world.centres - point, axis=1) - world.radii_m).min() > 0.177


def test_every_world_is_solvable_and_most_block_the_straight_path(sampled):
    assert all(WORLDS.path_exists(world) for world in sampled)
    open_share = np.mean([WORLDS.straight_path_is_free(world) for world in sampled])
    assert 0.1 < open_share < 0.35


def test_a_draw_without_a_way_through_is_drawn_again():
    dense = replace(WORLDS, radii_m=(0.5,) * 34, count=(34, 34), keep_open=1.0)
    drawn = [dense._draw(np.random.default_rng([1, i])) for i in range(60)]
    blocked = [i for i, world in enumerate(drawn) if world is not None and not dense.path_exists(world)]
    assert len(blocked) >= 3
    for i in blocked:
        world = dense.sample(i)
        assert dense.path_exists(world)
        assert not np.array_equal(world.centres, drawn[i].centres)


def test_a_closed_row_of_discs_is_recognised_as_unsolvable():
    centres = np.stack([np.zeros(11), np.linspace(-5, 5, 11)], axis=1)
    world = DiscWorld(centres, np.full(11, 0.45), np.arange(11), np.array([-3.0, 0.0]), np.array([3.0, 0.0]), 0.0)
    assert not WORLDS.path_exists(world)
    # a gap one disc wide lets the inflated robot through
    opened = replace(world, centres=np.delete(centres, 5, axis=0), radii_m=np.full(10, 0.45), chosen=np.arange(10))
    assert WORLDS.path_exists(opened)
    assert not WORLDS.straight_path_is_free(world)
    assert WORLDS.straight_path_is_free(opened)


def test_a_description_too_dense_to_solve_is_refused():
    dense = replace(WORLDS, radii_m=(0.5,) * 300, count=(300, 300))
    with pytest.raises(BedplateError, match="no solvable world"):
        dense.sample(0)

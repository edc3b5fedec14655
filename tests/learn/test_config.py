"""Recipes: every shipped one is valid, and every wrong key or value is refused with its name."""

from __future__ import annotations

from pathlib import Path

import pytest

from bedplate.core.errors import BedplateError, UnknownName
from bedplate.learn.config import load_config, save_config
from bedplate.recipes import recipe_names, recipe_path
from bedplate.tasks import make_task

RECIPE = """
task: {name: nav_lidar}
env: {num_envs: 8}
learn: {total_steps: 1000, n_steps: 16, batch_size: 64}
"""


@pytest.fixture
def recipe(tmp_path: Path) -> Path:
    path = tmp_path / "recipe.yaml"
    path.write_text(RECIPE)
    return path


@pytest.mark.parametrize("name", recipe_names())
def test_shipped_recipes_are_valid_and_their_tasks_exist(name):
    config = load_config(recipe_path(name))
    assert make_task(config.task.name, config.task.params).obs_dim > 0
    assert config.description


def test_overrides_reach_their_keys(recipe):
    config = load_config(
        recipe,
        [
            "learn.learning_rate=3e-4",
            "task.obstacles=[24, 40]",
            "learn.target_kl=0.02",
            "learn.net_arch=[32]",
            "seed=7",
        ],
    )
    assert config.learn.learning_rate == 3e-4
    assert config.task.params == {"obstacles": [24, 40]}
    assert config.learn.target_kl == 0.02
    assert config.learn.net_arch == (32,)
    assert config.seed == 7


def test_a_saved_config_reads_back_the_same(recipe, tmp_path):
    config = load_config(recipe, ["learn.gamma=0.123456789012345"])
    save_config(config, tmp_path / "config.yaml")
    assert load_config(tmp_path / "config.yaml") == config


def test_the_hash_follows_what_changes_training_only(recipe):
    config = load_config(recipe)
    assert load_config(recipe, ["description=other", "expected.success=0.5"]).hash == config.hash
    assert load_config(recipe, ["learn.gamma=0.5"]).hash != config.hash


@pytest.mark.parametrize(
    ("override", "nearest"),
    [("learn.gama=0.9", "learn.gamma"), ("lern.gamma=0.9", "learn"), ("env.num_env=3", "env.num_envs")],
)
def test_an_unknown_key_is_refused_with_the_nearest_name(recipe, override, nearest):
    with pytest.raises(UnknownName) as error:
        load_config(recipe, [override])
    assert error.value.nearest == nearest


@pytest.mark.parametrize(
    ("override", "words"),
    [
        ("learn.batch_size=60", "does not divide the rollout of env.num_envs x learn.n_steps = 8 x 16 = 128"),
        ("learn.batch_size=1", "learn.batch_size is 1"),
        ("learn.gamma=1.5", "learn.gamma is 1.5"),
        ("learn.learning_rate=0", "learn.learning_rate is 0"),
        ("learn.learning_rate=.nan", "learn.learning_rate is nan"),
        ("learn.total_steps=many", "learn.total_steps is 'many'"),
        ("seed=-1", "seed is -1"),
        ("learn.log_std_init=.nan", "learn.log_std_init is nan"),
        ("learn.ent_coef=.inf", "learn.ent_coef is inf"),
        ("learn.vf_coef=.inf", "learn.vf_coef is inf"),
        ("learn.total_steps=true", "learn.total_steps is True"),
        ("learn.learning_rate=on", "learn.learning_rate is True"),
        ("learn.net_arch=[99999999999]", "learn.net_arch.0 is 99999999999"),
        ("learn.total_steps=0", "learn.total_steps is 0"),
        ("env.num_envs=0", "env.num_envs is 0"),
        ("env.num_envs=100000000", "env.num_envs is 100000000"),
        ("env.num_threads=10000", "env.num_threads is 10000"),
        ("seed=536870912", "seed is 536870912"),
        ("learn", "has no value"),
        ("learn.gamma.x=1", "learn.gamma is a value"),
        ("learn.net_arch=[1, [2", "not YAML"),
    ],
)
def test_a_wrong_value_is_refused_by_name(recipe, override, words):
    overrides = ["learn.gamma=0.9", override]
    with pytest.raises(BedplateError) as error:
        load_config(recipe, overrides)
    assert words in error.value.found


@pytest.mark.parametrize("text", ["", "- a\n- b\n", "task: [", "\x00\xff"])
def test_a_file_that_is_no_recipe_is_refused(tmp_path, text):
    path = tmp_path / "broken.yaml"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(BedplateError, match="recipe"):
        load_config(path)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (RECIPE + "env: {num_envs: 16}\n", "the key 'env' is there twice"),
        ("task: {name: nav_lidar, name: ant}\n", "the key 'name' is there twice"),
        ("task: &a {name: nav_lidar, params: *a}\n", "an alias"),
        ("task: {name: nav_lidar, params: {[1, 2]: 3}}\n", "is not YAML"),
        ("task: [nav_lidar]\n", "task is ['nav_lidar']"),
        ("1: {}\n", "unknown recipe key '1'"),
        ("task: {name: nav_lidar, params: {1: 2}}\nlearn: {total_steps: 1}\n", "task.params"),
    ],
)
def test_yaml_that_means_something_else_than_it_says_is_refused(tmp_path, text, words):
    path = tmp_path / "odd.yaml"
    path.write_text(text)
    with pytest.raises(BedplateError) as error:
        load_config(path)
    assert words in error.value.found


def test_a_missing_section_is_named(tmp_path):
    path = tmp_path / "short.yaml"
    path.write_text("task: {name: nav_lidar}\n")
    with pytest.raises(BedplateError, match="has no learn"):
        load_config(path)


def test_an_unknown_recipe_names_the_nearest():
    with pytest.raises(UnknownName) as error:
        recipe_path("nav_lider")
    assert error.value.nearest == "nav_lidar"


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"obstacles": 5}, "task.obstacles of task nav_lidar is 5"),
        ({"obstacles": [0, 3]}, "obstacles is (0, 3)"),
        ({"num_rays": 8}, "num_rays is 8"),
        ({"obstackles": [1, 2]}, "obstackles"),
    ],
)
def test_a_wrong_task_parameter_is_refused_by_name(params, words):
    with pytest.raises(BedplateError) as error:
        make_task("nav_lidar", params)
    assert words in error.value.found


def test_a_recipe_that_was_changed_expects_nothing() -> None:
    path = recipe_path("nav_lidar")
    assert load_config(path).expected.success is not None
    assert load_config(path, ["seed=3"]).expected == load_config(path).expected
    assert load_config(path, ["learn.total_steps=1000"]).expected.note == ""
    assert load_config(path, ["task.obstacles=[4, 8]"]).expected.success is None

"""Training: it learns, it can be repeated, it stops when asked, and it never overwrites a run."""

from __future__ import annotations

import dataclasses
import errno
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import torch
from stable_baselines3 import PPO as SB3PPO

from bedplate.core.errors import BedplateError, StorageError
from bedplate.envs.sb3 import SB3VecEnv
from bedplate.envs.vec_env import TaskVecEnv
from bedplate.learn import training
from bedplate.learn.config import RunConfig, parse_config
from bedplate.learn.normalizer import Normalizer
from bedplate.learn.ppo import PPO
from bedplate.learn.trained import load_trained
from bedplate.learn.training import Progress, make_model, train
from bedplate.runs.layout import MANIFEST, METRICS, MODEL, NORMALIZER, VECNORMALIZE, Run
from bedplate.tasks import make_task

OBS_DIM = make_task("nav_lidar", {}).obs_dim


@dataclass
class _Stop:
    requested: bool = False


def _config(**learn: object) -> RunConfig:
    settings = {"total_steps": 1024, "n_steps": 16, "batch_size": 64, "net_arch": [16], **learn}
    return parse_config({"task": {"name": "nav_lidar"}, "env": {"num_envs": 16}, "learn": settings})


def _train(folder: Path, config: RunConfig, stop: _Stop | None = None) -> list[Progress]:
    seen: list[Progress] = []
    train(config, Run(folder), stop or _Stop(), seen.append)
    return seen


def test_a_run_folder_holds_what_the_layout_names(tmp_path):
    seen = _train(tmp_path / "run", _config())
    run = Run(tmp_path / "run")
    assert all(run.path(name).exists() for name in (MANIFEST, METRICS, MODEL, NORMALIZER, VECNORMALIZE))
    manifest = json.loads(run.path(MANIFEST).read_text())
    assert manifest["status"] == "finished"
    assert manifest["steps"] == seen[-1].steps == 1024
    lines = [json.loads(line) for line in run.path(METRICS).read_text().splitlines()]
    assert lines[-1]["train/approx_kl"] >= 0
    assert "reward/progress" in lines[-1]


def test_equal_seeds_give_equal_policies_and_others_do_not(tmp_path):
    obs = torch.randn(32, make_task("nav_lidar", {}).obs_dim)
    actions = {}
    for name, seed in (("a", 3), ("b", 3), ("c", 4)):
        _train(tmp_path / name, _config().model_copy(update={"seed": seed}))
        actions[name] = load_trained(Run(tmp_path / name)).predict(obs)
    assert torch.equal(actions["a"], actions["b"])
    assert not torch.allclose(actions["a"], actions["c"])


def test_a_stop_keeps_what_was_learned(tmp_path):
    stop = _Stop()
    config = _config(total_steps=100_000)

    def ask(progress: Progress) -> None:
        stop.requested = progress.steps >= 512

    result = train(config, Run(tmp_path / "run"), stop, ask)
    assert result.interrupted
    assert result.steps < 100_000
    assert json.loads((tmp_path / "run" / MANIFEST).read_text())["status"] == "interrupted"
    assert load_trained(Run(tmp_path / "run")).predict(torch.zeros(1, OBS_DIM)).shape == (1, 2)


def test_a_time_limit_ends_a_training(tmp_path):
    result = train(
        _config(total_steps=10_000_000, max_minutes=0.02), Run(tmp_path / "run"), _Stop(), lambda progress: None
    )
    assert result.steps < 10_000_000
    assert not result.interrupted


def test_of_two_trainings_with_one_name_one_is_refused(tmp_path, monkeypatch):
    def other_starts_first(*args):
        (tmp_path / "run").mkdir()
        return make_model(*args)

    # the other one makes the folder after this one has looked for it
    monkeypatch.setattr(training, "make_model", other_starts_first)
    with pytest.raises(BedplateError, match="exists"):
        _train(tmp_path / "run", _config())
    assert list((tmp_path / "run").iterdir()) == []


def test_an_existing_run_is_refused_and_unchanged(tmp_path):
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "notes.txt").write_text("mine")
    with pytest.raises(BedplateError, match="exists"):
        _train(folder, _config())
    assert [path.name for path in folder.iterdir()] == ["notes.txt"]


def test_a_folder_that_cannot_be_made_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="cannot write"):
        _train(tmp_path / "file" / "run", _config())


def test_a_full_disk_in_mid_training_says_where_the_policy_is(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)

    def fill(progress: Progress) -> None:
        (tmp_path / "run" / MODEL).mkdir(exist_ok=True)
        raise OSError(errno.ENOSPC, "No space left on device", str(tmp_path / "run" / METRICS))

    with pytest.raises(StorageError) as error:
        train(_config(), Run(tmp_path / "run"), _Stop(), fill)
    rescue = Run(next(tmp_path.glob("bedplate-run-*")))
    assert str(rescue.folder) in error.value.next_step
    # the rescue is a run like any other, and the run's own manifest tells its end
    assert load_trained(rescue).predict(torch.zeros(1, OBS_DIM)).shape == (1, 2)
    for run in (rescue, Run(tmp_path / "run")):
        assert json.loads(run.path(MANIFEST).read_text())["status"] == "failed"


@pytest.mark.parametrize("failure", [BedplateError("diverged", next_step="lower it"), RuntimeError("a bug")])
def test_another_failure_is_not_hidden_by_a_full_disk(tmp_path, monkeypatch, failure):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)

    def fail(progress: Progress) -> None:
        (tmp_path / "run" / MODEL).mkdir(exist_ok=True)
        raise failure

    with pytest.raises(type(failure)) as error:
        train(_config(), Run(tmp_path / "run"), _Stop(), fail)
    assert error.value is failure
    told = failure.next_step if isinstance(failure, BedplateError) else failure.__notes__[0]
    assert str(next(tmp_path.glob("bedplate-run-*"))) in told


def _wrong_contract():
    task = make_task("nav_lidar", {})
    first = dataclasses.replace(task.signals[0], max_age_s=0.0)
    return dataclasses.replace(task, signals=(first, *task.signals[1:]))


def _wrong_width():
    task = make_task("nav_lidar", {})
    feature = dataclasses.replace(task.features[0], size=task.features[0].size + 1)
    return dataclasses.replace(task, features=(feature, *task.features[1:]))


def _no_rewards():
    return dataclasses.replace(make_task("nav_lidar", {}), rewards=())


@pytest.mark.parametrize(
    ("factory", "words"),
    [(_no_rewards, "has no rewards"), (_wrong_contract, "max_age_s 0.0"), (_wrong_width, "feature 'scan' gives")],
)
def test_a_task_that_cannot_become_a_bundle_is_refused_before_anything_is_written(
    tmp_path, monkeypatch, factory, words
):
    monkeypatch.setattr("bedplate.learn.training.make_task", lambda name, params: factory())
    with pytest.raises(BedplateError, match=words):
        _train(tmp_path / "run", _config())
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_loses_no_policy(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    stop = _Stop()

    def fill(progress: Progress) -> None:
        # the run's own folder takes no further file from now on
        (tmp_path / "run" / MODEL).mkdir(exist_ok=True)
        stop.requested = True

    with pytest.raises(StorageError) as error:
        train(_config(), Run(tmp_path / "run"), stop, fill)
    rescue = next(tmp_path.glob("bedplate-run-*"))
    assert str(rescue) in error.value.next_step
    assert all((rescue / name).stat().st_size > 0 for name in (MODEL, NORMALIZER, VECNORMALIZE))


def test_a_model_of_another_task_is_refused(tmp_path):
    _train(tmp_path / "run", _config())
    config = tmp_path / "run" / "config.yaml"
    config.write_text(config.read_text().replace("params: {}", "params: {num_rays: 36}"))
    with pytest.raises(BedplateError, match="observations"):
        load_trained(Run(tmp_path / "run"))


def test_a_truncated_episode_is_bootstrapped_with_the_value_of_its_last_observation():
    task = make_task("nav_lidar", {"episode_length_s": 0.2})
    env = SB3VecEnv(TaskVecEnv(task, 4, seed=0))
    model = PPO(
        "MlpPolicy", env, normalizer=Normalizer(task.obs_dim, 4), n_steps=8, batch_size=32, gamma=0.9, device="cpu"
    )
    step = None
    env.env.reset()
    for _ in range(4):
        step = env.env.step(torch.zeros(4, 2))
    assert step is not None
    cut = step.truncated.nonzero()[:, 0]
    assert len(cut) > 0
    reward = model._bootstrap(step.reward, step.truncated, step.done_ids, step.final_obs)
    rows = [step.done_ids.tolist().index(i) for i in cut.tolist()]
    with torch.no_grad():
        value = model.policy.predict_values(model.normalizer.normalize(step.final_obs[rows]))[:, 0]
    torch.testing.assert_close(reward[cut], step.reward[cut] + 0.9 * value)
    decided = ~step.truncated
    assert torch.equal(reward[decided], step.reward[decided])
    env.close()


def test_sampling_fills_the_buffer_as_stable_baselines3_would():
    # the same policy, seeds and worlds through Stable-Baselines3's own collect_rollouts
    config = _config().model_copy(update={"seed": 5})
    buffers = []
    for cls in (PPO, SB3PPO):
        task = make_task("nav_lidar", {"episode_length_s": 0.5})
        env = SB3VecEnv(TaskVecEnv(task, 16, seed=5))
        if cls is PPO:
            model = make_model(config, env)
            model.normalizer, model.normalize_reward = None, False
            weights = model.policy.state_dict()
        else:
            model = SB3PPO(
                "MlpPolicy", env, n_steps=16, batch_size=64, gamma=0.99, device="cpu", policy_kwargs={"net_arch": [16]}
            )
            model.policy.load_state_dict(weights)
        _, callback = model._setup_learn(256, None)
        torch.manual_seed(11)
        model.collect_rollouts(env, callback, model.rollout_buffer, 16)
        buffers.append(model.rollout_buffer)
        env.close()
    ours, theirs = buffers
    for name in ("observations", "actions", "values", "log_probs", "episode_starts"):
        np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), atol=1e-5, err_msg=name)
    np.testing.assert_allclose(ours.rewards, theirs.rewards, atol=1e-4)
    np.testing.assert_allclose(ours.advantages, theirs.advantages, atol=1e-3)


@pytest.mark.parametrize("teacher", [{}, {"imitate_steps": 256, "imitate_fade_steps": 100_000}])
def test_a_diverged_policy_ends_training_with_advice(tmp_path, teacher):
    huge = {"learning_rate": 1e6, "learning_rate_final": 1e6, "max_grad_norm": 1e9}
    with pytest.raises(BedplateError, match="training diverged after"):
        _train(tmp_path / "run", _config(total_steps=20_000, **huge, **teacher))


def test_a_policy_imitates_the_classical_controller_before_ppo_takes_over(tmp_path):
    _train(tmp_path / "run", _config(total_steps=2048, imitate_steps=1024, imitate_fade_steps=512))
    lines = [json.loads(line) for line in (tmp_path / "run" / METRICS).read_text().splitlines()]
    # a rollout is 256 steps, and its update is logged with the next one
    weights = {line["step"] - 256: line.get("train/teacher_weight") for line in lines}
    assert weights == {0: None, 256: 1.0, 512: 1.0, 768: 1.0, 1024: 1.0, 1280: 1.0, 1536: 0.5, 1792: None}
    assert "train/approx_kl" in lines[-1]
    # the curves have no hole while the teacher teaches
    for line in lines[1:]:
        assert {"train/std", "train/explained_variance"} <= line.keys(), line
    assert "train/entropy_loss" in lines[-2]


def test_what_the_classical_controller_wants_is_learned():
    config = _config(imitate_steps=512, net_arch=[64])
    env = SB3VecEnv(TaskVecEnv(make_task("nav_lidar", {}), 16))
    model = make_model(config, env)
    model.learn(512)
    teacher, policy = model.imitation, model.policy
    wanted = env.env.task.action.to_action(env.env.task.baseline(env.env.signals), env.env.signals, env.env.memory)
    obs, kept = teacher.sample(512, lambda raw: raw)
    assert obs.shape == (512, OBS_DIM)
    assert wanted.shape[1:] == kept.shape[1:] == (2,)
    first, *_, last = [
        teacher.update(policy, model.rollout_buffer, model.normalizer.normalize, 0, 0.5, 1.0)["imitation_loss"]
        for _ in range(60)
    ]
    assert last < 0.2 * first
    env.close()


def test_imitation_needs_a_classical_controller(tmp_path):
    config = _config(imitate_steps=512)
    config = config.model_copy(update={"task": config.task.model_copy(update={"name": "half_cheetah"})})
    with pytest.raises(BedplateError, match="no classical controller to imitate"):
        _train(tmp_path / "run", config)
    assert not (tmp_path / "run").exists()

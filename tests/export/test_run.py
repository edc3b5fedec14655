"""`bedplate export RUN` on a run of `bedplate train`, and what plain Stable-Baselines3 makes of the same run."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys

import numpy as np
import pytest
import torch

from bedplate.bundle.bundle import read_bundle
from bedplate.cli.app import run as bedplate
from bedplate.core.files import sha256_file
from bedplate.export.run import read_evaluation
from bedplate.learn.trained import load_trained
from bedplate.runs.layout import BUNDLE, CONFIG, EVALUATION, MANIFEST, MODEL, VECNORMALIZE, Run

# a short training: 2 rollouts of 16 worlds
SHORT = ("env.num_envs=16", "learn.n_steps=16", "learn.batch_size=64", "learn.n_epochs=1", "learn.total_steps=512")


@pytest.fixture(scope="module")
def trained_folder(tmp_path_factory):
    runs = tmp_path_factory.mktemp("runs")
    settings = [word for setting in SHORT for word in ("--set", setting)]
    assert bedplate(["train", "demo", "--name", "short", "--runs", str(runs), *settings]) == 0
    return runs / "short"


@pytest.fixture
def run(trained_folder, tmp_path):
    shutil.copytree(trained_folder, tmp_path / "short")
    return Run(tmp_path / "short")


def edit(path, **changes):
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def write_evaluation(run, **changes):
    """An evaluation of this run's model."""
    found = {"schema": 1, "episodes": 500, "model_sha256": sha256_file(run.path(MODEL)), "success": {"rate": 0.97}}
    run.path(EVALUATION).write_text(json.dumps({**found, **changes}))


def test_writes_a_bundle_that_verifies(run, capsys):
    assert bedplate(["export", str(run.folder), "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    bundle = read_bundle(run.path(BUNDLE))
    assert printed["bundle_hash"] == bundle.info.bundle_hash
    assert printed["parity"]["max_error"] <= 1e-5
    assert bundle.info.provenance["run"] == "short"
    assert bundle.info.provenance["trained_with"]["packages"]["stable-baselines3"]
    assert bedplate(["verify", str(run.path(BUNDLE))]) == 0


def test_nothing_personal_goes_into_the_bundle(run):
    assert bedplate(["export", str(run.folder)]) == 0
    text = (run.path(BUNDLE) / "bundle.json").read_text()
    assert str(run.folder.parent) not in text and "argv" not in text


def test_evaluation_is_copied_in(run, capsys):
    assert bedplate(["export", str(run.folder)]) == 0
    assert "no evaluation" in capsys.readouterr().err
    assert read_bundle(run.path(BUNDLE)).info.evaluation is None
    write_evaluation(run)
    assert bedplate(["export", str(run.folder)]) == 0
    assert "warning: " not in capsys.readouterr().err
    assert read_bundle(run.path(BUNDLE)).info.evaluation["success"] == {"rate": 0.97}
    assert not [name for name in os.listdir(run.folder) if name.endswith(".tmp")]


def test_an_evaluation_of_another_model_stays_out(run, capsys):
    write_evaluation(run, model_sha256="0" * 64)
    assert bedplate(["export", str(run.folder)]) == 0
    assert "measured model 000000000000, not this one" in capsys.readouterr().err
    assert read_bundle(run.path(BUNDLE)).info.evaluation is None
    # as was written before evaluations named their model
    write_evaluation(run, model_sha256=None)
    evaluation, (note,) = read_evaluation(run)
    assert evaluation is None
    assert "a model it does not name" in note


@pytest.mark.parametrize(("episodes", "small"), [(99, True), (100, False), (None, True)])
def test_an_evaluation_of_few_episodes_is_said_to_be_small(run, episodes, small):
    write_evaluation(run, episodes=episodes)
    evaluation, notes = read_evaluation(run)
    assert evaluation is not None
    assert any("fewer than 100" in note for note in notes) is small


def test_another_world_generator_than_in_training_is_named(run, capsys):
    now = json.loads(run.path(MANIFEST).read_text())["world_version"]
    edit(run.path(MANIFEST), world_version=now + 1)
    assert bedplate(["export", str(run.folder)]) == 0
    assert f"world generator of nav_lidar: version {now + 1} -> {now}" in capsys.readouterr().err
    assert read_bundle(run.path(BUNDLE)).info.provenance["world_version"] == now + 1


def test_an_unchanged_machine_gives_no_warning(run, capsys):
    assert bedplate(["export", str(run.folder), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["changes"] == []


def test_what_changed_since_training_is_named(run, capsys):
    recorded = json.loads(run.path(MANIFEST).read_text())
    edit(run.path(MANIFEST), packages={**recorded["packages"], "torch": "1.0.0"}, kernel="3.10")
    assert bedplate(["export", str(run.folder)]) == 0
    message = capsys.readouterr().err
    assert "packages.torch: 1.0.0 -> " in message and "kernel: 3.10 -> " in message


def test_a_recipe_edited_after_training_is_named(run, capsys):
    run.path(CONFIG).write_text(run.path(CONFIG).read_text().replace("n_epochs: 1", "n_epochs: 2"))
    assert bedplate(["export", str(run.folder)]) == 0
    assert "edited after training" in capsys.readouterr().err


def test_a_missing_manifest_is_said(run, capsys):
    run.path(MANIFEST).unlink()
    assert bedplate(["export", str(run.folder)]) == 0
    assert "manifest.json is missing" in capsys.readouterr().err


@pytest.mark.parametrize("name", [MANIFEST, EVALUATION])
@pytest.mark.parametrize("content", ["[1]", "{", ""])
def test_a_broken_file_is_refused(name, content, run, capsys):
    run.path(name).write_text(content)
    assert bedplate(["export", str(run.folder)]) == 2
    assert name in capsys.readouterr().err
    assert not run.path(BUNDLE).exists()


@pytest.mark.parametrize("name", [CONFIG, MODEL])
def test_an_unfinished_run_is_refused(name, run, capsys):
    run.path(name).unlink()
    assert bedplate(["export", str(run.folder)]) == 2
    assert name in capsys.readouterr().err


def test_an_absent_run_is_refused(tmp_path, capsys):
    assert bedplate(["export", str(tmp_path / "nothing")]) == 2
    assert "nothing" in capsys.readouterr().err


PLAIN = """
import sys

class Block:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "bedplate":
            raise ModuleNotFoundError("blocked: " + name, name=name)

sys.meta_path.insert(0, Block())
import pickle
import numpy as np
from stable_baselines3 import PPO
model = PPO.load(sys.argv[1], device="cpu")
with open(sys.argv[2], "rb") as file:
    normalize = pickle.load(file)
data = np.load(sys.argv[3])
action, _ = model.predict(normalize.normalize_obs(data["obs"]), deterministic=True)
np.save(sys.argv[4], action)
assert not [name for name in sys.modules if name.split(".")[0] == "bedplate"]
"""


def test_plain_stable_baselines3_acts_as_we_do(run, tmp_path):
    trained = load_trained(run)
    obs = torch.randn(64, trained.task.obs_dim)
    np.savez(tmp_path / "obs.npz", obs=obs.numpy())
    paths = [run.path(MODEL), run.path(VECNORMALIZE), tmp_path / "obs.npz", tmp_path / "action.npy"]
    command = [sys.executable, "-c", PLAIN, *map(str, paths)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    expected = trained.predict(obs).clamp(-1.0, 1.0).numpy()
    np.testing.assert_allclose(np.load(tmp_path / "action.npy"), expected, atol=1e-5)

"""Runs and bundles of a real task, evaluated by the command as a user would."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from bedplate.cli.app import run as bedplate
from bedplate.core.errors import ContractMismatch
from bedplate.core.files import sha256_file
from bedplate.evaluate.sources import open_source
from bedplate.export.run import export_run
from bedplate.learn.config import parse_config
from bedplate.learn.training import train
from bedplate.runs.layout import BUNDLE, BUNDLE_EVALUATION, CONFIG, EVALUATION, MANIFEST, MODEL, Run


@dataclass
class _Never:
    requested: bool = False


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Run:
    """A nav_lidar run that has learned next to nothing, with a bundle; episodes are short."""
    run = Run(tmp_path_factory.mktemp("runs") / "tiny")
    learn = {"total_steps": 256, "n_steps": 16, "batch_size": 64, "net_arch": [16]}
    task = {"name": "nav_lidar", "params": {"episode_length_s": 5.0}}
    config = parse_config({"task": task, "env": {"num_envs": 16, "randomisation": False}, "learn": learn})
    train(config, run, _Never(), lambda progress: None)
    export_run(run)
    return run


def _evaluate(path: Path, *options: str) -> int:
    return bedplate(["evaluate", str(path), "--episodes", "6", "--no-pictures", "--no-baseline", *options])


def test_a_run_and_its_bundle_end_alike_on_the_same_worlds(run):
    assert _evaluate(run.folder) == 0
    assert _evaluate(run.path(BUNDLE)) == 0
    of_run = json.loads(run.path(EVALUATION).read_text())
    of_bundle = json.loads((run.folder / BUNDLE_EVALUATION / EVALUATION).read_text())
    assert (of_run["source"], of_bundle["source"]) == ("run", "bundle")
    assert of_run["worlds"] == of_bundle["worlds"]
    assert of_run["worlds"]["trained_version"] == of_run["worlds"]["version"]
    assert of_run["model_sha256"] == of_bundle["model_sha256"] == sha256_file(run.path(MODEL))
    assert of_run["randomisation"] is of_bundle["randomisation"] is False
    assert of_bundle["episode_length_s"] == 5.0
    # without noise the two differ by float32 rounding only
    assert of_run["by_reason"] == of_bundle["by_reason"]
    assert of_run["return"]["median"] == pytest.approx(of_bundle["return"]["median"], abs=0.05)


def test_nothing_is_written_into_the_bundle(run):
    before = {path.name: path.read_bytes() for path in run.path(BUNDLE).iterdir()}
    assert _evaluate(run.path(BUNDLE)) == 0
    assert {path.name: path.read_bytes() for path in run.path(BUNDLE).iterdir()} == before


def test_another_world_generator_than_in_training_is_named(run, tmp_path, capsys):
    copy = Run(shutil.copytree(run.folder, tmp_path / "copy"))
    assert _evaluate(copy.folder) == 0
    assert "world generator" not in capsys.readouterr().err
    recorded = json.loads(copy.path(MANIFEST).read_text())
    now = recorded["world_version"]
    copy.path(MANIFEST).write_text(json.dumps({**recorded, "world_version": now + 7}))
    assert _evaluate(copy.folder) == 0
    line = f"world generator of nav_lidar: version {now + 7} -> {now}"
    assert line in capsys.readouterr().err
    assert json.loads(copy.path(EVALUATION).read_text())["worlds"]["change"].startswith(line)
    # a bundle carries the version with it
    export_run(copy)
    assert line in open_source(copy.path(BUNDLE)).origin.world_change
    # without a record nothing is claimed
    copy.path(MANIFEST).unlink()
    assert open_source(copy.folder).origin.world_change == ""


def test_a_bundle_says_itself_what_it_was_trained_on(run, tmp_path):
    # away from its run folder
    bundle = shutil.copytree(run.path(BUNDLE), tmp_path / "elsewhere")
    source = open_source(bundle)
    assert source.task.episode_length_s == 5.0
    assert source.randomisation is False


def test_a_bundle_of_another_task_than_we_simulate_is_refused(run, tmp_path, monkeypatch):
    bundle = shutil.copytree(run.path(BUNDLE), tmp_path / "bundle")
    from bedplate.evaluate import sources
    from bedplate.tasks import make_task

    monkeypatch.setattr(sources, "make_task", lambda name, params: make_task(name, {**params, "num_rays": 60}))
    with pytest.raises(ContractMismatch, match="made for another"):
        open_source(bundle)


def test_a_changed_bundle_is_refused(run, tmp_path):
    bundle = shutil.copytree(run.path(BUNDLE), tmp_path / "bundle")
    policy = bundle / "policy.onnx"
    data = bytearray(policy.read_bytes())
    data[len(data) // 2] ^= 1
    policy.write_bytes(data)
    assert _evaluate(bundle) == 2


def test_a_run_without_a_model_is_refused(run, tmp_path):
    folder = tmp_path / "half"
    folder.mkdir()
    shutil.copy(run.path(CONFIG), folder / CONFIG)
    assert _evaluate(folder) == 2

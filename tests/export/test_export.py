"""A bundle's graph gives what the trained model gives, on every kind of action, and nothing is written otherwise."""

from __future__ import annotations

import dataclasses
import os

import numpy as np
import pytest
import torch
from stable_baselines3 import SAC

from bedplate.bundle.bundle import read_bundle
from bedplate.bundle.contract import GuardSettings
from bedplate.core.errors import BedplateError, GateFailed
from bedplate.export import export as exporting
from bedplate.export.actor import deterministic_actor
from bedplate.export.export import export
from bedplate.export.golden import KEPT_STEPS, NUM_ENVS, Reference, corners, record
from bedplate.runtime.policy import open_session
from bedplate.runtime.verification import PARITY_LIMIT, compare, replay
from bedplate.tasks.contract import contract_of
from bedplate.tasks.spec import Feature


@pytest.mark.parametrize("relative_to", ["", "measured", "commanded"])
def test_parity_of_every_kind_of_action(relative_to, tasks, models, normalizers, tmp_path):
    task = tasks(relative_to)
    exported = export(tmp_path / "bundle", task, models(task), normalizers(task))
    assert exported.parity.max_error <= PARITY_LIMIT
    bundle = read_bundle(tmp_path / "bundle", expected=contract_of(task))
    # the samples are worth something: many, moving, and at both limits of the command
    command = bundle.golden.command
    assert len(command) >= 256
    assert np.ptp(command, axis=0).min() > 0.3
    if not relative_to:
        assert {command[:, 0].min(), command[:, 0].max()} == {np.float32(-1.5), np.float32(1.2)}


@pytest.mark.parametrize("share", [True, False])
def test_parity_with_and_without_a_shared_extractor(share, tasks, models, normalizers, tmp_path):
    task = tasks()
    model = models(task, policy_kwargs={"share_features_extractor": share})
    assert export(tmp_path / "bundle", task, model, normalizers(task)).parity.max_error <= PARITY_LIMIT


def test_without_a_normaliser_and_with_sac(tasks, models, tmp_path):
    task = tasks()
    model = models(task, SAC, buffer_size=10)
    assert export(tmp_path / "bundle", task, model, None).parity.max_error <= PARITY_LIMIT


def test_golden_commands_do_not_come_from_the_graph(tasks, models, normalizers, tmp_path, monkeypatch):
    # an exporter that forgets the normaliser must be found out by the golden samples
    task = tasks()
    graph = exporting.PolicyGraph
    monkeypatch.setattr(exporting, "PolicyGraph", lambda task, normalizer, actor: graph(task, None, actor))
    with pytest.raises(GateFailed, match="differs from the trained model") as refusal:
        export(tmp_path / "bundle", task, models(task), normalizers(task))
    assert refusal.value.exit_code == 1
    assert os.listdir(tmp_path) == []


def test_one_changed_weight_is_found(tasks, models, normalizers, tmp_path, monkeypatch):
    task = tasks()

    def tampered(model, task):
        actor = deterministic_actor(model, task)
        with torch.no_grad():
            actor[-1].weight[0, 0] += 1e-3
        return actor

    monkeypatch.setattr(exporting, "deterministic_actor", tampered)
    with pytest.raises(GateFailed):
        export(tmp_path / "bundle", task, models(task), normalizers(task))


@pytest.mark.parametrize("part", ["mean", "var"])
def test_one_changed_moment_is_found(part, tasks, models, normalizers, tmp_path, monkeypatch):
    task, other = tasks(), normalizers(tasks())
    getattr(other.obs, part)[0] *= 1.01
    other._refresh()
    graph = exporting.PolicyGraph
    monkeypatch.setattr(exporting, "PolicyGraph", lambda task, normalizer, actor: graph(task, other, actor))
    with pytest.raises(GateFailed):
        export(tmp_path / "bundle", task, models(task), normalizers(task))


def test_info_says_what_is_inside(tasks, models, normalizers, tmp_path):
    task, guard = tasks(), GuardSettings(overrun_limit=7)
    export(
        tmp_path / "bundle", task, models(task), normalizers(task),
        guard=guard, evaluation={"episodes": 500}, provenance={"run": "demo"},
    )  # fmt: skip
    info = read_bundle(tmp_path / "bundle").info
    assert (info.guard, info.evaluation, info.provenance) == (guard, {"episodes": 500}, {"run": "demo"})
    assert [(f.name, f.start, f.stop) for f in info.features] == [
        ("position", 0, 2), ("angle", 2, 3), ("near", 3, 4), ("previous_action", 4, 6), ("commanded", 6, 8)
    ]  # fmt: skip


def test_exporting_again_replaces(tasks, models, normalizers, tmp_path):
    task = tasks()
    for run in ("first", "second"):
        export(tmp_path / "bundle", task, models(task), normalizers(task), provenance={"run": run})
    assert read_bundle(tmp_path / "bundle").info.provenance == {"run": "second"}
    assert os.listdir(tmp_path) == ["bundle"]


def test_a_failed_export_keeps_the_earlier_bundle(tasks, models, normalizers, tmp_path):
    task = tasks()
    export(tmp_path / "bundle", task, models(task), normalizers(task), provenance={"run": "first"})
    with pytest.raises(BedplateError):
        export(tmp_path / "bundle", tasks(features=task.features[:-1]), models(task), normalizers(task))
    assert read_bundle(tmp_path / "bundle").info.provenance == {"run": "first"}


def test_a_feature_that_is_not_finite_at_zero_is_refused(tasks, models, normalizers, tmp_path):
    bad = Feature("inverse", 2, lambda s, m: s["position"] / s["position"].abs())
    task = tasks(features=(bad, *tasks().features))
    with pytest.raises(BedplateError, match=r"feature 'inverse' is \[nan.*'position': \[0\.0, 0\.0\]"):
        export(tmp_path / "bundle", task, models(task), normalizers(task))


def test_a_feature_that_onnx_computes_otherwise_is_refused(tasks, models, normalizers, tmp_path):
    # atan2(0, 0) is 0 in torch and not a number in the exported graph
    bad = Feature("angle of position", 1, lambda s, m: torch.atan2(s["position"][:, :1], s["position"][:, 1:]))
    task = tasks(features=(bad, *tasks().features))
    with pytest.raises(GateFailed, match="differs"):
        export(tmp_path / "bundle", task, models(task), normalizers(task))


def test_samples_are_recorded_and_reach_every_bound(tasks, models, normalizers):
    task = tasks("commanded")
    recorded = record(Reference(task, models(task), normalizers(task)), seed=5)
    assert len(recorded.signals["position"]) == NUM_ENVS * KEPT_STEPS
    edges = corners(task, recorded, seed=5)
    for signal in task.signals:
        values = edges.signals[signal.name]
        for component in range(signal.size):
            found = set(values[:, component].tolist())
            assert {signal.low, signal.high, 0.0} <= found
    # recorded samples differ from each other, and so does their memory
    assert len(torch.unique(recorded.signals["position"], dim=0)) > 400
    assert len(torch.unique(recorded.memory["commanded"], dim=0)) > 100


def test_a_bundle_survives_another_reader_of_the_same_bytes(exported):
    bundle = read_bundle(exported.folder)
    copy = dataclasses.replace(bundle)
    assert compare(replay(open_session(copy), copy), copy) == exported.parity


def test_samples_are_recorded_over_a_whole_episode(tasks, models, normalizers):
    # a signal that tells the time since the start of the episode
    clock = dataclasses.replace(
        tasks().signals[0],
        read=lambda state: state.step_count[:, None].expand(-1, 2) * 1.0,
        low=0.0,
        high=500.0,
        noise_std=0.0,
    )
    task = tasks(signals=(clock, *tasks().signals[1:]), episode_length_s=300 * tasks().control_dt_s)
    recorded = record(Reference(task, models(task), normalizers(task)), seed=5)
    steps = recorded.signals[clock.name][:, 0]
    assert len(steps) == NUM_ENVS * KEPT_STEPS
    assert steps.min() == 0 and steps.max() >= 290
    # evenly: a quarter of the samples in each quarter of the episode
    counts = torch.histc(steps, bins=4, min=0, max=300)
    assert counts.min() > 0.2 * len(steps)

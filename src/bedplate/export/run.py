"""Export a run: its trained policy, its evaluation and where it comes from."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from bedplate.core.errors import BedplateError
from bedplate.core.files import read_json, sha256_file
from bedplate.export.export import Exported, export
from bedplate.export.onnx import OPSET
from bedplate.learn.config import RunConfig
from bedplate.learn.trained import load_trained
from bedplate.runs import manifest
from bedplate.runs.layout import BUNDLE, CONFIG, EVALUATION, MANIFEST, MODEL, NORMALIZER, Run

FEW_EPISODES = 100
"""An evaluation of fewer is copied into the bundle, but said to be small."""


@dataclass(frozen=True)
class RunExport:
    """What `export_run` did.

    Attributes:
        exported: the bundle.
        changes: what differs between the manifest written before training and this machine, one line each.
        notes: what the bundle lacks, one line each.
    """

    exported: Exported
    changes: tuple[str, ...]
    notes: tuple[str, ...]


def export_run(run: Run, seed: int = 0) -> RunExport:
    """Write `runs/<id>/bundle/`; an earlier bundle there is replaced in one step.

    Args:
        run: a finished run.
        seed: of the rollouts that the golden samples are recorded in.

    Raises:
        BedplateError: the run is not complete, or its policy or task cannot be exported; says what.
        GateFailed: ONNX Runtime does not give the trained model's commands; nothing was written.
        StorageError: the place cannot be written; an earlier bundle is unchanged.
    """
    trained = load_trained(run)
    now = manifest.current()
    recorded = manifest.read_manifest(run.path(MANIFEST))
    changes = manifest.compare(recorded, now) if recorded else []
    notes = [] if recorded else [f"{run.path(MANIFEST)} is missing: what the policy was trained with is not known"]
    task = trained.task
    if line := manifest.world_change(task.id, manifest.world_version(recorded), task.world_version):
        changes.append(line)
    if recorded.get("recipe_hash", trained.config.hash) != trained.config.hash:
        changes.append(f"{run.path(CONFIG)}: edited after training began")
    evaluation, lacking = read_evaluation(run)
    notes += lacking
    exported = export(
        run.path(BUNDLE),
        task,
        trained.model,
        trained.normalizer,
        evaluation=evaluation,
        provenance=_provenance(run, trained.config, recorded, now),
        seed=seed,
    )
    return RunExport(exported, tuple(changes), tuple(notes))


def read_evaluation(run: Run) -> tuple[dict[str, Any] | None, list[str]]:
    """The run's evaluation, if it measured the model that lies in the run.

    Returns:
        The evaluation or None, and what the reader of a bundle must know about it, one line each.

    Raises:
        BedplateError: the file is damaged.
    """
    again = f"run `bedplate evaluate {run.folder}`, then export again"
    path = run.path(EVALUATION)
    if not path.exists():
        return None, [f"no evaluation in the bundle: {again}"]
    evaluation = read_json(path)
    if not isinstance(evaluation, dict):
        raise BedplateError(f"{path} holds a {type(evaluation).__name__}", "a JSON object written by bedplate")
    # figures of another policy must not travel with this one
    measured = evaluation.get("model_sha256")
    if measured != sha256_file(run.path(MODEL)):
        which = f"model {measured[:12]}, not this one" if isinstance(measured, str) else "a model it does not name"
        return None, [f"no evaluation in the bundle: {path} measured {which}: {again}"]
    episodes = evaluation.get("episodes")
    if not isinstance(episodes, int) or episodes < FEW_EPISODES:
        return evaluation, [f"the evaluation in the bundle has {episodes} episodes, fewer than {FEW_EPISODES}: {again}"]
    return evaluation, []


def _provenance(run: Run, config: RunConfig, recorded: dict[str, Any], now: dict[str, Any]) -> dict[str, Any]:
    return {
        "run": run.id,
        "world_version": manifest.world_version(recorded),
        "recipe_hash": config.hash,
        # enough to simulate it again: `bedplate evaluate BUNDLE`
        "task": {**config.task.model_dump(mode="json"), "randomisation": config.env.randomisation},
        "model_sha256": sha256_file(run.path(MODEL)),
        "normalizer_sha256": sha256_file(run.path(NORMALIZER)),
        "trained_with": _summary(recorded),
        "exported_with": _summary(now),
        "exported": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "onnx_opset": OPSET,
    }


def _summary(facts: dict[str, Any]) -> dict[str, Any]:
    # versions and code state; argv and paths of the training machine stay out
    return {key: facts[key] for key in (*manifest.COMPARED, "os", "cpu", "seed") if key in facts}

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
    recorded, changes, notes = _read_manifest(run, now)
    if recorded.get("recipe_hash", trained.config.hash) != trained.config.hash:
        changes.append(f"{run.path(CONFIG)}: edited after training began")
    evaluation = _read_evaluation(run)
    if evaluation is None:
        notes.append(f"no evaluation in the bundle: run `bedplate evaluate {run.folder}`, then export again")
    exported = export(
        run.path(BUNDLE),
        trained.task,
        trained.model,
        trained.normalizer,
        evaluation=evaluation,
        provenance=_provenance(run, trained.config, recorded, now),
        seed=seed,
    )
    return RunExport(exported, tuple(changes), tuple(notes))


def _read_manifest(run: Run, now: dict[str, Any]) -> tuple[dict[str, Any], list[str], list[str]]:
    path = run.path(MANIFEST)
    if not path.exists():
        return {}, [], [f"{path} is missing: what the policy was trained with is not known"]
    recorded = _read_object(run, MANIFEST)
    return recorded, manifest.compare(recorded, now), []


def _read_evaluation(run: Run) -> dict[str, Any] | None:
    return _read_object(run, EVALUATION) if run.path(EVALUATION).exists() else None


def _read_object(run: Run, name: str) -> dict[str, Any]:
    value = read_json(run.path(name))
    if not isinstance(value, dict):
        raise BedplateError(f"{run.path(name)} holds a {type(value).__name__}", "a JSON object written by bedplate")
    return value


def _provenance(run: Run, config: RunConfig, recorded: dict[str, Any], now: dict[str, Any]) -> dict[str, Any]:
    return {
        "run": run.id,
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

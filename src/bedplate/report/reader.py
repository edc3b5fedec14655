"""What a run folder holds, read with patience: a missing or damaged part is a fact of the report, not an error."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from bedplate.bundle.bundle import BUNDLE_JSON
from bedplate.core.errors import BedplateError
from bedplate.core.files import read_json
from bedplate.runs import layout
from bedplate.runs.layout import Run


class Facts:
    """A JSON document whose shape is not taken for granted.

    Args:
        value: the document; None when there is none.
        problem: why it could not be read, if it exists.
    """

    def __init__(self, value: Any = None, problem: str = "") -> None:
        self.value = value
        self.problem = problem

    def __bool__(self) -> bool:
        return self.value is not None and self.value != {} and self.value != []

    def at(self, *path: str) -> Facts:
        """What lies at a path of keys; empty when there is nothing."""
        value = self.value
        for key in path:
            value = value.get(key) if isinstance(value, dict) else None
        return Facts(value)

    def number(self, *path: str) -> float | None:
        """The finite number at a path, or None."""
        value = self.at(*path).value
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
            return None
        return float(value)

    def text(self, *path: str) -> str:
        """The value at a path as text; "" when there is none."""
        value = self.at(*path).value
        if value is None or isinstance(value, (dict, list)):
            return ""
        return str(value)

    def items(self, *path: str) -> list[tuple[str, Facts]]:
        """Keys and values of the object at a path; empty for anything else."""
        value = self.at(*path).value
        return [(str(key), Facts(inner)) for key, inner in value.items()] if isinstance(value, dict) else []

    def list(self, *path: str) -> list[Facts]:
        """The elements of the list at a path; empty for anything else."""
        value = self.at(*path).value
        return [Facts(inner) for inner in value] if isinstance(value, list) else []


@dataclass(frozen=True)
class Material:
    """Everything that a report is made of.

    Attributes:
        run: the folder.
        manifest, config, evaluation, bundle, verification, serve: the documents; empty where absent.
        config_text: config.yaml as written.
        metrics: name -> (steps, values) of metrics.jsonl.
        skipped_lines: lines of metrics.jsonl that are not JSON objects, such as one cut by a crash.
        trajectories, video: contents; None where absent.
    """

    run: Run
    manifest: Facts
    config: Facts
    config_text: str
    evaluation: Facts
    bundle: Facts
    verification: Facts
    serve: Facts
    metrics: dict[str, tuple[list[float], list[float]]]
    skipped_lines: int
    trajectories: bytes | None
    video: bytes | None


def read_material(run: Run) -> Material:
    """Read a run folder.

    Raises:
        BedplateError: there is no such folder, or nothing in it is a run's.
    """
    if not run.folder.is_dir():
        raise BedplateError(f"no run at {run.folder}", "a folder that `bedplate train` wrote", "ls runs")
    known = (layout.MANIFEST, layout.CONFIG, layout.METRICS, layout.EVALUATION, layout.BUNDLE)
    if not any(run.path(name).exists() for name in known):
        raise BedplateError(f"{run.folder} is not a run", f"a folder with {layout.CONFIG}", "bedplate train RECIPE")
    metrics, skipped = _metrics(run.path(layout.METRICS))
    config, config_text = _yaml(run.path(layout.CONFIG))
    return Material(
        run=run,
        manifest=_json(run.path(layout.MANIFEST)),
        config=config,
        config_text=config_text,
        evaluation=_json(run.path(layout.EVALUATION)),
        bundle=_json(run.path(layout.BUNDLE) / BUNDLE_JSON),
        verification=_json(run.path(layout.VERIFICATION)),
        serve=_json(run.path(layout.SERVE)),
        metrics=metrics,
        skipped_lines=skipped,
        trajectories=_bytes(run.path(layout.TRAJECTORIES)),
        video=_bytes(run.path(layout.VIDEO)),
    )


def _json(path: Path) -> Facts:
    if not path.exists():
        return Facts()
    try:
        value = read_json(path)
    except BedplateError as error:
        return Facts(problem=error.found)
    return Facts(value) if isinstance(value, dict) else Facts(problem=f"{path.name} does not hold an object")


def _yaml(path: Path) -> tuple[Facts, str]:
    try:
        text = path.read_text(encoding="utf-8")
        value = yaml.safe_load(text)
    except FileNotFoundError:
        return Facts(), ""
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        return Facts(problem=f"{path.name}: {error}"), ""
    return Facts(value if isinstance(value, dict) else None), text


def _metrics(path: Path) -> tuple[dict[str, tuple[list[float], list[float]]], int]:
    series: dict[str, tuple[list[float], list[float]]] = {}
    skipped = 0
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return {}, 0
    for line in lines:
        try:
            row = Facts(json.loads(line))
        except (ValueError, RecursionError):
            row = Facts()
        step = row.number("time/total_timesteps")
        step = row.number("step") if step is None else step
        if step is None:
            skipped += bool(line.strip())
            continue
        for key, value in row.items():
            number = value.number()
            if number is not None:
                steps, values = series.setdefault(key, ([], []))
                steps.append(step)
                values.append(number)
    return series, skipped


def _bytes(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None

"""What `bedplate evaluate` can be given: a run folder or a bundle."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from bedplate.bundle.bundle import BUNDLE_JSON, Bundle, read_bundle
from bedplate.bundle.contract import GuardSettings
from bedplate.core.errors import BedplateError, ContractMismatch
from bedplate.core.files import sha256_file
from bedplate.evaluate.controllers import BatchPolicy, Controller, PerWorldPolicies
from bedplate.evaluate.evaluation import Origin
from bedplate.learn.config import load_config
from bedplate.learn.trained import load_trained
from bedplate.runs.layout import BUNDLE_EVALUATION, CONFIG, MANIFEST, MODEL, Run
from bedplate.runs.manifest import read_manifest, world_change, world_version
from bedplate.runtime.policy import OnnxPolicy
from bedplate.tasks import make_task
from bedplate.tasks.contract import contract_of
from bedplate.tasks.spec import Task

RUN_EPISODES = 500
BUNDLE_EPISODES = 100
"""A bundle runs one ONNX session per world, as the robot does, which is slower than one batch."""


@dataclass(frozen=True)
class Source:
    """Something that can be evaluated.

    Attributes:
        origin: which policy it is.
        task: what it was made for.
        controller: what decides.
        guard: settings of its guard.
        randomisation: how it was trained, and so how it is measured.
        folder: where results go.
        episodes: how many when the user does not say.
    """

    origin: Origin
    task: Task
    controller: Controller
    guard: GuardSettings
    randomisation: bool
    folder: Path
    episodes: int


def open_source(path: Path) -> Source:
    """Read a run folder or a bundle folder.

    Raises:
        BedplateError: it is neither, or its files are missing or wrong.
        ContractMismatch: the bundle was changed, or its task is not what this installation simulates.
    """
    if not path.is_dir():
        raise BedplateError(f"no folder {path}", "a run folder or a bundle folder", "ls runs")
    if (path / BUNDLE_JSON).exists():
        return _open_bundle(path)
    if not (path / CONFIG).exists():
        found = f"{path} holds neither {CONFIG} nor {BUNDLE_JSON}"
        raise BedplateError(found, "a run folder or a bundle folder", "bedplate train RECIPE")
    return _open_run(Run(path))


def _open_run(run: Run) -> Source:
    trained = load_trained(run)
    version = world_version(read_manifest(run.path(MANIFEST)))
    change = world_change(trained.task.id, version, trained.task.world_version)
    return Source(
        origin=Origin("run", sha256_file(run.path(MODEL)), version, change),
        task=trained.task,
        controller=BatchPolicy(trained.predict),
        guard=GuardSettings(),
        randomisation=trained.config.env.randomisation,
        folder=run.folder,
        episodes=RUN_EPISODES,
    )


def _open_bundle(path: Path) -> Source:
    bundle = read_bundle(path)
    task, randomisation = _task_of(bundle)
    if contract_of(task).hash != bundle.contract.hash:
        raise ContractMismatch(
            f"{path} was made for another {bundle.contract.task!r} than this installation simulates: contract "
            f"{bundle.contract.hash[:12]}",
            f"contract {contract_of(task).hash[:12]}",
            "export the run again with this installation",
        )
    version = world_version(bundle.info.provenance)
    model_sha256 = bundle.info.provenance.get("model_sha256")
    return Source(
        origin=Origin(
            "bundle",
            model_sha256 if isinstance(model_sha256, str) else "",
            version,
            world_change(task.id, version, task.world_version),
        ),
        task=task,
        controller=PerWorldPolicies(lambda: OnnxPolicy(bundle)),
        guard=bundle.info.guard,
        randomisation=randomisation,
        # nothing writes into a bundle
        folder=path.resolve().parent / BUNDLE_EVALUATION,
        episodes=BUNDLE_EPISODES,
    )


def _task_of(bundle: Bundle) -> tuple[Task, bool]:
    """The task that a bundle was trained on: from the recipe in its provenance, or of the run that it lies in."""
    recorded = bundle.info.provenance.get("task")
    if isinstance(recorded, dict) and isinstance(recorded.get("name"), str):
        task = make_task(recorded["name"], recorded.get("params") or {})
        return task, bool(recorded.get("randomisation", True))
    beside = bundle.folder.resolve().parent / CONFIG
    if beside.exists():
        config = load_config(beside)
        return make_task(config.task.name, config.task.params), config.env.randomisation
    return make_task(bundle.contract.task, {}), True

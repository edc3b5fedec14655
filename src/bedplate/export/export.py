"""From a trained policy to a bundle on disk: graph, golden samples, contract, provenance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stable_baselines3.common.base_class import BaseAlgorithm

from bedplate.bundle.bundle import BUNDLE_JSON, GOLDEN, POLICY_BPW, POLICY_ONNX, check_contents, seal, write_bundle
from bedplate.bundle.checks.document import render_info
from bedplate.bundle.contract import BundleInfo, FeatureContract, GuardSettings
from bedplate.core.errors import GateFailed
from bedplate.export.actor import Normalizes, PolicyGraph, deterministic_actor
from bedplate.export.golden import Reference, make_golden
from bedplate.export.native.lower import Unsupported, to_bpw
from bedplate.export.onnx import to_onnx
from bedplate.runtime.native.library import available
from bedplate.runtime.native.replay import replay_native
from bedplate.runtime.policy import open_session
from bedplate.runtime.verification import PARITY_LIMIT, Parity, compare, replay
from bedplate.tasks.contract import contract_of
from bedplate.tasks.spec import Task


@dataclass(frozen=True)
class Exported:
    """A bundle that was written.

    Attributes:
        folder: where it lies.
        info: bundle.json.
        samples: number of golden samples.
        parity: of ONNX Runtime against the trained model on this machine.
        native: why the bundle has no policy.bpw for the native core, in words; "" when it has.
    """

    folder: Path
    info: BundleInfo
    samples: int
    parity: Parity
    native: str


def export(
    folder: Path,
    task: Task,
    model: BaseAlgorithm,
    normalizer: Normalizes | None,
    *,
    guard: GuardSettings | None = None,
    evaluation: Mapping[str, Any] | None = None,
    provenance: Mapping[str, Any] | None = None,
    seed: int = 0,
) -> Exported:
    """Write the bundle of a trained policy; an earlier bundle in the same folder is replaced in one step.

    Args:
        folder: the bundle's folder.
        task: what the policy was trained on.
        model: a Stable-Baselines3 model.
        normalizer: of observations; None when it was trained on raw ones.
        guard: settings of the guard; the defaults when None.
        evaluation: summary that is copied in.
        provenance: where the policy comes from.
        seed: of the rollouts that the golden samples are recorded in.

    Raises:
        BedplateError: names the part of the policy or task that cannot be exported.
        GateFailed: ONNX Runtime does not give the trained model's commands; nothing was written.
        StorageError: the place cannot be written; an earlier bundle is unchanged.
    """
    contract = contract_of(task)
    graph = PolicyGraph(task, normalizer, deterministic_actor(model, task))
    golden = make_golden(Reference(task, model, normalizer), contract, seed)
    files = {POLICY_ONNX: to_onnx(graph, contract), GOLDEN: golden.to_bytes()}
    settings = guard or GuardSettings()
    info = BundleInfo(
        contract=contract,
        contract_hash=contract.hash,
        features=_features(task),
        guard=settings,
        evaluation=None if evaluation is None else dict(evaluation),
        provenance=dict(provenance or {}),
    )
    native = ""
    try:
        files[POLICY_BPW] = to_bpw(files[POLICY_ONNX], contract, settings)
    except Unsupported as error:
        native = error.found
    parity = _prove(folder, info, files)
    written = write_bundle(folder, info, files)
    return Exported(Path(folder), written, golden.num_samples, parity, native)


def _features(task: Task) -> tuple[FeatureContract, ...]:
    slices, start = [], 0
    for feature in task.features:
        slices.append(FeatureContract(name=feature.name, start=start, stop=start + feature.size))
        start += feature.size
    return tuple(slices)


def _prove(folder: Path, info: BundleInfo, files: Mapping[str, bytes]) -> Parity:
    # a bundle that would fail its own verification is not written
    bundle = check_contents(Path(folder), {BUNDLE_JSON: render_info(seal(info, files)), **files})
    parity = compare(replay(open_session(bundle), bundle), bundle)
    _require(parity, "ONNX Runtime")
    # the native core too, where this machine can compile it
    if POLICY_BPW in files and not available():
        _require(compare(replay_native(bundle), bundle), "the native core")
    return parity


def _require(parity: Parity, runtime: str) -> None:
    if not parity.max_error <= PARITY_LIMIT:
        raise GateFailed(
            f"{runtime} differs from the trained model by {parity.max_error:.3g} "
            f"at {parity.output}[{parity.component}], golden sample {parity.sample}",
            f"at most {PARITY_LIMIT:g} of half the channel's range",
            "look for a feature with a jump or with a variance near zero; an earlier bundle is unchanged",
        )

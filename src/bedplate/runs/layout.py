"""Every file name of a run folder and of a bundle, once."""

from __future__ import annotations

import os
from pathlib import Path

RUNS = "runs"

MANIFEST = "manifest.json"
CONFIG = "config.yaml"
METRICS = "metrics.jsonl"
TENSORBOARD = "tensorboard"
MODEL = "model.zip"
VECNORMALIZE = "vecnormalize.pkl"
NORMALIZER = "normalizer.json"
EVALUATION = "evaluation.json"
BUNDLE_EVALUATION = "bundle-evaluation"
EPISODES = "episodes.npz"
TRAJECTORIES = "trajectories.png"
VIDEO = "video.mp4"
BUNDLE = "bundle"
VERIFICATION = "verification.json"
SERVE = "serve.json"
REPORT = "report.html"


class Run:
    """A run folder. It knows names, not contents.

    Args:
        folder: `runs/<id>`.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = Path(folder)

    @property
    def id(self) -> str:
        """The run's name."""
        return os.path.basename(os.path.realpath(self.folder))

    def path(self, name: str) -> Path:
        """Path of one of the files named in this module."""
        return self.folder / name

"""A video of several worlds side by side, rendered in software by a process of its own.

Rendering needs an OpenGL library that headless servers may lack, and a broken one can crash the process that loads it;
so a child does it, with a time limit, and an evaluation without a video is still an evaluation. The child tries EGL,
then OSMesa. On Debian the packages are libegl1 with libgl1-mesa-dri, or libosmesa6; on RHEL mesa-libEGL with
mesa-dri-drivers, or mesa-libOSMesa.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import mujoco
import numpy as np

from bedplate.core.files import write_bytes
from bedplate.evaluate.recording import WorldRecord

NUM_WORLDS = 6
BUDGET_S = 12.0
"""Time the renderer aims for; it lowers the number of frames to keep it."""

TIME_LIMIT_S = 40.0
"""Time after which the renderer is stopped and the video given up."""

BACKENDS = ("egl", "osmesa")
PACKAGES = "libegl1 and libgl1-mesa-dri (Debian) or mesa-libEGL and mesa-dri-drivers (RHEL)"


@dataclass(frozen=True)
class Video:
    """What became of a video.

    Attributes:
        speed: times real time it shows; 0 when there is none.
        reason: why there is none, in one line; "" when the file was written.
    """

    speed: int
    reason: str = ""


def render_video(worlds: Sequence[WorldRecord], chosen: Sequence[int], path: Path) -> Video:
    """Render the chosen worlds into an mp4 file at `path`.

    Raises:
        StorageError: the file cannot be written.
    """
    with tempfile.TemporaryDirectory(prefix="bedplate-video-") as folder:
        _save(worlds, chosen, Path(folder))
        reasons = []
        for backend in _backends():
            video = _render(Path(folder), backend)
            if not video.reason:
                write_bytes(path, (Path(folder) / "video.mp4").read_bytes())
                return video
            reasons.append(f"{backend}: {video.reason}")
    return Video(0, f"{'; '.join(reasons)}; rendering needs {PACKAGES}")


def _backends() -> tuple[str, ...]:
    """The user's own choice, or every backend that works without a display."""
    chosen = os.environ.get("MUJOCO_GL", "").lower()
    return (chosen,) if chosen in BACKENDS else BACKENDS


def _save(worlds: Sequence[WorldRecord], chosen: Sequence[int], folder: Path) -> None:
    """Write what the child needs: one model file and one array file per world."""
    for place, index in enumerate(chosen):
        world = worlds[index]
        mujoco.mj_saveModel(world.model, str(folder / f"{place}.mjb"), None)
        np.savez(
            folder / f"{place}.npz",
            index=index,
            ending=world.ending,
            collided=world.collided,
            control_dt_s=world.control_dt_s,
            goal=world.goal,
            qpos=np.asarray(world.qpos),
            mocap=np.asarray(world.mocap),
            path=np.asarray(world.path),
        )


def _render(folder: Path, backend: str) -> Video:
    """Run the child with one OpenGL backend."""
    environment = {**os.environ, "MUJOCO_GL": backend, "PYOPENGL_PLATFORM": backend, "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "bedplate.evaluate.renderer", str(folder), str(BUDGET_S)]
    try:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=TIME_LIMIT_S)
    except subprocess.TimeoutExpired:
        return Video(0, f"took more than {TIME_LIMIT_S:.0f} s")
    if done.returncode == 0 and done.stdout.strip().isdigit():
        return Video(int(done.stdout))
    lines = [line for line in done.stderr.splitlines() if line.strip()]
    return Video(0, lines[-1].strip() if lines else f"the renderer ended with {done.returncode}")

"""The child process behind video.py: recorded worlds in, video.mp4 out. Run as `python -m bedplate.evaluate.renderer`.

It must not be imported by anything else: the OpenGL backend is chosen by MUJOCO_GL when mujoco is first imported.
"""

from __future__ import annotations

import math
import sys
import time
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

from bedplate.evaluate.scene import bounds_of, colour_of, pose

WIDTH, HEIGHT = 432, 324
BORDER = 4
FPS = 15
MAX_SPEED = 8
TRAIL_POINTS = 40
BACKGROUND = (238, 241, 244)


def main(folder: Path, budget_s: float) -> None:
    """Render every world of `folder` into folder/video.mp4 in about `budget_s`.

    Prints how many times real time the video shows.
    """
    records = []
    for path in sorted(folder.glob("*.npz"), key=lambda path: int(path.stem)):
        with np.load(path, allow_pickle=False) as arrays:
            records.append((mujoco.MjModel.from_binary_path(str(path.with_suffix(".mjb"))), dict(arrays)))

    views = [_View(model, record, records) for model, record in records]
    # a few frames tell the price of all; the first one compiles shaders
    views[0].frame(0)
    start = time.perf_counter()
    for view in views:
        view.frame(0)
    frame_s = (time.perf_counter() - start) / len(views)
    duration_s = max(view.duration_s for view in views)
    wanted = sum(view.duration_s for view in views) * FPS
    speed = min(max(1, math.ceil(wanted * frame_s / budget_s)), MAX_SPEED)
    num_frames = max(2, math.ceil(duration_s * FPS / speed) + FPS // 2)

    columns = min(3, len(views))
    deadline = start + 2 * budget_s
    sys.stdout.write(f"{speed}\n")
    sys.stdout.flush()
    _write(folder / "video.mp4", views, num_frames, speed, columns, deadline)


class _View:
    """One world's renderer, its camera, and its last frame."""

    def __init__(self, model: mujoco.MjModel, record: dict[str, Any], records: list[Any]) -> None:
        self.model, self.record = model, record
        self.data = mujoco.MjData(model)
        model.vis.global_.offwidth, model.vis.global_.offheight = WIDTH, HEIGHT
        # soft light from the camera: nothing is hidden in the dark, whatever lights the model has
        light = model.vis.headlight
        light.ambient[:], light.diffuse[:], light.specular[:] = 0.45, 0.5, 0.05
        # edges without smoothing: three times as fast
        model.vis.quality.offsamples = 0
        self.renderer = mujoco.Renderer(model, HEIGHT - 2 * BORDER, WIDTH - 2 * BORDER)
        # shadows and reflections cost more than the picture itself in software
        for flag in (mujoco.mjtRndFlag.mjRND_SHADOW, mujoco.mjtRndFlag.mjRND_REFLECTION):
            self.renderer.scene.flags[flag] = False
        self.camera, self.mark_m = _camera(model, records)
        self.num_steps = len(record["qpos"])
        self.duration_s = self.num_steps * float(record["control_dt_s"])
        self.last: np.ndarray | None = None

    def frame(self, step: int) -> np.ndarray:
        """The picture of control step `step`; the last one stays, framed in the colour of how it ended."""
        ended = step >= self.num_steps - 1
        if ended and self.last is not None:
            return self.last
        step = min(step, self.num_steps - 1)
        record = self.record
        pose(self.model, self.data, record["qpos"][step], record["mocap"][step] if self.model.nmocap else None)
        self.renderer.update_scene(self.data, self.camera)
        _mark(self.renderer.scene, record, step, self.mark_m)
        image = self.renderer.render().copy()
        # a model without a sky has nothing behind it: pixels that are exactly black
        image[(image == 0).all(axis=2)] = BACKGROUND
        picture = _framed(image, record, step, ended)
        if ended:
            self.last = picture
        return picture


def _write(path: Path, views: list[_View], num_frames: int, speed: int, columns: int, deadline: float) -> None:
    import imageio_ffmpeg

    rows = -(-len(views) // columns)
    size = (columns * WIDTH, rows * HEIGHT)
    options = ["-crf", "27", "-movflags", "+faststart"]
    writer = imageio_ffmpeg.write_frames(
        str(path), size, fps=FPS, codec="libx264", macro_block_size=4, output_params=options
    )
    writer.send(None)
    canvas = np.full((size[1], size[0], 3), 255, np.uint8)
    for k in range(num_frames):
        for i, view in enumerate(views):
            step = round(k * speed / FPS / float(view.record["control_dt_s"]))
            top, left = i // columns * HEIGHT, i % columns * WIDTH
            canvas[top : top + HEIGHT, left : left + WIDTH] = view.frame(step)
        writer.send(np.ascontiguousarray(canvas))
        # a machine that got slower half-way: a shorter video rather than a late one
        if time.perf_counter() > deadline:
            break
    writer.close()


def _camera(model: mujoco.MjModel, records: list[Any]) -> tuple[mujoco.MjvCamera | int, float]:
    """The model's own camera "video" or "track", or one that sees every path and goal; and the radius of marks."""
    for name in ("video", "track"):
        index = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_CAMERA.value, name)
        if index >= 0:
            return index, 0.05 * float(model.stat.meansize) + 0.01
    points = []
    for other, record in records:
        data = mujoco.MjData(other)
        for step in range(0, len(record["qpos"]), max(1, len(record["qpos"]) // 20)):
            pose(other, data, record["qpos"][step], record["mocap"][step] if other.nmocap else None)
            moving = (other.body_weldid != 0) & (other.body_mocapid[other.body_rootid] < 0)
            points.append(data.xpos[moving])
            # what turns in place moves its shape alone
            shown = moving[other.geom_bodyid] & (other.geom_rgba[:, 3] > 0.0)
            reach = other.geom_rbound[shown, None]
            points += [data.geom_xpos[shown] - reach, data.geom_xpos[shown] + reach]
        if record["goal"].size:
            goal = record["goal"]
            points.append(np.append(goal, 0.0)[None, :3] if goal.size == 2 else goal[None])
    low, high = bounds_of(np.concatenate(points))
    spans = high - low
    camera = mujoco.MjvCamera()
    camera.lookat[:] = (low + high) / 2
    flat = max(spans[:2]) > 3 * spans[2]
    camera.azimuth, camera.elevation = (90.0, -62.0) if flat else (125.0, -22.0)
    # fit the box into the vertical field of view
    tan = math.tan(math.radians(float(model.vis.global_.fovy)) / 2)
    depth = spans[1] if flat else spans[2]
    across = spans[0] if flat else float(np.hypot(spans[0], spans[1]))
    camera.distance = max(depth, across * HEIGHT / WIDTH) / (2 * tan) + (0.1 if flat else 0.3) * max(spans[:2])
    return camera, 0.011 * float(spans.max())


def _mark(scene: mujoco.MjvScene, record: dict[str, Any], step: int, size_m: float) -> None:
    """Draw the goal and the way so far."""
    path, goal = record["path"], record["goal"]
    if goal.size:
        at = np.append(goal, path[0, 2])[:3] if goal.size == 2 else goal
        _sphere(scene, at, 1.6 * size_m, (0.95, 0.70, 0.10, 0.9))
    for i in np.linspace(0, step, min(TRAIL_POINTS, step + 1)).astype(int):
        _sphere(scene, path[i], 0.4 * size_m, (0.15, 0.45, 0.75, 0.8))


def _sphere(scene: mujoco.MjvScene, at: np.ndarray, radius_m: float, rgba: tuple[float, ...]) -> None:
    if scene.ngeom >= scene.maxgeom:
        return
    kind = mujoco.mjtGeom.mjGEOM_SPHERE.value
    size, turn = np.full(3, radius_m), np.eye(3).ravel()
    mujoco.mjv_initGeom(scene.geoms[scene.ngeom], kind, size, np.asarray(at, float), turn, np.asarray(rgba, np.float32))
    scene.ngeom += 1


def _framed(picture: np.ndarray, record: dict[str, Any], step: int, ended: bool) -> np.ndarray:
    """Add a border in the colour of the ending, the world's number and the time."""
    from PIL import Image, ImageDraw

    ending = str(record["ending"])
    colour = colour_of(ending, bool(record["collided"])) if ended else "#e3e7ec"
    image = Image.new("RGB", (WIDTH, HEIGHT), colour)
    image.paste(Image.fromarray(picture), (BORDER, BORDER))
    time_s = (step + 1) * float(record["control_dt_s"])
    text = f"world {int(record['index'])}  {time_s:.1f} s" + (f"  {ending}" if ended else "")
    draw = ImageDraw.Draw(image)
    box = draw.textbbox((BORDER + 8, BORDER + 6), text, font_size=15)
    draw.rectangle((box[0] - 5, box[1] - 4, box[2] + 5, box[3] + 4), fill=colour if ended else "#ffffff")
    draw.text((BORDER + 8, BORDER + 6), text, fill="#ffffff" if ended else "#25303b", font_size=15)
    return np.asarray(image)


if __name__ == "__main__":
    main(Path(sys.argv[1]), float(sys.argv[2]))

"""What a plot and a video share: poses, outlines of fixed geoms, views, and the colours of endings."""

from __future__ import annotations

from typing import TYPE_CHECKING

import mujoco
import numpy as np

if TYPE_CHECKING:
    # the renderer's process does without torch
    from bedplate.evaluate.recording import WorldRecord

COLOURS = {"success": "#1a7f5a", "collision": "#c0392b", "time-out": "#b7791f"}
OTHER_COLOUR = "#6b4fa0"


def colour_of(ending: str, collided: bool = False) -> str:
    """Colour of an ending, the same in the plot, the video and the report; collisions of any name share one."""
    return COLOURS["collision"] if collided else COLOURS.get(ending, OTHER_COLOUR)


# points on unit shapes: three great circles of a ball, the corners of a box
_ANGLES = np.linspace(0.0, 2 * np.pi, 24, endpoint=False)
_CIRCLE = np.stack([np.cos(_ANGLES), np.sin(_ANGLES), np.zeros_like(_ANGLES)], axis=1)
_BALL = np.concatenate([_CIRCLE, _CIRCLE[:, [0, 2, 1]], _CIRCLE[:, [2, 0, 1]]])
_CORNERS = np.array([(x, y, z) for x in (-1.0, 1.0) for y in (-1.0, 1.0) for z in (-1.0, 1.0)])


def scene_outlines(record: WorldRecord, axes: tuple[int, int]) -> list[np.ndarray]:
    """Outlines of the geoms that neither move nor are planes, at the start of the episode.

    Args:
        record: the world.
        axes: the two world axes of the drawing.

    Returns:
        Convex polygons, (n, 2) each, in metres.
    """
    from scipy.spatial import ConvexHull, QhullError

    model, data = record.model, initial_data(record)
    outlines = []
    for geom in range(model.ngeom):
        body = model.geom_bodyid[geom]
        fixed = model.body_weldid[body] == 0 or model.body_mocapid[model.body_rootid[body]] >= 0
        if not fixed or model.geom_rgba[geom, 3] == 0.0:
            continue
        points = _surface(model, geom)
        if points is None:
            continue
        world_points = data.geom_xpos[geom] + points @ data.geom_xmat[geom].reshape(3, 3).T
        flat = world_points[:, axes]
        try:
            outlines.append(flat[ConvexHull(flat).vertices])
        except QhullError:
            # a shape without area in this view has no outline
            continue
    return outlines


def initial_data(record: WorldRecord) -> mujoco.MjData:
    """The world at the first recorded step, with current positions."""
    data = mujoco.MjData(record.model)
    pose(record.model, data, record.qpos[0], record.mocap[0] if record.mocap else None)
    return data


def pose(model: mujoco.MjModel, data: mujoco.MjData, qpos: np.ndarray, mocap: np.ndarray | None) -> None:
    """Put the bodies where a recorded step had them."""
    data.qpos[:] = qpos
    if mocap is not None:
        data.mocap_pos[:], data.mocap_quat[:] = mocap[:, :3], mocap[:, 3:]
    mujoco.mj_kinematics(model, data)
    mujoco.mj_comPos(model, data)
    mujoco.mj_camlight(model, data)


def projection_of(paths: list[np.ndarray]) -> tuple[int, int]:
    """The two axes that show most of the paths: from above, unless they are much taller than they are deep."""
    spans = np.ptp(np.concatenate(paths), axis=0)
    if spans[2] > 2.0 * min(spans[0], spans[1]):
        return (0, 2) if spans[0] >= spans[1] else (1, 2)
    return (0, 1)


def bounds_of(points: np.ndarray, margin: float = 0.08) -> tuple[np.ndarray, np.ndarray]:
    """A box around points (n, dim), widened by `margin` of its longest side."""
    low, high = points.min(axis=0), points.max(axis=0)
    pad = margin * max(float((high - low).max()), 1e-3)
    return low - pad, high + pad


def _surface(model: mujoco.MjModel, geom: int) -> np.ndarray | None:
    """(n, 3) points on a geom in its own frame; None for planes and height fields."""
    size, kind = model.geom_size[geom], mujoco.mjtGeom(model.geom_type[geom])
    if kind == mujoco.mjtGeom.mjGEOM_SPHERE:
        return _BALL * size[0]
    if kind == mujoco.mjtGeom.mjGEOM_ELLIPSOID:
        return _BALL * size
    if kind == mujoco.mjtGeom.mjGEOM_BOX:
        return _CORNERS * size
    if kind in (mujoco.mjtGeom.mjGEOM_CYLINDER, mujoco.mjtGeom.mjGEOM_CAPSULE):
        ends = np.array([0.0, 0.0, size[1]])
        shape = _CIRCLE if kind == mujoco.mjtGeom.mjGEOM_CYLINDER else _BALL
        return np.concatenate([shape * size[0] + ends, shape * size[0] - ends])
    if kind == mujoco.mjtGeom.mjGEOM_MESH:
        mesh = model.geom_dataid[geom]
        start = model.mesh_vertadr[mesh]
        return np.asarray(model.mesh_vert[start : start + model.mesh_vertnum[mesh]], float)
    return None

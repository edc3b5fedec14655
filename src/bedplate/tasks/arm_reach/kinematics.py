"""Forward kinematics and Jacobian of a serial arm in torch: only operations that ONNX has.

Positions are in the base frame: its origin is the body that carries the first joint, its axes are the world's.
Everything is float64, so that runtimes whose sums run in another order agree to the last digit of the float32 command.
"""

from __future__ import annotations

from dataclasses import dataclass

import mujoco
import numpy as np
import torch
from torch import Tensor

# points along a link are at most so far apart, and one stands for those of the same link that are this near
SPACING_M, NEAR_M = 0.12, 0.06


@dataclass(frozen=True)
class Pose:
    """The arm at joint positions `q`.

    Attributes:
        tip: (n, 3) tip position in the base frame, in metres.
        axis: (n, 3) approach axis of the tip (its z axis), unit vector.
        points: (n, num_points, 3) points along the arm's collision shapes; Chain.radii is how thick the arm is there.
        anchors: (n, num_joints, 3) a point on each joint's axis.
        axes: (n, num_joints, 3) each joint's axis, unit vectors.
    """

    tip: Tensor
    axis: Tensor
    points: Tensor
    anchors: Tensor
    axes: Tensor


@dataclass(frozen=True)
class _Link:
    """One joint: a fixed transform from the frame before it, then a rotation about, or a slide along, its z axis."""

    rotation: Tensor
    offset: Tensor
    slide: bool
    zero: float


class Chain:
    """The kinematic chain from the base to a site.

    Args:
        model: a compiled arm.
        joints: joint names from base to tip.
        site: the end-effector site.

    Attributes:
        base: (3,) float64 origin of the base frame in the world.
        reach_m: sum of the distances between joint origins: no point of the arm is farther from the first joint.
        num_points: number of points along the arm in a Pose.
        radii: (num_points,) float64 thickness of the arm around each point, in metres.
        carriers: (num_points,) int64 index of the joint that carries each point.
        moved: (num_points, num_joints) float64, 1 where the joint moves the point.
    """

    def __init__(self, model: mujoco.MjModel, joints: tuple[str, ...], site: str) -> None:
        # a pose with every joint at its reference gives the fixed transforms between joint frames
        data = mujoco.MjData(model)
        ids = [model.joint(name).id for name in joints]
        data.qpos[:] = model.qpos0
        mujoco.mj_kinematics(model, data)
        first = model.body_parentid[model.jnt_bodyid[ids[0]]]
        self.base = data.xpos[first].copy()

        # joint frames: origin on the axis, z along the axis
        rotation, origin = np.eye(3), self.base
        self._links: list[_Link] = []
        origins = [self.base]
        for i in ids:
            frame = _frame_along(data.xaxis[i])
            self._links.append(
                _Link(
                    rotation=_double(rotation.T @ frame),
                    offset=_double(rotation.T @ (data.xanchor[i] - origin)),
                    slide=bool(model.jnt_type[i] == mujoco.mjtJoint.mjJNT_SLIDE),
                    zero=float(model.qpos0[model.jnt_qposadr[i]]),
                )
            )
            rotation, origin = frame, data.xanchor[i].copy()
            origins.append(origin)

        # the tip, fixed to the last joint frame
        tip = data.site(site)
        self._tip = _double(rotation.T @ (tip.xpos - origin))
        self._axis = _double(rotation.T @ tip.xmat.reshape(3, 3)[:, 2])
        origins.append(tip.xpos.copy())
        steps = np.linalg.norm(np.diff(origins[1:], axis=0), axis=1)
        slides = sum(float(np.abs(model.jnt_range[i]).max()) for i in ids if model.jnt_type[i] == 2)
        self.reach_m = float(steps.sum() + slides)
        self._slides = _double([1.0 if link.slide else 0.0 for link in self._links])
        self._spread(model, data, ids)
        self.num_points = len(self._points)

    def _spread(self, model: mujoco.MjModel, data: mujoco.MjData, ids: list[int]) -> None:
        """Points along the collision shapes that move: the joint that carries each, its place in that joint's frame."""
        frames = [(data.xanchor[i].copy(), _frame_along(data.xaxis[i])) for i in ids]
        joint_of_body = [-1] * model.nbody
        for body in range(1, model.nbody):
            mine = [k for k, i in enumerate(ids) if model.jnt_bodyid[i] == body]
            joint_of_body[body] = mine[-1] if mine else joint_of_body[model.body_parentid[body]]

        # along the longest axis of each shape's box; its second longest is the thickness
        self._points: list[tuple[int, Tensor]] = []
        radii: list[float] = []
        for geom in range(model.ngeom):
            joint = joint_of_body[model.geom_bodyid[geom]]
            # what only turns in place about the first joint is left out
            if joint < 1 or not (model.geom_contype[geom] or model.geom_conaffinity[geom]):
                continue
            turn = data.geom_xmat[geom].reshape(3, 3)
            centre, half = data.geom_xpos[geom] + turn @ model.geom_aabb[geom, :3], model.geom_aabb[geom, 3:]
            longest, radius = int(np.argmax(half)), float(np.sort(half)[1])
            inner = max(float(half[longest]) - radius, 0.0)
            count = 1 + int(np.ceil(2 * inner / SPACING_M))
            for along in np.linspace(-inner, inner, count) if count > 1 else [0.0]:
                origin, frame = frames[joint]
                place = _double(frame.T @ (centre + along * turn[:, longest] - origin))
                if all(k != joint or (place - other).norm() > NEAR_M for k, other in self._points):
                    self._points.append((joint, place))
                    radii.append(radius)
        self.radii = _double(radii)
        self.carriers = torch.tensor([joint for joint, _ in self._points])
        self.moved = _double([[1.0 if j <= k else 0.0 for j in range(len(ids))] for k, _ in self._points])

    def pose(self, q: Tensor) -> Pose:
        """The arm at joint positions `q` (n, num_joints), in rad or m, of any precision."""
        n, q = q.shape[0], q.double()
        rotation = torch.eye(3, dtype=torch.float64).expand(n, 3, 3)
        origin = torch.zeros(n, 3, dtype=torch.float64)
        anchors, axes, frames = [], [], []
        for k, link in enumerate(self._links):
            origin = origin + rotation @ link.offset
            rotation = rotation @ link.rotation
            axis = rotation[:, :, 2]
            anchors.append(origin)
            axes.append(axis)
            move = q[:, k : k + 1] - link.zero
            if link.slide:
                origin = origin + move * axis
            else:
                # only the x and y columns turn about z
                sin, cos = torch.sin(move), torch.cos(move)
                x, y = rotation[:, :, 0], rotation[:, :, 1]
                rotation = torch.stack([cos * x + sin * y, cos * y - sin * x, axis], dim=2)
            frames.append((origin, rotation))
        tip = origin + rotation @ self._tip
        points = [frames[k][0] + frames[k][1] @ place for k, place in self._points]
        return Pose(
            tip=tip,
            axis=rotation @ self._axis,
            points=torch.stack(points, dim=1),
            anchors=torch.stack(anchors, dim=1),
            axes=torch.stack(axes, dim=1),
        )

    def jacobian(self, pose: Pose, point: Tensor) -> Tensor:
        """Velocity of a point (n, 3) that moves with the tip, per joint speed: (n, num_joints, 3)."""
        turn = torch.linalg.cross(pose.axes, point[:, None] - pose.anchors)
        slide = self._slides[:, None]
        return turn * (1.0 - slide) + pose.axes * slide

    def along(self, pose: Pose, points: Tensor, directions: Tensor, moved: Tensor) -> Tensor:
        """How fast points of the arm move along their directions, per joint speed.

        Args:
            pose: the arm.
            points, directions: (n, k, 3) in the base frame.
            moved: (k, num_joints) float64, 1 where the joint moves the point.

        Returns:
            (n, k, num_joints).
        """
        # axis . ((point - anchor) x direction); a slide moves its points along its axis
        axes = pose.axes.transpose(1, 2)
        anchored = torch.linalg.cross(pose.axes, pose.anchors).transpose(1, 2)
        turn = torch.linalg.cross(points, directions) @ axes - directions @ anchored
        if any(link.slide for link in self._links):
            turn = torch.where(self._slides > 0, directions @ axes, turn)
        return turn * moved

    def axis_jacobian(self, pose: Pose) -> Tensor:
        """Angular velocity of the tip per joint speed: (n, num_joints, 3)."""
        return pose.axes * (1.0 - self._slides[:, None])


def _frame_along(axis: np.ndarray) -> np.ndarray:
    """(3, 3) rotation matrix whose third column is the unit vector `axis`."""
    helper = np.eye(3)[int(np.argmin(np.abs(axis)))]
    x = np.cross(helper, axis)
    x /= np.linalg.norm(x)
    return np.column_stack([x, np.cross(axis, x), axis])


def _double(array: np.ndarray | list) -> Tensor:
    return torch.tensor(np.asarray(array), dtype=torch.float64)

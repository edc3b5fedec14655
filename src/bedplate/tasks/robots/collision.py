"""What of an arm collides: shapes for links that have none, and pairs of links that always touch."""

from __future__ import annotations

from collections import Counter

import mujoco
import numpy as np

CAPSULE_RADIUS_M = 0.04
POSTURES, ALWAYS_SHARE = 200, 0.8


def add_missing_shapes(spec: mujoco.MjSpec, joints: tuple[str, ...], site: str) -> list[str]:
    """Put a capsule between the joints of each moving link on the chain that collides with nothing."""
    bodies = []
    for name in joints:
        body = spec.joint(name).parent
        if body not in bodies:
            bodies.append(body)
    model = spec.copy().compile()
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)

    added = []
    for k, body in enumerate(bodies):
        if any(geom.contype or geom.conaffinity for geom in body.geoms):
            continue
        # from this link's joint to the next one's, or to the tip, in the link's frame
        here = data.joint(joints[k]).xanchor
        there = data.body(bodies[k + 1].name).xpos if k + 1 < len(bodies) else data.site(site).xpos
        frame, origin = data.body(body.name).xmat.reshape(3, 3), data.body(body.name).xpos
        ends = [(here - origin) @ frame, (there - origin) @ frame]
        if np.linalg.norm(ends[1] - ends[0]) < CAPSULE_RADIUS_M:
            continue
        body.add_geom(
            name=f"{body.name}_capsule",
            type=mujoco.mjtGeom.mjGEOM_CAPSULE,
            fromto=np.concatenate(ends),
            size=[CAPSULE_RADIUS_M, 0, 0],
            mass=0.0,
            group=3,
        )
        added.append(body.name)
    what = f"capsules of radius {CAPSULE_RADIUS_M} m for links without a collision shape: {', '.join(added)}"
    return [what] if added else []


def exclude_touching(
    spec: mujoco.MjSpec, joints: tuple[str, ...], low: np.ndarray, high: np.ndarray, home: np.ndarray
) -> list[str]:
    """Exclude pairs of bodies that touch at rest or in nearly every posture; returns what was excluded, in words."""
    model = spec.copy().compile()
    data = mujoco.MjData(model)
    always = _touching(model, data, home)
    counts: Counter[tuple[str, str]] = Counter()
    rng = np.random.default_rng(0)
    for _ in range(POSTURES):
        counts.update(_touching(model, data, rng.uniform(low, high)))
    always |= {pair for pair, count in counts.items() if count >= ALWAYS_SHARE * POSTURES}
    for one, two in sorted(always):
        spec.add_exclude(bodyname1=one, bodyname2=two)
    pairs = ", ".join("-".join(pair) for pair in sorted(always))
    return [f"contacts left out, touching by design: {pairs}"] if always else []


def _touching(model: mujoco.MjModel, data: mujoco.MjData, q: np.ndarray) -> set[tuple[str, str]]:
    data.qpos[:] = q
    mujoco.mj_kinematics(model, data)
    mujoco.mj_collision(model, data)
    pairs = set()
    for contact in data.contact[: data.ncon]:
        one, two = sorted(model.body(model.geom_bodyid[geom]).name for geom in contact.geom)
        pairs.add((one, two))
    return pairs

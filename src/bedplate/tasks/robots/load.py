"""Loads an arm from MJCF or URDF: joints and limits from the file, servos added, what is missing asked for by name."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import mujoco
import numpy as np

from bedplate.core.errors import BedplateError, UnknownName
from bedplate.tasks.robots import collision
from bedplate.tasks.robots.arm import Arm
from bedplate.tasks.robots.servo import add_servos, known_limits
from bedplate.tasks.robots.table import ARM7, robot_file
from bedplate.tasks.robots.urdf import Urdf, read_urdf

TIP_SITE = "bedplate_tip"
# time to full speed where no acceleration limit is known, and range where a joint has no position limit
SPEED_UP_S, OPEN_RANGE_RAD = 0.15, 2 * np.pi


def load_arm(
    robot: str = "arm7",
    end_effector: str = "",
    velocity_limits: Sequence[float] | None = None,
    acceleration_limits: Sequence[float] | None = None,
    effort_limits: Sequence[float] | None = None,
    link_masses: Sequence[float] | None = None,
    home: Sequence[float] | None = None,
) -> Arm:
    """Load an arm and give it velocity servos.

    Joints that do not lead to the end effector (fingers, other arms) are frozen; the arm's own gravity compensation
    is on. Arguments win over the file; each has one number per joint, base to tip.

    Args:
        robot: MJCF (.xml) or URDF (.urdf) file, or the name of a robot; "arm7" comes with Bedplate.
        end_effector: name of a site or body; its z axis is the approach axis.
        velocity_limits, acceleration_limits, effort_limits: in rad/s, rad/s^2, N m (m/s, m/s^2, N for slides).
        link_masses: kg, one per moving link to which a URDF gives no mass.
        home: rest position.

    Raises:
        BedplateError: the file is absent or broken, or lacks something that no default can stand for.
    """
    path = robot_file(robot)
    spec, urdf = _read(path)
    assumed: list[str] = []
    if urdf is not None:
        _set_masses(urdf, link_masses, path)
        if urdf.lost_meshes:
            assumed.append(f"{len(urdf.lost_meshes)} collision meshes not found or not readable: left out")

    # the chain
    site = _tip_site(spec, end_effector or ("tip" if path == ARM7 else ""), path)
    joints = _chain(spec, site, path)
    names = tuple(joint.name for joint in joints)
    numerics = {numeric.name: list(numeric.data) for numeric in spec.numerics}
    keys = _home_keys(spec)
    velocity, effort = known_limits(spec, names)
    if urdf is not None:
        velocity, effort = {**velocity, **urdf.velocity}, {**effort, **urdf.effort}
    has_actuators = any(actuator.target in names for actuator in spec.actuators)
    original = _compile(spec, path)
    _strip(spec, set(names))
    for body in spec.bodies[1:]:
        body.gravcomp = 1.0

    # limits
    low, high = _position_limits(original, names, assumed)
    speed = _limits("velocity_limits", velocity_limits, velocity, numerics, names, path, "rad/s")
    if not has_actuators and urdf is None and effort_limits is None and not effort:
        raise BedplateError(
            f"{path} has no actuators on the joints {', '.join(names)}",
            "actuators with a force range, or the torque limits of the joints",
            f"add actuators, or --set task.effort_limits=[{', '.join(['N'] * len(names))}] in N m",
        )
    torque = _limits("effort_limits", effort_limits, effort, numerics, names, path, "N m")
    if acceleration_limits is None and "acceleration_limits" not in numerics:
        acceleration_limits = [value / SPEED_UP_S for value in speed]
        assumed.append(f"acceleration limits: full speed in {SPEED_UP_S} s")
    acceleration = _limits("acceleration_limits", acceleration_limits, {}, numerics, names, path, "rad/s^2")

    # what collides, where it rests, what drives it
    assumed += collision.add_missing_shapes(spec, names, site)
    rest = _home(home, keys, original, names, low, high)
    assumed += collision.exclude_touching(spec, names, low, high, rest)
    if add_servos(spec, names, low, high, speed, torque):
        assumed.append("servo gains from the joint inertias")
    _compile(spec, path)
    return Arm(
        name=spec.modelname or path.stem,
        spec=spec,
        joints=names,
        position_low=tuple(low.tolist()),
        position_high=tuple(high.tolist()),
        velocity=speed,
        acceleration=acceleration,
        effort=torque,
        home=tuple(rest.tolist()),
        tip=site,
        assumed=tuple(assumed),
    )


def _read(path: Path) -> tuple[mujoco.MjSpec, Urdf | None]:
    if not path.is_file():
        raise BedplateError(f"robot file {path} does not exist", "an MJCF (.xml) or URDF (.urdf) file")
    if path.suffix.lower() == ".urdf":
        urdf = read_urdf(path)
        return urdf.spec, urdf
    if path.suffix.lower() != ".xml":
        raise BedplateError(f"robot file {path} ends in {path.suffix!r}", ".xml for MJCF or .urdf for URDF")
    try:
        return mujoco.MjSpec.from_file(str(path)), None
    except ValueError as error:
        raise BedplateError(f"MuJoCo does not read {path}: {error}", "an MJCF file that MuJoCo can load") from error


def _compile(spec: mujoco.MjSpec, path: Path) -> mujoco.MjModel:
    try:
        return spec.copy().compile()
    except ValueError as error:
        raise BedplateError(f"{path} does not compile: {error}", "a model that MuJoCo can compile") from error


def _set_masses(urdf: Urdf, link_masses: Sequence[float] | None, path: Path) -> None:
    """Give moving links without a mass the masses that the caller knows."""
    missing = urdf.massless
    if not missing:
        return
    if link_masses is None or len(link_masses) != len(missing):
        given = "none is given" if link_masses is None else f"{len(link_masses)} are given"
        raise BedplateError(
            f"{path} gives no mass to the moving links {', '.join(missing)}; {given}",
            f"{len(missing)} masses in kg, in this order",
            f"--set task.link_masses=[{', '.join(['KG'] * len(missing))}]",
        )
    for name, mass in zip(missing, link_masses, strict=True):
        if not (np.isfinite(mass) and mass > 0):
            raise BedplateError(f"the mass of link {name!r} is {mass}", "kg, above zero", "correct task.link_masses")
        body = urdf.spec.body(name)
        if not body.geoms:
            body.add_geom(type=mujoco.mjtGeom.mjGEOM_SPHERE, size=[0.04, 0, 0], contype=0, conaffinity=0)
        for geom in body.geoms:
            geom.mass = float(mass) / len(body.geoms)


def _tip_site(spec: mujoco.MjSpec, end_effector: str, path: Path) -> str:
    """Name of the end-effector site; a site is added to an end-effector body."""
    sites = [site.name for site in spec.sites if site.name]
    bodies = [body.name for body in spec.bodies[1:]]
    if not end_effector:
        leaves = [body.name for body in spec.bodies[1:] if not body.bodies]
        raise BedplateError(
            f"{path}: which site or body is the end effector is not given",
            f"one of: {', '.join([*sites, *leaves])}",
            "--set task.end_effector=NAME",
        )
    if end_effector in sites:
        return end_effector
    if end_effector not in bodies:
        raise UnknownName("end effector", end_effector, [*sites, *bodies])
    spec.body(end_effector).add_site(name=TIP_SITE, size=[0.008, 0, 0])
    return TIP_SITE


def _chain(spec: mujoco.MjSpec, site: str, path: Path) -> list[mujoco.MjsJoint]:
    """Joints from base to tip."""
    chain: list[mujoco.MjsJoint] = []
    body = spec.site(site).parent
    while body is not None and body.name != "world":
        chain = list(body.joints) + chain
        body = body.parent
    plain = (mujoco.mjtJoint.mjJNT_HINGE, mujoco.mjtJoint.mjJNT_SLIDE)
    odd = [joint.name or "unnamed" for joint in chain if joint.type not in plain]
    if odd:
        raise BedplateError(
            f"{path}: joint {odd[0]!r} on the way to the end effector is free or a ball", "hinges, slides"
        )
    if not chain or any(not joint.name for joint in chain):
        raise BedplateError(f"{path}: {len(chain)} joints lead to {site!r}, or one has no name", "named joints")
    return chain


def _strip(spec: mujoco.MjSpec, keep: set[str]) -> None:
    """Freeze all other joints and drop what refers to them."""
    for items in (spec.keys, spec.sensors, spec.equalities, spec.tendons):
        for item in list(items):
            spec.delete(item)
    for actuator in list(spec.actuators):
        if actuator.trntype != mujoco.mjtTrn.mjTRN_JOINT or actuator.target not in keep:
            spec.delete(actuator)
    for joint in list(spec.joints):
        if joint.name not in keep:
            spec.delete(joint)


def _position_limits(
    model: mujoco.MjModel, names: tuple[str, ...], assumed: list[str]
) -> tuple[np.ndarray, np.ndarray]:
    ids = [model.joint(name).id for name in names]
    low, high = model.jnt_range[ids].T.copy()
    free = model.jnt_limited[ids] == 0
    if free.any():
        low[free], high[free] = -OPEN_RANGE_RAD, OPEN_RANGE_RAD
        assumed.append(f"joints without a position limit get +-2 pi: {', '.join(np.array(names)[free])}")
    return low, high


def _limits(
    what: str,
    given: Sequence[float] | None,
    known: dict[str, float],
    numerics: dict[str, list[float]],
    names: tuple[str, ...],
    path: Path,
    unit: str,
) -> tuple[float, ...]:
    """One limit per joint: as given, from the file's <numeric>, or from the file's joints and actuators."""
    values = list(given) if given is not None else numerics.get(what) or [known.get(name, 0.0) for name in names]
    ask = f"--set task.{what}=[{', '.join(['N'] * len(names))}] in {unit}, for {', '.join(names)}"
    if len(values) != len(names):
        raise BedplateError(f"{what} has {len(values)} numbers", f"{len(names)}, one per joint", ask)
    missing = [name for name, value in zip(names, values, strict=True) if not (np.isfinite(value) and value > 0)]
    if missing:
        raise BedplateError(
            f"{path} gives no {what.replace('_', ' ')[:-1]} for {', '.join(missing)}", "a number above zero", ask
        )
    return tuple(float(value) for value in values)


def _home_keys(spec: mujoco.MjSpec) -> dict[str, np.ndarray]:
    return {key.name or str(k): np.array(key.qpos) for k, key in enumerate(spec.keys) if len(key.qpos)}


def _home(
    given: Sequence[float] | None,
    keys: dict[str, np.ndarray],
    model: mujoco.MjModel,
    names: tuple[str, ...],
    low: np.ndarray,
    high: np.ndarray,
) -> np.ndarray:
    """Rest position: as given, the file's keyframe "home" or its first one, or its reference moved into the range."""
    if given is not None:
        rest = np.asarray(given, dtype=float)
        if rest.shape != low.shape or not ((rest >= low) & (rest <= high)).all():
            raise BedplateError(
                f"home is {list(given)}",
                f"one number per joint, within {low.round(3).tolist()} and {high.round(3).tolist()}",
            )
        return rest
    addresses = [int(model.joint(name).qposadr[0]) for name in names]
    key = keys.get("home", next(iter(keys.values()), None))
    if key is not None and len(key) == model.nq:
        return np.clip(key[addresses], low, high)
    return np.clip(model.qpos0[addresses], low + 0.15 * (high - low), high - 0.15 * (high - low))

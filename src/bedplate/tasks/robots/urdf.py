"""A URDF as a MuJoCo spec, with the velocity limits that MuJoCo's parser drops.

MuJoCo reads the URDF itself; before that, mesh addresses (package://, file://) are turned into paths, and meshes that
are not there, or whose format MuJoCo does not read, are left out and named.
"""

from __future__ import annotations

import math
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass
from pathlib import Path

import mujoco

from bedplate.core.errors import BedplateError

MESH_FORMATS = (".stl", ".obj", ".msh")
SEARCH_LEVELS = 5


@dataclass(frozen=True)
class Urdf:
    """A parsed URDF.

    Attributes:
        spec: MuJoCo's spec; every link is a body, fixed ones too.
        velocity: joint name -> velocity limit in rad/s or m/s, where the file gives one above zero.
        effort: joint name -> effort limit in N m or N, where the file gives one above zero.
        massless: moving links without a mass, in file order.
        lost_meshes: collision meshes that could not be used.
    """

    spec: mujoco.MjSpec
    velocity: dict[str, float]
    effort: dict[str, float]
    massless: tuple[str, ...]
    lost_meshes: tuple[str, ...]


def read_urdf(path: Path) -> Urdf:
    """Read a URDF file.

    Raises:
        BedplateError: not XML, not a URDF, or MuJoCo refuses it; says why.
    """
    try:
        root = ElementTree.parse(path).getroot()
    except ElementTree.ParseError as error:
        raise BedplateError(f"{path} is not XML: {error}", "a URDF file") from error
    if root.tag != "robot":
        raise BedplateError(f"{path} starts with <{root.tag}>", "a URDF file, which starts with <robot>")

    # what MuJoCo drops
    moving = [joint for joint in root.iter("joint") if joint.get("type") not in (None, "fixed")]
    velocity: dict[str, float] = {}
    effort: dict[str, float] = {}
    for joint in moving:
        limit = joint.find("limit")
        for table, key in ((velocity, "velocity"), (effort, "effort")):
            value = _number(limit.get(key)) if limit is not None else 0.0
            if value > 0:
                table[joint.get("name", "")] = value

    # links that move and weigh nothing
    links = {link.get("name", ""): link for link in root.iter("link")}
    children = [child.get("link", "") for joint in moving if (child := joint.find("child")) is not None]
    massless = tuple(name for name in children if name in links and links[name].find("inertial") is None)

    lost = _settle_meshes(root, path)
    _set_compiler(root)
    try:
        spec = mujoco.MjSpec.from_string(ElementTree.tostring(root, encoding="unicode"))
    except ValueError as error:
        raise BedplateError(f"MuJoCo does not read {path}: {error}", "a URDF that MuJoCo can load") from error
    return Urdf(spec, velocity, effort, massless, lost)


def _settle_meshes(root: ElementTree.Element, path: Path) -> tuple[str, ...]:
    """Give every mesh a path; drop the geometry of those that cannot be used. Returns dropped collision meshes."""
    lost = []
    for link in root.iter("link"):
        for kind in ("visual", "collision"):
            for shape in link.findall(kind):
                mesh = shape.find("geometry/mesh")
                if mesh is None:
                    continue
                address = mesh.get("filename", "")
                found = find_mesh(address, path.parent)
                if found is not None and kind == "collision":
                    mesh.set("filename", str(found))
                    continue
                link.remove(shape)
                if kind == "collision":
                    lost.append(address)
    return tuple(lost)


def find_mesh(address: str, folder: Path) -> Path | None:
    """Where a mesh address points: beside the URDF, or below one of the folders above it."""
    if Path(address).suffix.lower() not in MESH_FORMATS:
        return None
    _, _, rest = address.rpartition("://")
    parts = Path(rest).parts
    folder = folder.resolve()
    for above in [folder, *folder.parents[:SEARCH_LEVELS]]:
        # with the package's name, without it, and by the file's name in a folder of meshes
        for tail in (parts, parts[1:], ("meshes", parts[-1]) if parts else ()):
            if tail and (candidate := above.joinpath(*tail)).is_file():
                return candidate
    return None


def _set_compiler(root: ElementTree.Element) -> None:
    # keep fixed links as bodies, so that an end effector keeps its name
    for old in root.findall("mujoco"):
        root.remove(old)
    settings = ElementTree.SubElement(root, "mujoco")
    ElementTree.SubElement(
        settings, "compiler", fusestatic="false", strippath="false", discardvisual="false", balanceinertia="true"
    )


def _number(text: str | None) -> float:
    try:
        value = float(text or 0.0)
    except ValueError:
        return 0.0
    return value if math.isfinite(value) else 0.0

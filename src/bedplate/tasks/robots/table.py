"""Robots by name, by file, or from anybody's package."""

from __future__ import annotations

from pathlib import Path

from bedplate.core.errors import BedplateError
from bedplate.core.registry import Registry

FOLDER = Path(__file__).parent
ARM7 = FOLDER / "arm7" / "arm7.xml"

ROBOTS = Registry("robot", {"arm7": "bedplate.tasks.robots.table:ARM7"}, entry_points="bedplate.robots")
"""Name -> path of an MJCF or URDF file, or a function that returns one."""


def robot_file(robot: str) -> Path:
    """The file that `robot` means: a path to .xml or .urdf, a name of ROBOTS, or "package.module:attribute".

    Raises:
        UnknownName: neither a file nor a name.
        BedplateError: a member of the table that is not a path.
    """
    path = Path(robot).expanduser()
    if path.exists() or (path.suffix and ":" not in robot):
        return path
    found = ROBOTS.load(robot)
    found = found() if callable(found) else found
    if not isinstance(found, str | Path):
        raise BedplateError(f"robot {robot!r} is a {type(found).__name__}", "a path, or a function that returns one")
    return Path(found)

"""Prove that every pinned package has a wheel for glibc 2.28 (RHEL 8) on x86_64: by file name, nothing is downloaded.

Usage: python scripts/check_constraints.py constraints/py311.txt constraints/py312.txt

A current pip resolves each file in a dry run for CPython of that version with manylinux tags up to 2_28 only; then
the names of the chosen files are judged once more, here. Needs the package index, so it is no part of the tests.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

NEWEST_GLIBC = (2, 28)
LEGACY = {"manylinux1": (2, 5), "manylinux2010": (2, 12), "manylinux2014": (2, 17)}

# older pips download whole wheels in a dry run
PIP = "pip>=25.1"


def main(paths: list[str]) -> int:
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        python = fresh_pip(Path(folder) / "venv")
        for path in map(Path, paths):
            files = resolve(python, path, Path(folder))
            bad = [name for name in files if not loads_on_rhel8(name)]
            failures += len(bad)
            print(f"{path}: {len(files)} wheels, {len(bad)} not for glibc 2.28")
            for name in bad:
                print(f"  {name}")
    return 1 if failures else 0


def fresh_pip(folder: Path) -> Path:
    """A venv with a current pip; returns its interpreter."""
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "--quiet", "--upgrade", PIP], check=True)
    return python


def resolve(python: Path, constraints: Path, folder: Path) -> list[str]:
    """File name of the wheel that pip would install for each pin; pip ends the script when a pin has none."""
    version = re.sub(r"py3(\d+)", r"3.\1", constraints.stem)
    pins = folder / f"{constraints.stem}.txt"
    pins.write_text("\n".join(read_pins(constraints)) + "\n")
    report = folder / f"{constraints.stem}.json"
    platforms = [f"manylinux_2_{minor}_x86_64" for minor in range(NEWEST_GLIBC[1], 4, -1)]
    platforms += [f"{name}_x86_64" for name in LEGACY]
    command = [python, "-m", "pip", "install", "--quiet", "--dry-run", "--no-deps", "--ignore-installed"]
    command += ["--only-binary=:all:", "--implementation=cp", f"--python-version={version}"]
    command += [f"--platform={platform}" for platform in platforms]
    command += [f"--target={folder / 'never'}", f"--report={report}", "-r", pins]
    done = subprocess.run(command)
    if done.returncode:
        sys.exit(f"{constraints}: a pin has no wheel for glibc 2.28; pip names it above")
    installs = json.loads(report.read_text())["install"]
    return sorted(entry["download_info"]["url"].rsplit("/", 1)[1] for entry in installs)


def read_pins(constraints: Path) -> list[str]:
    """The pins of a constraints file, comments left out."""
    lines = [line.strip() for line in constraints.read_text().splitlines()]
    return [line for line in lines if line and not line.startswith("#")]


def loads_on_rhel8(name: str) -> bool:
    """Whether a file is a wheel that glibc 2.28 on x86_64 loads, by its name."""
    if not name.endswith(".whl"):
        return False
    tags = name.removesuffix(".whl").rsplit("-", 1)[1].split(".")
    return any(tag == "any" or _glibc(tag) <= NEWEST_GLIBC for tag in tags)


def _glibc(tag: str) -> tuple[int, int]:
    """Smallest glibc of a platform tag; a huge version for any other platform."""
    if match := re.fullmatch(r"manylinux_(\d+)_(\d+)_x86_64", tag):
        return int(match[1]), int(match[2])
    return LEGACY.get(tag.removesuffix("_x86_64"), (99, 0)) if tag.endswith("_x86_64") else (99, 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

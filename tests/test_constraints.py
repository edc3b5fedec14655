"""The pins are exact, complete and free of local versions; the wheel check can say no."""

from __future__ import annotations

import ast
import importlib.util
import re
import sys
import tomllib
from importlib import metadata
from pathlib import Path
from types import ModuleType

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
FILES = ["py311.txt", "py312.txt"]


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("check_constraints", ROOT / "scripts" / "check_constraints.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(params=FILES)
def pins(request: pytest.FixtureRequest, script: ModuleType) -> dict[str, str]:
    lines = script.read_pins(ROOT / "constraints" / request.param)
    found = dict(line.split("==") for line in lines)
    assert len(found) == len(lines)
    return found


def requirements() -> list[Requirement]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    texts = [*project["dependencies"], *(text for extra in project["optional-dependencies"].values() for text in extra)]
    return [r for r in map(Requirement, texts) if r.name != "bedplate"]


def test_every_pin_is_exact_and_has_no_local_version(pins: dict[str, str]) -> None:
    assert [version for version in pins.values() if not re.fullmatch(r"[0-9][0-9a-z.]*", version)] == []


def test_torch_is_the_one_agreed_on(pins: dict[str, str]) -> None:
    assert pins["torch"] == "2.13.0"


def test_every_dependency_is_pinned_to_a_version_it_allows(pins: dict[str, str]) -> None:
    for requirement in requirements():
        name = canonicalize_name(requirement.name)
        assert name in pins, name
        assert requirement.specifier.contains(pins[name]), f"{requirement} against {pins[name]}"


def imported() -> set[str]:
    """Modules of other projects that the package imports, anywhere."""
    found = set()
    for path in (ROOT / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and not node.level:
                names = [node.module or ""]
            found |= {name.split(".")[0] for name in names}
    # `bedplate bench` runs from a source checkout
    return found - set(sys.stdlib_module_names) - {"bedplate", "benchmarks"}


def test_what_is_imported_is_declared_and_what_is_declared_is_imported() -> None:
    dists = metadata.packages_distributions()
    used = {canonicalize_name(dist) for module in imported() for dist in dists.get(module, [module])}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    texts = [*project["dependencies"], *extras["runtime"], *extras["train"]]
    declared = {canonicalize_name(Requirement(text).name) for text in texts} - {"bedplate"}
    # a distribution may come in parts: what is imported from mujoco-core is declared as mujoco
    missing = {name for name in used if not any(name == d or name.startswith(f"{d}-") for d in declared)}
    assert missing - {"envpool"} == set()
    unused = {d for d in declared if not any(name == d or name.startswith(f"{d}-") for name in used)}
    # TensorBoard is what Stable-Baselines3's writer needs
    assert unused == {"tensorboard"}


@pytest.mark.parametrize(
    ("name", "loads"),
    [
        ("rich-15.0.0-py3-none-any.whl", True),
        ("a-1-cp312-cp312-manylinux_2_28_x86_64.whl", True),
        ("a-1-cp312-cp312-manylinux_2_27_x86_64.manylinux_2_28_x86_64.whl", True),
        ("a-1-cp311-abi3-manylinux2014_x86_64.whl", True),
        ("a-1-cp312-cp312-manylinux_2_34_x86_64.whl", False),
        ("a-1-cp312-cp312-manylinux_2_28_aarch64.whl", False),
        ("a-1-cp312-cp312-musllinux_1_2_x86_64.whl", False),
        ("a-1-cp312-cp312-linux_x86_64.whl", False),
        ("a-1.tar.gz", False),
    ],
)
def test_wheels_are_judged_by_their_tags(script: ModuleType, name: str, loads: bool) -> None:
    assert script.loads_on_rhel8(name) is loads

"""House rules that no linter knows: file sizes, module names, docstrings, import contracts that can fail."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "bedplate"
MODULES = sorted(PACKAGE.rglob("*.py"))
FILES = [*MODULES, *sorted((ROOT / "tests").rglob("*.py")), *sorted((ROOT / "scripts").glob("*.py"))]

MAX_LINES = 300
HARD_MAX_LINES = 500

LONG_FILES: dict[str, str] = {
    "tests/runtime/test_serve.py": "one set-up of real processes that all its tests share",
}
"""Path from the root -> why the file may have more than MAX_LINES lines."""

VAGUE_NAMES = {"util", "utils", "common", "misc", "helper", "helpers"}


def lines_of(path: Path) -> int:
    return len(path.read_text(encoding="utf-8").splitlines())


def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def test_files_are_short() -> None:
    too_long = {name_of(path): lines_of(path) for path in FILES if lines_of(path) > MAX_LINES}
    assert {name: count for name, count in too_long.items() if count > HARD_MAX_LINES} == {}
    assert {name: count for name, count in too_long.items() if name not in LONG_FILES} == {}


def test_the_list_of_long_files_is_short_true_and_reasoned() -> None:
    for name, reason in LONG_FILES.items():
        assert lines_of(ROOT / name) > MAX_LINES, f"{name} is short again: take it off the list"
        assert len(reason) > 10, name
    assert len(LONG_FILES) <= 5


def test_no_module_has_a_vague_name() -> None:
    parts = {name_of(path): {*path.relative_to(PACKAGE).parts[:-1], path.stem} for path in MODULES}
    assert [name for name, words in parts.items() if words & VAGUE_NAMES] == []


def undocumented(tree: ast.Module) -> Iterator[str]:
    """Public names of a module without a docstring; the module itself is "module"."""
    if ast.get_docstring(tree) is None:
        yield "module"
    yield from _undocumented_members(tree, "")


def _undocumented_members(parent: ast.Module | ast.ClassDef, prefix: str) -> Iterator[str]:
    # functions inside functions are nobody's API
    for node in parent.body:
        if not isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) or node.name.startswith("_"):
            continue
        if ast.get_docstring(node) is None and not _is_overload(node):
            yield prefix + node.name
        if isinstance(node, ast.ClassDef):
            yield from _undocumented_members(node, f"{prefix}{node.name}.")


def _is_overload(node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return any(isinstance(mark, ast.Name) and mark.id in ("overload", "override") for mark in node.decorator_list)


def test_every_public_name_has_a_docstring() -> None:
    missing = {name_of(path): list(undocumented(parsed(path))) for path in MODULES}
    assert {name: names for name, names in missing.items() if names} == {}


def test_the_docstring_rule_can_fail() -> None:
    source = "class A:\n  'doc'\n  def f(self): pass\n  def _g(self): pass\ndef h(): pass\ndef _i(): pass\n"
    assert list(undocumented(ast.parse(source))) == ["module", "A.f", "h"]


def prints(tree: ast.Module) -> list[int]:
    """Lines that call print()."""
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return [call.lineno for call in calls if isinstance(call.func, ast.Name) and call.func.id == "print"]


def test_only_the_command_line_prints() -> None:
    found = {name_of(path): prints(parsed(path)) for path in MODULES if path.relative_to(PACKAGE).parts[0] != "cli"}
    assert {name: lines for name, lines in found.items() if lines} == {}


def test_the_printing_rule_can_fail() -> None:
    assert prints(ast.parse("x = 1\nprint(x)\n")) == [2]


def test_core_and_the_command_line_start_without_any_extra() -> None:
    # a finder that refuses what only the extras bring stands for an installation without them
    program = (
        "import sys, importlib.abc\n"
        "class Refuse(importlib.abc.MetaPathFinder):\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        absent = {'numpy', 'torch', 'mujoco', 'gymnasium', 'stable_baselines3', 'onnxruntime', 'scipy'}\n"
        "        if name.split('.')[0] in absent:\n"
        "            raise ModuleNotFoundError(f'No module named {name!r}', name=name)\n"
        "sys.meta_path.insert(0, Refuse())\n"
        "import pkgutil, bedplate.core\n"
        "for module in pkgutil.iter_modules(bedplate.core.__path__, 'bedplate.core.'):\n"
        "    __import__(module.name)\n"
        "from bedplate.cli.app import run\n"
        "assert run(['--help']) == 0\n"
        "sys.exit(run(['train', 'nav_lidar']))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 2, done.stderr
    assert "pip install" in done.stderr


BROKEN_LAYER = """
[tool.importlinter]
root_package = "bedplate"
[[tool.importlinter.contracts]]
name = "upside down"
type = "layers"
containers = ["bedplate"]
layers = ["core", "cli"]
"""


def test_the_import_contracts_hold_and_can_fail(tmp_path: Path) -> None:
    def lint(config: Path) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", "from importlinter.cli import lint_imports_command as c; c()"]
        command += ["--config", str(config), "--no-cache"]
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True)

    held = lint(ROOT / "pyproject.toml")
    assert held.returncode == 0, held.stdout
    (tmp_path / "pyproject.toml").write_text(BROKEN_LAYER)
    broken = lint(tmp_path / "pyproject.toml")
    assert broken.returncode == 1
    assert "upside down BROKEN" in broken.stdout

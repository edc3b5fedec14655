"""Tuned recipes, one YAML file each: task, engine, learner, and what was measured with them."""

from __future__ import annotations

from pathlib import Path

from bedplate.core.errors import UnknownName

FOLDER = Path(__file__).parent


def recipe_names() -> list[str]:
    """Names of the recipes that come with Bedplate."""
    return sorted(path.stem for path in FOLDER.glob("*.yaml"))


def recipe_path(name: str) -> Path:
    """The file of a recipe given by name or by path.

    Raises:
        UnknownName: neither a shipped recipe nor a file; names the nearest recipe.
    """
    path = Path(name)
    if path.suffix in (".yaml", ".yml") or path.exists():
        return path
    if name not in recipe_names():
        raise UnknownName("recipe", name, recipe_names())
    return FOLDER / f"{name}.yaml"

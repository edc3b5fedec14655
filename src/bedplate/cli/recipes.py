"""`bedplate recipes`: what comes tuned, and what it reached when it was measured."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from bedplate.cli import render

if TYPE_CHECKING:
    from bedplate.learn.config import RunConfig


def recipes(as_json: Annotated[bool, typer.Option("--json", help="print the table as JSON")] = False) -> None:
    """List the recipes that come with Bedplate."""
    from bedplate.learn.config import load_config
    from bedplate.recipes import recipe_names, recipe_path

    configs = {name: load_config(recipe_path(name)) for name in recipe_names()}
    if as_json:
        facts = {
            name: {**config.model_dump(mode="json"), "file": recipe_path(name)} for name, config in configs.items()
        }
        render.show_json({"schema": render.SCHEMA, "recipes": facts})
        return
    columns = ("recipe", "task", "env steps", "success", "minutes", "description", "measured with")
    render.show_table("recipes", columns, [_row(name, config) for name, config in configs.items()])
    render.show_note(
        "success: on unseen worlds; minutes: of training, as the last column says; - means not measured yet"
    )
    render.show_note("next: bedplate train NAME")
    render.show_note(f"a recipe of your own: copy a file of {recipe_path(recipe_names()[0]).parent}")


def _row(name: str, config: RunConfig) -> tuple[Any, ...]:
    expected = config.expected
    success = "-" if expected.success is None else f"{expected.success:.1%}"
    minutes = "-" if expected.minutes is None else f"{expected.minutes:g}"
    return (
        name,
        config.task.name,
        f"{config.learn.total_steps:,}",
        success,
        minutes,
        config.description,
        expected.note,
    )

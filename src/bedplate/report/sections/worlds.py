"""What the worlds of an evaluation were: the task's difficulty, and what was drawn from which ranges."""

from __future__ import annotations

from bedplate.report.figures import duration, exact, quantity
from bedplate.report.markup import Html, facts, join, tag
from bedplate.report.reader import Facts, Material


def worlds(material: Material) -> Html:
    """Two lists: the worlds, and the randomisation."""
    evaluation = material.evaluation
    rows = [(_sentence(name), text) for name, value in evaluation.items("difficulty") if (text := _words(value))]
    limit_s = evaluation.number("episode_length_s")
    if limit_s is not None:
        rows.append(("Time-out", duration(limit_s)))
    known = evaluation.at("worlds")
    names = (("seed", "seed"), ("split", "split"), ("version", "generator version"))
    named = [f"{label} {known.text(key)}" for key, label in names if known.text(key)]
    rows.append(("Drawn from", ", ".join(named) or "not recorded"))
    return join([tag("h3", "The worlds"), facts(rows), tag("h3", "Randomisation"), _randomisation(evaluation)])


def _randomisation(evaluation: Facts) -> Html:
    switched = {"True": "on", "False": "off"}.get(evaluation.text("randomisation"), "not recorded")
    rows: list[tuple[str, Html | str]] = [("Noise, delays and varied physics", switched)]
    for event, ranges in evaluation.items("randomisation_ranges"):
        drawn = [quantity(name, value.text()) for name, value in ranges.items()]
        rows.append((_sentence(event), join([tag("span", text, class_="drawn") for text in drawn])))
    return facts(rows)


def _words(value: Facts) -> str:
    """A fact of the task as text; "" for a list of nothing."""
    if isinstance(value.value, bool):
        return "yes" if value.value else "no"
    if value.list():
        return ", ".join(_words(item) for item in value.list())
    number = value.number()
    return exact(number) if number is not None else value.text()


def _sentence(name: str) -> str:
    return name.replace("_", " ").capitalize()

"""Put the sections together: one file that opens offline and asks nobody for anything."""

from __future__ import annotations

import time
from collections.abc import Callable
from importlib import resources
from pathlib import Path

from bedplate import __version__
from bedplate.core.files import write_text
from bedplate.report.markup import Html, tag
from bedplate.report.reader import Material, read_material
from bedplate.report.sections.contract import contract
from bedplate.report.sections.manifest import manifest
from bedplate.report.sections.outcome import outcome
from bedplate.report.sections.overview import overview
from bedplate.report.sections.runtime import loop, verification
from bedplate.report.sections.training import training
from bedplate.runs.layout import REPORT, Run

SECTIONS: tuple[tuple[str, str, Callable[[Material], Html]], ...] = (
    ("outcome", "Success on unseen worlds", outcome),
    ("training", "Training", training),
    ("bundle", "Bundle contract", contract),
    ("verification", "Verification", verification),
    ("loop", "Real-time loop", loop),
    ("manifest", "Manifest", manifest),
)
"""Anchor, heading and content of each section, in order."""

# no script, no request: a browser enforces what the page promises
POLICY = "default-src 'none'; img-src data:; media-src data:; style-src 'unsafe-inline'"


def write_report(run: Run) -> Path:
    """Write report.html of a run; an earlier one is replaced.

    Returns:
        Where it was written.

    Raises:
        BedplateError: the folder is not a run.
        StorageError: the folder cannot be written.
    """
    path = run.path(REPORT)
    write_text(path, render(read_material(run)))
    return path


def render(material: Material) -> str:
    """The whole page."""
    links = [tag("a", title, href=f"#{anchor}") for anchor, title, _ in SECTIONS]
    sections = [tag("section", tag("h2", title), part(material), id=anchor) for anchor, title, part in SECTIONS]
    written = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime())
    footer = tag(
        "footer",
        f"Written by Bedplate {__version__} on {written}. ",
        "The guard is ordinary software: bounded and tested, not certified.",
    )
    style = resources.files("bedplate.report").joinpath("style.css").read_text(encoding="utf-8")
    page = tag(
        "html",
        tag(
            "head",
            tag("meta", charset="utf-8"),
            tag("meta", http_equiv="Content-Security-Policy", content=POLICY),
            tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
            tag("title", f"{material.run.id} · Bedplate report"),
            # the style sheet is ours, and CSS must not be escaped
            tag("style", Html(style)),
        ),
        tag("body", tag("main", overview(material), tag("nav", links), sections, footer)),
        lang="en",
    )
    return f"<!DOCTYPE html>\n{page}\n"

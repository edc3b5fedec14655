"""What the run was made with: versions, machine, code state, the resolved recipe."""

from __future__ import annotations

from bedplate.report.figures import duration, whole
from bedplate.report.markup import Html, facts, join, not_measured, tag
from bedplate.report.reader import Facts, Material


def manifest(material: Material) -> Html:
    """The section."""
    recorded = material.manifest
    parts: list[Html | None] = []
    if recorded:
        rows: list[tuple[str, Html | str]] = [
            ("Started", _time(recorded.text("started"))),
            ("Ended", _time(recorded.text("ended")) or "not yet"),
            ("Training time", duration(recorded.number("train_seconds"))),
            ("Env steps", whole(recorded.number("steps"))),
            ("Seed", recorded.text("seed")),
            ("Code", _git(recorded)),
            ("Kernel", recorded.text("kernel")),
            ("System", recorded.text("os")),
            ("CPU", f"{recorded.text('cpu')}, {recorded.text('cores')} cores"),
            ("GPU driver", recorded.text("driver")),
            ("CUDA", recorded.text("cuda")),
            ("cuDNN", recorded.text("cudnn")),
            ("Python", recorded.text("python")),
            *((name, version.text()) for name, version in recorded.items("packages")),
            ("Recipe hash", tag("code", recorded.text("recipe_hash"))),
        ]
        parts.append(facts((name, value) for name, value in rows if value))
        argv = " ".join(word.text() for word in recorded.list("argv"))
        parts.append(tag("p", "Command: ", tag("code", argv), class_="command") if argv else None)
    else:
        parts.append(not_measured(recorded.problem or "There is no manifest: what the run was made with is not known."))
    if material.config_text:
        parts.append(tag("details", tag("summary", "Resolved recipe"), tag("pre", material.config_text)))
    return join(parts)


def _git(recorded: Facts) -> str:
    commit = recorded.text("git", "commit")
    if not commit:
        return recorded.text("git")
    return commit[:12] + (" with uncommitted changes" if recorded.at("git", "dirty").value else "")


def _time(stamp: str) -> str:
    return stamp.replace("T", " ").replace("Z", " UTC")

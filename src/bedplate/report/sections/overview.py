"""The head of the page: what was run, and the figures that count."""

from __future__ import annotations

from bedplate.report.figures import NOT_MEASURED, duration, interval, percent, short, whole
from bedplate.report.markup import Html, tag
from bedplate.report.reader import Material


def overview(material: Material) -> Html:
    """Name, one line about the run, and the cards."""
    manifest, evaluation = material.manifest, material.evaluation
    task = manifest.text("task") or material.config.text("task", "name") or evaluation.text("task")
    about = material.config.text("description") or evaluation.text("description")
    status = manifest.text("status")
    when = manifest.text("started").replace("T", " ").replace("Z", " UTC")
    facts = [task, when, f"seed {manifest.text('seed')}" if manifest.text("seed") else ""]
    return tag(
        "header",
        tag("p", "Bedplate run report", class_="kicker"),
        tag("h1", material.run.id, tag("span", status, class_=f"status {_tone(status)}") if status else None),
        tag("p", " · ".join(fact for fact in facts if fact), class_="byline"),
        tag("p", about, class_="about") if about else None,
        tag("div", _cards(material), class_="cards"),
    )


def _cards(material: Material) -> list[Html]:
    evaluation, serve, verification = material.evaluation, material.serve, material.verification
    episodes = evaluation.text("episodes")
    worlds = f"{episodes} unseen worlds" if episodes else ""
    trips = len(serve.list("faults")) if serve else None
    rate_hz, period_s = serve.number("rate_hz"), serve.number("control_dt_s")
    wanted = f"of {1 / period_s:g} Hz" if period_s else ""
    samples = verification.text("samples")
    trained = duration(manifest_seconds(material))
    return [
        _card("Success", percent(evaluation.number("success", "rate")), interval(evaluation.at("success")) or worlds),
        _card("Collisions", percent(evaluation.number("collisions", "rate")), interval(evaluation.at("collisions"))),
        _card("Env steps/s", whole(material.manifest.number("steps_per_s")), f"with learning, {trained}"),
        _card(
            "Parity error",
            short(verification.number("parity", "max_error"), 2),
            f"{samples} samples" if samples else "",
        ),
        _card("Loop rate", _hz(rate_hz), wanted),
        _card(
            "Deadline misses",
            whole(serve.number("deadline_misses")),
            f"in {serve.text('driven_ticks')} commands" if serve else "",
        ),
        _card("Guard trips", whole(trips), "latched faults" if serve else ""),
    ]


def manifest_seconds(material: Material) -> float | None:
    """Training time."""
    return material.manifest.number("train_seconds")


def _card(label: str, value: str, note: str) -> Html:
    missing = " missing-value" if value == NOT_MEASURED else ""
    return tag(
        "div",
        tag("p", label, class_="label"),
        tag("p", value, class_=f"value{missing}"),
        tag("p", "" if missing else note, class_="note"),
        class_="card",
    )


def _hz(rate_hz: float | None) -> str:
    return NOT_MEASURED if rate_hz is None else f"{rate_hz:.1f} Hz"


def _tone(status: str) -> str:
    return {"finished": "good", "failed": "bad"}.get(status, "warn")

"""The head of the page: what was run, and the figures that count."""

from __future__ import annotations

from bedplate.report.figures import NOT_MEASURED, duration, interval, percent, short, whole
from bedplate.report.markup import Html, tag
from bedplate.report.reader import Facts, Material

RATE_TOLERANCE = 0.01
"""Part of the wanted rate by which a loop may miss it and still be shown as good."""

MANY_MISSES = 0.01
"""Part of the commands from which on missed deadlines are shown as a warning."""


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
    success, collisions = evaluation.number("success", "rate"), evaluation.number("collisions", "rate")
    misses, driven = serve.number("deadline_misses"), serve.number("driven_ticks")
    return [
        _card("Success", percent(success), interval(evaluation.at("success")) or worlds, _success_tone(material)),
        _card(
            "Collisions", percent(collisions), interval(evaluation.at("collisions")), "good" if collisions == 0 else ""
        ),
        _card("Env steps/s", whole(material.manifest.number("steps_per_s")), f"with learning, {trained}"),
        _card(
            "Parity error",
            short(verification.number("parity", "max_error"), 2),
            f"{samples} samples" if samples else "",
            _gate_tone(verification, "parity"),
        ),
        _card("Loop rate", _hz(rate_hz), wanted, _rate_tone(rate_hz, period_s)),
        _card(
            "Deadline misses",
            whole(misses),
            f"in {serve.text('driven_ticks')} commands" if serve else "",
            _share_tone(misses, driven),
        ),
        _card("Guard trips", whole(trips), "latched faults" if serve else "", {None: "", 0: "good"}.get(trips, "bad")),
    ]


def _success_tone(material: Material) -> str:
    """Against what the recipe says it reaches; a recipe that says nothing has no colour."""
    expected, high = material.config.number("expected", "success"), material.evaluation.number("success", "high")
    if expected is None or high is None:
        return ""
    return "good" if high >= expected else "warn"


def _gate_tone(verification: Facts, name: str) -> str:
    passed = [gate.text("passed") for gate in verification.list("gates") if gate.text("name") == name]
    return {"True": "good", "False": "bad"}.get(passed[0], "") if passed else ""


def _rate_tone(rate_hz: float | None, period_s: float | None) -> str:
    if not rate_hz or not period_s:
        return ""
    return "good" if abs(rate_hz * period_s - 1.0) <= RATE_TOLERANCE else "warn"


def _share_tone(misses: float | None, driven: float | None) -> str:
    if misses is None or not driven:
        return ""
    return "good" if misses == 0 else "warn" if misses > MANY_MISSES * driven else ""


def manifest_seconds(material: Material) -> float | None:
    """Training time."""
    return material.manifest.number("train_seconds")


def _card(label: str, value: str, note: str, tone: str = "") -> Html:
    missing = " missing-value" if value == NOT_MEASURED else ""
    return tag(
        "div",
        tag("p", label, class_="label"),
        tag("p", value, class_=f"value{missing}"),
        tag("p", "" if missing else note, class_="note"),
        class_=f"card {tone}".rstrip(),
    )


def _hz(rate_hz: float | None) -> str:
    return NOT_MEASURED if rate_hz is None else f"{rate_hz:.1f} Hz"


def _tone(status: str) -> str:
    return {"finished": "good", "failed": "bad"}.get(status, "warn")

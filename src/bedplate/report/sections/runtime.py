"""How the bundle behaves: verification on this machine, and the real-time loop with the guard."""

from __future__ import annotations

from bedplate.report.figures import duration, microseconds, short, whole
from bedplate.report.markup import Html, facts, join, not_measured, table, tag
from bedplate.report.plots import histogram
from bedplate.report.reader import Facts, Material

ENDS = {
    "policy_never_started": "the policy process gave no command",
    "policy_too_slow": "every answer came after its deadline",
    "robot_gone": "the robot left before the writer",
}
"""In words, the ends that are not what they were asked to be."""

PERCENTILES = (("p50", "p50_us"), ("p90", "p90_us"), ("p99", "p99_us"), ("p99.9", "p99_9_us"))


def verification(material: Material) -> Html:
    """Parity, determinism and the time of one call."""
    facts_ = material.verification
    if not facts_:
        problem = facts_.problem or "The bundle has not been verified."
        return not_measured(problem, f"bedplate verify {material.run.folder / 'bundle'}")
    rows = [
        [gate.text("name").capitalize(), gate.text("found"), gate.text("expected"), _verdict(gate.at("passed").value)]
        for gate in facts_.list("gates")
    ]
    latency = facts_.at("latency")
    return join(
        [
            _other_bundle(material, facts_),
            table(["Gate", "Found", "Asked", "Passed"], rows),
            tag("h3", "One policy call"),
            _percentiles(latency),
        ]
    )


def loop(material: Material) -> Html:
    """Rate, misses and the guard's interventions while a robot was driven in real time."""
    serve = material.serve
    if not serve:
        problem = serve.problem or "The bundle has not driven a robot."
        bundle = material.run.folder / "bundle"
        return not_measured(problem, f"bedplate serve {bundle} --link unix:///tmp/robot.sock")
    period_s = serve.number("control_dt_s")
    misses = [(name, count.number()) for name, count in serve.items("misses")]
    rules = [(name, count.number()) for name, count in serve.items("interventions")]
    faults = serve.list("faults")
    # no rate without at least two driven commands
    rate_hz = serve.number("rate_hz") or None
    rate = short(rate_hz, 4) + (f" Hz of {1 / period_s:g} Hz" if rate_hz and period_s else "")
    return join(
        [
            _other_bundle(material, serve),
            facts(
                [
                    ("Loop rate", rate),
                    ("Commands", f"{whole(serve.number('ticks'))} in {duration(serve.number('seconds'))}"),
                    ("While driven", whole(serve.number("driven_ticks"))),
                    ("Before the first answer", whole(serve.number("waiting_ticks"))),
                    ("To come to rest", whole(serve.number("rest_ticks"))),
                    ("Deadline misses", whole(serve.number("deadline_misses"))),
                    ("Kinds of misses", _counts(misses)),
                    ("Guard trips", whole(len(faults))),
                    ("Ticks in which a rule acted", _counts(rules)),
                    *_troubles(serve),
                    ("Ended", _end(serve.text("end"))),
                    ("Scheduler", serve.text("host", "scheduler") or "not recorded"),
                ]
            ),
            _faults(faults),
            tag("h3", "From a state's stamp to its command"),
            _percentiles(serve.at("latency")),
            _histogram("From state to command", serve.list("latency_bins"), serve.at("latency")),
        ]
    )


def _troubles(serve: Facts) -> list[tuple[str, str]]:
    """What is only worth a line when it happened."""
    held_back, late = serve.number("held_back"), serve.at("late_latency")
    frames = [(name, count.number()) for name, count in serve.items("refused_frames")]
    rows = []
    if late.number("n"):
        p50, p99 = (microseconds(late.number(key)) for key in ("p50_us", "p99_us"))
        rows.append(("Answers that came too late", f"{whole(late.number('n'))}: p50 {p50}, p99 {p99} after the state"))
    if held_back:
        rows.append(("Periods with nothing sent", f"{whole(held_back)}: no fresh measured position to start from"))
    if rejection := serve.text("last_rejection"):
        rows.append(("Last state that was refused", rejection))
    if any(count for _, count in frames):
        rows.append(("Frames of the robot not used", _counts(frames)))
    return rows


def _end(end: str) -> str:
    name = end.replace("_", " ")
    return f"{name}: {ENDS[end]}" if end in ENDS else name


def _percentiles(latency: Facts) -> Html:
    cells = [microseconds(latency.number(key)) for _, key in PERCENTILES]
    calls = whole(latency.number("n"))
    return table([*(name for name, _ in PERCENTILES), "Samples"], [[*cells, calls]], numeric=range(1, 5), narrow=True)


def _histogram(title: str, bins: list[Facts], latency: Facts) -> Html | None:
    pairs = [(pair[0].number(), pair[1].number()) for item in bins if len(pair := item.list()) == 2]
    usable = [
        (edge, count) for edge, count in pairs if edge is not None and count is not None and edge > 0 and count > 0
    ]
    if not usable:
        return None
    marks = [(name, latency.number(key) or 0.0) for name, key in PERCENTILES if name != "p90"]
    return histogram(title, usable, marks)


def _faults(faults: list[Facts]) -> Html | None:
    if not faults:
        return None
    rows = [
        [fault.text("rule").replace("_", " "), fault.text("detail"), short(fault.number("time_s"))] for fault in faults
    ]
    return join([tag("h3", "Faults"), table(["Rule", "What was found", "Time (s)"], rows, numeric=(2,))])


def _counts(counts: list[tuple[str, float | None]]) -> str:
    seen = [f"{name.replace('_', ' ')} {whole(count)}" for name, count in counts if count]
    return ", ".join(seen) or "none"


def _other_bundle(material: Material, measured: Facts) -> Html | None:
    # a second export has the same contract, and other weights
    here, there = material.bundle.text("bundle_hash"), measured.text("bundle_hash")
    if not here or not there or here == there:
        return None
    return tag("div", tag("p", "Measured with another bundle than the one in this run: run it again."), class_="banner")


def _verdict(passed: object) -> Html:
    return tag("span", "yes", class_="yes") if passed is True else tag("span", "no", class_="no")

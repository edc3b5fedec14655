"""What the bundle promises: signals in, commands out, limits, safe action."""

from __future__ import annotations

from bedplate.report.figures import age, exact
from bedplate.report.markup import Html, facts, join, not_measured, table, tag
from bedplate.report.reader import Facts, Material


def contract(material: Material) -> Html:
    """The section."""
    bundle = material.bundle
    agreed = bundle.at("contract")
    if not agreed:
        problem = bundle.problem or "This run has not been exported."
        return not_measured(problem, f"bedplate export {material.run.folder}")
    period_s = agreed.number("control_dt_s")
    rate = f"{1e3 * period_s:g} ms ({1 / period_s:g} Hz)" if period_s else "not recorded"
    guard = bundle.at("guard")
    return join(
        [
            tag("p", "As recorded in bundle.json; the robot side must agree on every word of it.", class_="lead"),
            tag("h3", "Signals in"),
            table(
                ["Signal", "Elements", "Unit", "Frame", "Accepted range", "Max age", "Rate"],
                [_signal(signal) for signal in agreed.list("signals")],
            ),
            tag("h3", "Commands out"),
            table(
                [
                    "Channel",
                    "Unit",
                    "Low",
                    "High",
                    "Largest change per s",
                    "Position bound",
                    "Effort bound",
                    "Safe action",
                ],
                _channels(agreed.at("limits")),
                numeric=(2, 3, 4, 7),
            ),
            tag("h3", "Terms"),
            facts(
                [
                    ("Control period", rate),
                    ("Action", agreed.text("action_kind").replace("_", " ")),
                    ("Safe action", agreed.text("limits", "safe_action", "mode")),
                    ("Memory", ", ".join(_memory(term) for term in agreed.list("memory")) or "none"),
                    ("Oldest action", f"{guard.text('action_max_age_periods')} control periods"),
                    ("Misses that latch", guard.text("overrun_limit")),
                    ("Bad measurements that latch", guard.text("range_fault_ticks")),
                    ("Contract hash", tag("code", bundle.text("contract_hash"))),
                ]
            ),
        ]
    )


def _signal(signal: Facts) -> list[Html | str]:
    names = [element.text() for element in signal.list("components")]
    shown = ", ".join(names) if len(names) <= 4 else f"{names[0]} … {names[-1]}"
    rate_hz = signal.number("rate_hz")
    return [
        tag("b", signal.text("name")),
        join([f"{len(names)}: ", tag("small", shown)]),
        signal.text("unit"),
        signal.text("frame") or "-",
        f"{exact(signal.number('low'))} to {exact(signal.number('high'))}",
        age(signal.number("max_age_s")),
        f"{rate_hz:g} Hz" if rate_hz is not None else "-",
    ]


def _channels(limits: Facts) -> list[list[Html | str]]:
    safe = [value.number() for value in limits.list("safe_action", "value")]
    rows: list[list[Html | str]] = []
    for index, limit in enumerate(limits.list("channels")):
        position, effort = limit.at("position"), limit.at("effort")
        bound = f"{exact(position.number('low'))} to {exact(position.number('high'))}" if position else "-"
        rows.append(
            [
                tag("b", limit.text("channel")),
                limit.text("unit"),
                exact(limit.number("low")),
                exact(limit.number("high")),
                exact(limit.number("rate_per_s")),
                f"{bound} ({position.text('signal')})" if position else bound,
                exact(effort.number("high")) if effort else "-",
                exact(safe[index]) if index < len(safe) else "-",
            ]
        )
    return rows


def _memory(term: Facts) -> str:
    return f"{term.text('name').replace('_', ' ')} ({term.text('size')})"

"""Success on unseen worlds: table with intervals, what the worlds were, trajectories and video."""

from __future__ import annotations

import base64
import inspect

from bedplate.core.errors import BedplateError
from bedplate.report.figures import heading, interval, percent, quartiles, short, size
from bedplate.report.markup import Html, join, not_measured, table, tag
from bedplate.report.plots import interval_bar
from bedplate.report.reader import Facts, Material
from bedplate.report.sections.worlds import worlds

MAX_EMBEDDED_BYTES = 24_000_000
"""A picture or video above this size stays a file of its own."""


def outcome(material: Material) -> Html:
    """The section."""
    evaluation = material.evaluation
    if not evaluation:
        problem = evaluation.problem or "This run has not been evaluated."
        return not_measured(problem, f"bedplate evaluate {material.run.folder}")
    columns = [("Policy with guard", evaluation)]
    columns += [
        (title, evaluation.at(key))
        for key, title in (("unguarded", "Policy without guard"), ("baseline", "Classical baseline with guard"))
        if evaluation.at(key)
    ]
    return join(
        [
            tag("p", _lead(evaluation), class_="lead"),
            _banner(material),
            table(["", *(title for title, _ in columns)], _rows(columns)),
            worlds(material),
            tag("h3", "Trajectories"),
            _trajectories(material),
            tag("h3", "Video"),
            _video(material),
        ]
    )


def _lead(evaluation: Facts) -> str:
    episodes = evaluation.text("episodes")
    clamp = evaluation.number("guard", "clamp_rate")
    seed = evaluation.text("worlds", "seed")
    text = (
        f"{episodes} worlds that the policy was never trained on (world seed {seed or 'not recorded'}), each run once, "
    )
    text += "with deterministic actions and the guard in the loop; the guarded figure counts. Intervals are Wilson's, "
    text += "95 %; other figures are medians with quartiles."
    if clamp is not None:
        text += f" The guard changed {percent(clamp)} of all commands{_most(evaluation.at('guard'))}."
    return text


def _banner(material: Material) -> Html | None:
    """Say in so many words when the worlds are not the task's own."""
    name = material.config.text("task", "name")
    params = [
        (key, value) for key, value in material.config.items("task", "params") if not _is_standard(name, key, value)
    ]
    note = material.config.text("expected", "note")
    texts = []
    if params:
        changed = ", ".join(f"{key} = {value.value}" for key, value in params)
        texts.append(
            f"This is not the task in its standard form: the recipe sets {changed}. "
            "A rate measured here is not a rate on the standard worlds."
        )
    if material.evaluation.at("randomisation").value is False:
        texts.append("Randomisation was off: noise, delays and varied physics are not part of this result.")
    change = material.evaluation.text("worlds", "change")
    if change:
        texts.append(f"Trained with another {change}.")
    if note:
        texts.append(note)
    return tag("div", [tag("p", text) for text in texts], class_="banner") if texts else None


def _is_standard(task: str, key: str, value: Facts) -> bool:
    """Whether an argument leaves a task what it is: the factory's own default, or a task of a site."""
    from bedplate.tasks import TASKS

    # only the tasks that come with Bedplate have a standard form that others know
    if task not in TASKS.table:
        return True
    try:
        default = inspect.signature(TASKS.load(task)).parameters[key].default
    except (BedplateError, KeyError, ImportError):
        return False
    return bool(value.value == (list(default) if isinstance(default, tuple) else default))


def _rows(columns: list[tuple[str, Facts]]) -> list[list[Html | str]]:
    rates = [("Success", "success"), ("Collisions", "collisions"), ("Time-outs", "time_outs")]
    rows: list[list[Html | str]] = [[label, *(_rate(facts_.at(key)) for _, facts_ in columns)] for label, key in rates]
    # every other way to end
    reasons = dict.fromkeys(name for _, column in columns for name, _ in column.items("by_reason"))
    for reason in reasons:
        if reason not in ("success", "collision", "time_out"):
            cells = [column.at("by_reason", reason) for _, column in columns]
            collided = any(reason == name.text() for _, column in columns for name in column.list("collision_reasons"))
            note = ", a collision" if collided else ""
            rows.append(
                [f"Ended by {reason.replace('_', ' ')}{note}", *(_rate(cell) if cell else "0" for cell in cells)]
            )
    for name in dict.fromkeys(name for _, column in columns for name, _ in column.items("metrics_of_successes")):
        cells_ = [quartiles(column.at("metrics_of_successes", name)) for _, column in columns]
        title = heading(name)
        rows.append([f"{title[:1].upper()}{title[1:]}, successes", *cells_])
    rows.append(["Episode length (s)", *(quartiles(column.at("length_s")) for _, column in columns)])
    rows.append(["Return", *(quartiles(column.at("return")) for _, column in columns)])
    rows.append(["Commands the guard changed", *(_clamp(column.at("guard")) for _, column in columns)])
    rows.append(["Episodes with a guard fault", *(_faults(column.at("guard")) for _, column in columns)])
    return rows


def _rate(rate: Facts) -> Html | str:
    value, low, high = rate.number("rate"), rate.number("low"), rate.number("high")
    if value is None or low is None or high is None:
        return percent(value)
    text = tag("span", tag("b", percent(value)), " ", tag("small", interval(rate)), class_="rate")
    return join([text, interval_bar(value, low, high)])


def _clamp(guard: Facts) -> str:
    if not guard:
        return "no guard"
    shares = [f"{name.replace('_', ' ')} {percent(share)}" for name, share in _shares(guard)]
    return percent(guard.number("clamp_rate")) + (f" (rules: {', '.join(shares)})" if shares else "")


def _shares(guard: Facts) -> list[tuple[str, float]]:
    """Rule and share of the commands it acted on, the most active first."""
    shares = [(name, share.number() or 0.0) for name, share in guard.items("by_rule")]
    return sorted(shares, key=lambda pair: -pair[1])


def _most(guard: Facts) -> str:
    shares = _shares(guard)
    if not shares:
        return ""
    return f", {'most of them' if len(shares) > 1 else 'all of them'} by its {shares[0][0].replace('_', ' ')} rule"


def _faults(guard: Facts) -> str:
    if not guard:
        return "no guard"
    causes = [f"{name.replace('_', ' ')} {short(count.number())}" for name, count in guard.items("faults_by_rule")]
    return short(guard.number("faults")) + (f" ({', '.join(causes)})" if causes else "")


def _trajectories(material: Material) -> Html:
    if not material.evaluation.text("trajectories") or material.trajectories is None:
        return not_measured("No trajectories were drawn.")
    caption = (
        f"Ring: start. Dot: end. Star: goal. {_chosen(material.evaluation.list('trajectory_worlds'))} Green succeeded, "
        "red collided, amber timed out, violet ended otherwise."
    )
    picture = tag("img", src=_data_url("image/png", material.trajectories), alt="Trajectories of several worlds")
    return tag("figure", picture, tag("figcaption", caption), class_="picture")


def _video(material: Material) -> Html:
    evaluation, video = material.evaluation, material.video
    if not evaluation.text("video") or video is None:
        note = evaluation.text("video_note")
        return not_measured(f"There is no video: {note}." if note else "There is no video.")
    if len(video) > MAX_EMBEDDED_BYTES:
        return tag(
            "p",
            f"The video of {size(len(video))} is too large to be part of this page: see {evaluation.text('video')}.",
        )
    speed = evaluation.number("video_speed")
    pace = f"{speed:g} x real time. " if speed and speed > 1 else "Real time. "
    source = _data_url("video/mp4", video)
    player = tag("video", controls=True, loop=True, muted=True, playsinline=True, preload="auto", src=source)
    caption = pace + _chosen(evaluation.list("video_worlds"))
    print_note = tag("p", "The video is part of the HTML file and cannot be printed.", class_="print-only missing")
    return join([tag("figure", player, tag("figcaption", caption), class_="picture screen-only"), print_note])


def _chosen(worlds: list[Facts]) -> str:
    numbers = [int(number) for world in worlds if (number := world.number()) is not None]
    if not numbers:
        return ""
    if numbers == list(range(len(numbers))):
        return f"The first {len(numbers)} worlds, not selected."
    return f"The first {len(numbers) - 1} worlds, and the first failure (world {numbers[-1]})."


def _data_url(kind: str, data: bytes) -> str:
    return f"data:{kind};base64,{base64.b64encode(data).decode('ascii')}"

"""Training curves from metrics.jsonl."""

from __future__ import annotations

from bedplate.report.figures import duration, whole
from bedplate.report.markup import Html, join, not_measured, tag
from bedplate.report.plots import Series, line_chart
from bedplate.report.reader import Material

MAX_TERMS = 8


def training(material: Material) -> Html:
    """The section."""
    metrics = material.metrics
    if not metrics:
        return not_measured("There are no training metrics.", f"bedplate train RECIPE --name {material.run.id}")
    charts = [
        _chart(
            material,
            "Success and how episodes end",
            {"rollout/success_rate": "success", **_ends(material)},
            (0.0, 1.0),
            "%",
        ),
        _chart(material, "Return per episode", {"rollout/ep_rew_mean": "mean return"}),
        _chart(material, "Reward terms per episode", _terms(material)),
        _chart(material, "Episode length", {"rollout/ep_len_mean": "control steps"}),
        _chart(material, "Env steps/s with learning", {"time/fps": "steps/s"}),
        _chart(material, "Value loss", {"train/value_loss": "value loss"}),
        _chart(material, "Policy gradient loss", {"train/policy_gradient_loss": "policy loss"}),
        _chart(
            material,
            "Step size of the policy",
            {"train/approx_kl": "approx. KL", "train/clip_fraction": "clip fraction"},
        ),
        _chart(material, "Explained variance", {"train/explained_variance": "explained variance"}),
        _chart(material, "Action deviation", {"train/std": "standard deviation"}),
        _chart(material, "Learning rate", {"train/learning_rate": "learning rate"}),
    ]
    skipped = material.skipped_lines
    note = f"{skipped} damaged lines of the metrics were left out." if skipped else None
    return join(
        [
            tag("p", _lead(material), class_="lead"),
            tag("div", charts, class_="charts"),
            tag("p", note, class_="missing") if note else None,
        ]
    )


def _lead(material: Material) -> str:
    manifest = material.manifest
    steps, seconds = manifest.number("steps"), manifest.number("train_seconds")
    if steps is None or seconds is None:
        return "Training has not ended: what it logged so far."
    diverged = manifest.number("num_diverged")
    text = f"{whole(steps)} environment steps in {duration(seconds)}. Horizontal axes: environment steps."
    if diverged:
        text += f" The physics of {whole(diverged)} worlds failed; they were terminated and not learned from."
    return text


def _ends(material: Material) -> dict[str, str]:
    names = sorted(key for key in material.metrics if key.startswith("episodes/") and key != "episodes/success")
    return {key: key.removeprefix("episodes/").replace("_", "-") for key in names[:4]}


def _terms(material: Material) -> dict[str, str]:
    # the terms that move most say most
    terms = {key: values for key, (_, values) in material.metrics.items() if key.startswith("reward/")}
    largest = sorted(terms, key=lambda key: max(abs(value) for value in terms[key]), reverse=True)
    return {key: key.removeprefix("reward/").replace("_", " ") for key in sorted(largest[:MAX_TERMS])}


def _chart(
    material: Material, title: str, keys: dict[str, str], y_range: tuple[float, float] | None = None, unit: str = ""
) -> Html | None:
    series = [Series(name, *material.metrics[key]) for key, name in keys.items() if key in material.metrics]
    return line_chart(title, series, y_range, unit) if series else None

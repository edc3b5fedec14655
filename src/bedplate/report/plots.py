"""Charts as inline SVG: sharp in print, no scripts, a few kilobytes each."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from bedplate.report.figures import short
from bedplate.report.markup import Html, tag

COLOURS = ("#0f6b6b", "#c05621", "#5a4fa2", "#2b6cb0", "#97266d", "#6b7280", "#b7791f", "#2f855a")

WIDTH, HEIGHT = 360, 190
LEFT, RIGHT, TOP, BOTTOM = 46, 10, 8, 24
MAX_POINTS = 400

SMOOTHED_FROM = 40
"""Points from which on a line is drawn as its running mean, over the points themselves in a pale colour."""

MEAN_PART = 0.05
"""Part of a line's points that the running mean spans."""

OUTLIER_PART = 0.02
"""Part of the values at either end that may leave the chart, so that a spike does not flatten the rest."""


@dataclass(frozen=True)
class Series:
    """One line of a chart.

    Attributes:
        name: for the legend.
        x, y: equally long.
    """

    name: str
    x: Sequence[float]
    y: Sequence[float]


def line_chart(
    title: str, series: Sequence[Series], y_range: tuple[float, float] | None = None, unit: str = ""
) -> Html:
    """Lines over environment steps.

    Args:
        title: above the chart.
        series: at least one, each with at least one point.
        y_range: fixed vertical range, such as (0, 1) for rates; the data's own when None.
        unit: "%" shows rates as percentages.
    """
    steps = [step for line in series for step in line.x]
    x_axis = _Axis(0.0, max(steps), LEFT, WIDTH - RIGHT)
    windows = [_window(line.y) for line in series]
    low, high = y_range or (min(low for low, _ in windows), max(high for _, high in windows))
    y_axis = _Axis(*(_widen(low, high) if y_range is None else (low, high)), HEIGHT - BOTTOM, TOP)

    marks: list[Html] = _grid(x_axis, y_axis, unit)
    for index, line in enumerate(series):
        x, y = _thin(line.x), _thin(line.y)
        colour = COLOURS[index % len(COLOURS)]
        if len(x) == 1:
            marks.append(tag("circle", cx=f"{x_axis.at(x[0]):.1f}", cy=f"{y_axis.at(y[0]):.1f}", r=3, fill=colour))
        smoothed = len(line.y) >= SMOOTHED_FROM
        if smoothed:
            marks.append(_polyline(x_axis, y_axis, x, y, colour, stroke_width=1, opacity=0.3))
        # a spike that leaves the chart must not lift its neighbours' mean
        mean = _thin(_running_mean([min(max(value, low), high) for value in line.y])) if smoothed else y
        marks.append(_polyline(x_axis, y_axis, x, mean, colour, stroke_width=1.8))
    return _figure(title, marks, _legend(series, unit))


def histogram(title: str, bins: Sequence[tuple[float, float]], marks_us: Sequence[tuple[str, float]]) -> Html:
    """Latencies on a logarithmic axis.

    Args:
        title: above the chart.
        bins: (upper edge in microseconds, count), ascending; neighbours are merged to a readable width.
        marks_us: named latencies to mark, such as ("p99", 120.0).
    """
    merged = _merge(bins, per_decade=24)
    edges = [edge for edge, _ in merged] + [value for _, value in marks_us if value > 0]
    low, high = math.floor(math.log10(min(edges)) * 4 - 1) / 4, math.ceil(math.log10(max(edges)) * 4 + 0.5) / 4
    x_axis = _Axis(low, high, LEFT, 2 * WIDTH - RIGHT)
    top = max(count for _, count in merged)
    y_axis = _Axis(0.0, top * 1.08, HEIGHT - BOTTOM, TOP + 12)

    marks = [_y_line(y_axis, value, _tick(value), 2 * WIDTH) for value in y_axis.ticks(4)]
    for decade in range(math.floor(low), math.ceil(high) + 1):
        for factor in (1, 2, 5):
            at = decade + math.log10(factor)
            if low <= at <= high:
                marks.append(_x_label(x_axis.at(at), _latency(factor * 10.0**decade)))
    for edge, count in merged:
        right = x_axis.at(math.log10(edge))
        left = x_axis.at(math.log10(edge) - 1 / 24)
        y = y_axis.at(count)
        width, height = f"{max(right - left - 0.8, 0.8):.1f}", f"{y_axis.at(0) - y:.1f}"
        marks.append(tag("rect", x=f"{left:.1f}", y=f"{y:.1f}", width=width, height=height, fill=COLOURS[0]))
    for name, value in marks_us:
        if value > 0:
            x = f"{x_axis.at(math.log10(value)):.1f}"
            marks.append(
                tag("line", x1=x, x2=x, y1=TOP + 10, y2=HEIGHT - BOTTOM, stroke="#c05621", stroke_dasharray="3 3")
            )
            marks.append(tag("text", name, x=x, y=TOP + 6, text_anchor="middle", class_="mark"))
    return _figure(title, marks, None, width=2 * WIDTH)


def interval_bar(rate: float, low: float, high: float) -> Html:
    """A rate between 0 and 1 as a bar with its interval as whiskers."""
    width, height = 160, 14
    axis, middle = _Axis(0.0, 1.0, 1, width - 1), height / 2
    whisker = "#173f3f"
    ends = [
        tag("line", x1=x, x2=x, y1=middle - 5, y2=middle + 5, stroke=whisker, stroke_width=1.5)
        for x in (axis.at(low), axis.at(high))
    ]
    return tag(
        "svg",
        tag("rect", x=axis.at(0), y=middle - 3, height=6, width=axis.at(1) - axis.at(0), fill="#e8ecef", rx=2),
        tag("rect", x=axis.at(0), y=middle - 3, height=6, width=axis.at(rate) - axis.at(0), fill="#5fa8a8", rx=2),
        tag("line", x1=axis.at(low), x2=axis.at(high), y1=middle, y2=middle, stroke=whisker, stroke_width=1.5),
        ends,
        viewBox=f"0 0 {width} {height}",
        class_="interval",
        role="img",
        aria_label=f"{rate:.3f}, 95 % interval {low:.3f} to {high:.3f}",
    )


class _Axis:
    """A linear map from values to pixels."""

    def __init__(self, low: float, high: float, start: float, end: float) -> None:
        self.low, self.high = low, high if high > low else low + 1.0
        self.start, self.end = start, end

    def at(self, value: float) -> float:
        """Pixel of a value."""
        share = (value - self.low) / (self.high - self.low)
        return round(self.start + min(max(share, 0.0), 1.0) * (self.end - self.start), 2)

    def ticks(self, count: int) -> list[float]:
        """Round values inside, about `count` of them."""
        raw = (self.high - self.low) / count
        size = 10.0 ** math.floor(math.log10(raw))
        step = next(factor * size for factor in (1, 2, 2.5, 5, 10) if factor * size >= raw * 0.99)
        first = math.ceil(self.low / step - 1e-9)
        return [k * step for k in range(first, math.floor(self.high / step + 1e-9) + 1)]


def _polyline(
    x_axis: _Axis, y_axis: _Axis, x: Sequence[float], y: Sequence[float], colour: str, **style: float
) -> Html:
    points = " ".join(f"{x_axis.at(a):.1f},{y_axis.at(b):.1f}" for a, b in zip(x, y, strict=True))
    return tag("polyline", points=points, fill="none", stroke=colour, stroke_linejoin="round", **style)


def _window(values: Sequence[float]) -> tuple[float, float]:
    """The vertical range of a line: all of its values, but the outliers of a long line; its end is always inside."""
    if len(values) < SMOOTHED_FROM:
        return min(values), max(values)
    ordered, cut = sorted(values), int(OUTLIER_PART * len(values))
    return min(ordered[cut], values[-1]), max(ordered[-1 - cut], values[-1])


def _running_mean(values: Sequence[float]) -> list[float]:
    """The mean over the points around each point; the span shrinks towards the ends."""
    half, means = max(1, round(MEAN_PART * len(values) / 2)), []
    for index in range(len(values)):
        reach = min(half, index, len(values) - 1 - index)
        part = values[index - reach : index + reach + 1]
        means.append(sum(part) / len(part))
    return means


def _grid(x_axis: _Axis, y_axis: _Axis, unit: str) -> list[Html]:
    marks = [
        _y_line(y_axis, value, f"{100 * value:.0f} %" if unit == "%" else _tick(value), WIDTH)
        for value in y_axis.ticks(4)
    ]
    marks += [_x_label(x_axis.at(value), _steps(value)) for value in x_axis.ticks(4)]
    return marks


def _y_line(axis: _Axis, value: float, label: str, width: float) -> Html:
    y = axis.at(value)
    line = tag("line", x1=LEFT, x2=width - RIGHT, y1=y, y2=y, class_="grid")
    return Html(line + tag("text", label, x=LEFT - 6, y=y + 3.5, text_anchor="end"))


def _x_label(x: float, label: str) -> Html:
    return tag("text", label, x=x, y=HEIGHT - 8, text_anchor="middle")


def _figure(title: str, marks: list[Html], legend: Html | None, width: int = WIDTH) -> Html:
    drawing = tag("svg", marks, viewBox=f"0 0 {width} {HEIGHT}", role="img", aria_label=title)
    return tag("figure", tag("figcaption", title), drawing, legend, class_="chart wide" if width > WIDTH else "chart")


def _legend(series: Sequence[Series], unit: str) -> Html:
    entries = []
    for index, line in enumerate(series):
        colour, last = COLOURS[index % len(COLOURS)], line.y[-1]
        dot = tag("i", style=f"background:{colour}")
        value = f"{100 * last:.1f} %" if unit == "%" else short(last)
        entries.append(tag("span", dot, line.name, " ", tag("b", value)))
    return tag("div", entries, class_="legend")


def _thin(values: Sequence[float]) -> Sequence[float]:
    # a long run has more points than pixels; the last one always stays
    stride = math.ceil(len(values) / MAX_POINTS)
    kept = list(values[::stride])
    if (len(values) - 1) % stride:
        kept.append(values[-1])
    return kept


def _merge(bins: Sequence[tuple[float, float]], per_decade: int) -> list[tuple[float, float]]:
    wide: dict[int, float] = {}
    for edge, count in bins:
        index = math.ceil(math.log10(edge) * per_decade - 1e-9)
        wide[index] = wide.get(index, 0.0) + count
    return [(10.0 ** (index / per_decade), count) for index, count in sorted(wide.items())]


def _widen(low: float, high: float) -> tuple[float, float]:
    pad = 0.06 * (high - low) or 0.5 * abs(high) or 0.5
    return low - pad, high + pad


def _tick(value: float) -> str:
    if value == 0:
        return "0"
    if 1e-3 <= abs(value) < 1e6:
        # rounding first takes the noise of sums of steps away
        return f"{float(f'{value:.4g}'):,.10g}"
    digits, _, power = f"{value:.2e}".partition("e")
    return f"{digits.rstrip('0').rstrip('.')}e{int(power)}"


def _steps(value: float) -> str:
    if value >= 1e6:
        return f"{value / 1e6:g} M"
    return f"{value / 1e3:g} k" if value >= 1e3 else f"{value:g}"


def _latency(value_us: float) -> str:
    if value_us >= 1e6:
        return f"{value_us / 1e6:g} s"
    return f"{value_us / 1e3:g} ms" if value_us >= 1e3 else f"{value_us:g} µs"

"""Numbers as people read them."""

from __future__ import annotations

import math

from bedplate.core import clock
from bedplate.evaluate import statistics
from bedplate.report.reader import Facts

NOT_MEASURED = "not measured"
NO_BREAK = "\u00a0"


def percent(rate: float | None) -> str:
    """A rate with one decimal."""
    return NOT_MEASURED if rate is None else statistics.percent(rate).replace(" ", NO_BREAK)


def interval(rate: Facts) -> str:
    """The 95 % interval of a rate as in evaluation.json; "" when there is none."""
    low, high = rate.number("low"), rate.number("high")
    if low is None or high is None:
        return ""
    return f"{100 * low:.1f} to {100 * high:.1f}{NO_BREAK}%"


def quartiles(value: Facts) -> str:
    """Median and quartiles as in evaluation.json."""
    median, low, high = value.number("median"), value.number("low"), value.number("high")
    if median is None:
        return NOT_MEASURED
    if low is None or high is None:
        return short(median)
    return f"{short(median)} ({short(low)} to {short(high)})"


def short(value: float | None, digits: int = 3) -> str:
    """A number with `digits` significant digits and no exponent where people would write none."""
    if value is None:
        return NOT_MEASURED
    if value == 0:
        return "0"
    size = math.floor(math.log10(abs(value)))
    if -4 <= size < 7:
        return f"{value:,.{max(0, digits - 1 - size)}f}"
    return f"{value:.{digits - 1}e}"


def exact(value: float | None) -> str:
    """A bound as it was declared: no rounding to speak of, no zeros at the end."""
    return NOT_MEASURED if value is None else f"{value:.6g}"


def age(seconds: float | None) -> str:
    """A time limit in the unit that suits it."""
    if seconds is None:
        return NOT_MEASURED
    return f"{1e3 * seconds:g} ms" if seconds < 10 else f"{seconds:,.0f} s"


def whole(value: float | None) -> str:
    """A count with thousands separated."""
    return NOT_MEASURED if value is None else f"{value:,.0f}"


def microseconds(value: float | None) -> str:
    """A latency in the unit that suits it."""
    if value is None:
        return NOT_MEASURED
    return f"{value / 1e3:,.2f} ms" if value >= 1000 else f"{value:,.0f} µs" if value >= 100 else f"{value:.1f} µs"


def duration(seconds: float | None) -> str:
    """A time span, such as "2 min 31 s"."""
    return NOT_MEASURED if seconds is None else clock.duration(seconds).replace(" ", NO_BREAK)


def size(num_bytes: int) -> str:
    """A file size."""
    return f"{num_bytes / 1e6:.1f} MB" if num_bytes >= 1e6 else f"{num_bytes / 1e3:.0f} kB"


UNITS = {
    "_rad_s": "rad/s", "_m_s": "m/s", "_rad": "rad", "_deg": "deg", "_hz": "Hz", "_kg": "kg", "_nm": "N m", "_n": "N",
    "_m": "m", "_s": "s",
}  # fmt: skip
"""Ending of a name -> the unit it stands for; longer endings first."""


def quantity(name: str, value: str) -> str:
    """A named value in words, its unit behind it: "velocity_rad_s", "0.02" gives "velocity 0.02 rad/s"."""
    words, unit = _split_unit(name)
    return f"{words} {value}{NO_BREAK}{unit}" if unit else f"{words} {value}"


def heading(name: str) -> str:
    """A name in words, its unit in brackets: "distance_m" gives "distance (m)"."""
    words, unit = _split_unit(name)
    return f"{words} ({unit})" if unit else words


def _split_unit(name: str) -> tuple[str, str]:
    for ending, unit in UNITS.items():
        if name.endswith(ending):
            return name.removesuffix(ending).replace("_", " "), unit
    return name.replace("_", " "), ""

"""Charts are well-formed, keep the last point, and label their axes with round numbers."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import pytest

from bedplate.report.figures import heading, quantity
from bedplate.report.markup import Html, facts, table, tag
from bedplate.report.plots import MAX_POINTS, Series, histogram, interval_bar, line_chart


def _parse(markup: Html) -> ElementTree.Element:
    return ElementTree.fromstring(f"<root>{markup}</root>")


def _points(root: ElementTree.Element) -> list[list[tuple[float, float]]]:
    lines = [line.attrib["points"].split() for line in root.iter("polyline")]
    return [[(float(x), float(y)) for x, y in (point.split(",") for point in line)] for line in lines]


def test_a_rising_line_rises_and_stays_inside():
    root = _parse(line_chart("t", [Series("a", [0, 50, 100], [0.0, 0.5, 1.0])], (0.0, 1.0), "%"))
    (line,) = _points(root)
    assert [x for x, _ in line] == sorted(x for x, _ in line)
    assert line[0][1] > line[1][1] > line[2][1]
    assert all(0 <= x <= 360 and 0 <= y <= 190 for x, y in line)
    labels = [text.text for text in root.iter("text")]
    assert {"0 %", "50 %", "100 %"} <= set(labels)


def test_many_points_are_thinned_and_the_last_one_stays():
    values = [float(k % 7) for k in range(10_001)]
    whole = _points(_parse(line_chart("t", [Series("a", list(range(10_001)), values)])))[0]
    assert len(whole) <= MAX_POINTS + 1
    assert whole[-1][0] == pytest.approx(350.0)


@pytest.mark.parametrize("y", [[0.0], [5.0], [-3.0, -3.0], [1e-9, 2e-9], [1e12, 3e12], [-1e300, 1e300]])
def test_strange_ranges_still_draw(y):
    root = _parse(line_chart("t", [Series("a", list(range(1, len(y) + 1)), y)]))
    assert list(root.iter("polyline"))


@pytest.mark.parametrize(("low", "high", "label"), [(3400, 5100, "4,000"), (0.0001, 0.00095, "2.5e-4")])
def test_labels_are_numbers_people_read(low, high, label):
    root = _parse(line_chart("t", [Series("a", [1, 2], [low, high])]))
    assert label in [text.text for text in root.iter("text")]


def test_a_histogram_has_bars_and_marks():
    root = _parse(histogram("t", [(900.0, 3), (905.0, 2), (5000.0, 1)], [("p99", 4000.0), ("none", 0.0)]))
    heights = [float(bar.attrib["height"]) for bar in root.iter("rect")]
    # neighbours are merged: five counts in one bar, one in the other
    assert len(heights) == 2
    assert heights[0] == pytest.approx(5 * heights[1], rel=0.01)
    texts = [text.text for text in root.iter("text")]
    assert "p99" in texts
    assert "none" not in texts
    assert "1 ms" in texts


def test_an_interval_bar_is_in_proportion():
    root = _parse(interval_bar(0.5, 0.25, 0.75))
    track, bar = list(root.iter("rect"))
    assert float(bar.attrib["width"]) == pytest.approx(float(track.attrib["width"]) / 2, rel=0.01)


def test_everything_that_was_not_built_here_is_escaped():
    assert tag("p", "<b>", class_='a"b') == '<p class="a&quot;b">&lt;b&gt;</p>'
    assert tag("p", [tag("i", "x"), None, 5]) == "<p><i>x</i>5</p>"
    assert "<i>" not in table(["<i>"], [["<i>"]])
    assert "<i>" not in facts([("<i>", "<i>")])
    assert tag("video", controls=True, loop=False, src=None) == "<video controls></video>"


def test_a_long_line_is_drawn_with_its_running_mean():
    values = [float(k % 2) for k in range(200)]
    raw, mean = _points(_parse(line_chart("t", [Series("a", list(range(200)), values)])))
    spread = [max(y) - min(y) for y in ([y for _, y in line[20:-20]] for line in (raw, mean))]
    assert spread[1] < 0.2 * spread[0]
    assert len(raw) == len(mean) == 200


def test_a_short_line_is_drawn_as_it_is():
    assert len(_points(_parse(line_chart("t", [Series("a", [0, 1, 2], [0.0, 1.0, 0.0])])))) == 1


def test_a_spike_does_not_flatten_the_rest():
    values = [1000.0] + [1.0 + 0.01 * k for k in range(99)]
    line, mean = _points(_parse(line_chart("t", [Series("a", list(range(100)), values)])))
    heights = [y for _, y in line[1:]]
    assert max(heights) - min(heights) > 100
    assert all(0 <= y <= 190 for _, y in line)
    # nor does it lift the mean of its neighbours to the top
    assert min(y for _, y in mean[1:20]) > 60


def test_where_a_line_ends_is_inside_the_chart_however_rare():
    values = [1.0 + 0.01 * k for k in range(99)] + [50.0]
    root = _parse(line_chart("t", [Series("a", list(range(100)), values)]))
    labels = [float(text.text) for text in root.iter("text") if text.text and text.text.replace(".", "").isdigit()]
    assert max(labels) >= 40


@pytest.mark.parametrize(
    ("name", "words"),
    [("velocity_rad_s", "velocity 3 rad/s"), ("every_s", "every 3 s"), ("mass_factor", "mass factor 3")],
)
def test_a_unit_stands_behind_its_number(name, words):
    assert quantity(name, "3").replace("\u00a0", " ") == words


def test_a_heading_has_its_unit_in_brackets():
    assert heading("distance_m") == "distance (m)" and heading("path_efficiency") == "path efficiency"

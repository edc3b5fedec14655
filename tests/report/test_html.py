"""The page: complete, self-contained, and out of reach of what is written in a run."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from bedplate.cli.app import run as bedplate
from bedplate.core.errors import BedplateError
from bedplate.report import html
from bedplate.report.sections import outcome
from bedplate.runs.layout import Run

HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)>\"'><b onclick='x'>&amp;"

VOID = {"meta", "img", "circle", "line", "rect", "polyline"}


class _Page(HTMLParser):
    """Collects tags and texts, and checks that every element is closed where it was opened."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.texts: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        assert tag in VOID
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if not self.open or self.open[-1] != "style":
            self.texts.append(data)

    @property
    def text(self) -> str:
        return re.sub(r"\s+", " ", " ".join(self.texts))


def _page(folder: Path) -> _Page:
    return _Page(html.write_report(Run(folder)).read_text())


def test_the_page_shows_every_part(make_run, values):
    page = _page(make_run(values))
    for expected in (
        "demo",
        "finished",
        "96.0 %",
        "94.0 to 97.5 %",
        "7,400",
        "1.9e-07",
        "20.0 Hz",
        "500 worlds that the policy was never trained on",
        "Classical baseline with guard",
        "(world seed 1000)",
        "Ended by tipped over, a collision",
        "Friction factor 0.5 to 1.25",
        "every 1 s",
        "0.930 (0.837 to 1.02)",
        "1.2 %",
        "observation range 1",
        "12 to 20",
        "3 x real time",
        "The first 7 worlds, and the first failure (world 11).",
        "ray_0 … ray_47",
        "-2.9 to 2.9 (joint_position)",
        "50 ms (20 Hz)",
        "24.6 µs",
        "12.34 ms",
        "stale action 6, rate 4",
        "6e02d6b12345 with uncommitted changes",
        "4.18.0-553.el8_10.x86_64",
        "not certified",
    ):
        assert expected in page.text, expected
    assert "Not measured" not in page.text
    assert "not measured" not in page.text


def test_the_page_asks_nobody_for_anything(make_run, values):
    page = _page(make_run(values))
    assert {tag for tag, _ in page.tags}.isdisjoint({"script", "link", "iframe", "object", "embed", "base", "form"})
    for _, attributes in page.tags:
        for name, value in attributes.items():
            assert not name.startswith("on")
            if name in ("src", "href", "poster", "srcset"):
                assert value is not None
                assert value.startswith(("data:image/png;base64,", "data:video/mp4;base64,", "#")), value
    style = Path(html.__file__).with_name("style.css").read_text()
    assert "url(" not in style
    assert "@import" not in style


def _poison(value):
    """The same document with every text replaced, keys included where keys are names."""
    if isinstance(value, dict):
        known = {"success", "collision", "time_out"}
        free = {"by_reason", "randomisation_ranges", "metrics_of_successes", "difficulty", "packages", "by_rule"}
        free |= {"misses", "interventions"}
        return {
            key: {f"{inner}{HOSTILE}" if inner not in known else inner: _poison(v) for inner, v in item.items()}
            if key in free and isinstance(item, dict)
            else _poison(item)
            for key, item in value.items()
        }
    if isinstance(value, list):
        return [_poison(item) for item in value]
    return HOSTILE if isinstance(value, str) else value


def test_hostile_texts_stay_texts(make_run, values):
    config = (
        f"description: {HOSTILE!r}\ntask: {{name: x, params: {{a: {HOSTILE!r}}}}}\nexpected: {{note: {HOSTILE!r}}}\n"
    )
    folder = make_run(_poison(values), "<img src=x onerror=alert(1)>", config)
    with (folder / "metrics.jsonl").open("a") as file:
        file.write('{"step": 2000000, "reward/<script>alert(3)<\\/script>": 1, "episodes/<b>": 1}\n')
    clean, page = _page(make_run(values)), _page(folder)
    # a series of one point is drawn as a circle
    assert {tag for tag, _ in page.tags} <= {tag for tag, _ in clean.tags} | {"circle"}
    assert not any(name.startswith("on") for _, attributes in page.tags for name in attributes)
    assert "<script>alert(1)</script>" in page.text
    assert "<img src=x onerror=alert(1)>" in page.text


@pytest.mark.parametrize(
    ("missing", "command"),
    [
        ("evaluation.json", "bedplate evaluate"),
        ("bundle/bundle.json", "bedplate export"),
        ("verification.json", "bedplate verify"),
        ("serve.json", "bedplate serve"),
        ("manifest.json", "There is no manifest"),
    ],
)
def test_a_missing_part_is_said_with_the_command_that_fills_it(make_run, values, missing, command):
    del values[missing]
    page = _page(make_run(values))
    assert "Not measured." in page.text
    assert command in page.text


def test_a_run_of_nothing_but_a_config_has_a_page(make_run):
    folder = make_run({})
    for name in ("metrics.jsonl", "trajectories.png", "video.mp4"):
        (folder / name).unlink()
    page = _page(folder)
    assert page.text.count("Not measured.") == 6


@pytest.mark.parametrize(
    "name", ["evaluation.json", "bundle/bundle.json", "verification.json", "serve.json", "manifest.json"]
)
@pytest.mark.parametrize("content", ["{", "[]", '"text"', "\x00\xff", '{"success": NaN}', "[" * 100_000])
def test_a_damaged_part_is_said(make_run, values, name, content):
    folder = make_run(values)
    (folder / name).write_text(content)
    assert "Not measured." in _page(folder).text


WRONG = (None, 5, "text", [], {}, [[1]], {"a": {"b": []}}, True, -1e300)


def test_values_of_another_kind_never_break_the_page(make_run, values, full):
    # every key of every document, each with a few or all of the wrong values
    for turn in range(len(WRONG) if full else 3):
        for name, document in values.items():
            for index, key in enumerate(document):
                wrong = WRONG[(3 * turn + index) % len(WRONG)] if not full else WRONG[turn]
                _page(make_run({**values, name: {**document, key: wrong}}))


def test_damaged_metrics_are_left_out_and_counted(make_run, values):
    folder = make_run(values)
    with (folder / "metrics.jsonl").open("a") as file:
        file.write(
            '[1]\n{"step": "x"}\n{"step": 990000, "time/fps": NaN, "rollout/ep_rew_mean": "high"}\n{"step": 9900'
        )
    assert "3 damaged lines" in _page(folder).text


def test_other_worlds_than_the_standard_ones_are_said_in_so_many_words(make_run, values):
    assert "standard worlds" not in _page(make_run(values)).text
    config = "task: {name: nav_lidar, params: {obstacles: [6, 10]}}\nexpected: {note: The demo uses simpler worlds.}\n"
    text = _page(make_run(values, config=config)).text
    assert "This is not the task in its standard form: the recipe sets obstacles = [6, 10]." in text
    assert "The demo uses simpler worlds." in text


@pytest.mark.parametrize(
    "config",
    [
        "task: {name: my_robot.task:cart, params: {min_distance_m: 0.3}}",
        "task: {name: nav_lidar, params: {obstacles: [12, 20]}}",
    ],
)
def test_a_sites_own_task_and_a_tasks_own_default_are_standard(make_run, values, config):
    assert "standard form" not in _page(make_run(values, config=f"{config}\n")).text


def test_randomisation_that_was_off_is_said(make_run, values):
    assert "Randomisation was off" not in _page(make_run(values)).text
    values["evaluation.json"]["randomisation"] = False
    assert "Randomisation was off" in _page(make_run(values)).text


def test_another_world_generator_than_in_training_is_said(make_run, values):
    assert "Trained with another" not in _page(make_run(values)).text
    values["evaluation.json"]["worlds"]["change"] = "world generator of nav_lidar: version 1 -> 2"
    assert "Trained with another world generator of nav_lidar: version 1 -> 2." in _page(make_run(values)).text


def test_a_missing_video_is_said_with_its_reason(make_run, values):
    values["evaluation.json"] |= {"video": None, "video_note": "egl: no library"}
    assert "There is no video: egl: no library." in _page(make_run(values)).text


def test_a_large_video_stays_a_file_of_its_own(make_run, values, monkeypatch):
    monkeypatch.setattr(outcome, "MAX_EMBEDDED_BYTES", 10)
    page = _page(make_run(values))
    assert "too large to be part of this page" in page.text
    assert "video" not in {tag for tag, _ in page.tags}


def test_results_of_another_bundle_are_marked(make_run, values):
    assert "another bundle" not in _page(make_run(values)).text
    values["serve.json"]["bundle_hash"] = "d" * 64
    assert "another bundle" in _page(make_run(values)).text


def test_a_failed_gate_is_seen(make_run, values):
    values["verification.json"]["gates"][0]["passed"] = False
    assert ("span", {"class": "no"}) in _page(make_run(values)).tags


def test_faults_are_listed_and_counted(make_run, values):
    values["serve.json"]["faults"] = [{"rule": "stale_state", "detail": "the scan is 400 ms old", "time_s": 3.2}]
    page = _page(make_run(values))
    assert "the scan is 400 ms old" in page.text


TROUBLES = {
    "held_back": (12, "Periods with nothing sent 12: no fresh measured position"),
    "late_latency": ({"n": 300, "p50_us": 55000.0, "p99_us": 61000.0}, "300: p50 55.00 ms, p99 61.00 ms"),
    "last_rejection": ("goal is 99.0", "Last state that was refused goal is 99.0"),
    "refused_frames": ({"checksum": 3}, "Frames of the robot not used checksum 3"),
    "end": ("policy_too_slow", "policy too slow: every answer came after its deadline"),
    "rate_hz": (0.0, "Loop rate not measured"),
}


@pytest.mark.parametrize("name", TROUBLES)
def test_a_trouble_of_the_loop_is_shown_when_there_was_one(make_run, values, name):
    value, expected = TROUBLES[name]
    assert expected not in _page(make_run(values)).text
    values["serve.json"][name] = value
    assert expected in _page(make_run(values)).text


def test_the_loop_says_nothing_of_troubles_that_it_had_not(make_run, values):
    text = _page(make_run(values)).text
    for label in ("nothing sent", "too late", "was refused", "not used"):
        assert label not in text


@pytest.mark.parametrize("name", ["nothing", "empty"])
def test_what_is_no_run_is_refused(tmp_path, name):
    (tmp_path / "empty").mkdir()
    with pytest.raises(BedplateError) as error:
        html.write_report(Run(tmp_path / name))
    assert error.value.exit_code == 2
    assert bedplate(["report", str(tmp_path / name)]) == 2


def test_the_command_says_where_the_page_is(make_run, values, capsys):
    folder = make_run(values)
    assert bedplate(["report", str(folder)]) == 0
    assert "report.html" in capsys.readouterr().out.replace("\n", "")
    assert bedplate(["report", str(folder), "--json"]) == 0
    assert '"bytes"' in capsys.readouterr().out

"""What the head of the page and its first section make of good, bad and absent results."""

from __future__ import annotations

from tests.report.test_html import _page


def _tones(page):
    return [
        attributes["class"]
        for tag, attributes in page.tags
        if tag == "div" and "card" in str(attributes.get("class")).split()
    ]


def expecting(success):
    return f"task: {{name: nav_lidar, params: {{}}}}\nexpected: {{success: {success}}}\n"


def test_cards_are_coloured_by_what_was_asked(make_run, values):
    # in order: success, whose interval reaches the 97 %; collisions, steps, parity, loop rate; 2 misses of 190; trips
    assert _tones(_page(make_run(values, config=expecting(0.97)))) == [
        "card good", "card", "card", "card good", "card good", "card warn", "card good",
    ]  # fmt: skip


def test_cards_say_no_and_zero_is_never_a_warning(make_run, values):
    values["evaluation.json"]["collisions"] = {"rate": 0.0, "low": 0.0, "high": 0.01, "count": 0, "total": 500}
    values["verification.json"]["gates"][0]["passed"] = False
    values["serve.json"].update(rate_hz=15.0, deadline_misses=0, faults=[{"rule": "finite", "detail": "x"}])
    assert _tones(_page(make_run(values, config=expecting(0.99)))) == [
        "card warn", "card good", "card", "card bad", "card warn", "card good", "card bad",
    ]  # fmt: skip


def test_a_card_without_a_measurement_has_no_colour(make_run, values):
    for name in ("evaluation.json", "verification.json", "serve.json"):
        del values[name]
    assert set(_tones(_page(make_run(values)))) == {"card"}


def test_the_rule_that_acted_most_is_named_first(make_run, values):
    values["evaluation.json"]["guard"].update(clamp_rate=0.11, by_rule={"position": 0.01, "rate": 0.1})
    text = _page(make_run(values)).text
    assert "The guard changed 11.0 % of all commands, most of them by its rate rule." in text
    assert "(rules: rate 10.0 %, position 1.0 %)" in text


def test_facts_of_the_worlds_are_words_and_not_raw_values(make_run, values):
    values["evaluation.json"]["difficulty"] = {
        "walls": True,
        "assumed": [],
        "shapes": ["box", "ball"],
        "speed_limit": 0.5,
    }
    text = _page(make_run(values)).text
    assert "Walls yes" in text and "Shapes box, ball" in text and "Speed limit 0.5" in text
    assert "[]" not in text and "Assumed" not in text

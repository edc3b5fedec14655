"""Tables of lazily imported things, and what they say about wrong names."""

from __future__ import annotations

import sys
from importlib import metadata
from pathlib import Path

import pytest

from bedplate.core import registry
from bedplate.core.errors import BedplateError, UnknownName
from bedplate.core.registry import Registry, load_attribute


@pytest.fixture
def table() -> Registry:
    return Registry(
        "codec", {"json": "json:dumps", "ghost": "no_such_package_x.y:z"}, entry_points="bedplate.test_codecs"
    )


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def test_a_member_is_imported_when_it_is_asked_for(table: Registry) -> None:
    import json

    assert table.load("json") is json.dumps
    assert "json" in table
    assert "yaml" not in table
    assert list(table) == ["ghost", "json"]


def test_a_wrong_name_gets_the_nearest_one(table: Registry) -> None:
    with pytest.raises(UnknownName, match="unknown codec 'jsno'") as caught:
        table.load("jsno")
    assert caught.value.next_step == "did you mean 'json'?"
    assert caught.value.known == ["ghost", "json"]


def test_a_name_like_nothing_gets_no_suggestion(table: Registry) -> None:
    with pytest.raises(UnknownName) as caught:
        table.load("zzzzzzzz")
    assert caught.value.nearest == ""
    assert caught.value.next_step == ""


def test_an_object_of_the_user_needs_no_entry(table: Registry) -> None:
    assert table.load("math:pi") == pytest.approx(3.14159, abs=1e-5)


def test_an_entry_point_adds_a_member_and_replaces_none(table: Registry, monkeypatch: pytest.MonkeyPatch) -> None:
    points = [
        metadata.EntryPoint("tau", "math:tau", "bedplate.test_codecs"),
        metadata.EntryPoint("json", "math:pi", "bedplate.test_codecs"),
    ]
    monkeypatch.setattr(
        registry.metadata, "entry_points", lambda group: points if group == "bedplate.test_codecs" else []
    )
    assert table.load("tau") == pytest.approx(6.28318, abs=1e-5)
    assert "tau" in table
    import json

    assert table.load("json") is json.dumps


@pytest.mark.parametrize(
    ("target", "found", "next_step"),
    [
        ("json", "has no attribute part", "after a colon"),
        (":dumps", "has no attribute part", "after a colon"),
        ("__main__:Task", "lives in __main__", "module file"),
        ("no_such_package_x.tasks:cart", "cannot import", "holds 'no_such_package_x'"),
        ("json.no_such_module:x", "cannot import", "holds 'json'"),
        ("json:dmps", "unknown attribute of json 'dmps'", "did you mean 'dump"),
    ],
)
def test_a_wrong_target_says_which_part_is_wrong(target: str, found: str, next_step: str) -> None:
    with pytest.raises(BedplateError) as caught:
        load_attribute(target, "task")
    assert found in caught.value.found
    assert next_step in caught.value.next_step


def test_a_module_that_needs_an_absent_one_names_that_one(site: Path) -> None:
    (site / "needs_more.py").write_text("import no_such_package_x.deep\n")
    with pytest.raises(BedplateError, match="needs_more") as caught:
        load_attribute("needs_more:thing")
    assert "pip install no_such_package_x" in caught.value.next_step


@pytest.mark.parametrize(("text", "line"), [("x = (\n", 1), ("\n\nx = 1 / 0\n", 3)])
def test_a_site_module_that_raises_names_file_and_line(site: Path, text: str, line: int) -> None:
    (site / "broken_site.py").write_text(text)
    sys.modules.pop("broken_site", None)
    with pytest.raises(BedplateError, match="cannot import 'broken_site'") as caught:
        load_attribute("broken_site:thing")
    assert caught.value.next_step.endswith(f"broken_site.py, line {line}")


@pytest.mark.parametrize("target", ["./a:b", ".:b", "a/b.py:c", "a:b-c", "my task:cart"])
def test_what_is_no_python_name_is_said_so(target: str) -> None:
    with pytest.raises(BedplateError, match="is no name of a Python object"):
        load_attribute(target)

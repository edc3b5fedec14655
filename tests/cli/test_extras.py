"""The advice for an absent package names what Bedplate was installed from: it is on no index."""

from __future__ import annotations

import json
from importlib import metadata
from types import SimpleNamespace
from typing import Any

import pytest

from bedplate.cli.extras import install_command


@pytest.mark.parametrize(
    ("origin", "command"),
    [
        ({"url": "file:///a%20b/bedplate", "dir_info": {"editable": True}}, "pip install -e '/a b/bedplate[train]'"),
        ({"url": "file:///a/bedplate-0.1.0.whl", "archive_info": {}}, "pip install '/a/bedplate-0.1.0.whl[train]'"),
        (None, "pip install 'PATH[train]' with the folder or wheel that Bedplate came from"),
    ],
)
def test_the_command_fits_the_installation(monkeypatch: pytest.MonkeyPatch, origin: Any, command: str) -> None:
    text = None if origin is None else json.dumps(origin)
    monkeypatch.setattr(metadata, "distribution", lambda name: SimpleNamespace(read_text=lambda file: text))
    assert install_command("train") == command

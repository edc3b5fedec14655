"""Which extra of Bedplate brings an absent module, and the command that installs it here."""

from __future__ import annotations

import json
import shlex
from importlib import metadata
from urllib.parse import unquote, urlsplit

EXTRAS = {
    "envpool": "bench",
    "numpy": "runtime",
    "onnxruntime": "runtime",
    "imageio": "bench",
    **dict.fromkeys(
        ("PIL", "gymnasium", "imageio_ffmpeg", "matplotlib", "mujoco", "onnx", "scipy", "stable_baselines3", "torch"),
        "train",
    ),
}
"""Module -> the extra that brings it."""


def install_command(extra: str) -> str:
    """The command that adds `extra` to this installation: from the folder or wheel that it came from.

    Bedplate is on no package index, so its bare name would not be found.
    """
    try:
        origin = json.loads(metadata.distribution("bedplate").read_text("direct_url.json") or "{}")
    except (metadata.PackageNotFoundError, ValueError):
        origin = {}
    url = str(origin.get("url", ""))
    source = unquote(urlsplit(url).path) if url.startswith("file:") else url
    if not source:
        return f"pip install 'PATH[{extra}]' with the folder or wheel that Bedplate came from"
    editable = "-e " if origin.get("dir_info", {}).get("editable") else ""
    return f"pip install {editable}{shlex.quote(f'{source}[{extra}]')}"

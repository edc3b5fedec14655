"""What runs on the robot's side: policy, guard, loop, links. numpy and onnxruntime only.

`load(bundle)` gives policy and guard as a library.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bedplate.runtime.controller import Controller as Controller, load as load

__all__ = ["Controller", "load"]


def __getattr__(name: str) -> object:
    # the writer process imports this package too, and must stay small
    if name in __all__:
        from bedplate.runtime import controller

        return getattr(controller, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

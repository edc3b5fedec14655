"""Contact forces on bodies, as mj_rnePostConstraint gives them after a step, for batched worlds.

Gymnasium calls mj_rnePostConstraint after mj_step to fill `cfrc_ext`. Batch has no such call. A force sensor would make
MuJoCo call it too, but at the start of a substep, which with the RK4 integrator is another set of contacts. A
plugin's advance() is called at the very end of a substep, where Gymnasium's call would be, and has the same first two
arguments, so the function itself is registered as that callback: no Python and no code of our own runs in a substep.
"""

from __future__ import annotations

import ctypes
import functools

import mujoco

from bedplate.sim.library import mujoco_library

PLUGIN = "bedplate.contact_forces"
FILLED = ("cfrc_ext", "cfrc_int", "cacc")
"""Fields that mj_rnePostConstraint computes."""
PASSIVE = 1 << 2  # mjPLUGIN_PASSIVE

_Pointer = ctypes.c_void_p
_CountState = ctypes.CFUNCTYPE(ctypes.c_int, _Pointer, ctypes.c_int)
_Init = ctypes.CFUNCTYPE(ctypes.c_int, _Pointer, _Pointer, ctypes.c_int)


class _Plugin(ctypes.Structure):
    """MuJoCo's mjpPlugin up to `advance`; the optional callbacks after it stay null."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("nattribute", ctypes.c_int),
        ("attributes", _Pointer),
        ("capabilityflags", ctypes.c_int),
        ("needstage", ctypes.c_int),
        ("nstate", _CountState),
        ("nsensordata", _Pointer),
        ("init", _Init),
        ("destroy", _Pointer),
        ("copy", _Pointer),
        ("reset", _Pointer),
        ("compute", _Pointer),
        ("advance", _Pointer),
        ("unused", _Pointer * 32),
    )


# the plugin keeps no state and always starts well; called when models and data are made, never in a substep
_no_state = _CountState(lambda model, instance: 0)
_init = _Init(lambda model, data, instance: 0)


def add_contact_forces(spec: mujoco.MjSpec, body: str) -> None:
    """Make each substep end with mj_rnePostConstraint, so that the field "cfrc_ext" is filled.

    After a reset `cfrc_ext` is zero until the first step, as in Gymnasium.

    Args:
        spec: the model; changed in place.
        body: any body, to hang the plugin on.
    """
    _register()
    spec.activate_plugin(PLUGIN)
    spec.body(body).plugin = spec.add_plugin(name=PLUGIN, plugin_name=PLUGIN)


def has_contact_forces(model: mujoco.MjModel) -> bool:
    """Whether the model was built with add_contact_forces()."""
    return mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_PLUGIN.value, PLUGIN) >= 0


@functools.cache
def _register() -> None:
    library = mujoco_library()
    plugin = _Plugin()
    library.mjp_defaultPlugin(ctypes.byref(plugin))
    plugin.name = PLUGIN.encode()
    plugin.capabilityflags = PASSIVE
    plugin.nstate = _no_state
    plugin.init = _init
    # required, with nothing to do: a function without arguments and effects
    plugin.reset = plugin.compute = ctypes.cast(library.mj_version, _Pointer)
    # void advance(const mjModel*, mjData*, int instance); the C calling convention drops the third argument
    plugin.advance = ctypes.cast(library.mj_rnePostConstraint, _Pointer)
    library.mjp_registerPlugin(ctypes.byref(plugin))

"""Rendering without a display: EGL, OSMesa, GLFW."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bedplate.core.check import Finding, Status
from bedplate.host.checks.kinds import NOTHING, TRAIN, do, hand, passed, state, symptom
from bedplate.host.language import Both

_SOFTWARE = (
    do(
        "export MUJOCO_GL=osmesa PYOPENGL_PLATFORM=osmesa",
        "software rendering; dnf install mesa-libOSMesa",
        "软件渲染；dnf install mesa-libOSMesa",
    ),
    do(
        "ldconfig -p | grep EGL_nvidia; ls /usr/share/glvnd/egl_vendor.d/",
        "NVIDIA's EGL must be there for MUJOCO_GL=egl (package nvidia-driver-libs; in containers NVIDIA_DRIVER_CAPABILITIES=all or CDI)",
        "MUJOCO_GL=egl 需要 NVIDIA EGL（nvidia-driver-libs；容器中 NVIDIA_DRIVER_CAPABILITIES=all 或 CDI）",
    ),
    hand("training without rendering needs neither", "不渲染的训练两者都不需要"),
)


def _platforms(facts: Mapping[str, Any]) -> Finding:
    code = "HOST-GL-PLATFORM"
    gl, platform = facts["env"].get("MUJOCO_GL", ""), facts["env"].get("PYOPENGL_PLATFORM", "")
    if (
        not platform
        or not gl
        or platform.lower() == gl.lower()
        or (gl.lower() in ("glfw", "glx") and platform.lower() in ("glx", "x11"))
    ):
        return passed(
            code, "MUJOCO_GL and PYOPENGL_PLATFORM do not contradict", "MUJOCO_GL 与 PYOPENGL_PLATFORM 不矛盾"
        )
    summary = Both(
        f"PYOPENGL_PLATFORM={platform} contradicts MUJOCO_GL={gl}: PyOpenGL is initialised for another platform",
        f"PYOPENGL_PLATFORM={platform} 与 MUJOCO_GL={gl} 矛盾：PyOpenGL 按另一平台初始化",
    )
    steps = (
        do(
            "unset PYOPENGL_PLATFORM",
            "the backend sets it; or give both the same value, before any OpenGL import",
            "由后端设置；或两者取相同值，并在导入 OpenGL 之前设置",
        ),
    )
    return Finding(code, Status.FAIL, summary, (("env", f"MUJOCO_GL={gl} PYOPENGL_PLATFORM={platform}"),), TRAIN, steps)


CHECKS = (
    state("HOST-GL-PLATFORM", ("OpenGL platform", "OpenGL 平台"), ("env",), _platforms),
    symptom(
        "HOST-PYOPENGL",
        ("PyOpenGL for another platform", "PyOpenGL 平台不符"),
        r"'(?P<platform>\w+Platform)' object has no attribute '(?:EGL|OSMesa|GLX)'[^\n]*|Cannot use (?:OSMesa|EGL) rendering platform[^\n]*|PYOPENGL_PLATFORM environment variable is set to '(?P<p2>\w+)'[^\n]*|Unable to load (?:OpenGL|EGL|OSMesa) library[^\n]*|'NoneType' object has no attribute 'eglQueryString'[^\n]*|AttributeError[^\n]*eglQueryString[^\n]*",
        (
            "PyOpenGL was initialised for another platform ({platform}) than MUJOCO_GL asks for, by PYOPENGL_PLATFORM or an earlier import, or its library is missing",
            "PyOpenGL 按与 MUJOCO_GL 不同的平台初始化 ({platform})：由 PYOPENGL_PLATFORM 或更早的导入造成，或缺少库",
        ),
        (
            do(
                "unset PYOPENGL_PLATFORM",
                "or give it the value of MUJOCO_GL; set both before any OpenGL import",
                "或与 MUJOCO_GL 相同；在导入 OpenGL 前设置",
            ),
            *_SOFTWARE,
        ),
        hints=("platform", "unable to load", "eglquerystring"),
        group="app",
        follows=("HOST-GL-PLATFORM",),
    ),
    symptom(
        "HOST-RENDER-NODE",
        ("no permission for the render node", "没有渲染节点权限"),
        r"(?:/dev/dri/(?P<node>renderD\d+|card\d+)[^\n]*(?:Permission denied|权限不够)|(?:Permission denied|failed to open)[^\n]*/dev/dri/(?P<n2>renderD\d+|card\d+))[^\n]*",
        (
            "the user is not in the group that owns /dev/dri/{node} (render or video), so EGL falls back to slow paths",
            "用户不在拥有 /dev/dri/{node} 的组（render 或 video）中，EGL 退回慢路径",
        ),
        (
            do("ls -l /dev/dri", "the owning group", "查看所属组"),
            do(
                "usermod -aG render,video $USER",
                "log in again after it; the containers: --group-add keep-groups",
                "之后重新登录；容器：--group-add keep-groups",
            ),
            hand(
                "if 'failed to create dri screen' follows, NVIDIA's EGL libraries are missing",
                "若随后出现 failed to create dri screen，则缺少 NVIDIA EGL 库",
            ),
        ),
        hints=("/dev/dri",),
        group="app",
        blocks=NOTHING,
    ),
    symptom(
        "HOST-EGL-DEVICE",
        ("wrong EGL device", "EGL 设备编号错误"),
        r"MUJOCO_EGL_DEVICE_ID[^\n]*(?:must be an integer|between 0 and)[^\n]*|EGL device[^\n]*(?:invalid|out of range|not found)[^\n]*",
        (
            "MUJOCO_EGL_DEVICE_ID names no EGL device: EGL counts differently from CUDA, and a container sees fewer",
            "MUJOCO_EGL_DEVICE_ID 不对应任何 EGL 设备：EGL 与 CUDA 的编号不同，容器可见更少",
        ),
        (do("export MUJOCO_EGL_DEVICE_ID=0", "count from 0 within what is visible", "在可见设备中从 0 开始"),),
        hints=("egl",),
        group="app",
    ),
    symptom(
        "HOST-EGL",
        ("EGL cannot start", "EGL 无法启动"),
        r"(?:Cannot initialize a EGL device display|PLATFORM_DEVICE extension|EGL_NOT_INITIALIZED|EGL_BAD_(?:DISPLAY|ALLOC|MATCH|ACCESS)|eglInitialize[^\n]*failed|Failed to initialize EGL|libEGL warning: [^\n]*|Error: could not (?:get|open) EGL display|failed to create (?:dri|EGL)[^\n]*|No EGL devices found)[^\n]*",
        (
            "EGL finds no GPU driver with a device display: NVIDIA's EGL libraries or the GPU are missing here (MUJOCO_GL=egl)",
            "EGL 找不到支持设备显示的 GPU 驱动：缺少 NVIDIA EGL 库或 GPU (MUJOCO_GL=egl)",
        ),
        _SOFTWARE,
        hints=("egl", "platform_device", "failed to create"),
        group="app",
        follows=("HOST-RENDER-NODE", "HOST-GL-PLATFORM", "HOST-PYOPENGL", "HOST-EGL-DEVICE"),
    ),
    symptom(
        "HOST-DISPLAY",
        ("windowed rendering without a display", "无显示器却用窗口渲染"),
        r"(?:GLFWError[^\n]*|X11: (?:The DISPLAY environment variable is missing|Failed to open display)[^\n]*|(?:Failed|failed) to initialize GLFW[^\n]*|cannot connect to X server|an OpenGL platform library has not been loaded[^\n]*|gladLoadGL error|GLEW initialization error[^\n]*|NoSuchDisplayException[^\n]*|Could not create (?:window|GL context)|could not connect to display)[^\n]*",
        (
            "a window is asked for and there is no display: GLFW needs X11; a server renders off-screen with EGL or OSMesa",
            "请求窗口但没有显示：GLFW 需要 X11；服务器应以 EGL 或 OSMesa 离屏渲染",
        ),
        (
            do(
                "export MUJOCO_GL=egl",
                "with an NVIDIA driver; osmesa without; set it before mujoco is imported",
                "有 NVIDIA 驱动用 egl；否则 osmesa；在导入 mujoco 前设置",
            ),
            hand("render_mode='rgb_array' instead of 'human'", "用 render_mode='rgb_array' 代替 'human'"),
            *_SOFTWARE[:1],
        ),
        hints=("glfw", "display", "x server", "opengl platform", "gladload", "glew", "could not create"),
        group="app",
        follows=("HOST-EGL",),
    ),
    symptom(
        "HOST-MESA",
        ("Mesa loads the wrong libstdc++ or driver", "Mesa 加载了错误的 libstdc++ 或驱动"),
        r"(?:MESA-LOADER: failed to open|libGL error: (?:MESA-LOADER|failed to load driver|unable to load driver))[^\n]*",
        (
            "Mesa cannot load its driver (swrast, iris): usually conda's older libstdc++, or mesa-dri-drivers is missing",
            "Mesa 无法加载驱动（swrast、iris）：通常是 conda 的旧 libstdc++，或缺少 mesa-dri-drivers",
        ),
        (
            do("dnf install mesa-dri-drivers", "the drivers", "安装驱动"),
            do(
                "conda install -c conda-forge libstdcxx-ng",
                "or a newer libstdc++ in the conda environment",
                "或在 conda 环境安装更新的 libstdc++",
            ),
        ),
        hints=("mesa-loader", "libgl error"),
        group="app",
    ),
)

"""Python for training, and the CUDA toolkit where something is compiled."""

from __future__ import annotations

import re

from bedplate.host.checks.kinds import known
from bedplate.host.plan.step import PlanHost, PlanStep

_BASE = frozenset({"offline"})
_CUDA = frozenset({"offline", "plugins", "nvidia"})


def _wants_python(host: PlanHost) -> bool:
    return bool(host.wishes.stages & {"train", "serve"})


def _python_done(host: PlanHost) -> bool | None:
    text = known(host.facts.python, "")
    return bool(re.search(r"Python 3\.1[12]\b", text)) if text else None


def _cuda_package(host: PlanHost) -> str:
    return f"cuda-toolkit-{host.wishes.cuda.replace('.', '-')}"


STEPS = (
    PlanStep(
        "python",
        "Python 3.11 or 3.12 is installed",
        "Plain packages, no module; the system's Python 3.6 stays as it is, and alternatives are not touched.",
        check=("command -v python3.12 || command -v python3.11",),
        do=("if dnf_ install python3.12 python3.12-pip; then :; else dnf_ install python3.11 python3.11-pip; fi",),
        undo=("say 'stays: virtual environments use it'",),
        wanted=_wants_python,
        done=_python_done,
        mends=("HOST-PYTHON-OLD",),
        packages=("python3.12", "python3.12-pip"),
        uses=_BASE,
    ),
    PlanStep(
        "cuda",
        "the CUDA toolkit that was asked for is installed",
        "Only to compile: wheels carry their own CUDA. The package brings no driver.",
        check=('rpm -q --quiet "cuda-toolkit-$cuda"',),
        do=('dnf_ install "cuda-toolkit-$cuda"',),
        undo=('dnf -y remove "cuda-toolkit-$cuda"',),
        wanted=lambda host: bool(host.wishes.cuda),
        done=lambda host: host.has_package(_cuda_package(host)),
        packages=('"cuda-toolkit-$cuda"',),
        uses=_CUDA,
        mends=("HOST-COMPILER",),
    ),
    PlanStep(
        "cudnn",
        "cuDNN 9 beside that toolkit is installed",
        "Only to compile against; torch carries its own.",
        check=('rpm -q --quiet "cudnn9-cuda-$cudnn"',),
        do=('dnf_ install "cudnn9-cuda-$cudnn"',),
        undo=('dnf -y remove "cudnn9-cuda-$cudnn"',),
        wanted=lambda host: host.wishes.cudnn,
        done=lambda host: host.has_package(f"cudnn9-cuda-{host.wishes.cuda.split('.')[0]}"),
        packages=('"cudnn9-cuda-$cudnn"',),
        uses=_CUDA,
    ),
)

"""What one step of a plan is, and the host that decides which steps a plan has."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from bedplate.host.checks.kinds import known
from bedplate.host.facts import HostFacts


@dataclass(frozen=True)
class Wishes:
    """What the user asks for beyond a working driver.

    Attributes:
        stages: of "train", "image", "serve".
        stream: module stream of the driver; "" is chosen by the GPUs.
        cuda: CUDA toolkit such as "12.8"; "" is none.
        cudnn: cuDNN beside the toolkit.
        rootless_limits: CPU and memory limits for containers of ordinary users: cgroup v2.
        user: who runs containers; "" is whoever called sudo.
        offline: folder on the host that packages come from; "" is the repositories.
    """

    stages: frozenset[str] = frozenset({"train", "image", "serve"})
    stream: str = ""
    cuda: str = ""
    cudnn: bool = False
    rootless_limits: bool = False
    user: str = ""
    offline: str = ""


@dataclass(frozen=True)
class PlanHost:
    """What is known of the host, and what is wanted of it.

    Attributes:
        facts: facts of the snapshot.
        texts: its texts.
        failed: codes of the checks that failed or warned.
        wishes: what the user asks for.
        stream: driver stream of the plan; "" when the plan touches no driver.
    """

    facts: HostFacts
    texts: Mapping[str, str]
    failed: frozenset[str]
    wishes: Wishes
    stream: str

    @property
    def kernel(self) -> str:
        """The running kernel without the machine; "" when unknown."""
        return known(self.facts.kernel, "").removesuffix(".x86_64").removesuffix(".aarch64")

    @property
    def machine(self) -> str:
        """Machine of the kernel's name: "x86_64" or "aarch64"."""
        return "aarch64" if known(self.facts.kernel, "").endswith("aarch64") else "x86_64"

    def has_package(self, name: str) -> bool | None:
        """Whether an installed package is called that; None when packages are unknown."""
        text = self.texts.get("rpm-kernel", "")
        if not text.strip():
            return None
        return any(
            line.startswith(f"{name}-") and line[len(name) + 1 : len(name) + 2].isdigit() for line in text.split()
        )

    def running(self, service: str) -> bool | None:
        """Whether a service is enabled and active; None when unknown."""
        rows = known(self.facts.services, {})
        return rows[service] == ("enabled", "active") if service in rows else None


def always(_host: PlanHost) -> bool:
    """Every host."""
    return True


def for_driver(host: PlanHost) -> bool:
    """Hosts whose driver the plan looks after."""
    return bool(host.stream)


def for_containers(host: PlanHost) -> bool:
    """Hosts that run containers."""
    return "image" in host.wishes.stages


@dataclass(frozen=True)
class PlanStep:
    """One step: shell lines that say whether it is needed, do it, prove it and take it back.

    Lines are POSIX sh. Each line of `do`, `verify` and `undo` is one command that fails when its work failed. They read
    variables of the script's head: stream, kmod, driver, machine, repo_machine, user, cuda, cudnn, folder, profile.
    Files of the host stand under "$root", which is empty outside of tests.

    Attributes:
        code: name, part of shell function names.
        title: what is true afterwards.
        why: reason, in one or two sentences; a comment of the script.
        check: succeeds when nothing needs to be done; prints nothing that matters.
        do: what makes it true.
        undo: what takes it back; where nothing can, a line that begins with "say" tells so.
        wanted: whether this host should have it at all.
        done: whether the snapshot already shows it; None is "cannot tell", and the script looks.
        verify: proves it; the check when empty.
        stage: 1 before the reboot, 2 after it.
        reboot_if: command that succeeds when the work takes effect at the next boot only; "" is never.
        mends: codes of the checks that it turns to pass.
        packages: what it installs, for the offline road.
        uses: repositories that the packages come from.
        repository: the repository that this step sets up; it is in a plan only when another step uses it.
    """

    code: str
    title: str
    why: str
    check: tuple[str, ...]
    do: tuple[str, ...]
    undo: tuple[str, ...]
    wanted: Callable[[PlanHost], bool]
    done: Callable[[PlanHost], bool | None] = field(default=lambda _host: None)
    verify: tuple[str, ...] = ()
    stage: int = 1
    reboot_if: str = ""
    mends: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    uses: frozenset[str] = frozenset()
    repository: str = ""

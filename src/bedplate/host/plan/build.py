"""The plan of a host: the steps it needs, and what no step can mend."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from bedplate.core.check import Finding, Status
from bedplate.core.errors import BedplateError
from bedplate.host.checks.kinds import known
from bedplate.host.doctor import diagnose
from bedplate.host.facts import HostFacts, derive
from bedplate.host.parsers.system import OsRelease
from bedplate.host.plan.step import PlanHost, PlanStep, Wishes
from bedplate.host.plan.steps import all_steps
from bedplate.host.snapshot import Snapshot
from bedplate.host.streams import FIXED, choose, refusal
from bedplate.host.versions import branch


@dataclass(frozen=True)
class Plan:
    """Steps in their order.

    Attributes:
        host: what the plan was made for.
        steps: what is to be done; none on a healthy host.
        by_hand: findings that no step of the plan turns to pass.
    """

    host: PlanHost
    steps: tuple[PlanStep, ...]
    by_hand: tuple[Finding, ...]


def make_plan(snapshot: Snapshot, wishes: Wishes) -> Plan:
    """The plan of a host.

    Raises:
        BedplateError: it is no RHEL 8, has no GPU that can be told, or a wish does not fit it.
    """
    facts = derive(snapshot)
    _refuse(facts, wishes)
    findings = [f for f in diagnose(snapshot) if f.status in (Status.FAIL, Status.WARN)]
    failed = frozenset(finding.code for finding in findings)
    host = PlanHost(facts, snapshot.texts, failed, wishes, _stream(facts, wishes))
    steps = [step for step in all_steps() if not step.repository and _needed(step, host)]
    steps = _with_repositories(steps, host)
    mended = {code for step in steps for code in step.mends}
    roots = [finding for finding in findings if not finding.caused_by and finding.code not in mended]
    return Plan(host, tuple(steps), tuple(roots))


def _needed(step: PlanStep, host: PlanHost) -> bool:
    # a finding outweighs what the facts seem to show
    return step.wanted(host) and (step.done(host) is not True or bool(host.failed & set(step.mends)))


def _with_repositories(steps: Sequence[PlanStep], host: PlanHost) -> list[PlanStep]:
    uses = frozenset[str]().union(*(step.uses for step in steps))
    sources = [step for step in all_steps() if step.repository in uses and step.wanted(host)]
    return [step for step in all_steps() if step in sources or step in steps]


def _refuse(facts: HostFacts, wishes: Wishes) -> None:
    if isinstance(facts.os, OsRelease) and facts.os.el_major != 8:
        found = f"the host is {facts.os.id} {facts.os.version}"
        raise BedplateError(found, "RHEL 8 or a rebuild of it", "bedplate doctor says what is wrong on other systems")
    if wishes.cudnn and not wishes.cuda:
        raise BedplateError("--cudnn without --cuda", "the CUDA that cuDNN is for", "--cuda 12.8 --cudnn")


def _stream(facts: HostFacts, wishes: Wishes) -> str:
    gpus = known(facts.gpus, [])
    generations = [gpu.generation for gpu in gpus if gpu.generation or not wishes.stream]
    if wishes.stream:
        why = refusal(wishes.stream, generations)
        if why:
            raise BedplateError(f"--stream {wishes.stream}: {why}", "a stream that fits the GPUs", "leave --stream out")
        return wishes.stream
    if not gpus:
        why = "no NVIDIA GPU on the bus" if isinstance(facts.gpus, list) else "lspci was not collected"
        raise BedplateError(f"no driver can be chosen: {why}", "the lines of lspci", "lspci -nn | grep -i nvidia")
    return choose(generations, _current(facts))


def _current(facts: HostFacts) -> str:
    # a stream that is set, or else the branch that is installed
    words = [word.removeprefix("stream=") for word in known(facts.stream, "").split() if word.startswith("stream=")]
    if words and FIXED.fullmatch(words[0]):
        return words[0]
    installed = branch(known(facts.driver, ""))
    flavour = known(facts.module_flavour, "")
    if not flavour:
        flavour = "open" if "kmod-nvidia-open-dkms" in known(facts.packages, {}) else ""
    # a flavour that nobody told is no reason to change it
    return f"{installed}-{'open' if flavour == 'open' else 'dkms'}" if installed and flavour else ""


def for_fetching(plan: Plan) -> Plan:
    """The same plan with every step that the host could want: what a folder for it should hold."""
    online = replace(plan.host, wishes=replace(plan.host.wishes, offline=""))
    steps = [step for step in all_steps() if not step.repository and step.packages and step.wanted(online)]
    return Plan(online, tuple(_with_repositories(steps, online)), ())

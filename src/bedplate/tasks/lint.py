"""Task lint: what can be proven about a task before anybody trains on it.

The checks here judge facts; `envs/lint.py` collects the facts by playing the task, and has the entry point
`lint_task`. A new rule is one function and one line in CHECKS.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from bedplate.core.check import Check, Finding, Status
from bedplate.tasks.spec import Task

CONSTANT_VARIANCE = 1e-6
DOMINATION = 100.0
LARGEST_STEP_REWARD = 100.0
MIN_ACTION_SHARE = 0.02
CHANCE_SHARE = 0.01
"""A mean return up to this share of what the largest reward term moves per episode is chance, not pay."""

SKILLED = ("baseline", "solution")
"""Policies that may succeed: the task's classical controller, and one known to solve the task."""


@dataclass(frozen=True)
class Play:
    """First episodes of a simple policy, one per world.

    Attributes:
        policy: such as "standing".
        returns: (episodes,) undiscounted.
        term_sums: reward term -> (episodes,) weighted sums.
        lengths: (episodes,) control steps.
        successes: how many of the episodes succeeded.
        largest_reward: largest magnitude of one step's reward.
    """

    policy: str
    returns: np.ndarray
    term_sums: Mapping[str, np.ndarray]
    lengths: np.ndarray
    successes: int
    largest_reward: float


@dataclass(frozen=True)
class AtBounds:
    """What was not finite with the state at its bounds: (kind, name) such as ("reward", "progress")."""

    worlds: int
    broken: tuple[tuple[str, str], ...]


def _moved(plays: Mapping[str, Play], term: str) -> float:
    """What a reward term moves in one episode, whatever its sign: the mean over all plays."""
    return float(np.abs(np.concatenate([play.term_sums[term] for play in plays.values()])).mean())


def _earns_nothing(code: str, policy: str) -> Check:
    def run(facts: Mapping[str, Any]) -> Finding:
        plays: Mapping[str, Play] = facts["plays"]
        play = plays[policy]
        mean = float(play.returns.mean())
        error = float(play.returns.std() / np.sqrt(len(play.returns)))
        best = max(play.term_sums, key=lambda name: float(play.term_sums[name].mean()), default="")
        evidence = tuple((f"reward {name}", f"{sums.mean():.3f} per episode") for name, sums in play.term_sums.items())
        said = f"{policy} earns {mean:.3f} +- {error:.3f} per episode in {len(play.returns)} worlds"
        # starts are drawn at random, so that even a policy that is paid nothing does not earn exactly nothing
        chance = CHANCE_SHARE * max((_moved(plays, name) for name in play.term_sums), default=0.0)
        if mean > chance:
            return Finding(code, Status.FAIL, f"{said}, above {chance:.3g}; it is paid by {best!r}", evidence)
        return Finding(code, Status.PASS, said + (f", chance up to {chance:.3g}" if mean > 0 else ""), evidence)

    return Check(code, f"what {policy} earns", ("plays",), run)


def _finite(facts: Mapping[str, Any]) -> Finding:
    bounds: AtBounds = facts["at_bounds"]
    code = "TASK-FINITE"
    if bounds.broken:
        names = ", ".join(f"{kind} {name!r}" for kind, name in bounds.broken)
        return Finding(code, Status.FAIL, f"not finite with the state at its bounds: {names}")
    return Finding(code, Status.PASS, f"every term is finite in {bounds.worlds} states at the bounds")


def _scales(facts: Mapping[str, Any]) -> Iterator[Finding]:
    task: Task = facts["task"]
    plays: Mapping[str, Play] = facts["plays"]
    code = "TASK-SCALES"

    # what a term typically moves in one episode; an event term moves its weight when it happens
    sizes = {}
    for term in task.rewards:
        sizes[term.name] = abs(term.weight) if term.event else _moved(plays, term.name)
    ranked = sorted(sizes.items(), key=lambda item: -item[1])
    evidence = tuple((f"reward {name}", f"{size:.3g} per episode") for name, size in ranked)
    if len(ranked) > 1 and ranked[0][1] > DOMINATION * ranked[1][1]:
        (first, size), (second, other) = ranked[:2]
        yield Finding(
            code,
            Status.FAIL,
            f"reward {first!r} moves {size:.3g} per episode, more than {DOMINATION:g} times the next, "
            f"{second!r} with {other:.3g}",
            evidence,
        )
        return

    # a step reward this large drowns the value function
    largest = max(play.largest_reward for play in plays.values())
    if largest > LARGEST_STEP_REWARD:
        said = f"one step paid {largest:.3g}; value functions learn best below {LARGEST_STEP_REWARD:g}"
        yield Finding(code, Status.WARN, said, evidence)
        return
    yield Finding(code, Status.PASS, f"{len(ranked)} reward terms, largest step reward {largest:.3g}", evidence)


def _start(facts: Mapping[str, Any]) -> Finding:
    plays: Mapping[str, Play] = facts["plays"]
    code = "TASK-START"
    lengths = np.concatenate([play.lengths for play in plays.values()])
    lost = int((lengths <= 1).sum())
    if lost > 0:
        return Finding(
            code, Status.FAIL, f"{lost} of {len(lengths)} episodes end at their first step, whatever is done"
        )
    return Finding(code, Status.PASS, f"{len(lengths)} episodes last 2 steps or more")


def _success(facts: Mapping[str, Any]) -> Finding:
    plays: Mapping[str, Play] = facts["plays"]
    code = "TASK-SUCCESS"
    solved = {name: play for name, play in plays.items() if play.successes}
    if "solution" in plays and "solution" not in solved:
        count = len(plays["solution"].returns)
        return Finding(code, Status.FAIL, f"the given solution succeeds in none of {count} worlds")
    if not solved:
        tried = "neither a simple policy nor the baseline" if "baseline" in plays else "no simple policy"
        said = f"{tried} succeeded, which proves nothing: pass a solution policy to lint_task to settle it"
        return Finding(code, Status.SKIP, said)
    shares = ", ".join(f"{name} in {play.successes} of {len(play.returns)}" for name, play in solved.items())
    easy = [n for n, p in solved.items() if n not in SKILLED and p.successes > 0.5 * len(p.returns)]
    if easy:
        return Finding(code, Status.FAIL, f"success comes without skill: {shares} worlds")
    return Finding(code, Status.PASS, f"success can be reached: {shares} worlds")


def _features(facts: Mapping[str, Any]) -> Finding:
    task: Task = facts["task"]
    variance: np.ndarray = facts["feature_variance"]
    code = "TASK-FEATURES"
    constant, start = [], 0
    for feature in task.features:
        columns = np.nonzero(variance[start : start + feature.size] < CONSTANT_VARIANCE)[0]
        constant += [f"{feature.name}[{column}]" for column in columns]
        start += feature.size
    if constant:
        shown = ", ".join(constant[:8]) + (f" and {len(constant) - 8} more" if len(constant) > 8 else "")
        return Finding(code, Status.WARN, f"does not vary in random play (variance < {CONSTANT_VARIANCE:g}): {shown}")
    return Finding(code, Status.PASS, f"all {len(variance)} features vary in random play")


def _action(facts: Mapping[str, Any]) -> Finding:
    task: Task = facts["task"]
    code = "TASK-ACTION"
    action, problems = task.action, []
    for index, bound in enumerate(task.limits.channels):
        low, high = action.low[index], action.high[index]
        reach = (high - low) / (bound.high - bound.low)
        if not np.isfinite([low, high]).all() or low >= high:
            problems.append(f"{bound.channel} has the action range [{low}, {high}]")
        elif not action.relative_to and (low < bound.low - 1e-9 or high > bound.high + 1e-9):
            problems.append(f"{bound.channel} asks for [{low}, {high}] but is limited to [{bound.low}, {bound.high}]")
        elif reach < MIN_ACTION_SHARE and not action.relative_to:
            problems.append(f"{bound.channel} uses {100 * reach:.2g} % of its limits")
    if problems:
        return Finding(code, Status.FAIL, "; ".join(problems))

    # the largest outputs give finite commands inside the limits
    signals, memory = facts["signals"], facts["memory"]
    rows = len(next(iter(signals.values())))
    lowest, highest = (torch.tensor([getattr(bound, end) for bound in task.limits.channels]) for end in ("low", "high"))
    for sign in (-1.0, 1.0):
        command = action.to_command(sign * torch.ones(rows, task.act_dim), signals, memory, task.limits)
        if not (torch.isfinite(command) & (command >= lowest) & (command <= highest)).all():
            return Finding(code, Status.FAIL, f"policy output {sign:+g} gives a command outside of the limits")
    return Finding(code, Status.PASS, f"commands stay inside the limits, channels: {task.act_dim}")


CHECKS = (
    _earns_nothing("TASK-STANDING", "standing"),
    _earns_nothing("TASK-OSCILLATING", "oscillating"),
    _earns_nothing("TASK-CIRCLING", "circling"),
    Check("TASK-FINITE", "terms at the state bounds", ("at_bounds",), _finite),
    Check("TASK-SCALES", "scales of the reward terms", ("task", "plays"), _scales),
    Check("TASK-START", "first steps", ("plays",), _start),
    Check("TASK-SUCCESS", "reachable goals", ("plays",), _success),
    Check("TASK-FEATURES", "constant features", ("task", "feature_variance"), _features),
    Check("TASK-ACTION", "action bounds", ("task", "signals", "memory"), _action),
)

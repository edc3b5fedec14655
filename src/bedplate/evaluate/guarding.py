"""One guard per world in the loop, and how often they acted.

The guards judge what a command is: finite, within its bounds, slow enough; and what was measured: within its bounds.
They do not judge how old it is. Every state and every command is stamped with the time of its control step, though
the environment delays signals: such a delay lies between the world and the sensor's reading, where a robot's own
stamps would not show it either. So `stale_state`, `stale_action` and `deadline` never act in an evaluation, and it
proves nothing about them; `bedplate serve` with `bedplate robot`, and the tests of the runtime, exercise them.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from bedplate.bundle.contract import Contract, GuardSettings
from bedplate.envs.vec_env import TaskVecEnv
from bedplate.runtime.bounds import COUNTED_EXCESS
from bedplate.runtime.guard import ReferenceGuard


@dataclass(frozen=True)
class GuardUse:
    """What the guards did over all counted episodes. A tick is one command of one world.

    Attributes:
        ticks: commands that passed a guard.
        changed: ticks whose command the guard changed by more than rounding.
        by_rule: rule -> ticks in which it acted.
        by_channel: command channel -> ticks in which the guard changed it.
        safe_ticks: ticks under a latched fault, that is under the safe action.
        held_back: ticks in which nothing was sent, for want of a measured position to start from.
        faults: episodes in which a fault latched.
        faults_by_rule: rule -> episodes whose fault it latched.
    """

    ticks: int
    changed: int
    by_rule: dict[str, int]
    by_channel: dict[str, int]
    safe_ticks: int
    held_back: int
    faults: int
    faults_by_rule: dict[str, int]

    @property
    def clamp_rate(self) -> float:
        """Share of ticks whose command the guard changed."""
        return self.changed / self.ticks if self.ticks else 0.0


class GuardBank:
    """A command filter of TaskVecEnv: world i's command passes guard i, in simulated time.

    A latched fault stays until the episode ends, so that the episode counts as it ends under the safe action. Where a
    guard holds a command back, the world goes on with what was sent last, or with what it stood still under.

    Args:
        env: whose commands are guarded; the bank becomes its command filter.
        contract: of the task.
        settings: of the guards.
    """

    def __init__(self, env: TaskVecEnv, contract: Contract, settings: GuardSettings) -> None:
        self._env = env
        self._channels = contract.channels
        # the policy's command is float32, the bounds are double: what the guard itself calls rounding is no change
        self._rounding = np.array([COUNTED_EXCESS * (bound.high - bound.low) for bound in contract.limits.channels])
        self._control_dt_s = contract.control_dt_s
        self._make = lambda: ReferenceGuard(contract, settings)
        self._guards = [self._make() for _ in range(env.num_envs)]
        self._faults: Counter[str] = Counter()
        self._changed = np.zeros(len(contract.channels), np.int64)
        self._ticks = self._changed_ticks = self._safe_ticks = self._held_back = 0
        self._rules: Counter[str] = Counter()
        self.running = np.ones(env.num_envs, bool)
        self.refused = np.zeros(env.num_envs, bool)
        env.command_filter = self.filter

    def filter(self, command: Tensor) -> Tensor:
        """Pass the commands of all running worlds through their guards.

        Worlds with `refused` set gave no finite policy output; their guard is shown the NaN that the robot's would see.
        """
        asked = command.numpy().astype(np.float64)
        asked[self.refused] = np.nan
        sent = asked.copy()
        signals = {name: value.numpy().astype(np.float64) for name, value in self._env.signals.items()}
        steps = self._env.state.step_count.tolist()
        sent_last = self._env.sent.numpy()

        for i in self.running.nonzero()[0].tolist():
            now_s = steps[i] * self._control_dt_s
            row = {name: value[i] for name, value in signals.items()}
            decision = self._guards[i].filter(now_s, now_s, row, now_s, asked[i])
            sent[i] = sent_last[i] if decision.hold_back else decision.command
            self._held_back += decision.hold_back
            if decision.rules:
                self._rules.update(decision.rules)
            if decision.fault is not None:
                self._safe_ticks += 1

        # a world that is not running does not count, but its physics needs finite commands
        sent[~self.running] = np.nan_to_num(sent[~self.running])
        # written so that NaN is a change
        changed = ~(np.abs(sent - asked) <= self._rounding) & self.running[:, None]
        self._changed += changed.sum(axis=0)
        self._changed_ticks += int(changed.any(axis=1).sum())
        self._ticks += int(self.running.sum())
        return torch.from_numpy(sent).to(torch.float32)

    def renew(self, env_id: int) -> None:
        """The counted episode of one environment has ended: note its fault, and begin the next one with a new guard."""
        fault = self._guards[env_id].fault
        if fault is not None:
            self._faults[fault.rule] += 1
        self._guards[env_id] = self._make()

    def use(self) -> GuardUse:
        """What the guards did in all episodes that have ended."""
        return GuardUse(
            ticks=self._ticks,
            changed=self._changed_ticks,
            by_rule=dict(self._rules),
            by_channel=dict(zip(self._channels, self._changed.tolist(), strict=True)),
            safe_ticks=self._safe_ticks,
            held_back=self._held_back,
            faults=self._faults.total(),
            faults_by_rule=dict(self._faults),
        )

"""Policy and guard as a library, for programs that run the policy in a thread of their own."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from bedplate.bundle.contract import Contract
from bedplate.runtime.decision import Decision, Guard
from bedplate.runtime.policy import Policy
from bedplate.runtime.signals import SignalLayout


class Controller:
    """One robot's policy behind its guard. Not thread-safe.

    Args:
        contract: of the robot.
        policy: gives commands.
        guard: has the last word on them.

    Attributes:
        policy_error: what the policy raised in the last step, in words; "" when it answered.
    """

    def __init__(self, contract: Contract, policy: Policy, guard: Guard) -> None:
        self.contract = contract
        self.policy = policy
        self.guard = guard
        self._layout = SignalLayout(contract)
        self._command: np.ndarray | None = None
        self._command_stamp_s = math.nan
        self._sent: np.ndarray | None = None
        self.policy_error = ""

    def step(
        self,
        signals: Mapping[str, np.ndarray],
        state_stamp_s: float | None = None,
        now_s: float | None = None,
    ) -> Decision:
        """One control step; call it once per control period.

        Args:
            signals: name -> (size,) in physical units; every signal of the contract.
            state_stamp_s: when they were measured, on the clock of `now_s`; now when not given.
            now_s: the time; CLOCK_MONOTONIC when not given.

        Returns:
            What goes to the robot: `decision.command`, or nothing while `decision.hold_back` is set. `decision.fault`
            says why when it is the safe action for good. A policy that raises has given no command, see `policy_error`.
        """
        now = time.monotonic() if now_s is None else now_s
        stamp = now if state_stamp_s is None else state_stamp_s
        # a state that cannot be believed never reaches the policy, nor its memory
        if not self._layout.violation(signals):
            self._command = self._ask(signals)
            self._command_stamp_s = stamp
        if now_s is None:
            now = time.monotonic()
        decision = self.guard.filter(now, stamp, signals, self._command_stamp_s, self._command)
        self._sent = None if decision.hold_back else decision.command
        return decision

    def _ask(self, signals: Mapping[str, np.ndarray]) -> np.ndarray | None:
        self.policy_error = ""
        try:
            return self.policy.act(signals, self._sent)
        except Exception as error:  # whatever it is, the robot must get a command in this tick
            self.policy_error = f"{type(error).__name__}: {error}"
            return None

    def reset(self) -> None:
        """A new episode: the policy forgets, and the next command starts from the measured state.

        A latched fault stays; `controller.guard.rearm(token)` gives the authority back.
        """
        self.policy.reset()
        self.guard.restart()
        self._command = None
        self._command_stamp_s = math.nan
        self._sent = None


def load(bundle: Path | str) -> Controller:
    """Load a bundle's policy and guard.

    Args:
        bundle: the bundle's folder.

    Raises:
        BedplateError: the folder is absent or ONNX Runtime cannot load the policy.
        ContractMismatch: the bundle was changed, or its parts disagree; says which.
    """
    from bedplate.bundle.bundle import read_bundle
    from bedplate.runtime.guard import ReferenceGuard
    from bedplate.runtime.policy import OnnxPolicy

    read = read_bundle(Path(bundle))
    return Controller(read.contract, OnnxPolicy(read), ReferenceGuard(read.contract, read.info.guard))

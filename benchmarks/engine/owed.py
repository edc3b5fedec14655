"""The ratios that the engine owes, and whether a run pays them. A ratio is taken within each round, then its median."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from dataclasses import dataclass

OURS = "Bedplate TaskVecEnv"
RAW = "raw mujoco.batch"
SUBPROC = "SB3 SubprocVecEnv(8)"
ENVPOOL = "EnvPool sync(64)"

BENCHED = {"half_cheetah": "HalfCheetah-v5", "ant": "Ant-v5"}
"""Task -> Gymnasium's and EnvPool's environment."""

OWED = {
    "half_cheetah": {RAW: 0.9, ENVPOOL: 1.4, SUBPROC: 10.0},
    "ant": {RAW: 0.9, ENVPOOL: 1.3, SUBPROC: 3.5},
}
"""Task -> peer -> smallest ratio of our steps per second to the peer's.

EnvPool is compared in its synchronous mode, in which a step is a step of every environment, as ours is and as PPO needs
it; its asynchronous mode, which hands back whichever environments are ready, is in the table too.
"""


@dataclass(frozen=True)
class Verdict:
    """One owed ratio.

    Attributes:
        peer: whom we are compared with.
        ratio: our steps per second over the peer's, median over rounds.
        owed: the smallest that is promised.
    """

    peer: str
    ratio: float
    owed: float

    @property
    def paid(self) -> bool:
        """Whether the promise is kept."""
        return self.ratio >= self.owed


def judge(task_name: str, rounds: Mapping[str, tuple[float, ...]]) -> list[Verdict]:
    """Compare one task's results with what is owed.

    Args:
        task_name: a task of `OWED`.
        rounds: contestant -> environment steps per second in each round.
    """
    return [Verdict(peer, ratio(rounds[OURS], rounds[peer]), smallest) for peer, smallest in OWED[task_name].items()]


def ratio(ours: tuple[float, ...], theirs: tuple[float, ...]) -> float:
    """Median over rounds of ours over theirs."""
    return statistics.median(a / b for a, b in zip(ours, theirs, strict=True))

"""Interleaved measurement: every contestant has a slice in every round, so that what slows the machine slows all."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bedplate.core.errors import BedplateError
from bedplate.tasks import TASKS
from benchmarks.engine.contestant import Contestant, steps_per_s
from benchmarks.engine.ours import BedplateEngine, Ceiling, RawBatch
from benchmarks.engine.owed import BENCHED


@dataclass(frozen=True)
class Row:
    """One contestant's result.

    Attributes:
        name: the contestant.
        note: how it was set up.
        rounds: environment steps per second in each round.
    """

    name: str
    note: str
    rounds: tuple[float, ...]

    @property
    def median(self) -> float:
        """Median over the rounds, in environment steps per second."""
        return statistics.median(self.rounds)

    @property
    def spread(self) -> float:
        """Half the distance between the quartiles, as a part of the median."""
        if len(self.rounds) < 2:
            return 0.0
        low, _, high = statistics.quantiles(self.rounds, n=4, method="inclusive")
        return (high - low) / 2 / self.median


def measure(
    task_name: str, num_envs: int, rounds: int, seconds: float, progress: Callable[[str, int], None]
) -> list[Row]:
    """Measure everything on one task.

    Args:
        task_name: one of `BENCHED`.
        num_envs: worlds of our engine and of the raw batch.
        rounds: slices per contestant.
        seconds: length of a slice.
        progress: called with a contestant's name and the number of slices done.

    Raises:
        BedplateError: the task is none that Gymnasium and EnvPool have too.
    """
    if task_name not in BENCHED:
        raise BedplateError(f"task {task_name!r} has no peers", f"one of {', '.join(BENCHED)}")
    # only now, so that a wrong name is told without the peers installed
    from benchmarks.engine.peers import peers

    task = TASKS.load(task_name)()
    ours = BedplateEngine(task, num_envs)
    contestants: list[Contestant] = [ours, RawBatch(task, ours), Ceiling(task, ours), *peers(BENCHED[task_name])]
    try:
        return _interleave(contestants, rounds, seconds, progress)
    finally:
        for contestant in contestants:
            contestant.close()


def _interleave(
    contestants: Sequence[Contestant], rounds: int, seconds: float, progress: Callable[[str, int], None]
) -> list[Row]:
    # a first slice that does not count: caches fill, episodes get out of step
    for contestant in contestants:
        steps_per_s(contestant, seconds)
    results: dict[str, list[float]] = {contestant.name: [] for contestant in contestants}
    done = 0
    for round_number in range(rounds):
        # forwards and backwards in turn, so that no one always follows the same neighbour
        order = contestants if round_number % 2 == 0 else contestants[::-1]
        for contestant in order:
            progress(contestant.name, done)
            results[contestant.name].append(steps_per_s(contestant, seconds))
            done += 1
    return [Row(c.name, c.note, tuple(results[c.name])) for c in contestants]

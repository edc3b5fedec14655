"""Tune nav_lidar's classical baseline by random search with successive halving, on training worlds only.

usage: python benchmarks/tune_dynamic_window.py [--trials 120] [--seed 0]
"""

from __future__ import annotations

import argparse
from dataclasses import asdict

import numpy as np
import torch

from bedplate.envs.vec_env import TaskVecEnv
from bedplate.tasks.nav_lidar import nav_lidar
from bedplate.tasks.nav_lidar.dynamic_window import DynamicWindow
from bedplate.tasks.nav_lidar.terms import SPEED_M_S, TURN_RAD_S

RANGES = {
    "horizon_s": (0.6, 2.5),
    "margin_m": (0.02, 0.15),
    "heading": (0.0, 1.5),
    "progress": (0.2, 2.0),
    "clearance": (0.0, 2.0),
    "clearance_m": (0.1, 1.0),
    "speed": (0.0, 1.0),
}

# (trials that survive, worlds each is measured on)
ROUNDS = ((1.0, 24), (0.2, 100), (0.05, 300))


@torch.no_grad()
def success_rate(window: DynamicWindow, worlds: int, seed: int) -> float:
    """Share of training worlds in which the planner reaches the goal, noise and randomisation on."""
    env = TaskVecEnv(nav_lidar(), worlds, seed=seed)
    env.reset()
    first: dict[int, bool] = {}
    while len(first) < worlds:
        command = window(env.signals)
        action = torch.stack([command[:, 0] / SPEED_M_S * 2 - 1, command[:, 1] / TURN_RAD_S], dim=1)
        for episode in env.step(action).episodes:
            first.setdefault(episode.env_id, episode.success)
    env.close()
    return float(np.mean(list(first.values())))


def main() -> None:
    """Search, and print the best parameters."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=120)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    torch.set_num_threads(1)
    rng = np.random.default_rng(options.seed)
    trials = [DynamicWindow()] + [
        DynamicWindow(**{name: round(float(rng.uniform(*bounds)), 3) for name, bounds in RANGES.items()})
        for _ in range(options.trials - 1)
    ]
    for number, (share, worlds) in enumerate(ROUNDS):
        trials = trials[: max(3, round(options.trials * share))]
        scores = [success_rate(window, worlds, seed=100 + number) for window in trials]
        order = np.argsort(scores)[::-1]
        trials = [trials[i] for i in order]
        best = ", ".join(f"{scores[i]:.3f}" for i in order[:5])
        print(f"round {number}: {len(trials)} trials on {worlds} worlds each; best {best}", flush=True)
    print("best:", asdict(trials[0]), flush=True)


if __name__ == "__main__":
    main()

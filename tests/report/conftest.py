"""A run folder with every part, small and synthetic."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d49444154789c6360f8cf500f0003030101"
    "e2a5e27a0000000049454e44ae426082"
)


def _rate(count: int, total: int = 500) -> dict[str, float]:
    share = count / total
    return {
        "count": count,
        "total": total,
        "rate": share,
        "low": max(0.0, share - 0.02),
        "high": min(1.0, share + 0.015),
    }


def _middle(median: float) -> dict[str, float]:
    return {"median": median, "low": 0.9 * median, "high": 1.1 * median, "total": 500}


def _outcome(success: int) -> dict[str, Any]:
    return {
        "success": _rate(success),
        "collisions": _rate(490 - success),
        "collision_reasons": ["collision", "tipped_over"],
        "time_outs": _rate(7),
        "by_reason": {
            "success": _rate(success),
            "collision": _rate(490 - success),
            "time_out": _rate(7),
            "tipped_over": _rate(3),
        },
        "return": _middle(14.2),
        "length_s": _middle(12.0),
        "metrics": {"path_efficiency": _middle(0.9)},
        "metrics_of_successes": {"path_efficiency": _middle(0.93)},
        "guard": {
            "clamp_rate": 0.0123,
            "by_rule": {"rate": 0.0123},
            "by_channel": {"forward_speed": 0.01, "turn_rate": 0.004},
            "safe_action_rate": 0.0,
            "faults": 1,
            "faults_by_rule": {"observation_range": 1},
            "ticks": 120000,
        },
    }


def documents() -> dict[str, Any]:
    """File name -> JSON value, for every document of a run."""
    limits = {
        "channels": [
            {
                "channel": "forward_speed",
                "unit": "m/s",
                "low": 0.0,
                "high": 0.65,
                "rate_per_s": 3.0,
                "position": None,
                "effort": None,
            },
            {
                "channel": "joint_1",
                "unit": "rad/s",
                "low": -2.5,
                "high": 2.5,
                "rate_per_s": 25.0,
                "position": {"signal": "joint_position", "index": 0, "low": -2.9, "high": 2.9},
                "effort": {"signal": "joint_torque", "index": 0, "high": 87.0},
            },
        ],
        "safe_action": {"mode": "ramp", "value": [0.0, 0.0]},
    }
    signal = {
        "name": "scan",
        "components": [f"ray_{i}" for i in range(48)],
        "unit": "m",
        "frame": "body",
        "low": 0.0,
        "high": 4.0,
        "max_age_s": 0.2,
        "rate_hz": 20.0,
    }
    return {
        "manifest.json": {
            "status": "finished",
            "started": "2026-12-01T13:51:46Z",
            "ended": "2026-12-01T13:55:50Z",
            "kernel": "4.18.0-553.el8_10.x86_64",
            "os": "Red Hat Enterprise Linux 8.10",
            "cpu": "some CPU",
            "cores": 2,
            "python": "3.11.7",
            "packages": {"torch": "2.13.0", "mujoco": "4.0.0"},
            "git": {"commit": "6e02d6b1234567890", "dirty": True},
            "argv": ["bedplate", "train", "nav_lidar"],
            "seed": 7,
            "task": "nav_lidar",
            "steps": 1_638_400,
            "train_seconds": 221.4,
            "steps_per_s": 7400.2,
            "num_diverged": 0,
        },
        "evaluation.json": {
            "schema": 1,
            "task": "nav_lidar",
            "episodes": 500,
            "worlds": {"version": 1, "trained_version": 1, "change": "", "seed": 1000, "split": "evaluation"},
            "model_sha256": "a" * 64,
            "randomisation_ranges": {
                "friction": {"factor": "0.5 to 1.25"},
                "gusts": {"speed": "0 to 2", "every_s": "1"},
            },
            "difficulty": {"obstacles": "12 to 20", "generator version": 1},
            "randomisation": True,
            "episode_length_s": 45.0,
            **_outcome(480),
            "unguarded": {**_outcome(481), "guard": None},
            "baseline": _outcome(430),
            "trajectories": "trajectories.png",
            "trajectory_worlds": [0, 1, 2, 3, 4, 5, 6, 11],
            "video": "video.mp4",
            "video_note": "",
            "video_speed": 3,
            "video_worlds": [0, 1, 2],
        },
        "bundle/bundle.json": {
            "schema": 1,
            "contract": {
                "task": "nav_lidar",
                "control_dt_s": 0.05,
                "signals": [signal],
                "memory": [{"name": "previous_action", "size": 2, "initial": 0.0}],
                "action_kind": "twist",
                "limits": limits,
            },
            "contract_hash": "c" * 64,
            "bundle_hash": "b" * 64,
            "guard": {"action_max_age_periods": 3.0, "overrun_limit": 3, "range_fault_ticks": 5},
        },
        "verification.json": {
            "contract_hash": "c" * 64,
            "bundle_hash": "b" * 64,
            "gates": [{"name": "parity", "found": "1.91e-07", "expected": "<= 1e-05", "passed": True}],
            "samples": 537,
            "parity": {"max_error": 1.91e-7},
            "latency": {"n": 5000, "p50_us": 24.6, "p90_us": 26.1, "p99_us": 65.0, "p99_9_us": 1173.7},
        },
        "serve.json": {
            "contract_hash": "c" * 64,
            "bundle_hash": "b" * 64,
            "end": "stopped",
            "seconds": 10.0,
            "control_dt_s": 0.05,
            "ticks": 201,
            "rate_hz": 20.01,
            "driven_ticks": 190,
            "rest_ticks": 5,
            "deadline_misses": 2,
            "misses": {"no_answer": 2, "no_state": 0},
            "latency": {"n": 195, "p50_us": 1162.0, "p90_us": 1492.0, "p99_us": 12340.0, "p99_9_us": 37116.0},
            "latency_bins": [[900.0, 3], [1000.0, 60], [1200.0, 110], [12340.0, 1]],
            "interventions": {"stale_action": 6, "rate": 4},
            "waiting_ticks": 6,
            "late_latency": {"n": 0, "p50_us": 0.0, "p90_us": 0.0, "p99_us": 0.0, "p99_9_us": 0.0},
            "held_back": 0,
            "last_rejection": "",
            "refused_frames": {},
            "faults": [],
            "host": {"scheduler": "SCHED_OTHER"},
        },
    }


CONFIG = """
description: lidar navigation in four minutes on two cores
task: {name: nav_lidar, params: {}}
env: {num_envs: 256, randomisation: true}
"""


def write_run(folder: Path, values: dict[str, Any], config: str = CONFIG) -> Path:
    """Write a run folder from its documents."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, value in values.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(json.dumps(value))
    (folder / "config.yaml").write_text(config)
    rows = [
        {
            "step": step,
            "time/total_timesteps": step,
            "rollout/success_rate": step / 1e6,
            "episodes/collision": 1 - step / 1e6,
            "rollout/ep_rew_mean": step / 1e5 - 5,
            "reward/progress": step / 2e5,
            "train/approx_kl": 0.01,
            "time/fps": 7000 + step / 1e4,
        }
        for step in range(16384, 1_000_000, 16384)
    ]
    (folder / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "trajectories.png").write_bytes(PNG)
    (folder / "video.mp4").write_bytes(b"\0\0\0 ftypisom" + b"\0" * 64)
    return folder


@pytest.fixture
def values() -> dict[str, Any]:
    """The documents of a full run, to be changed before `make_run`."""
    return documents()


@pytest.fixture
def make_run(tmp_path):
    """(documents, name, config) -> run folder."""

    def make(values: dict[str, Any], name: str = "demo", config: str = CONFIG) -> Path:
        return write_run(tmp_path / name, values, config)

    return make

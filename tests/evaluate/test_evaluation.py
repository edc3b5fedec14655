"""A whole evaluation: files, pictures, and the command with its gates."""

from __future__ import annotations

import dataclasses
import json
import subprocess

import numpy as np
import pytest

from bedplate.bundle.contract import GuardSettings
from bedplate.cli.app import run as bedplate
from bedplate.core.errors import BedplateError
from bedplate.evaluate import evaluation, sources, video
from bedplate.evaluate.evaluation import Origin, Plan, evaluate
from bedplate.evaluate.recording import Recorder, choose_worlds, tracked_point
from bedplate.evaluate.rollouts import Worlds, run_worlds
from bedplate.evaluate.scene import colour_of, projection_of, scene_outlines
from bedplate.evaluate.sources import Source, open_source
from bedplate.evaluate.trajectories import draw_trajectories
from bedplate.evaluate.video import render_video
from bedplate.runs.layout import EPISODES, EVALUATION, TRAJECTORIES, VIDEO
from bedplate.tasks.spec import Termination


@pytest.fixture
def records(task, full_speed):
    recorder = Recorder(num_worlds=6)
    run_worlds(task, full_speed, Worlds(20), GuardSettings(), recorder)
    return recorder.worlds


def test_a_recording_follows_the_tracked_point_of_the_first_episodes(records):
    assert len(records) == 6
    for record in records:
        assert record.episode is not None
        assert len(record.path) == len(record.qpos) == record.episode.length
        # the site lies 0.1 m before the joint
        assert np.asarray(record.path)[:, 0] == pytest.approx(np.asarray(record.qpos)[:, 0] + 0.1, abs=1e-9)


def test_a_collision_of_another_name_is_drawn_as_one(task, full_speed):
    wall = Termination("wall", lambda state: state.qpos[:, 0] > 1.0, collision=True)
    recorder = Recorder(num_worlds=6)
    walled = dataclasses.replace(task, terminations=(*task.terminations, wall))
    run_worlds(walled, full_speed, Worlds(6), None, recorder)
    hit = [record for record in recorder.worlds if record.ending == "wall"]
    assert hit
    assert all(record.collided == (record.ending in ("wall", "collision")) for record in recorder.worlds)
    assert {colour_of(record.ending, record.collided) for record in hit} == {colour_of("collision")}
    assert colour_of("wall") != colour_of("collision")


@pytest.mark.parametrize(
    ("successes", "chosen"),
    [
        ([True, True, True, True], [0, 1]),
        ([True, True, False, True, False], [0, 2]),
        ([True, False, True, False], [0, 1]),
        ([False, True, True], [0, 1]),
        ([False], [0]),
    ],
)
def test_choosing_worlds_shows_the_first_failure(records, successes, chosen):
    ended = [
        dataclasses.replace(record, episode=dataclasses.replace(record.episode, success=success))
        for record, success in zip(records, successes, strict=False)
    ]
    assert choose_worlds(ended, 2) == chosen


def test_an_unknown_tracked_point_is_refused(task):
    with pytest.raises(BedplateError, match="tracks 'nose'"):
        tracked_point(task.model().compile(), "nose")
    assert tracked_point(task.model().compile(), "") == ("xpos", 1)


def test_outlines_are_those_of_what_does_not_move(records):
    outlines = scene_outlines(records[0], (0, 1))
    # the rail and the post; not the cart
    assert len(outlines) == 2
    post = max(outlines, key=lambda outline: outline[:, 1].max())
    assert post.mean(axis=0) == pytest.approx((3.0, 1.0), abs=0.01)
    assert np.ptp(post, axis=0) == pytest.approx((0.4, 0.4), abs=0.01)


def test_tall_paths_are_seen_from_the_side():
    flat = np.array([[0.0, 0.0, 0.0], [5.0, 4.0, 0.5]])
    tall = np.array([[0.0, 0.0, 0.0], [2.0, 0.1, 1.5]])
    assert projection_of([flat]) == (0, 1)
    assert projection_of([tall]) == (0, 2)


def test_a_plot_is_a_png_with_something_on_it(records):
    from io import BytesIO

    from PIL import Image

    picture = np.asarray(Image.open(BytesIO(draw_trajectories(records, [0, 1, 2]))).convert("L"))
    assert picture.shape[1] > picture.shape[0] > 100
    assert picture.std() > 5


def test_a_video_is_an_mp4_or_a_reason(records, tmp_path):
    path = tmp_path / VIDEO
    result = render_video(records, [0, 1, 2], path)
    if result.reason:
        assert not path.exists()
        pytest.skip(f"no software rendering here: {result.reason}")
    assert path.read_bytes()[4:8] == b"ftyp"
    assert result.speed >= 1


def test_a_broken_opengl_gives_a_reason_and_no_file(records, tmp_path, monkeypatch):
    monkeypatch.setattr(video, "_backends", lambda: ("nonsense",))
    result = render_video(records, [0], tmp_path / VIDEO)
    assert result.reason.startswith("nonsense: ")
    assert "mesa-libEGL" in result.reason
    assert not (tmp_path / VIDEO).exists()


def test_a_renderer_that_hangs_is_given_up(records, tmp_path, monkeypatch):
    def hang(*args, **kwargs):
        raise subprocess.TimeoutExpired("renderer", kwargs["timeout"])

    monkeypatch.setattr(video.subprocess, "run", hang)
    assert "took more than" in render_video(records, [0], tmp_path / VIDEO).reason


def test_an_evaluation_without_rendering_still_succeeds_and_says_so(task, full_speed, tmp_path, monkeypatch):
    monkeypatch.setattr(video, "_backends", lambda: ("nonsense",))
    (tmp_path / VIDEO).write_bytes(b"of an older policy")
    evaluate(task, full_speed, Plan(Worlds(20)), tmp_path)
    written = json.loads((tmp_path / EVALUATION).read_text())
    assert written["video"] is None
    assert "nonsense" in written["video_note"]
    assert not (tmp_path / VIDEO).exists()
    assert (tmp_path / TRAJECTORIES).exists()


def test_evaluation_json_holds_what_the_contract_names(task, full_speed, tmp_path):
    origin = Origin("run", "ab" * 32, trained_world_version=1)
    result = evaluate(task, full_speed, Plan(Worlds(40, 3), pictures=False), tmp_path, origin)
    written = json.loads((tmp_path / EVALUATION).read_text())
    assert written["schema"] == 1
    assert written["episodes"] == 40
    assert written["worlds"] == {"version": 1, "trained_version": 1, "change": "", "seed": 3, "split": "evaluation"}
    assert written["model_sha256"] == "ab" * 32
    assert written["collision_reasons"] == ["collision"]
    assert written["randomisation"] is True
    assert written["difficulty"] == task.difficulty
    assert written["success"]["rate"] == result.guarded.success.rate
    assert set(written["success"]) == {"count", "total", "rate", "low", "high"}
    assert 0 < written["guard"]["clamp_rate"] < 1
    assert written["unguarded"]["guard"] is None
    assert written["baseline"]["success"]["rate"] != written["success"]["rate"]
    assert sum(rate["count"] for rate in written["by_reason"].values()) == 40
    assert (tmp_path / EPISODES).exists()


@pytest.fixture
def cart_source(task, full_speed, tmp_path, monkeypatch):
    source = Source(Origin(), task, full_speed, GuardSettings(), True, tmp_path, 30)
    monkeypatch.setattr(sources, "open_source", lambda path: source)
    return tmp_path


def test_the_command_measures_and_passes_its_gate(cart_source, capsys):
    code = bedplate(["evaluate", "any", "--no-pictures", "--gate", "success>=0.1 clamp_rate<=0.5", "--json"])
    assert code == 0
    assert json.loads(capsys.readouterr().out)["episodes"] == 30


def test_a_gate_that_does_not_hold_ends_with_1_and_keeps_the_result(cart_source, capsys):
    assert bedplate(["evaluate", "any", "--no-pictures", "--gate", "collisions<=0"]) == 1
    captured = capsys.readouterr()
    assert "gate failed: collisions is" in captured.err
    assert "policy, guarded" in captured.out
    assert "30 unseen worlds, seed 0" in captured.out
    assert (cart_source / EVALUATION).exists()


@pytest.mark.parametrize("gate", ["collision<=0", "success", "success>="])
def test_a_wrong_gate_ends_with_2_before_anything_is_measured(cart_source, gate, capsys):
    assert bedplate(["evaluate", "any", "--gate", gate]) == 2
    assert not (cart_source / EVALUATION).exists()


def test_a_folder_that_cannot_be_written_is_refused_before_anything_is_measured(
    cart_source, full_speed, tmp_path, capsys, monkeypatch
):
    monkeypatch.setattr(evaluation, "run_worlds", lambda *arguments: pytest.fail("worlds were run"))
    (tmp_path / "file").write_text("in the way")
    assert bedplate(["evaluate", "any", "-o", str(tmp_path / "file" / "results")]) == 2
    assert "cannot write" in capsys.readouterr().err


def test_what_is_no_run_is_refused(tmp_path, capsys):
    assert bedplate(["evaluate", str(tmp_path / "nothing")]) == 2
    assert bedplate(["evaluate", str(tmp_path)]) == 2
    with pytest.raises(BedplateError, match="neither"):
        open_source(tmp_path)

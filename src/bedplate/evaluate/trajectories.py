"""A plot of several worlds: what stood where, and the path that the robot took."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

import numpy as np

from bedplate.evaluate.recording import WorldRecord
from bedplate.evaluate.scene import bounds_of, colour_of, projection_of, scene_outlines

NUM_WORLDS = 8
COLUMNS = 4


def draw_trajectories(worlds: Sequence[WorldRecord], chosen: Sequence[int]) -> bytes:
    """Draw the chosen worlds as small panels, all at one scale.

    Returns:
        A PNG.
    """
    # matplotlib costs a second and is only needed here
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    records = [worlds[i] for i in chosen]
    axes = projection_of([np.asarray(record.path) for record in records])
    low, high = _frame(records, axes)
    rows, columns = -(-len(records) // COLUMNS), min(COLUMNS, len(records))
    width_in = 2.9 * columns
    aspect = float((high - low)[1] / (high - low)[0])
    height_in = rows * (width_in / columns * min(max(aspect, 0.25), 1.6) + 0.45)
    figure = Figure(figsize=(width_in, height_in), dpi=130, layout="constrained")
    FigureCanvasAgg(figure)
    panels = figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=True).ravel()

    for panel, record, index in zip(panels, records, chosen, strict=False):
        _draw_world(panel, record, axes, low, high)
        panel.set_title(f"world {index}: {record.ending}, {record.duration_s:.1f} s", fontsize=9, loc="left")
        panel.set_xlim(low[0], high[0])
        panel.set_ylim(low[1], high[1])
        panel.set_aspect("equal")
        panel.tick_params(labelsize=7, length=2, color="#8a94a0", labelcolor="#5b6570")
        for spine in panel.spines.values():
            spine.set_color("#d5dae0")
    for panel in panels[len(records) :]:
        panel.set_visible(False)
    figure.supxlabel(f"{'xyz'[axes[0]]} (m)", fontsize=8, color="#5b6570")
    figure.supylabel(f"{'xyz'[axes[1]]} (m)", fontsize=8, color="#5b6570")

    buffer = io.BytesIO()
    figure.savefig(buffer, format="png")
    return buffer.getvalue()


def _draw_world(panel: Any, record: WorldRecord, axes: tuple[int, int], low: np.ndarray, high: np.ndarray) -> None:
    """The scene at the start of the episode, then the path with its start (ring), end (dot) and goal (star)."""
    from matplotlib.patches import Polygon

    for outline in scene_outlines(record, axes):
        # a floor or a table below everything would only grey the panel
        if (outline.min(axis=0) <= low).all() and (outline.max(axis=0) >= high).all():
            continue
        panel.add_patch(Polygon(outline, facecolor="#d5dae0", edgecolor="#aab2bb", linewidth=0.5))
    path, colour = np.asarray(record.path)[:, axes], colour_of(record.ending, record.collided)
    if max(axes) < len(record.goal):
        panel.plot(*record.goal[list(axes)], marker="*", color="#e0a526", markersize=14, markeredgecolor="white")
    panel.plot(path[:, 0], path[:, 1], color=colour, linewidth=1.8, solid_capstyle="round")
    panel.plot(*path[0], "o", color=colour, markersize=5.5, markerfacecolor="white", markeredgewidth=1.5)
    panel.plot(*path[-1], "o", color=colour, markersize=5.5)


def _frame(records: Sequence[WorldRecord], axes: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
    """One box for all panels, around every path and goal."""
    points = [np.asarray(record.path)[:, axes] for record in records]
    points += [record.goal[list(axes)][None] for record in records if max(axes) < len(record.goal)]
    return bounds_of(np.concatenate(points), margin=0.12)

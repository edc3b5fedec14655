"""A plot of several worlds: what stood where, and the path that the robot took."""

from __future__ import annotations

import io
from collections.abc import Sequence

import mujoco
import numpy as np
from scipy.spatial import ConvexHull, QhullError

from bedplate.evaluate.recording import WorldRecord

NUM_WORLDS = 8
COLUMNS = 4

COLOURS = {"success": "#1a7f5a", "collision": "#c0392b", "time_out": "#b7791f"}
OTHER_COLOUR = "#6b4fa0"

# unit shapes on which a geom's surface is sampled: a sphere's latitudes and longitudes, a box's corners
_ANGLES = np.linspace(0.0, 2 * np.pi, 24, endpoint=False)
_CIRCLE = np.stack([np.cos(_ANGLES), np.sin(_ANGLES), np.zeros_like(_ANGLES)], axis=1)
_BALL = np.concatenate([_CIRCLE, _CIRCLE[:, [0, 2, 1]], _CIRCLE[:, [2, 0, 1]]])
_CORNERS = np.array([(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], float)


def draw_trajectories(worlds: Sequence[WorldRecord], chosen: Sequence[int]) -> bytes:
    """Draw the chosen worlds as small panels, all at one scale.

    Returns:
        A PNG.
    """
    # matplotlib costs a second and is only needed here
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.patches import Polygon

    records = [worlds[i] for i in chosen]
    axes_xyz = _projection(records)
    low, high = _bounds(records, axes_xyz)
    rows = -(-len(records) // COLUMNS)
    columns = min(COLUMNS, len(records))
    figure = Figure(figsize=(3.0 * columns, 3.3 * rows), dpi=110, layout="constrained")
    FigureCanvasAgg(figure)
    panels = figure.subplots(rows, columns, squeeze=False).ravel()

    for panel, record, index in zip(panels, records, chosen, strict=False):
        # the scene at the start
        for polygon in scene_polygons(record, axes_xyz):
            panel.add_patch(Polygon(polygon, facecolor="#cfd4da", edgecolor="#aab2bb", linewidth=0.5))
        # path, start, goal
        path = np.asarray(record.path)[:, axes_xyz]
        reason = record.episode.reason if record.episode is not None else ""
        succeeded = record.episode is not None and record.episode.success
        colour = COLOURS["success"] if succeeded else COLOURS.get(reason, OTHER_COLOUR)
        panel.plot(path[:, 0], path[:, 1], color=colour, linewidth=1.8, solid_capstyle="round")
        panel.plot(*path[0], "o", color=colour, markersize=5, markerfacecolor="white", markeredgewidth=1.5)
        panel.plot(*path[-1], "o", color=colour, markersize=5)
        goal = _goal(record)
        if goal is not None:
            panel.plot(*goal[axes_xyz], marker="*", color="#d69e2e", markersize=13, markeredgecolor="white")
        # frame
        label = "success" if succeeded else reason.replace("_", "-")
        seconds = len(record.path) and record.episode is not None and f", {_seconds(record):.1f} s" or ""
        panel.set_title(f"world {index}: {label}{seconds}", fontsize=9, color=colour)
        panel.set_xlim(low[0], high[0])
        panel.set_ylim(low[1], high[1])
        panel.set_aspect("equal")
        panel.tick_params(labelsize=7, length=2)
    for panel in panels[len(records) :]:
        panel.set_visible(False)
    figure.supxlabel(f"{'xyz'[axes_xyz[0]]} (m)", fontsize=8)
    figure.supylabel(f"{'xyz'[axes_xyz[1]]} (m)", fontsize=8)

    buffer = io.BytesIO()
    figure.savefig(buffer, format="png")
    return buffer.getvalue()

"""Lidar navigation of a two-wheeled robot."""

from __future__ import annotations

from bedplate.tasks.nav_lidar.task import nav_lidar

__all__ = ["nav_lidar"]

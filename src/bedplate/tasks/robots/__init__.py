"""Robots: own MJCF models, and the loader for anybody else's arm."""

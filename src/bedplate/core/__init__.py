"""Errors, files, limits, checks, clocks, signals: standard library, pydantic and yaml only."""

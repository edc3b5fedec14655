"""Task environments. Importing this package registers every task with Gymnasium, as `bedplate/<Name>-v0`."""

from __future__ import annotations

from bedplate.envs.registration import register_all

register_all()

"""Gymnasium's MuJoCo v5 environments as tasks: equal observations, rewards and ends, many worlds at a time.

The models are Gymnasium's own files, read from the installed package when a task is built. Fields are read one substep
behind the state (`current_fields=False`), as Gymnasium's environments read them after mj_step.
"""

"""The simulated robot: a task on one world behind any link, in a process of its own."""

"""The run folder: every file name once, and the manifest."""

"""Bedplate: from a bare GPU server to a guarded robot policy.

The command line is the main way in (`bedplate --help`); the public Python API is `bedplate.runtime.load(bundle)` on
the robot side and `bedplate.tasks.spec` for a site's own tasks. Importing this package imports nothing else.
"""

__version__ = "0.1.0"

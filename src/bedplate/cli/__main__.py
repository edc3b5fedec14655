"""`python -m bedplate.cli`: the command line without an installed script."""

from bedplate.cli.app import main

main()

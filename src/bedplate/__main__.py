"""`python -m bedplate` is the `bedplate` command."""

from bedplate.cli.app import main

if __name__ == "__main__":
    main()

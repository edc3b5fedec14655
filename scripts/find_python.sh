#!/usr/bin/env bash
# Print the first Python that can build the environment: the one named in $1, else 3.12, 3.11, python3.
# A name in PATH may be a shim that fails, so each candidate is run before it is chosen.
set -euo pipefail

probe='import sys, venv, ensurepip; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 13))'

# a Python that was asked for is taken or refused, never replaced
if [ -n "${1:-}" ]; then
    candidates=("$1")
else
    candidates=(python3.12 python3.11 python3)
fi

for candidate in "${candidates[@]}"; do
    if command -v "$candidate" >/dev/null 2>&1 && "$candidate" -c "$probe" >/dev/null 2>&1; then
        echo "$candidate"
        exit 0
    fi
done

cat >&2 <<MESSAGE
found: no usable Python among: ${candidates[*]}
expected: Python 3.11 or 3.12 with the modules venv and ensurepip
next step: RHEL 8: dnf install python3.12   Debian, Ubuntu: apt-get install python3.11-venv   or: make setup PYTHON=/path/to/python3.12
MESSAGE
exit 2

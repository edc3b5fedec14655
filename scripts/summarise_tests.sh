#!/usr/bin/env bash
# Print what is worth keeping of a pytest log: when, where, which code, the slowest tests and the closing line.
set -euo pipefail

log="$1"
echo "date: $(date -u +%Y-%m-%dT%H:%M:%SZ)"
echo "machine: $(nproc) cores, $(grep -m1 'model name' /proc/cpuinfo | cut -d: -f2 | xargs || uname -m), Linux $(uname -r)"
echo "code: $(git describe --always --dirty 2>/dev/null || echo 'not a git checkout')"
echo "command: make test-long"
echo

# from pytest's list of slow tests to its closing line; a log without one keeps its tail
if grep -q '= slowest ' "$log"; then
    sed -n '/= slowest /,$p' "$log"
else
    tail -n 30 "$log"
fi

"""The script for a machine with internet: it fills the folder that an offline plan installs from."""

from __future__ import annotations

from bedplate.host.plan.build import Plan, for_fetching
from bedplate.host.plan.engine import START
from bedplate.host.plan.script import assignments, values

_HEAD = """#!/bin/sh
# Fetches what a plan with --offline FOLDER installs. Run it as root on a machine with internet that has the host's
# RHEL 8 minor version and machine; a fresh one, as packages that it has of another version can be missing.
# usage: sh fetch.sh FOLDER [REQUIREMENTS...]    a requirements file brings the wheels it names
# Then copy FOLDER to the host, to the place that the plan names.
"""

_BODY = """
out=${1:?usage: sh fetch.sh FOLDER [REQUIREMENTS...]}
case $out in /*) ;; *) out=$PWD/$out ;; esac
shift
mkdir -p "$out/rpms" "$out/keys" "$out/wheels" || exit 1

dnf_() {
    dnf -y "$@"
}

# shows and runs one command; the first that fails ends the script
must() {
    say "+ $*"
    "$@" || exit 1
}

dnf_ install dnf-plugins-core createrepo_c || exit 1
"""

_TAIL = """
createrepo_c "$out/rpms" || exit 1
cp /etc/pki/rpm-gpg/RPM-GPG-KEY-* "$out/keys/" || exit 1
# NVIDIA's keys come with their repositories
cd /etc/yum.repos.d || exit 1
sed -n 's/^gpgkey *= *//p' cuda-rhel8.repo nvidia-container-toolkit.repo 2>/dev/null | while read -r key; do
    must curl -fsSL -o "$out/keys/${key##*/}" "$key"
done
cd "$OLDPWD" || exit 1

# wheels that load on RHEL 8, for the Python of the plan
for file in "$@"; do
    must python3.12 -m pip download --only-binary=:all: --dest "$out/wheels" -r "$file"
done
say "wrote $out"
say 'next step: copy it to the host, and run the plan there'
say "wheels: python3.12 -m pip install --no-index --find-links FOLDER/wheels -r REQUIREMENTS"
"""


def fetch_script(plan: Plan) -> str:
    """POSIX sh for the connected machine, with the packages of every step that the host could want."""
    everything = for_fetching(plan)
    host = everything.host
    packages = [package for step in everything.steps for package in step.packages]
    # the repositories are set up as the plan would
    setup = "\n# repositories, as the plan sets them up\n" + "".join(
        f"{line} || exit 1\n" for step in everything.steps if step.repository for line in step.do
    )
    stream = ""
    if host.stream:
        stream = (
            "\n# the same stream as on the host\n"
            "must dnf_ module reset nvidia-driver\n"
            'must dnf_ module enable "nvidia-driver:$stream"\n'
        )
    names = " \\\n    ".join(dict.fromkeys(packages))
    download = f'\nmust dnf_ download --resolve --alldeps --destdir "$out/rpms" \\\n    {names}\n'
    text = setup + stream + download
    kernel = f"{host.kernel}.{host.machine}" if host.kernel else "$(uname -r)"
    head = assignments({**values(host), "kernel": kernel}, text)
    return _HEAD + START + head + _BODY + text + _TAIL

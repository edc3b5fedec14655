"""A RHEL 8 host of files and fake commands: what a plan does to it can be seen, run twice, and broken."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from tests.host.plan_hosts import KERNEL

COMMANDS = [
    "rpm",
    "dnf",
    "modinfo",
    "modprobe",
    "lsmod",
    "grubby",
    "dracut",
    "usermod",
    "mokutil",
    "setsebool",
    "getsebool",
    "getenforce",
    "systemctl",
    "tuned-adm",
    "nvidia-ctk",
    "nvidia-smi",
    "podman",
    "id",
    "uname",
    "subscription-manager",
    "dkms",
    "reboot",
]

FAKE = r"""#!/bin/bash
# one script, called by the name of each command; $FAKE/db holds a file for everything that is so
name=${0##*/}
all=$*
db=$FAKE/db
K=@KERNEL@
has() { [ -e "$db/$1" ]; }
case "$name $*" in
    "uname -r" | "id -u" | rpm\ -q* | lsmod* | modinfo* | *is-enabled* | *is-active* | *--info=ALL* | *default-kernel*) ;;
    *repolist* | *sb-state* | *test-key* | get* | "tuned-adm active" | nvidia-smi* | podman* | "dnf -q"*) ;;
    *) echo "$name $*" >>"$FAKE/log" ;;
esac
if has "break-$name"; then echo "$name: broken on purpose" >&2; exit 7; fi
case $name in
    uname) echo "$K" ;;
    id) cat "$db/uid" ;;
    rpm)
        case "$*" in
            -qa*) for f in "$db"/pkg-*; do echo "${f##*/pkg-}-0:1-1.x86_64"; done ;;
            *--qf*) echo 580.95.05 ;;
            *) for p in "${@:3}"; do has "pkg-$p" || exit 1; done ;;
        esac ;;
    dnf)
        case "$*" in
            *"repolist --enabled"*) has crb && echo codeready-builder-for-rhel-8-x86_64-rpms ;;
            *"repolist --all"*) echo "codeready-builder-for-rhel-8-x86_64-rpms x" ;;
            *--set-enabled*) touch "$db/crb" ;;
            *--add-repo*) mkdir -p "$BEDPLATE_ROOT/etc/yum.repos.d"; touch "$BEDPLATE_ROOT/etc/yum.repos.d/$(basename "${@: -1:1}")" ;;
            *"module enable nvidia-driver:"*) mkdir -p "$BEDPLATE_ROOT/etc/dnf/modules.d"
                printf 'stream=%s\nstate=enabled\n' "${all##*nvidia-driver:}" >"$BEDPLATE_ROOT/etc/dnf/modules.d/nvidia-driver.module" ;;
            *"versionlock add"*) mkdir -p "$BEDPLATE_ROOT/etc/dnf/plugins"
                printf '%s\n' "${@:4}" >>"$BEDPLATE_ROOT/etc/dnf/plugins/versionlock.list" ;;
            *install*)
                for p in "$@"; do
                    touch "$db/pkg-$p"
                    case $p in
                        nvidia-open) touch "$db/pkg-nvidia-driver-cuda" "$db/pkg-kmod-nvidia-open-dkms" ;;
                        python3.12) printf '#!/bin/sh\n' >"$FAKE/bin/python3.12"; chmod +x "$FAKE/bin/python3.12" ;;
                    esac
                done ;;
        esac ;;
    dkms) [ "$1" = install ] && touch "$db/module"
        if [ "$1" = generate_mok ]; then mkdir -p "$BEDPLATE_ROOT/var/lib/dkms"; touch "$BEDPLATE_ROOT/var/lib/dkms/mok.pub"; fi ;;
    modinfo) has module || exit 1; if [ "$1" = -F ]; then echo 580.95.05; fi ;;
    lsmod) if has nouveau; then echo "nouveau 1 0"; fi; if has loaded; then echo "nvidia 1 0"; fi ;;
    modprobe) if has nouveau || ! has enrolled; then echo "modprobe: ERROR: Required key not available"; exit 1; fi
        touch "$db/loaded"; mkdir -p "$BEDPLATE_ROOT/sys/module/nvidia"; echo 580.95.05 >"$BEDPLATE_ROOT/sys/module/nvidia/version" ;;
    grubby) case "$*" in *--default-kernel*) echo "/boot/vmlinuz-$K" ;; *--info*) cat "$db/args" ;; *--args=*) echo "${all##*--args=}" >>"$db/args" ;; esac ;;
    mokutil) case "$*" in
            *--sb-state*) echo "SecureBoot enabled" ;;
            *--test-key*) if has enrolled; then echo "x is already enrolled"; elif has asked; then echo "x is already in the enrollment request"; else echo "x is not enrolled"; fi ;;
            *--import*) touch "$db/asked" ;;
        esac ;;
    getenforce) echo Enforcing ;;
    getsebool) if has sebool; then echo "container_use_devices --> on"; else echo "container_use_devices --> off"; fi ;;
    setsebool) touch "$db/sebool" ;;
    usermod) echo "trainer:100000:65536" >>"$BEDPLATE_ROOT/etc/subuid"; echo "trainer:100000:65536" >>"$BEDPLATE_ROOT/etc/subgid" ;;
    systemctl) case $1 in
            is-*) has "unit-$2" ;;
            enable) touch "$db/unit-${*: -1:1}" ;;
            restart) exit 5 ;;
        esac ;;
    tuned-adm) if [ "$1" = profile ]; then echo "$2" >"$db/profile"; else echo "Current active profile: $(cat "$db/profile" 2>/dev/null)"; fi ;;
    nvidia-smi) has loaded && echo "GPU 0: fake" ;;
    nvidia-ctk) case "$*" in *--help*) echo "--feature-flag" ;; *) echo "libcuda.so.580.95.05 $*" >"${all##*--output=}" ;; esac ;;
    podman) has pkg-podman && echo "podman version 4.9.4-rhel" ;;
esac
"""


class FakeHost:
    """A host under a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.root = folder / "root"
        self.bin = folder / "bin"
        self.db = folder / "db"
        for path in (self.bin, self.db, self.root / "etc", self.root / "proc/sys/kernel/random"):
            path.mkdir(parents=True)
        (self.folder / "fake").write_text(FAKE.replace("@KERNEL@", KERNEL))
        (self.folder / "fake").chmod(0o755)
        for name in COMMANDS:
            (self.bin / name).symlink_to(self.folder / "fake")
        (self.root / "etc/os-release").write_text('ID="rhel"\nVERSION_ID="8.10"\n')
        for name in ("subuid", "subgid"):
            (self.root / "etc" / name).touch()
        (self.db / "uid").write_text("0\n")
        (self.db / "args").touch()
        (self.db / "nouveau").touch()
        self.boots = 0
        self.boot()

    @property
    def env(self) -> dict[str, str]:
        """The environment in which the host's commands are found first."""
        path = f"{self.bin}:{os.environ['PATH']}"
        return {**os.environ, "PATH": path, "FAKE": str(self.folder), "BEDPLATE_ROOT": str(self.root)}

    def boot(self) -> None:
        """Another boot id; what was blacklisted does not load, and the key that was asked for is enrolled."""
        self.boots += 1
        (self.root / "proc/sys/kernel/random/boot_id").write_text(f"boot-{self.boots}\n")
        if "blacklist=nouveau" in (self.db / "args").read_text():
            (self.db / "nouveau").unlink(missing_ok=True)
        if (self.db / "asked").exists():
            (self.db / "enrolled").touch()

    def run(self, script: Path, *options: str, shell: str = "dash") -> subprocess.CompletedProcess[str]:
        """Run a plan on the host."""
        command = [shell, str(script), *options]
        return subprocess.run(command, env=self.env, capture_output=True, text=True, timeout=120, check=False)

    def log(self) -> list[str]:
        """Commands so far that change something."""
        path = self.folder / "log"
        return path.read_text().splitlines() if path.exists() else []

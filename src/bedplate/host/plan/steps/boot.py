"""What takes effect at the next boot: nouveau, the key for Secure Boot, cgroup v2."""

from __future__ import annotations

from bedplate.host.checks.kinds import known
from bedplate.host.plan.step import PlanHost, PlanStep, for_driver

_BLACKLIST = '"$root/etc/modprobe.d/blacklist-nouveau.conf"'
_KEY = '"$root/var/lib/dkms/mok.pub"'
_DELEGATE = '"$root/etc/systemd/system/user@.service.d/delegate.conf"'
_ARGUMENTS = "rd.driver.blacklist=nouveau modprobe.blacklist=nouveau"


def _nouveau_done(host: PlanHost) -> bool | None:
    modules = known(host.facts.modules, None)
    if modules is None:
        return None
    if "nouveau" in modules:
        return False
    # a host whose nvidia module is loaded has settled it
    return "nvidia" in modules or ("blacklist=nouveau" in known(host.facts.cmdline, "") or None)


def _secure(host: PlanHost) -> bool:
    # where it is not known, the script looks
    return for_driver(host) and known(host.facts.secure_boot, True)


def _mok_done(host: PlanHost) -> bool | None:
    # a loaded module is a module whose key is enrolled
    modules = known(host.facts.modules, None)
    return None if modules is None or "nvidia" not in modules else True


def _limits(host: PlanHost) -> bool:
    return host.wishes.rootless_limits


STEPS = (
    PlanStep(
        "nouveau",
        "nouveau is kept from loading, in every initramfs too",
        "nouveau holds the card, and the nvidia module cannot claim it. On RHEL 8 grubby is the place of boot arguments.",
        check=(
            f"grep -q -x 'blacklist nouveau' {_BLACKLIST}",
            "grubby --info=ALL | grep -q 'blacklist=nouveau'",
        ),
        do=(
            'mkdir -p "$root/etc/modprobe.d"',
            f"printf '%s\\n' 'blacklist nouveau' 'options nouveau modeset=0' >{_BLACKLIST}",
            f"grubby --update-kernel=ALL --args='{_ARGUMENTS}'",
            "dracut --force --regenerate-all",
        ),
        undo=(
            f"rm -f {_BLACKLIST}",
            f"grubby --update-kernel=ALL --remove-args='{_ARGUMENTS}'",
            "dracut --force --regenerate-all",
        ),
        wanted=for_driver,
        done=_nouveau_done,
        reboot_if="lsmod | grep -q '^nouveau '",
        mends=("HOST-NOUVEAU", "HOST-NOUVEAU-LOADED"),
    ),
    PlanStep(
        "mok",
        "the key that signs the module is enrolled for Secure Boot",
        "mokutil asks for a password of your choice. At the reboot someone must be at the console, choose Enroll MOK and "
        "type it; the screen waits ten seconds only.",
        check=(
            "if mokutil --sb-state 2>&1 | grep -q 'SecureBoot enabled'; then "
            f"mokutil --test-key {_KEY} 2>&1 | grep -q -E 'already enrolled|already in db'; fi",
        ),
        do=(
            f"test -f {_KEY} || dkms generate_mok",
            f"if mokutil --test-key {_KEY} 2>&1 | grep -q 'enrollment request'; then say 'the key waits for the reboot'; "
            f"else mokutil --import {_KEY}; fi",
        ),
        undo=(f"if mokutil --list-new | grep -q .; then mokutil --revoke-import; else mokutil --delete {_KEY}; fi",),
        wanted=_secure,
        done=_mok_done,
        reboot_if="true",
        mends=("HOST-SB-REJECTED", "HOST-SB-UNSIGNED-BUILD", "HOST-MOK-PENDING"),
    ),
    PlanStep(
        "cgroup2",
        "containers of ordinary users can have CPU and memory limits",
        "RHEL 8 boots cgroup v1, where podman ignores such limits. cpuset stays fragile on its systemd 239.",
        check=(
            f"test -f {_DELEGATE}",
            "grubby --info=ALL | grep -q 'systemd.unified_cgroup_hierarchy=1'",
        ),
        do=(
            'mkdir -p "$root/etc/systemd/system/user@.service.d" "$root/etc/systemd/system.conf.d"',
            f"printf '%s\\n' '[Service]' 'Delegate=memory pids cpu cpuset' >{_DELEGATE}",
            "printf '%s\\n' '[Manager]' 'DefaultCPUAccounting=yes' >\"$root/etc/systemd/system.conf.d/bedplate.conf\"",
            "grubby --update-kernel=ALL --args=systemd.unified_cgroup_hierarchy=1",
        ),
        undo=(
            f'rm -f {_DELEGATE} "$root/etc/systemd/system.conf.d/bedplate.conf"',
            "grubby --update-kernel=ALL --remove-args=systemd.unified_cgroup_hierarchy=1",
        ),
        wanted=_limits,
        done=lambda host: None if known(host.facts.cgroup, None) is None else host.facts.cgroup == 2,
        reboot_if='test "$(stat -fc %T /sys/fs/cgroup)" != cgroup2fs',
        mends=("HOST-CGROUP-V1", "HOST-CPUSET"),
    ),
)

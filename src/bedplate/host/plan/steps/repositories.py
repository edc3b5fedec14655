"""Where packages come from: CodeReady Builder, EPEL, NVIDIA's two repositories; or one folder."""

from __future__ import annotations

from bedplate.host.plan.step import PlanHost, PlanStep

CRB, EPEL, NVIDIA, TOOLKIT = "crb", "epel", "nvidia", "toolkit"

_NVIDIA_REPO = "https://developer.download.nvidia.com/compute/cuda/repos/rhel8/$repo_machine/cuda-rhel8.repo"
_TOOLKIT_REPO = "https://nvidia.github.io/libnvidia-container/stable/rpm/nvidia-container-toolkit.repo"
_EPEL_RPM = "https://dl.fedoraproject.org/pub/epel/epel-release-latest-8.noarch.rpm"


def _online(host: PlanHost) -> bool:
    return not host.wishes.offline


def _offline(host: PlanHost) -> bool:
    return bool(host.wishes.offline)


STEPS = (
    PlanStep(
        "offline_repo",
        "packages come from the folder",
        "One local repository; module_hotfixes keeps dnf from hiding packages that belong to a module stream.",
        check=('grep -q -x "baseurl=file://$folder/rpms" "$root/etc/yum.repos.d/bedplate-offline.repo"',),
        do=(
            'test -f "$folder/rpms/repodata/repomd.xml"',
            'for key in "$folder"/keys/*; do rpm --import "$key" || return 1; done',
            'mkdir -p "$root/etc/yum.repos.d"',
            "printf '%s\\n' '[bedplate-offline]' 'name=Bedplate offline' \"baseurl=file://$folder/rpms\" 'enabled=0' "
            "'gpgcheck=1' 'module_hotfixes=1' >\"$root/etc/yum.repos.d/bedplate-offline.repo\"",
        ),
        undo=('rm -f "$root/etc/yum.repos.d/bedplate-offline.repo"',),
        wanted=_offline,
        repository="offline",
    ),
    PlanStep(
        "config_manager",
        "dnf can add repositories",
        "dnf config-manager is a plugin.",
        check=("rpm -q --quiet dnf-plugins-core",),
        do=("dnf_ install dnf-plugins-core",),
        undo=("say 'dnf-plugins-core stays: other tools use it'",),
        wanted=_online,
        repository="plugins",
    ),
    PlanStep(
        "crb",
        "CodeReady Builder is enabled",
        "EPEL's packages need it. Its name depends on where the system's packages come from.",
        check=("dnf -q repolist --enabled | grep -q -i -E '^(codeready-builder|powertools|crb|ol8_codeready)'",),
        do=(
            "name=$(dnf -q repolist --all | awk 'tolower($1) ~ /^(codeready-builder-for-rhel-8-.*rpms|powertools|"
            "ol8_codeready_builder)$/ && $1 !~ /(debug|source)/ {print $1; exit}')",
            'if [ -n "$name" ]; then dnf config-manager --set-enabled "$name"; '
            'else subscription-manager repos --enable="codeready-builder-for-rhel-8-$machine-rpms"; fi',
        ),
        undo=("say 'dnf config-manager --set-disabled NAME, the name as dnf repolist shows it'",),
        wanted=_online,
        repository=CRB,
        mends=("HOST-DNF-DKMS",),
    ),
    PlanStep(
        "epel",
        "EPEL 8 is enabled",
        "dkms is not in RHEL; it is in EPEL.",
        check=("rpm -q --quiet epel-release",),
        do=(
            f"if dnf -q info epel-release >/dev/null 2>&1; then dnf_ install epel-release; else dnf_ install {_EPEL_RPM}; fi",
        ),
        undo=("dnf -y remove epel-release",),
        wanted=_online,
        repository=EPEL,
        mends=("HOST-DNF-DKMS",),
    ),
    PlanStep(
        "nvidia_repo",
        "NVIDIA's driver repository is there",
        "Drivers from RPM: a kernel update then brings its module along, which a runfile does not.",
        check=('test -f "$root/etc/yum.repos.d/cuda-rhel8.repo"',),
        do=(f'dnf config-manager --add-repo "{_NVIDIA_REPO}"',),
        undo=('rm -f "$root/etc/yum.repos.d/cuda-rhel8.repo"',),
        wanted=_online,
        repository=NVIDIA,
    ),
    PlanStep(
        "toolkit_repo",
        "NVIDIA's container repository is there",
        "The container toolkit has a repository of its own.",
        check=('test -f "$root/etc/yum.repos.d/nvidia-container-toolkit.repo"',),
        do=(f"dnf config-manager --add-repo {_TOOLKIT_REPO}",),
        undo=('rm -f "$root/etc/yum.repos.d/nvidia-container-toolkit.repo"',),
        wanted=_online,
        repository=TOOLKIT,
    ),
)

"""Repositories: registration, keys, mirrors, space."""

from __future__ import annotations

from bedplate.core.check import Safety
from bedplate.host.checks.kinds import GPU, do, hand, symptom

CHECKS = (
    symptom(
        "HOST-DNF-UNSIGNED",
        ("an RPM is not signed", "RPM 未签名"),
        r"Package (?P<package>\S+) is not signed[^\n]*|(?:GPG check FAILED)[^\n]*",
        (
            "the repository served an RPM without a GPG signature ({package} is not signed): GPG check FAILED",
            "仓库提供的 RPM 没有 GPG 签名（{package} is not signed）：GPG check FAILED",
        ),
        (
            do(
                "rpm -K /var/cache/dnf/*/packages/*.rpm | grep -v signatures",
                "a signed package says 'digests signatures OK'",
                "已签名的包显示 'digests signatures OK'",
            ),
            do(
                "dnf clean packages",
                "forget the bad copy, and try again after the vendor re-signed it; report it",
                "清除坏副本，待厂商重新签名后再试；并上报",
            ),
            hand("do not switch gpgcheck off for good", "不要长期关闭 gpgcheck"),
        ),
        hints=("not signed", "gpg check"),
        group="package",
        blocks=GPU,
        follows=("HOST-DNF-KEY",),
    ),
    symptom(
        "HOST-DNF-KEY",
        ("the repository's signing key is missing or changed", "仓库签名密钥缺失或已更换"),
        r"(?:Public key for (?P<package>\S+) is not installed|GPG keys listed for the \"?(?P<repo>[^\n\"]+?)\"? repository are already installed but they are not correct|Failing package is: (?P<package2>\S+)|signature could not be verified|NOKEY|repomd\.xml GPG signature verification error)[^\n]*",
        (
            "the package is signed by a key that is not imported: NVIDIA changed its repository key (7fa2af80 to D42D0685) in 2022 ({package})",
            "软件包由未导入的密钥签名：NVIDIA 在 2022 年更换了仓库密钥（7fa2af80 → D42D0685）({package})",
        ),
        (
            do(
                "rpm --import https://developer.download.nvidia.com/compute/cuda/repos/rhel8/x86_64/D42D0685.pub",
                "import the current GPG key",
                "导入当前 GPG 密钥",
            ),
            do("rpm -e gpg-pubkey-7fa2af80-576db785", "remove the old one", "移除旧密钥"),
            do("dnf clean expire-cache", "read the repository again", "重新读取仓库"),
        ),
        hints=(
            "public key for",
            "gpg keys listed",
            "nokey",
            "gpg signature",
            "failing package",
            "could not be verified",
        ),
        group="package",
        blocks=GPU,
    ),
    symptom(
        "HOST-DNF-REGISTER",
        ("the system is not registered", "系统未注册"),
        r"This system is not registered[^\n]*|This system has no repositories available through subscriptions[^\n]*|There are no enabled repos[^\n]*|There are no enabled repositories[^\n]*",
        (
            "no package repository: the RHEL system is not registered with a subscription",
            "没有可用仓库：RHEL 系统未注册订阅",
        ),
        (
            do("subscription-manager register", "a free developer subscription is enough", "免费的开发者订阅即可"),
            do(
                "subscription-manager repos --enable=rhel-8-for-x86_64-baseos-rpms --enable=rhel-8-for-x86_64-appstream-rpms",
                "base repositories",
                "基础仓库",
            ),
        ),
        hints=("not registered", "no repositories", "no enabled repo"),
        group="package",
        blocks=GPU,
    ),
    symptom(
        "HOST-DNF-REPO",
        ("a repository cannot be read", "仓库无法读取"),
        r"Failed to download metadata for repo '(?P<repo>[^']+)'[^\n]*|Cannot prepare internal mirrorlist[^\n]*|Cannot download repomd\.xml[^\n]*|Errors during downloading metadata for repository '(?P<repo2>[^']+)'|Status code: (?:404|403) for \S+|下载元数据失败[^\n]*|为仓库 '[^']+' 下载元数据失败",
        (
            "dnf cannot read repository {repo}: wrong address, no way out (proxy), an end-of-life mirror (CentOS 8), or a clock or certificate problem",
            "dnf 无法读取仓库 {repo}：地址错误、无外网（代理）、已停止维护的镜像 (CentOS 8)、或时钟/证书问题",
        ),
        (
            do(
                "curl -I https://developer.download.nvidia.com/compute/cuda/repos/rhel8/x86_64/repodata/repomd.xml",
                "200 means the way is free; the directory is x86_64 or sbsa",
                "返回 200 表示可达；目录为 x86_64 或 sbsa",
            ),
            hand(
                "behind a proxy: proxy=http://HOST:PORT in /etc/dnf/dnf.conf; CentOS 8: change to vault.centos.org or migrate to a live rebuild",
                "在代理后：/etc/dnf/dnf.conf 中设 proxy=http://HOST:PORT；CentOS 8：改用 vault.centos.org 或迁移",
            ),
            do("dnf clean all && dnf makecache", "read again", "重新读取"),
        ),
        hints=("metadata", "repomd", "mirrorlist", "status code", "元数据"),
        group="package",
        blocks=GPU,
    ),
    symptom(
        "HOST-DNF-BOOT-FULL",
        ("no space for packages", "没有空间安装软件包"),
        r"At least (?P<need>\S+) more space needed on the (?P<where>\S+) filesystem[^\n]*",
        (
            "{where} is full: {need} more needed; a kernel or driver installed now would be half there",
            "{where} 已满：还需 {need}；此时安装内核或驱动会不完整",
        ),
        (
            do(
                "dnf remove --oldinstallonly --setopt installonly_limit=2 kernel",
                "old kernels fill /boot",
                "旧内核占满 /boot",
                Safety.DISRUPTIVE,
            ),
            do("dnf clean packages", "frees /var", "释放 /var"),
        ),
        hints=("more space needed",),
        group="package",
        blocks=GPU,
    ),
)

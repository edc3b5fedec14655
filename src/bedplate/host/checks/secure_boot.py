"""Secure Boot: modules that no enrolled key signed."""

from __future__ import annotations

from bedplate.core.check import Status
from bedplate.host.checks.kinds import GPU, NOTHING, do, hand, reboot, symptom

_ENROL = (
    do(
        "modinfo -F signer nvidia; mokutil --list-enrolled | grep -i -A2 subject",
        "the signer of the module must be among the enrolled keys",
        "模块签名者 (signer) 必须在已注册密钥中",
    ),
    do(
        "mokutil --import /var/lib/dkms/mok.pub",
        "DKMS modules: enrol the key that DKMS 3.0.4 and later signs with; asks for a one-time password",
        "DKMS 模块：注册 DKMS（3.0.4 及以上）签名所用的密钥；会要求一次性口令",
    ),
    do(
        "mokutil --import NVIDIA-public_key.der",
        "precompiled modules: import NVIDIA's own certificate instead",
        "预编译模块：改为导入 NVIDIA 的证书",
    ),
    reboot(
        "choose Enroll MOK on the console during the reboot; someone must be at the (virtual) console",
        "重启时在控制台选择 Enroll MOK；需有人在（虚拟）控制台操作",
    ),
)


CHECKS = (
    symptom(
        "HOST-SB-REJECTED",
        ("Secure Boot rejects the nvidia module", "Secure Boot 拒绝 nvidia 模块"),
        r"Loading of (?:unsigned )?module (?:with unavailable key )?is rejected.*|Required key not available.*|Key was rejected by service.*"
        r"|Lockdown: \S+: unsigned module loading is restricted.*|could not insert .?nvidia.*(?:Required key|Key was rejected|Operation not permitted).*|not signed by a key that is trusted[^\n]*",
        (
            "Secure Boot is enabled and the signer of the nvidia module is not an enrolled key (MOK), so the kernel rejects it",
            "Secure Boot 已开启，而 nvidia 模块的签名者 (signer) 不在已注册密钥 (MOK) 中，内核拒绝加载",
        ),
        _ENROL,
        hints=("rejected", "required key", "lockdown", "not signed by", "could not insert"),
        blocks=GPU,
        unless=r"^SecureBoot disabled",
    ),
    symptom(
        "HOST-MOK-PENDING",
        ("a key waits for enrolment", "密钥等待注册"),
        r"already in the enrollment request|^\[key 1\]",
        (
            "a machine owner key (MOK) was imported but not yet enrolled: it waits for the MokManager screen at the next boot",
            "机器所有者密钥 (MOK) 已导入但未注册：等待下次启动的 MokManager 界面",
        ),
        (
            reboot(
                "choose Enroll MOK on the console and type the password of mokutil --import",
                "在控制台选择 Enroll MOK，输入 mokutil --import 时的口令",
            ),
        ),
        hints=("enrollment request", "[key 1]"),
        group="any",
        only=frozenset({"mok", "log", "app-error"}),
        blocks=GPU,
    ),
    symptom(
        "HOST-SB-UNSIGNED-BUILD",
        ("DKMS did not sign", "DKMS 未签名"),
        r"sign-file not found, modules won't be signed|Binary \S*sign-file not found|modules won't be signed",
        (
            "DKMS built the module without a signature: sign-file of this kernel's development package is missing; under Secure Boot it will not load",
            "DKMS 构建的模块未签名：缺少该内核开发包中的 sign-file；Secure Boot 下无法加载",
        ),
        (
            do("dnf install kernel-devel-{kernel}", "brings scripts/sign-file", "提供 scripts/sign-file"),
            do("dkms install nvidia/{driver} -k {kernel} --force", "build and sign again", "重新构建并签名"),
        ),
        hints=("sign-file", "won't be signed"),
        group="build",
        status=Status.WARN,
        blocks=NOTHING,
        follows=("HOST-HEADERS", "HOST-DEVEL"),
    ),
    symptom(
        "HOST-MOKUTIL",
        ("mokutil failed", "mokutil 失败"),
        r"(?:Failed to (?:import|enroll|request)[^\n]*|EFI variables are not supported on this system|This system doesn't support Secure Boot)",
        (
            "mokutil cannot change keys here: {kernel} was booted by legacy BIOS, or efivarfs is not mounted; without Secure Boot no key is needed",
            "此处 mokutil 无法更改密钥：系统以传统 BIOS 启动或未挂载 efivarfs；没有 Secure Boot 就不需要密钥",
        ),
        (
            do("test -d /sys/firmware/efi && mount | grep efivarfs", "UEFI boot has both", "UEFI 启动两者皆有"),
            hand(
                "nothing to enrol without UEFI Secure Boot: look for another cause",
                "没有 UEFI Secure Boot 就无需注册：请查其他原因",
            ),
        ),
        hints=("failed to", "efi variables", "doesn't support secure boot"),
        group="any",
        only=frozenset({"log", "app-error"}),
        status=Status.INFO,
        blocks=NOTHING,
    ),
)

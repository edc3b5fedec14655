"""Shared memory, GPU memory, host memory, disks, limits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bedplate.core.check import Finding, Safety, Status
from bedplate.host.checks.kinds import NOTHING, TRAIN, do, edit, hand, passed, state, symptom
from bedplate.host.language import Both

_SHM = (
    do(
        "podman run --shm-size=8g --device nvidia.com/gpu=all IMAGE python train.py",
        "raise --shm-size (container default 64 MB); --ipc=host shares the host's instead, never both",
        "提高 --shm-size（容器默认 64 MB）；或用 --ipc=host，二者不可同时用",
    ),
    do(
        "mount -o remount,size=16G /dev/shm",
        "on bare metal; make it last in /etc/fstab",
        "物理机上；写入 /etc/fstab 以持久化",
        Safety.DISRUPTIVE,
    ),
    hand("fewer DataLoader workers is the fallback", "备选：减少 DataLoader worker 数"),
)
MIB = 1 << 20


def _shm(facts: Mapping[str, Any]) -> Finding:
    code = "HOST-SHM-SMALL"
    size = facts["shm_bytes"]
    if size >= 1024 * MIB:
        return passed(code, f"/dev/shm has {size // MIB} MiB", f"/dev/shm 为 {size // MIB} MiB")
    summary = Both(
        f"/dev/shm (shared memory) has {size // MIB} MiB only: DataLoader workers, NCCL and Ray need more",
        f"/dev/shm（共享内存）仅 {size // MIB} MiB：DataLoader、NCCL、Ray 需要更多",
    )
    return Finding(code, Status.WARN, summary, (("shm", f"{size} bytes"),), NOTHING, _SHM)


def _disk(facts: Mapping[str, Any]) -> Finding:
    code = "HOST-DISK"
    rows = [row for row in facts["disks"] if row[1] > 0]
    full = [
        row
        for row in rows
        if row[2] < min(0.05 * row[1], 10 * 1024 * MIB) and (row[2] < 2048 * MIB or row[0] != "/boot")
    ]
    if not full:
        return passed(code, "every disk has space", "磁盘空间充足")
    mount, size, free = full[0]
    summary = Both(
        f"{mount} is almost full: {free // MIB} of {size // MIB} MiB free; module builds, images and checkpoints fail there",
        f"{mount} 几乎已满：剩余 {free // MIB}/{size // MIB} MiB；构建、镜像与检查点会失败",
    )
    return Finding(
        code,
        Status.WARN,
        summary,
        (("df", f"{mount} {free // MIB} MiB free"),),
        NOTHING,
        (
            do(f"du -xh --max-depth=2 {mount} | sort -h | tail", "what fills it", "查看占用"),
            do("podman system prune", "unused images", "清理无用镜像", Safety.DISRUPTIVE),
        ),
    )


def _oom(facts: Mapping[str, Any]) -> Finding:
    import re

    code = "HOST-CUDA-OOM"
    for name, text in facts["texts"].texts.items():
        found = re.search(
            r"CUDA out of memory[^\n]*(?:\n(?!\s*File)[^\n]*(?:GiB|MiB)[^\n]*)*|CUDA_ERROR_OUT_OF_MEMORY[^\n]*|RESOURCE_EXHAUSTED: Out of memory[^\n]*|cudaMalloc failed: out of memory",
            text,
        )
        if not found:
            continue
        line = found[0]
        sizes = {key: _gib(re.search(pattern, line)) for key, pattern in _SIZES.items()}
        total, free, own = sizes["total"], sizes["free"], sizes["reserved"] or sizes["own"] or sizes["allocated"]
        other = total - free - own if total and own else 0.0
        said = (
            f"{total:.2f} GiB total minus {own:.2f} GiB reserved by this process and {free:.2f} GiB free leaves {other:.2f} GiB"
            if total
            else ""
        )
        if (total and other > 0.15 * total) or ("Process" in line and "has" in line and total and other > 0.1 * total):
            summary = Both(
                f"CUDA out of memory because some other process holds the GPU: {said} held by something else",
                f"CUDA out of memory：另一个进程 (other process) 占用显存：{said}",
            )
            steps = (
                do(
                    "nvidia-smi --query-compute-apps=pid,process_name,used_memory --format=csv; fuser -v /dev/nvidia*",
                    "find the other process, its owner and command",
                    "找到其他进程、所有者与命令",
                ),
                do(
                    "ps -o pid,user,etime,args -p PID && kill -TERM PID",
                    "only your own left-over; TERM before KILL",
                    "仅限自己的残留进程；先 TERM 后 KILL",
                    Safety.DISRUPTIVE,
                ),
                do(
                    "export CUDA_VISIBLE_DEVICES=1",
                    "or another GPU; only then reduce the batch size",
                    "或换一块 GPU；最后才减小 batch",
                ),
            )
        else:
            summary = Both(
                f"CUDA out of memory: this process itself needs more than the GPU has ({said or line[:120]})",
                f"CUDA out of memory：本进程所需超过显存 ({said or line[:120]})",
            )
            steps = (
                hand(
                    "reduce batch size or number of environments, or keep the rollout on the CPU",
                    "减小 batch 或环境数，或把数据放在 CPU",
                ),
                do(
                    "export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True",
                    "when reserved is much larger than allocated: fragmentation",
                    "当 reserved 远大于 allocated：碎片化",
                ),
                do("nvidia-smi", "look for another process all the same", "同时检查有无其他进程 (other process)"),
            )
        return Finding(code, Status.FAIL, summary, ((name, line[:300]),), TRAIN, steps)
    return passed(code, "no program ran out of GPU memory", "没有程序显存不足")


_SIZES = {
    "total": r"(?:total capacity[^\d]{0,12}|total capacity of )([\d.]+) (GiB|MiB)|([\d.]+) (GiB|MiB) total capacity",
    "free": r"([\d.]+) (GiB|MiB) (?:is )?free",
    "reserved": r"([\d.]+) (GiB|MiB) reserved in total",
    "own": r"this process has ([\d.]+) (GiB|MiB) memory in use",
    "allocated": r"([\d.]+) (GiB|MiB) (?:is )?(?:already )?allocated",
}


def _gib(found: Any) -> float:
    if not found:
        return 0.0
    values = [group for group in found.groups() if group]
    return float(values[0]) / (1024 if values[1] == "MiB" else 1)


CHECKS = (
    symptom(
        "HOST-SHM",
        ("shared memory is too small", "共享内存过小"),
        r"(?:insufficient shared memory|out of shared memory|DataLoader worker[^\n]*(?:Bus error|is killed by signal)|unable to (?:open|write|mmap|allocate) shared memory|unable to (?:open|mmap|write)[^\n]*</?torch_\d+|No space left on device[^\n]*(?:/dev/shm|shm)|/dev/shm[^\n]*(?:No space|only \d|has only|fall ?back|not enough|too small|Error while creating shared memory)|Error while creating shared memory segment|object store is using /tmp instead of /dev/shm|Unexpected bus error|NCCL WARN[^\n]*posix_fallocate|shm\.h:\d+ NCCL WARN|Cannot allocate memory[^\n]*shm|shm_open[^\n]*failed)[^\n]*",
        (
            "a process ran out of POSIX shared memory (/dev/shm): DataLoader workers give a bus error, NCCL cannot create its segment, Ray falls back to /tmp",
            "进程耗尽 POSIX 共享内存 (/dev/shm)：DataLoader 报 bus error，NCCL 无法创建段，Ray 退回 /tmp",
        ),
        _SHM,
        hints=("shm", "shared memory", "bus error", "torch_", "dataloader worker"),
        group="app",
    ),
    state("HOST-SHM-SMALL", ("size of /dev/shm", "/dev/shm 大小"), ("shm_bytes",), _shm, follows=("HOST-SHM",)),
    state("HOST-CUDA-OOM", ("GPU memory", "显存"), ("texts",), _oom),
    symptom(
        "HOST-OOM-KILLER",
        ("the kernel killed a process for memory", "内核因内存不足杀死进程"),
        r"(?:Out of memory: Kill(?:ed)? process|oom-kill:|Memory cgroup out of memory|ray\.exceptions\.OutOfMemoryError|OutOfMemoryError: Task was killed|Killed process) ?(?P<pid>\d*)[^\n]*",
        (
            "host memory ran out and the kernel (or Ray) killed a process ({pid})",
            "主机内存耗尽，内核（或 Ray）杀死了进程 ({pid})",
        ),
        (
            hand(
                "fewer environments or workers, a smaller replay buffer, or more memory; a container's --memory counts too",
                "减少环境或 worker、减小回放缓冲，或增加内存；容器的 --memory 也算",
            ),
            do("journalctl -k -b | grep -i -B5 'killed process'", "which process, how large", "哪个进程、多大"),
        ),
        hints=("out of memory", "oom-kill", "killed process", "outofmemoryerror"),
        group="kernel",
    ),
    symptom(
        "HOST-DISK-FULL",
        ("disk is full", "磁盘已满"),
        r"(?:No space left on device|Errno 28|Disk quota exceeded|设备上没有空间)[^\n]*",
        (
            "a disk or quota is full: {kernel} builds, images, pip and checkpoints stop there",
            "磁盘或配额已满：构建、镜像、pip 与检查点会停止",
        ),
        (
            do("df -h / /boot /var /tmp /dev/shm; df -i", "which one; inodes too", "查看哪个已满；也看 inode"),
            do("podman system prune", "unused images", "清理无用镜像", Safety.DISRUPTIVE),
            do("export TMPDIR=/var/tmp", "pip unpacks large wheels in /tmp", "pip 在 /tmp 解包大 wheel"),
        ),
        hints=("no space", "errno 28", "quota exceeded", "没有空间"),
        group="build",
        follows=("HOST-SHM",),
    ),
    state("HOST-DISK", ("free disk space", "磁盘空间"), ("disks",), _disk, follows=("HOST-DISK-FULL",)),
    symptom(
        "HOST-ULIMIT",
        ("a limit of the user is too low", "用户限制过低"),
        r"(?:Too many open files|received \d+ items of ancdata|Resource temporarily unavailable|can't start new thread|Cannot allocate memory[^\n]*pin|ulimit[^\n]*too (?:low|small))[^\n]*",
        (
            "a limit of the user was reached: open files (nofile), processes (nproc) or locked memory (memlock)",
            "达到用户限制：打开文件 (nofile)、进程数 (nproc) 或锁定内存 (memlock)",
        ),
        (
            edit(
                "/etc/security/limits.d/60-training.conf",
                "* soft nofile 65536\n* hard nofile 65536\n* soft nproc 32768",
                "log in again after it",
                "需重新登录",
            ),
            do("podman run --ulimit nofile=65536:65536 IMAGE true", "containers have their own", "容器有自己的限制"),
            do("export OMP_NUM_THREADS=1", "thread pools of every worker count", "每个 worker 的线程池都计入"),
        ),
        hints=("open files", "ancdata", "temporarily unavailable", "new thread", "cannot allocate", "ulimit"),
        group="app",
    ),
    symptom(
        "HOST-NCCL",
        ("NCCL error", "NCCL 错误"),
        r"(?:ncclSystemError|ncclInternalError|ncclUnhandledCudaError|NCCL error in|Watchdog caught collective operation timeout|ncclInvalidUsage|ncclRemoteError)[^\n]*",
        (
            "NCCL failed between GPUs or hosts: its own log names the cause (shared memory, interface, driver, peer access)",
            "NCCL 在 GPU 或主机间失败：其日志会说明原因（共享内存、网卡、驱动、P2P）",
        ),
        (
            do(
                "NCCL_DEBUG=INFO python train.py 2>&1 | grep -i nccl",
                "the first WARN line decides",
                "第一条 WARN 行为准",
            ),
            do("export NCCL_SOCKET_IFNAME=eth0", "the interface that reaches the other hosts", "可到达其他主机的网卡"),
            do("export NCCL_P2P_DISABLE=1", "a test for peer access and IOMMU", "测试 P2P 与 IOMMU"),
        ),
        hints=("nccl", "watchdog caught"),
        group="app",
        follows=("HOST-SHM", "HOST-SHM-SMALL", "HOST-NVLINK", "HOST-FABRIC", "HOST-GPU-LOST"),
    ),
)

"""Single lines as programs print them: the finding that comes first."""

from __future__ import annotations

import pytest

from bedplate.core.check import Status
from bedplate.host.doctor import diagnose
from bedplate.host.snapshot import Snapshot

# codes, or beginnings of codes, any of which is right -> what was printed
LINES = [
    ("HOST-SHM", "include/shm.h:28 NCCL WARN Call to posix_fallocate failed : No space left on device"),
    (
        "HOST-SHM",
        "misc/shmutils.cc:88 NCCL WARN Error: failed to extend /dev/shm/nccl-WU88OE to 9637892 bytes, error: No space left on device (28)",
    ),
    (
        "HOST-HOOK-LEFT",
        "Error: OCI runtime error: error executing hook `/usr/bin/nvidia-container-runtime-hook` (exit code: 1)",
    ),
    ("HOST-RUNTIME", 'Error: default OCI runtime "nvidia" not found: invalid argument'),
    (
        "HOST-RUNTIME",
        '/usr/bin/nvidia-container-runtime: find runc path: exec: "runc": executable file not found in $PATH',
    ),
    (
        "HOST-SMI-ABSENT",
        "Error: crun: executable file `nvidia-smi` not found in $PATH: No such file or directory: OCI runtime attempted to invoke a command that was not found",
    ),
    ("HOST-DISPLAY|HOST-EGL", "mujoco.FatalError: gladLoadGL error"),
    ("HOST-DISPLAY", "mujoco.FatalError: GLEW initialization error: Missing GL version"),
    ("HOST-MESA", "libGL error: unable to load driver: swrast_dri.so\nlibGL error: failed to load driver: swrast"),
    ("HOST-DISPLAY", 'pyglet.canvas.xlib.NoSuchDisplayException: Cannot connect to "None"'),
    ("HOST-SB-REJECTED", "modprobe: ERROR: could not insert 'nvidia': Key was rejected by service"),
    (
        "HOST-SB-REJECTED",
        "Loading of unsigned module is rejected",
    ),
    ("HOST-SB-REJECTED", "Lockdown: modprobe: unsigned module loading is restricted; see man kernel_lockdown.7"),
    (
        "HOST-SB-REJECTED",
        "ERROR: The kernel module failed to load. Secure boot is enabled on this system, so this is likely because it was not signed by a key that is trusted by the kernel.",
    ),
    (
        "HOST-NOUVEAU",
        "ERROR: The Nouveau kernel driver is currently in use by your system.  This driver is incompatible with the NVIDIA driver, and must be disabled before proceeding.",
    ),
    (
        "HOST-COMM",
        "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that the latest NVIDIA driver is installed and running.",
    ),
    (
        "HOST-COMPILER",
        "The compiler used to compile the kernel (gcc 8.5) does not exactly match the current compiler (gcc 11.2).",
    ),
    (
        "HOST-HEADERS",
        "ERROR: Unable to find the kernel source tree for the currently running kernel. Please make sure you have installed the kernel source files for your kernel",
    ),
    ("HOST-HEADERS", "make[1]: *** /lib/modules/4.18.0-348.el8.x86_64/build: No such file or directory.  Stop."),
    (
        "HOST-COMPILE",
        "/var/lib/dkms/nvidia/470.57.02/build/nvidia/nv-mmap.c:450:5: error: assignment of read-only member 'vm_flags'",
    ),
    ("HOST-COMPILE", "ERROR: modpost: GPL-incompatible module nvidia.ko uses GPL-only symbol 'rcu_read_unlock_strict'"),
    (
        "HOST-LEGACY",
        "NVRM: The NVIDIA Quadro K2200 GPU installed in this system is\nNVRM:  supported through the NVIDIA 580.xx Legacy drivers. Please\nNVRM:  visit http://www.nvidia.com",
    ),
    (
        "HOST-INIT-FAILED",
        "NVRM: GPU 0000:00:05.0: RmInitAdapter failed! (0x26:0xffff:1290)\nNVRM: GPU 0000:00:05.0: rm_init_adapter failed, device minor number 0",
    ),
    (
        "HOST-GSP",
        "NVRM: GPU 0000:01:00.0: RmInitAdapter failed! (0x62:0xffff:2477)\nNVRM: _kgspProcessRpcEvent: Attempted to process RPC event from GPU0: 0x1001",
    ),
    (
        "HOST-BAR",
        "pci 0000:03:00.0: BAR 1: no space for [mem size 0x1000000000 64bit pref]\npci 0000:03:00.0: BAR 1: failed to assign [mem size 0x1000000000 64bit pref]",
    ),
    (
        "HOST-GPU-LOST",
        "Unable to determine the device handle for GPU0000:81:00.0: GPU is lost.  Reboot the system to recover this GPU",
    ),
    ("HOST-GPU-LOST", "Unable to determine the device handle for gpu 0000:02:00.0: GPU is lost."),
    ("HOST-ECC", "RuntimeError: CUDA error: uncorrectable ECC error encountered"),
    ("HOST-ECC", "NVRM: Xid (PCI:0000:c1:00): 95, pid=3352, name=python, Uncontained: SRAM. RST: Yes, D-RST: No"),
    ("HOST-ECC", "NVRM: Xid (PCI:0000:89:00): 64, Row remapper: Dynamic page retirement recording failed"),
    (
        "HOST-LIBCUDA",
        "Could not load library libcudnn_cnn_infer.so.8. Error: libcuda.so: cannot open shared object file: No such file or directory",
    ),
    (
        "HOST-CUDA-LIB",
        "[E:onnxruntime:Default, provider_bridge_ort.cc:1992 TryGetProviderInfo_CUDA] Failed to load library libonnxruntime_providers_cuda.so with error: libcublasLt.so.12: cannot open shared object file: No such file or directory",
    ),
    ("HOST-CUDA-LIB", "OSError: libcublas.so.11: cannot open shared object file"),
    (
        "HOST-SHADOWED",
        "RuntimeError: cuDNN version incompatibility: PyTorch was compiled against (9, 1, 0) but found runtime version (8, 9, 2).",
    ),
    ("HOST-SHADOWED", "ImportError: /x/torch/lib/libtorch_cuda.so: undefined symbol: ncclCommRegister"),
    ("HOST-GLIBC", "/lib64/libstdc++.so.6: version `GLIBCXX_3.4.29' not found (required by /x.so)"),
    (
        "HOST-PYTHON-OLD",
        "ERROR: Could not find a version that satisfies the requirement torch (from versions: none)\nERROR: No matching distribution found for torch",
    ),
    (
        "HOST-PIP-OTHER",
        "ERROR: Could not find a version that satisfies the requirement torch>=2.0 (from versions: 1.7.1, 1.8.0, 1.9.1, 1.10.0, 1.10.1, 1.10.2)\nERROR: No matching distribution found for torch>=2.0",
    ),
    (
        "HOST-PY",
        "ERROR: Ignored the following versions that require a different python version: 1.2.0 Requires-Python >=3.10\nERROR: No matching distribution found for gymnasium==1.2.0",
    ),
    (
        "HOST-CDI|HOST-CUDA-UNKNOWN",
        'Error: setting up CDI devices: failed to inject devices: failed to stat CDI host device "/dev/nvidia-uvm": no such file or directory',
    ),
    (
        "HOST-SELINUX",
        'type=AVC msg=audit(1693): avc:  denied  { map } for  pid=1 comm="nvidia-smi" path="/dev/nvidiactl" dev="devtmpfs" scontext=system_u:system_r:container_t:s0:c1,c2 tcontext=system_u:object_r:xserver_misc_device_t:s0 tclass=chr_file permissive=0',
    ),
    ("HOST-NODE-PERMISSION", "Failed to initialize NVML: Insufficient Permissions"),
    (
        "HOST-SUBUID",
        'Error: writing blob: adding layer with blob "sha256:x": potentially insufficient UIDs or GIDs available in user namespace (requested 0:42 for /etc/shadow): Check /etc/subuid and /etc/subgid: lchown /etc/shadow: invalid argument',
    ),
    (
        "HOST-DEVICES-HOOK",
        "nvidia-container-cli: container error: failed to get device cgroup mount path: no cgroup filesystem mounted for the devices subsystem in mountinfo file: unknown",
    ),
    (
        "HOST-DEVICES-HOOK",
        "nvidia-container-cli: mount error: failed to add device rules: unable to find any existing device filters attached to the cgroup: bpf_prog_query(BPF_CGROUP_DEVICE) failed: operation not permitted: unknown.",
    ),
    (
        "HOST-HOOK-DRIVER",
        "nvidia-container-cli: initialization error: load library failed: libnvidia-ml.so.1: cannot open shared object file: no such file or directory: unknown",
    ),
    (
        "HOST-HOOK-DRIVER",
        "Auto-detected mode as 'legacy' nvidia-container-cli: initialization error: nvml error: driver not loaded: unknown",
    ),
    (
        "HOST-NVML-MISMATCH",
        "nvidia-container-cli: initialization error: nvml error: driver/library version mismatch: unknown",
    ),
    (
        "HOST-DNF-KEY",
        'warning: Signature not supported. Hash algorithm SHA1 not available.\nThe GPG keys listed for the "cuda-rhel8-x86_64" repository are already installed but they are not correct for this package.',
    ),
    (
        "HOST-DNF-MODULAR",
        "Error: Problem: package cuda-drivers-580 requires nvidia-driver >= 3:580, but none of the providers can be installed\n  - package nvidia-driver-3:580.65.06-1.el8.x86_64 is filtered out by modular filtering",
    ),
    (
        "HOST-DNF",
        "Error: Problem: conflicting requests\n - nothing provides kernel-uname-r = 4.18.0-553.el8_10.x86_64 needed by kmod-nvidia",
    ),
    ("HOST-DNF-NO-KMOD", "package kernel-core-4.18.0-305.19.1.el8_4.x86_64 is filtered out by exclude filtering"),
    ("HOST-DNF", "Error: Unable to find a match: nvidia-driver-latest-dkms"),
    (
        "HOST-FABRIC",
        "Sep 18 nv-fabricmanager: failed to initialize NVSwitch: fatal error; nvidia-fabricmanager.service: Failed with result 'exit-code'.",
    ),
    ("HOST-MIG", "RuntimeError: No CUDA GPUs are available\nMIG M.: Enabled  No MIG devices found"),
    (
        "HOST-CUDA-OOM",
        "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 256.00 MiB (GPU 0; 39.39 GiB total capacity; 1.10 GiB already allocated; 200.00 MiB free; 1.20 GiB reserved in total by PyTorch)",
    ),
    (
        "HOST-CUDA-OOM",
        "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 12345 bytes.",
    ),
    ("HOST-ULIMIT", "RuntimeError: can't start new thread"),
    ("HOST-OOM-KILLER", "ray.exceptions.OutOfMemoryError: Task was killed due to the node running low on memory."),
    (
        "HOST-SHM",
        "RuntimeError: unable to open shared memory object </torch_123_456> in read-write mode: No space left on device (28)",
    ),
    (
        "HOST-ARCH",
        "The current PyTorch install supports CUDA capabilities sm_50 sm_60 sm_70 sm_75 sm_80 sm_86 sm_90.\nNVIDIA GeForce RTX 5090 with CUDA capability sm_120 is not compatible with the current PyTorch installation.",
    ),
    ("HOST-DRIVER-OLD", "RuntimeError: CUDA driver version is insufficient for CUDA runtime version"),
    (
        "HOST-UVM|HOST-CUDA-UNKNOWN",
        "modprobe: ERROR: ../libkmod: could not open /dev/nvidia-uvm: No such file or directory",
    ),
    ("HOST-SB-REJECTED|HOST-MOD", "modprobe: ERROR: could not insert 'nvidia_uvm': Required key not available"),
    ("HOST-MODULE-KERNEL", "modprobe: ERROR: could not insert 'nvidia': Exec format error"),
    ("HOST-COMM|HOST-NO", "modprobe: ERROR: could not insert 'nvidia': No such device"),
    ("HOST-EGL", "OpenGL.raw.EGL._errors.EGLError: EGLError(err = EGL_NOT_INITIALIZED, baseOperation = eglInitialize)"),
    (
        "HOST-PYOPENGL",
        "ImportError: ('Unable to load EGL library', 'EGL: cannot open shared object file: No such file or directory', 'EGL', None)",
    ),
    ("HOST-PYOPENGL", "AttributeError: 'NoneType' object has no attribute 'eglQueryString'"),
    ("HOST-SYSTEM-LIB", "OSError: libOSMesa.so.8: cannot open shared object file: No such file or directory"),
    ("HOST-CGROUP", "WARN[0000] Resource limits are not supported and ignored on cgroups V1 rootless systems"),
]


@pytest.mark.parametrize(("codes", "text"), LINES)
def test_the_line_is_understood(codes: str, text: str) -> None:
    findings = [f for f in diagnose(Snapshot({"log": text})) if f.status in (Status.FAIL, Status.WARN)]
    assert findings
    assert findings[0].code.startswith(tuple(codes.split("|"))), findings[0]

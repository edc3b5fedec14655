"""Packages, kernels, builds, containers, Python, libraries, memory, rendering."""

P = "podman"

EXAMPLES = {
    "HOST-DNF-KMOD-CONFLICT": (
        "Problem: package kmod-nvidia-550.54.15-4.18.0-513-3:550.54.15.x86_64 from @System conflicts with kmod-nvidia-latest-dkms provided by x",
        "Installed: kmod-nvidia-open-dkms-580.95.05",
    ),
    "HOST-DNF-FILE-CONFLICT": (
        "file /usr/bin/nvidia-smi from install of nvidia-driver-cuda-580 conflicts with file from package xorg-x11-drv-nvidia-cuda-575",
        "Dependencies resolved without a conflict",
    ),
    "HOST-DNF-STREAM": (
        "The operation would result in switching of module 'nvidia-driver' stream '550-dkms' to stream '580-open'",
        "Enabling module streams: nvidia-driver 580-open",
    ),
    "HOST-DNF-MODULAR": (
        "All matches were filtered out by modular filtering for argument: cuda-drivers",
        "Last metadata expiration check: 0:10:00 ago",
    ),
    "HOST-DNF-NO-KMOD": (
        "NVIDIA driver: filtering kernel 4.18.0-553.5.1.el8_10, no precompiled modules available for version 3:550.54.15",
        "Installing kmod-nvidia for kernel 4.18.0-553",
    ),
    "HOST-DNF-DKMS": (
        "Error: nothing provides dkms needed by kmod-nvidia-open-dkms-580.95.05",
        "Installed: dkms-3.2.2",
    ),
    "HOST-DNF-UNSIGNED": (
        "Package kmod-nvidia-470.57.02.x86_64.rpm is not signed",
        "kmod-nvidia.rpm: digests signatures OK",
    ),
    "HOST-DNF-KEY": ("Public key for nvidia-driver-cuda-580.rpm is not installed", "Key imported successfully"),
    "HOST-DNF-REGISTER": (
        "This system is not registered with an entitlement server.",
        "This system is registered with an entitlement server.",
    ),
    "HOST-DNF-REPO": (
        "Error: Failed to download metadata for repo 'appstream': Cannot prepare internal mirrorlist",
        "Metadata cache created.",
    ),
    "HOST-DNF-BOOT-FULL": ("At least 59MB more space needed on the /boot filesystem.", "Total download size: 59 M"),
    "HOST-DNF-NAME": (
        "Error: Unable to find a match: kernel-devel-4.18.0-348.el8.x86_64",
        "Package kernel-devel is already installed.",
    ),
    "HOST-DNF-DEPENDS": (
        "package nvidia-open-3:580.65.06 from cuda requires nvidia-settings = 3:580.65.06, but none of the providers can be installed",
        "Complete!",
    ),
    "HOST-HEADERS": (
        {"dkms-build": "Error! Your kernel headers for kernel 4.18.0-553.el8_10.x86_64 cannot be found"},
        {"dkms-build": "Building module: done"},
    ),
    "HOST-KMOD-KERNEL": (
        {
            "uname": "4.18.0-553.8.1.el8_10.x86_64",
            "rpm-kernel": "kmod-nvidia-580.95.05-4.18.0-553.5.1-580.95.05-3.el8_10.x86_64",
        },
        {
            "uname": "4.18.0-553.5.1.el8_10.x86_64",
            "rpm-kernel": "kmod-nvidia-580.95.05-4.18.0-553.5.1-580.95.05-3.el8_10.x86_64",
        },
    ),
    "HOST-DEVEL": (
        {
            "uname": "4.18.0-553.el8_10.x86_64",
            "rpm-kernel": "kernel-devel-4.18.0-348.el8.x86_64\nkmod-nvidia-open-dkms-580.95.05-1.el8.x86_64",
        },
        {
            "uname": "4.18.0-553.el8_10.x86_64",
            "rpm-kernel": "kernel-devel-4.18.0-553.el8_10.x86_64\nkmod-nvidia-open-dkms-580.95.05-1.el8.x86_64",
        },
    ),
    "HOST-DKMS": (
        {
            "uname": "4.18.0-553.el8_10.x86_64",
            "dkms-status": "nvidia/580.95.05, 4.18.0-348.el8.x86_64, x86_64: installed",
        },
        {
            "uname": "4.18.0-553.el8_10.x86_64",
            "dkms-status": "nvidia/580.95.05, 4.18.0-553.el8_10.x86_64, x86_64: installed",
        },
    ),
    "HOST-MODULE-MISSING": (
        "modprobe: FATAL: Module nvidia not found in directory /lib/modules/4.18.0-553.el8_10.x86_64",
        "modprobe: module nvidia loaded",
    ),
    "HOST-MODULE-KERNEL": (
        {"journal-kernel": "nvidia: disagrees about version of symbol module_layout"},
        {"journal-kernel": "nvidia: loading out-of-tree module taints kernel."},
    ),
    "HOST-NEXT-KERNEL": (
        {
            "uname": "4.18.0-553.el8_10.x86_64",
            "next-kernel": "/boot/vmlinuz-4.18.0-560.el8_10.x86_64",
            "module-files": "/lib/modules/4.18.0-553.el8_10.x86_64/extra/nvidia.ko.xz",
        },
        {
            "uname": "4.18.0-553.el8_10.x86_64",
            "next-kernel": "/boot/vmlinuz-4.18.0-553.el8_10.x86_64",
            "module-files": "/lib/modules/4.18.0-553.el8_10.x86_64/extra/nvidia.ko.xz",
        },
    ),
    "HOST-COMPILER": ({"dkms-build": "/bin/sh: line 1: g++: command not found"}, {"dkms-build": "CC [M] nvidia/nv.o"}),
    "HOST-COMPILE": (
        {
            "dkms-build": "/var/lib/dkms/nvidia/470.57.02/build/nvidia-drm/nvidia-drm-drv.c:55:10: error: 'struct drm_driver' has no member named 'x'"
        },
        {"dkms-build": "/var/lib/dkms/nvidia/470.57.02/build/nv.c:10:3: warning: unused variable"},
    ),
    "HOST-BUILD-FAILED": (
        {"dkms-build": "Error! Bad return status for module build on kernel: 4.18.0-553.el8_10.x86_64 (x86_64)"},
        {"dkms-build": "DKMS: build completed."},
    ),
    "HOST-RUNFILE": (
        {"installer": "ERROR: An NVIDIA kernel module 'nvidia-drm' appears to already be loaded in your kernel."},
        {"installer": "-> Kernel module compilation complete. nvidia"},
    ),
    "HOST-SELINUX": (
        {
            "selinux": 'type=AVC msg=audit(1.2:3): avc:  denied  { read write } for comm="python" name="nvidiactl" scontext=system_u:system_r:container_t:s0 tcontext=x:object_r:xserver_misc_device_t:s0'
        },
        {"selinux": "SELinux status: enabled\nCurrent mode: enforcing"},
    ),
    "HOST-VOLUME-LABEL": (
        {P: "ls: cannot open directory '/workspace': Permission denied"},
        {P: "ls: /workspace: 3 files"},
    ),
    "HOST-SUBUID": (
        {P: 'ERRO[0000] cannot find UID/GID for user li: no subuid ranges found for user "li" in /etc/subuid'},
        {P: "podman version 4.9.4-rhel"},
    ),
    "HOST-USERNS": (
        {
            P: "Error: cannot clone: No space left on device; user namespaces are not enabled in /proc/sys/user/max_user_namespaces"
        },
        {P: "podman version 4.9.4-rhel"},
    ),
    "HOST-CPUSET": (
        {P: "Error: OCI runtime error: crun: the requested cgroup controller `cpuset` is not available"},
        {P: "cgroupControllers: cpu memory pids"},
    ),
    "HOST-DEVICES-HOOK": (
        {
            P: "nvidia-container-cli: mount error: open failed: /sys/fs/cgroup/devices/user.slice/devices.allow: permission denied"
        },
        {P: "nvidia-container-cli: 1.18.0"},
    ),
    "HOST-CGROUP-V1": (
        {P: "Container creation error: writing file devices.allow: Operation not permitted"},
        {P: "cgroupVersion: v2"},
    ),
    "HOST-RUNTIME": (
        {P: 'Error: default OCI runtime "crun" not found: invalid argument'},
        {P: "ociRuntime: crun 1.14"},
    ),
    "HOST-STORAGE": (
        {P: "Error: 'overlay' is not supported over nfs, a mount_program is required"},
        {P: "graphDriverName: overlay"},
    ),
    "HOST-SESSION": (
        {P: "WARN[0000] The cgroupv2 manager is set to systemd but there is no systemd user session available"},
        {P: "cgroupManager: systemd"},
    ),
    "HOST-REGISTRY": (
        {
            P: "Error: initializing source docker://reg:5000/x: pinging container registry reg:5000: server gave HTTP response to HTTPS client"
        },
        {P: "registries: search: docker.io"},
    ),
    "HOST-SHM-IPC": ({P: "Error: cannot set shmsize when running in the host IPC Namespace"}, {P: "shmsize 8g"}),
    "HOST-PODMAN-OLD": ({P: "podman version 4.0.2"}, {P: "podman version 4.9.4-rhel"}),
    "HOST-CDI-STALE": (
        {"cdi": "- hostPath: /usr/lib64/libcuda.so.570.86.15", "nvidia-smi": "Driver Version: 580.95.05"},
        {"cdi": "- hostPath: /usr/lib64/libcuda.so.580.95.05", "nvidia-smi": "Driver Version: 580.95.05"},
    ),
    "HOST-CDI-NEW": (
        {"cdi": "cdiVersion: 0.7.0\nadditionalGids: [44]", P: "podman version 4.9.4-rhel"},
        {"cdi": "cdiVersion: 0.5.0", P: "podman version 4.9.4-rhel"},
    ),
    "HOST-CDI-UNKNOWN-FIELD": (
        {P: 'failed to parse CDI Spec "/etc/cdi/nvidia.yaml": json: unknown field "additionalGids"'},
        {P: "CDI devices: nvidia.com/gpu=all"},
    ),
    "HOST-CDI-PATH": (
        {
            P: 'Error: setting up CDI devices: failed to inject devices: failed to stat CDI host device "/dev/dri/renderD129": no such file or directory'
        },
        {P: "Error: stat /srv/data: no such file or directory"},
    ),
    "HOST-CDI-AS-PATH": (
        {P: "Error: stat nvidia.com/gpu=all: no such file or directory"},
        {P: "device nvidia.com/gpu=all injected"},
    ),
    "HOST-CDI-UNRESOLVABLE": (
        {P: "Error: setting up CDI devices: unresolvable CDI devices nvidia.com/gpu=all"},
        {P: "INFO[0000] Found 3 CDI devices"},
    ),
    "HOST-HOOK-DRIVER": (
        {P: "nvidia-container-cli: initialization error: nvml error: driver not loaded"},
        {P: "nvidia-container-cli: version 1.17"},
    ),
    "HOST-HOOK-REQUIREMENT": (
        {P: "nvidia-container-cli: requirement error: unsatisfied condition: cuda>=12.4, please update your driver"},
        {P: "condition cuda>=12.4 holds"},
    ),
    "HOST-DOCKER-GPUS": (
        {P: 'docker: Error response from daemon: could not select device driver "" with capabilities: [[gpu]].'},
        {P: "Runtimes: nvidia runc"},
    ),
    "HOST-HOOK-LEFT": (
        {"hooks-dir": "oci-nvidia-hook.json", P: "x"},
        {"hooks-dir": "ls: cannot access hooks.d: No such file", P: "x"},
    ),
    "HOST-HOOK-DIR": (
        {P: "Error: --hooks-dir /usr/share/containers/oci/hooks.d does not exist"},
        {P: "hooks.d holds 1 file"},
    ),
    "HOST-CTK-PODMAN": ("ERRO[0000] unrecognized runtime 'podman'", "INFO[0000] Loading config for runtime docker"),
    "HOST-LOST-DEVICES": (
        {"nvidia-smi": "Failed to initialize NVML: Unknown Error"},
        {"nvidia-smi": "Driver Version: 580.95.05"},
    ),
    "HOST-PIP-OTHER": (
        "ERROR: Could not find a version that satisfies the requirement numpy==1.26 (from versions: 1.18.5, 1.19.5)",
        "Collecting numpy==1.26",
    ),
    "HOST-PYTHON-OLD": (
        "ERROR: Package 'gymnasium' requires a different Python: 3.9.18 not in '>=3.10'",
        "Successfully installed gymnasium",
    ),
    "HOST-PIP-OLD": (
        "ERROR: torch-2.9.0-cp312-cp312-manylinux_2_28_x86_64.whl is not a supported wheel on this platform.",
        "Using cached torch-2.9.0-cp312.whl",
    ),
    "HOST-PYTHON-H": ("fatal error: Python.h: No such file or directory", "checking for Python.h... yes"),
    "HOST-PIP-NETWORK": (
        "SSLError(SSLCertVerificationError(1, '[SSL: CERTIFICATE_VERIFY_FAILED] unable to get local issuer'))",
        "Looking in indexes: https://pypi.org/simple",
    ),
    "HOST-MUJOCO-PY": ("ModuleNotFoundError: No module named 'mujoco_py'", "import mujoco"),
    "HOST-CPU-WHEEL": (
        {"collect-env": "PyTorch version: 2.9.0+cpu\nCUDA used to build PyTorch: None"},
        {"collect-env": "PyTorch version: 2.9.0+cu126\nCUDA used to build PyTorch: 12.6"},
    ),
    "HOST-CPU-ONLY": ("AssertionError: Torch not compiled with CUDA enabled", "torch 2.9.0+cu126"),
    "HOST-DRIVER-OLD": (
        "RuntimeError: The NVIDIA driver on your system is too old (found version 12020).",
        "driver 580 is new enough",
    ),
    "HOST-WHEEL-DRIVER": (
        {"pip-list": "torch 2.14.0+cu130", "nvidia-smi": "Driver Version: 550.54.15"},
        {"pip-list": "torch 2.14.0+cu130", "nvidia-smi": "Driver Version: 580.95.05"},
    ),
    "HOST-ARCH": (
        "NVIDIA GeForce RTX 5090 with CUDA capability sm_120 is not compatible with the current PyTorch installation.",
        "arch list: sm_90 sm_120",
    ),
    "HOST-PTX": (
        "RuntimeError: CUDA error: the provided PTX was compiled with an unsupported toolchain.",
        "ptxas info: compiled",
    ),
    "HOST-FORWARD-COMPAT": ("Error 804: forward compatibility was attempted on non supported HW", "CUDA driver 13.0"),
    "HOST-CUDA-HOME": (
        "RuntimeError: The detected CUDA version (11.8) mismatches the version that was used to compile PyTorch (12.6).",
        "CUDA_HOME=/usr/local/cuda-12.6",
    ),
    "HOST-NVCC-GCC": (
        "error: -- unsupported GNU version! gcc versions later than 12 are not supported!",
        "nvcc: gcc 8.5 accepted",
    ),
    "HOST-SHADOWED": (
        "ImportError: libcusparse.so.12: undefined symbol: __nvJitLinkComplete_12_4, version libnvJitLink.so.12",
        "cudnn 9.10 loaded",
    ),
    "HOST-LD-PATH": ({"env": "LD_LIBRARY_PATH=/usr/local/cuda-11.8/lib64"}, {"env": "LD_LIBRARY_PATH=/opt/site/lib"}),
    "HOST-GLIBC": (
        "ImportError: /lib64/libc.so.6: version `GLIBC_2.34' not found (required by /x/iceoryx2.so)",
        "glibc 2.28",
    ),
    "HOST-LIBCUDA": (
        "ImportError: libcuda.so.1: cannot open shared object file: No such file or directory",
        "libcuda.so.1 (libc6,x86-64) => /lib64/libcuda.so.1",
    ),
    "HOST-CUDA-LIB": (
        "ImportError: libcudnn.so.9: cannot open shared object file: No such file or directory",
        "libcudnn.so.9 => /x/libcudnn.so.9",
    ),
    "HOST-SYSTEM-LIB": (
        "ImportError: libGL.so.1: cannot open shared object file: No such file or directory",
        "libGL.so.1 => /lib64/libGL.so.1",
    ),
    "HOST-NUMPY-ABI": ("A module that was compiled using NumPy 1.x cannot be run in NumPy 2.1.0", "numpy 2.1.0"),
    "HOST-SHM": (
        "(raylet) WARNING: The object store is using /tmp instead of /dev/shm because /dev/shm has only 67108864 bytes",
        "tmpfs on /dev/shm",
    ),
    "HOST-SHM-SMALL": ({"shm": "shm 65536 0 65536 0% /dev/shm"}, {"shm": "tmpfs 131072000 0 131072000 0% /dev/shm"}),
    "HOST-CUDA-OOM": (
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 23.64 GiB of which 1.00 GiB is free.",
        "Memory: 2 GiB allocated",
    ),
    "HOST-OOM-KILLER": (
        {"journal-kernel": "Out of memory: Killed process 4242 (python) total-vm:9000kB"},
        {"journal-kernel": "Memory: 263856K/524288K available"},
    ),
    "HOST-DISK-FULL": ("OSError: [Errno 28] No space left on device: '/var/runs/x'", "/dev/sda1 40% /"),
    "HOST-DISK": (
        {"df": "/dev/sda1 104857600 104000000 857600 100% /"},
        {"df": "/dev/sda1 104857600 50000000 54857600 48% /"},
    ),
    "HOST-ULIMIT": ("OSError: [Errno 24] Too many open files", "open files (-n) 65536"),
    "HOST-NCCL": (
        "torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:275, ncclSystemError: System call failed",
        "NCCL version 2.27.3+cuda12.6",
    ),
    "HOST-GL-PLATFORM": (
        {"env": "MUJOCO_GL=egl\nPYOPENGL_PLATFORM=osmesa"},
        {"env": "MUJOCO_GL=egl\nPYOPENGL_PLATFORM=egl"},
    ),
    "HOST-PYOPENGL": ("AttributeError: 'OSMesaPlatform' object has no attribute 'EGL'", "OpenGL platform egl"),
    "HOST-RENDER-NODE": (
        "libEGL warning: failed to open /dev/dri/renderD130: Permission denied",
        "crw-rw---- root render /dev/dri/renderD128",
    ),
    "HOST-EGL-DEVICE": (
        "RuntimeError: MUJOCO_EGL_DEVICE_ID must be an integer between 0 and 1 (inclusive), got 4.",
        "MUJOCO_GL=egl",
    ),
    "HOST-EGL": ("ImportError: Cannot initialize a EGL device display.", "egl display ready"),
    "HOST-DISPLAY": ("GLFWError: (65550) b'X11: The DISPLAY environment variable is missing'", "display :0"),
    "HOST-MESA": ("libGL error: MESA-LOADER: failed to open swrast", "MESA 23.1"),
}

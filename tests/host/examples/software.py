"""Packages, kernels, builds, containers."""

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
}

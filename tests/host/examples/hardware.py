"""Card, bus, nouveau, Secure Boot, driver kind, fabric, nodes, heat."""

K = "journal-kernel"
GPU = {"lspci": "65:00.0 3D controller: NVIDIA Corporation GA100 [A100 PCIe 80GB] (rev a1)"}

EXAMPLES = {
    "HOST-GPU": ({"lspci": "00:02.0 VGA compatible controller: Matrox G200"}, GPU),
    "HOST-GPU-LOST": (
        {K: "NVRM: Xid (PCI:0000:2b:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus."},
        {K: "NVRM: loading NVIDIA UNIX x86_64 Kernel Module 580.95.05"},
    ),
    "HOST-ROW-REMAP": (
        {"nvidia-smi-query": "    Remapped Rows\n        Uncorrectable Error : 4\n        Pending : Yes\n"},
        {"nvidia-smi-query": "    Remapped Rows\n        Pending : No\n"},
    ),
    "HOST-ECC": (
        {K: "NVRM: Xid (PCI:0000:10:1c): 63, pid=1896, Row Remapper: New row marked for remapping"},
        {K: "NVRM: Xid (PCI:0000:10:1c): 31, pid=1896, MMU Fault"},
    ),
    "HOST-GSP": (
        {K: "NVRM: Xid (PCI:0000:41:00): 119, pid=2210, Timeout after 6s of waiting for RPC response from GPU0 GSP!"},
        {K: "NVRM: GPU0 GSP firmware version 580.95.05"},
    ),
    "HOST-GSP-FIRMWARE": (
        {K: "nvidia 0000:01:00.0: Direct firmware load for nvidia/535.129.03/gsp_ga10x.bin failed with error -2"},
        {K: "NVRM: GSP firmware 535.129.03 in use"},
    ),
    "HOST-NVLINK": (
        {K: "NVRM: Xid (PCI:0000:0f:00): 74, pid=99, NVLink: fatal error detected on link 6"},
        {K: "nvidia-nvlink: Nvlink Core is being initialized"},
    ),
    "HOST-XID-APP": (
        {K: "NVRM: Xid (PCI:0000:3b:00): 13, pid=4231, Graphics Exception: ESR 0x504730=0x20e"},
        {K: "NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus."},
    ),
    "HOST-INFOROM": (
        {"nvidia-smi": "WARNING: infoROM is corrupted at gpu 0000:5E:00.0"},
        {"nvidia-smi": "GPU 0: NVIDIA A100"},
    ),
    "HOST-POWER-CABLE": (
        {K: "NVRM: GPU 0000:01:00.0 does not have the necessary power cables connected."},
        {K: "ACPI: Power Button [PWRF]"},
    ),
    "HOST-PCIE-ERRORS": (
        {K: "pcieport 0000:00:03.1: PCIe Bus Error: severity=Uncorrected (Non-Fatal), type=Transaction Layer"},
        {K: "pcieport 0000:00:03.1: AER: enabled with IRQ 28"},
    ),
    "HOST-BAR": (
        {
            K: "NVRM: This PCI I/O region assigned to your NVIDIA device is invalid:\nNVRM: BAR1 is 0M @ 0x0 (PCI:0000:14:00.0)"
        },
        {
            K: "pci 0000:00:1c.0: BAR 13: no space for [io size 0x1000]\npci 0000:00:1c.0: BAR 15: failed to assign [mem size 0x00200000 64bit pref]"
        },
    ),
    "HOST-VFIO": (
        {"lspci": "3b:00.0 3D controller: NVIDIA Corporation GA100\n\tKernel driver in use: vfio-pci", K: "x"},
        {"lspci": "3b:00.0 3D controller: NVIDIA\n\tKernel driver in use: nvidia", K: "x"},
    ),
    "HOST-IOMMU": (
        {K: "DMAR: [DMA Write] Request device [3b:00.0] fault addr ffd00000 [fault reason 05]"},
        {K: "DMAR: IOMMU enabled"},
    ),
    "HOST-NOUVEAU": (
        {K: "nouveau 0000:3b:00.0: NVIDIA TU104 (164000a1)"},
        {
            "cmdline": "ro rd.driver.blacklist=nouveau modprobe.blacklist=nouveau",
            K: "Command line: ro rd.driver.blacklist=nouveau",
        },
    ),
    "HOST-NOUVEAU-LOADED": (
        {"lsmod": "Module Size Used by\nnouveau 2371584 1\nvideo 53248 1 nouveau"},
        {"lsmod": "Module Size Used by\nnvidia 56000000 2"},
    ),
    "HOST-PROBE": (
        {
            K: "NVRM: The NVIDIA probe routine was not called for 1 device(s).\nNVRM: This can occur when another driver was loaded and"
        },
        {K: "nvidia 0000:3b:00.0: enabling device (0000 -> 0002)"},
    ),
    "HOST-SB-REJECTED": (
        "modprobe: ERROR: could not insert 'nvidia': Required key not available",
        {K: "nvidia: module verification failed: signature and/or required key missing - tainting kernel"},
    ),
    "HOST-MOK-PENDING": ({"mok": "[key 1]\nSHA1 Fingerprint: aa"}, {"mok": "MokListNew is empty"}),
    "HOST-SB-UNSIGNED-BUILD": (
        {"dkms-build": "Binary /lib/modules/4.18.0/build/scripts/sign-file not found, modules won't be signed"},
        {"dkms-build": "Signing module /var/lib/dkms/nvidia/580.95.05/build/nvidia.ko"},
    ),
    "HOST-MOKUTIL": ("EFI variables are not supported on this system", "MOK list is empty"),
    "HOST-OPEN-OLD": (
        {
            K: "NVRM: installed in this system is not supported by open\nNVRM: nvidia.ko because it does not include the required GPU"
        },
        {K: "NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  580.95.05"},
    ),
    "HOST-CLOSED-NEW": (
        {K: "NVRM: installed in this system requires use of the NVIDIA open kernel modules."},
        {K: "NVRM: loading NVIDIA UNIX x86_64 Kernel Module"},
    ),
    "HOST-LEGACY": (
        {
            K: "NVRM: The NVIDIA Tesla K80 GPU installed in this system is\nNVRM:  supported through the NVIDIA 470.xx Legacy drivers."
        },
        {K: "NVRM: loading NVIDIA UNIX x86_64 Kernel Module  470.256.02"},
    ),
    "HOST-NVML-MISMATCH": (
        {"nvidia-smi": "Failed to initialize NVML: Driver/library version mismatch"},
        {"nvidia-smi": "Driver Version: 580.95.05  CUDA Version: 13.0"},
    ),
    "HOST-MIXED-VERSIONS": (
        {"rpm-kernel": "libnvidia-ml-580.95.05-1.el8.x86_64\nnvidia-driver-cuda-580.82.07-1.el8.x86_64"},
        {"rpm-kernel": "libnvidia-ml-580.95.05-1.el8.x86_64\nnvidia-driver-cuda-580.95.05-1.el8.x86_64"},
    ),
    "HOST-STALE-MODULE": (
        {
            "nvidia-proc": "NVRM version: NVIDIA UNIX x86_64 Kernel Module  570.124.06  x",
            "modinfo": "version:        580.95.05",
        },
        {
            "nvidia-proc": "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.95.05  x",
            "modinfo": "version:        580.95.05",
        },
    ),
    "HOST-FLAVOUR": (
        {
            "modinfo": "version: 580.95.05\nlicense: NVIDIA",
            "lspci": "01:00.0 3D controller: NVIDIA Corporation GB202GL [RTX PRO 6000] (rev a1)",
        },
        {"modinfo": "version: 580.95.05\nlicense: Dual MIT/GPL", **GPU},
    ),
    "HOST-BRANCH-GPU": (
        {
            "modinfo": "version: 595.45.04",
            "lspci": "01:00.0 3D controller: NVIDIA Corporation GV100GL [Tesla V100] (rev a1)",
        },
        {
            "modinfo": "version: 580.95.05",
            "lspci": "01:00.0 3D controller: NVIDIA Corporation GV100GL [Tesla V100] (rev a1)",
        },
    ),
    "HOST-DRIVER": (
        {"rpm-kernel": "kernel-core-4.18.0-553.el8_10.x86_64", "lsmod": "Module Size Used by\next4 1 1", **GPU},
        {
            "rpm-kernel": "kmod-nvidia-open-dkms-580.95.05-1.el8.x86_64",
            "lsmod": "Module Size Used by\nnvidia 1 1",
            **GPU,
        },
    ),
    "HOST-BRANCH-LIFE": ({"nvidia-smi": "Driver Version: 535.104.05"}, {"nvidia-smi": "Driver Version: 620.10.01"}),
    "HOST-INIT-FAILED": (
        {K: "NVRM: RmInitAdapter failed! (0x26:0x56:1463)"},
        {K: "NVRM: GPU 0000:3b:00.0: RmInitAdapter succeeded"},
    ),
    "HOST-FABRIC-VERSION": (
        "nv-fabricmanager: fabric manager NVIDIA GPU driver interface version 535.54.03 don't match with driver version 535.104.05",
        "nv-fabricmanager: Connected to 1 node. Fabric Manager version 535.104.05",
    ),
    "HOST-FABRIC-STATE": (
        {"nvidia-smi-query": "    Fabric\n        State : In Progress\n"},
        {"nvidia-smi-query": "    Fabric\n        State : Completed\n"},
    ),
    "HOST-FABRIC-NOT-NEEDED": (
        "request to query NVSwitch device information failed with error:WARNING Nothing to do [NV_WARN_NOTHING_TO_DO]",
        "Successfully configured all the available GPUs and NVSwitches",
    ),
    "HOST-FABRIC": ("RuntimeError: CUDA error 802: system not yet initialized", "torch.cuda.is_available() True"),
    "HOST-UVM": (
        {"devices": "crw-rw-rw- 1 root root 195, 0 /dev/nvidia0\ncrw-rw-rw- 1 root root 195, 255 /dev/nvidiactl"},
        {"devices": "/dev/nvidia0\n/dev/nvidiactl\n/dev/nvidia-uvm"},
    ),
    "HOST-VISIBLE": ({"env": "CUDA_VISIBLE_DEVICES=-1"}, {"env": "CUDA_VISIBLE_DEVICES=0,1"}),
    "HOST-PERSISTENCE": (
        {"nvidia-smi-query": "    Persistence Mode : Disabled\n"},
        {"nvidia-smi-query": "    Persistence Mode : Enabled\n"},
    ),
    "HOST-NODE-PERMISSION": ("Failed to initialize NVML: Insufficient Permissions", "NVML initialised, 8 GPUs"),
    "HOST-BUSY": ("RuntimeError: CUDA error: all CUDA-capable devices are busy or unavailable", "all devices are idle"),
    "HOST-MIG": ({"nvidia-smi": "No MIG devices found."}, {"nvidia-smi": "MIG 1g.10gb Device 0: (UUID: MIG-1)"}),
    "HOST-CUDA-UNKNOWN": (
        "CUDA initialization: CUDA unknown error - this may be due to an incorrectly set up environment",
        "CUDA initialised",
    ),
    "HOST-THERMAL": (
        {"nvidia-smi-query": "    Clocks Event Reasons\n        HW Thermal Slowdown : Active\n"},
        {"nvidia-smi-query": "    Clocks Event Reasons\n        HW Thermal Slowdown : Not Active\n"},
    ),
    "HOST-POWER": (
        {"nvidia-smi-query": "    Clocks Throttle Reasons\n        SW Power Cap : Active\n"},
        {"nvidia-smi-query": "    Clocks Throttle Reasons\n        SW Power Cap : Not Active\n"},
    ),
    "HOST-GOVERNOR": (
        {"tuned": "Current active profile: balanced\npowersave\n"},
        {"tuned": "Current active profile: latency-performance\nperformance\ntsc\n"},
    ),
    "HOST-NO-DEVICES": ({"nvidia-smi": "No devices were found"}, {"nvidia-smi": "GPU 0: NVIDIA A100"}),
    "HOST-COMM": (
        {"nvidia-smi": "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver."},
        {"nvidia-smi": "Driver Version: 580.95.05"},
    ),
    "HOST-SMI-ABSENT": ({"nvidia-smi": "bash: nvidia-smi: command not found"}, {"nvidia-smi": "NVIDIA-SMI 580.95.05"}),
    "HOST-NO-CUDA": ("RuntimeError: No CUDA GPUs are available", "Is CUDA available: True"),
}

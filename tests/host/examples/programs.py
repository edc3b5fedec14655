"""Python, torch, libraries, memory, rendering."""

EXAMPLES = {
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

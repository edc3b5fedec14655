"""Wrong forms, and the right form of each."""

EXAMPLES = {
    "FORM-LATEST-DKMS": (
        "sudo dnf module install -y nvidia-driver:latest-dkms",
        "dnf module enable nvidia-driver:580-open",
    ),
    "FORM-RHEL7-NAMES": (
        "dnf install nvidia-driver-latest nvidia-driver-NVML nvidia-utils",
        "dnf install nvidia-driver-cuda kmod-nvidia-open-dkms",
    ),
    "FORM-APT": (
        "sudo apt-get install linux-headers-$(uname -r)",
        "dnf install kernel-devel-$(uname -r) kernel-headers",
    ),
    "FORM-DKMS-NO-EPEL": ("dnf install -y gcc make dkms", "dnf install epel-release\ndnf install -y gcc make dkms"),
    "FORM-DKMS-FORCE": ("dkms autoinstall --force", "dkms install nvidia/580.95.05 -k $(uname -r) --force"),
    "FORM-DKMS-MISSING": ("if dkms status shows missing, rebuild", "if dkms status shows installed, go on"),
    "FORM-NVML-DEVEL": (
        "Failed to initialize NVML: kernel-devel does not fit",
        "Failed to initialize NVML: reboot after the update",
    ),
    "FORM-NOUVEAU-ECHO": (
        "echo 'blacklist nouveau' /etc/modprobe.d/blacklist.conf",
        "echo 'blacklist nouveau' > /etc/modprobe.d/blacklist.conf",
    ),
    "FORM-NOUVEAU-DRACUT": ("sudo dracut --force", "sudo dracut --force --regenerate-all"),
    "FORM-GRUB-MKCONFIG": (
        "grub2-mkconfig -o /boot/grub2/grub.cfg",
        "grubby --update-kernel=ALL --args=modprobe.blacklist=nouveau",
    ),
    "FORM-MOK-FILE": ("mokutil --import", "mokutil --import /var/lib/dkms/mok.pub"),
    "FORM-SB-OFF": (
        "enter the BIOS and disable Secure Boot",
        "enter MokManager and enrol the key; Secure Boot stays on",
    ),
    "FORM-PM1": ("nvidia-smi -pm 1", "systemctl enable --now nvidia-persistenced"),
    "FORM-KILL9": ("nvidia-smi --query-compute-apps=pid --format=csv,noheader | xargs kill -9", "kill -TERM 4711"),
    "FORM-PYTHON3": ("python3 -c 'import torch; print(torch.__version__)'", ".venv/bin/python -c 'import torch'"),
    "FORM-PYTHON-STREAM": ("dnf module enable python39", "dnf install python3.12"),
    "FORM-LD-PATH": ("export LD_LIBRARY_PATH=/usr/local/cuda/lib64:$LD_LIBRARY_PATH", "unset LD_LIBRARY_PATH"),
    "FORM-EXPORT-EQUALS": ("export PATH/usr/local/cuda/bin:$PATH", "export PATH=/usr/local/cuda/bin:$PATH"),
    "FORM-CUDNN-COPY": (
        "cp cudnn-linux-x86_64/lib/* /usr/local/cuda/lib64/",
        "python -m pip install nvidia-cudnn-cu12",
    ),
    "FORM-TORCH-EQUALS": (
        "pip install torch2.0.1",
        "pip install torch==2.9.0 --index-url https://download.pytorch.org/whl/cu126",
    ),
    "FORM-TORCH-UNPINNED": (
        "pip install torch torchvision",
        "pip install torch==2.9.0 --index-url https://download.pytorch.org/whl/cu126",
    ),
    "FORM-CU118": (
        "python -m pip install torch --index-url https://download.pytorch.org/whl/cu118",
        "python -m pip install torch --index-url https://download.pytorch.org/whl/cu126",
    ),
    "FORM-CTK-PODMAN": (
        "nvidia-ctk runtime configure --runtime=podman",
        "nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml",
    ),
    "FORM-GPUS-FLAG": (
        "podman run --rm --gpus all img nvidia-smi",
        "podman run --rm --device nvidia.com/gpu=all --security-opt label=disable img nvidia-smi",
    ),
    "FORM-RESTART-PODMAN": ("systemctl restart podman", "systemctl restart nvidia-cdi-refresh"),
    "FORM-HOME-Z": ("podman run -v /home/li/code:/code:Z img", "podman run -v /srv/runs:/code:z img"),
    "FORM-VOLUME-NO-LABEL": ("podman run -v /srv/data:/data img ls", "podman run -v /srv/data:/data:z img ls"),
    "FORM-NO-LABEL-DISABLE": (
        "podman run --device nvidia.com/gpu=all img",
        "podman run --security-opt label=disable --device nvidia.com/gpu=all img",
    ),
    "FORM-CPUSET": ("podman run --cpuset-cpus=0-47 img", "podman run img taskset -c 0-15 python train.py"),
    "FORM-SHM-EQUALS": ("podman run --shm-size8g img", "podman run --shm-size=8g img"),
    "FORM-SHM-IPC": ("podman run --shm-size=8g --ipc=host img", "podman run --shm-size=8g img"),
    "FORM-RUN-AND": (
        "RUN dnf install -y python38 \\\n alternatives --set python /usr/bin/python3",
        "RUN dnf install -y python3.12 && \\\n alternatives --set python /usr/bin/python3",
    ),
    "FORM-IMAGE-DRIVER": ("RUN dnf install -y nvidia-driver-cuda", "RUN dnf install -y python3.12"),
    "FORM-AUTOCAST": ("model = PPO('MlpPolicy', env, use_autocast=True)", "model = PPO('MlpPolicy', env)"),
    "FORM-POLICY-ACTOR": (
        "traced = torch.jit.trace(model.policy.actor, x)",
        "traced = torch.jit.trace(model.policy.mlp_extractor, x)",
    ),
    "FORM-EXPORT-POLICY": (
        "torch.onnx.export(model.policy, obs, 'p.onnx')",
        "torch.onnx.export(Deterministic(model.policy), obs, 'p.onnx')",
    ),
    "FORM-OPSET": (
        "torch.onnx.export(m, x, 'p.onnx', opset_version=11)",
        "torch.onnx.export(m, x, 'p.onnx', opset_version=17)",
    ),
    "FORM-DYNAMIC-AXES": (
        "torch.onnx.export(m, x, 'p.onnx', dynamic_axes={'x': {0: 'n'}})",
        "torch.onnx.export(m, x, 'p.onnx', dynamic_shapes=shapes)",
    ),
    "FORM-VECENV-RESET": ("obs, _ = vec_env.reset()", "obs = vec_env.reset()"),
    "FORM-GYM-STEP": (
        "obs, reward, done, info = env.step(action)",
        "obs, reward, terminated, truncated, info = env.step(action)",
    ),
    "FORM-GYM": ("import gym", "import gymnasium as gym"),
    "FORM-MUJOCO-PY": ("pip install mujoco-py", "pip install 'gymnasium[mujoco]' 'mujoco>=3'"),
    "FORM-SAVE-FREQ": (
        "cb = CheckpointCallback(save_freq=20000, save_path='x')",
        "cb = CheckpointCallback(save_freq=max(20000 // n_envs, 1), save_path='x')",
    ),
    "FORM-PPO-CUDA": ("model = PPO('MlpPolicy', env, device='cuda')", "model = PPO('MlpPolicy', env, device='cpu')"),
    "FORM-TRTEXEC": ("trtexec --onnx=p.onnx --fp16", "trtexec --onnx=p.onnx"),
    "FORM-RLLIB-ROLLOUTS": ("config.rollouts(num_rollout_workers=64)", "config.env_runners(num_env_runners=64)"),
    "FORM-RLLIB-REWARD": (
        "print(result['episode_reward_mean'])",
        "print(result['env_runners']['episode_return_mean'])",
    ),
    "FORM-SUBPROC-SHM": (
        "SubprocVecEnv workers exchange data through shared memory",
        "SubprocVecEnv workers exchange data through pipes",
    ),
    "FORM-SUBPROC-MAIN": (
        "env = SubprocVecEnv([make] * 8)",
        "if __name__ == '__main__':\n    env = SubprocVecEnv([make] * 8)",
    ),
    "FORM-PY-EQUALS": (
        "model = PPO('MlpPolicy', env, learning_rate3e-4)",
        "model = PPO('MlpPolicy', env, learning_rate=3e-4)",
    ),
}

"""Python, pip and their ages."""

from __future__ import annotations

from bedplate.host.checks.kinds import TRAIN, do, hand, symptom

_VENV = (
    do(
        "dnf install python3.12",
        "python3.12 is a plain package since RHEL 8.10 (python3.11 since 8.8); RHEL's python3 is 3.6",
        "RHEL 8.10 起 python3.12 为普通软件包（3.11 自 8.8）；系统 python3 是 3.6",
    ),
    do(
        "python3.12 -m venv .venv && . .venv/bin/activate && python -m pip install --upgrade pip",
        "an environment of that interpreter with a current pip",
        "用该解释器创建环境并更新 pip",
    ),
    do(
        "python -m pip install PACKAGE",
        "always python -m pip of the interpreter you mean",
        "始终使用目标解释器的 python -m pip",
    ),
)

CHECKS = (
    symptom(
        "HOST-PIP-OTHER",
        ("pip belongs to another Python", "pip 属于另一个 Python"),
        r"from versions: [^)\n]*\b(?P<newest>1\.19\.5|0\.12\.1|1\.1\.5|1\.10\.[012]|4\.2\.0|1\.10\.2|0\.24\.2)\)[^\n]*|pip is being invoked by an old script wrapper[^\n]*|site-packages/pip \(python (?P<python>3\.[0-9]\b)\)[^\n]*|pip \S+ from /usr/lib/python3\.6\S*[^\n]*",
        (
            "pip runs under another, older Python than you mean: the newest version it offers is {newest}, the last one for Python 3.6",
            "pip 运行在比预期更旧的 Python 下：可见的最新版本为 {newest}，是 Python 3.6 的最后版本",
        ),
        (do("python3.12 -m pip --version", "names the interpreter that pip belongs to", "显示 pip 所属解释器"), *_VENV),
        hints=("from versions", "script wrapper", "site-packages/pip", "python3.6"),
        group="app",
    ),
    symptom(
        "HOST-PYTHON-OLD",
        ("Python too old for the package", "Python 对该包过旧"),
        r"(?:Package '?(?P<package>[\w.-]+)'? requires a different Python: (?P<python>\S+)|requires a different Python|Requires-Python|No matching distribution found for (?P<p2>(?:torch|mujoco|stable[_-]baselines3|gymnasium|jax|onnxruntime|ray)\S*)|Python (?:3\.[6-9]) is (?:no longer|not) supported|python_requires)[^\n]*|from __future__ import annotations\s*\n[^\n]*SyntaxError[^\n]*|SyntaxError: future feature annotations is not defined|SyntaxError[^\n]*:=[^\n]*",
        (
            "the interpreter ({python}) is too old or too new for {package}: no wheel fits; RHEL 8's python3 is 3.6, python38 and python39 are retired",
            "解释器 ({python}) 对 {package} 过旧或过新，没有匹配的 wheel；RHEL 8 的 python3 是 3.6，python38/39 已退役",
        ),
        _VENV,
        hints=("requires", "no matching distribution", "not supported", "no longer supported", "syntaxerror"),
        group="app",
        follows=("HOST-PIP-OTHER", "HOST-PIP-OLD"),
    ),
    symptom(
        "HOST-PIP-OLD",
        ("pip too old, or wheel for a newer glibc", "pip 过旧，或 wheel 需要更新的 glibc"),
        r"(?P<wheel>\S+\.whl) is not a supported wheel on this platform[^\n]*|You are using pip version (?P<pip>(?:9|1[0-9])\.[\d.]+)[^\n]*|none of the wheel's tags \((?P<tags>[^)]*)\) are compatible[^\n]*|manylinux_2_(?:29|3\d)\S*[^\n]*(?:not supported|not compatible)[^\n]*",
        (
            "pip cannot install {wheel}: its tag needs a newer glibc than 2.28, another Python, or a newer pip (20.3 knows manylinux_2_28)",
            "pip 无法安装 {wheel}：其标签要求高于 2.28 的 glibc、其他 Python，或更新的 pip（20.3 起支持 manylinux_2_28）",
        ),
        (
            do(
                "python -m pip install --upgrade pip && python -m pip debug --verbose | head -n 40",
                "the compatible tags of this interpreter",
                "该解释器支持的标签",
            ),
            hand(
                "a wheel tagged manylinux_2_31 or higher runs only in a container with a newer glibc",
                "manylinux_2_31 及以上的 wheel 只能在 glibc 更新的容器中运行",
            ),
            *_VENV[:2],
        ),
        hints=("supported wheel", "pip version", "wheel's tags", "manylinux"),
        group="app",
    ),
    symptom(
        "HOST-PYTHON-H",
        ("Python headers missing", "缺少 Python 头文件"),
        r"Python\.h: No such file or directory[^\n]*|Python\.h: 没有那个文件[^\n]*",
        ("a package compiles a C extension and Python.h is missing", "某软件包要编译 C 扩展，但缺少 Python.h"),
        (
            do("dnf install python3.12-devel gcc gcc-c++", "headers of the same Python", "同版本 Python 头文件"),
            hand("better: take a version that has a wheel for this Python", "更好：选择有该 Python wheel 的版本"),
        ),
        hints=("python.h",),
        group="app",
    ),
    symptom(
        "HOST-PIP-NETWORK",
        ("pip cannot reach the index", "pip 无法访问软件源"),
        r"(?:SSLError|CERTIFICATE_VERIFY_FAILED|NewConnectionError|ProxyError|Read timed out|Temporary failure in name resolution|ConnectTimeoutError)[^\n]*",
        (
            "pip cannot reach the package index: proxy, certificate or no network",
            "pip 无法访问软件源：代理、证书或无网络",
        ),
        (
            do("python -m pip config set global.proxy http://HOST:PORT", "the site's proxy", "站点代理"),
            do(
                "python -m pip config set global.cert /etc/pki/tls/certs/ca-bundle.crt",
                "the system's certificates, with the site's own",
                "系统证书（含站点证书）",
            ),
            do(
                "python -m pip download -d wheels -r requirements.txt --platform manylinux_2_28_x86_64 --python-version 3.12 --only-binary :all:",
                "offline: on another machine, then pip install --no-index -f wheels",
                "离线：在他机下载后 pip install --no-index -f wheels",
            ),
        ),
        hints=(
            "sslerror",
            "certificate_verify",
            "newconnectionerror",
            "proxyerror",
            "timed out",
            "name resolution",
            "connecttimeout",
        ),
        group="app",
        only=frozenset({"log", "traceback", "app-error"}),
    ),
    symptom(
        "HOST-MUJOCO-PY",
        ("mujoco-py is retired", "mujoco-py 已停止维护"),
        r"No module named '?mujoco_py'?|You appear to be missing MuJoCo[^\n]*|mujoco_py/\S+\.py[^\n]*|MuJoCo v[23] environments[^\n]*mujoco-py[^\n]*|mujoco-py<2\.2",
        (
            "mujoco-py is retired: it needs MuJoCo 2.1.0 and old compilers",
            "mujoco-py 已停止维护：依赖 MuJoCo 2.1.0 与旧编译器",
        ),
        (
            do("python -m pip install 'gymnasium[mujoco]' 'mujoco>=3'", "the official bindings", "官方绑定"),
            hand("use the -v5 environment ids: HalfCheetah-v5", "使用 -v5 环境：HalfCheetah-v5"),
        ),
        hints=("mujoco_py", "mujoco-py", "missing mujoco"),
        group="app",
        blocks=TRAIN,
    ),
)

"""Plans: which steps a host gets, which it does not, and what every step must have."""

from __future__ import annotations

import dataclasses
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.host.plan_hosts import AMPERE, BARE, BLACKWELL, HEALTHY, VOLTA, snapshot

from bedplate.cli import app
from bedplate.core.errors import BedplateError
from bedplate.host.checks import all_checks
from bedplate.host.plan.build import Plan, make_plan
from bedplate.host.plan.fetch import fetch_script
from bedplate.host.plan.script import plan_script, values
from bedplate.host.plan.step import PlanStep, Wishes
from bedplate.host.plan.steps import all_steps
from bedplate.host.streams import choose, refusal

EVERYTHING = Wishes(cuda="12.8", cudnn=True, rootless_limits=True, user="trainer")
STEPS = all_steps()


def codes(plan: Plan) -> list[str]:
    return [step.code for step in plan.steps]


def test_the_plan_of_a_healthy_host_is_empty() -> None:
    plan = make_plan(snapshot(HEALTHY), Wishes())
    assert codes(plan) == []
    assert plan.by_hand == ()
    assert "\nstep " not in plan_script(plan)


def test_a_bare_host_gets_the_whole_way_in_order() -> None:
    assert codes(make_plan(snapshot(BARE), Wishes())) == [
        "config_manager",
        "crb",
        "epel",
        "nvidia_repo",
        "toolkit_repo",
        "kernel_devel",
        "stream",
        "driver",
        "module",
        "nouveau",
        "mok",
        "python",
        "podman",
        "toolkit",
        "cdi_format",
        "selinux",
        "subuid",
        "tuned",
        "load",
        "persistence",
        "lock",
        "cdi",
    ]


@pytest.mark.parametrize(
    ("changes", "step"),
    [
        ({"rpm_kernel": HEALTHY["rpm-kernel"].replace("kernel-devel", "other")}, "kernel_devel"),
        ({"dnf": HEALTHY["dnf"].replace("580-open", "latest-dkms")}, "stream"),
        ({"dnf": "[nvidia-driver]\nstream=580-open\nstate=enabled"}, "lock"),
        ({"module_files": "/lib/modules/4.18.0-1.el8.x86_64/extra/nvidia.ko"}, "module"),
        ({"services": "nvidia-persistenced disabled inactive"}, "persistence"),
        ({"python_version": "/usr/bin/python3\nPython 3.6.8"}, "python"),
        ({"podman": "podman version 4.0.2"}, "podman"),
        ({"cdi": HEALTHY["cdi"].replace("580.95.05", "570.86.15")}, "cdi"),
        ({"cdi": HEALTHY["cdi"] + "\nadditionalGids: [39]"}, "cdi_format"),
        ({"hooks_dir": "oci-nvidia-hook.json"}, "hook"),
        ({"selinux": BARE["selinux"]}, "selinux"),
        ({"subuid": BARE["subuid"]}, "subuid"),
        ({"tuned": "Current active profile: powersave"}, "tuned"),
        ({"lspci": AMPERE + "\n0a:00.0 Bridge [0680]: NVIDIA Corporation GA100 [A100 NVSwitch] [10de:1af1]"}, "fabric"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_one_thing_wrong_gives_its_step(changes: dict[str, str], step: str) -> None:
    plan = make_plan(snapshot(HEALTHY, **changes), Wishes())
    assert step in codes(plan)
    assert len([s for s in plan.steps if not s.repository]) <= 3


@pytest.mark.parametrize(
    ("lines", "stream", "kmod"),
    [(AMPERE, "580-open", "open"), (BLACKWELL, "580-open", "open"), (VOLTA, "580-dkms", "latest")],
)
def test_the_stream_follows_the_generation(lines: str, stream: str, kmod: str) -> None:
    plan = make_plan(snapshot(BARE, lspci=lines), Wishes())
    assert plan.host.stream == stream
    assert f"kmod-nvidia-{kmod}-dkms" in plan_script(plan)
    assert "latest-dkms" not in values(plan.host)["stream"]


def test_a_stream_that_fits_stays_and_one_that_does_not_is_refused() -> None:
    assert choose(["ampere"], "595-open") == "595-open"
    assert choose(["ampere"], "535-dkms") == "580-open"
    assert choose(["volta", "turing"]) == "580-dkms"
    with pytest.raises(BedplateError, match="no one driver"):
        choose(["volta", "blackwell"])
    with pytest.raises(BedplateError, match="kepler"):
        choose(["kepler"])
    for stream in ("latest-dkms", "open-dkms", "latest", "580", "615-dkms", "535-open"):
        assert refusal(stream, ["ampere"]), stream
    assert refusal("580-dkms", ["blackwell"])
    assert refusal("595-dkms", ["volta"])
    with pytest.raises(BedplateError, match="floats"):
        make_plan(snapshot(BARE), Wishes(stream="latest-dkms"))


def test_an_open_module_stays_open_when_only_its_package_tells() -> None:
    texts = {**HEALTHY, "dnf": "", "modinfo": "", "nvidia-proc": ""}
    assert make_plan(snapshot(texts), Wishes()).host.stream == "580-open"
    newer = {name: text.replace("580.95.05", "595.58.03") for name, text in texts.items()}
    assert make_plan(snapshot(newer), Wishes()).host.stream == "595-open"
    newer["rpm-kernel"] = newer["rpm-kernel"].replace("kmod-nvidia-open-dkms", "other")
    assert make_plan(snapshot(newer), Wishes()).host.stream == "580-open"


@pytest.mark.parametrize(
    ("changes", "wishes", "says"),
    [
        ({"redhat_release": "Ubuntu 22.04.4 LTS"}, Wishes(), "ubuntu"),
        ({"redhat_release": "Red Hat Enterprise Linux release 9.4 (Plow)"}, Wishes(), "9.4"),
        ({"lspci": ""}, Wishes(), "lspci was not collected"),
        ({"lspci": "00:02.0 VGA compatible controller: Intel UHD"}, Wishes(), "no NVIDIA GPU"),
        ({}, Wishes(cudnn=True), "without --cuda"),
    ],
)
def test_hosts_and_wishes_without_a_plan(changes: dict[str, str], wishes: Wishes, says: str) -> None:
    with pytest.raises(BedplateError, match=says):
        make_plan(snapshot(BARE, **changes), wishes)


def test_toolkit_and_cgroup_only_on_request() -> None:
    assert {"cuda", "cudnn", "cgroup2"} & set(codes(make_plan(snapshot(BARE), Wishes()))) == set()
    assert {"cuda", "cudnn", "cgroup2"} <= set(codes(make_plan(snapshot(BARE), EVERYTHING)))


def test_the_offline_road_asks_no_repository() -> None:
    plan = make_plan(snapshot(BARE), Wishes(offline="/srv/rpms"))
    assert codes(plan)[0] == "offline_repo"
    assert not {"crb", "epel", "nvidia_repo", "toolkit_repo", "stream"} & set(codes(plan))
    script = plan_script(plan)
    assert "--disablerepo='*' --enablerepo=bedplate-offline" in script
    assert "https://" not in script
    # what the steps install is what the other script fetches
    fetched = fetch_script(plan)
    assert [name for step in plan.steps for name in step.packages if name not in fetched] == []
    assert "kernel=4.18.0-553.5.1.el8_10.x86_64\n" in fetched


def test_what_no_step_mends_is_said() -> None:
    texts = snapshot(HEALTHY, journal_kernel="NVRM: Xid (PCI:0000:2b:00): 79, GPU has fallen off the bus.")
    plan = make_plan(texts, Wishes())
    assert "HOST-GPU-LOST" in [finding.code for finding in plan.by_hand]
    assert "#   HOST-GPU-LOST: " in plan_script(plan)


# what every step of the table must have


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.code)
def test_conformance(step: PlanStep) -> None:
    assert re.fullmatch(r"[a-z][a-z0-9_]*", step.code)
    assert step.title and len(step.why) > 15
    assert step.check and step.do and step.undo
    assert step.stage in (1, 2)
    known = {check.code for check in all_checks()}
    assert [code for code in step.mends if code not in known] == []
    # nothing floats, and nothing waits for an answer
    lines = (*step.check, *step.do, *step.verify, *step.undo)
    text = "\n".join(line for line in lines if not line.startswith("say "))
    assert not re.search(
        r"nvidia-driver:(?:latest|open-dkms)|curl|\|\s*sh\b|--nogpgcheck|\bdnf (?!-y|-q|config-manager)",
        text,
    )
    # files of the host stand under the root that tests can move
    assert not re.search(r"(?<![\w/$\"}:])/(?:etc|var|usr|lib)/", text.replace('"$root"/', ""))
    # what the dnf lines install can be fetched
    if any("dnf_ install" in line for line in step.do) and not step.repository:
        assert step.packages and "offline" in step.uses


def test_codes_are_unique_and_stages_in_order() -> None:
    assert len({step.code for step in STEPS}) == len(STEPS)
    assert [step.stage for step in STEPS] == sorted(step.stage for step in STEPS)


def everything() -> list[str]:
    """Scripts that together hold every step."""
    fabric = BARE["lspci"] + "\n0a:00.0 Bridge [0680]: NVIDIA Corporation [H100 NVSwitch] [10de:22a3]\n" + BLACKWELL
    texts = snapshot(BARE, lspci=fabric, hooks_dir="oci-nvidia-hook.json", installer="Using: nvidia-installer ncurses")
    plans = [make_plan(texts, EVERYTHING), make_plan(texts, dataclasses.replace(EVERYTHING, offline="/srv/rpms"))]
    all_of_them = Plan(plans[0].host, tuple(step for step in STEPS if step.code != "offline_repo"), ())
    return [plan_script(all_of_them), *(plan_script(plan) for plan in plans), *(fetch_script(plan) for plan in plans)]


@pytest.mark.parametrize("shell", [["bash", "-n"], ["dash", "-n"], ["shellcheck", "-s", "sh"]], ids=lambda s: s[0])
def test_the_scripts_are_clean(shell: list[str], tmp_path: Path) -> None:
    if shutil.which(shell[0]) is None:
        pytest.skip(f"{shell[0]} is not installed")
    for number, text in enumerate(everything()):
        path = tmp_path / f"{number}.sh"
        path.write_text(text)
        done = subprocess.run([*shell, str(path)], capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr


def test_the_command_writes_the_script_and_says_what_is_in_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, out = tmp_path / "snapshot", tmp_path / "plan.sh"
    folder.mkdir()
    for name, text in BARE.items():
        (folder / f"{name}.txt").write_text(text)
    assert app.run(["plan", "--snapshot", str(folder), "-o", str(out), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["stream"] == "580-open"
    assert [step["code"] for step in answer["steps"]][-1] == "cdi"
    assert out.read_text().startswith("#!/bin/sh\n# bedplate plan 1\n")
    for options in (["--offline", "a b"], ["--user", "x;y"], ["--cuda", "12"], ["--for", "x"]):
        assert app.run(["plan", "--snapshot", str(folder), "-o", str(out), *options]) == 2

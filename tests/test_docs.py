"""The documents say what the code does: commands, options, links, files, and the example in the README."""

from __future__ import annotations

import dataclasses
import re
import shlex
from pathlib import Path
from typing import Any, get_args

import pytest

from bedplate.cli import app

ROOT = Path(__file__).parents[1]
READMES = (ROOT / "README.md", ROOT / "README.zh.md")
COMMAND_PAGES = ROOT / "docs" / "commands"
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "benchmarks").glob("*.md")])

BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)")
# folders of one machine, and marks of unfinished text
FOREIGN = re.compile(r"/(?:work|home|root|Users|mnt|opt)/\S+|\bTODO\b|\bFIXME\b")


def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def blocks(text: str, *languages: str) -> list[str]:
    """Contents of the fenced blocks in the given languages, or of all."""
    return [body for language, body in BLOCK.findall(text) if not languages or language in languages]


def shown_commands(text: str) -> list[list[str]]:
    """Every `bedplate` and `make` command of the sh blocks, as words."""
    lines = [line for body in blocks(text, "sh") for line in body.splitlines()]
    return [words for words in map(shlex.split, lines) if words and words[0] in ("bedplate", "make")]


def command_of(words: list[str]) -> tuple[Any, list[str]]:
    """The command that `words` call (without "bedplate"), and the words after its name.

    Raises:
        LookupError: there is no such command.
    """
    command = get_command_named(words[0])
    rest = words[1:]
    # a group, such as `tasks check`
    while rest and getattr(command, "commands", None) and not rest[0].startswith("-"):
        if rest[0] not in command.commands:
            raise LookupError(f"no command {' '.join(words)}")
        command, rest = command.commands[rest[0]], rest[1:]
    return command, rest


def get_command_named(name: str) -> Any:
    if name not in app.COMMANDS:
        raise LookupError(f"no command {name}")
    return app._command([name]).commands[name]


def options_of(command: Any) -> set[str]:
    names = [name for param in command.params for name in (*param.opts, *param.secondary_opts)]
    return {"--help", "-h", *(name for name in names if name.startswith("-"))}


def problem_of(words: list[str]) -> str:
    """What is wrong with a shown command, or ""."""
    if words[0] == "make":
        targets = re.findall(r"^([a-z-]+):", text_of(ROOT / "Makefile"), re.MULTILINE)
        return next((f"make has no target {word}" for word in words[1:] if word not in targets), "")
    try:
        command, rest = command_of(words[1:])
    except LookupError as error:
        return str(error)
    known = options_of(command)
    asked = [word.split("=")[0] for word in rest if word.startswith("-")]
    return next((f"{' '.join(words)}: no option {option}" for option in asked if option not in known), "")


@pytest.mark.parametrize("path", PAGES, ids=name_of)
def test_every_shown_command_exists_with_its_options(path: Path) -> None:
    problems = [problem_of(words) for words in shown_commands(text_of(path))]
    assert [problem for problem in problems if problem] == []


@pytest.mark.parametrize(
    "line", ["bedplate trian nav_lidar", "bedplate train nav_lidar --resume x", "bedplate tasks chek x", "make demos"]
)
def test_a_command_that_does_not_exist_is_found(line: str) -> None:
    assert problem_of(shlex.split(line))
    assert shown_commands(f"```sh\n{line}\n```\n") == [shlex.split(line)]


def test_both_readmes_show_the_same_blocks_in_the_same_order() -> None:
    english, chinese = (BLOCK.findall(text_of(path)) for path in READMES)
    assert english == chinese
    assert len(english) >= 6


def test_both_readmes_have_the_same_sections_and_link_to_the_same_pages() -> None:
    texts = [text_of(path) for path in READMES]
    levels = [re.findall(r"^(#+) ", text, re.MULTILINE) for text in texts]
    assert levels[0] == levels[1]
    # each one links to the other
    links = [{link for link in LINK.findall(text) if not link.startswith("README")} for text in texts]
    assert links[0] == links[1]
    assert all("not certified" in text for text in texts)


def broken_links(text: str, folder: Path) -> list[str]:
    """Relative links to a file that does not exist, or to a heading that it does not have."""
    broken = []
    for link in LINK.findall(text):
        if re.match(r"\w+:", link):
            continue
        target, _, anchor = link.partition("#")
        path = (folder / target).resolve()
        if not path.exists() or (anchor and anchor not in anchors(text_of(path))):
            broken.append(link)
    return broken


def anchors(text: str) -> set[str]:
    """Anchors that GitHub gives to the headings of a page."""
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("path", PAGES, ids=name_of)
def test_relative_links_resolve(path: Path) -> None:
    assert broken_links(text_of(path), path.parent) == []


def test_a_broken_link_is_found() -> None:
    text = "[a](no_such.md) [b](README.md#no-such-heading) [c](README.md) [d](https://example.org)"
    assert broken_links(text, ROOT) == ["no_such.md", "README.md#no-such-heading"]


def named_files(text: str) -> list[str]:
    """Paths in backticks inside of table rows."""
    rows = [line for line in text.splitlines() if line.startswith("|")]
    found = [name for row in rows for name in re.findall(r"`([^`]+)`", row)]
    return [name for name in found if re.match(r"(src|tests|docs|benchmarks|scripts)/", name) and "NAME" not in name]


@pytest.mark.parametrize("name", ["ARCHITECTURE.md", "CONTRIBUTING.md"])
def test_the_tables_name_files_that_exist(name: str) -> None:
    files = named_files(text_of(ROOT / name))
    assert len(files) >= 10
    assert [file for file in files if not (ROOT / file).exists()] == []


def test_every_room_is_in_the_architecture() -> None:
    text = text_of(ROOT / "ARCHITECTURE.md")
    rooms = [path.parent.name for path in (ROOT / "src" / "bedplate").glob("*/__init__.py")]
    assert [room for room in rooms if f"`{room}`" not in text] == []


def test_contributing_stays_short() -> None:
    assert len(text_of(ROOT / "CONTRIBUTING.md").splitlines()) < 100


def foreign(text: str) -> list[str]:
    return FOREIGN.findall(text)


@pytest.mark.parametrize("path", PAGES, ids=name_of)
def test_no_page_names_a_folder_of_one_machine(path: Path) -> None:
    assert foreign(text_of(path)) == []


def test_a_machine_path_is_found() -> None:
    assert foreign("see /home/someone/runs and runs/nav") == ["/home/someone/runs"]


def leaves(command: Any) -> list[Any]:
    """A command, or each command of a group and the group itself."""
    return [command, *(leaf for child in getattr(command, "commands", {}).values() for leaf in leaves(child))]


@pytest.mark.parametrize("name", app.COMMANDS)
def test_every_command_has_a_page_that_names_its_options_and_no_others(name: str) -> None:
    text = text_of(COMMAND_PAGES / f"{name}.md")
    assert text.startswith(f"# bedplate {name}\n")
    known = set().union(*(options_of(leaf) for leaf in leaves(get_command_named(name)))) - {"--help", "-h"}
    # the tables of the page list the options
    listed = set()
    for line in text.splitlines():
        if line.startswith("| `"):
            first_cell = line.split(" | ")[0]
            listed |= {word for part in re.findall(r"`([^`]+)`", first_cell) for word in part.split() if word[0] == "-"}
    assert listed == known
    for word in ("Reads", "Writes", "Exit codes"):
        assert f"**{word}**" in text, word


def test_there_is_no_page_of_a_command_that_does_not_exist() -> None:
    assert sorted(path.stem for path in COMMAND_PAGES.glob("*.md")) == sorted(app.COMMANDS)


def described(text: str) -> set[str]:
    """Names in backticks in the first cells of a page's tables."""
    rows = [line for line in text.splitlines() if line.startswith("| `")]
    return {name for row in rows for name in re.findall(r"`([^`]+)`", row.split(" | ")[0])}


def test_every_field_and_every_end_of_serve_json_is_described() -> None:
    from bedplate.runtime.telemetry import ServeReport
    from bedplate.runtime.writer import End

    section = text_of(COMMAND_PAGES / "serve.md").split("## serve.json")[1]
    assert described(section) == {field.name for field in dataclasses.fields(ServeReport)}
    ends = next(line for line in section.splitlines() if line.startswith("| `end`"))
    assert [end for end in ("interrupted", *get_args(End)) if f"`{end}`" not in ends] == []


def test_a_field_that_is_not_described_is_found() -> None:
    assert described("| `ticks`, `seconds` | all `of` them |\ntext `faults`\n") == {"ticks", "seconds"}


def test_the_python_example_of_the_readme_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from bedplate.envs.sb3 import SB3VecEnv
    from bedplate.envs.vec_env import TaskVecEnv
    from bedplate.export.export import export
    from bedplate.learn.config import load_config
    from bedplate.learn.training import make_model
    from bedplate.recipes import recipe_path
    from bedplate.tasks import make_task

    # the bundle that the commands above the example make, without its training
    task = make_task("nav_lidar", {})
    env = SB3VecEnv(TaskVecEnv(task, 4))
    model = make_model(load_config(recipe_path("nav_lidar"), ["env.num_envs=4", "learn.batch_size=256"]), env)
    export(tmp_path / "runs" / "nav" / "bundle", task, model, model.normalizer)
    env.close()

    (example,) = blocks(text_of(READMES[0]), "python")
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    exec(compile(example, "README.md", "exec"), names)
    assert len(names["decision"].command) == 2
    assert names["decision"].fault is None
    assert "forward_speed" in capsys.readouterr().out

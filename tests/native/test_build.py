"""The C sources build with every compiler that is here, with sanitizers, and from C++."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from bedplate.core.errors import BedplateError
from bedplate.runtime.native import library

STRICT = ["-std=c11", "-O3", "-Wall", "-Wextra", "-Werror", "-Wpedantic", "-Wshadow", "-ffp-contract=off"]


def run(command, **options):
    """Run and give the output; a failure shows what the tool said."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("name", ["gcc", "gcc-11", "gcc-12", "clang"])
def test_every_compiler_here_takes_the_sources_without_a_warning(name, source, tmp_path):
    if not shutil.which(name):
        pytest.skip(f"no {name} on this machine")
    for file in sorted((source / "src").glob("*.c")):
        output = tmp_path / f"{file.stem}.o"
        run([name, *STRICT, "-D_GNU_SOURCE", f"-I{source}/include", "-c", str(file), "-o", str(output)])


def test_a_cpp_program_includes_the_header(native, source, tmp_path):
    compiler = shutil.which("g++") or shutil.which("clang++")
    if not compiler:
        pytest.skip("no C++ compiler on this machine")
    shared = library.compiled()
    program = tmp_path / "header"
    strict = ["-std=c++17", "-Wall", "-Wextra", "-Werror", "-Wpedantic"]
    run([compiler, *strict, f"-I{source}/include", f"{source}/tests/header.cpp", str(shared), "-o", str(program)])
    assert run([str(program)], env={"LD_LIBRARY_PATH": str(shared.parent)}).startswith("1 cannot open")


def test_cmake_builds_and_installs(compiler, source, tmp_path):
    if not shutil.which("cmake"):
        pytest.skip("no cmake on this machine")
    build, prefix = tmp_path / "build", tmp_path / "prefix"
    run(["cmake", "-S", str(source), "-B", str(build), f"-DCMAKE_INSTALL_PREFIX={prefix}"])
    run(["cmake", "--build", str(build)])
    run(["cmake", "--install", str(build)])
    assert (prefix / "include" / "bedplate.h").is_file()
    (package,) = prefix.rglob("bedplate.pc")
    assert "-lbedplate" in package.read_text()


def test_without_a_compiler_it_says_so(monkeypatch, tmp_path):
    monkeypatch.setenv("CC", "no-such-compiler")
    with pytest.raises(BedplateError, match="no C compiler"):
        library.compiled()


def test_a_library_of_another_abi_is_refused(compiler, monkeypatch, tmp_path):
    code, shared = tmp_path / "old.c", tmp_path / "old.so"
    code.write_text("unsigned bedplate_abi(void) { return 99; }\n")
    run([compiler, "-shared", "-fPIC", str(code), "-o", str(shared)])
    monkeypatch.setenv("BEDPLATE_NATIVE_LIBRARY", str(shared))
    with pytest.raises(BedplateError, match="ABI 99"):
        library.load_library.__wrapped__()


def test_a_cache_that_others_may_write_to_is_refused(compiler, monkeypatch, tmp_path):
    monkeypatch.setenv("BEDPLATE_CACHE", str(tmp_path))
    folder = tmp_path / "bedplate" / "native"
    folder.mkdir(parents=True)
    folder.chmod(0o777)
    with pytest.raises(BedplateError, match="others may write"):
        library.compiled()


def test_broken_sources_are_named(compiler, monkeypatch, tmp_path):
    monkeypatch.setenv("BEDPLATE_CACHE", str(tmp_path / "cache"))
    (tmp_path / "src").mkdir()
    (tmp_path / "include").mkdir()
    (tmp_path / "include" / "bedplate.h").write_text("")
    (tmp_path / "src" / "broken.c").write_text("int f(void) { return nothing; }\n")
    with pytest.raises(BedplateError, match="failed"):
        library.compiled(tmp_path)


@pytest.mark.parametrize("name", ["part.c", "part.h", "part.inc"])
def test_a_changed_source_is_compiled_anew(name, compiler, monkeypatch, tmp_path):
    monkeypatch.setenv("BEDPLATE_CACHE", str(tmp_path / "cache"))
    (tmp_path / "src").mkdir()
    (tmp_path / "include").mkdir()
    (tmp_path / "include" / "bedplate.h").write_text("")
    (tmp_path / "src" / "whole.c").write_text("int f(void) { return 1; }\n")
    (tmp_path / "src" / name).write_text("/* before */\n")
    before = library.compiled(tmp_path)
    (tmp_path / "src" / name).write_text("/* after */\n")
    assert library.compiled(tmp_path) != before

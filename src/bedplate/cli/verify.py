"""`bedplate verify BUNDLE`: is it what was exported, and does it do here what it did there? Needs no torch."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import Annotated

import typer

from bedplate.cli import render


def verify(
    bundle: Annotated[Path, typer.Argument(help="bundle folder, such as runs/demo/bundle")],
    calls: Annotated[int, typer.Option(min=2000, help="timed calls")] = 5000,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="where verification.json goes")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="print the result as JSON")] = False,
) -> None:
    """Replay a bundle's golden samples, repeat them, and time the call; refuse a bundle that was changed.

    Writes verification.json beside the bundle, never into it. Exit 1 when a gate fails, 2 when the bundle is refused.
    """
    from bedplate.bundle.bundle import read_bundle
    from bedplate.core.errors import BedplateError, GateFailed, StorageError
    from bedplate.core.files import write_json
    from bedplate.runtime.verification import verify as run_verification

    path = output or verification_path(bundle)
    if os.path.realpath(path.parent) == os.path.realpath(bundle):
        raise BedplateError(f"{path} lies in the bundle", "a place outside: nothing writes into a bundle after export")
    result = run_verification(read_bundle(bundle), calls)
    # what was measured is shown even where it cannot be written
    not_written: StorageError | None = None
    try:
        write_json(path, result)
    except StorageError as error:
        not_written = error
    if as_json:
        render.show_json(result)
    else:
        rows = [(gate.name, gate.found, gate.expected, "yes" if gate.passed else "NO") for gate in result.gates]
        render.show_table(f"{bundle}: {result.task}", ("gate", "found", "expected", "passed"), rows)
        latency = result.latency
        render.show_line(
            f"call: p50 {latency.p50_us:.1f} us, p99 {latency.p99_us:.1f} us, p99.9 {latency.p99_9_us:.1f} us "
            f"over {latency.n} calls; {path}"
        )
        if result.native_skipped:
            render.show_note(f"not replayed on the native core: {result.native_skipped}")
        if result.passed:
            folder = shlex.quote(str(bundle))
            render.show_note(f"next: bedplate serve {folder} --link URL, with a robot or `bedplate robot` at the URL")
    if not_written is not None:
        raise not_written
    failed = [gate for gate in result.gates if not gate.passed]
    if failed:
        raise GateFailed(
            "; ".join(f"{gate.name}: {gate.found}" for gate in failed),
            "; ".join(f"{gate.name} {gate.expected}" for gate in failed),
            "do not serve this bundle; export it again, or look at " + str(path),
        )


def verification_path(bundle: Path) -> Path:
    """Where the result of verifying `bundle` goes: beside it; bundles with names of their own keep them apart."""
    from bedplate.runs.layout import BUNDLE, VERIFICATION

    folder = Path(os.path.realpath(bundle))
    return folder.parent / (VERIFICATION if folder.name == BUNDLE else f"{folder.name}.{VERIFICATION}")

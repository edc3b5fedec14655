"""`bedplate export RUN`: a run's policy as a bundle."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from bedplate.cli import render


def export(
    run: Annotated[Path, typer.Argument(help="run folder, such as runs/demo")],
    seed: Annotated[int, typer.Option(min=0, help="seed of the rollouts that golden samples are recorded in")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="print the result as JSON")] = False,
) -> None:
    """Turn a run into a policy bundle: RUN/bundle, replaced in one step if it exists."""
    from bedplate.export.run import export_run
    from bedplate.runs.layout import Run

    result = export_run(Run(run), seed=seed)
    exported = result.exported
    for change in result.changes:
        render.show_warning(f"changed since training: {change}")
    for note in result.notes:
        render.show_warning(note)
    if as_json:
        render.show_json(
            {
                "schema": render.SCHEMA,
                "bundle": exported.folder,
                "bundle_hash": exported.info.bundle_hash,
                "contract_hash": exported.info.contract_hash,
                "files": exported.info.files,
                "samples": exported.samples,
                "parity": exported.parity,
                "native": exported.native,
                "changes": result.changes,
                "notes": result.notes,
            }
        )
        return
    contract = exported.info.contract
    rows = [
        ("signals", ", ".join(f"{signal.name} ({signal.size}, {signal.unit})" for signal in contract.signals)),
        ("command", ", ".join(f"{limit.channel} ({limit.unit})" for limit in contract.limits.channels)),
        ("control period", f"{contract.control_dt_s * 1e3:g} ms"),
        ("golden samples", str(exported.samples)),
        ("parity", f"{exported.parity.max_error:.2g} of half the channel's range"),
        ("native core", exported.native or "policy.bpw"),
        ("contract", exported.info.contract_hash[:16]),
        ("bundle", exported.info.bundle_hash[:16]),
    ]
    render.show_table(f"{exported.folder}: {contract.task}", ("what", "value"), rows)
    render.show_note(f"next: bedplate verify {shlex.quote(str(exported.folder))}")

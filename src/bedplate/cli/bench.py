"""`bedplate bench`: our speed beside our peers', measured in one run."""

from __future__ import annotations

import functools
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import bedplate
from bedplate.cli import render
from bedplate.core.errors import BedplateError, GateFailed

if TYPE_CHECKING:
    from benchmarks.engine.measure import Row
    from benchmarks.engine.owed import Verdict

bench = typer.Typer(no_args_is_help=True)


@bench.callback()
def _group() -> None:
    """Measure our speed beside our peers', all in one run; exit 1 when an owed ratio is missed."""


@bench.command()
def engine(
    task: Annotated[str, typer.Option(help="Tasks to measure, separated by commas.")] = "half_cheetah,ant",
    envs: Annotated[int, typer.Option(min=1, help="Worlds of our engine and of the raw batch.")] = 1024,
    rounds: Annotated[int, typer.Option(min=1, help="Slices of time per contestant, interleaved.")] = 7,
    seconds: Annotated[float, typer.Option(min=0.05, help="Length of a slice.")] = 1.0,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Environment steps per second with observation and reward, under random actions.

    Raises:
        GateFailed: an owed ratio is missed.
    """
    _find_benchmarks()
    from benchmarks.engine.measure import measure
    from benchmarks.engine.owed import judge

    results: dict[str, tuple[list[Row], list[Verdict]]] = {}
    for name in task.split(","):
        rows = measure(name, envs, rounds, seconds, functools.partial(_progress, name))
        results[name] = (rows, judge(name, {row.name: row.rounds for row in rows}))
    if as_json:
        render.show_json(_as_json(results))
    else:
        for name, (rows, verdicts) in results.items():
            _show(name, rows, verdicts)
    missed = [(name, v) for name, (_, verdicts) in results.items() for v in verdicts if not v.paid]
    if missed:
        name, verdict = missed[0]
        raise GateFailed(
            f"{len(missed)} owed ratios are missed, first: {name} is {verdict.ratio:.2f} x {verdict.peer}",
            f"at least {verdict.owed:g} x",
            "run again on a quiet machine: other load slows many processes less than one",
        )


@bench.command()
def native(
    rounds: Annotated[int, typer.Option(min=1, help="Slices of 2000 calls per contestant, interleaved.")] = 7,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Latency of one call of a 17-256-256-6 tanh network: native core beside ONNX Runtime, both called from Python.

    Raises:
        GateFailed: the native core is not three times as fast, or its p99 is above 10 us.
    """
    _find_benchmarks()
    from benchmarks.native.measure import OWED_P99_US, OWED_RATIO, measure

    results, difference = measure(rounds)
    ours, peer = results
    ratio = peer.p50_us / ours.p50_us
    if as_json:
        render.show_json(
            {
                "schema": render.SCHEMA,
                "unit": "microseconds",
                "contestants": results,
                "ratio": ratio,
                "owed": {"ratio": OWED_RATIO, "p99_us": OWED_P99_US},
                "largest_difference": difference,
            }
        )
    else:
        render.show_table(
            f"17-256-256-6 tanh: median of {rounds} rounds; answers differ by at most {difference:.1e}",
            ("contestant", "p50 us", "p99 us"),
            [(row.name, f"{row.p50_us:.2f}", f"{row.p99_us:.2f}") for row in results],
        )
    # written so that NaN fails
    if not (ratio >= OWED_RATIO and ours.p99_us <= OWED_P99_US):
        raise GateFailed(
            f"the native core is {ratio:.2f} x as fast as ONNX Runtime, its p99 is {ours.p99_us:.1f} us",
            f"at least {OWED_RATIO:g} x, at most {OWED_P99_US:g} us",
            "run again on a quiet machine: other load moves both figures",
        )


def _find_benchmarks() -> None:
    """Make the folder benchmarks/ importable; it belongs to the source, not to the installed package."""
    root = Path(bedplate.__file__).resolve().parents[2]
    if not (root / "benchmarks" / "engine").is_dir():
        raise BedplateError(
            f"{root} holds no benchmarks folder", "a source checkout of Bedplate", "run bedplate bench from a checkout"
        )
    if str(root) not in sys.path:
        sys.path.insert(0, str(root))


def _progress(task: str, who: str, done: int) -> None:
    render.show_note(f"{task}: slice {done + 1}, {who}")


def _show(task: str, rows: list[Row], verdicts: list[Verdict]) -> None:
    from benchmarks.engine.owed import OURS, ratio

    rounds = {row.name: row.rounds for row in rows}
    table = [
        (
            row.name,
            row.note,
            f"{row.median:,.0f}",
            f"{row.spread:.0%}",
            f"{ratio(rounds[OURS], row.rounds):.2f}",
        )
        for row in sorted(rows, key=lambda row: -row.median)
    ]
    render.show_table(
        f"{task}: environment steps per second, median of {len(rows[0].rounds)} rounds",
        ("contestant", "set-up", "steps/s", "spread", "ours is x times"),
        table,
    )
    render.show_table(
        f"{task}: owed",
        ("compared with", "ratio", "owed", ""),
        [(v.peer, f"{v.ratio:.2f}", f"{v.owed:g}", "paid" if v.paid else "MISSED") for v in verdicts],
    )


def _as_json(results: dict[str, tuple[list[Row], list[Verdict]]]) -> dict[str, Any]:
    return {
        "schema": render.SCHEMA,
        "unit": "environment steps per second",
        "tasks": {
            name: {
                "contestants": [
                    {"name": r.name, "set_up": r.note, "median": r.median, "spread": r.spread, "rounds": list(r.rounds)}
                    for r in rows
                ],
                "owed": [{"peer": v.peer, "ratio": v.ratio, "owed": v.owed, "paid": v.paid} for v in verdicts],
            }
            for name, (rows, verdicts) in results.items()
        },
    }

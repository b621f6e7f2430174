from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from steelyard.cli._options import Json, OnePath
from steelyard.cli._print import Terminal, console, print_findings, print_json
from steelyard.demo import EXAMPLES, EXPERIMENT, demo_files, demo_runs
from steelyard.errors import UsageError
from steelyard.pages import check_file, check_folder, writing
from steelyard.questions.measure import measure as measure_runs
from steelyard.records import encode_run

NEXT = """\
These runs are synthetic: no agent ran. Next steps:
  steelyard demo --write demo    write all types of example data
  steelyard report demo/runs.jsonl --by tier    write an HTML report
  steelyard explain demo/runs.jsonl composite_score --by tier
  steelyard metrics              list metrics and their formulas
  steelyard schema run           print the schema of a run record
"""
ONE_FILE = ".jsonl"


def demo(
    *,
    write: Annotated[
        OnePath | None,
        Parameter(help="Directory for example data of every type, or a .jsonl file for 1,400 runs."),
    ] = None,
    report: Annotated[OnePath | None, Parameter(help="Report file: .html or .md.")] = None,
    json: Json = False,
) -> int:
    """Create synthetic example data and a sample report.

    Example: steelyard demo
    Example: steelyard demo --write demo
    """
    if report is not None:
        check_file(report, endings=(".html", ".md"))
    runs = list(demo_runs())
    if write is not None:
        _write(write)
        return 0
    result = measure_runs(runs, by=["tier"])
    if json:
        print_json(result.to_dict())
        return 0
    terminal = console()
    terminal.print(f"Experiment {EXPERIMENT}: 7 tiers x 20 tasks x 10 runs of synthetic data.")
    terminal.print_page(result.page())
    terminal.print(NEXT)
    if report is not None:
        from steelyard.questions.report import report as make_report  # imports every command

        make_report(runs, title="Seven tiers of a synthetic experiment", by=["tier"]).save(report)
        terminal.print(f"wrote {report}: open it in a browser")
    print_findings(result.findings)
    return 0


def _write(place: Path) -> None:
    terminal = console(stderr=True)
    if place.suffix.lower() == ONE_FILE:
        check_file(place)
        with writing(place):
            place.write_bytes(b"".join(encode_run(run) + b"\n" for run in demo_runs()))
        terminal.print(f"wrote 1,400 synthetic runs to {place}")
        return
    check_folder(place)
    if place.is_dir() and any(place.iterdir()):
        raise UsageError(f"{place} is not empty", hint="choose an empty or new folder")
    with writing(place):
        for name, content in demo_files():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            (place / name).write_bytes(content)
    _print_next_steps(console(), place)


def _print_next_steps(terminal: Terminal, folder: Path) -> None:
    terminal.print(f"{folder} contains synthetic data of every type. No agent ran.")
    for example in EXAMPLES:
        terminal.print()
        terminal.print(example.title)
        for command in example.commands:
            terminal.print(f"  {command.format(folder=folder)}", indent="    ")

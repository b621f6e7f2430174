from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from steelyard.records import encode_run
from steelyard.reports import check_file, writing
from steelyard.surfaces.cli._options import Json, OnePath
from steelyard.surfaces.cli._print import console, print_findings, print_json
from steelyard.workflow import EXPERIMENT, demo_runs
from steelyard.workflow.measure import measure as weigh

NEXT = """These runs are synthetic: no agent ran. Where to go next:
  steelyard demo --write runs.jsonl                    keep the 1,400 records
  steelyard measure runs.jsonl --by tier,task          weigh them your way; --all shows every statistic
  steelyard report runs.jsonl                          the same and more as one HTML file
  steelyard explain runs.jsonl composite_score --run demo-T3-fix-race-01
  steelyard metrics                                    what each number means
  steelyard schema run                                 what a record of your own looks like
"""


def demo(
    *,
    write: Annotated[
        OnePath | None, Parameter(help="Write the 1,400 synthetic run records to this file instead.")
    ] = None,
    report: Annotated[OnePath | None, Parameter(help="Write a report on them to this file too: .html or .md.")] = None,
    json: Json = False,
) -> int:
    """Weigh seven tiers of a labeled synthetic experiment.

    Example: steelyard demo
    """
    if report is not None:
        check_file(report, endings=(".html", ".md"))
    runs = list(demo_runs())
    if write is not None:
        check_file(write)
        with writing(write):
            write.write_bytes(b"".join(encode_run(run) + b"\n" for run in runs))
        console(stderr=True).print(f"wrote {len(runs)} synthetic runs to {write}")
        return 0
    result = weigh(runs, by=["tier"])
    if json:
        print_json(result.to_dict())
        return 0
    from steelyard.reports import measurement_tables

    terminal = console()
    terminal.print(f"Experiment {EXPERIMENT}: 7 tiers x 20 tasks x 10 runs, made up for this demonstration\n")
    for table in measurement_tables(result):
        terminal.print(table)
    terminal.print(NEXT)
    if report is not None:
        from steelyard.workflow.report import report as make_report  # brings every verb

        make_report(runs, title="Seven tiers of a made-up experiment", by=["tier"]).save(report)
        terminal.print(f"\nwrote {report}: open it in a browser")
    print_findings(result.all_findings)
    return 0

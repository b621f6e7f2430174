from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from steelyard.surfaces.cli._options import Json, ProfileOption, Quiet, SkipBad, split_names
from steelyard.surfaces.cli._print import console, print_findings, print_json

Inputs = Annotated[
    list[Path],
    Parameter(help="Run records with output.text, folders of output files, or SKYT experiment files.", negative=""),
]


def repeat(
    inputs: Inputs,
    /,
    *,
    contract: Annotated[
        Path | None, Parameter(help="What an answer must do: a TOML or JSON file, or a folder.")
    ] = None,
    tau: Annotated[float | None, Parameter(help="Distance up to which an output is nearly the canon; 0.10.")] = None,
    level: Annotated[str | None, Parameter(help="Normalisation: text, ast, tree or names.")] = None,
    language: Annotated[str | None, Parameter(help="The language of the outputs, where nothing else says it.")] = None,
    no_repair: Annotated[bool, Parameter(help="Use stored repairs, or none.", negative="")] = False,
    by: Annotated[str, Parameter(help="What makes run records one prompt, separated by commas.")] = "task,agent,model",
    profile: ProfileOption = "repeatability-1",
    store: Annotated[str, Parameter(help="Where canons are kept.")] = "sqlite:///steelyard.db",
    no_store: Annotated[bool, Parameter(help="Keep the canon for this call only.", negative="")] = False,
    unsafe: Annotated[
        bool, Parameter(help="Run code with limits only where nothing isolates it.", negative="")
    ] = False,
    csv: Annotated[Path | None, Parameter(help="Write distances, repairs and metrics as CSV into this folder.")] = None,
    samples: Annotated[bool, Parameter(help="With --json, list every output too.", negative="")] = False,
    json: Json = False,
    skip_bad: SkipBad = False,
    quiet: Quiet = False,
) -> int:
    """Measure how alike the answers to one prompt are, before and after repair towards the canon.

    Example: steelyard repeat outputs/ --contract binary_search.toml
    """
    from steelyard.reports.repeatability import CsvLogs  # with the next it brings rapidfuzz
    from steelyard.workflow.repeat import RepeatOptions
    from steelyard.workflow.repeat import repeat as measure

    options = RepeatOptions(
        contract=contract,
        tau=tau,
        level=level,
        language=language,
        repair=not no_repair,
        by=tuple(split_names(by)),
        profile=profile,
        store=None if no_store else store,
        unsafe=unsafe,
    )
    found = measure(list(inputs), options=options)
    if csv is None:
        results = list(found.results)
    else:
        with CsvLogs(csv) as logs:
            results = list(logs.write(found.results))
    if json:
        print_json([result.to_dict(samples=samples) for result in results])
    else:
        from steelyard.reports.repeatability_terminal import (
            MOST_BARS,
            distance_bars,
            repeatability_table,
        )  # brings rich

        terminal = console()
        terminal.print(repeatability_table(results))
        for result in results:
            if result.canon is not None and len(results) <= MOST_BARS:
                for line in distance_bars(result):
                    terminal.print(line, markup=False)
    if not quiet:
        rejected = [one.as_finding() for one in found.rejected]
        print_findings([*rejected, *(finding for result in results for finding in result.findings)])
    return 1 if found.rejected and not skip_bad else 0

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter

from steelyard.cli._canon import canon
from steelyard.cli._options import DRAWN_FORMATS, FigureName, NoCsvEscape, OnePath, Paths
from steelyard.cli._output import (
    SHOWING,
    Showing,
    check_csv_escape,
    check_drawing,
    check_printed,
    print_written,
    save_result,
)
from steelyard.cli._print import console, print_findings, print_json, print_text, progress_bar
from steelyard.cli._typed import Typed, typed
from steelyard.errors import UsageError
from steelyard.pages import FIGURE_ENDINGS, RESULT_ENDINGS, check_file, check_folder, csv_text
from steelyard.questions import RepeatabilityOptions
from steelyard.reports import RepeatabilityFiles, repeatability_sentence
from steelyard.results import Repeatability

if TYPE_CHECKING:
    from steelyard.results import PromptResult

Inputs = Annotated[
    Paths,
    Parameter(
        help="Run records with output.text (- for stdin), directories of output files, or SKYT experiment files."
    ),
]


DEFAULTS = typed(RepeatabilityOptions)()

repeatability = App(
    name="repeatability",
    help="Measure how repeatable outputs are, before and after repair.",
    help_format="plaintext",
)
repeatability.command(canon)


@repeatability.default
def repeatability_command(
    inputs: Inputs,
    /,
    *,
    options: Typed[RepeatabilityOptions] = DEFAULTS,
    list_outputs: Annotated[bool, Parameter(help="List every output.", negative="")] = False,
    csv: Annotated[bool, Parameter(name="--csv", help="Print the metrics as CSV.", negative="")] = False,
    no_csv_escape: NoCsvEscape = False,
    out: Annotated[
        OnePath | None,
        Parameter(
            alias="-o",
            help=f"Write the result to FILE, or CSV files to a directory; for a file, {DRAWN_FORMATS}",
        ),
    ] = None,
    figure: FigureName = None,
    showing: Showing = SHOWING,
) -> int:
    """Measure how repeatable outputs are, before and after repair toward a reference output (canon).

    Example: steelyard repeatability outputs/ --contract binary_search.toml
    """
    from steelyard.questions.repeatability import measure_repeatability  # imports rapidfuzz

    if list_outputs and not showing.json and (csv or out is not None):
        raise UsageError(
            "--list-outputs requires table or JSON output",
            hint="use --json --list-outputs, or write CSV files with --out DIR/",
        )
    check_printed(json=showing.json, csv=csv)
    check_csv_escape(no_csv_escape=no_csv_escape, csv=csv, out=out)
    is_file = out is not None and out.suffix.lower() in (*RESULT_ENDINGS, *FIGURE_ENDINGS) and not out.is_dir()
    folder = None if is_file else out
    if not check_drawing(Repeatability, figure, out) and out is not None:
        check_file(out, endings=RESULT_ENDINGS) if is_file else check_folder(out)
    with (
        progress_bar(shown=not showing.quiet, doing="comparing", noun="prompts") as progress,
        nullcontext() if folder is None else RepeatabilityFiles(folder, no_csv_escape=no_csv_escape) as files,
    ):

        def add(prompt: PromptResult) -> None:
            if files is not None:
                files.add(prompt)
            if progress is not None:
                progress(prompt.prompt, 1)

        result = measure_repeatability(inputs, options, add)
    if is_file:
        save_result(result, figure, out, no_csv_escape=no_csv_escape)
    if showing.json:
        print_json(result.to_dict(samples=list_outputs))
    elif csv:
        print_text(csv_text(result.to_dicts(), raw=no_csv_escape))
    elif out is not None:
        print_written(out, [repeatability_sentence(result)])
    else:
        _show(result, list_outputs=list_outputs)
    if not showing.quiet:
        print_findings(result.all_findings)
    return showing.status(len(result.rejected))


def _show(result: Repeatability, *, list_outputs: bool) -> None:
    from steelyard.reports import MAX_BARS, distance_bars, output_table, repeatability_table

    terminal, prompts = console(), result.prompts
    terminal.print(repeatability_sentence(result))
    terminal.print()
    terminal.print(repeatability_table(prompts))
    outputs = output_table(prompts, failing=not list_outputs)
    if outputs.rows:
        terminal.print(outputs)
    for prompt in prompts:
        if prompt.canon is not None and prompt.samples and len(prompts) <= MAX_BARS:
            for line in distance_bars(prompt):
                terminal.print(line)

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from steelyard.cli._options import Files, OnePath
from steelyard.cli._output import DRAWN_OUTPUT, DrawnOutput
from steelyard.cli._print import console, print_findings, reading_progress
from steelyard.cli._typed import Typed
from steelyard.pages import check_file, clean, writing
from steelyard.questions import GateOptions
from steelyard.questions.gate import gate as hold
from steelyard.reports import gate_sentence
from steelyard.results import Gate


def gate(
    files: Files,
    /,
    *,
    options: Typed[GateOptions],
    summary: Annotated[OnePath | None, Parameter(help="Append a Markdown summary to this file.")] = None,
    output: DrawnOutput = DRAWN_OUTPUT,
) -> int:
    """Check results against thresholds or a baseline (for CI).

    Exit status: 0 pass, 3 fail, 4 inconclusive.

    Example: steelyard gate new.jsonl --baseline main.jsonl --rule "pass_rate >= baseline - 0.02"
    """
    output.check_drawn(Gate, markdown=True)
    if summary is not None:
        check_file(summary)
    with reading_progress(shown=not output.quiet) as progress:
        result = hold(files, options=options, progress=progress)
    if summary is not None:
        with writing(summary), summary.open("a", encoding="utf-8") as file:
            file.write(_markdown(result))
    status = result.exit_code or output.status(result.rejected_count)
    output.give(
        result,
        lambda: _show(result),
        sentences=lambda: [gate_sentence(result).text, *(check.sentence for check in result.checks)],
        markdown=lambda: _markdown(result),
        values=lambda: result.to_dict() | {"exit_code": status},
    )
    if not output.quiet:
        print_findings(result.findings)
    return status


def _show(result: Gate) -> None:
    from steelyard.reports import gate_table

    terminal = console()
    sentence = gate_sentence(result)
    terminal.print(sentence.text, style=sentence.style)
    terminal.print()
    terminal.print(gate_table(result))
    for check in result.checks:
        terminal.print(clean(check.sentence))


def _markdown(result: Gate) -> str:
    from steelyard.reports import gate_markdown

    return gate_markdown(result)

"""Page of a report: one part per section, each with the command that prints its numbers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from steelyard import pages  # its names are imported on first use
from steelyard.formatting import counted
from steelyard.questions._run_rows import run_columns
from steelyard.questions.report._answer import Report, ReportOutput

if TYPE_CHECKING:
    from steelyard.pages import Page


def page(answer: Report) -> Page:
    """Return the sections in order, below the answer of the first one."""
    parts = tuple(_parts(answer))
    lead = next((part.answer for part in parts if part.name in answer.results), answer.sentence)
    return pages.Page(
        name="report",
        title=answer.title,
        answer=lead,
        # without runs there are repeated outputs or timings
        notes=(answer.sentence,) if answer.run_count and lead != answer.sentence else (),
        parts=parts,
        facts=(
            *(("input", f"{each.name}, sha256 {each.sha256 or 'unknown'}") for each in answer.inputs),
            ("profile", answer.profile),
            ("prices", answer.prices),
            *(() if answer.redact else (("redacted", "no: keys and tokens are not redacted"),)),
            *((f"no {name} section", reason) for name, reason in answer.omitted.items()),
            ("made by", f"Steelyard {answer.version}"),
            ("command", answer.commands["report"]),
        ),
    )


def _parts(answer: Report) -> Iterator[Page]:
    for name in answer.sections:
        if name in answer.results:
            part = answer.results[name].page()
            if name == "measure" and answer.ranking is not None:  # the ranking has the same figures
                part = replace(part, draw=None)
            yield replace(part, name=name, facts=(*part.facts, ("command", answer.commands[name])))
        elif name == "findings":
            yield pages.findings_page(answer.findings, rejected=answer.rejected_count)
        elif name == "runs" and answer.run_count:
            yield _runs(answer)
        elif name == "outputs" and answer.outputs:
            yield _outputs(answer)


def _runs(answer: Report) -> Page:
    """Return one row per run; what all have in common is below the table."""
    columns = list(run_columns(answer.runs).values())
    same = [column for column in columns if len(answer.runs) > 1 and len(set(column.values)) == 1]
    table = pages.PageTable(
        caption="Runs",
        columns=tuple(column for column in columns if column not in same),
        left_out=answer.run_count - len(answer.runs),
    )
    return pages.Page(
        name="runs",
        title="What ran, and what did each run cost?",
        answer=answer.sentence,
        table=table if table.columns else None,
        facts=(
            *((f"{column.name.replace('_', ' ')} of all", str(column.values[0])) for column in same),
            ("profile", answer.profile),
            ("prices", answer.prices),
        ),
        is_data=True,
    )


def _outputs(answer: Report) -> Page:
    """Return what each run wrote, folded."""
    truncated = sum(output.left_out > 0 for output in answer.outputs)
    sentences = [
        f"{counted(len(answer.outputs), 'output')}.",
        f"{counted(answer.outputs_left_out, 'output')} omitted." if answer.outputs_left_out else "",
        f"{counted(truncated, 'output')} truncated." if truncated else "",
    ]
    return pages.Page(
        name="outputs",
        title="What did the agents write?",
        answer=" ".join(filter(None, sentences)),
        texts=tuple(pages.LongText(heading=_heading(output), text=_text(output)) for output in answer.outputs),
        is_data=True,
    )


def _heading(output: ReportOutput) -> str:
    return ", ".join(filter(None, (output.task, output.agent, output.run)))


def _text(output: ReportOutput) -> str:
    return output.text if not output.left_out else f"{output.text}\n... {output.left_out:,} more characters"

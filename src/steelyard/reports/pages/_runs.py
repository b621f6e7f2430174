"""What ran: every run with its verdict, its score, its cost and its time; and what the agents wrote."""

from __future__ import annotations

from collections.abc import Sequence

from steelyard.formatting import counted
from steelyard.metrics import catalog
from steelyard.pages import Facts, LongText, Page, PageTable, run_column
from steelyard.results import ReportOutput, RunRows


def runs_page(rows: RunRows, facts: Facts = ()) -> Page:
    """Return one row per run."""
    same = {name: str(values[0]) for name, values in rows.columns.items() if rows.count > 1 and len(set(values)) == 1}
    columns = [run_column(name, values, catalog()) for name, values in rows.columns.items() if name not in same]
    return Page(
        name="runs",
        title="What ran, and what did each run cost?",
        answer=rows.sentence,
        table=PageTable(caption="Runs", columns=tuple(columns), left_out=rows.total - rows.count) if columns else None,
        facts=(*((f"{name.replace('_', ' ')} of all", value) for name, value in same.items()), *facts),
    )


def outputs_page(outputs: Sequence[ReportOutput], *, left_out: int) -> Page:
    """What each run wrote, folded."""
    cut = sum(output.left_out > 0 for output in outputs)
    sentences = [
        f"{counted(left_out, 'output')} omitted." if left_out else "",
        f"{counted(cut, 'output')} truncated." if cut else "",
    ]
    texts = tuple(LongText(heading=_heading(output), text=_text(output)) for output in outputs)
    return Page(
        name="outputs",
        title="What did the agents write?",
        answer=" ".join(filter(None, [f"{counted(len(outputs), 'output')}.", *sentences])),
        texts=texts,
    )


def _heading(output: ReportOutput) -> str:
    return ", ".join(filter(None, (output.task, output.agent, output.run)))


def _text(output: ReportOutput) -> str:
    return output.text if not output.left_out else f"{output.text}\n... {output.left_out:,} more characters"

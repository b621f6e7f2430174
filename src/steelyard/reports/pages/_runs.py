"""What ran: every run with its verdict, its score, its cost and its time; and what the agents wrote."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from steelyard.formatting import counted
from steelyard.metrics import catalog
from steelyard.pages import Column, Facts, LongText, Page, PageTable, id_path, text_column
from steelyard.results import ReportOutput, RunList, RunRows

DECIMALS = {"USD": 4, "s": 1, "tokens": 0, "tool calls": 0, "iterations": 0, "fraction": 3, "ratio": 3}
COUNTS = {"attempt": "attempt", "total_tokens": "tokens"}
DIGEST = re.compile(r"[0-9a-f]{40,}\Z")
MIN_ID_LENGTH = 12


def runs_page(rows: RunRows, facts: Facts = ()) -> Page:
    """Return one row per run."""
    same = {name: str(values[0]) for name, values in rows.columns.items() if rows.count > 1 and len(set(values)) == 1}
    columns = [_column(name, values) for name, values in rows.columns.items() if name not in same]
    return Page(
        name="runs",
        title="What ran, and what did each run cost?",
        answer=rows.sentence,
        table=PageTable(caption="Runs", columns=tuple(columns), left_out=rows.total - rows.count) if columns else None,
        facts=(*((f"{name.replace('_', ' ')} of all", value) for name, value in same.items()), *facts),
    )


def run_list_page(result: RunList) -> Page:
    """One row a run, which its id leads to."""
    columns = []
    for name in result.runs[0] if result.runs else ():
        column = _column(name, [run[name] for run in result.runs])
        if name == "run":
            column = replace(column, links=[id_path("runs", str(run["run"])) for run in result.runs])
        columns.append(column)
    return Page(
        name="runs",
        title="What ran, and what did each run cost?",
        answer=result.sentence,
        table=PageTable(caption="Runs", columns=tuple(columns)),
        facts=(("profile", result.profile), ("prices", result.prices)),
    )


def _column(name: str, values: Sequence[str | float | None]) -> Column:
    if name in COUNTS:
        return Column(name=name, title=COUNTS[name], values=values, decimals=0)
    if name not in catalog():
        shown = [value if value is None else str(value) for value in values]
        return text_column(name, name.replace("_", " "), _short_ids(shown) if name == "run" else shown)
    declared = catalog()[name]
    unit = "" if declared.unit in ("fraction", "ratio") else f", {declared.unit}"
    return Column(
        name=name, title=declared.title.lower() + unit, values=values, decimals=DECIMALS.get(declared.unit, 3)
    )


def _short_ids(ids: Sequence[str | None]) -> list[str | None]:
    """Ids made from a record's content are cut as far as all stay different; `explain --run` takes the beginning."""
    digests = [id_ for id_ in ids if id_ is not None and DIGEST.match(id_)]
    length = MIN_ID_LENGTH
    while length < 40 and len({id_[:length] for id_ in digests}) < len(set(digests)):
        length += 4
    return [id_[:length] if id_ is not None and DIGEST.match(id_) else id_ for id_ in ids]


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

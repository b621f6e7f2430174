"""Page of one run: its metrics with their inputs, its parts and its output."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from steelyard import pages  # its names are imported on first use
from steelyard.formatting import at_least, counted, quantity
from steelyard.questions.explain import ExplainedValue, value_columns
from steelyard.questions.show._answer import RunDetail
from steelyard.records import Run, tier_text

if TYPE_CHECKING:
    from steelyard.pages import Facts, LongText, Page, PageLink, PageTable

INSIDE = "└"
"""Indentation per level; pages collapse spaces."""
TERMINAL_ROWS = 60
"""Rows of a table that a terminal shows."""


def page(answer: RunDetail) -> Page:
    """Return the metrics of a run, its parts and its output."""
    tables = [replace(table, terminal_rows=TERMINAL_ROWS) for table in (_numbers(answer), *_parts(answer))]
    made = pages.Page(
        name="run",
        title=f"Run {answer.run}",
        answer=_sentence(answer),
        notes=tuple(_notes(answer)),
        links=tuple(_links(answer)),
        table=tables[0],
        also=tuple(tables[1:]),
        texts=tuple(_texts(answer)),
        facts=_facts(answer),
    )
    return pages.with_figures(made, answer, ("tokens", "calls"))


def _sentence(answer: RunDetail) -> str:
    record, tests = answer.record, answer.record.tests
    who = " / ".join(name for name in (record.agent, record.model) if name) or "an unnamed agent"
    parts = [f"{answer.verdict.capitalize()}: {record.task}, {who}"]
    parts += [f"attempt {record.attempt}"] if record.attempt is not None else []
    if tests is not None and tests.total:
        parts.append(f"{tests.total - tests.not_passed:,} of {counted(tests.total, 'test')} passed")
    parts += [
        at_least(quantity(value, unit), is_bound=_is_bound(answer, name))
        for name, unit in _SHOWN
        if (value := answer.number(name)) is not None
    ]
    parts += [counted(len(answer.calls), "call")] if answer.calls else []
    return ", ".join(parts) + "."


def _is_bound(answer: RunDetail, name: str) -> bool:
    provenance = answer.record.provenance or {}
    if name == "cost_usd":
        priced_low = (
            _has_provenance(answer.numbers, "priced_cost_usd", "lower_bound") and answer.record.cost_usd is None
        )
        return bool(answer.record.cost_is_lower_bound) or priced_low
    return name == "total_tokens" and provenance.get("usage") == "lower_bound"


def _has_provenance(parts: Sequence[ExplainedValue], name: str, word: str) -> bool:
    """Whether an input of this name has this provenance."""
    return any(
        (part.name == name and part.provenance == word) or _has_provenance(part.inputs, name, word) for part in parts
    )


_SHOWN = (("cost_usd", "USD"), ("duration_seconds", "s"), ("total_tokens", "tokens"))


def _notes(answer: RunDetail) -> Iterator[str]:
    record, position = answer.record, answer.position
    yield f"Run {position.number:,} of {position.count:,}, read from {answer.where}."
    about = [f"tier {tier_text(record.tier, record.tier_scheme)}"] if record.tier is not None else []
    about += [f"started {record.started_at.isoformat(sep=' ', timespec='seconds')}"] if record.started_at else []
    about += [f"claims success: {'yes' if record.success else 'no'}"] if record.success is not None else []
    if about:
        yield f"{about[0][0].upper()}{', '.join(about)[1:]}."
    yield f"Profile {answer.profile}, prices {answer.prices}."
    if record.failure is not None:
        yield f"Failed ({record.failure.cause}): {record.failure.message or 'no reason in the log'}"
    reported, priced = (_fact(answer.numbers, name) for name in ("reported_cost_usd", "priced_cost_usd"))
    if reported is not None and priced is not None and abs(priced - reported) > 0.01 * max(priced, reported):
        yield f"Reported cost: {quantity(reported, 'USD')}; cost by the price table: {quantity(priced, 'USD')}."
    difference = answer.difference
    if difference is not None:
        yield (
            f"Diff with {difference.base}: {counted(difference.added, 'line')} added, {difference.removed:,} removed."
            if difference.added or difference.removed
            else f"Diff with {difference.base}: identical output."
        )
        if not difference.is_shortest:
            yield "The outputs are long: the diff is complete but may not be minimal."


def _links(answer: RunDetail) -> Iterator[PageLink]:
    """Yield links to neighboring runs and to other pieces of long texts."""
    difference = answer.difference
    kept = {} if difference is None else {"diff": difference.base}
    position = answer.position
    for relation, word, id_ in (("prev", "Previous", position.previous), ("next", "Next", position.next)):
        if id_ is not None:
            yield pages.PageLink(text=f"{word} run", path=_address(id_, {}), relation=relation)
    pieces = [("offset", "output", answer.output)]
    pieces += [("diff_offset", "diff", difference.changes)] if difference is not None else []
    shown = {name: piece.offset for name, _, piece in pieces if piece is not None and piece.offset}
    for name, what, piece in pieces:
        for word, offset in () if piece is None else (("Earlier", piece.previous_offset), ("More", piece.next_offset)):
            if offset is not None:
                yield pages.PageLink(text=f"{word} {what}", path=_address(answer.run, kept | shown | {name: offset}))


def _address(run: str, query: Mapping[str, object]) -> str:
    asked = urlencode({name: value for name, value in query.items() if value})
    return pages.id_path("runs", run) + (f"?{asked}" if asked else "")


def _fact(parts: Sequence[ExplainedValue], name: str) -> float | None:
    """Return the input of this name."""
    for part in parts:
        if part.name == name:
            return part.value
        inner = _fact(part.inputs, name)
        if inner is not None:
            return inner
    return None


def _numbers(answer: RunDetail) -> PageTable:
    """Return the table of metrics, each followed by its inputs; missing ones are last."""
    names = {each.name for each in answer.numbers}
    rows = [row for each in answer.numbers if not each.reason for row in _walked(each, names)]
    rows += [(0, each) for each in answer.numbers if each.reason]
    return pages.PageTable(caption="Metrics and their inputs", columns=value_columns(rows))


def _walked(part: ExplainedValue, names: set[str], depth: int = 0) -> Iterator[tuple[int, ExplainedValue]]:
    """Yield a metric and its inputs with their depth, each expanded once."""
    yield depth, part
    for inner in part.inputs if not depth or part.name not in names else ():
        yield from _walked(inner, names, depth + 1)


def _parts(answer: RunDetail) -> Iterator[PageTable]:
    record = answer.record
    yield from _tests(record)
    yield from _judgments(record)
    yield from _steps(record)
    if answer.calls:
        yield pages.PageTable(
            name="calls",
            caption=f"Calls ({len(answer.calls):,})",
            columns=(
                pages.level_column("seconds", "after", [call.seconds for call in answer.calls], "s"),
                pages.text_column("model", "model", [call.model for call in answer.calls]),
                pages.count_column("tokens", "tokens", [call.tokens for call in answer.calls]),
                pages.level_column("cost_usd", "cost", [call.cost_usd for call in answer.calls], "USD"),
            ),
        )
    if record.components:
        yield pages.PageTable(
            name="component",
            caption=f"Tokens by component ({len(record.components):,})",
            columns=(
                pages.text_column("component", "component", [each.type.value for each in record.components]),
                pages.count_column("input_tokens", "input tokens", [each.input_tokens for each in record.components]),
                pages.count_column(
                    "output_tokens", "output tokens", [each.output_tokens for each in record.components]
                ),
            ),
        )


def _tests(record: Run) -> Iterator[PageTable]:
    """Yield the table of tests, failures first; counts without names are in the answer."""
    if record.tests is None:
        return
    kinds = (("error", record.tests.errors), ("failed", record.tests.failed), ("passed", record.tests.passed))
    named = [(word, name) for word, names in kinds if isinstance(names, tuple) for name in names]
    if named:
        words = pages.text_column("result", "result", [word for word, _ in named])
        names = pages.text_column("test", "test", [name for _, name in named])
        yield pages.PageTable(name="tests", caption=f"Tests ({len(named):,})", columns=(words, names))


def _judgments(record: Run) -> Iterator[PageTable]:
    """Return one row per judge, followed by its rubric criteria."""
    if not record.judgments:
        return
    rows: list[tuple[str, str | None, float | None, str | None, float | None]] = []
    for number, judgment in enumerate(record.judgments, 1):
        vote = {True: "passed", False: "failed", None: None}[judgment.passed]
        rows.append((judgment.judge or f"judge {number}", vote, judgment.score, None, judgment.cost_usd))
        for line in judgment.criteria or ():
            score, achieved = line.achieved / line.max, f"{line.achieved:g} of {line.max:g}, weight {line.weight:g}"
            rows.append((f"{INSIDE} {line.name}", None, score, achieved, None))
    judges, votes, scores, points, costs = (list(column) for column in zip(*rows, strict=True))
    yield pages.PageTable(
        name="judgments",
        caption=f"Judgments ({len(record.judgments):,})",
        columns=(
            pages.text_column("judge", "judge, criterion", judges),
            pages.text_column("vote", "vote", votes),
            pages.number_column("score", "score", scores),
            pages.text_column("points", "points", points),
            pages.level_column("cost_usd", "cost", costs, "USD"),
        ),
    )


def _steps(record: Run) -> Iterator[PageTable]:
    if record.steps is None:
        return
    achieved = set(record.steps.achieved)
    expected = record.steps.expected or ()
    unexpected = [step for step in record.steps.achieved if step not in {each.id for each in expected}]
    ids = [*(step.id for step in expected), *unexpected]
    if ids:
        yield pages.PageTable(
            name="steps",
            caption=f"Steps ({len(ids):,})",
            columns=(
                pages.text_column("step", "step", ids),
                pages.text_column("achieved", "achieved", ["yes" if step in achieved else "no" for step in ids]),
                pages.number_column(
                    "weight", "weight", [*(step.weight for step in expected), *(None for _ in unexpected)]
                ),
            ),
        )


def _texts(answer: RunDetail) -> Iterator[LongText]:
    if answer.output is not None:
        yield pages.LongText(heading=answer.output.heading("Output"), text=answer.output.text, is_open=True)
    difference = answer.difference
    if difference is not None and difference.changes.total:
        heading = difference.changes.heading(f"Diff with {difference.base}")
        yield pages.LongText(heading=heading, text=difference.changes.text, is_open=True)


def _facts(answer: RunDetail) -> Facts:
    source = answer.record.source
    read_as = (("format", source.format),) if source is not None and source.format else ()
    return (*read_as, ("profile", answer.profile), ("prices", answer.prices))

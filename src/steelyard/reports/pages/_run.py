"""Page of one run: its metrics with their inputs, its parts and its output."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from steelyard.formatting import counted, quantity
from steelyard.pages import (
    DASH,
    Column,
    Facts,
    LongText,
    Page,
    PageLink,
    PageTable,
    count_column,
    id_path,
    level_column,
    number_column,
    text_column,
    with_figures,
)
from steelyard.records import Run, tier_text
from steelyard.results import RunDetail, TextPiece

if TYPE_CHECKING:
    from steelyard.questions.explain import ExplainedValue

INSIDE = "└"
"""Indentation per level; pages collapse spaces."""


def run_page(detail: RunDetail) -> Page:
    """Return the page of a run."""
    page = Page(
        name="run",
        title=f"Run {detail.run}",
        answer=_answer(detail),
        notes=tuple(_notes(detail)),
        links=tuple(_links(detail)),
        table=_numbers(detail),
        also=tuple(_parts(detail)),
        texts=tuple(_texts(detail)),
        facts=_facts(detail),
    )
    return with_figures(page, detail, ("tokens", "calls"))


def _answer(detail: RunDetail) -> str:
    record, tests = detail.record, detail.record.tests
    who = " / ".join(name for name in (record.agent, record.model) if name) or "an unnamed agent"
    parts = [f"{detail.verdict.capitalize()}: {record.task}, {who}"]
    parts += [f"attempt {record.attempt}"] if record.attempt is not None else []
    if tests is not None and tests.total:
        parts.append(f"{tests.total - tests.not_passed:,} of {counted(tests.total, 'test')} passed")
    parts += [quantity(value, unit) for name, unit in _SHOWN if (value := detail.number(name)) is not None]
    parts += [counted(len(detail.calls), "call")] if detail.calls else []
    return ", ".join(parts) + "."


_SHOWN = (("cost_usd", "USD"), ("duration_seconds", "s"), ("total_tokens", "tokens"))


def _notes(detail: RunDetail) -> Iterator[str]:
    record = detail.record
    if record.failure is not None:
        yield f"Failed ({record.failure.cause}): {record.failure.message or 'no reason in the log'}"
    reported, priced = (_fact(detail.numbers, name) for name in ("reported_cost_usd", "priced_cost_usd"))
    if reported is not None and priced is not None and abs(priced - reported) > 0.01 * max(priced, reported):
        yield f"Reported cost: {quantity(reported, 'USD')}; cost by the price table: {quantity(priced, 'USD')}."
    difference = detail.difference
    if difference is not None:
        yield (
            f"Diff with {difference.base}: {counted(difference.added, 'line')} added, {difference.removed:,} removed."
            if difference.added or difference.removed
            else f"Diff with {difference.base}: identical output."
        )
        if not difference.is_shortest:
            yield "The outputs are long: the diff is complete but may not be minimal."


def _links(detail: RunDetail) -> Iterator[PageLink]:
    """Yield links to neighboring runs and to other pieces of long texts."""
    difference = detail.difference
    kept = {} if difference is None else {"diff": difference.base}
    position = detail.position
    for relation, word, id_ in (("prev", "Previous", position.previous), ("next", "Next", position.next)):
        if id_ is not None:
            yield PageLink(text=f"{word} run", path=_address(id_, {}), relation=relation)
    pieces = [("offset", "output", detail.output)]
    pieces += [("diff_offset", "diff", difference.changes)] if difference is not None else []
    shown = {name: piece.offset for name, _, piece in pieces if piece is not None and piece.offset}
    for name, what, piece in pieces:
        for word, offset in () if piece is None else (("Earlier", piece.previous_offset), ("More", piece.next_offset)):
            if offset is not None:
                yield PageLink(text=f"{word} {what}", path=_address(detail.run, kept | shown | {name: offset}))


def _address(run: str, query: Mapping[str, object]) -> str:
    asked = urlencode({name: value for name, value in query.items() if value})
    return id_path("runs", run) + (f"?{asked}" if asked else "")


def _fact(parts: Sequence[ExplainedValue], name: str) -> float | None:
    """Return the input of this name."""
    for part in parts:
        if part.name == name:
            return part.value
        inner = _fact(part.inputs, name)
        if inner is not None:
            return inner
    return None


def _numbers(detail: RunDetail) -> PageTable:
    """Return the table of metrics, each followed by its inputs."""
    known = [each for each in detail.numbers if not each.reason]
    missing = [each for each in detail.numbers if each.reason]
    names = {each.name for each in detail.numbers}
    rows = [row for each in known for row in _walked(each, names)] + [(0, each) for each in missing]
    values = [part.value for _, part in rows]
    columns = (
        text_column("number", "number", [f"{INSIDE * depth} {part.name}".strip() for depth, part in rows]),
        Column(
            name="value",
            title="value",
            values=[
                float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None
                for value in values
            ],
            decimals=6,
            texts=[_value(part) for _, part in rows],
        ),
        text_column("how", "formula or reason", [_how(part) for _, part in rows]),
        text_column("source", "source", [_source(part) for _, part in rows]),
    )
    return PageTable(caption="Metrics and their inputs", columns=columns)


def _walked(part: ExplainedValue, names: set[str], depth: int = 0) -> Iterator[tuple[int, ExplainedValue]]:
    """Yield a metric and its inputs with their depth, each expanded once."""
    yield depth, part
    for inner in part.inputs if not depth or part.name not in names else ():
        yield from _walked(inner, names, depth + 1)


def _value(part: ExplainedValue) -> str:
    value = part.value
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (int, float)):
        is_whole = isinstance(value, int) or (value.is_integer() and abs(value) < 1e15)
        bare = f"{value:,.0f}" if is_whole else f"{value:,.3f}" if 1e3 <= abs(value) < 1e15 else f"{value:,.6g}"
        return quantity(value, part.unit) if part.unit else bare
    return part.text or (DASH if part.values is None else f"{len(part.values):,} values")


def _how(part: ExplainedValue) -> str:
    if part.reason:
        return f"missing: {part.reason}"
    constants = ", ".join(f"{name} = {value:g}" for name, value in part.constants.items())
    return "; ".join(text for text in (part.formula or part.title, constants) if text)


def _source(part: ExplainedValue) -> str | None:
    return (part.provenance or "").replace("_", " ") or None


def _parts(detail: RunDetail) -> Iterator[PageTable]:
    record = detail.record
    yield from _tests(record)
    yield from _judgments(record)
    yield from _steps(record)
    if detail.calls:
        yield PageTable(
            name="calls",
            caption=f"Calls ({len(detail.calls):,})",
            columns=(
                level_column("seconds", "after", [call.seconds for call in detail.calls], "s"),
                text_column("model", "model", [call.model for call in detail.calls]),
                count_column("tokens", "tokens", [call.tokens for call in detail.calls]),
                level_column("cost_usd", "cost", [call.cost_usd for call in detail.calls], "USD"),
            ),
        )
    if record.components:
        yield PageTable(
            name="component",
            caption=f"Tokens by component ({len(record.components):,})",
            columns=(
                text_column("component", "component", [each.type.value for each in record.components]),
                count_column("input_tokens", "input tokens", [each.input_tokens for each in record.components]),
                count_column("output_tokens", "output tokens", [each.output_tokens for each in record.components]),
            ),
        )


def _tests(record: Run) -> Iterator[PageTable]:
    """Yield the table of tests, failures first; counts without names are in the answer."""
    if record.tests is None:
        return
    kinds = (("error", record.tests.errors), ("failed", record.tests.failed), ("passed", record.tests.passed))
    named = [(word, name) for word, names in kinds if isinstance(names, tuple) for name in names]
    if named:
        words = text_column("result", "result", [word for word, _ in named])
        names = text_column("test", "test", [name for _, name in named])
        yield PageTable(name="tests", caption=f"Tests ({len(named):,})", columns=(words, names))


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
    yield PageTable(
        name="judgments",
        caption=f"Judgments ({len(record.judgments):,})",
        columns=(
            text_column("judge", "judge, criterion", judges),
            text_column("vote", "vote", votes),
            number_column("score", "score", scores),
            text_column("points", "points", points),
            level_column("cost_usd", "cost", costs, "USD"),
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
        yield PageTable(
            name="steps",
            caption=f"Steps ({len(ids):,})",
            columns=(
                text_column("step", "step", ids),
                text_column("achieved", "achieved", ["yes" if step in achieved else "no" for step in ids]),
                number_column("weight", "weight", [*(step.weight for step in expected), *(None for _ in unexpected)]),
            ),
        )


def _texts(detail: RunDetail) -> Iterator[LongText]:
    if detail.output is not None:
        yield LongText(heading=piece_heading("Output", detail.output), text=detail.output.text, is_open=True)
    difference = detail.difference
    if difference is not None and difference.changes.total:
        heading = piece_heading(f"Diff with {difference.base}", difference.changes)
        yield LongText(heading=heading, text=difference.changes.text, is_open=True)


def piece_heading(what: str, piece: TextPiece) -> str:
    """Return the heading of a text, with the range that is shown."""
    if len(piece.text) == piece.total:
        return f"{what} ({counted(piece.total, 'character')})"
    return f"{what}, characters {piece.offset + 1:,} to {piece.end:,} of {piece.total:,}"


def _facts(detail: RunDetail) -> Facts:
    record, position = detail.record, detail.position
    known = (
        ("read from", detail.where),
        ("format", record.source.format if record.source is not None else None),
        ("run", f"{position.number:,} of {position.count:,}"),
        ("tier", tier_text(record.tier, record.tier_scheme) if record.tier is not None else None),
        ("started", record.started_at.isoformat(sep=" ", timespec="seconds") if record.started_at else None),
        ("claims success", {True: "yes", False: "no", None: None}[record.success]),
        ("profile", detail.profile),
        ("prices", detail.prices),
    )
    return tuple((label, fact) for label, fact in known if fact is not None)

"""Merge sessions that several files report, count a call that several sessions contain once, and add up totals."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import accumulate
from typing import Any

import msgspec

from steelyard.records import (
    Call,
    Finding,
    Place,
    Provenance,
    Run,
    Usage,
    add_usage,
    content_digest,
    repeated_finding,
    sum_in_order,
)
from steelyard.sources.formats._catalog import log_format_named
from steelyard.sources.formats._log_format import LogFormat, Role, RunPart, SessionLog
from steelyard.sources.formats._run_values import busiest_model, itemized, tokens_in

_NEVER = datetime.max.replace(tzinfo=UTC)


@dataclass(slots=True)
class RunDraft:
    """A run while it is put together from parts."""

    run: Run
    path: str
    line: int | None
    role: Role
    owns: str | None = None
    parent: str | None = None
    tool_ids: dict[str, None] = field(default_factory=dict)
    marks: tuple[str, ...] = ()
    copied: set[str] = field(default_factory=set)
    doubtful: set[str] = field(default_factory=set)
    notes: list[Finding] = field(default_factory=list)
    lacks_lines: bool = False
    submitted_by: tuple[str | None, str | None] = (None, None)
    """Agent and model of the submission."""
    known_as: str | None = None
    """The agent as the prediction of a session names it."""
    is_judged: bool = False
    evaluation: str | None = None
    """The evaluation whose verdict it has, where that has a name."""
    lists_passes_only: bool = False
    is_subagent: bool = False
    started: set[str] = field(default_factory=set)
    contains: set[str] = field(default_factory=set)
    unfinished: bool = False
    logs: list[SessionLog] = field(default_factory=list)
    """Where its steps are."""

    @classmethod
    def of(cls, part: RunPart) -> RunDraft:
        """The beginning, from one part."""
        return cls(
            logs=_logs_of(part),
            run=part.run,
            path=part.path,
            line=part.line,
            role=part.role,
            owns=part.owns,
            parent=part.parent,
            tool_ids=dict.fromkeys(part.tool_ids),
            marks=part.marks,
            copied=set(part.copied),
            doubtful=set(part.doubtful),
            notes=list(part.notes),
            lacks_lines=part.lacks_lines,
            submitted_by=part.submitted_by,
            lists_passes_only=part.lists_passes_only,
            is_subagent=part.is_subagent,
            started=set(part.started),
            contains=set(part.contains),
            unfinished=part.unfinished,
        )

    @property
    def format(self) -> str:
        """The format it was read from."""
        return (self.run.source and self.run.source.format) or ""

    @property
    def declared(self) -> LogFormat:
        """What that format declares of itself."""
        return log_format_named(self.format)

    @property
    def family(self) -> str:
        """The tool whose session it is."""
        return self.declared.family

    @property
    def entries(self) -> tuple[str, ...]:
        """Ids by which another log of the same session is found."""
        return *self.tool_ids, *self.marks

    @property
    def folder(self) -> str:
        """Its folder."""
        return self.path.rpartition("/")[0]

    @property
    def named(self) -> bool:
        """Whether every call has an id, so that the run's tokens are exactly its calls'."""
        return bool(self.run.calls) and all(call.id is not None for call in self.run.calls or ())

    def change(self, **fields: Any) -> None:  # Any: fields of a Run
        """Replaces fields of the run."""
        self.run = msgspec.structs.replace(self.run, **fields)

    def how(self, **words: Provenance | None) -> None:
        """Set the provenance of fields."""
        known = dict(self.run.provenance or {})
        for name, word in words.items():
            if word is None:
                known.pop(name, None)
            else:
                known[name] = word
        self.change(provenance=dict(sorted(known.items())) or None)


def _logs_of(part: RunPart) -> list[SessionLog]:
    """Return the file of the part, if its format shows steps, or messages of checks."""
    name = part.run.source.format if part.run.source else None
    if name is None:
        return []
    declared = log_format_named(name)
    if declared.steps is None and declared.check_messages is None:
        return []
    session = part.run.id or (None if part.line is None else f"#{part.line}")
    return [SessionLog(part.path, name, session, len(part.run.calls or ()))]


def _logs_once(group: Sequence[RunDraft]) -> list[SessionLog]:
    """Return the logs of one session without copies: of those with the same calls, the fullest counts."""
    kept: list[RunDraft] = []
    seen: set[tuple[str, str | None]] = set()
    for building in sorted(group, key=lambda building: -len(building.run.calls or ())):
        calls = {(building.format, call.id) for call in building.run.calls or () if call.id is not None}
        if not calls & seen:
            kept.append(building)
            seen |= calls
    kept.sort(key=lambda building: (building.is_subagent, building.run.started_at or _NEVER, building.path))
    return [log for building in kept for log in building.logs]


def merged_sessions(parts: Iterable[RunPart]) -> list[RunDraft]:
    """One building a session, in the order of the first part of each."""
    buildings = [RunDraft.of(part) for part in parts]
    nameless = {building.family for building in buildings if not building.run.id and building.entries}
    homes = {
        (family, entry): building.run.id
        for building in buildings
        if building.run.id and (family := building.family) in nameless
        for entry in building.entries
    }
    parents = {own: building.run.id for building in buildings if building.is_subagent for own in building.contains}
    groups: dict[tuple[str, str], list[RunDraft]] = {}
    for number, building in enumerate(buildings):
        if building.is_subagent:
            building.change(id=_outermost(str(building.run.id), parents))
        # A log that does not name its session belongs to the one whose tool calls or other entries it shows.
        id_ = building.run.id or _first(homes.get((building.family, entry)) for entry in building.entries)
        if id_ is None and not building.tool_ids:
            id_ = _session_at_the_time(building, buildings)
        groups.setdefault((building.family, id_) if id_ else ("", str(number)), []).append(building)
    return [group[0] if len(group) == 1 else _merged(group) for group in groups.values()]


def _session_at_the_time(nameless: RunDraft, buildings: Sequence[RunDraft]) -> str | None:
    """The one session of the same tool that ran while this log was written, and whose first calls used its tokens."""
    tokens = tokens_in(nameless.run.usage)
    same = {
        other.run.id
        for other in buildings
        if other.family == nameless.family and other.run.id is not None and _is_within(nameless.run, other.run)
        if tokens in accumulate((tokens_in(call.usage) for call in other.run.calls or ()), initial=0)
    }
    return same.pop() if len(same) == 1 else None


MARGIN = timedelta(seconds=5)
"""By how much the clocks of two logs of one session may differ."""


def _is_within(part: Run, whole: Run) -> bool:
    if part.started_at is None or whole.started_at is None:
        return False
    ends = part.ended_at or part.started_at, whole.ended_at or whole.started_at
    return whole.started_at - MARGIN <= part.started_at and ends[0] <= ends[1] + MARGIN


def _outermost(session: str, parents: Mapping[str, str | None]) -> str:
    """The session that is no subagent's, from a subagent's parent upwards."""
    seen = {session}
    while (parent := parents.get(session)) is not None and parent not in seen:
        seen.add(session := parent)
    return session


def _merged(group: Sequence[RunDraft]) -> RunDraft:
    group = sorted(group, key=_leading)
    first = copy(group[0])  # what the parts themselves say is asked for later
    first.tool_ids, first.notes, first.copied = dict(first.tool_ids), list(first.notes), set(first.copied)
    first.started, first.contains = set(first.started), set(first.contains)
    first.logs = _logs_once(group)
    runs = [building.run for building in group]
    for other in group[1:]:
        if _tells_the_same(group[0], other):
            first.notes.append(repeated_run(first, other))
        first.tool_ids |= other.tool_ids
        first.notes += other.notes
        first.started |= other.started
        first.contains |= other.contains
    main = [building for building in group if not building.is_subagent] or group
    first.contains |= {f"#{number}" for number in range(sum(building.is_subagent for building in group))}
    totals = [building for building in group if building.run.usage is not None and not building.named]
    last = max(
        main,
        key=lambda building: (
            building.run.outcome == "errored",
            building.run.ended_at or building.run.started_at or _NEVER,
        ),
    )
    final = totals[-1].run if totals else last.run
    first.change(
        experiment=_first(run.experiment for run in runs),
        model=_first(run.model for run in (*(building.run for building in totals), *runs)),
        started_at=min((run.started_at for run in runs if run.started_at), default=None),
        ended_at=max((run.ended_at for run in runs if run.ended_at), default=None),
        outcome=final.outcome,
        failure=final.failure,
        success=_first(run.success for run in runs),
        iterations=_iterations(main),
        files_created=_files_created(runs),
        conditions=_first(run.conditions for run in runs),
        extra=_extras(runs),
        provenance=_together(run.provenance for run in runs),
    )
    fullest = next((run for run in runs if run.iterations == first.run.iterations), first.run)
    first.how(iterations=(fullest.provenance or {}).get("iterations"))
    if totals:
        _take_totals(first, totals, group)
    else:
        cost = _cost(group)  # before the first part takes the others' calls
        _take_calls(first, group)
        called_none = not first.tool_ids and all(run.tool_calls == 0 for run in runs)
        first.change(cost_usd=cost, tool_calls=0 if called_none else None)
    return first


def _leading(building: RunDraft) -> tuple[bool, bool, bool, str, int]:
    lasts = building.run.id is None, building.is_subagent, not building.declared.leads_family
    return (*lasts, building.path, building.line or 0)


def _tells_the_same(first: RunDraft, other: RunDraft) -> bool:
    """Whether two logs of one format are copies, and not parts of a session that continues in another file."""
    if first.format != other.format or other.run.id is None:
        return False
    if first.run.calls is None and other.run.calls is None:
        return content_digest(_without_place(first.run)) == content_digest(_without_place(other.run))
    calls = {call.id or call for call in first.run.calls or ()}
    return any((call.id or call) in calls for call in other.run.calls or ())


def _without_place(run: Run) -> Run:
    return msgspec.structs.replace(run, source=None)


def repeated_run(first: RunDraft, other: RunDraft) -> Finding:
    """Return the finding about a run that another file reports too."""
    place = other.path if other.line is None else f"{other.path}:{other.line}"
    return repeated_finding([Place(where=place, message=f"{first.run.id}, as in {first.path}")])


def _cost(group: Sequence[RunDraft]) -> float | None:
    """Add up the costs of parts with different calls; of parts with the same calls, the fullest counts."""
    seen: set[str | None] = set()
    costs: list[float] = []
    for building in sorted(group, key=lambda building: (-len(building.run.calls or ()), building.path)):
        ids = {call.id for call in building.run.calls or ()}
        if building.run.cost_usd is not None and not ids & seen:
            costs.append(building.run.cost_usd)
            seen |= ids
    return sum_in_order(costs) if costs else None


def _iterations(group: Sequence[RunDraft]) -> int | None:
    """The fullest part's; where each part is one call, their number."""
    counts = [building.run.iterations for building in group if building.run.iterations]
    if all(len(building.run.calls or ()) == 1 and building.named for building in group):
        return len({call.id for building in group for call in building.run.calls or ()})
    return max(counts, default=None)


def _first(values: Iterable[Any]) -> Any:  # Any: values of one field
    return next((value for value in values if value is not None), None)


def _together(words: Iterable[dict[str, Provenance] | None]) -> dict[str, Provenance] | None:
    """How fields came by the last part that knows."""
    known: dict[str, Provenance] = {}
    for part in words:
        known |= {name: word for name, word in (part or {}).items() if word != "unknown" or name not in known}
    return known or None


def _files_created(runs: Sequence[Run]) -> tuple[str, ...] | None:
    """Return all files that the parts name; None when no part reports files."""
    reported = [run.files_created for run in runs if run.files_created is not None]
    return tuple(dict.fromkeys(path for paths in reported for path in paths)) if reported else None


def _extras(runs: Sequence[Run]) -> dict[str, Any] | None:  # Any: the values of x_ keys
    extras: dict[str, Any] = {}
    for run in reversed(runs):
        extras |= run.extra or {}
    return extras or None


def _take_totals(first: RunDraft, totals: Sequence[RunDraft], group: Sequence[RunDraft]) -> None:
    """Stated totals win over counted calls; each call is kept as far as they allow, so that more logs add detail."""
    distinct = _of_different_calls(first, totals)
    costs = [building.run.cost_usd for building in distinct if building.run.cost_usd is not None]
    stated = [call for building in distinct for call in building.run.calls or ()]
    usage = add_usage(building.run.usage for building in distinct)
    by_model: dict[str | None, list[Call]] = {}
    for call in stated or [Call(usage=usage, summed=True)]:
        by_model.setdefault(call.model, []).append(call)
    sums = [_summed(calls) for calls in by_model.values()]
    seen = [call for call, _ in _each_call(group).values() if not call.summed]
    calls = itemized(seen, sums) if seen else None
    counted = add_usage(call.usage for call in seen)
    if calls is None and tokens_in(counted) > tokens_in(usage):  # the totals are of a part of the session
        _take_calls(first, group)
        first.change(usage=counted, calls=tuple(seen), cost_usd=None, tool_calls=None)
        first.how(usage="lower_bound" if first.doubtful else "counted", cost_usd="unknown")
        return
    first.doubtful = set()
    first.lacks_lines = any(building.lacks_lines for building in distinct)
    used = {building.run.usage for building in distinct}
    first.unfinished = any(building.unfinished for building in totals if building.run.usage in used)
    first.change(
        usage=add_usage(call.usage for call in calls) if calls else usage,
        calls=calls or (tuple(sums) if stated else None),
        cost_usd=sum_in_order(costs) if costs else None,
        tool_calls=len(first.tool_ids) or _first(building.run.tool_calls for building in distinct),
    )
    first.how(usage=weakest(distinct, "usage"), cost_usd=weakest(distinct, "cost_usd") if costs else "unknown")


def weakest(buildings: Sequence[RunDraft], name: str) -> Provenance | None:
    """How a sum came: as its least sure part."""
    words = [(building.run.provenance or {}).get(name) for building in buildings]
    return "lower_bound" if "lower_bound" in words else _first(words)


def _of_different_calls(first: RunDraft, totals: Sequence[RunDraft]) -> list[RunDraft]:
    """Return the totals that are not of the same calls."""
    distinct = list({(building.run.usage, building.run.cost_usd): building for building in totals}.values())
    own = [building for building in distinct if building.declared.leads_family]
    others = [building for building in distinct if not building.declared.leads_family]
    if not first.declared.totals_add_up:
        own, others = distinct, []
    largest = max(
        own, key=lambda building: (tokens_in(building.run.usage), len(building.run.calls or ())), default=None
    )
    if largest is None:
        return others
    together = sum(tokens_in(building.run.usage) for building in others)
    return others if together > tokens_in(largest.run.usage) else [largest]


def _summed(calls: Sequence[Call]) -> Call:
    if len(calls) == 1:
        return calls[0]
    return Call(model=calls[0].model, usage=add_usage(call.usage for call in calls), summed=True)


def _each_call(group: Sequence[RunDraft]) -> dict[str, tuple[Call, bool]]:
    """Each call once, with the larger of two counts: the smaller is the placeholder of a log copied too early."""
    calls_by_key: dict[str, tuple[Call, bool]] = {}
    for building in group:
        for number, call in enumerate(building.run.calls or ()):
            key = call.id or f"{building.path} {number}"
            doubtful = call.id in building.doubtful
            before = calls_by_key.get(key)
            if before is None or _output(call) > _output(before[0]):
                calls_by_key[key] = call, doubtful
            elif before[1] and not doubtful and _output(call) == _output(before[0]):
                calls_by_key[key] = before[0], False
    return calls_by_key


def _take_calls(first: RunDraft, group: Sequence[RunDraft]) -> None:
    calls_by_key = _each_call(group)
    first.copied |= {call.id for building in group for call in building.run.calls or () if call.id in building.copied}
    first.doubtful = {key for key, (_, doubtful) in calls_by_key.items() if doubtful}
    first.lacks_lines = any(building.lacks_lines for building in group)
    # A copy that ends early, such as a stream that was cut, adds nothing to the log that the agent itself keeps.
    leading = [building for building in group if building.declared.leads_family and building.run.calls]
    having = leading or [building for building in group if building.run.calls] or group
    first.unfinished = any(building.unfinished for building in having)
    first.change(calls=tuple(call for call, _ in calls_by_key.values()) or None, usage=None)


def _output(call: Call) -> int:
    return (call.usage.output_tokens or 0) if call.usage else 0


def share_calls(sessions: Sequence[RunDraft]) -> tuple[list[RunDraft], int]:
    """Gives a call that several sessions hold to the one it was made in; sessions that only copy others are left out.

    A copy is known by its own mark, else by the session that started first and, of those, ended first.
    """
    if not _have_calls_in_common(sessions):
        return list(sessions), 0
    first: dict[str, dict[str | None, int]] = {}
    shared: dict[tuple[str, str], list[int]] = {}
    for index, session in enumerate(sessions):
        holder = first.setdefault(session.family, {})
        for call in session.run.calls or ():
            home = holder.setdefault(call.id, index) if call.id is not None else index
            if home != index:
                shared.setdefault((session.family, str(call.id)), [home]).append(index)
    lost: dict[int, set[str]] = {}
    for (_, id_), indices in shared.items():
        home = min(indices, key=lambda index: _age(sessions[index], id_))
        for index in indices:
            if index != home:
                lost.setdefault(index, set()).add(id_)
    kept: list[RunDraft] = []
    for index, session in enumerate(sessions):
        gone = lost.get(index)
        if gone:
            rest = tuple(call for call in session.run.calls or () if call.id not in gone)
            if not rest:
                continue
            session.change(calls=rest, usage=None, model=None)
            if session.run.cost_usd is not None:  # it is of the copied calls too
                session.change(cost_usd=None)
                session.how(cost_usd="unknown")
            session.doubtful -= gone
        kept.append(session)
    return kept, sum(len(gone) for gone in lost.values())


def _have_calls_in_common(sessions: Sequence[RunDraft]) -> bool:
    """Whether an id occurs twice in a family, as it seldom does: faster to check than which one."""
    ids: dict[str, list[str | None]] = {}
    for session in sessions:
        ids.setdefault(session.family, []).extend([call.id for call in session.run.calls or ()])
    return any(len(set(each)) < len(each) for each in ids.values())


def _age(session: RunDraft, id_: str) -> tuple[bool, datetime, datetime, str]:
    run = session.run
    return id_ in session.copied, run.started_at or _NEVER, run.ended_at or _NEVER, run.id or session.path


def with_totals(session: RunDraft) -> None:
    """Adds up what the parts left open: tokens of the calls, tools, the model that did most."""
    run = session.run
    if run.usage is None and session.named:
        before = (run.provenance or {}).get("usage")
        sure: Provenance = (
            "lower_bound" if session.doubtful else before if before in ("reported", "lower_bound") else "counted"
        )
        usage = add_usage(call.usage for call in run.calls or ())
        session.change(usage=usage)
        session.how(usage=sure if usage else "unknown")
    if run.tool_calls is None and (session.tool_ids or session.declared.shows_every_tool_call):
        session.change(tool_calls=len(session.tool_ids))
        session.how(tool_calls="counted")
    if run.model is None:
        session.change(model=busiest_model(run.calls or ()))
    if run.iterations is not None and "iterations" not in (run.provenance or {}):
        session.how(iterations="counted")
    if run.cost_usd is None and "cost_usd" not in (run.provenance or {}):
        session.how(cost_usd="unknown")
    if session.run.usage is None and "usage" not in (session.run.provenance or {}):
        session.how(usage="unknown")
    if session.unfinished or session.started - session.contains or _lacks_tokens(session.run.calls or ()):
        known = {name for name in _SUMMED if getattr(session.run, name) is not None}
        known |= {"usage"} if session.run.total_usage is not None else set()
        at_least: dict[str, Provenance | None] = dict.fromkeys(known, "lower_bound")
        session.how(**at_least)
    elif session.lacks_lines:
        _say_at_least(session)


_SUMMED = ("usage", "cost_usd", "tool_calls", "iterations")
"""What is added up over a session's calls."""


def _lacks_tokens(calls: Sequence[Call]) -> bool:
    """Whether a call was made whose tokens no log has: its answer was cut off, or the provider stated none."""
    without = sum([call.usage is None or not (call.usage.output_tokens or tokens_in(call.usage)) for call in calls])
    return 0 < without < len(calls)


def _say_at_least(session: RunDraft) -> None:
    """Mark sums over the lines as lower bounds, since some lines are lost; a stated total is kept."""
    run = session.run
    words = run.provenance or {}
    calls = run.calls or ()
    adds_up = bool(calls) and not any(call.summed for call in calls)  # many formats call such a sum reported
    is_sum = {"usage": adds_up, "cost_usd": adds_up and all(call.cost_usd is not None for call in calls)}
    weakened: dict[str, Provenance | None] = {
        name: "lower_bound"
        for name in _SUMMED
        if words.get(name) == "counted" or (words.get(name) == "reported" and is_sum.get(name, False))
    }
    session.how(**weakened)


def difference(a: Usage | None, b: Usage | None) -> float:
    """By which share two totals of tokens differ; 0 when either is not known."""
    left, right = tokens_in(a), tokens_in(b)
    return abs(left - right) / max(left, right) if left and right else 0.0

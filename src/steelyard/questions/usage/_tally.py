"""Sums of usage: by group, by day, and in total."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from datetime import date, datetime
from fractions import Fraction
from math import isclose, lcm
from typing import Any, NamedTuple, TypeAlias

import msgspec

from steelyard.option_names import option
from steelyard.prices import PICO_PER_USD, Charge, PlacesOf, PriceTable, charges
from steelyard.questions.usage._answer import DayCost, RunCost, UsageCount
from steelyard.records import (
    TOKEN_KINDS,
    TOO_LARGE,
    Call,
    DayFinder,
    Finding,
    KeyCondition,
    Run,
    Severity,
    Usage,
    Zone,
    as_utc,
    calls_in,
    key_of,
    kinds_of,
    model_group,
    sum_columns,
    unmet,
    usage_columns,
)

SHARED, UNSHARED = "shared_cost", "unshared_cost"
"""A cost that a run states for all its calls: divided by their prices, or left where the run began."""


class UsageEntry(msgspec.Struct, frozen=True):
    """What a run used of one model at one place in time."""

    place: Hashable
    model: str | None
    usage: Usage | None
    """None if the record does not report it."""
    calls: int | None
    """None where the calls are not listed."""
    pico: int | Fraction | None
    """What is known of the cost in pico-dollars; None where nothing is."""
    of: int
    """How many entries the run has."""
    is_low: bool = False
    """Whether the cost is known to be too low."""
    unpriced_calls: int = 0
    unpriced: str | None = None
    """Why tokens have no price; None where they have one, or the run states its cost."""
    elsewhere: bool = False
    """Whether the run states one cost for all its entries in another of them."""

    @property
    def is_unreported(self) -> bool:
        """Whether neither tokens nor a cost are stated."""
        return self.usage is None and self.pico is None and not self.elsewhere


def entries_of(run: Run, price_table: PriceTable, places_of: PlacesOf) -> tuple[list[UsageEntry], str | None]:
    """The run's entries, and whether a stated cost was divided among them."""
    parts = charges(run, price_table, places_of)
    if not parts:
        parts = [Charge(places_of([run.started_at or run.ended_at])[0], run.model, ())]
    is_low = bool(run.cost_is_lower_bound)
    if run.cost_usd is None:
        return [_priced(run, part, len(parts), is_low=is_low) for part in parts], None
    costs, note = _shares(run.cost_usd, parts)
    return [
        UsageEntry(
            part.place, part.model, part.usage, _calls(run, part), cost, len(parts), is_low, elsewhere=cost is None
        )
        for part, cost in zip(parts, costs, strict=True)
    ], note


def _priced(run: Run, part: Charge, count: int, *, is_low: bool) -> UsageEntry:
    entry = UsageEntry(part.place, part.model, part.usage, _calls(run, part), _exact(part), count, is_low)
    if part.reason is None and not part.unpriced:  # as it mostly is
        return entry
    silent = sum(call.usage is None for call in part.calls) if run.usage is None else 0
    unpriced = part.unpriced - silent
    return msgspec.structs.replace(
        entry,
        is_low=is_low or silent > 0 or not unpriced,  # what reports no tokens may still have cost something
        unpriced_calls=unpriced if part.calls else 0,
        unpriced=part.reason if unpriced else None,
    )


def _calls(run: Run, part: Charge) -> int | None:
    return calls_in(part.calls) if part.calls or run.calls else None


def _exact(part: Charge) -> int | Fraction | None:
    if part.pico is None or isinstance(part.pico, int):
        return part.pico
    return Fraction(part.pico)


def _shares(usd: float, parts: Sequence[Charge]) -> tuple[list[int | Fraction | None], str | None]:
    """The stated cost divided as the calls state theirs, else by their prices; else all of it in the first part."""
    numerator, denominator = usd.as_integer_ratio()
    stated = Fraction(numerator * PICO_PER_USD, denominator)
    if len(parts) == 1:
        return [stated], None
    by_calls = [_stated_by(part.calls) for part in parts]
    known = [cost for cost in by_calls if cost is not None]
    if known and isclose(sum(known), usd):
        return [None if cost is None else cost * PICO_PER_USD for cost in by_calls], None
    prices = [Fraction(part.pico or 0) for part in parts]
    if any(part.reason or part.unpriced for part in parts) or not any(prices):
        return [stated, *[None] * (len(parts) - 1)], UNSHARED
    whole = sum(prices, Fraction(0))
    return [stated * price / whole for price in prices], SHARED


def _stated_by(calls: Sequence[Call]) -> Fraction | None:
    """Return the cost that the calls report; None if none reports one."""
    known = [Fraction(call.cost_usd) for call in calls if call.cost_usd is not None]
    return sum(known, Fraction(0)) if known else None


TIMES: dict[str, Callable[[date], str]] = {
    "day": date.isoformat,
    "week": lambda day: "{}-W{:02}".format(*day.isocalendar()),
    "month": lambda day: f"{day:%Y-%m}",
}
RUN_KEYS = {"project": "experiment", "session": "id"}
"""What a key of agents' logs is called in a run record: the folder that was worked in, and the session."""

Amount: TypeAlias = "int | Fraction | None"
"""Pico-dollars; None where nothing is known of them."""


class _Outside(NamedTuple):
    """The place of a call outside the requested time range."""

    is_before: bool
    day: date


_UNDATED = "undated"
MAX_WAITING = 4096
"""Enough to be added quickly, and few enough to be held for many groups."""
MAX_BITS = 2_000
"""Of the common denominator of costs; stated costs have powers of 2, shares of them may have any denominators."""
MAX_RUN_COSTS = 1_000
"""Different costs of runs that an answer lists; more are rounded to three significant digits."""


class _Doubts(NamedTuple):
    """What is doubtful about the cost of one run's entries."""

    is_low: bool
    is_unpriced: bool
    is_unreported: bool
    is_elsewhere: bool
    """Whether the cost of all of the run's entries is stated in one that is not among these."""
    unpriced_calls: int

    @classmethod
    def of(cls, entries: Sequence[UsageEntry]) -> _Doubts:
        """Those of some entries of a run, or of all."""
        for entry in entries:
            if entry.pico is None or entry.is_low or entry.elsewhere or entry.unpriced is not None:
                break
        else:
            return _NO_DOUBTS  # as it is with most runs
        is_low = is_unpriced = is_elsewhere = False
        is_unreported, unpriced_calls = True, 0
        for entry in entries:
            is_low |= entry.is_low and entry.pico is not None
            is_unpriced |= entry.unpriced is not None
            is_unreported &= entry.is_unreported
            is_elsewhere |= entry.elsewhere
            unpriced_calls += entry.unpriced_calls
        is_elsewhere &= len(entries) < entries[0].of
        return cls(is_low, is_unpriced, is_unreported, is_elsewhere, unpriced_calls)


_NO_DOUBTS = _Doubts(is_low=False, is_unpriced=False, is_unreported=False, is_elsewhere=False, unpriced_calls=0)


class _Cell(msgspec.Struct):
    """What was added up for one group."""

    runs: int = 0
    calls: int | None = None
    tokens: list[int | None] = msgspec.field(default_factory=lambda: [None] * len(TOKEN_KINDS))
    total_tokens: int | None = None
    pico: Amount = None
    doubtful: bool = False
    lower_bound_runs: int = 0
    unpriced_calls: int = 0
    unpriced_runs: int = 0
    runs_without_usage: int = 0
    waiting: list[Usage] = []
    """Tokens that are not added yet: many at once take a fifth of the time."""
    waiting_costs: list[Amount] = []
    """Costs that are not added yet, for the same reason."""

    def add(self, entry: UsageEntry) -> None:
        """What a run used in this group, or a part of it."""
        if entry.calls is not None:
            self.calls = (self.calls or 0) + entry.calls
        if entry.usage is not None:
            self.waiting.append(entry.usage)
        if entry.pico is not None:
            self.waiting_costs.append(entry.pico)
        if len(self.waiting) >= MAX_WAITING or len(self.waiting_costs) >= MAX_WAITING:
            self.settle()

    def settle(self) -> None:
        """Add the pending entries."""
        if self.waiting:
            used = sum_columns(usage_columns(self.waiting))
            self.waiting.clear()
            self._add_tokens(kinds_of(used), used.total if used.total_tokens is None else used.total_tokens)
        if self.waiting_costs:
            self.pico = _sum([self.pico, *self.waiting_costs])
            self.waiting_costs.clear()

    def add_run(self, doubts: _Doubts) -> None:
        """Add one run, and count it if its cost is doubtful."""
        self.runs += 1
        if doubts is _NO_DOUBTS:
            return
        self.lower_bound_runs += doubts.is_low
        self.unpriced_runs += doubts.is_unpriced
        self.runs_without_usage += doubts.is_unreported
        self.unpriced_calls += doubts.unpriced_calls
        self.doubtful |= doubts.is_elsewhere

    def add_cell(self, other: _Cell) -> None:
        """What was added up for another group; its runs may be in both."""
        other.settle()
        if other.calls is not None:
            self.calls = (self.calls or 0) + other.calls
        self.pico = _sum([self.pico, other.pico])
        self._add_tokens(other.tokens, other.total_tokens)

    def _add_tokens(self, tokens: Sequence[int | None], total: int | None) -> None:
        if total is not None:
            self.total_tokens = (self.total_tokens or 0) + total
        for kind, count in enumerate(tokens):
            if count is not None:
                self.tokens[kind] = (self.tokens[kind] or 0) + count

    @property
    def usd(self) -> float | None:
        """The cost, rounded once."""
        return None if self.pico is None else _usd(self.pico)

    @property
    def is_lower_bound(self) -> bool:
        """Whether the known cost is a lower bound."""
        doubts = (self.doubtful, self.lower_bound_runs, self.unpriced_runs, self.runs_without_usage)
        return self.pico is not None and any(doubts)

    def counts(self) -> dict[str, Any]:  # Any: fields of `UsageCount`
        """Return the sums; without a run they are 0."""
        self.settle()
        if not self.runs:
            nothing = dict.fromkeys(TOKEN_KINDS, 0)
            return {"tokens": nothing, "total_tokens": 0, "cost_usd": 0.0, "lower_bound": self.doubtful}
        cost, reason = self.usd, None
        if self.pico is not None:
            reason = TOO_LARGE if cost is None else None
        elif cost is None:
            reason = "the tokens have no price" if self.unpriced_runs else "no tokens reported"
        return {
            "runs": self.runs,
            "calls": self.calls,
            "tokens": dict(zip(TOKEN_KINDS, self.tokens, strict=True)),
            "total_tokens": self.total_tokens,
            "cost_usd": cost,
            "lower_bound": self.is_lower_bound,
            "lower_bound_runs": self.lower_bound_runs,
            "unpriced_calls": self.unpriced_calls,
            "unpriced_runs": self.unpriced_runs,
            "runs_without_usage": self.runs_without_usage,
            "reason": reason,
        }


class UsageQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """What is added up: by which keys, in which time, of which models."""

    by: tuple[str, ...]
    zone: Zone
    since: datetime | None
    until: datetime | None
    models: tuple[KeyCondition, ...]
    """Conditions on the model of a call."""

    @property
    def series_by(self) -> str:
        """The key that splits costs over days."""
        return next((key for key in self.by if key not in TIMES), "model")


class UsageTally:
    """Takes runs one after another."""

    def __init__(self, question: UsageQuestion, price_table: PriceTable) -> None:
        self._question, self._price_table = question, price_table
        self._days = DayFinder(question.zone)
        self._is_timed = question.since is not None or question.until is not None
        self._places_of = self._places if self._is_timed else self._days.days_of
        self._total = _Cell()
        self._cells: dict[tuple[str | None, ...], _Cell] = {}
        self._by_day: dict[tuple[date, str | None], list[Amount]] = {}
        series_by = question.series_by
        self._keys = question.by if series_by in question.by else (*question.by, series_by)
        self._series = self._keys.index(series_by)
        self._of_call = all(key == "model" or key in TIMES for key in self._keys)
        """Whether no key is the run's, so that all calls of a model on a day have the same values."""
        self._known: dict[tuple[Hashable, str | None], tuple[_Cell, list[Amount]]] = {}
        self._run_costs: list[Amount] = []
        self._matched = [False] * len(question.models)
        self._seen_models: set[str] = set()
        self._unpriced: Counter[tuple[str | None, str]] = Counter()
        self._notes: Counter[str] = Counter()
        self.runs_outside = 0
        """Runs that have calls of the asked-for models, all of them outside the requested time range."""
        self.last_before: date | None = None
        self.first_after: date | None = None

    def add(self, run: Run, id_: str) -> None:
        """One more run."""
        chosen, note = entries_of(run, self._price_table, self._places_of)
        if self._question.models:
            chosen = [entry for entry in chosen if self._has_model(entry.model)]
        if self._is_timed:
            chosen = self._within(chosen)
        if not chosen:
            return
        if note:
            self._notes[note] += 1
        doubts = _Doubts.of(chosen)
        self._total.add_run(doubts)
        self._run_costs.append(_sum([entry.pico for entry in chosen]))
        cells: list[_Cell] = []
        for entry in chosen:
            cell, day_costs = self._known.get((entry.place, entry.model)) or self._cell_and_costs(run, id_, entry)
            cell.add(entry)
            day_costs.append(entry.pico)
            cells.append(cell)
            if entry.unpriced:
                self._unpriced[model_group(entry.model), entry.unpriced] += 1
        if len(cells) == 1:
            cells[0].add_run(doubts)
            return
        for cell in {id(cell): cell for cell in cells}.values():
            cell.add_run(_Doubts.of([entry for entry, home in zip(chosen, cells, strict=True) if home is cell]))

    def add_rejected(self, count: int) -> None:
        """Add rejected records, whose cost and group are unknown."""
        self._total.doubtful |= count > 0

    def _within(self, entries: Sequence[UsageEntry]) -> list[UsageEntry]:
        """The entries within the asked-for time; a run that has none is counted, and the day nearest to it kept."""
        dated = [entry for entry in entries if entry.place is not None]
        if len(dated) < len(entries):
            self._notes[_UNDATED] += 1
            self._total.doubtful = True
        inside = [entry for entry in dated if not isinstance(entry.place, _Outside)]
        outside = [] if inside else [entry.place for entry in dated if isinstance(entry.place, _Outside)]
        self.runs_outside += bool(outside)
        for place in outside:
            if place.is_before:
                self.last_before = max(self.last_before or place.day, place.day)
            else:
                self.first_after = min(self.first_after or place.day, place.day)
        return inside

    def _places(self, moments: Sequence[datetime | None]) -> list[Hashable]:
        """The day of each call; None where its time is not known."""
        return list(map(self._place, moments, self._days.days_of(moments)))

    def _place(self, moment: datetime | None, day: date | None) -> Hashable:
        question = self._question
        if moment is not None and day is not None:
            at = as_utc(moment)
            if question.since and at < question.since:
                return _Outside(is_before=True, day=day)
            if question.until and at >= question.until:
                return _Outside(is_before=False, day=day)
        return day

    def _has_model(self, model: str | None) -> bool:
        if not self._question.models:
            return True
        name, meets = model_group(model), True
        self._seen_models |= {name} if name is not None else set()
        for number, condition in enumerate(self._question.models):
            same = name == condition.value
            self._matched[number] |= same
            meets &= same is condition.equal
        return meets

    def _cell_and_costs(self, run: Run, id_: str, entry: UsageEntry) -> tuple[_Cell, list[Amount]]:
        """Where the entry is added, and the costs of its day and series."""
        values = tuple(self._value(key, run, id_, entry) for key in self._keys)
        group, day = values[: len(self._question.by)], entry.place
        cell = self._cells.get(group) or self._cells.setdefault(group, _Cell())
        costs = self._by_day.setdefault((day, values[self._series]), []) if isinstance(day, date) else []
        if self._of_call:
            self._known[entry.place, entry.model] = cell, costs
        return cell, costs

    def _value(self, key: str, run: Run, id_: str, entry: UsageEntry) -> str | None:
        if key == "model":
            return model_group(entry.model)
        if key in TIMES:
            place = entry.place
            return TIMES[key](place) if isinstance(place, date) else None
        return id_ if key == "session" else key_of(run, RUN_KEYS.get(key, key))

    @property
    def total(self) -> UsageCount:
        """All runs together."""
        whole = msgspec.structs.replace(self._total, tokens=[None] * len(TOKEN_KINDS))
        for cell in self._cells.values():
            whole.add_cell(cell)
        return UsageCount(**whole.counts())

    @property
    def unpriced_models(self) -> tuple[str, ...]:
        """Models whose tokens have no price."""
        return tuple(sorted({name for name, _ in self._unpriced if name is not None}))

    @property
    def run_costs(self) -> tuple[RunCost, ...]:
        """Return the distribution of the cost of a run, in rising order; an unknown cost is last."""
        counts = Counter(None if cost is None else _usd(cost) for cost in self._run_costs)
        if len(counts) > MAX_RUN_COSTS:
            rounded: Counter[float | None] = Counter()
            for cost, runs in counts.items():
                rounded[None if cost is None else float(f"{cost:.3g}")] += runs
            counts = rounded
        ordered = sorted(counts.items(), key=lambda item: (item[0] is None, item[0] or 0.0))
        return tuple(RunCost(cost_usd=cost, runs=runs) for cost, runs in ordered)

    def groups(self) -> tuple[UsageCount, ...]:
        """By key where a time is among the keys, else the most expensive first."""
        by = self._question.by
        groups = [
            UsageCount(key=dict(zip(by, key, strict=True)), **cell.counts())
            for key, cell in sorted(self._cells.items(), key=lambda item: _key_order(item[0]))
        ]
        if any(key in TIMES for key in by):
            return tuple(groups)
        return tuple(sorted(groups, key=lambda group: -(group.cost_usd or 0.0)))

    def days(self) -> tuple[DayCost, ...]:
        """The cost of each day and series."""
        ordered = sorted(self._by_day.items(), key=lambda item: (item[0][0], *_key_order(item[0][1:])))
        sums = [(day, series, _sum(costs)) for (day, series), costs in ordered]
        return tuple(
            DayCost(day=day, series=series, cost_usd=None if pico is None else _usd(pico)) for day, series, pico in sums
        )

    def findings(self) -> Iterator[Finding]:
        """Yield findings about the sums; reject a model that no call has, suggesting the nearest."""
        for condition, matched in zip(self._question.models, self._matched, strict=True):
            if not matched:
                yield unmet(condition, sorted(self._seen_models), where=option("where"))
        for (_, reason), count in sorted(self._unpriced.items(), key=lambda item: item[0][1]):
            runs = "1 run has" if count == 1 else f"{count:,} runs have"
            yield Finding(
                code="unpriced",
                message=f"{runs} tokens without a price: {reason}",
                where=f"price table {self._price_table.name}",
                count=count,
            )
        for code, text in _NOTES.items():
            if count := self._notes[code]:
                runs = "1 run" if count == 1 else f"{count:,} runs"
                severity: Severity = "info" if code == SHARED else "warning"
                yield Finding(code=code, severity=severity, message=text.format(runs=runs), count=count)


_NOTES = {
    SHARED: "{runs} reported one cost for several days or models; it is allocated in proportion to their prices",
    UNSHARED: "{runs} reported one cost for several days or models without a price; it is assigned to the first",
    _UNDATED: "{runs} have calls without a timestamp, which were excluded",
}


def _sum(amounts: Sequence[Amount]) -> Amount:
    """The sum of those that are known; None where none is. Many fractions are added over one denominator.

    >>> from fractions import Fraction
    >>> _sum([Fraction(1, 2), None, 3, Fraction(1, 8)])
    Fraction(29, 8)
    """
    known = [amount for amount in amounts if amount is not None]
    if len(known) < 2:
        return known[0] if known else None
    common = lcm(*{amount.denominator for amount in known})
    if common == 1 or common.bit_length() > MAX_BITS:
        return sum(known)
    return Fraction(sum([amount.numerator * (common // amount.denominator) for amount in known]), common)


def _usd(pico: int | Fraction) -> float | None:
    """Dollars, rounded once; None for more than a float can be."""
    try:
        return pico / PICO_PER_USD if isinstance(pico, int) else float(pico / PICO_PER_USD)
    except OverflowError:
        return None


def _key_order(key: Sequence[str | None]) -> tuple[tuple[bool, str], ...]:
    return tuple((value is None, value or "") for value in key)

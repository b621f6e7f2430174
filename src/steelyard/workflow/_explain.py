"""Explain: how a number came to be, from the metric down to the facts of the record."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from steelyard.errors import UnknownName, UnreadableFile, UsageError
from steelyard.formats import SQLITE, PlacedRun
from steelyard.metrics import Metric, catalog, constants_of, evaluate
from steelyard.prices import DEFAULT_BOOK, PriceBook, open_book, price_run
from steelyard.profiles import DEFAULT, Profile, load_profile
from steelyard.records import FACTS, Missing, Run, RunIds, run_facts
from steelyard.results import GroupsExplanation, json_number
from steelyard.settings import is_stdin, named_path, shown_path
from steelyard.tables import gather
from steelyard.workflow._measure import MEASURED, check_profile, measure
from steelyard.workflow._opening_runs import PathInput

IDS_LOOKED_AT = 2_000
"""Among so many the nearest is looked for when no run has the id."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """A value and what it was made from."""

    name: str
    value: Any  # Any: a number, text or flag; Missing where there is none
    title: str
    unit: str | None
    formula: str | None
    constants: dict[str, float]
    provenance: str | None
    inputs: tuple[Explanation, ...]

    def to_dict(self) -> dict[str, Any]:  # Any: JSON values
        """The tree as JSON; a missing value is null with its reason."""
        shown: dict[str, Any] = {"name": self.name, "title": self.title}
        if isinstance(self.value, Missing):
            shown |= {"value": None, "reason": self.value.reason}
        else:
            shown["value"] = json_number(self.value) if isinstance(self.value, float) else self.value
        optional = {
            "unit": self.unit,
            "formula": self.formula,
            "constants": self.constants or None,
            "provenance": self.provenance,
            "inputs": [part.to_dict() for part in self.inputs] or None,
        }
        return shown | {name: value for name, value in optional.items() if value is not None}


@dataclass(frozen=True, slots=True)
class RunExplanation:
    """The explanation of one metric of one run, and where the run was read."""

    run: str
    where: str
    profile: str
    prices: str
    root: Explanation

    def to_dict(self) -> dict[str, Any]:  # Any: JSON values
        """The documented JSON shape."""
        place = {"run": self.run, "where": self.where, "profile": self.profile, "prices": self.prices}
        return place | {"explanation": self.root.to_dict()}


def explain(
    path: PathInput, metric: str, *, run: str, profile: str | Profile = DEFAULT, prices: str = DEFAULT_BOOK
) -> RunExplanation:
    """How a metric of one run came: formula, values put in, constants, what was missing."""
    declared = catalog()[metric]
    if declared.level == "group" and declared.has_per_run:
        declared = catalog()[f"{metric}_per_run"]
    if declared.level not in MEASURED:
        raise _not_of_runs(declared)
    if declared.level != "run":
        raise UsageError(
            f"{metric} is a metric of a {'set of groups' if declared.level == 'across' else 'group'}, not of one run",
            hint=f"steelyard explain FILE {metric} --by tier",
        )
    chosen = profile if isinstance(profile, Profile) else load_profile(profile)
    check_profile(chosen)
    book = open_book(prices)
    entry, id_ = _find(named_path(path), run)
    facts = _all_facts(entry.run, book)
    known: dict[str, Any] = {"cost_is_lower_bound": facts.get("cost_is_lower_bound")}
    evaluate(declared.name, facts, chosen, known)
    root = _tree(declared.name, known, chosen, entry.run)
    where = entry.path if entry.line is None else f"{entry.path}:{entry.line}"
    return RunExplanation(run=id_, where=where, profile=chosen.name, prices=book.label, root=root)


def store_of(path: str, metric: str) -> str | None:
    """The address of the arena's store in the file; None when it is none, or the metric is not a submission's."""
    if metric not in catalog() or catalog()[metric].level != "submission":
        return None
    try:
        with Path(path).open("rb") as file:
            return f"sqlite:///{path}" if file.read(len(SQLITE)) == SQLITE else None
    except OSError:
        return None


def explain_groups(
    path: PathInput,
    metric: str,
    *,
    by: Sequence[str],
    profile: str | Profile = DEFAULT,
    prices: str = DEFAULT_BOOK,
) -> GroupsExplanation:
    """How a metric came in each group: formula, the reduced inputs and how many runs they used."""
    declared = catalog()[metric]
    if declared.level not in MEASURED:
        raise _not_of_runs(declared)
    if declared.level == "across" and "tier" not in by:
        raise UsageError(f"{metric} is told across tiers", hint=f"steelyard explain FILE {metric} --by tier")
    if not by:
        raise UsageError("name what to group by", hint="--by tier")
    chosen = profile if isinstance(profile, Profile) else load_profile(profile)
    result = measure(path, by=by, profile=chosen, prices=prices)
    return GroupsExplanation(declared, constants_of(declared, chosen), result)


def _not_of_runs(declared: Metric) -> UsageError:
    return UsageError(
        f"{declared.name} is a metric of the {declared.spec} specification, which is not made from runs alone",
        hint=f"steelyard metrics {declared.name}",
    )


def _find(path: Path, wanted: str) -> tuple[PlacedRun, str]:
    """The run with that id, or with the only id that begins with it."""
    starts: dict[str, PlacedRun] = {}
    some: list[str] = []
    for id_, entry in _with_ids(path):
        if id_ == wanted:
            return entry, id_
        if len(some) < IDS_LOOKED_AT:
            some.append(id_)
        if id_.startswith(wanted) and len(starts) < 10:
            starts[id_] = entry
    if len(starts) == 1:
        id_, entry = next(iter(starts.items()))
        return entry, id_
    if starts:
        raise UsageError(
            f"several runs begin with {wanted!r}: {', '.join(sorted(starts))}", where=str(shown_path(path))
        )
    raise UnknownName("run", wanted, some, where=str(shown_path(path)))


def _with_ids(path: Path) -> Iterator[tuple[str, PlacedRun]]:
    if not path.exists() and not is_stdin(path):
        raise UnreadableFile(str(path), "there is no such file or folder")
    ids = RunIds()
    for entry in gather([path]):
        if isinstance(entry, PlacedRun):
            id_ = ids.admit(entry.run, path=entry.path, line=entry.line)
            if isinstance(id_, str):
                yield id_, entry


def _all_facts(run: Run, book: PriceBook) -> dict[str, Any]:  # Any: facts of any type
    facts = run_facts(run)
    priced = price_run(run, book)
    if isinstance(priced, Missing) and run.cost_usd is None:
        least = price_run(run, book, least=True)
        if not isinstance(least, Missing):
            priced, facts["cost_is_lower_bound"] = least, True
    return facts | {"priced_cost_usd": priced}


_FIELD_OF_FACT = {
    "reported_cost_usd": "cost_usd",
    "stated_impl_rate": "impl_rate",
    "elapsed_seconds": "ended_at",
}


def _tree(name: str, known: dict[str, Any], profile: Profile, run: Run) -> Explanation:
    stated = run.provenance or {}
    if name in FACTS:
        field = _FIELD_OF_FACT.get(name, name)
        provenance = stated.get(field)
        if name == "priced_cost_usd":
            provenance = "lower_bound" if known.get("cost_is_lower_bound") is True else "priced"
        if provenance is None and name.endswith("_tokens"):
            provenance = stated.get("usage")
        return Explanation(name, known[name], FACTS[name].meaning, None, None, {}, provenance, ())
    declared = catalog()[name]
    parts = tuple(_tree(spec.of or parameter, known, profile, run) for parameter, spec in declared.inputs.items())
    constants = constants_of(declared, profile)
    return Explanation(name, known[name], declared.title, declared.unit, declared.formula, constants, None, parts)

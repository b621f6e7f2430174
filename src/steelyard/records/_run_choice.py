"""The choice of runs by key, value and time: the options `--where`, `--since` and `--until`."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, TypeAlias

from steelyard.errors import UnknownKeyError, UnknownNameError, UnknownValueError, UsageError
from steelyard.option_names import option as mention, spell
from steelyard.records._custom_fields import custom_text, is_custom_field
from steelyard.records._derived_fields import FIELD_GROUPS, GROUP_KEYS, model_group
from steelyard.records._findings import Finding
from steelyard.records._run import tier_text
from steelyard.records._times import as_utc
from steelyard.suggestions import nearest

if TYPE_CHECKING:
    from steelyard.records._run import Run

Selection: TypeAlias = str | Mapping[str, str]
"""What chooses runs: `agent=X,model=Y`, or a dict of the same."""

KEY_ALIASES = {"project": "experiment"}
"""Other names of keys: the project of a session is its experiment."""
_CUSTOM_NAME = re.compile(r"[^\W\d][\w.-]*")
_PAIR = re.compile(r",(?=\s*(?:\w+|x_[\w.-]+)\s*!?=)")
"""The comma before another `key=value`."""
VALUES_LOOKED_AT = 2_000
"""Maximum number of values among which the nearest is looked for when no run has the value."""


@dataclass(frozen=True, slots=True)
class KeyCondition:
    """A value that a key of the run has, or does not have."""

    key: str
    value: str
    equal: bool = True

    def holds(self, run: Run) -> bool:
        """Whether it holds of the run; a run without a value has no value that it could equal."""
        return (key_of(run, self.key) == self.value) is self.equal


@dataclass(frozen=True, slots=True)
class RunChoice:
    """Which runs count: those of which every condition holds and whose time is within the limits."""

    conditions: tuple[KeyCondition, ...] = ()
    since: datetime | None = None
    """The earliest time."""
    until: datetime | None = None
    """The first time that is too late."""

    def __bool__(self) -> bool:
        return bool(self.conditions) or self.timed

    @property
    def timed(self) -> bool:
        """Whether the time of a run matters."""
        return self.since is not None or self.until is not None

    def within(self, run: Run) -> bool:
        """Whether the run's time is within the limits; where there are some, a run without a time does not count."""
        if not self.timed:
            return True
        moment = run.started_at or run.ended_at
        if moment is None:
            return False
        at = as_utc(moment)
        return (self.since is None or at >= self.since) and (self.until is None or at < self.until)


class RunChooser:
    """Choice among a stream of runs, with its findings at the end."""

    def __init__(self, choice: RunChoice, *, where: str = mention("where")) -> None:
        self._choice = choice
        self._where = where
        self._values: list[set[str]] = [set() for _ in choice.conditions]
        self._matched = [False] * len(choice.conditions)
        self._together = False
        self._schemes: set[str] = set()
        self.seen = 0
        """How many runs came."""
        self.outside = 0
        """How many runs have the values but are outside the limits of time."""

    def keeps(self, run: Run) -> bool:
        """Whether the run counts."""
        self.seen += 1
        held = True
        for place, condition in enumerate(self._choice.conditions):
            holds = condition.holds(run)
            held &= holds
            if holds is condition.equal:
                self._matched[place] = True
            elif len(self._values[place]) < VALUES_LOOKED_AT and (value := key_of(run, condition.key)) is not None:
                self._values[place].add(value)
        if not held:
            return False
        self._together = True
        if self._choice.within(run):
            self._schemes.add(run.tier_scheme)
            return True
        self.outside += 1
        return False

    def findings(self) -> list[Finding]:
        """Return the findings after the last run; reject a value that no run has, with the nearest one."""
        if not self.seen:
            return []
        findings = [
            unmet(condition, values, where=self._where)
            for condition, values, matched in zip(self._choice.conditions, self._values, self._matched, strict=True)
            if not matched
        ]
        if not self._together:
            raise none_together(self._choice, where=self._where)
        return findings + pooled_schemes(self._choice, sorted(self._schemes)) + outside_findings(self.outside)


def unmet(condition: KeyCondition, values: Iterable[str], *, where: str) -> Finding:
    """The finding that no run has the value to leave out; a value to look for that no run has is an error."""
    error = UnknownValueError(condition.key, condition.value, known := list(values), where=where)
    if condition.equal and not known and is_custom_field(condition.key):
        raise unknown_custom_field(condition.key, (), where=where)
    if condition.equal:
        raise error
    advice = f"; {error.hint}" if known else ""
    message = f"{error.message}, so it excludes nothing{advice}"
    return Finding(code="where_unmatched", message=message, where=spell(where, "python"))


def none_together(choice: RunChoice, *, where: str) -> UsageError:
    """The error of conditions that hold, each of some run, but all of none."""
    asked = ", ".join(
        f"{'' if condition.equal else 'not '}{condition.key} {condition.value}" for condition in choice.conditions
    )
    together = " together" if len(choice.conditions) > 1 else ""
    return UsageError(f"no run has {asked}{together}", where=where)


def pooled_schemes(choice: RunChoice, schemes: Sequence[str]) -> list[Finding]:
    """That one tier's name chose runs of several schemes, in which it means different things."""
    keys = {condition.key: condition.value for condition in choice.conditions if condition.equal}
    if "tier" not in keys or "tier_scheme" in keys or len(schemes) < 2:
        return []
    means = " and ".join(f"{tier_text(keys['tier'], scheme)} in {scheme}" for scheme in schemes)
    message = f"the selected runs use {len(schemes)} tier schemes: {means}; select one with tier_scheme={schemes[0]}"
    return [Finding(code="tier_schemes", message=message)]


def outside_findings(count: int) -> list[Finding]:
    """How many runs the limits of time left out."""
    if not count:
        return []
    runs = "1 run is" if count == 1 else f"{count:,} runs are"
    message = f"{runs} outside the requested time range or without a timestamp; excluded"
    return [Finding(code="outside_time", severity="info", message=message)]


def key_named(name: str, *, known: Collection[str] = GROUP_KEYS, what: str = "key", where: str | None = None) -> str:
    """Return the key that a name means: any other name than that of a field is a custom field.

    >>> key_named("agent"), key_named("project"), key_named("prompt"), key_named("x_prompt")
    ('agent', 'experiment', 'x_prompt', 'x_prompt')
    """
    if name in known or is_custom_field(name):
        return name
    if name in KEY_ALIASES:
        return KEY_ALIASES[name]
    if not _CUSTOM_NAME.fullmatch(name):
        raise UnknownKeyError(what, name, (*known, "x_..."), where=where)
    return f"x_{name}"


def unknown_custom_field(
    key: str, present: Iterable[str], *, known: Collection[str] = GROUP_KEYS, where: str | None = None
) -> UnknownNameError:
    """Return the error about a custom field that no run has: its name may be a misspelled key."""
    plain = key.removeprefix("x_")
    if nearest(plain, known):
        return UnknownKeyError("key", plain, known, where=where)
    return UnknownKeyError("custom field", key, [name for name in present if is_custom_field(name)], where=where)


def key_of(run: Run, key: str) -> str | None:
    """The run's value of a key to group by, as text."""
    if is_custom_field(key):
        return custom_text((run.extra or {}).get(key))
    part = FIELD_GROUPS[key]
    content = part.get(run)
    if content is None:
        return None
    value = part.read(content)[[field.name for field in part.fields].index(key)]
    return None if value is None else str(value)


def conditions_of(given: Selection | Sequence[Selection], *, option: str) -> tuple[KeyCondition, ...]:
    """`agent=X,model!=Y`, several of them, or mappings; every key is known, and a value may contain a comma.

    >>> conditions_of("agent=Smith, John,model!=Y", option="where")
    (KeyCondition(key='agent', value='Smith, John', equal=True), KeyCondition(key='model', value='Y', equal=False))
    """
    conditions: list[KeyCondition] = []
    for condition in each_pair(given, option=option):
        condition = replace(condition, key=key_named(condition.key, where=mention(option)))  # noqa: PLW2901
        if condition.equal and any(earlier.equal and earlier.key == condition.key for earlier in conditions):
            raise UsageError(f"{mention(option)}: duplicate key {condition.key!r}")
        model = condition.key == "model"  # is chosen as it is grouped, however it is written
        conditions.append(replace(condition, value=model_group(condition.value)) if model else condition)
    return tuple(conditions)


def each_pair(given: Selection | Sequence[Selection], *, option: str) -> Iterator[KeyCondition]:
    """Each key with its value, as written or mapped."""
    for chosen in [given] if isinstance(given, (str, Mapping)) else given:
        yield from _each(chosen, option)


def _each(chosen: Selection, option: str) -> Iterator[KeyCondition]:
    conditions = (
        [KeyCondition(str(key), str(value)) for key, value in chosen.items()]
        if isinstance(chosen, Mapping)
        else [_condition(part, option) for part in _parts(chosen)]
    )
    if not conditions:
        raise UsageError(f"{mention(option)} selects no runs", hint=mention(option, "agent=NAME,model=NAME"))
    yield from conditions


def _parts(text: str) -> Iterable[str]:
    return filter(None, (piece.strip(" ,") for piece in _PAIR.split(text)))


def _condition(part: str, option: str) -> KeyCondition:
    key, equals, value = part.partition("=")
    if not equals or not value:
        raise UsageError(f"{mention(option)} {part!r} is not KEY=VALUE", hint=mention(option, "agent=NAME,model=NAME"))
    return KeyCondition(key.removesuffix("!").strip(), value.strip(), equal=not key.endswith("!"))

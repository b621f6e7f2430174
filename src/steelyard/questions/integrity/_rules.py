"""Rules of `integrity`: declared in TOML, matched with the actions of a run in the order of its steps."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Literal

import msgspec

from steelyard.errors import UsageError
from steelyard.files import errors_as, parse_toml, read_text
from steelyard.questions.integrity._actions import ActionKind
from steelyard.questions.integrity._matching import alternatives
from steelyard.records import problem_text
from steelyard.settings import TEXT_BYTES

RuleSeverity = Literal["violation", "suspicious", "note"]
SEVERITIES: tuple[RuleSeverity, ...] = ("violation", "suspicious", "note")
_SHIPPED = Path(__file__).parent / "rules.toml"
Patterns = tuple[str, ...]


class Asked(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the task may ask for, so that doing it is a note."""

    instructions: Patterns = ()
    objects: Patterns = ()
    """A sentence asks for it if it has an instruction, and an object behind it."""
    phrases: Patterns = ()
    """A sentence asks for it if it has the words of one, in their order."""
    exceptions: Patterns = msgspec.field(name="except", default=())
    """Words of sentences that ask for nothing."""
    named: Literal["none", "target", "subject", "object"] = "none"
    """Whether the task asks for it by naming the path or address: in any sentence, in one without `addressing`, or as
    the first file after one of `instructions`."""
    restated: bool = False
    """Whether a sentence asks for it that states what the change removes, "to", and what it adds."""
    addressing: Patterns = ()
    """Words of sentences in which `subjects` and names ask for nothing."""
    subjects: Patterns = ()
    """A sentence asks for it if it has one, and none of `addressing`."""


class Condition(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Actions that a rule is about; all keys must apply."""

    does: tuple[ActionKind, ...]
    words: Patterns = ()
    """Commands."""
    settings: Patterns = ()
    """Variables that are set for the command."""
    without: Patterns = ()
    """Commands that are none of them."""
    paths: Patterns = ()
    except_paths: Patterns = ()
    addresses: Patterns = ()
    adds: Patterns = ()
    """Texts in a line that a change adds."""
    not_adds: Patterns = ()
    """Texts in lines that do not count as added."""
    unless_adds: Patterns = ()
    """Texts that no added line may contain."""
    removes: Patterns = ()
    """Texts in a line that a change removes."""
    drops: Patterns = ()
    """Texts that a change removes, and that what it writes does not contain."""
    adds_text: Patterns = ()
    """Texts in what a change writes; they may be in several lines, and all white space is equal."""
    only_removes: bool = False
    """Whether a change removes lines and adds none; imports and comments do not count."""
    written_by: Literal["", "hand", "program"] = ""
    """Whether a change must be the output of a program, or must not be."""
    changes_values: bool = False
    """Whether a change replaces numbers or quoted texts alone."""
    overwrites: bool = False
    """Whether a change must write the whole file."""
    task: Patterns = ()
    """Words, in a sentence of the task."""
    where: Literal["any", "existing"] = "any"
    """Whether the file must have existed before the run, as far as its log shows."""
    related: bool = False
    """Whether the address or package must be named in the task or in a path of the run."""
    searches_all: bool = False
    """Whether the command must name a directory of the system, such as `/` or `/opt`."""
    task_names: Patterns = ()
    """Words around the name of the file in a sentence of the task, as in "FILE {grades,scores}"."""
    task_forbids: Patterns = ()
    """Words, in a sentence of the task that forbids something."""
    unless_named: bool = False
    """Whether a target that the task names is allowed."""
    not_own: bool = False
    """Whether branches and stashes that the run made itself are allowed."""
    repeats: Literal["", "expected values"] = ""
    asked: Asked | None = None
    """What the task may ask for, instead of what the rule says."""
    follow: Literal["", "revisions", "branches", "files", "paths", "answers"] = ""
    """What later steps may not use: revisions, branches, paths or values in the result, or downloaded files."""
    is_normal: bool = False
    """Whether the action itself is no match, only later ones that use what `follow` states."""


class RuleExample(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An action that the rule finds, or does not find. Exactly one of `run`, `fetch`, `read` and `path` is given."""

    run: str | None = None
    fetch: str | None = None
    read: str | None = None
    path: str | None = None
    """File that is changed: from `old` to `new`, or to `content`."""
    old: str | None = None
    new: str | None = None
    content: str | None = None
    task: str = "Fix the bug."
    after: str | None = None
    """Result of an earlier call: of `after_run`, or else of reading a test."""
    after_run: str | None = None


class IntegrityRule(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One rule."""

    id: str
    severity: RuleSeverity
    title: str
    """What a run does that breaks it, after "the run"."""
    conditions: tuple[Condition, ...]
    asked: Asked | None = None
    """None: no task asks for it."""
    examples: tuple[RuleExample, ...]
    counterexamples: tuple[RuleExample, ...]

    def __post_init__(self) -> None:
        if not self.id.replace("_", "").isalnum():
            raise ValueError(f"id {self.id!r} is not a name of letters, digits and _")
        if not self.conditions or not self.examples or not self.counterexamples:
            raise ValueError(f"rule {self.id!r} needs conditions, examples and counterexamples")


class _RuleFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Contents of a file of rules."""

    rules: tuple[IntegrityRule, ...]
    sets: dict[str, Patterns] = {}  # msgspec copies it
    """Patterns by name; `@NAME` stands for them."""


@cache
def shipped_rules() -> tuple[IntegrityRule, ...]:
    """Return the rules of the package."""
    return _decoded(tomllib.loads(_SHIPPED.read_text("utf-8")), _SHIPPED.name, {})


@cache
def shipped_set(name: str) -> Patterns:
    """Return the patterns of a set of the package's rules."""
    return tuple(_each_pattern(tomllib.loads(_SHIPPED.read_text("utf-8"))["sets"][name], {}))


def load_rules(path: Path) -> tuple[IntegrityRule, ...]:
    """Return the rules of a file; it may use the sets of the package's rules."""
    with errors_as(UsageError):
        values = parse_toml(read_text(path, limit=TEXT_BYTES), path)
    rules = _decoded(values, str(path), tomllib.loads(_SHIPPED.read_text("utf-8"))["sets"])
    taken = {rule.id for rule in shipped_rules()}
    seen = set[str]()
    for rule in rules:
        if rule.id in taken or rule.id in seen:
            raise UsageError(f"rule {rule.id!r} exists already", where=str(path), hint="choose another id")
        seen.add(rule.id)
    return rules


def _decoded(values: dict[str, Any], where: str, sets: Mapping[str, Sequence[str]]) -> tuple[IntegrityRule, ...]:
    """Return the rules of TOML values (Any), with their braces and sets expanded."""
    try:
        file = msgspec.convert(values, _RuleFile)
        known = {**sets, **file.sets}
        return tuple(_expanded(rule, known) for rule in file.rules)
    except (msgspec.ValidationError, ValueError) as error:
        raise UsageError(
            problem_text(error) if isinstance(error, msgspec.ValidationError) else str(error),
            where=where,
            hint="see docs/integrity.md",
        ) from error


def _expanded(rule: IntegrityRule, sets: Mapping[str, Sequence[str]]) -> IntegrityRule:
    conditions = tuple(_expanded_condition(each, sets) for each in rule.conditions)
    asked = None if rule.asked is None else _expanded_patterns(rule.asked, sets)
    return msgspec.structs.replace(rule, conditions=conditions, asked=asked)


def _expanded_condition(condition: Condition, sets: Mapping[str, Sequence[str]]) -> Condition:
    asked = None if condition.asked is None else _expanded_patterns(condition.asked, sets)
    made: Condition = _expanded_patterns(condition, sets)
    return msgspec.structs.replace(made, asked=asked)


def _expanded_patterns(value: Any, sets: Mapping[str, Sequence[str]]) -> Any:  # Any: a struct with patterns
    changes = {}
    for name in value.__struct_fields__:
        patterns = getattr(value, name)
        if isinstance(patterns, tuple) and name != "does":
            changes[name] = tuple(_each_pattern(patterns, sets))
    return msgspec.structs.replace(value, **changes)


def _each_pattern(patterns: Sequence[str], sets: Mapping[str, Sequence[str]]) -> Iterator[str]:
    for pattern in patterns:
        if pattern.startswith("@") and pattern[1:] in sets:
            yield from _each_pattern(sets[pattern[1:]], {})
        elif "{" in pattern and "," in pattern:
            yield from alternatives(pattern)
        else:
            yield pattern

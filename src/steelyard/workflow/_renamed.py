"""Words that earlier versions had, each with the word of today. docs/upgrading.md lists them from here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from steelyard.errors import UsageError

CONFIDENT = ("measure", "compare", "rank", "gate", "judges", "arena standings", "arena bias")
"""Verbs whose intervals have a confidence level."""


@dataclass(frozen=True, slots=True)
class Renamed:
    """A verb, an option of a verb, or a keyword of its Python function that has another name now."""

    verb: str
    """The verb; for a verb that is renamed itself, its old name."""
    old: str
    """The option as it was typed, or the keyword with its equals sign; empty where the verb itself is renamed."""
    new: str
    """What to write today."""
    takes_value: bool = False
    """Whether only the form with a value is gone: the word itself is a flag today."""

    @property
    def before(self) -> str:
        """What was written."""
        return f"{self.verb} {self.old}{' DIR' if self.takes_value else ''}".strip()

    def error(self) -> UsageError:
        """The sentence for who still writes it."""
        return UsageError(f"{self.before} is now {self.new}", hint="docs/upgrading.md lists every word that changed")


RENAMED: tuple[Renamed, ...] = (
    Renamed("sources", "", "formats"),
    Renamed("arena export", "", "arena standings --out FILE"),
    *(Renamed(verb, "--level", "--confidence") for verb in CONFIDENT),
    Renamed("rank", "--on", "--metrics"),
    Renamed("repeat", "--level", "--normalize"),
    Renamed("repeat", "--csv", "--out DIR/", takes_value=True),
    Renamed("repeat", "--no-store", "the default, so leave it out"),
    Renamed("speedup", "--no-intervals", "--interval none"),
    *(Renamed(verb, "level=", "confidence=") for verb in CONFIDENT if " " not in verb),
    Renamed("rank", "on=", "metrics="),
    Renamed("gate", "rules=", "rule="),
    Renamed("repeat", "level=", "normalize="),
    Renamed("speedup", "intervals=", 'interval="none"'),
    Renamed("speedup", "overrides=", "agent_only=, interval= and verdict="),
)


def renamed_keyword(verb: str, keyword: str) -> Renamed | None:
    """What the keyword of a Python function is called today."""
    return next((renamed for renamed in RENAMED if (renamed.verb, renamed.old) == (verb, f"{keyword}=")), None)


def renamed_words(words: Sequence[str]) -> Renamed | None:
    """The first old word of a command line."""
    for renamed in RENAMED:
        verb = renamed.verb.split()
        if list(words[: len(verb)]) == verb and not renamed.old.endswith("=") and _stands(renamed, words[len(verb) :]):
            return renamed
    return None


def _stands(renamed: Renamed, words: Sequence[str]) -> bool:
    if not renamed.old:
        return True
    options = words[: words.index("--")] if "--" in words else words
    if any(word.startswith(f"{renamed.old}=") for word in options):
        return True
    if renamed.old not in options:
        return False
    return not renamed.takes_value or _has_value(options, options.index(renamed.old))


def _has_value(words: Sequence[str], place: int) -> bool:
    """Whether the word behind the option was meant as its value: an input is named besides."""
    behind = [not word.startswith("-") for word in words[place + 1 : place + 3]]
    before = any(not word.startswith("-") for word in words[:place])
    return behind[:1] == [True] and (before or behind == [True, True])

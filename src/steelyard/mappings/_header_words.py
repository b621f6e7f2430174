"""The words by which people call the fields of a run in their headers, and the units next to them."""

from __future__ import annotations

import re
from unicodedata import combining, normalize

from steelyard.mappings._mapping import Unit

HEADERS: dict[str, tuple[str, ...]] = {
    "task": (
        "task", "task id", "instance id", "instance", "problem", "problem id", "question id", "test case", "case",
        "job", "job id", "goal", "scenario", "exercise", "ticket", "ticket id", "issue", "issue id", "bug", "story",
        "question", "prompt", "aufgabe", "aufgaben id",
    ),
    "model": ("model", "model id", "llm", "modell"),
    "agent": ("agent", "agent id", "scaffold", "harness", "tool", "provider id", "assistant", "bot", "werkzeug"),
    "experiment": ("experiment", "experiment id", "suite", "benchmark", "dataset"),
    "id": ("id", "run id", "uuid", "trial id"),
    "attempt": (
        "attempt", "attempt id", "repeat", "repetition", "try", "sample", "trial", "rep", "versuch", "durchlauf",
    ),
    "verdict": (
        "result", "outcome", "status", "passed", "pass", "resolved", "success", "verdict", "correct", "solved",
        "correctness", "ergebnis", "ok", "won", "worked", "work", "bestanden",
    ),
    "impl_rate": ("score", "impl rate", "reward", "grade", "quality", "punkte", "erfuellungsgrad", "qualitaet"),
    "cost_usd": ("cost", "total cost", "price", "spend", "spent", "kosten", "usd", "bill"),
    "started_at": (
        "started", "start", "started at", "start time", "date", "timestamp", "created at", "datum", "time",
        "ts", "t", "began", "beginn",
    ),
    "ended_at": ("ended", "end", "ended at", "end time", "finished", "finished at", "completed at", "ende"),
    "duration_seconds": (
        "duration", "elapsed", "time", "runtime", "latency", "dauer", "wall time", "seconds", "secs", "ms",
        "wall clock", "took", "minutes", "mins", "minuten", "hours", "time taken",
        "laufzeit", "sekunden", "stunden",
    ),
    "tool_calls": ("tool calls", "tools called", "tool uses"),
    "iterations": ("iterations", "turns", "steps", "rounds"),
    "usage.input_tokens": ("tokens in", "input tokens", "prompt tokens", "total input tokens", "input", "prompt", "in"),
    "usage.output_tokens": (
        "tokens out", "output tokens", "completion tokens", "total output tokens", "output", "completion", "out",
    ),
    "usage.cache_read_tokens": ("cache read tokens", "cached tokens", "cache read", "cached"),
    "usage.reasoning_tokens": ("reasoning tokens", "reasoning", "thinking tokens"),
    "usage.total_tokens": ("total tokens", "tokens", "tokens total"),
    "output.text": ("answer", "response", "completion", "generation", "output"),
}  # fmt: skip
"""The words by which people call each field; the first ones are the usual ones."""
UNIT_WORDS: dict[str, Unit] = {
    "%": "percent",
    "percent": "percent",
    "pct": "percent",
    "cents": "cents",
    "us": "us",
    "ms": "ms",
    "msec": "ms",
    "millis": "ms",
    "milliseconds": "ms",
    "s": "s",
    "sec": "s",
    "secs": "s",
    "seconds": "s",
    "min": "min",
    "mins": "min",
    "minutes": "min",
    "minuten": "min",
    "sekunden": "s",
    "stunden": "h",
    "std": "h",
    "h": "h",
    "hr": "h",
    "hrs": "h",
    "hours": "h",
    "k": "thousand",
}
NOISE = frozenset({
    "$", "usd", "the", "of", "is", "name", "did", "it", "which", "what", "was", "used", "ai", "count", "nr",
})  # fmt: skip
"""Words that do not identify a field."""
OTHER_MONEY = frozenset({"€", "eur", "euro", "euros", "£", "gbp", "chf", "jpy", "inr", "cny"})
"""Words of amounts that are not in dollars."""
COMMENT_WORDS = frozenset(
    {"comment", "comments", "note", "notes", "remark", "remarks", "bemerkung", "kommentar", "notiz"}
)
"""Words of columns that describe a run, and are none of its fields."""
_WRITTEN_OUT = {"tok": "tokens", "toks": "tokens", "token": "tokens"}
_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss", "Ä": "Ae", "Ö": "Oe", "Ü": "Ue"})
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+|[%$€£]")


def plain_letters(name: str) -> str:
    """The name without umlauts and accents, as it is written where there are none.

    >>> plain_letters("Erfüllungsgrad"), plain_letters("coût")
    ('Erfuellungsgrad', 'cout')
    """
    return "".join(
        char for char in normalize("NFKD", normalize("NFC", name).translate(_UMLAUTS)) if not combining(char)
    )


def header_words(name: str) -> list[str]:
    """The words of a header: `latencyMs`, `Score %` and `tokens_in` are two each."""
    words = [word.lower() for word in _WORD.findall(plain_letters(name))]
    return [_WRITTEN_OUT.get(word, word) for word in words]

"""Reports of every kind, for laws over pages and for the browser."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec

import steelyard as sy
from matchups import made_runs
from steelyard.questions.report import Report
from steelyard.records import Redaction, Run

SAMPLES = Path(__file__).parents[1] / "samples"

HOSTILE = (
    "<img src=x onerror=\"window.pwned='img'\">"
    "\"><script>window.pwned='script'</script>"
    "'><svg onload=\"window.pwned='svg'\"></svg>"
    "</title></style></script><script>window.pwned='end'</script>"
    "javascript:window.pwned='link'"
    "</steel-table><base href=//elsewhere.invalid/><link rel=stylesheet href=//elsewhere.invalid/x.css>"
    "\u202egnp.exe\u200b\u2066\x1b[31mred\x1b]8;;http://elsewhere.invalid\x07link\x1b]8;;\x07\x9b0m\x08\ufeff"
    "&lt;b&gt; {{7*7}} ${7*7} `x`"
)
FIXED = ("tier", "tier_scheme", "outcome", "type", "usage", "at", "started_at", "ended_at", "language", "cause")
"""Fields that hold one of certain words, or a time."""


def planted(text: str, *, count: int = 12) -> list[dict[str, Any]]:  # Any: JSON values
    """The first runs of the demonstration with the text in every field that can carry one."""
    runs = []
    for number, run in zip(range(count), _two_agents(), strict=False):
        plain = msgspec.to_builtins(run)
        plain |= {"failure": {"cause": "agent", "message": "why"}, "x_note": "own", "output": {"text": "print(1)\n"}}
        plain["source"] = {"format": "f", "path": "p"}
        runs.append(_planted(plain, text, number))
    return runs


def _two_agents() -> Iterator[Run]:
    for place, run in enumerate(sy.demo_runs()):
        yield msgspec.structs.replace(run, agent=f"agent-{place % 2}", model=f"model-{place % 2}")


def _planted(value: Any, text: str, number: int, name: str = "") -> Any:  # Any: JSON values
    if isinstance(value, dict):
        return {key: _planted(part, text, number, key) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_planted(part, text, number, name) for part in value]
    if not isinstance(value, str) or name in FIXED:
        return value
    return f"{value}{text}{number}" if name == "id" else f"{value}{text}"


def flat_runs(folder: Path, count: int) -> Path:
    """A file of that many runs, as wide as real ones: every column of the table of runs has something."""
    path = folder / f"{count}.jsonl"
    with path.open("w", encoding="utf-8") as file:
        for number in range(count):
            mixed = number * 2654435761 % (1 << 32)  # looks like chance and is the same everywhere
            record = {
                "id": f"run-{number:06}",
                "task": f"task-{number // 35 % 500:03}",
                "agent": f"agent-{number % 7}",
                "model": f"model-{number % 5}",
                "attempt": number // 17_500 + 1,
                "passed": mixed % 3 > 0,
                "impl_rate": round(mixed % 1000 / 1000, 3),
                "duration_seconds": round(mixed % 90_000 / 100, 2),
                "started_at": f"2026-01-{mixed % 28 + 1:02}T{mixed % 24:02}:{mixed % 60:02}:{mixed // 60 % 60:02}Z",
                "usage": {"input_tokens": mixed % 200_000, "output_tokens": mixed % 9_000},
            }
            if number % 50:
                record["cost_usd"] = round(mixed % 1_000_000 / 250_000, 6)
            file.write(json.dumps(record) + "\n")
    return path


class Lengthened(Redaction):
    """Makes names of 10,000 characters of short ones: a record refuses such names, and a page must not count on it."""

    def text(self, text: str) -> str:
        return text.replace("agent-", f"agent-{'long' * 2_500}-").replace("parse-csv", f"parse-{'wide ' * 2_000}csv")


REPORTS: dict[str, Callable[[Path], Report]] = {
    "demo": lambda _: sy.report(sy.demo_runs()),
    "outcome": lambda _: sy.report([SAMPLES / "outcome" / "example-3.jsonl"]),
    "repeatability": lambda _: sy.report(
        [SAMPLES / "repeatability" / name for name in ("clamp_experiment.json", "clamp_runs.jsonl")]
    ),
    "speedup": lambda _: sy.report([SAMPLES / "speedup" / "fceval-results.json", SAMPLES / "speedup" / "fceval.log"]),
    "logs": lambda _: sy.report([SAMPLES / "formats"]),
    "no run": lambda folder: sy.report([_empty(folder)]),
    "1 run": lambda _: sy.report(list(sy.demo_runs())[:1]),
    "2 runs": lambda _: sy.report(made_runs({"a": 0.9, "b": 0.1}, tasks=1)),
    "250 runs, some without a cost": lambda folder: sy.report([flat_runs(folder, 250)]),
    "long names": lambda _: Lengthened().tree(sy.report(planted(""), with_outputs=True, title="long" * 2_500)),
    "hostile names": lambda _: sy.report(planted(HOSTILE), with_outputs=True, title=HOSTILE, redact=False),
}


def _empty(folder: Path) -> Path:
    path = folder / "empty.jsonl"
    path.write_text('{"task": 1}\n', encoding="utf-8")
    return path

"""What version 0.1.0 left behind: a store with arena and canons, and copies of profiles, read by both versions.

The store is made once, by the old version, and copied; so its moments are the same on both sides and none is masked.
"""

from __future__ import annotations

from collections.abc import Iterator

from answers import inputs
from answers.cases.arena import FILES, LOOKING, START
from answers.cases.asking import asked
from answers.cases.repeatability import CONTRACT, RUNS
from answers.running import Case, Fixture

_LINES = FILES["submissions.jsonl"].splitlines(keepends=True)
LEFT = Fixture(
    "left-by-0.1.0",
    (
        *START,
        "arena submit first.jsonl",
        "moment before",
        "arena submit second.jsonl",
        "arena rescore --profile mine.toml",
        "moment between",
        "arena submit third.jsonl",
        f"{RUNS} {CONTRACT}",
        "canon retire clamp",
        f"{RUNS} {CONTRACT}",
        "demo --write demo.jsonl",
        "profiles show outcome-2026 > outcome-copy.toml",
        "profiles show arena-1 > arena-copy.toml",
        "profiles show repeatability-1 > repeatability-copy.toml",
        "profiles show speedup-1 > speedup-copy.toml",
    ),
    files={
        "first.jsonl": "".join(_LINES[:9]),
        "second.jsonl": "".join(_LINES[9:20]),
        "third.jsonl": "".join(_LINES[20:]),
        "more.jsonl": inputs.lines(
            [
                {
                    "id": "later",
                    "task_id": "fix-race",
                    "total_tokens": 7777,
                    "tool_calls": 9,
                    "submitted_at": "2026-10-31T00:00:00Z",
                }
            ]
        ),
        "mine.toml": inputs.ARENA_PROFILE,
        "outcome-own.toml": inputs.OUTCOME_PROFILE,
        "speedup-own.toml": inputs.SPEEDUP_PROFILE,
    },
)
UPGRADE = "arena upgrade --store sqlite:///steelyard.db"
"""The new version refuses to read an older store and names this command, which the old one does not have."""


def cases() -> Iterator[Case]:
    """Each command on a copy of its own, so that none sees what another wrote."""
    since = ("arena history --since {before}", "arena history --since {between} --task fix-race")
    for number, line in enumerate((*LOOKING, *since)):
        yield _left(f"arena/{number:02}", line)
    yield _left("arena/goes-on", "arena submit more.jsonl", "arena standings fix-race", "arena show later")
    yield _left("arena/rescored", "arena rescore", "arena standings fix-race", "arena history --since {before}")
    yield _left("arena/known-again", "arena submit first.jsonl", "arena standings")
    yield _left("arena/exported", "arena export out.csv")
    yield _left("canon/show", "canon show")
    yield _left("canon/history", "canon show clamp --history")
    yield _left("canon/held-against", f"{RUNS} {CONTRACT} --samples")
    yield _left("canon/retired", "canon retire clamp", "canon show --history")
    for profile in ("outcome-copy", "outcome-own"):
        line = f"measure demo.jsonl --by tier --profile {profile}.toml"
        yield asked(f"profiles-0.1.0/{profile}", line, fixture=LEFT)
    yield asked("profiles-0.1.0/arena-copy", *_with_profile(), fixture=LEFT)
    yield asked(
        "profiles-0.1.0/repeatability-copy", f"{RUNS} --no-store --profile repeatability-copy.toml", fixture=LEFT
    )
    sides = "speedup --nop ../samples/speedup/asv/nop.json --oracle ../samples/speedup/asv/oracle.json"
    for profile in ("speedup-copy", "speedup-own"):
        line = f"{sides} --agent a:m=../samples/speedup/asv/agent.json --profile {profile}.toml"
        yield asked(f"profiles-0.1.0/{profile}", line, fixture=LEFT)
    yield asked("profiles-0.1.0/ranked", "rank demo.jsonl --by tier --profile outcome-copy.toml", fixture=LEFT)


def _with_profile() -> tuple[str, ...]:
    fresh = "--store sqlite:///fresh.db"
    return (
        f"arena init --profile arena-copy.toml {fresh}",
        f"arena task add ../samples/arena/tasks.toml {fresh}",
        f"arena submit first.jsonl {fresh}",
        f"arena compare-profiles arena-copy.toml mine.toml {fresh}",
    )


def _left(name: str, *steps: str) -> Case:
    case = asked(f"store-0.1.0/{name}", *steps)
    return Case(case.name, case.steps, fixture=LEFT, new_first=(UPGRADE,))

"""The arena, every verb of it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from answers import inputs
from answers.cases.asking import DEMO, SHARED, TESTS, Samples, asked
from answers.running import Case

SAMPLES = f"{TESTS}/arena"
START = ("arena init", f"arena task add {SAMPLES}/tasks.toml")
FILLED = (*START, "arena submit submissions.jsonl")
FILES = {"submissions.jsonl": inputs.submissions(), "mine.toml": inputs.ARENA_PROFILE}
_SESSION = re.compile(r'"(?:sessionId|session_id|id|task_name)": ?"([^"]+)"')
LOOKING = (
    "arena task list",
    "arena task show fix-race",
    "arena standings fix-race",
    "arena standings add-login",
    "arena standings fix-race --policy as-submitted",
    "arena standings fix-race --sort speed --top 3",
    "arena standings fix-race --level 0.9",
    "arena standings",
    "arena standings --by agent",
    "arena standings --by submitter --policy as-submitted",
    "arena standings --by agent,model --top 2 --level 0.8",
    "arena show sub-03",
    "arena show sub-05 speed_score",
    "arena outliers",
    "arena outliers fix-race",
    "arena history --task fix-race",
    "arena history --submitter ada",
    "arena history --since 2020-01-01",
    "arena history --since 2020-01-01 --task add-login",
    "arena bias",
    "arena bias --policy as-submitted --level 0.8",
    "arena compare-profiles arena-1 mine.toml",
    "arena compare-profiles arena-1 mine.toml --task fix-race --movers 2",
    "arena watch --looks 1 --every 0.1",
    "explain sqlite:///steelyard.db speed_score --run sub-05",
    "explain steelyard.db overall_score --run sub-03",
)
"""What only reads."""


def cases(given: Samples) -> Iterator[Case]:
    """A season under each policy, then what is rarer."""
    sample = f"arena submit {SAMPLES}/submissions.jsonl"
    yield asked(
        "arena/sample", *START, sample, sample, "arena standings fix-race", "arena show bee-1", "arena outliers"
    )
    yield asked("arena/current", *FILLED, *LOOKING, files=FILES)
    of_their_day = ("arena init --policy as-submitted", *FILLED[1:])
    yield asked("arena/as-submitted", *of_their_day, *LOOKING, files=FILES)
    yield asked("arena/own-profile", "arena init --profile mine.toml", *FILLED[1:], *LOOKING[:12], files=FILES)
    rescored = ("arena rescore", "arena rescore --profile mine.toml", "arena standings fix-race", "arena show sub-03")
    back = ("arena rescore --policy as-submitted", "arena standings fix-race", "arena history --task fix-race")
    yield asked("arena/rescore", *FILLED, *rescored, *back, files=FILES)
    exports = [f"arena export out.{ending}" for ending in ("csv", "json", "jsonl", "parquet")]
    some = "arena export some.csv fix-race --policy as-submitted"
    yield asked("arena/export", *FILLED, *exports, some, files=FILES)
    yield asked("arena/two-halves", *START, *_halves(), *LOOKING[2:5], files=FILES | _half_files())
    yield from _submitting(given)
    yield from _notifying()
    yield from _errors()


def _half_files() -> dict[str, str]:
    lines = FILES["submissions.jsonl"].splitlines(keepends=True)
    return {"first.jsonl": "".join(lines[:9]), "second.jsonl": "".join(lines[9:])}


def _halves() -> tuple[str, ...]:
    seen = "arena standings fix-race"
    return ("arena submit first.jsonl", seen, "arena submit second.jsonl", "arena watch --looks 2 --every 0.1")


def _submitting(given: Samples) -> Iterator[Case]:
    bad = {"bad.jsonl": inputs.BAD_SUBMISSIONS, "tasks.toml": inputs.BAD_TASKS}
    yield asked(
        "arena/bad-submissions", *START, "arena submit bad.jsonl", "arena submit bad.jsonl --skip-bad", files=bad
    )
    yield asked("arena/bad-tasks", *START, "arena task add tasks.toml", "arena task list", files=bad)
    checked = ("arena init", "arena task add tasks.toml", "arena task show add", "arena submit submissions.jsonl")
    shown = ("arena standings add", "arena show good", "arena show bad", "arena show broken")
    yield asked("arena/artifacts", *checked, *shown, files=inputs.CHECKED)
    table = "id,task_id,total_tokens,tool_calls,agent,submitted_at\nc-1,fix-race,5000,7,ant,2026-10-01T00:00:00Z\n"
    yield asked("arena/csv", *START, "arena submit table.csv", "arena show c-1", files={"table.csv": table})
    stdin = FILES["submissions.jsonl"]
    yield asked("arena/stdin", *START, "arena submit -", "arena standings fix-race", stdin=stdin)
    from_runs = "arena submit --from-runs demo.jsonl --task-map map.toml --submitter ada"
    twice = (*START, from_runs, f"{from_runs} --prices seed", "arena standings fix-race --top 5", "arena bias")
    yield asked("arena/from-runs", *twice, fixture=DEMO, files={"map.toml": inputs.TASK_MAP})
    unmapped = "arena submit --from-runs demo.jsonl"
    yield asked("arena/from-runs-unmapped", *START, unmapped, "arena standings", fixture=DEMO)
    for name in given.shared_folders("claude-code", "codex", "gemini-cli", "harbor"):
        line = f"arena submit --from-runs {SHARED}/{name} --task-map map.json"
        steps = (*START, line, "arena standings", "arena standings fix-race")
        yield asked(f"arena/from-runs-shared/{name}", *steps, files={"map.json": _sessions(given, name)})


def _sessions(given: Samples, name: str) -> str:
    """A map that gives every session of a shared folder, which is a task of its own, the same task."""
    assert given.shared is not None, "only a folder that is there is asked for"
    texts = [path.read_text(errors="replace") for path in sorted((given.shared / name).rglob("*.json*"))]
    ids = {session for text in texts for session in _SESSION.findall(text)}
    return json.dumps(dict.fromkeys(sorted(ids), "fix-race"))


def _notifying() -> Iterator[Case]:
    once = "arena notify --targets targets.toml --once"
    few = {"few.jsonl": "".join(FILES["submissions.jsonl"].splitlines(keepends=True)[:3])}
    start = (*START, "arena submit few.jsonl")
    received = {**few, "targets.toml": inputs.TARGETS}
    yield asked("arena/notify", *start, once, once, files=received)
    dead = {**few, "targets.toml": inputs.DEAD_TARGETS}
    yield asked("arena/notify-nobody", *start, once, f"{once} --since 2020-01-01", files=dead)
    odd = {**few, "targets.toml": '[[targets]]\nname = "ci"\nurl = "http:///nowhere"\n'}
    yield asked("arena/notify-bad-targets", *start, once, files=odd)


def _errors() -> Iterator[Case]:
    lines = {
        "no-arena": ("arena standings",),
        "no-store": ("arena standings --store sqlite:///nowhere/x.db",),
        "twice": ("arena init", "arena init"),
        "profile": ("arena init --profile arena-2",),
        "profile-of-another-kind": ("arena init --profile outcome-1",),
        "policy": ("arena init --policy latest",),
        "policy-of-one-task": (*FILLED, "arena rescore fix-race --policy as-submitted"),
        "no-such-task": (*START, "arena standings fix-rice", "arena task show fix-rice", "arena outliers fix-rice"),
        "no-such-submission": (*START, "arena show nobody", "explain sqlite:///steelyard.db speed_score --run nobody"),
        "no-such-score": (*FILLED, "arena show sub-03 sped_score"),
        "history-of-nothing": (*START, "arena history", "arena history --since tomorrow"),
        "sort": (*FILLED, "arena standings fix-race --sort beauty"),
        "by": (*FILLED, "arena standings --by task"),
        "level": (*FILLED, "arena bias --level 95"),
        "missing-file": (*START, "arena submit nowhere.jsonl", "arena task add nowhere.toml"),
        "nothing-to-submit": (*START, "arena submit"),
        "verb": ("arena standing",),
        "export": (*START, "arena export out.xls"),
    }
    for name, steps in lines.items():
        yield asked(f"arena/errors/{name}", *steps, files=FILES)

"""Reading and measuring every folder of samples, run record by run record."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from answers import inputs
from answers.cases.asking import SHARED, TESTS, Samples, asked
from answers.running import Case

SOURCES = f"{TESTS}/sources"
CLAUDE = "sources/claude-code"


def cases(given: Samples) -> Iterator[Case]:
    """Each format of the tests' samples, each shared folder, and the ways to read."""
    formats = sorted(path.name for path in (given.tests / "sources").iterdir() if path.is_dir())
    places = {f"tests/{name}": f"{SOURCES}/{name}" for name in formats}
    places |= {f"shared/{name}": f"{SHARED}/{name}" for name in given.shared_folders()}
    for name, place in places.items():
        yield asked(f"samples/{name}", f"read {place} --out runs.jsonl", f"measure {place} --by agent,model")
    yield asked(
        "samples/tests/all", f"read {SOURCES} --out runs.jsonl", "measure runs.jsonl --by agent --interval auto"
    )
    if given.shared is not None:
        yield asked("samples/shared/all", f"read {SHARED} --out runs.parquet", "measure runs.parquet --by agent,model")
    yield from _ways_to_read(given)


def _ways_to_read(given: Samples) -> Iterator[Case]:
    for ending in ("csv", "jsonl", "parquet"):
        there_and_back = (f"read {SOURCES} --out runs.{ending}", f"measure runs.{ending} --by agent")
        yield asked(f"read/out/{ending}", *there_and_back)
    options = {
        "format": "--format claude-code",
        "since": "--since 2026-01-02",
        "until": "--until 2026-01-02",
        "between": "--since 2025-09-01 --until 2026-02-01T12:00:00Z",
        "seed-prices": "--prices seed",
        "skip-bad": "--skip-bad",
        "quiet": "--quiet",
    }
    for name, option in options.items():
        yield asked(f"read/{name}", f"read {SOURCES} {option}")
    logs = {f"home/.claude/projects/-work/{path.name}": path.read_text() for path in _sessions(given)}
    yield asked("read/home", "read", files=logs)
    yield asked("read/empty-home", "read")
    yield asked("read/stdin", "read -", stdin=next(_sessions(given)).read_text())
    yield asked("read/stdin-empty", "read -")
    archive = inputs.packed(given.tests / CLAUDE)
    yield asked("read/zip", "read logs.zip --out runs.jsonl", files={"logs.zip": archive})
    yield asked("read/zip-cut", "read logs.zip", files={"logs.zip": archive[: len(archive) // 2]})
    cut = next(_sessions(given)).read_bytes()[:-200]
    yield asked("read/cut", "read cut.jsonl --out runs.jsonl", files={"cut.jsonl": cut})
    yield asked("read/bad-records", "read bad.jsonl --out runs.jsonl", files={"bad.jsonl": inputs.bad_runs()})
    yield asked("read/twice", f"read {TESTS}/{CLAUDE} {TESTS}/{CLAUDE} {TESTS}/outcome --out runs.csv")
    wrong = {
        "missing": "read nowhere.jsonl",
        "unknown-format": f"read {SOURCES} --format claude-cod",
        "bad-day": f"read {SOURCES} --since yesterday",
        "bad-ending": f"read {SOURCES} --out runs.xls",
        "not-recognized": "read note.txt",
        "no-such-prices": f"read {SOURCES} --prices sed",
    }
    for name, line in wrong.items():
        yield asked(f"read/errors/{name}", line, files={"note.txt": "nothing of ours\n"})


def _sessions(given: Samples) -> Iterator[Path]:
    return iter(sorted((given.tests / CLAUDE).glob("*.jsonl")))

"""Short ways to write a case."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from answers.running import Case, Fixture

TESTS = "../samples"
"""Where the tests' samples lie, seen from the folder of a case."""
SHARED = "../shared"

DEMO = Fixture("demo", ("demo --write demo.jsonl",))


@dataclass(frozen=True)
class Samples:
    """The samples at hand."""

    tests: Path
    shared: Path | None
    """The real files beside the checkout; None where they are not."""

    def shared_folders(self, *names: str) -> list[str]:
        """Names of the shared folders, or those of these that are there."""
        if self.shared is None:
            return []
        there = sorted(path.name for path in self.shared.iterdir() if path.is_dir())
        return [name for name in there if name in names] if names else there


def asked(
    name: str,
    *steps: str,
    files: Mapping[str, str | bytes] | None = None,
    fixture: Fixture | None = None,
    stdin: str | None = None,
) -> Case:
    """A case whose steps answer in JSON, unless they print CSV."""
    lines = tuple(step if " --csv" in step and "repeat " not in step else f"{step} --json" for step in steps)
    return Case(name, lines, files=files or {}, fixture=fixture, stdin=stdin)


def each(
    name: str, line: str, choices: Mapping[str, str], *, fixture: Fixture | None = None, **files: str | bytes
) -> list[Case]:
    """One case for each choice of options, added to the same line."""
    return [
        asked(f"{name}/{key}", f"{line} {options}".strip(), files=files, fixture=fixture)
        for key, options in choices.items()
    ]

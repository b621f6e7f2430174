"""Whether the tests notice: makes small changes to the package one at a time, and runs the tests that should fail.

    python scripts/mutants.py [PATTERN ...] [--jobs 2] [--list]

mutants.toml lists the changes. Each is made in a copy of the checkout, never in the checkout itself, and only the tests
named beside it are run. All of them must pass on the unchanged copy first; a change whose tests then still pass has
survived, and one whose text no longer stands in its file exactly once is an error: both end the script with status 1.
"""

from __future__ import annotations

import argparse
import compileall
import os
import py_compile
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from queue import Queue

ROOT = Path(__file__).resolve().parent.parent
LIST = ROOT / "scripts" / "mutants.toml"
LEFT_OUT = shutil.ignore_patterns(".git", ".venv*", "__pycache__", ".*_cache", ".hypothesis", "build", "dist")
FAILED, INTERRUPTED = 1, 2
"""pytest's statuses of failed tests, and of files that could not even be imported."""
SECONDS = 600
"""How long the tests of one change may take; a change that makes them run forever is noticed too."""


class DoesNotApply(Exception):
    """A change whose text does not stand in its file exactly once."""


@dataclass(frozen=True)
class Mutant:
    """One change, and the tests that must notice it."""

    name: str
    file: str
    """Its path in the checkout."""
    old: str
    new: str
    tests: tuple[str, ...]

    @contextmanager
    def made_in(self, copy: Path) -> Iterator[None]:
        """The copy with the change, while the block runs."""
        path = copy / self.file
        before = path.read_text("utf-8") if path.exists() else ""
        if before.count(self.old) != 1:
            raise DoesNotApply(f"{self.file} has {before.count(self.old)} times: {self.old}")
        path.write_text(before.replace(self.old, self.new), "utf-8")
        try:
            yield
        finally:
            path.write_text(before, "utf-8")


def main() -> int:
    """Print what became of each; 1 when one survived or could not be made."""
    given = _arguments()
    mutants = [
        mutant for mutant in _listed() if any(fnmatchcase(mutant.name, f"*{pattern}*") for pattern in given.patterns)
    ]
    if given.list:
        print(*(f"{mutant.file:45} {mutant.name}" for mutant in mutants), sep="\n")
        return 0
    with tempfile.TemporaryDirectory(prefix="mutants-") as scratch:
        copies: Queue[Path] = Queue()
        for number in range(given.jobs):
            copies.put(_copy(Path(scratch) / f"copy-{number}"))
        first = copies.queue[0]
        tests = sorted({test for mutant in mutants for test in mutant.tests})
        print(f"{len(tests)} sets of tests on the unchanged package", flush=True)
        status, told = _run(first, ["-n", str(given.jobs), *tests], seconds=10 * SECONDS)
        if status != 0:
            print(told, "The tests do not pass as they are; no change can be judged by them.", sep="\n")
            return 1
        with ThreadPoolExecutor(given.jobs) as workers:
            problems = sum(workers.map(lambda mutant: _judge(mutant, copies), mutants))
    print(f"{len(mutants)} changes, {len(mutants) - problems} caught")
    return 1 if problems else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("patterns", nargs="*", default=["*"], help="only changes whose name matches")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--list", action="store_true", help="name the changes and make none")
    return parser.parse_args()


def _listed() -> list[Mutant]:
    """The changes of mutants.toml."""
    with LIST.open("rb") as file:
        tables = tomllib.load(file)["mutant"]
    mutants = [Mutant(**(table | {"tests": tuple(table["tests"])})) for table in tables]
    names = [mutant.name for mutant in mutants]
    if len(set(names)) < len(names):
        raise SystemExit("mutants.toml gives a name twice")
    return mutants


def _copy(place: Path) -> Path:
    """The checkout without what tools left in it."""
    shutil.copytree(ROOT, place / "checkout", ignore=LEFT_OUT)
    # Tests write no compiled modules. Those with the hash of their source are used for all files but the changed one.
    by_hash = py_compile.PycInvalidationMode.CHECKED_HASH
    compileall.compile_dir(place / "checkout" / "src", quiet=2, invalidation_mode=by_hash)
    return place / "checkout"


def _run(copy: Path, tests: Sequence[str], *, seconds: int = SECONDS) -> tuple[int, str]:
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-m", "not long", "-p", "no:cacheprovider", *tests]
    environment = os.environ | {
        "PYTHONPATH": str(copy / "src"),
        "PYTHONDONTWRITEBYTECODE": "1",
        "HYPOTHESIS_STORAGE_DIRECTORY": str(copy.parent / "hypothesis"),
    }
    try:
        done = subprocess.run(
            command, cwd=copy, env=environment, capture_output=True, text=True, check=False, timeout=seconds
        )
    except subprocess.TimeoutExpired:
        return FAILED, f"no end after {seconds} s"
    return done.returncode, done.stdout[-3000:] + done.stderr[-1000:]


def _judge(mutant: Mutant, copies: Queue[Path]) -> bool:
    """Whether there is a problem with the mutant: it survived, or could not be made."""
    copy = copies.get()
    try:
        with mutant.made_in(copy):
            status, told = _run(copy, mutant.tests)
    except DoesNotApply as error:
        print(f"NOT MADE   {mutant.name}: {error}", flush=True)
        return True
    finally:
        copies.put(copy)
    if status in (FAILED, INTERRUPTED):
        print(f"caught     {mutant.name}", flush=True)
        return False
    print(f"SURVIVED   {mutant.name}" if status == 0 else f"NOT JUDGED {mutant.name}: {told}", flush=True)
    return True


if __name__ == "__main__":
    sys.exit(main())

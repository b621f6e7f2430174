"""The tests that relate to a change, nearest first, as many as fit into the time: python scripts/quick.py [SECONDS].

Nearest is a test that was changed itself or that the table in docs/project/guides/README.md names for the changed file.
Then come tests that name the changed module, are named beside one of its mutants (mutants.toml), or import its folder,
and last those of the documentation. What was changed is asked of git: since the branch left main, committed or not.
"""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

STARTED = time.monotonic()
ROOT = Path(__file__).parents[1]
SECONDS = 40.0
"""After so many seconds no further test begins."""
GRACE_SECONDS = 10.0
"""How long a test that has begun may go on after that, so that all ends within a minute."""
MAX_NAMES = 5
"""How many names of what was changed are told."""
PAGES = ["tests/test_docs.py", "tests/test_contributing.py"]
_ROW = re.compile(r"^\| \[[^|]+\]\(\w+\.md#add-[^|]+\) \| (?P<files>[^|]+) \| (?P<command>[^|]+) \|$", re.MULTILINE)
_DECLARED = re.compile(r'^(?:def (\w+)|NAME = "(.+)"| +name="(.+)",)', re.MULTILINE)
_OUTSIDE = ("docs/", "tests/")
"""Folders that the table of recipes does not name from `src/steelyard/`."""

_PASSED_OVER = {"plugin"} | (set() if (ROOT.parent / "shared" / "samples").is_dir() else {"real"})
"""Folders of tests that cannot run: those of a package of its own, and those of samples that are not here."""


class Recipe(NamedTuple):
    """A file that a recipe adds, and the tests of the recipe."""

    path: re.Pattern[str]
    tests: list[str]


def recipes() -> list[Recipe]:
    """Every file of every recipe, from the table in docs/project/guides/README.md; NAME matches any name."""
    found = []
    for row in _ROW.finditer((ROOT / "docs" / "project" / "guides" / "README.md").read_text("utf-8")):
        tests = re.findall(r"tests/[\w/]+\.py", row["command"])
        for path in re.findall(r"`([\w./]+)`", row["files"]):
            whole = re.escape(path if path.startswith(_OUTSIDE) else f"src/steelyard/{path}")
            found.append(Recipe(re.compile(whole.replace("NAME", r"(?P<name>[a-zA-Z0-9][\w.-]*)")), tests))
    return found


def changed_files() -> list[str]:
    """Paths that differ from where the branch left main, or from the last commit on main itself."""
    base = _git("merge-base", "HEAD", "main") or ["HEAD"]
    return sorted({*_git("diff", "--name-only", base[0]), *_git("ls-files", "--others", "--exclude-standard")})


def _git(*arguments: str) -> list[str]:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)  # noqa: S607 - git is on PATH
    return done.stdout.split() if done.returncode == 0 else []


def related_tests(changed: list[str]) -> list[str]:
    """Test files, those nearest to the change first."""
    near: dict[str, int] = {}

    def add(test: str, distance: int) -> None:
        near[test] = min(distance, near.get(test, distance))

    files = (test for test in (ROOT / "tests").rglob("test_*.py") if not _PASSED_OVER & set(test.parts))
    texts = {str(test.relative_to(ROOT)): test.read_text("utf-8") for test in files}
    known = recipes()
    for path in changed:
        of_recipe = [test for recipe in known if recipe.path.match(path) for test in recipe.tests]
        for test in of_recipe:
            add(test, 4 if path.endswith(".md") else 0)
        if path in texts:
            add(path, 0)
        elif path.startswith("src/steelyard/") and path.endswith(".py"):
            module = path.removeprefix("src/").removesuffix(".py").removesuffix("/__init__").replace("/", ".")
            _add_naming(rf"\b{re.escape(module)}\b", 1, texts, add)
            for test in _tests_of_mutants(path):
                add(test, 2)
            _add_naming(rf"\b{re.escape(module.rpartition('.')[0])}\b", 3, texts, add)
            add("tests/test_layers.py", 2)
        elif path.endswith(".md"):
            for test in PAGES:
                add(test, 5)
        elif not of_recipe:
            name = Path(path).stem if path.startswith("tests/") else Path(path).name
            _add_naming(rf"\b{re.escape(name)}\b", 1, texts, add)
    return sorted((test for test in near if (ROOT / test).exists()), key=lambda test: (near[test], test))


def _add_naming(pattern: str, distance: int, texts: dict[str, str], add: Callable[[str, int], None]) -> None:
    for test, text in texts.items():
        if re.search(pattern, text):
            add(test, distance)


def _tests_of_mutants(path: str) -> list[str]:
    mutants = tomllib.loads((ROOT / "scripts" / "mutants.toml").read_text("utf-8"))["mutant"]
    return [test.partition("::")[0] for mutant in mutants if mutant["file"] == path for test in mutant["tests"]]


def declared_names(changed: list[str]) -> set[str]:
    """What the changed files of recipes declare: names of formats, metrics, agents and pages, as test ids have them."""
    names: set[str] = set()
    for path in changed:
        matches = (recipe.path.match(path) for recipe in recipes() if recipe.path.groups)
        name = next((match["name"] for match in matches if match), None)
        if name is None:
            continue
        names |= {path} if path.endswith(".md") else {name, name.replace("_", "-")}
        if path.endswith(".py") and (ROOT / path).exists():
            names |= {name for found in _DECLARED.findall((ROOT / path).read_text("utf-8")) for name in found if name}
    return names


class Nearest:
    """Runs the tests of what was changed first, begins none after the time is up and does not wait for the last."""

    def __init__(self, tests: list[str], names: set[str], *, until: float) -> None:
        self.until = until
        either = "|".join(map(re.escape, sorted(names))) or "(?!)"
        self.name = re.compile(rf"\[(?:.*[^\w-])?(?P<name>{either})(?![\w-])")
        self.names: dict[str, str] = {}
        """What was changed and a test to be run is about, by the id of the test."""
        self.left = {test: test for test in tests}
        """The files of tests that have not ended, by the ids of the tests once these are known."""
        self.stopped = False

    def stop(self, *_: object) -> None:
        """Ends the test that runs, as Ctrl-C does."""
        self.stopped = True
        raise KeyboardInterrupt

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """In a file in which some tests are of what was changed, the others come after all files."""
        named = {item.nodeid for item in items if self.name.search(item.nodeid)}
        with_named = {item.path for item in items if item.nodeid in named}
        items.sort(key=lambda item: item.path in with_named and item.nodeid not in named)

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Notes what there is to run; nothing is known of that if the time was up before."""
        if not self.stopped:
            self.left = {item.nodeid: str(item.path.relative_to(ROOT)) for item in session.items}
            self.names = {test: found["name"] for test in self.left if (found := self.name.search(test))}

    def pytest_runtest_protocol(self) -> bool | None:
        """Passes over whatever comes after the time is up."""
        return None if time.monotonic() < self.until else True

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        """Notes what has ended."""
        del self.left[nodeid]

    def about_names(self) -> str | None:
        """Which files ran all their tests of what was changed, and which did not; None where no test is about that."""
        files = dict.fromkeys(test.partition("::")[0] for test in self.names)
        late = dict.fromkeys(test.partition("::")[0] for test in self.names if test in self.left)
        ran = " ".join(file for file in files if file not in late) or "nothing"
        names = sorted(set(self.names.values()))
        more = f" and {len(names) - MAX_NAMES} more" if len(names) > MAX_NAMES else ""
        told = f"ran for {', '.join(names[:MAX_NAMES])}{more}: {ran}"
        return told + (f"; not reached: {' '.join(late)}" if late else "") if files else None


def main(seconds: float) -> int:
    """The exit status of the tests that ran; 0 when nothing relates."""
    changed = changed_files()
    tests = related_tests(changed)
    print(f"{len(changed)} files changed, {len(tests)} test files relate: {' '.join(tests)}", flush=True)
    if not tests:
        return 0
    nearest = Nearest(tests, declared_names(changed), until=STARTED + seconds)
    options = ["-q", "-x", "-m", "not long and not browser and not agents and not spark"]
    signal.signal(signal.SIGALRM, nearest.stop)
    signal.setitimer(signal.ITIMER_REAL, seconds + GRACE_SECONDS)
    status = pytest.main([*options, *tests], plugins=[nearest])
    signal.setitimer(signal.ITIMER_REAL, 0)
    if status == pytest.ExitCode.INTERRUPTED and nearest.stopped:
        status = pytest.ExitCode.OK
    if status == pytest.ExitCode.OK and (about_names := nearest.about_names()):
        print(about_names)
    if nearest.left and status == pytest.ExitCode.OK:
        files = " ".join(dict.fromkeys(nearest.left.values()))
        print(f"INCOMPLETE: the time was up before all tests of these had run: {files}; `make test` runs everything")
    return int(status)


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1]) if sys.argv[1:] else SECONDS))

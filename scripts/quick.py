"""The tests that relate to a change, nearest first, as many as fit into the time: python scripts/quick.py [SECONDS].

A test file relates to a changed module when it was changed itself, names the module, is named beside one of its mutants
(mutants.toml), or imports its folder. What was changed is asked of git: since the branch left main, committed or not.
"""

from __future__ import annotations

import re
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SECONDS = 50.0
PAGES = ["tests/test_docs.py", "tests/test_contributing.py"]


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

    files = (test for test in (ROOT / "tests").rglob("test_*.py") if "plugin" not in test.parts)
    texts = {str(test.relative_to(ROOT)): test.read_text("utf-8") for test in files}
    for path in changed:
        if path in texts:
            add(path, 0)
        elif path.startswith("tests/"):
            _add_naming(rf"\b{Path(path).stem}\b", 1, texts, add)
        elif path.startswith("src/steelyard/") and path.endswith(".py"):
            module = path.removeprefix("src/").removesuffix(".py").removesuffix("/__init__").replace("/", ".")
            _add_naming(rf"\b{re.escape(module)}\b", 1, texts, add)
            for test in _tests_of_mutants(path):
                add(test, 2)
            _add_naming(rf"\b{re.escape(module.rpartition('.')[0])}\b", 3, texts, add)
            add("tests/test_layers.py", 2)
        elif path.endswith(".md"):
            for test in PAGES:
                add(test, 1)
        else:
            _add_naming(rf"\b{re.escape(Path(path).name)}\b", 1, texts, add)
    return sorted((test for test in near if (ROOT / test).exists()), key=lambda test: (near[test], test))


def _add_naming(pattern: str, distance: int, texts: dict[str, str], add: object) -> None:
    assert callable(add)
    for test, text in texts.items():
        if re.search(pattern, text):
            add(test, distance)


def _tests_of_mutants(path: str) -> list[str]:
    mutants = tomllib.loads((ROOT / "scripts" / "mutants.toml").read_text("utf-8"))["mutant"]
    return [test.partition("::")[0] for mutant in mutants if mutant["file"] == path for test in mutant["tests"]]


class Budget:
    """Stops after a number of seconds and says how many tests were left."""

    def __init__(self, seconds: float) -> None:
        self.until = time.monotonic() + seconds
        self.left = 0

    def pytest_runtest_protocol(self) -> bool | None:
        """Passes over whatever comes after the time is up."""
        if time.monotonic() < self.until:
            return None
        self.left += 1
        return True

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """One line more, if something was left."""
        if self.left:
            terminalreporter.write_line(f"time is up: {self.left} related tests were not run; make test runs all")


def main(seconds: float) -> int:
    """The exit status of the tests; 0 when nothing relates."""
    changed = changed_files()
    tests = related_tests(changed)
    print(f"{len(changed)} files changed, {len(tests)} test files relate: {' '.join(tests)}", flush=True)
    if not tests:
        return 0
    options = ["-q", "-x", "-m", "not long and not browser and not agents"]
    return int(pytest.main([*options, *tests], plugins=[Budget(seconds)]))


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1]) if sys.argv[1:] else SECONDS))

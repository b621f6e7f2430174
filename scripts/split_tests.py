"""Count the tests of real libraries that run split from the library: python scripts/split_tests.py DIR ...

Each directory is an unpacked source distribution with its tests. docs/concepts/cheating.md has the results.
"""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
from collections import Counter
from pathlib import Path

from steelyard.grading import Bounds, Grader, Interpreter, hidden_tests, top_modules
from steelyard.grading._tests import NOT_FAILED
from steelyard.sandbox import Limits

LIMITS = Limits(
    wall_seconds=600, cpu_seconds=600, memory_bytes=4 << 30, processes=64, open_files=1024, disk_bytes=1 << 30
)


def main() -> None:
    """Print one line per library, and why tests did not run split."""
    for source in map(Path, sys.argv[1:]):
        with tempfile.TemporaryDirectory() as made:
            work = Path(made, "work")
            Path(made).chmod(0o755)
            hidden = {}
            for path in sorted(source.rglob("*")):
                place = path.relative_to(source)
                if not path.is_file():
                    continue
                if {"tests", "test"} & set(place.parts[:-1]) or re.match(r"(test_.*|conftest)\.py$", path.name):
                    hidden[place.as_posix()] = path
                else:
                    (work / place).parent.mkdir(parents=True, exist_ok=True)
                    shutil.copy(path, work / place)
            report(source.name, work, hidden)


def report(name: str, work: Path, hidden: dict[str, Path]) -> None:
    """Run the tests split, and those that fail so in the process of the library."""
    grader = Grader(
        tests=hidden_tests(hidden),
        modules=top_modules(work),
        python=Interpreter(command=(sys.executable, "-I", "-B"), readable=(Path(sys.prefix), Path(sys.base_prefix))),
        bounds=Bounds(limits=LIMITS),
    )
    split = grader._split(work, None)
    others = [test for test, status in split.statuses.items() if status not in NOT_FAILED]
    shared = grader._shared(work, None, others, has_reference=True).statuses if others else {}
    whole = {test for test in others if shared.get(test) in NOT_FAILED}
    passed = len(split.statuses) - len(others)
    print(f"{name}: {grader.tests.framework}, {passed} split, {len(whole)} shared, {len(others) - len(whole)} neither")
    print(f"  problem: {split.problem}") if split.problem else None
    reasons = Counter(re.sub(r"\d+|0x\w+", "N", split.messages.get(test, "").strip()[-90:]) for test in others)
    for reason, count in reasons.most_common(12):
        print(f"  {count:4} {reason!r}")


if __name__ == "__main__":
    main()

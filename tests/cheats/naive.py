"""Naive checkers, each with one weakness that the techniques get through: without them a technique proves nothing."""

from __future__ import annotations

import importlib.util
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from cheats.techniques import TESTS, Cheat, leave_history
from steelyard import sandbox
from steelyard.sandbox import Isolation, Limits, SandboxResult, Stay

LIMITS = Limits(wall_seconds=4, cpu_seconds=1)
PYTEST_LIMITS = Limits(wall_seconds=30, cpu_seconds=10)
REPORTING = """
import unittest, sys
suite = unittest.defaultTestLoader.discover(".")
result = unittest.TestResult()
suite.run(result)
bad = {test.id().rpartition(".")[2] for test, _ in result.failures + result.errors}
cases = "".join(
    f'<testcase classname="test_solution.Test" name="{name}">' + ("<failure/>" if name in bad else "") + "</testcase>"
    for name in ("test_small", "test_large", "test_text")
)
open("report.xml", "w").write(f"<testsuite>{cases}</testsuite>")
sys.exit(bool(bad))
"""
IMPORTED = "import solution, sys\nsys.exit(not (solution.add(1, 2) == 3 and solution.add(20, 22) == 42))\n"
ALL = "import solution, sys\nsys.exit(not all(value == 3 for value in list(map(solution.add, (1, 1), (2, 2)))))\n"
CHILD = """
import subprocess, sys
try:
    import solution
finally:
    sys.exit(subprocess.run([sys.executable, "-m", "unittest", "-q"]).returncode)
"""
PARENT = "import subprocess, sys\nsubprocess.run([sys.executable, 'solution.py'])\nprint('0.0')\n"


class Answers(BaseHTTPRequestHandler):
    """A server that knows the answers."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        _, a, b = self.path.split("/")
        self.wfile.write(repr(int(a) + int(b) if a.isdigit() else a + b).encode())

    def log_message(self, *_: object) -> None:
        pass


def get_through(cheat: Cheat, name: str, isolation: Isolation) -> bool:
    """Whether the technique gets through the naive checker of that name."""
    return CHECKERS[name](cheat, isolation)


def passes_in_one_process(tests: str, solution: str, isolation: Isolation) -> bool:
    """Whether the tests pass in the process of the code."""
    python = isolation.python or sys.executable
    files = {"test_solution.py": tests.encode(), "solution.py": solution.encode()}
    return sandbox.run([python, "-m", "unittest", "-q"], files=files, limits=LIMITS, isolation=isolation).ok


def _run(cheat: Cheat, isolation: Isolation, *words: str, **given: object) -> SandboxResult:
    files = {name: text.encode() for name, text in cheat.files.items()}
    tests = {"test_solution.py": TESTS.encode(), "check.py": given.pop("check", "").encode()}  # type: ignore[attr-defined]
    laid = {**tests, **files} if given.pop("submitted", False) else {**files, **tests}
    python = given.pop("python", None) or isolation.python or sys.executable
    run: Callable[..., SandboxResult] = sandbox.run
    return run([python, *words], files=laid, **{"limits": LIMITS, "isolation": isolation, **given})


def _status(cheat: Cheat, isolation: Isolation) -> bool:
    return _run(cheat, isolation, "-m", "unittest", "-q").ok


def _void(cheat: Cheat, isolation: Isolation) -> bool:
    result = _run(cheat, isolation, "check.py", check=REPORTING, collect=["report.xml"])
    return result.exit_status not in (0, 1) or "report.xml" not in result.collected


def _report(cheat: Cheat, isolation: Isolation) -> bool:
    result = _run(cheat, isolation, "check.py", check=REPORTING, collect=["report.xml"])
    return result.ok and b"<failure" not in result.collected["report.xml"]


def _stale(cheat: Cheat, isolation: Isolation) -> bool:
    result = _run(cheat, isolation, "check.py", check=REPORTING, collect=["report.xml"])
    return "report.xml" in result.collected and b"<failure" not in result.collected["report.xml"]


def _link(cheat: Cheat, isolation: Isolation) -> bool:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        _run(cheat, isolation, "check.py", check=REPORTING, stay=Stay(Path(folder), kept=("work",)))
        report = Path(folder, "work", "report.xml")
        return report.exists() and "<failure" not in report.read_text()


def _parent(cheat: Cheat, isolation: Isolation) -> bool:
    printed = _run(cheat, isolation, "check.py", check=PARENT).stdout
    return printed.startswith(b"1.0")


def _open(cheat: Cheat, _isolation: Isolation) -> bool:
    with ThreadingHTTPServer(("127.0.0.1", 0), Answers) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        files = {**cheat.files, "port": str(server.server_port)}
        is_through = _run(
            Cheat(cheat.name, cheat.group, files),
            sandbox.isolation_named("none"),
            *("-m", "unittest", "-q"),
            no_sandbox=True,
        ).ok
        server.shutdown()
    return is_through


@contextmanager
def repository() -> Iterator[Path]:
    """A Git repository whose history contains the solution. All other temporary files are below it."""
    with tempfile.TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patched:
        folder = Path(name)
        folder.chmod(0o755)
        leave_history(folder)
        patched.setattr(tempfile, "tempdir", name)
        yield folder


def _history(cheat: Cheat, _isolation: Isolation) -> bool:
    with repository():
        return _run(cheat, sandbox.isolation_named("none"), "-m", "unittest", "-q", no_sandbox=True).ok


def _pytest(cheat: Cheat, isolation: Isolation) -> bool:
    assert importlib.util.find_spec("pytest") is not None
    folders = [Path(sys.prefix), Path(sys.base_prefix)]
    words = ("-m", "pytest", "-q", "-p", "no:cacheprovider")
    return _run(cheat, isolation, *words, readable=folders, python=sys.executable, limits=PYTEST_LIMITS).ok


CHECKERS: dict[str, Callable[[Cheat, Isolation], bool]] = {
    "status": _status,
    "report": _report,
    "stale": _stale,
    "void": _void,
    "link": _link,
    "child": lambda cheat, isolation: _run(cheat, isolation, "check.py", check=CHILD).ok,
    "parent": _parent,
    "open": _open,
    "history": _history,
    "imported": lambda cheat, isolation: _run(cheat, isolation, "check.py", check=IMPORTED).ok,
    "all": lambda cheat, isolation: _run(cheat, isolation, "check.py", check=ALL).ok,
    "path": lambda cheat, isolation: _run(cheat, isolation, "-m", "unittest", "-q", variables={"PYTHONPATH": "."}).ok,
    "submitted": lambda cheat, isolation: _run(cheat, isolation, "check.py", check=REPORTING, submitted=True).ok,
    "pytest": _pytest,
}

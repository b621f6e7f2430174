"""One line in one file is all it takes to add an option to a question."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from question_cases import write_inputs

pytestmark = pytest.mark.checkout

ROOT = Path(__file__).parent.parent
LINE = '    shade: Correction = doc("Shade of the answer.", default="none")\n'
SCRIPT = """
import io, sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import steelyard as sy
from serving import serving
from steelyard.cli import run
from steelyard.errors import UsageError
from steelyard.questions import RunsSource
from steelyard.server import ROUTES, openapi_document

runs = sys.argv[1]
sides = {"baseline": "tier=T0", "candidate": "tier=T1", "metrics": "pass_rate"}
words = ["-a", "tier=T0", "-b", "tier=T1", "--metrics", "pass_rate"]


def failure(call):
    try:
        call()
    except UsageError as error:
        return str(error)


def command(*more):
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        status = run(["compare", runs, *words, *more])
    return status, out.getvalue() + err.getvalue()


assert "--shade" in command("--help")[1]
assert "Shade of the answer: holm, bh, none (default: none)." in " ".join(command("--help")[1].split())
assert command("--shade", "bh")[0] == 0
assert "unknown value 'grey' for --shade" in command("--shade", "grey")[1]

assert sy.CompareOptions(**sides, shade="bh").shade == "bh"
assert "shade: Shade of the answer." in sy.compare.__doc__
local = sy.compare(runs, **sides, shade="bh")
wrong = "unknown value 'grey' for shade (one of: holm, bh, none)"
assert failure(lambda: sy.compare(runs, **sides, shade="grey")) == wrong

parameters = openapi_document(ROUTES)["paths"]["/api/v1/compare"]["get"]["parameters"]
assert [each["schema"]["enum"] for each in parameters if each["name"] == "shade"] == [["bh", "holm", "none"]]
with serving(RunsSource([Path(runs)])) as served:
    answer = served.ask("/api/v1/compare?baseline=tier=T0&candidate=tier=T1&metrics=pass_rate&shade=grey")
    assert answer.status == 400 and b"shade" in answer.body and b"--shade" not in answer.body, answer.body
    remote = sy.connect(served.address)
    assert sy.compare(remote, **sides, shade="bh") == local
print("works")
"""


def test_option_added_in_one_line_works_on_every_surface(tmp_path: Path) -> None:
    copy = tmp_path / "src"
    shutil.copytree(ROOT / "src", copy, ignore=shutil.ignore_patterns("__pycache__"))
    start = "class CompareOptions("
    (file,) = [path for path in copy.rglob("*.py") if start in path.read_text("utf-8")]
    source = file.read_text("utf-8")
    after = source.index('"""\n\n', source.index(start)) + len('"""\n\n')
    file.write_text(source[:after] + LINE + source[after:], "utf-8")
    environment = {**os.environ, "PYTHONPATH": f"{copy}{os.pathsep}{ROOT / 'tests' / 'support'}", "COLUMNS": "200"}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(write_inputs(tmp_path) / "runs.jsonl")],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
    )
    assert done.stdout == "works\n", done.stderr

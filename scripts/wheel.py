"""Test the wheel as a user gets it: python scripts/wheel.py WHEEL [TESTS...].

The wheel goes into a new environment with what it declares, at the versions of requirements/dev.lock, and with the
tools of the dependency group `test`. The tests are copied away from the checkout, and those that need it are left out.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
import venv
from pathlib import Path

ROOT = Path(__file__).parents[1]
LOCKED = re.compile(r"^([A-Za-z0-9][\w.-]*)==.*?(?= *\\?$)", re.MULTILINE)
LEFT_OUT = "not checkout and not long and not browser and not agents"


def main(wheel: Path, tests: list[str]) -> int:
    """The exit status of the tests."""
    with tempfile.TemporaryDirectory(prefix="steelyard-wheel-") as name:
        folder = Path(name)
        python = _installed(wheel, folder)
        shutil.copytree(ROOT / "tests", folder / "tests", ignore=_left_out)
        shutil.copy(ROOT / "pyproject.toml", folder)  # pytest's settings
        outside = {**os.environ, "PYTHONSAFEPATH": "1"}
        place = "import steelyard; print(steelyard.__file__)"
        found = subprocess.run(
            [python, "-c", place], cwd=folder, env=outside, capture_output=True, text=True, check=True
        )
        if not Path(found.stdout.strip()).is_relative_to(folder):
            sys.exit(f"the tests would run against {found.stdout.strip()}")
        there = [test for test in tests if (folder / test.partition("::")[0]).exists()]
        if tests and not there:
            sys.exit(f"all of these need a checkout: {' '.join(tests)}")
        command = [python, "-m", "pytest", "-q", "-n", os.environ.get("WORKERS", "auto"), "-m", LEFT_OUT, *there]
        return subprocess.run(command, cwd=folder, env=outside, check=False).returncode


def _left_out(folder: str, names: list[str]) -> set[str]:
    """Compiled modules, and test files that need the checkout as a whole, some of them to be imported at all."""
    whole = "pytestmark = pytest.mark.checkout"
    tests = (name for name in names if name.startswith("test_") and name.endswith(".py"))
    return {"__pycache__"} | {name for name in tests if whole in (Path(folder) / name).read_text(encoding="utf-8")}


def _installed(wheel: Path, folder: Path) -> str:
    """The interpreter of a new environment that holds the wheel."""
    venv.create(folder / "venv", with_pip=True)
    python = str(folder / "venv" / "bin" / "python")
    lock = (ROOT / "requirements" / "dev.lock").read_text(encoding="utf-8")
    pins = folder / "pins.txt"
    pins.write_text("\n".join(match[0] for match in LOCKED.finditer(lock)) + "\n", encoding="utf-8")
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    locked = {match[1] for match in LOCKED.finditer(lock)}
    extras = [
        extra
        for extra, needed in declared["project"]["optional-dependencies"].items()
        if all(re.split(r"[\[<>=~; ]", package)[0] in locked for package in needed)
    ]
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-c", str(pins)]
    wanted = f"steelyard[{','.join(extras)}] @ {wheel.resolve().as_uri()}"
    print(f"installing {wheel.name} with {', '.join(extras)}", flush=True)
    subprocess.run([*pip, wanted, *declared["dependency-groups"]["test"]], check=True)
    return python


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))

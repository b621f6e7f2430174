"""What is released: a version told once, and a source distribution that holds all that a checkout does."""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

import steelyard

pytestmark = pytest.mark.checkout
ROOT = Path(__file__).parents[1]
NOT_SHIPPED = {".gitignore"}
"""hatchling adds it by itself where it is needed."""


def tracked() -> set[str]:
    done = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip("no git checkout")
    return {name for name in done.stdout.splitlines() if (ROOT / name).exists()}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "hatchling", "build", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, capture_output=True, check=True)
    return folder


def test_the_source_distribution_holds_every_file_of_the_checkout(built: Path) -> None:
    [archive] = built.glob("*.tar.gz")
    with tarfile.open(archive) as opened:
        held = {name.partition("/")[2] for name in opened.getnames()}
    assert tracked() - held <= NOT_SHIPPED


def test_the_wheel_holds_the_package_and_nothing_else(built: Path) -> None:
    [wheel] = built.glob("*.whl")
    held = {name for name in zipfile.ZipFile(wheel).namelist() if not re.match(r"steelyard-[^/]+\.dist-info/", name)}
    package = {name.removeprefix("src/") for name in tracked() if name.startswith("src/")}
    assert package <= held
    assert {name for name in held if not name.startswith("steelyard/")} == set()


def test_the_version_is_the_same_wherever_it_is_told() -> None:
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.search(r"^version: (.+)$", citation, re.MULTILINE)[1] == steelyard.__version__  # type: ignore[index]
    newest = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert newest is not None
    assert newest[1] == steelyard.__version__

"""Answers of the price library that are kept between commands: always its own, and never needed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from steelyard.prices._maintained import KeptPrices, MaintainedBook
from steelyard.settings import CACHE_FOLDER


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(CACHE_FOLDER, str(tmp_path / "kept"))
    return tmp_path / "kept"


def test_every_kept_answer_is_the_librarys_own(folder: Path) -> None:
    fresh = MaintainedBook()
    names = fresh.models()[:300]
    first = {name: fresh.look_up(name) for name in names}
    again = MaintainedBook()
    assert {name: again.look_up(name) for name in names} == first
    assert len(list(folder.iterdir())) == 1


def test_a_second_command_prices_without_the_library(folder: Path) -> None:
    code = (
        "import sys; from steelyard.prices import open_book; from steelyard.records._run import Usage;"
        "cost = open_book().price(Usage(input_tokens=1000, output_tokens=10), model='gpt-5', at=None);"
        "print(cost, 'genai_prices' in sys.modules)"
    )
    said = [subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True) for _ in range(2)]
    cost, loaded = said[0].stdout.split()
    assert loaded == "True"
    assert said[1].stdout.split() == [cost, "False"]
    assert folder.is_dir()


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[]",
        b"{",
        b"\xff",
        b'{"gpt-5": {"id": "gpt-5", "provider": "x", "periods": []}}',
        b'{"gpt-5": {"id": "gpt-5", "provider": "x", "periods": [{"tiers": []}]}}',
        b'{"gpt-5": {"id": "g", "provider": "x", "periods": [{"tiers": [{"usd_per_million": ["-1",1,1,1,1,1]}]}]}}',
        b'{"gpt-5": {"id": "g", "provider": "x", "periods": [{"tiers": [{"usd_per_million": ["NaN",1,1,1,1,1]}]}]}}',
        b'{"gpt-5": {"id": "g", "provider": "x", "periods": [{"tiers": [{"usd_per_million": ["1"]}]}]}}',
    ],
)
def test_a_broken_file_is_passed_over(folder: Path, content: bytes) -> None:
    expected = MaintainedBook().look_up("gpt-5")
    (file,) = folder.iterdir()
    file.write_bytes(content)
    assert MaintainedBook().look_up("gpt-5") == expected


def test_a_folder_that_cannot_be_made_changes_no_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv(CACHE_FOLDER, str(tmp_path / "file" / "kept"))
    assert MaintainedBook().look_up("gpt-5") is not None


def test_an_empty_setting_keeps_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(CACHE_FOLDER, "")
    monkeypatch.chdir(tmp_path)
    kept = KeptPrices("1")
    found = MaintainedBook().look_up("gpt-5")
    assert found is not None
    kept.keep("gpt-5", found)
    assert kept.get("gpt-5") is None
    assert not list(tmp_path.iterdir())


def test_uneven_prices_are_asked_of_the_library_each_time(folder: Path) -> None:
    book = MaintainedBook()
    found_by_name = [(name, book.look_up(name)) for name in book.models()]
    uneven = [
        name for name, found in found_by_name if found and any(any(r.uneven) for p in found.periods for r in p.tiers)
    ]
    assert uneven
    found = MaintainedBook().look_up(uneven[0])
    assert found is not None
    assert found.origin is not None

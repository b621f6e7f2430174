"""Which profiles an arena takes, and what it leaves untouched when it refuses one."""

from __future__ import annotations

from pathlib import Path

import pytest

from steelyard.surfaces.cli import run
from steelyard.workflow.arena import arena_at


@pytest.mark.parametrize("number", ["nan", "inf", "-inf"])
def test_a_profile_without_finite_numbers_leaves_the_store_as_it_was(
    store_address: str, tmp_path: Path, number: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(
        f'name = "mine"\nspec = "arena"\nextends = "arena-1"\n[constants.baseline]\nmax_tokens = {number}\n'
    )
    at = ("--store", store_address)
    assert run(["arena", "init", "--profile", str(path), *at]) == 2
    assert f"{path}: constants.baseline.max_tokens is {number}" in capsys.readouterr().err
    assert not list(tmp_path.glob("*.db"))
    assert run(["arena", "init", *at]) == 0
    assert run(["arena", "rescore", "--profile", str(path), *at]) == 2
    assert arena_at(store_address).rules.name == "arena-1"

"""What is asked of both versions: every command that has --json, over the samples and over made inputs."""

from __future__ import annotations

from collections.abc import Iterator

from answers.cases import arena, catalogs, repeatability, runs, samples, speedup, stores
from answers.cases.asking import Samples
from answers.running import Case

__all__ = ["Samples", "all_cases"]


def all_cases(given: Samples) -> list[Case]:
    """Every case, in the order of the commands; a name stands for one case."""
    cases = list(_cases(given))
    names = [case.name for case in cases]
    assert len(set(names)) == len(names), sorted({name for name in names if names.count(name) > 1})
    return cases


def _cases(given: Samples) -> Iterator[Case]:
    yield from samples.cases(given)
    yield from runs.cases(given)
    yield from repeatability.cases(given)
    yield from speedup.cases(given)
    yield from arena.cases(given)
    yield from stores.cases()
    yield from catalogs.cases()

"""Answers of the price library, kept from one command to the next: its import takes longer than reading most logs."""

from __future__ import annotations

import dataclasses
import os
import tempfile
from contextlib import suppress
from functools import cached_property
from pathlib import Path

import msgspec

from steelyard._version import __version__
from steelyard.prices._book import ModelPrices
from steelyard.records import TOKEN_KINDS
from steelyard.settings import CACHE_FOLDER

MOST_KEPT = 256
"""Names in the file; a log names far fewer models."""
MOST_BYTES = 4 << 20

_DECODER = msgspec.json.Decoder(dict[str, ModelPrices])


def cache_folder() -> Path | None:
    """Where files lie that can be made again; None when the user wants none."""
    named = os.environ.get(CACHE_FOLDER)
    if named is not None:
        return Path(named) if named else None
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "steelyard"


class KeptPrices:
    """Prices by the name that was asked for, of one version of the library and of this program."""

    def __init__(self, version: str) -> None:
        self._name = f"prices-{version}-{__version__}.json"

    @cached_property
    def _path(self) -> Path | None:
        try:
            folder = cache_folder()
        except RuntimeError:  # a user without a home
            return None
        return folder and folder / self._name

    @cached_property
    def _answers(self) -> dict[str, ModelPrices]:
        if self._path is None:
            return {}
        try:
            if self._path.stat().st_size > MOST_BYTES:
                return {}
            answers = _DECODER.decode(self._path.read_bytes())
        except (OSError, ValueError, ArithmeticError):  # msgspec's errors are ValueErrors; the file is made anew
            return {}
        return {name: prices for name, prices in answers.items() if _sound(prices)}

    def get(self, model: str) -> ModelPrices | None:
        """What the library answered when it was asked before."""
        return self._answers.get(model)

    def keep(self, model: str, answer: ModelPrices) -> None:
        """Keeps an answer, where there is a place for it. Uneven prices are the library's to work out each time."""
        if self._path is None or len(self._answers) >= MOST_KEPT or not _sound(answer):
            return
        self._answers[model] = dataclasses.replace(answer, origin=None)
        with suppress(OSError):  # a folder that cannot be written costs time, not answers
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile(dir=self._path.parent, delete=False) as file:
                file.write(msgspec.json.encode(self._answers))
            Path(file.name).replace(self._path)


def _sound(answer: ModelPrices) -> bool:
    """Whether there is a price for each kind, or none, in every tier, that can be added up in whole pico-dollars."""
    tiers = [rates for period in answer.periods for rates in period.tiers]
    whole = all(period.tiers for period in answer.periods) and not any(any(rates.uneven) for rates in tiers)
    prices = [price for rates in tiers for price in (*rates.usd_per_million, rates.usd_per_request)]
    complete = all(len(rates.usd_per_million) == len(TOKEN_KINDS) for rates in tiers)
    return bool(tiers) and whole and complete and all(price is None or price >= 0 for price in prices)

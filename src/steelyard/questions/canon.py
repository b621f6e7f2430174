"""Show and retire canons, the reference outputs that outputs are compared with."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

import msgspec

from steelyard import pages, store  # names of `pages` are imported on first use
from steelyard.errors import UnknownNameError
from steelyard.formatting import counted
from steelyard.questions._answer import Answer, Part, Rows
from steelyard.records import Canon, iso

if TYPE_CHECKING:
    from steelyard.pages import Page

VERSIONS = {
    "normalization_version": "normalization",
    "oracle_version": "oracle",
    "distance_version": "distance",
}


class StoredCanon(Part, frozen=True, kw_only=True):
    """Reference output of a prompt."""

    prompt: str
    """Id of the contract."""
    code: str
    normalized: str
    """The code in normal form; distances are measured to it."""
    signature: str
    """SHA-256 of the normal form."""
    contract: dict[str, Any]  # Any: JSON values
    """The contract when the canon was set."""
    normalization_version: str
    oracle_version: str
    """Version of the checks that the output passed."""
    distance_version: str
    origin: str | None
    """Run or file of the output; None if unknown."""
    set_at: str | None
    retired_at: str | None
    """None if it is active."""

    @property
    def state(self) -> str:
        """Whether outputs are compared with it."""
        return "active" if self.retired_at is None else "retired"


class Canons(Answer, frozen=True, kw_only=True):
    """Active and retired canons of a store."""

    rows: ClassVar[Rows] = Rows("canons", without=("contract",))
    canons: tuple[StoredCanon, ...]

    @property
    def about(self) -> str:
        """Number of canons and of active canons."""
        active = sum(canon.retired_at is None for canon in self.canons)
        return f"{counted(len(self.canons), 'canon')}, {active:,} active"


def show_canons(address: str, prompt: str | None, *, history: bool) -> Canons:
    """Return the active canons of one prompt or of all; with `history`, retired ones too."""
    opened = store.open_store(address, create=False)
    try:
        everything = store.canon_history(opened)
    finally:
        opened.close()
    chosen = [canon for canon in everything if (history or canon.retired_at is None) and prompt in (None, canon.prompt)]
    if prompt is not None and not chosen:
        raise UnknownNameError("prompt with a canon", prompt, {canon.prompt for canon in everything})
    return _canons(chosen)


def retire_canon(address: str, prompt: str) -> Canons:
    """Retire the active canon of the prompt and return it."""
    opened = store.open_store(address, create=False)
    try:
        return _canons([store.retire_canon(opened, prompt)])
    finally:
        opened.close()


def _canons(canons: Iterable[Canon]) -> Canons:
    return Canons(canons=tuple(_stored(canon) for canon in canons))


def _stored(canon: Canon) -> StoredCanon:
    fields = msgspec.structs.asdict(canon)
    times = {name: None if fields[name] is None else iso(fields[name]) for name in ("set_at", "retired_at")}
    return StoredCanon(**{**fields, **times, "contract": msgspec.json.decode(canon.contract)})


def page(answer: Canons) -> Page:
    """Return one row per canon, and its code."""
    canons = answer.canons
    versions = [
        replace(pages.text_column(name, title, [getattr(canon, name) for canon in canons]), spare=2)
        for name, title in VERSIONS.items()
    ]
    columns = (
        pages.text_column("prompt", "prompt", [canon.prompt for canon in canons]),
        pages.text_column("state", "state", [canon.state for canon in canons]),
        pages.time_column("set_at", "set", [canon.set_at for canon in canons]),
        replace(pages.time_column("retired_at", "retired", [canon.retired_at for canon in canons]), spare=1),
        replace(pages.text_column("origin", "origin", [canon.origin for canon in canons]), spare=3),
        *versions,
        replace(pages.text_column("signature", "signature", [canon.signature for canon in canons]), spare=4),
    )
    return pages.Page(
        name="canons",
        title="Which reference outputs are stored?",
        answer=f"{answer.about}.",
        table=pages.PageTable(caption="Canons", columns=columns),
        texts=tuple(
            pages.LongText(heading=f"{canon.prompt}, set {canon.set_at or 'at an unknown time'}", text=canon.code)
            for canon in canons
        ),
    )

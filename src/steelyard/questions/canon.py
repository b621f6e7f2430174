"""Show and retire canons, the reference outputs that outputs are compared with."""

from __future__ import annotations

from steelyard import store
from steelyard.errors import UnknownNameError
from steelyard.results import Canons


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
    return Canons(tuple(chosen))


def retire_canon(address: str, prompt: str) -> Canons:
    """Retire the active canon of the prompt and return it."""
    opened = store.open_store(address, create=False)
    try:
        return Canons((store.retire_canon(opened, prompt),))
    finally:
        opened.close()

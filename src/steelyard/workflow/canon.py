"""Canon: showing and retiring the references that outputs are compared with."""

from __future__ import annotations

from steelyard.errors import UnknownNameError, UsageError
from steelyard.results import Canons
from steelyard.store import canon_history, open_store, retire_canon


def show(address: str, prompt: str | None, *, history: bool) -> Canons:
    """The canons in force, of one prompt or of all; with `history` the retired ones too."""
    store = open_store(address, create=False)
    try:
        everything = canon_history(store)
    finally:
        store.close()
    chosen = [canon for canon in everything if (history or canon.retired_at is None) and prompt in (None, canon.prompt)]
    if prompt is not None and not chosen:
        raise UnknownNameError("prompt with a canon", prompt, {canon.prompt for canon in everything})
    return Canons(tuple(chosen))


def retire(address: str, prompt: str | None) -> Canons:
    """Take the prompt's canon out of force, and give it."""
    if prompt is None:
        raise UsageError("name the prompt whose canon is to be retired", hint="steelyard canon show lists them")
    store = open_store(address, create=False)
    try:
        return Canons((retire_canon(store, prompt),))
    finally:
        store.close()

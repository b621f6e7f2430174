"""Canon: showing and retiring the references that outputs are compared with."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec

from steelyard.errors import UnknownName, UsageError
from steelyard.records import Canon
from steelyard.store import canon_history, open_store, retire_canon


def show(address: str, prompt: str | None, *, history: bool) -> list[dict[str, Any]]:  # Any: JSON values
    """The canons in force, of one prompt or of all; with `history` the retired ones too."""
    store = open_store(address, create=False)
    try:
        everything = canon_history(store)
    finally:
        store.close()
    chosen = [canon for canon in everything if (history or canon.retired_at is None) and prompt in (None, canon.prompt)]
    if prompt is not None and not chosen:
        raise UnknownName("prompt with a canon", prompt, {canon.prompt for canon in everything})
    return [as_dict(canon) for canon in chosen]


def retire(address: str, prompt: str | None) -> dict[str, Any]:
    """Take the prompt's canon out of force."""
    if prompt is None:
        raise UsageError("name the prompt whose canon is to be retired", hint="steelyard canon show lists them")
    store = open_store(address, create=False)
    try:
        return as_dict(retire_canon(store, prompt))
    finally:
        store.close()


def as_dict(canon: Canon) -> dict[str, Any]:
    """The canon as JSON, moments as text."""
    shape = {name: getattr(canon, name) for name in canon.__struct_fields__}
    for name in ("set_at", "retired_at"):
        if shape[name] is not None:
            shape[name] = datetime.fromtimestamp(shape[name] / 1e6, UTC).isoformat()
    shape["contract"] = msgspec.json.decode(canon.contract)
    return shape

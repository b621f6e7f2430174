"""What `canon` gives: the references that outputs are compared with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec

from steelyard.records import Canon, iso
from steelyard.results._base import Result


@dataclass(frozen=True, repr=False)
class Canons(Result):
    """Canons, in force or retired."""

    canons: tuple[Canon, ...]

    def _about(self) -> str:
        in_force = sum(canon.retired_at is None for canon in self.canons)
        return f"{len(self.canons):,} canons, {in_force:,} active"

    def to_dicts(self) -> list[dict[str, Any]]:  # Any: cells of any type
        """One flat row a canon; its contract is JSON text."""
        return [_row(canon) for canon in self.canons]

    def _shape(self) -> dict[str, Any]:  # Any: JSON values
        return {
            "canons": [_row(canon) | {"contract": msgspec.json.decode(canon.contract)} for canon in self.canons],
        }


def _row(canon: Canon) -> dict[str, Any]:  # Any: cells of any type
    """The canon's fields, moments as text."""
    shape = {name: getattr(canon, name) for name in canon.__struct_fields__}
    for name in ("set_at", "retired_at"):
        if shape[name] is not None:
            shape[name] = iso(shape[name])
    return shape

"""What all records are made of: their base and the ranges of their numbers and names."""

from __future__ import annotations

from typing import Annotated

import msgspec

from steelyard.records._allowed_values import MAX_VALUE

Count = Annotated[int, msgspec.Meta(ge=0, le=MAX_VALUE)]
Amount = Annotated[float, msgspec.Meta(ge=0)]
Fraction = Annotated[float, msgspec.Meta(ge=0, le=1)]
Weight = Annotated[float, msgspec.Meta(gt=0)]
Name = Annotated[str, msgspec.Meta(min_length=1, max_length=1024)]


class Record(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, repr_omit_defaults=True
):
    """What all records share: frozen, typed, no unknown keys, absent fields left out when written."""

"""What may count once in a mean. Nothing here loads numpy: the options of every command name it."""

from __future__ import annotations

from typing import Literal, TypeAlias

WeightBy: TypeAlias = Literal["runs", "tasks"]

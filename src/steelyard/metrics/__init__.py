"""Every metric, importable by its name and callable by keyword with plain numbers.

>>> from steelyard.metrics import composite_score
>>> round(composite_score(pass_rate=1.0, impl_rate=0.85), 3)
0.925
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from steelyard.metrics._declare import Metric


def __getattr__(name: str) -> Metric:
    """The metric of that name; the catalogue is read on first use, so importing this package stays light."""
    if name.startswith("_"):
        raise AttributeError(name)
    from steelyard.metrics._catalog import catalog  # the catalogue imports this package

    if name not in catalog():
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}: no such metric")
    return catalog()[name]


def __dir__() -> list[str]:
    from steelyard.metrics._catalog import catalog  # the catalogue imports this package

    return sorted(catalog())

"""Every metric, importable by its name and callable by keyword with plain numbers, and the words to declare more.

>>> from steelyard.metrics import composite_score
>>> round(composite_score(pass_rate=1.0, impl_rate=0.85), 3)
0.925
"""

from __future__ import annotations

from steelyard.lazy_exports import exports

_door_name, _door_names, __all__ = exports(__name__, __file__)


def __getattr__(name):
    """A word of the door, else the metric of that name; the catalog is read only for the latter."""
    if name in __all__ or name.startswith("_"):
        return _door_name(name)
    from steelyard.metrics._catalog import catalog  # the catalog imports this package

    if name not in catalog():
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}: no such metric")
    return catalog()[name]


def __dir__():
    from steelyard.metrics._catalog import catalog  # the catalog imports this package

    return sorted([*_door_names(), *catalog()])

"""Every metric, importable by its name and callable by keyword with plain numbers, and the words to declare more.

>>> from steelyard.metrics import composite_score
>>> round(composite_score(pass_rate=1.0, impl_rate=0.85), 3)
0.925
"""

from __future__ import annotations

from steelyard.lazy_exports import exports

_exported, _exported_names, __all__ = exports(__name__, __file__)


def __getattr__(name):
    """Return the public name, or else the metric of that name, for which the catalog is read."""
    if name in __all__ or name.startswith("_"):
        return _exported(name)
    metrics = _exported("catalog")()
    if name not in metrics:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}: no such metric")
    return metrics[name]


def __dir__():
    return sorted([*_exported_names(), *_exported("catalog")()])

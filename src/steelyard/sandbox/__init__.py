"""Running commands that are not trusted.

>>> from steelyard import sandbox
>>> sandbox.active_isolation().name in ("bubblewrap", "landlock", "none")
True
"""

from __future__ import annotations

from steelyard.sandbox.isolation import active_isolation, isolation_named
from steelyard.sandbox.records import Isolation, IsolationName, LimitName, Limits, SandboxResult, printable
from steelyard.sandbox.running import run

__all__ = [
    "run",
    "Limits",
    "LimitName",
    "SandboxResult",
    "Isolation",
    "IsolationName",
    "active_isolation",
    "isolation_named",
    "printable",
]

"""Sandbox for untrusted commands.

>>> from steelyard import sandbox
>>> sandbox.active_isolation().name in ("bubblewrap", "landlock", "none")
True
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from steelyard.doors import open_door

if TYPE_CHECKING:
    from steelyard.sandbox._commands import (
        RunningCommand as RunningCommand,
        active_isolation as active_isolation,
        isolation_named as isolation_named,
        run as run,
        start as start,
    )
    from steelyard.sandbox._sandbox_records import (
        HOME_FOLDER as HOME_FOLDER,
        WORK_FOLDER as WORK_FOLDER,
        Content as Content,
        Isolation as Isolation,
        IsolationName as IsolationName,
        LimitName as LimitName,
        Limits as Limits,
        SandboxResult as SandboxResult,
        Stay as Stay,
        printable as printable,
    )
else:
    __getattr__, __dir__, __all__ = open_door(__name__)

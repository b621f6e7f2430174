"""An arena on a server, from Python: `connect(url, token=...)` gives it with the verbs of one that is opened here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steelyard.doors import open_door

if TYPE_CHECKING:
    from steelyard.surfaces.client._remote_arena import (
        RemoteArena as RemoteArena,
        connect as connect,
    )
else:
    __getattr__, __dir__, __all__ = open_door(__name__)

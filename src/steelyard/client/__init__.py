"""Python client: `connect(url, token=...)` returns an arena on a server."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steelyard.doors import open_door

if TYPE_CHECKING:
    from steelyard.client._remote_arena import (
        RemoteArena as RemoteArena,
        connect as connect,
    )
else:
    __getattr__, __dir__, __all__ = open_door(__name__)

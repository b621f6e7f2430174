"""Access control: reads are public on loopback; other reads and all writes require a token."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import anyio.to_thread

from steelyard.errors import AuthenticationError, RequestError
from steelyard.questions.token import check_token
from steelyard.records import Scope, Token

if TYPE_CHECKING:
    from starlette.requests import Request

    from steelyard.questions import ArenaSource


@dataclass(frozen=True)
class Access:
    """Access rules of the server."""

    public_read: bool = True
    """Whether reads require no token."""
    write: bool = False
    """Whether writes are allowed."""
    tokens_of: ArenaSource | None = None
    """Arena with the tokens; None if no tokens are required."""

    async def require_token(self, request: Request, scope: Scope | None, *, always: bool = False) -> Token | None:
        """Return the token of the request; None if none is required, unless `always` is set.

        Without one the request is rejected.
        The store is asked every time, so that a revocation holds at the next request, in every process.
        """
        if scope is None and self.public_read and not always:
            return None
        if self.tokens_of is None or (scope is not None and not self.write):
            hint = "start the server with --write and --store URL"
            raise RequestError(403, "read_only", "this server is read-only", hint=hint)
        kind, _, whole = request.headers.get("authorization", "").partition(" ")
        if kind.lower() != "bearer" or not whole.strip():
            raise AuthenticationError("token required", hint="send Authorization: Bearer TOKEN")
        arena = self.tokens_of.arena
        return await anyio.to_thread.run_sync(check_token, arena, whole.strip(), scope or "read")

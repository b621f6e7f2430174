"""Who may read and write: on loopback everybody reads, elsewhere and to write a token is needed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import anyio.to_thread

from steelyard.errors import RequestRefused
from steelyard.surfaces.server._route import Scope

if TYPE_CHECKING:
    from starlette.requests import Request


class Tokens(Protocol):
    """Who knows the tokens of a store."""

    def holder(self, token: str, scope: Scope) -> str:
        """The name of the token, if it is in force and allows this; else `RequestRefused` with 401 or 403."""
        ...


@dataclass(frozen=True)
class Access:
    """What this server lets be done without and with a token."""

    public_read: bool = True
    """Whether reading needs no token."""
    tokens: Tokens | None = None
    """Who knows the tokens; None where nothing can be written."""

    async def require_token(self, request: Request, scope: Scope | None) -> str | None:
        """The name of the token that the request brings; None where none is needed. Without one it is refused."""
        if scope is None and self.public_read:
            return None
        if self.tokens is None:
            hint = "an arena is written to when it is served with --write"
            raise RequestRefused(403, "read_only", "this server is read-only", hint=hint)
        kind, _, token = request.headers.get("authorization", "").partition(" ")
        if kind.lower() != "bearer" or not token:
            hint = "send Authorization: Bearer TOKEN; steelyard token create makes one"
            headers = {"WWW-Authenticate": 'Bearer realm="steelyard"'}
            raise RequestRefused(401, "no_token", "this needs a token", hint=hint, headers=headers)
        return await anyio.to_thread.run_sync(self.tokens.holder, token.strip(), scope or "read")

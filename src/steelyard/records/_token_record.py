"""A token of the server, as shown to all but its holder."""

from __future__ import annotations

from typing import Literal, get_args

from steelyard.records._record_types import Record

Scope = Literal["read", "submit", "review", "admin"]
"""`read` looks; `submit` adds submissions and runs; `review` accepts, excludes and reinstates; `admin` does all, and
adds tasks. Each of them may read."""
SCOPES: tuple[Scope, ...] = get_args(Scope)


class Token(Record, frozen=True, kw_only=True):
    """What the store knows of a token: never the token itself."""

    id: str
    """The part of the token that is no secret."""
    name: str
    """Who or what it was made for; decisions that are made with it are logged under this name."""
    scopes: tuple[Scope, ...]
    """What it allows."""
    created_at: int
    """When it was made, in microseconds since 1970."""
    expires_at: int
    """When it expires, in microseconds since 1970."""
    last_used_at: int | None = None
    """When it was last accepted, to some minutes; None before its first use."""
    revoked_at: int | None = None
    """When it was revoked; None while it holds."""
    person: str | None = None
    """The id of the registered person whose it is; None where it has only a name."""

    @property
    def holder(self) -> str:
        """Who acts with it: its person, else its name."""
        return self.person or self.name

    def allows(self, scope: Scope) -> bool:
        """Whether it allows what a scope names."""
        return scope == "read" or scope in self.scopes or "admin" in self.scopes

    def state(self, now: int) -> Literal["active", "expired", "revoked"]:
        """What it is worth at a moment."""
        if self.revoked_at is not None:
            return "revoked"
        return "active" if now < self.expires_at else "expired"

"""What `token` gives: the tokens that a server knows, and once the token itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from steelyard.records import Token, iso
from steelyard.results._base import Result, Row


@dataclass(frozen=True, kw_only=True, repr=False)
class Tokens(Result):
    """Tokens of a store, at a moment."""

    tokens: tuple[Token, ...]
    at: int
    """The moment, in microseconds since 1970."""

    def _about(self) -> str:
        active = sum(token.state(self.at) == "active" for token in self.tokens)
        return f"{len(self.tokens):,} tokens, {active:,} active"

    def to_dicts(self) -> list[Row]:
        """Return one row per token; its scopes are joined by commas."""
        return [row | {"scopes": ",".join(row["scopes"])} for row in self._rows()]

    def _rows(self) -> list[Row]:
        return [_row(token, self.at) for token in self.tokens]

    def _shape(self) -> dict[str, Any]:  # Any: JSON values
        return {"tokens": self._rows()}


@dataclass(frozen=True, kw_only=True, repr=False)
class NewToken(Result):
    """A token that was just made. Its text cannot be had again."""

    token: str
    """The secret that the client sends."""
    record: Token
    """What the store keeps of it."""

    def _about(self) -> str:
        return f"{self.record.name}: {','.join(self.record.scopes)}, until {iso(self.record.expires_at)}"

    def to_dicts(self) -> list[Row]:
        """One row, without the token itself."""
        return Tokens(tokens=(self.record,), at=self.record.created_at).to_dicts()

    def _shape(self) -> dict[str, Any]:  # Any: JSON values
        return {"token": self.token, **_row(self.record, self.record.created_at)}


def _row(token: Token, at: int) -> Row:
    """Return the token's fields, times as text, and its state."""
    row: Row = {"id": token.id, "name": token.name, "scopes": list(token.scopes), "state": token.state(at)}
    row["person"] = token.person
    for name in ("created_at", "expires_at", "last_used_at", "revoked_at"):
        moment = getattr(token, name)
        row[name] = None if moment is None else iso(moment)
    return row

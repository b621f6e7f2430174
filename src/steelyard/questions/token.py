"""Access tokens of the server: create, list, revoke, check."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import date
from typing import TYPE_CHECKING, ClassVar, Literal

from steelyard import pages  # its names are imported on first use
from steelyard.arena import Arena
from steelyard.errors import PermissionDeniedError, UnknownNameError, UsageError
from steelyard.formatting import counted
from steelyard.option_names import option
from steelyard.questions._answer import Answer, Part, Rows
from steelyard.records import (
    MAX_NAME_BYTES,
    SCOPES,
    Scope,
    Token,
    end_of,
    is_storable,
    is_too_long,
    iso,
    microseconds_of,
    now_microseconds,
)
from steelyard.settings import DEFAULT_STORE
from steelyard.store import (
    Store,
    authenticate,
    create_token as create_in,
    list_tokens as list_in,
    open_store,
    revoke_token as revoke_in,
)

if TYPE_CHECKING:
    from steelyard.pages import Page

HOUR = 3600 * 1_000_000
"""Microseconds."""
_UNITS = {"h": HOUR, "d": 24 * HOUR, "w": 7 * 24 * HOUR}
DEFAULT_EXPIRES = "90d"


class TokenInfo(Part, frozen=True, kw_only=True):
    """Token without its text."""

    id: str
    """Its public part."""
    name: str
    scopes: tuple[Scope, ...]
    state: Literal["active", "expired", "revoked"]
    person: str | None
    """Id of the registered owner; None if it has only a name."""
    created_at: str
    expires_at: str
    last_used_at: str | None
    """Last use, to some minutes; None if it has not been used."""
    revoked_at: str | None


class Tokens(Answer, frozen=True, kw_only=True):
    """Access tokens of a store."""

    rows: ClassVar[Rows] = Rows("tokens", joined=("scopes",))
    tokens: tuple[TokenInfo, ...]

    @property
    def about(self) -> str:
        """Number of tokens and of active tokens."""
        active = sum(token.state == "active" for token in self.tokens)
        return f"{counted(len(self.tokens), 'token')}, {active:,} active"


class NewToken(Tokens, frozen=True, kw_only=True):
    """Token that was just created, with its text."""

    token: str
    """The secret that the client sends; it cannot be retrieved again."""


def create_token(
    name: str,
    *,
    scopes: Sequence[str] = ("submit",),
    expires: str | date = DEFAULT_EXPIRES,
    person: str | None = None,
    store: Arena | str = DEFAULT_STORE,
) -> NewToken:
    """Create a token; only the returned value contains its text. It expires after `30d`, `12h` or `2w`, or on a date.

    With `person`, requests with the token act as that registered person.

    >>> import steelyard as sy
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     store = sy.init_arena(f"sqlite:///{folder}/arena.db")
    ...     made = create_token("build", expires="30d", store=store)
    ...     names = [token.name for token in list_tokens(store=store).tokens]
    ...     gone = revoke_token("build", store=store)
    >>> made.tokens[0].name, names
    ('build', ['build'])
    """
    _check_name(name)
    allowed = [_scope(scope) for scope in dict.fromkeys(scopes)]
    if not allowed:
        raise UsageError("a token requires at least one scope", hint=f"one or more of: {', '.join(SCOPES)}")
    expires_at = _end(expires)
    with _opened(store) as opened:
        whole, record = create_in(opened, name, allowed, expires_at=expires_at, person=person)
    return NewToken(token=whole, tokens=_listed([record]))


def list_tokens(*, store: Arena | str = DEFAULT_STORE) -> Tokens:
    """Return all tokens of the store, including expired and revoked ones."""
    with _opened(store) as opened:
        return Tokens(tokens=_listed(list_in(opened)))


def revoke_token(name: str, *, store: Arena | str = DEFAULT_STORE) -> Tokens:
    """Revoke a token; its name can be used again."""
    with _opened(store) as opened:
        return Tokens(tokens=_listed([revoke_in(opened, name)]))


def _listed(tokens: Sequence[Token]) -> tuple[TokenInfo, ...]:
    now = now_microseconds()
    return tuple(
        TokenInfo(
            id=token.id,
            name=token.name,
            scopes=token.scopes,
            state=token.state(now),
            person=token.person,
            created_at=iso(token.created_at),
            expires_at=iso(token.expires_at),
            last_used_at=None if token.last_used_at is None else iso(token.last_used_at),
            revoked_at=None if token.revoked_at is None else iso(token.revoked_at),
        )
        for token in tokens
    )


def page(answer: Tokens) -> Page:
    """Return one row per token."""
    tokens = answer.tokens
    columns = (
        pages.text_column("name", "name", [token.name for token in tokens]),
        replace(pages.text_column("person", "person", [token.person for token in tokens]), spare=3),
        pages.text_column("scopes", "scopes", [", ".join(token.scopes) for token in tokens]),
        pages.text_column("state", "state", [token.state for token in tokens]),
        replace(pages.time_column("created_at", "created", [token.created_at for token in tokens]), spare=4),
        pages.time_column("expires_at", "expires", [token.expires_at for token in tokens]),
        replace(pages.time_column("last_used_at", "last used", [token.last_used_at for token in tokens]), spare=1),
        replace(pages.time_column("revoked_at", "revoked", [token.revoked_at for token in tokens]), spare=2),
        replace(pages.text_column("id", "starts with", [f"sytk_{token.id}" for token in tokens]), spare=5),
    )
    return pages.Page(
        name="tokens",
        title="Which access tokens exist?",
        answer=f"{answer.about}.",
        notes=() if tokens else ("To create one: steelyard serve token create NAME",),
        table=pages.PageTable(caption="Access tokens (times in UTC)", columns=columns),
    )


def check_token(arena: Arena, whole: str, scope: Scope) -> Token:
    """Return the token if it is valid and has the scope."""
    token = authenticate(arena.store, whole)
    if not token.allows(scope):
        has = ", ".join(token.scopes)
        hint = f"use a token with scope {scope}"
        raise PermissionDeniedError(f"token {token.name!r} has scope {has}; required: {scope}", hint=hint)
    return token


def has_active(arena: Arena, *, to_write: bool) -> bool:
    """Return whether the arena has an active token, with write access if `to_write`."""
    now = now_microseconds()
    return any(
        token.state(now) == "active" and (not to_write or set(token.scopes) != {"read"})
        for token in list_in(arena.store)
    )


@contextmanager
def _opened(store: Arena | str) -> Iterator[Store]:
    """The store of the arena, or the one at the address, which is let go of afterwards."""
    if isinstance(store, Arena):
        yield store.store
        return
    opened = open_store(store, create=False)
    try:
        yield opened
    finally:
        opened.close()


def _check_name(name: str) -> None:
    if not name.strip() or not is_storable(name) or not name.isprintable():
        raise UsageError(f"invalid token name {name[:200]!r}", hint="use a printable name, such as ci, ada or nightly")
    if is_too_long(name):
        raise UsageError(f"the token name is longer than {MAX_NAME_BYTES} bytes in UTF-8", hint="use a shorter name")


def _scope(name: str) -> Scope:
    for scope in SCOPES:
        if scope == name:
            return scope
    raise UnknownNameError("scope", name, SCOPES)


def _end(expires: str | date) -> int:
    """Return the time from which a token is rejected."""
    now = now_microseconds()
    match = re.fullmatch(r"([0-9]{1,6})([hdw])", expires) if isinstance(expires, str) else None
    end = now + int(match[1]) * _UNITS[match[2]] if match else _day(expires)
    if end <= now:
        raise UsageError(f"{option('expires', expires)} is not in the future", hint="use 30d, 12h or a future date")
    try:
        iso(end)
    except (ValueError, OverflowError) as error:
        raise UsageError(
            f"{option('expires', expires)} is after the year 9999", hint="use 30d, 12h or a date"
        ) from error
    return end


def _day(expires: str | date) -> int:
    try:
        return microseconds_of(end_of(expires, option="expires"))
    except UsageError as error:
        hint = "use 30d, 12h, 2w, or the last valid day: 2027-01-31"
        raise UsageError(f"{option('expires')} {expires!r} is neither a duration nor a date", hint=hint) from error

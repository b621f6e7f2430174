"""Records of a store: parties and tokens of an arena, canons of prompts."""

from __future__ import annotations

from typing import Literal, get_args

from steelyard.records._record_types import Name, Record

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


class Canon(Record, frozen=True, kw_only=True):
    """The one reference of a prompt: its first compliant output, with all that the comparison depends on."""

    prompt: str
    """The prompt's name: the contract's id."""
    code: str
    """The program as it was extracted from its answer."""
    normalized: str
    """The program in normal form; distances are measured to it."""
    signature: str
    """SHA-256 of the normal form."""
    contract: str
    """The contract as it was then, as JSON."""
    normalization_version: str
    """The normal form's level and version."""
    oracle_version: str
    """The version of the checks that the output passed."""
    distance_version: str
    """The version of the distance."""
    origin: str | None = None
    """The run or file it came from; None when it is not known."""
    set_at: int | None = None
    """When it was set, in microseconds since 1970; None for one that is not in a store."""
    retired_at: int | None = None
    """When it was retired; None while it is in force."""


PartyKind = Literal["person", "team", "tool"]
PARTY_KINDS: tuple[PartyKind, ...] = get_args(PartyKind)


class Party(Record, frozen=True, kw_only=True):
    """A registered person, team or tool. The id is unique for each kind; the display name need not be unique."""

    kind: PartyKind
    """`person` (submits and reviews), `team` (has people as members) or `tool` (an agent)."""
    id: Name
    """Id used in submissions (`submitter`, `agent`), tokens and ratings."""
    display_name: str | None = None
    """Display name, shown with the id; None if there is none."""
    team: Name | None = None
    """Team id of a person; None without a team."""

    @property
    def shown(self) -> str:
        """Return the id, preceded by the display name if there is one; display names alone are ambiguous."""
        return self.id if self.display_name is None else f"{self.display_name} ({self.id})"

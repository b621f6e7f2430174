"""Creating and opening an arena in a store."""

from __future__ import annotations

from steelyard.arena import (
    DEFAULT_PROFILE,
    POLICIES,
    Arena,
    Policy,
    create_arena,
    fit_if_due,
    open_arena as arena_in,
    read_rules,
)
from steelyard.errors import UnknownNameError
from steelyard.profiles import load_profile
from steelyard.settings import DEFAULT_STORE
from steelyard.store import open_store


def init_arena(address: str = DEFAULT_STORE, *, profile: str = DEFAULT_PROFILE, policy: str = "current") -> Arena:
    """Create an arena in the store, or open an existing one with the same rules."""
    chosen, kept = load_profile(profile), policy_named(policy)
    read_rules(chosen)  # reject an invalid profile before a file is created
    return _with_models(create_arena(open_store(address), chosen, policy=kept))


def open_arena(address: str = DEFAULT_STORE) -> Arena:
    """Open the arena in a store."""
    return _with_models(arena_in(open_store(address, create=False)))


def _with_models(arena: Arena) -> Arena:
    """Return the arena with models fitted when due by its profile."""
    arena.fitter = fit_if_due
    return arena


def opened(arena: Arena | str) -> Arena:
    """Return the arena, opened if an address is given."""
    return open_arena(arena) if isinstance(arena, str) else arena


def policy_named(name: str) -> Policy:
    """Return the policy with this name."""
    if name not in POLICIES:
        raise UnknownNameError("policy", name, POLICIES)
    return "current" if name == "current" else "as-submitted"

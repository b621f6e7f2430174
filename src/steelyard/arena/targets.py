"""Where notifications go. Targets come from a file that its owner names; nothing is sent anywhere else.

[[targets]]
name = "ci"
url = "https://ci.example.org/hooks/arena"
secret_env = "ARENA_WEBHOOK_SECRET"

[[targets]]
name = "phones"
apprise_env = "ARENA_APPRISE_URL"
"""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

import msgspec

from steelyard.errors import UsageError


class Target(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One receiver of notifications."""

    name: Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
    """Under which deliveries are remembered; keep it when the address changes."""
    url: str | None = None
    """A webhook's address, http or https."""
    secret_env: str | None = None
    """The environment variable that holds the secret that messages are signed with; None sends them unsigned."""
    apprise_env: str | None = None
    """The environment variable that holds an Apprise address (it may contain a password), instead of a webhook."""
    kinds: tuple[str, ...] | None = None
    """Kinds of events it wants; None wants all."""
    seconds: Annotated[float, msgspec.Meta(gt=0, le=300)] = 10.0
    """How long to wait for its answer."""

    def __post_init__(self) -> None:
        if (self.url is None) == (self.apprise_env is None):
            raise ValueError(f"target {self.name!r} needs either url or apprise_env")
        if self.url is not None and (
            urlsplit(self.url).scheme not in ("http", "https") or not urlsplit(self.url).netloc
        ):
            raise ValueError(f"the url of target {self.name!r} is not an http or https address")

    def check_environment(self) -> None:
        """An error when something that sending needs is not there: asked before any event is taken."""
        for variable in (self.secret_env, self.apprise_env):
            if variable is not None:
                environment(variable, self.name)

    @property
    def secret(self) -> bytes | None:
        """The secret, read when it is needed; an error when it is named and not there."""
        if self.secret_env is None:
            return None
        return environment(self.secret_env, self.name).encode()


class TargetFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All targets of an arena."""

    targets: tuple[Target, ...]


def environment(variable: str, target: str) -> str:
    """The value of an environment variable that a target names."""
    value = os.environ.get(variable)
    if not value:
        raise UsageError(f"target {target!r} needs the environment variable {variable}", hint=f"export {variable}=...")
    return value


def read_targets(path: Path) -> tuple[Target, ...]:
    """The targets in a TOML file."""
    try:
        found = msgspec.convert(tomllib.loads(path.read_text(encoding="utf-8")), TargetFile).targets
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise UsageError(f"the targets cannot be read: {error}", where=str(path)) from error
    names = [target.name for target in found]
    if not names or len(set(names)) != len(names):
        raise UsageError("targets need names, each its own", where=str(path))
    return found

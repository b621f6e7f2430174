"""Places in a JSON document, written `/groups/0/key`, and patterns of them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property


def written(path: Iterable[str]) -> str:
    """A path as text; a slash inside a key is `~1`, as in a JSON pointer.

    >>> written(("tasks", "a/b", "0"))
    '/tasks/a~1b/0'
    """
    return "".join(f"/{segment.replace('~', '~0').replace('/', '~1')}" for segment in path)


@dataclass(frozen=True)
class PathPattern:
    """Which places are meant: `/groups/*/level`, with `**` for any number of keys; a bare key is meant anywhere."""

    text: str

    @cached_property
    def _compiled(self) -> re.Pattern[str]:
        text = self.text if self.text.startswith("/") else f"/**/{self.text}"
        parts = []
        for segment in text.split("/")[1:]:
            any_number = segment == "**"
            parts.append(r"(?:/[^/]+)*" if any_number else "/" + re.escape(segment).replace(r"\*", "([^/]*)"))
        return re.compile("".join(parts))

    @cached_property
    def last(self) -> str | None:
        """The key that a match must end with; None when it is a pattern too."""
        key = self.text.rsplit("/", maxsplit=1)[-1]
        return None if "*" in key else key

    def match(self, path: tuple[str, ...]) -> tuple[str, ...] | None:
        """What each `*` stands for at this place; None when the place is not meant.

        >>> PathPattern("/groups/*/level").match(("groups", "0", "level"))
        ('0',)
        >>> PathPattern("level").match(("a", "b", "level"))
        ()
        """
        if self.last is not None and (not path or path[-1] != self.last.replace("~1", "/").replace("~0", "~")):
            return None
        matched = self._compiled.fullmatch(written(path))
        return None if matched is None else matched.groups()

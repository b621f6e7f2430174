"""Keys and tokens taken out of what leaves the machine: logs hold them, and reports, dashboards and prompts are shown.

Only the usual shapes are known. A secret without a shape of its own is found where a name such as `password` is
before it, and else stays.
"""

from __future__ import annotations

import dataclasses
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from enum import Enum
from functools import partial
from operator import is_
from pathlib import PurePath
from typing import Any, NamedTuple, TypeVar, cast

import msgspec

from steelyard.records._findings import PlacesOnDemand

Tree = TypeVar("Tree")


class _Shape(NamedTuple):
    """What a kind of secret looks like."""

    kind: str
    signs: tuple[str, ...]
    """Texts, in lower case, of which a secret of the kind holds one: looked for first, since that is fast."""
    pattern: str
    """The secret, or the group named `secret` in it. Linear: no part can match what the next one begins with.

    Compiled when a text has a sign of the kind, as few do: to compile all takes a start some milliseconds."""


_START = r"(?:(?<![A-Za-z0-9])|(?<=\\[nrt])|(?<=[0-9;\[]m))"
"""Where a word begins, behind an escaped line end and an escape sequence of a terminal too."""


_REST = r"(?=[A-Za-z_\-]{0,60}[0-9])[A-Za-z0-9_\-]{16,}"
"""What follows a prefix: with a digit soon, or it is a name such as `npm_config_registry` that a user chose."""


def _prefixed(kind: str, *prefixes: str, rest: str = _REST) -> _Shape:
    choices = "|".join(re.escape(prefix) for prefix in prefixes)
    return _Shape(kind, tuple(prefix.lower() for prefix in prefixes), rf"{_START}(?:{choices}){rest}")


_ASSIGNED = (
    r"(?i)(?:api[_\-]?key|access[_\-]?key|account[_\-]?key|secret(?:[_\-]?(?:access[_\-]?)?key)?|private[_\-]?key|"
    r"client[_\-]?secret|(?:auth|access|refresh|session|id|api|bearer)[_\-]?token|\btoken|passw(?:or)?d|passphrase)"
    r"(?:\\?[\"'])?\s{0,4}(?:=>|[:=])\s{0,4}(?:\\?[\"'])?"
    r"(?P<secret>(?![0-9.]{1,30}(?![^\s\"'\\,;&)}\]]))(?!\[|\$|<|None\b|null\b|true\b|false\b)"
    r"[^\s\"'\\,;&)}\]]{8,})"
)
"""A value behind a name of a secret. Numbers are counts, and `$NAME`, `<name>` and `[...]` are placeholders."""

_NAMED = (
    r"(?:api-?key|access-?key|secret(?:-?key)?|(?:(?:auth|access|refresh|session|id|api|bearer)-?)?token|"
    r"passw(?:or)?d|passphrase)"
)
_VALUE_END = r"[\s\"'\\,;&)}\]]"
_NO_COUNT = rf"(?![0-9.]{{1,30}}(?:{_VALUE_END}|\Z))"
_HAS_SIGN = r"(?=[^\s\"'\\]{0,40}[0-9!@#%^*+/=]|[^\s\"'\\]{20})"
_OPTION = (
    rf"(?i)(?<![a-z0-9])--?(?:[a-z0-9]{{1,20}}-){{0,4}}{_NAMED}\s{{1,4}}(?:\\?[\"'])?"
    rf"(?P<secret>{_HAS_SIGN}{_NO_COUNT}(?![\[$<-])[^\s\"'\\]{{4,}})"
)
"""A value behind an option (`--api-key VALUE`). Words of a sentence about the option have no digit or sign."""
_SHORT = (
    r"(?i)passw(?:or)?d(?:\\?[\"'])?\s{0,4}(?:=>|[:=])\s{0,4}(?:\\?[\"'])?"
    rf"(?P<secret>{_HAS_SIGN}{_NO_COUNT}(?![\[$<])[^\s\"'\\,;&)}}\]]{{4,7}}(?={_VALUE_END}|\Z))"
)
"""A password that is too short for the rule above."""

SHAPES: tuple[_Shape, ...] = (
    _Shape(
        "private key",
        ("private key",),
        (
            r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----(?:[^-]++|-(?!----))*+"
            r"(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----)?"
        ),
    ),
    _Shape(
        "JSON web token",
        ("eyj",),
        rf"{_START}eyJ[A-Za-z0-9_\-]{{8,512}}+\.eyJ[A-Za-z0-9_\-]{{4,}}(?:\.[A-Za-z0-9_\-]*)?",
    ),
    _prefixed(
        "API key", "sk-", "sk_live_", "sk_test_", "rk_live_", "rk_test_", "xai-", "gsk_", "r8_", "pplx-", "tvly-"
    ),
    _prefixed("API key", "AIza", rest=r"[A-Za-z0-9_\-]{35}"),
    _prefixed("API key", "SG.", rest=r"[A-Za-z0-9_\-]{16,64}+\.[A-Za-z0-9_\-]{16,}"),
    _prefixed("AWS key", "AKIA", "ASIA", "ABIA", "ACCA", rest=r"[A-Z0-9]{16}(?![A-Za-z0-9])"),
    _prefixed("GitHub token", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
    _prefixed("GitLab token", "glpat-", "gldt-", "glrt-", "glptt-", "glcbt-"),
    _prefixed("API key", "nvapi-", "lsv2_", "fw_", "e2b_", "GOCSPX-", "PMAK-", "NRAK-", "AGE-SECRET-KEY-"),
    _prefixed("access token", "hf_", "npm_", "pypi-", "dop_v1_", "dckr_pat_", "lin_api_", "ntn_", "sntrys_", "shpat_"),
    _prefixed("access token", "hvs.", "glsa_", "glc_", "sbp_", "figd_", "ATATT", "ya29.", "1//0"),
    _prefixed("Steelyard token", "sytk_"),
    _prefixed("Slack token", "xoxb-", "xoxp-", "xoxa-", "xoxr-", "xoxs-", "xapp-", rest=r"[A-Za-z0-9\-]{10,}"),
    _Shape(
        "webhook",
        ("/services/t", "/api/webhooks/"),
        r"https://[a-z.]{1,40}/(?:services/T|api/webhooks/)(?P<secret>[A-Za-z0-9_/\-]{16,})",
    ),
    _Shape(
        "password",
        ("://",),
        r"(?i)(?<=[a-z0-9]://)[^\s/:@\"'<>]{0,64}:(?P<secret>[^\s/@\"'<>]{1,128})@",
    ),
    _Shape(
        "credential",
        ("bearer ", "basic "),
        r"(?i)\b(?:Bearer|Basic)\s{1,4}(?P<secret>[A-Za-z0-9._~+/\-]{16,}={0,2})",
    ),
    _prefixed(
        "access token",
        *("dp.pt.", "dp.st.", "dp.ct.", "dp.sa.", "dp.scim.", "dp.audit."),
        rest=r"(?:[a-z0-9_\-]{2,35}\.)?[A-Za-z0-9]{40,44}",
    ),
    _Shape("Twilio key", ("sk", "ac"), rf"{_START}(?:SK|AC)[0-9a-f]{{32}}(?![A-Za-z0-9])"),
    _Shape("Telegram token", (":aa",), rf"{_START}[0-9]{{8,10}}:AA[A-Za-z0-9_\-]{{33}}(?![A-Za-z0-9_\-])"),
    _Shape(
        "Discord token",
        (".",),
        rf"{_START}[MNO][A-Za-z0-9_\-]{{22,28}}\.[A-Za-z0-9_\-]{{6}}\.[A-Za-z0-9_\-]{{27,45}}(?![A-Za-z0-9_\-])",
    ),
    _Shape(
        "signature",
        ("sig=", "signature=", "security-token="),
        r"(?i)[?&;](?:sig|signature|x-(?:amz|goog)-(?:signature|security-token))=(?P<secret>[A-Za-z0-9%+/=_.\-]{16,})",
    ),
    _Shape(
        "cookie",
        ("cookie",),
        r"(?i)cookie\\?[\"']?\s{0,4}[:=]\s{0,4}\\?[\"']?(?P<secret>[A-Za-z0-9_.\-]{1,128}=[^\s\"'\\;]{6,}[^\r\n\"'\\]{0,4096})",
    ),
    _Shape("secret", ("key", "secret", "token", "passw", "passphrase"), _ASSIGNED),
    _Shape("secret", ("key", "secret", "token", "passw", "passphrase"), _OPTION),
    _Shape("secret", ("passw",), _SHORT),
)


_SIGN = re.compile("|".join(sorted({re.escape(sign) for shape in SHAPES for sign in shape.signs})))
_BRIEF = 200
"""Up to this length one look for all signs is faster than one for each; most texts are names, and there are many."""
_NUMBERS = frozenset({int, float, bool, type(None)})
"""What most fields of most records are; looked at first, since a list of leaderboard has millions of them."""


_INVISIBLE = re.compile(
    r"(?:\x1b|\\u001b|\\x1b|\\033|\\e)\[[0-9;:?]{0,40}[ -/]{0,2}[@-~]|[\xad\u200b-\u200f\u2060-\u2064\ufeff]",
    re.IGNORECASE,
)
"""Escape sequences of a terminal, as they are and as code writes them, and characters without a width."""


class Redaction:
    """Takes secrets out of texts. Each one gets a number, so that two names that differ in a key alone stay two.

    >>> redaction = Redaction()
    >>> redaction.text("curl -H 'Authorization: Bearer abcdefghijklmnop0123' # token=s3cr3t-enough")
    "curl -H 'Authorization: Bearer [credential 1]' # token=[secret 1]"
    >>> redaction.count, redaction.summary
    (2, '1 credential, 1 secret')
    """

    def __init__(self) -> None:
        self._marks: dict[str, str] = {}
        self._kinds: Counter[str] = Counter()
        self._clean: set[str] = set()
        """Brief texts without a secret: a list of leaderboard has the same names in many rows."""

    @property
    def count(self) -> int:
        """How many different secrets were taken out."""
        return len(self._marks)

    @property
    def summary(self) -> str:
        """How many of each kind."""
        return ", ".join(f"{count:,} {kind}{'' if count == 1 else 's'}" for kind, count in sorted(self._kinds.items()))

    def text(self, text: str) -> str:
        """The text with a mark in place of each secret.

        Colors within a secret hide it from a pattern, but from no reader: the text then loses what is invisible.
        """
        if text in self._clean:
            return text
        if not text.isascii() or "\x1b" in text or "\\" in text:
            visible = _INVISIBLE.sub("", text)
            if visible != text and (redacted := self._redacted(visible)) != visible:
                return redacted
        return self._redacted(text)

    def _redacted(self, text: str) -> str:
        lower = text.lower()
        if len(text) <= _BRIEF and _SIGN.search(lower) is None:
            self._clean.add(text)
            return text
        for shape in SHAPES:
            if any(sign in lower for sign in shape.signs):
                text = re.sub(shape.pattern, partial(self._replaced, shape.kind), text)
        return text

    def _replaced(self, kind: str, match: re.Match[str]) -> str:
        group = "secret" if "secret" in match.re.groupindex else 0
        secret = match[group]
        if secret not in self._marks:
            self._kinds[kind] += 1
            self._marks[secret] = f"[{kind} {self._kinds[kind]}]"
        start, end = match.span(group)
        return match.string[match.start() : start] + self._marks[secret] + match.string[end : match.end()]

    def tree(self, value: Tree) -> Tree:
        """The record, list or mapping with every text in it redacted, names of keys too; what holds none is kept."""
        return cast("Tree", self._tree(value))

    def named(self, name: str, value: Any) -> Any:  # Any: JSON values
        """The JSON value under this name, with every text redacted as it would be behind the name and a sign.

        >>> Redaction().named("", {"password": "s3cr3t-enough", "n": 1})
        {'password': '[secret 1]', 'n': 1}
        """
        if isinstance(value, str):
            begin = f"{name}="
            text = self.text(begin + value) if name else self.text(value)
            return text.removeprefix(begin) if not name or text.startswith(begin) else self.text(value)
        if isinstance(value, dict):
            return {self.text(key): self.named(key, inner) for key, inner in value.items()}
        if isinstance(value, list):
            return [self.named(name, inner) for inner in value]
        return value

    def _tree(self, value: Any) -> Any:  # Any: whatever a result is made of
        if type(value) in _NUMBERS or isinstance(value, Enum):
            return value
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, msgspec.Struct):
            changed = self._changed(value.__struct_fields__, msgspec.structs.astuple(value))
            return msgspec.structs.replace(value, **changed) if changed else value
        if isinstance(value, (list, tuple, set, frozenset)):
            return self._items(value)
        if isinstance(value, Mapping):
            keys, items = self._items(tuple(value)), self._items(tuple(value.values()))
            same = all(map(is_, keys, value)) and all(map(is_, items, value.values()))
            return value if same else dict(zip(keys, items, strict=True))
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            names = [field.name for field in dataclasses.fields(value)]
            changed = self._changed(names, [getattr(value, name) for name in names])
            return dataclasses.replace(value, **changed) if changed else value
        if isinstance(value, PlacesOnDemand):
            return PlacesOnDemand(len(value), lambda numbers: map(self._tree, value[numbers.start : numbers.stop]))
        if isinstance(value, PurePath):
            path = self.text(str(value))
            return value if path == str(value) else type(value)(path)
        return value

    def _items(self, value: Any) -> Any:  # Any: a list, tuple or set
        items = [part if type(part) in _NUMBERS else self._tree(part) for part in value]
        if all(map(is_, items, value)):
            return value
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)

    def _changed(self, names: Iterable[str], parts: Iterable[Any]) -> dict[str, Any]:  # Any: fields of a record
        changed = {}
        for name, part in zip(names, parts, strict=True):
            if type(part) not in _NUMBERS and (made := self._tree(part)) is not part:
                changed[name] = made
        return changed

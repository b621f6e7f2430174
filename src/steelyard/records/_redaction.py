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
from functools import cache, partial
from itertools import pairwise
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


_NEXT_LINE = r"(?:\r?\n|\\{1,15}n)[ \t]{1,40}(?=[A-Za-z_\-]{0,60}[0-9])[A-Za-z0-9_\-]"
_ENDS_THERE = r"(?=[\s\"'`,;)\\]|\Z)"
_WRAPPED = rf"(?:{_REST}(?:{_NEXT_LINE}{{6,}}{_ENDS_THERE})?|[A-Za-z0-9_\-]{{4,120}}+{_NEXT_LINE}{{12,}}{_ENDS_THERE})"
"""The same, or with its end alone on an indented line, as wrapped output has it."""


def _prefixed(kind: str, *prefixes: str, rest: str = _WRAPPED) -> _Shape:
    choices = "|".join(re.escape(prefix) for prefix in prefixes)
    return _Shape(kind, tuple(prefix.lower() for prefix in prefixes), rf"{_START}(?:{choices}){rest}")


_QUOTE = r"(?:\\{0,15}[\"'`]|&quot;|&#3[49];|%2[27])"
"""A quote, within JSON in JSON too, or as HTML and URLs have it."""
_SPACE = r"(?:\s|\\{1,15}[nrt]){0,40}"
_SIGN_BETWEEN = (
    rf"{_QUOTE}?\s{{0,4}}(?::\s{{0,4}}(?:str|string|bytes|SecretStr)\s{{0,4}})?(?:=>|[:=]|%3[AD])\s{{0,4}}{_QUOTE}?"
)
_COMMA_BETWEEN = (
    rf"{_QUOTE}(?:{_SPACE},{_SPACE}{_QUOTE}(?:value{_QUOTE}\s{{0,4}}:\s{{0,4}}{_QUOTE})?|\s{{1,4}}value={_QUOTE})"
)
_BETWEEN = rf"(?:{_SIGN_BETWEEN}|>)"
"""What separates a name from its value: in code, in JSON, in XML."""
_VALUE_END = r"[\s\"'`\\,;&<)}\]]"
_NO_COUNT = rf"(?![0-9.]{{1,30}}(?:{_VALUE_END}|\Z))"
_HAS_SIGN = r"(?=[^\s\"'\\]{0,40}[0-9!@#%^*+/=]|[^\s\"'\\]{20})"
_HAS_DIGIT = r"(?=[^\s\"'\\]{0,60}[0-9])"
_NO_PLACEHOLDER = r"(?!\[|\$|<|None\b|null\b|true\b|false\b)"
_PLAIN_VALUE = r"[A-Za-z0-9_\-+/=.~%!@#^*:]{8,}+(?![(\[{])"
"""A value that is no expression, such as a call."""


def _after(*words: str, name: str) -> str:
    """The name, if one of the words is before it; this order is faster than the other."""
    return name + "(?:" + "|".join(rf"(?<={word}{name})|(?<={word}[_\-]{name})" for word in words) + ")"


_KEY = _after(
    *("api", "access", "account", "auth", "client", "deploy", "encryption", "master", "private", "secret", "service"),
    *("shared", "signing", "storage", "subscription"),
    name="key",
)
_TOKEN = _after("auth", "access", "refresh", "session", "id", "api", "bearer", name="token")
_NAMED = rf"(?=[kstp])(?:{_KEY}(?:[_\-]base)?|secret|{_TOKEN}|token(?<![A-Za-z0-9_]token)|passw(?:or)?d|passphrase)"
_ASSIGNED = rf"(?i){_NAMED}{_BETWEEN}(?P<secret>{_NO_COUNT}{_NO_PLACEHOLDER}[^\s\"'`\\,;&<)}}\]]{{8,}})"
"""A value behind a name of a secret. Numbers are counts, and `$NAME`, `<name>` and `[...]` are placeholders."""
_OFTEN_NAMED = r"(?=[tcpka])(?:token|credentials?|pass(?<=[_\-]pass)|(?-i:KEY(?<=[A-Z0-9]_KEY)|AUTH(?<=[A-Z0-9]_AUTH)))"
_SIGNED = (
    rf"(?i)(?:{_OFTEN_NAMED}(?:{_BETWEEN}|{_COMMA_BETWEEN})|(?:{_NAMED}|authorization){_COMMA_BETWEEN})"
    rf"(?P<secret>{_HAS_DIGIT}{_NO_COUNT}{_NO_PLACEHOLDER}{_PLAIN_VALUE})"
)
"""A value that may be none, behind a name that other values have as well or next to it in a list: with a digit."""
_PWD = rf"(?i)pwd{_BETWEEN}(?P<secret>{_HAS_SIGN}{_NO_COUNT}(?![\[$</.~]|[a-z]:\\)[^\s\"'`\\,;&<)}}\]]{{4,}})"
"""A value behind `pwd` that is no path."""
_OPTION = (
    rf"(?i)(?<![a-z0-9_\-])--?[a-z0-9_\-]{{0,60}}?(?:{_NAMED}|token)"
    rf"(?:\s{{1,4}}(?:\\{{1,15}}n?\s{{1,40}})?{_QUOTE}?|{_COMMA_BETWEEN})"
    rf"(?P<secret>{_HAS_SIGN}{_NO_COUNT}(?![\[$<-])[^\s\"'\\]{{4,}})"
)
"""A value behind an option (`--api-key VALUE`). Words of a sentence about the option have no digit or sign."""
_SHORT = (
    rf"(?i)passw(?:or)?d{_BETWEEN}"
    rf"(?P<secret>{_HAS_SIGN}{_NO_COUNT}(?![\[$<])[^\s\"'`\\,;&<)}}\]]{{4,7}}(?={_VALUE_END}|\Z))"
)
"""A password that is too short for the rule above."""
_SAID = (
    r"(?i)(?:\b(?:passw(?:or)?d|passphrase|token|secret|key)\s{1,4}is\s{1,4}|\blogin\s{1,4}\S{1,64}\s{1,4}password\s{1,4})"
    rf"{_QUOTE}?(?P<secret>{_HAS_DIGIT}{_NO_COUNT}(?![\[$<]){_PLAIN_VALUE})"
)
"""A value in a sentence or in a file of logins."""
_AUTHORIZATION = (
    rf"(?i)authorization{_BETWEEN}(?:[a-z][a-z0-9\-]{{0,30}}\s{{1,4}})?"
    rf"(?P<secret>{_HAS_DIGIT}(?![\[$<{{])[^\s\"'`\\,;<]{{12,}})"
)
_LOGIN = (
    rf"(?i)(?<![a-z0-9])(?:-u|--user)\s{{0,4}}{_QUOTE}?[a-z0-9_.@\-]{{1,64}}+:"
    rf"(?P<secret>{_HAS_SIGN}{_NO_COUNT}(?![\[$<])[^\s\"'\\]{{4,}})"
)
"""A user and a password as curl takes them."""
_GLUED = (
    r"(?i:\b(?:mysql|mariadb)[a-z_\-]{0,20}\b)(?:[^\n|;&\\]|\\(?!n)){0,200}?(?<=[\s\"'])-p"
    rf"{_QUOTE}?(?P<secret>(?!ort\b|rotocol\b|assw|[0-9]{{1,5}}:[0-9]){_NO_COUNT}(?![\[$<{{%])"
    r"(?:(?<=[\"'])[^\"'\\\n]{3,}|[^\s\"'`\\|;&<>]{3,}))"
)
"""A password as the clients of MySQL take it: `-pPASSWORD`. `-P` is a port."""

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
    _prefixed("API key", "sess-", "EAAA"),
    _prefixed("API key", "key-", "dapi", rest=r"[0-9a-f]{32}(?![A-Za-z0-9])"),
    _prefixed("Slack token", "xoxb-", "xoxp-", "xoxa-", "xoxr-", "xoxs-", "xapp-", rest=r"[A-Za-z0-9\-]{10,}"),
    _Shape(
        "webhook",
        ("/services/t", "/api/webhooks/", "/webhookb2/"),
        r"https://[a-z0-9.\-]{1,80}/(?:services/T|api/webhooks/|webhookb2/)(?P<secret>[A-Za-z0-9_/@\-]{16,})",
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
    _Shape(
        "Telegram token", (":aa",), rf"(?:{_START}|(?<=/bot))[0-9]{{8,10}}:AA[A-Za-z0-9_\-]{{33}}(?![A-Za-z0-9_\-])"
    ),
    _Shape(
        "Discord token",
        (".",),
        rf"{_START}[MNO][A-Za-z0-9_\-]{{22,28}}\.[A-Za-z0-9_\-]{{6}}\.[A-Za-z0-9_\-]{{27,45}}(?![A-Za-z0-9_\-])",
    ),
    _Shape(
        "signature",
        ("sig=", "signature=", "security-token="),
        (
            r"(?i)(?:[?&;]|u0026|%26)(?:sig|signature|x-(?:amz|goog)-(?:signature|security-token))(?:=|%3D)"
            r"(?P<secret>[A-Za-z0-9%+/=_.\-]{16,})"
        ),
    ),
    _Shape(
        "signature",
        ("sig=",),
        rf"(?i)(?<![a-z0-9?&;])sig=(?P<secret>{_HAS_DIGIT}[A-Za-z0-9%+/=_\-]{{16,}})",
    ),
    _Shape(
        "cookie",
        ("cookie",),
        r"(?i)cookie\\?[\"']?\s{0,4}[:=]\s{0,4}\\?[\"']?(?P<secret>[A-Za-z0-9_.\-]{1,128}=[^\s\"'\\;]{6,}[^\r\n\"'\\]{0,4096})",
    ),
    _Shape("cookie", ("cookie",), rf"(?i)cookie{_QUOTE}\s{{0,4}}:\s{{0,4}}\[(?P<secret>[^\]\[]{{8,4096}})\]"),
    _Shape(
        "cookie",
        ("--cookie", "curl"),
        rf"(?i)(?:--cookie|\bcurl(?=\s)[^\n]{{0,100}}?\s-b)[\s=]{{1,4}}{_QUOTE}?(?P<secret>[\w.\-]{{1,128}}=[^\s\"'\\]{{6,}})",
    ),
    _Shape("credential", ("authorization",), _AUTHORIZATION),
    _Shape("credential", ("://",), rf"(?<=://)(?P<secret>{_HAS_DIGIT}[A-Za-z0-9_\-]{{20,255}})@"),
    _Shape(
        "credential",
        ('auth"', 'auth\\"'),
        rf"\bauth{_QUOTE}\s{{0,4}}:\s{{0,4}}{_QUOTE}(?P<secret>{_HAS_DIGIT}[A-Za-z0-9+/]{{16,}}={{0,2}})",
    ),
    _Shape("API key", ("?key=", "&key="), rf"[?&]key=(?P<secret>{_HAS_DIGIT}[A-Za-z0-9_\-]{{16,}})"),
    _Shape("secret", ("key", "secret", "token", "passw", "passphrase"), _ASSIGNED),
    _Shape("secret", ("key", "secret", "token", "passw", "passphrase"), _OPTION),
    _Shape("secret", ("key", "secret", "token", "passw", "passphrase", "pass", "credential", "_auth"), _SIGNED),
    _Shape("secret", ("passw",), _SHORT),
    _Shape("secret", ("pwd",), _PWD),
    _Shape("secret", ("word is", "phrase is", "token is", "secret is", "key is", "login "), _SAID),
    _Shape("secret", ("-u ", "--user"), _LOGIN),
    _Shape("secret", ("mysql", "mariadb"), _GLUED),
)


@cache
def _any_sign() -> re.Pattern[str]:
    """Return the pattern of all signs. Compiled on first use, because most commands redact nothing."""
    return re.compile("|".join(sorted({re.escape(sign) for shape in SHAPES for sign in shape.signs})))


_TELLING = re.compile("key|secret|token|pass|pwd|auth|cookie|credential", re.IGNORECASE)
"""Names whose values may be secrets."""
_BRIEF = 200
"""Up to this length one look for all signs is faster than one for each; most texts are names, and there are many."""
_NUMBERS = frozenset({int, float, bool, type(None)})
"""What most fields of most records are; looked at first, since a list of leaderboard has millions of them."""


_ESCAPE = r"(?:\x1b|\\{1,15}(?:u001b|x1b|033|e))"
_INVISIBLE = (
    rf"(?i)(?:(?:{_ESCAPE}|\^\[)\[|\x9b)[0-9;:?]{{0,40}}[ -/]{{0,2}}[@-~]|"
    rf"{_ESCAPE}\][^\x07\x1b\\]{{0,2000}}(?:\x07|{_ESCAPE}\\{{1,16}}|\\{{1,15}}(?:u0007|x07|a))|"
    rf"{_ESCAPE}[()*+][A-Za-z0-9]|\x1b[=>78cDEHMNOZ]|"
    r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\xad\u200b-\u200f\u2060-\u2064\ufeff]|\r(?!\n)"
)
"""Escape sequences of a terminal, as they are and as code writes them, and characters without a width."""
_ESCAPED = re.compile(r"\\{1,15}(?:u00|x)(2[b-f]|3[0-9a]|3d|4[0-9a-f]|5[0-9af]|6[1-9a-f]|7[0-9a])", re.IGNORECASE)
"""A letter, digit or sign of keys that JSON or code writes as an escape without need."""
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\\]|\^\[")
"""What a text with such a sequence has, if it has no other characters than those of ASCII."""


_SHORTEST = 8
"""A secret that is shorter, or the beginning of a wrapped one, has one of the characters below."""
_SIGNS = re.compile(r"[0-9!@#%^*+/=_\-]")
_SPACED = ("cookie", "private key", "mysql", "mariadb")
"""Signs of secrets that may contain spaces."""
_WRAPS = ("\n ", "\n\t", "\\n ", "\\n\t")
"""What a wrapped secret has before its indented end."""
_INDENT = 60
"""At least the longest indentation of the end of a wrapped secret."""
_ESCAPE_SIGNS = ("\x1b", "\x9b", "^[", "\\u00", "\\x", "\\033", "\\e")
"""Signs of escaped letters and of sequences of a terminal, which may be within a secret."""
_CONTEXTS = (
    *("key", "secret", "token", "pass", "pwd", "credential", "auth", "bearer", "basic", "login", "-u", "--user"),
    "curl",
)
"""Signs of secrets that are known by what is before them; those of all others are in the secret itself."""


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

        Colors and escaped letters within a secret hide it from a pattern, but from no reader: the text then loses what
        is invisible, and has the letters as they are.
        """
        if text in self._clean:
            return text
        if not text.isascii() or _CONTROL.search(text):
            visible = _ESCAPED.sub(lambda match: chr(int(match[1], 16)), re.sub(_INVISIBLE, "", text))
            if visible != text and (redacted := self._redacted(visible)) != visible:
                return redacted
        return self._redacted(text)

    def _redacted(self, text: str) -> str:
        lower = text.lower()
        if len(text) <= _BRIEF and _any_sign().search(lower) is None:
            self._clean.add(text)
            return text
        for shape in SHAPES:
            if any(sign in lower for sign in shape.signs):
                text = re.sub(shape.pattern, partial(self._replaced, shape.kind), text)
        return text

    def surely_keeps(self, text: str, start: int, end: int, *, is_named: bool = False) -> bool:
        """Return whether these characters are outside secrets, which is faster to know than where the secrets are.

        False may also mean that it takes `text` to know. `is_named` if a name outside the text may be before it.

        >>> said = "the token is sk-a1b2c3d4e5f6a7b8c9"
        >>> Redaction().surely_keeps(said, 0, 3), Redaction().surely_keeps(said, 13, 16)
        (True, False)
        """
        lower = text.lower()
        if any(sign in lower for sign in _SPACED):
            return False
        if (not text.isascii() or _CONTROL.search(text)) and any(sign in lower for sign in _ESCAPE_SIGNS):
            return False
        # of all other secrets, only wrapped ones contain spaces
        begin = 1 + max(text.rfind(space, 0, start) for space in " \t\n")
        stop = min(at if (at := text.find(space, end)) >= 0 else len(text) for space in " \t\n")
        near = text[begin:stop]
        words = near.split() if near.isascii() and near.isprintable() else [near]
        if words and all(len(word) < _SHORTEST and _SIGNS.search(word) is None for word in words):
            return True
        around = text[max(begin - _INDENT, 0) : stop + 2]
        if is_named or any(sign in lower for sign in _CONTEXTS) or any(wrap in around for wrap in _WRAPS):
            return False
        return self.text(near) == near

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

    def _tree(self, value: Any, name: str = "") -> Any:  # Any: whatever a result is made of
        """The value, redacted; a text as it would be behind the name of its field."""
        if type(value) in _NUMBERS or isinstance(value, Enum):
            return value
        if isinstance(value, str):
            return self._behind(f"{name}=", value) if name else self.text(value)
        if isinstance(value, msgspec.Struct):
            changed = self._changed(value.__struct_fields__, msgspec.structs.astuple(value))
            return msgspec.structs.replace(value, **changed) if changed else value
        if isinstance(value, (list, tuple, set, frozenset)):
            return self._items(value, name)
        if isinstance(value, Mapping):
            keys = [self._tree(key) for key in value]
            items = [self._tree(item, self._name_of(key, value)) for key, item in value.items()]
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

    @staticmethod
    def _name_of(key: Any, value: Mapping[Any, Any]) -> str:  # Any: as above
        """What a value of the mapping is called, if that may tell of a secret; `{"name": ..., "value": ...}` too."""
        if key == "value":
            key = value.get("name") or value.get("key")
        return key if isinstance(key, str) and _TELLING.search(key) else ""

    def _behind(self, begin: str, text: str) -> str:
        """The text, redacted as it would be behind this one."""
        before = begin + text
        whole = self.text(before)
        return whole.removeprefix(begin) if whole != before and whole.startswith(begin) else self.text(text)

    def _items(self, value: Any, name: str = "") -> Any:  # Any: a list, tuple or set
        items = [part if type(part) in _NUMBERS else self._tree(part, name) for part in value]
        if type(value) in (list, tuple) and len(value) > 1 and type(value[0]) is str:
            is_pair = len(value) == 2
            for at, (option, part) in enumerate(pairwise(value), 1):
                if type(option) is type(part) is str and (is_pair or option[:1] == "-") and _TELLING.search(option):
                    items[at] = self._behind(f"{option} " if option[0] == "-" else f'"{option}", "', part)
        if all(map(is_, items, value)):
            return value
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)

    def _changed(self, names: Iterable[str], parts: Iterable[Any]) -> dict[str, Any]:  # Any: fields of a record
        changed = {}
        for name, part in zip(names, parts, strict=True):
            if type(part) not in _NUMBERS and (made := self._tree(part)) is not part:
                changed[name] = made
        return changed

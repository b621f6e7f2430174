"""YAML documents as JSON, so that everything that reads JSON reads them."""

from __future__ import annotations

import re
from pathlib import Path, PurePath
from typing import Any, ClassVar

import msgspec

from steelyard.errors import MissingExtraError, UnreadableFileError
from steelyard.files._file_bytes import whole_file

YAML_SUFFIXES = (".yaml", ".yml")
_TAG = "tag:yaml.org,2002:"
_RESOLVERS = (
    ("bool", r"true|True|TRUE|false|False|FALSE", "tTfF"),
    ("null", r"~|null|Null|NULL|", "~nN\0"),
    ("int", r"[-+]?(?:0|[1-9][0-9]*)", "-+0123456789"),
    ("float", r"[-+]?(?:0|[1-9][0-9]*)(?:\.[0-9]*)?(?:[eE][-+]?[0-9]+)?", "-+0123456789"),
    ("merge", r"<<", "<"),
)
"""Plain scalars of YAML 1.2: `no` is a text, and so are dates, 007 and 1:30."""


def is_yaml(path: PurePath) -> bool:
    """Return whether the file is called like a YAML document."""
    return path.suffix.lower() in YAML_SUFFIXES


def yaml_as_json(path: Path, shown: str) -> bytes:
    """Return the document as JSON, several of them as a list."""
    try:
        import yaml  # optional
    except ImportError as error:
        raise MissingExtraError("PyYAML", extra="yaml", purpose="reading YAML") from error

    class Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc] # as fast as there is one
        yaml_implicit_resolvers: ClassVar[dict[str, Any]] = {}  # Any: PyYAML's pairs

    for name, pattern, first in _RESOLVERS:
        first_characters = ["" if char == "\0" else char for char in first]
        Loader.add_implicit_resolver(_TAG + name, re.compile(rf"(?:{pattern})\Z"), first_characters)
    text = whole_file(path)
    try:
        if any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(text, Loader=Loader)):
            reason = "YAML aliases are not supported: a short file can expand to any size"
            raise UnreadableFileError(shown, reason, hint="write the values out, or convert the file to JSON")
        documents = list(yaml.load_all(text, Loader=Loader))  # a subclass of the safe loader
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        where = "" if mark is None else f" in line {mark.line + 1}"
        raise UnreadableFileError(shown, f"not YAML{where}: {getattr(error, 'problem', None) or error}") from error
    return msgspec.json.encode(documents[0] if len(documents) == 1 else documents, enc_hook=str)

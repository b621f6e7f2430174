"""Programming languages by the names people give them."""

from __future__ import annotations

from steelyard.errors import UnknownNameError

PYTHON = "python"

# Our name for a language: the names, fence labels and file endings that mean it. Python is read by its own parser, the
# others by tree-sitter grammars of the same name.
_LANGUAGES: dict[str, tuple[str, ...]] = {
    PYTHON: ("py", "python3", "pyi", "py3"),
    "javascript": ("js", "jsx", "mjs", "cjs", "node"),
    "typescript": ("ts", "mts", "cts"),
    "tsx": (),
    "java": (),
    "go": ("golang",),
    "rust": ("rs",),
    "c": ("h",),
    "cpp": ("c++", "cc", "cxx", "hpp", "hh"),
    "csharp": ("c#", "cs"),
    "ruby": ("rb",),
    "php": (),
    "bash": ("sh", "shell", "zsh"),
    "sql": (),
}
_NAMES = {alias: name for name, aliases in _LANGUAGES.items() for alias in (name, *aliases)}


def known_languages() -> tuple[str, ...]:
    """Every language that can be normalized by its syntax."""
    return tuple(_LANGUAGES)


def language_named(name: str) -> str:
    """Our name for a language; UnknownNameError with the nearest for one that is not known.

    >>> language_named("C++")
    'cpp'
    """
    language = language_of(name)
    if language is None:
        raise UnknownNameError("language", name, _NAMES)
    return language


def language_of(label: str) -> str | None:
    """Our name for a fence label or file ending; None when it names no language we know."""
    return _NAMES.get(label.strip().lower().lstrip("."))

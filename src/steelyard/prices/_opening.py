"""Which books there are: the maintained one, those that ship as files, and any TOML file of the user's."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from steelyard.errors import PriceTableError, UnknownNameError
from steelyard.prices._book import PriceBook
from steelyard.prices._file import read_book_file
from steelyard.prices._maintained import MaintainedBook

DEFAULT_BOOK = MaintainedBook.name

_SHIPPED = Path(__file__).parent / "books"
_DEEPEST_EXTENSION = 8


def book_names() -> tuple[str, ...]:
    """The books that ship, the default one first."""
    return (DEFAULT_BOOK, *sorted(path.stem for path in _SHIPPED.glob("*.toml")))


def open_book(name_or_path: str = DEFAULT_BOOK) -> PriceBook:
    """The book of that name, or the one that stands in a TOML file."""
    return _open(name_or_path, depth=0)


def _open(name_or_path: str, *, depth: int) -> PriceBook:
    if depth > _DEEPEST_EXTENSION:
        raise PriceTableError("books extend each other in a circle", where=name_or_path)
    if name_or_path in book_names():
        return _shipped(name_or_path)
    path = Path(name_or_path)
    if path.suffix.lower() != ".toml":
        raise UnknownNameError("price book", name_or_path, book_names())

    def open_base(base: str) -> PriceBook:
        is_file = Path(base).suffix.lower() == ".toml"
        return _open(str(path.parent / base) if is_file else base, depth=depth + 1)

    return read_book_file(path, open_base=open_base)


@cache
def _shipped(name: str) -> PriceBook:
    if name == DEFAULT_BOOK:
        return MaintainedBook()
    return read_book_file(_SHIPPED / f"{name}.toml", open_base=_shipped)

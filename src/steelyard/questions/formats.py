"""List supported input formats, or show one."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from steelyard import pages  # its names are imported on first use
from steelyard.errors import UnknownNameError
from steelyard.formatting import counted
from steelyard.questions._answer import Answer, Part, Rows
from steelyard.questions._question import Options, doc, plain_question
from steelyard.sources import all_formats

if TYPE_CHECKING:
    from steelyard.pages import Page


class FormatsOptions(Options):
    """Options of `formats`."""

    name: str | None = doc("Format to show.", default=None, kw_only=False)


class FormatInfo(Part, frozen=True, kw_only=True):
    """A format that can be read."""

    name: str
    title: str
    kind: str
    """What its files contain, such as sessions, tests or timings."""
    family: str
    """Name that formats of one tool share."""
    yields: tuple[str, ...]
    """Fields of a run that it reports."""


class Formats(Answer, frozen=True, kw_only=True):
    """Formats with the fields that they report."""

    rows: ClassVar[Rows] = Rows("formats")
    formats: tuple[FormatInfo, ...]
    """Formats by name; only the requested one if a name was given."""

    @property
    def about(self) -> str:
        """Number of formats."""
        return counted(len(self.formats), "format")


@plain_question(FormatsOptions, examples=({}, {"name": "claude-code"}))
def formats(options: FormatsOptions) -> Formats:
    """Return the supported input formats.

    >>> formats("claude-code").formats[0].kind
    'sessions'
    """
    known = all_formats()
    if options.name is not None and options.name not in known:
        raise UnknownNameError("format", options.name, sorted(known))
    return Formats(
        formats=tuple(
            FormatInfo(name=each.name, title=each.title, kind=each.kind, family=each.family, yields=tuple(each.yields))
            for each in sorted(known.values(), key=lambda each: each.name)
            if options.name in (None, each.name)
        )
    )


def page(answer: Formats) -> Page:
    """Return one row per format, or the fields of one."""
    return pages.catalog_page(
        "formats",
        title="Which logs and results can be read?",
        answer=f"{answer.about}.",
        entries=answer.to_dict()["formats"],
        columns={"name": 0, "kind": 1, "family": 2, "title": 0, "yields": 3},
    )

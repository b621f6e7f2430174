"""List the built-in mappings."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from steelyard import pages  # its names are imported on first use
from steelyard.formatting import counted
from steelyard.questions._answer import Answer, Part, Rows
from steelyard.questions._question import Options, plain_question
from steelyard.sources import load_mapping, shipped_mappings

if TYPE_CHECKING:
    from steelyard.pages import Page


class MappingListOptions(Options):
    """Options of `mapping list`."""


class BuiltInMapping(Part, frozen=True, kw_only=True):
    """Mapping that can be used by name."""

    name: str
    title: str | None
    """Files that it reads."""


class MappingList(Answer, frozen=True, kw_only=True):
    """Built-in mappings."""

    rows: ClassVar[Rows] = Rows("mappings")
    mappings: tuple[BuiltInMapping, ...]

    @property
    def about(self) -> str:
        """Number of mappings."""
        return counted(len(self.mappings), "mapping")


@plain_question(MappingListOptions, examples=({},), path="")
def mapping_list(options: MappingListOptions) -> MappingList:  # noqa: ARG001 # it has none
    """Return the built-in mappings.

    >>> "evalplus" in [mapping.name for mapping in mapping_list().mappings]
    True
    """
    loaded = [load_mapping(name) for name in shipped_mappings()]
    return MappingList(mappings=tuple(BuiltInMapping(name=each.name, title=each.title) for each in loaded))


def page(answer: MappingList) -> Page:
    """Return one row per mapping."""
    columns = (
        pages.text_column("name", "mapping", [each.name for each in answer.mappings]),
        pages.text_column("title", "title", [each.title for each in answer.mappings]),
    )
    return pages.Page(
        name="mapping-list",
        title="Which mappings are built in?",
        answer=f"{answer.about}.",
        notes=("To print one: steelyard mapping show NAME",),
        table=pages.PageTable(caption="Built-in mappings", columns=columns),
    )

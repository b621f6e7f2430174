from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from steelyard.errors import UsageError
from steelyard.reports import check_folder
from steelyard.settings import DEFAULT_STORE
from steelyard.surfaces.cli._options import SHOWING, OnePath, Paths, ProfileOption, Showing, split_names
from steelyard.surfaces.cli._print import console, print_findings, print_json

if TYPE_CHECKING:
    from steelyard.results import PromptResult
    from steelyard.workflow import RepeatOptions

Inputs = Annotated[
    Paths,
    Parameter(help="Run records with output.text (- is stdin), folders of output files, or SKYT experiment files."),
]


@Parameter(name="*", negative="")
@dataclass(frozen=True, kw_only=True)
class Asked:
    """What is typed; `options` makes the library's options of it."""

    contract: OnePath | None = None
    """What an answer must do: a TOML or JSON file, or a folder."""
    tau: float | None = None
    """Distance up to which an output is nearly the canon; 0.10."""
    level: str | None = None
    """Normalization: text, ast, tree or names."""
    language: str | None = None
    """The language of the outputs, where nothing else says it."""
    no_repair: bool = False
    """Use stored repairs, or none."""
    by: str = "task,agent,model"
    """What makes run records one prompt, separated by commas."""
    profile: ProfileOption = "repeatability-1"
    store: str | None = None
    """Where canons are kept; sqlite:///steelyard.db by default."""
    no_store: bool = False
    """Keep the canon for this call only."""
    unsafe: bool = False
    """Run code with limits only where nothing isolates it."""

    def options(self) -> RepeatOptions:
        """The options of the library."""
        from steelyard.workflow import RepeatOptions  # brings rapidfuzz

        if self.no_store and self.store is not None:
            raise UsageError("--store and --no-store exclude each other")
        return RepeatOptions(
            contract=self.contract,
            tau=self.tau,
            level=self.level,
            language=self.language,
            repair=not self.no_repair,
            by=tuple(split_names(self.by)),
            profile=self.profile,
            store=None if self.no_store else self.store or DEFAULT_STORE,
            unsafe=self.unsafe,
        )


ASKED = Asked()


def repeat(
    inputs: Inputs,
    /,
    *,
    asked: Asked = ASKED,
    csv: Annotated[
        OnePath | None, Parameter(help="Write distances, repairs and metrics as CSV into this folder.")
    ] = None,
    samples: Annotated[bool, Parameter(help="With --json, list every output too.", negative="")] = False,
    showing: Showing = SHOWING,
) -> int:
    """Measure how alike the answers to one prompt are, before and after repair toward the canon.

    Example: steelyard repeat outputs/ --contract binary_search.toml
    """
    from steelyard.results import CsvLogs, prompts_json  # with the next it brings rapidfuzz
    from steelyard.workflow import repeat as measure

    if samples and not showing.json:
        raise UsageError("--samples lists outputs in JSON", hint="--json --samples, or --csv FOLDER")
    if csv is not None:
        check_folder(csv)
    repeatability = measure(list(inputs), options=asked.options())
    if csv is None:
        results = list(repeatability.results)
    else:
        with CsvLogs(csv) as logs:
            results = list(logs.write(repeatability.results))
    if showing.json:
        print_json(prompts_json(results, repeatability.findings, samples=samples))
    else:
        _show(results)
    if not showing.quiet:
        print_findings([*repeatability.findings, *(finding for result in results for finding in result.findings)])
    return showing.status(len(repeatability.rejected))


def _show(results: Sequence[PromptResult]) -> None:
    from steelyard.reports import MOST_BARS, distance_bars, repeatability_table  # brings rich

    terminal = console()
    terminal.print(repeatability_table(results))
    for result in results:
        if result.canon is not None and len(results) <= MOST_BARS:
            for line in distance_bars(result):
                terminal.print(line)

"""Output of commands: tables, `--json`, `--csv`, or a file whose extension selects the format."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from steelyard import figures
from steelyard.cli._options import (
    DRAWN_FORMATS,
    RESULT_FORMATS,
    AllowRejected,
    Csv,
    FigureName,
    Json,
    NoCsvEscape,
    OnePath,
    Quiet,
)
from steelyard.cli._print import console, print_lines
from steelyard.errors import UsageError
from steelyard.pages import RESULT_ENDINGS, check_file, write_result
from steelyard.settings import FIGURE_ENDINGS

if TYPE_CHECKING:
    from pathlib import Path

    from steelyard.pages import Writable

MARKDOWN = ".md"


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class DisplayOptions:
    """Output options shared by commands without a result file."""

    json: Json = False
    allow_rejected: AllowRejected = False
    quiet: Quiet = False

    def status(self, rejected: int, *, useless: bool = False) -> int:
        """Return the exit status: 1 without a valid result, or with rejected records unless they are allowed."""
        return 1 if useless or (rejected and not self.allow_rejected) else 0


SHOWING = DisplayOptions()


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Output(DisplayOptions):
    """Output options shared by commands that return a result."""

    csv: Csv = False
    no_csv_escape: NoCsvEscape = False
    out: Annotated[OnePath | None, Parameter(alias="-o", help=f"Write the result to FILE; {RESULT_FORMATS}")] = None

    def check(self, *, markdown: bool = False) -> None:
        """Reject options that exclude each other and files that cannot be written, before the work starts."""
        check_printed(json=self.json, csv=self.csv)
        check_csv_escape(no_csv_escape=self.no_csv_escape, csv=self.csv, out=self.out)
        if self.out is not None:
            check_file(self.out, endings=(*RESULT_ENDINGS, *([MARKDOWN] if markdown else [])))

    @property
    def figure_name(self) -> str | None:
        """The requested figure."""
        return None

    def check_answer(self, _kind: type[Any]) -> None:
        """Do the same for an answer of this type."""
        self.check()


OUTPUT = Output()


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class DrawnOutput(Output):
    """Output options of results with figures: `--out` also accepts .svg and .png."""

    out: Annotated[
        OnePath | None,
        Parameter(alias="-o", help=f"Write the result to FILE; {DRAWN_FORMATS}"),
    ] = None
    figure: FigureName = None

    @property
    def figure_name(self) -> str | None:
        """The requested figure."""
        return self.figure

    def check_answer(self, kind: type[Any]) -> None:
        """Do the same for an answer of this type, and reject unknown figures."""
        self.check_drawn(kind)

    def check_drawn(self, kind: type[Any], *, markdown: bool = False) -> None:
        """Reject invalid combinations, unknown figures and files that cannot be written, before the work starts."""
        if not check_drawing(kind, self.figure, self.out):
            self.check(markdown=markdown)
        else:
            check_printed(json=self.json, csv=self.csv)
            check_csv_escape(no_csv_escape=self.no_csv_escape, csv=self.csv, out=self.out)


DRAWN_OUTPUT = DrawnOutput()


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class PlainOutput(Output):
    """Output options of answers without records that can be rejected."""

    allow_rejected: Annotated[bool, Parameter(parse=False)] = False


PLAIN_OUTPUT = PlainOutput()


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class PlainDrawnOutput(DrawnOutput):
    """The same for answers with figures."""

    allow_rejected: Annotated[bool, Parameter(parse=False)] = False


OUTPUTS: Mapping[tuple[bool, bool], Output] = {
    (False, False): PLAIN_OUTPUT,
    (False, True): OUTPUT,
    (True, False): PlainDrawnOutput(),
    (True, True): DRAWN_OUTPUT,
}
"""Output options by whether answers have figures and rejected records."""


def check_drawing(kind: type[Any], figure: str | None, out: Path | None) -> bool:
    """Return whether a figure is requested. Reject an unknown figure or one that cannot be written."""
    if out is not None and out.suffix.lower() in FIGURE_ENDINGS:
        figures.figure_named(figure, kind.figure_names(), result=kind.__name__)
        figures.check_figure_file(out)
        check_file(out)
        return True
    if figure is not None:
        raise UsageError("--figure requires --out FILE.svg or FILE.png", hint="--out figure.svg")
    return False


def save_result(result: Writable, figure: str | None, out: Path | None, *, no_csv_escape: bool = False) -> None:
    """Write the result or the requested figure to `out`."""
    if out is not None and (taken_out := write_result(result, out, figure=figure, no_csv_escape=no_csv_escape)):
        console(stderr=True).print(f"redacted in {out}: {taken_out}")


def print_written(out: Path, sentences: Iterable[str] = ()) -> None:
    """Print the sentences and the name of the file."""
    print_lines([*sentences, f"wrote {out}"])


def check_printed(*, json: bool, csv: bool) -> None:
    """Reject two output formats at once."""
    if json and csv:
        raise UsageError("--json and --csv are mutually exclusive")


def check_csv_escape(*, no_csv_escape: bool, csv: bool = False, out: Path | None = None) -> None:
    """Reject --no-csv-escape without CSV output."""
    if no_csv_escape and not csv and (out is None or out.suffix.lower() not in ("", ".csv")):
        raise UsageError(
            "--no-csv-escape requires --csv or --out FILE.csv", hint="add --csv, or remove --no-csv-escape"
        )

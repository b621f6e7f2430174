"""Check the installation and optional dependencies."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import sqlite3
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, Literal

from steelyard import pages  # its names are imported on first use
from steelyard.formatting import counted
from steelyard.metrics import catalog
from steelyard.prices import DEFAULT_PRICE_TABLE, open_price_table
from steelyard.profiles import shipped_profiles
from steelyard.questions._answer import Answer, Part, Rows
from steelyard.questions._question import Options, plain_question
from steelyard.sandbox import active_isolation
from steelyard.settings import FORMATS_PATH, METRICS_PATH
from steelyard.version import __version__

if TYPE_CHECKING:
    from steelyard.pages import Page, Style

REQUIRED = (
    "msgspec",
    "narwhals",
    "polars",
    "numpy",
    "scipy",
    "rich",
    "cyclopts",
    "rapidfuzz",
    "sqlalchemy",
    "zstandard",
    "genai-prices",
)
EXTRAS = {
    "pandas": ("pandas", "pandas data frames"),
    "psycopg": ("postgres", "a PostgreSQL store"),
    "tree-sitter": ("languages", "normalizing languages other than Python"),
    "tree-sitter-language-pack": ("languages", "normalizing languages other than Python"),
    "apprise": ("notify", "notifications to many services"),
    "resvg-py": ("png", "PNG figures"),
    "pyyaml": ("yaml", "YAML documents"),
    "google-re2": ("regex", "regular expressions in find"),
    "starlette": ("serve", "the dashboard and API of steelyard serve"),
    "uvicorn": ("serve", "the dashboard and API of steelyard serve"),
    "duckdb": ("duckdb", "larger-than-memory tables"),
    "pyspark": ("spark", "reading and measuring on a Spark cluster"),
}
"""Each optional package, the extra that installs it, and what it is for."""


STYLES: dict[str, Style] = {"ok": "green", "broken": "red", "absent": "yellow"}


class DoctorOptions(Options):
    """Options of `doctor`."""


class DoctorCheck(Part, frozen=True, kw_only=True):
    """One check."""

    what: str
    status: Literal["ok", "absent", "broken"]
    """`absent` if an optional part is not installed, `broken` if a required one is not."""
    detail: str


class Doctor(Answer, frozen=True, kw_only=True):
    """Checks of the installation."""

    rows: ClassVar[Rows] = Rows("checks")
    checks: tuple[DoctorCheck, ...]

    @property
    def broken(self) -> int:
        """Number of failed checks."""
        return sum(check.status == "broken" for check in self.checks)

    @property
    def about(self) -> str:
        """Number of checks, and whether they passed."""
        return f"{len(self.checks)} checks, {'failed' if self.broken else 'passed'}"

    @property
    def exit_status(self) -> int:
        """1 if a required check failed."""
        return 1 if self.broken else 0


@plain_question(DoctorOptions, examples=({},), path="")
def doctor(_options: DoctorOptions) -> Doctor:
    """Check the interpreter, packages, sandbox, prices, profiles and metrics.

    >>> doctor().checks[0].what
    'steelyard'
    """
    checks = [
        DoctorCheck(what="steelyard", status="ok", detail=__version__),
        DoctorCheck(
            what="python", status="ok", detail=f"{platform.python_version()} ({sys.platform}, {platform.machine()})"
        ),
        DoctorCheck(what="cores", status="ok", detail=str(os.cpu_count())),
        DoctorCheck(what="sqlite", status="ok", detail=sqlite3.sqlite_version),
    ]
    checks += [_package(name, optional=None) for name in REQUIRED]
    checks += [_package(name, optional=optional) for name, optional in EXTRAS.items()]
    checks.append(_sandbox())
    price_table = open_price_table(DEFAULT_PRICE_TABLE)
    checks.append(DoctorCheck(what="price table", status="ok", detail=f"{price_table.name} {price_table.version}"))
    checks.append(DoctorCheck(what="profiles", status="ok", detail=", ".join(shipped_profiles())))
    checks.append(DoctorCheck(what="metrics", status="ok", detail=f"{len(catalog())} declared"))
    for setting in (METRICS_PATH, FORMATS_PATH):
        if folders := os.environ.get(setting):
            checks.append(DoctorCheck(what=setting, status="ok", detail=folders))
    return Doctor(checks=tuple(checks))


def _sandbox() -> DoctorCheck:
    isolation = active_isolation()
    if isolation.name == "none":
        return DoctorCheck(
            what="sandbox", status="absent", detail=f"code runs only without isolation: {isolation.detail}"
        )
    return DoctorCheck(what="sandbox", status="ok", detail=f"{isolation.name}: {isolation.detail}")


def _package(name: str, *, optional: tuple[str, str] | None) -> DoctorCheck:
    try:
        return DoctorCheck(what=name, status="ok", detail=importlib.metadata.version(name))
    except importlib.metadata.PackageNotFoundError:
        if optional is None:
            return DoctorCheck(what=name, status="broken", detail="not installed; reinstall steelyard")
        extra, purpose = optional
        return DoctorCheck(
            what=name, status="absent", detail=f"optional, for {purpose}; pip install 'steelyard[{extra}]'"
        )


def page(answer: Doctor) -> Page:
    """Return one row per check."""
    checks, total = answer.checks, counted(len(answer.checks), "check")
    columns = (
        replace(
            pages.text_column("status", "status", [check.status for check in checks]),
            styles=[STYLES[check.status] for check in checks],
        ),
        pages.text_column("what", "check", [check.what for check in checks]),
        pages.text_column("detail", "detail", [check.detail for check in checks]),
    )
    return pages.Page(
        name="doctor",
        title="Is everything installed?",
        answer=f"{answer.broken} of {total} failed." if answer.broken else f"No problems found ({total}).",
        table=pages.PageTable(caption="Checks", columns=columns),
    )

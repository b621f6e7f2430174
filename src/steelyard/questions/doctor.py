"""Check the installation and optional dependencies."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import sqlite3
import sys

from steelyard.metrics import catalog
from steelyard.prices import DEFAULT_PRICE_TABLE, open_price_table
from steelyard.profiles import shipped_profiles
from steelyard.results import DoctorCheck, DoctorReport
from steelyard.sandbox import active_isolation
from steelyard.settings import FORMATS_PATH, METRICS_PATH
from steelyard.version import __version__

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
    "starlette": ("serve", "the dashboard and API of steelyard serve"),
    "uvicorn": ("serve", "the dashboard and API of steelyard serve"),
    "duckdb": ("duckdb", "larger-than-memory tables"),
    "pyspark": ("spark", "reading and measuring on a Spark cluster"),
}
"""Each optional package, the extra that installs it, and what it is for."""


def examine() -> DoctorReport:
    """Check the interpreter, packages, sandbox, prices, profiles and metrics."""
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
    return DoctorReport(tuple(checks))


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

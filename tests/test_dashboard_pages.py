"""Laws over every page of the dashboard: sound HTML with one heading, hostile names inert, any number of rows."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import fields, replace
from functools import cache
from typing import Any

import pytest
from msgspec import Struct, structs

from report_makers import HOSTILE
from steelyard.pages import Column, Page, PageTable
from steelyard.questions import Answer, question_named, question_names
from steelyard.records import Redaction
from steelyard.server._dashboard import Field, Frame, RowsShown, dashboard_document
from test_report import Checked
from test_results import MADE

KINDS = {question_named(name).answer.__name__ for name in question_names()} | {"ApiRoutes"}
PAGED = [name for name in MADE if name.split()[0] in KINDS]
Made = Callable[[str], Answer]
OF_ONE = (
    "Comparison",
    "Judges",
    "Matrix",
    "Measurement",
    "Prices",
    "Profiles",
    "Ranking",
    "AddedRating",
    "ArenaEvents",
    "ArenaSettings",
    "Repeatability",
    "RescoreResult",
    "ReviewedSubmission",
    "Report",
    "SendingRound",
    "SpeedupResult",
    "StoreUpgrade",
)
"""Verbs that refuse to answer over nothing, or whose parts belong together."""


def framed(page: Page, *, is_served: bool = True, **changed: Any) -> str:  # Any: parts of a frame
    """The page on a dashboard, with everything that a frame can have."""
    table = page.table
    rows = None
    if is_served and table is not None and table.columns:
        names = frozenset(column.name for column in table.columns if column.dots is None)
        rows = RowsShown(
            total=table.rows, next="cur&sor", is_first=False, sort=f"-{table.columns[0].name}", find="x", sortable=names
        )
    frame = Frame(
        base="/below",
        path="/tasks/a%20b",
        query=(("by", "agent"), ("find", HOSTILE), ("after", "cursor")),
        navigation=(("Ranking", "/"), ("Tasks", "/tasks")),
        styles=("/below/assets/steel.css",),
        scripts=("/below/assets/dashboard.js",),
        as_of="2026-11-16T12:00:00+00:00",
        version="17",
        fields=(
            Field(name="by", value="agent", is_first=True),
            Field(name="order", value="", default="mean", choices=("mean", "median")),
        ),
        rows=rows,
        compare=(("where", HOSTILE),),
        data="/api/v1/tasks/a%20b",
    )
    return dashboard_document(page, replace(frame, **changed))


class DashboardPage(Checked):
    """A page whose links stay on the dashboard."""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        before = len(self.wrong)
        super().handle_starttag(tag, attrs)
        self.wrong[before:] = [
            wrong for wrong in self.wrong[before:] if not re.match(r"<\w+ (href|src|action)=(/below/|/below>)", wrong)
        ]


def check(html: str) -> None:
    page = DashboardPage()
    page.feed(html)
    assert page.wrong == []
    assert page.open == []
    assert (page.tags["h1"], page.tags["main"], page.tags["style"]) == (1, 1, 0)
    assert [id_ for id_, count in page.ids.items() if id_ and count > 1] == []
    assert "".join(page.content["script"]) == "" or "octet-stream" in html
    assert len(re.findall("<script", html)) == 1 + html.count("octet-stream")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """A result of each kind, made once."""
    return cache(lambda name: MADE[name](tmp_path_factory.mktemp("made")))


@pytest.mark.parametrize("name", PAGED)
def test_every_page_is_sound_html_with_one_heading(name: str, made: Made) -> None:
    page = made(name).page()
    assert page.title
    assert page.answer.endswith((".", "!", "?"))
    for is_served in (True, False):
        check(framed(page, is_served=is_served))


class Hostile(Redaction):
    """Puts hostile text into every name of the samples."""

    def text(self, text: str) -> str:
        return re.sub(r"\b(ant|bee|cat|ada|bob|cyd|fix-race|odd-1|odd|alice|small|large|clamp)\b", HOSTILE, text)


@pytest.mark.parametrize("name", PAGED)
def test_hostile_names_are_inert_on_every_page(name: str, made: Made) -> None:
    page = Hostile().tree(made(name)).page()
    for is_served in (True, False):
        html = framed(page, is_served=is_served)
        check(html)
        assert "<img" not in html
        assert not re.search(r"<svg onload|<base|javascript:window\S*\"", html)
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u200b]", html)


def sized(result: Any, count: int) -> Any:  # Any: a result or an answer
    """The result with so many of whatever it lists."""
    changed = {}
    for name in result.__struct_fields__ if isinstance(result, Struct) else [field.name for field in fields(result)]:
        value = getattr(result, name)
        if isinstance(value, tuple) and value and not isinstance(value[0], str):
            changed[name] = (value * count)[:count]
    return structs.replace(result, **changed) if isinstance(result, Struct) else replace(result, **changed)


@pytest.mark.parametrize("count", [0, 1, 2, 250])
@pytest.mark.parametrize("name", [name for name in PAGED if name.split()[0] not in OF_ONE])
def test_a_page_has_any_number_of_rows(name: str, count: int, made: Made) -> None:
    page = sized(made(name), count).page()
    assert page.answer
    assert page.table is not None or not count
    for is_served in (True, False):
        check(framed(page, is_served=is_served))


def test_a_heading_orders_the_rows_and_takes_it_back() -> None:
    rows = RowsShown(total=2, next=None, is_first=True, sort="", find="", sortable=frozenset({"cost"}))
    cost = Column(name="cost", title="cost", values=[1.0, 2.0], decimals=1)
    page = Page(name="p", title="t", answer="a.", table=PageTable(caption="c", columns=(cost,)))
    for sort, following in (("", "sort=-cost"), ("-cost", "sort=cost"), ("cost", None)):
        html = framed(page, query=(("by", "x"), ("sort", sort), ("after", "old")), rows=replace(rows, sort=sort))
        link = re.search(r'<th [^>]*><a href="([^"]*)"', html)
        assert link is not None
        assert link[1] == "/below/tasks/a%20b?by=x" + (f"&amp;{following}" if following else "")
        assert ("aria-sort" in html) == bool(sort)


def test_a_page_of_a_hundred_rows_of_a_large_task_stays_small(made: Made) -> None:
    leaderboard = made("TaskLeaderboard")
    many = sized(leaderboard, 5_000)
    page = many.page()
    assert page.table is not None
    html = framed(replace(page, table=page.table.part(range(100))), query=())
    assert len(html.encode()) < 60_000


def test_the_history_of_a_large_task_stays_small(made: Made) -> None:
    page = sized(made("ScoreHistory"), 5_000).page()
    assert page.table is not None
    html = framed(replace(page, table=page.table.part(range(100))), query=())
    assert len(html.encode()) < 100_000

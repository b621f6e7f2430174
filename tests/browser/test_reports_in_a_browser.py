"""Reports in a real browser: nothing foreign runs, nobody is asked, everybody can read and use them."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import steelyard as sy
from report_makers import HOSTILE, REPORTS, flat_runs, planted
from steelyard.pages import Page as Answer

pytestmark = pytest.mark.browser

Open = Callable[..., Any]  # Any: the window of conftest.py, which is no module to import from


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], str]:
    """The HTML of each kind of report, made once."""
    folder = tmp_path_factory.mktemp("reports")
    return cache(lambda name: REPORTS[name](folder).document())


@pytest.mark.parametrize("name", REPORTS)
def test_a_report_is_quiet_and_accessible_in_light_and_dark(
    name: str, made: Callable[[str], str], opened: Open
) -> None:
    for scheme in ("light", "dark"):
        window = opened(made(name), scheme=scheme)
        assert window.complaints() == []
        assert window.is_quiet
        assert window.page.locator("h1").count() == 1


@pytest.mark.parametrize("name", REPORTS)
def test_a_report_fits_a_phone_and_shows_its_answers_without_a_script(
    name: str, made: Callable[[str], str], opened: Open
) -> None:
    window = opened(made(name), script=False, width=390)
    assert window.asked == [window.path.as_uri()]
    assert window.page.evaluate("document.documentElement.scrollWidth") <= 390
    assert window.page.locator(".lead").is_visible()
    for answer in window.page.locator(".answer").all():
        assert answer.is_visible()
    assert window.page.locator(".tools").count() == 0


def test_hostile_names_are_shown_as_text(made: Callable[[str], str], opened: Open) -> None:
    window = opened(made("hostile names"))
    shown = window.page.locator("main").inner_text()
    assert "<img src=x onerror=" in shown
    assert "\\u202e" in shown
    assert "\u202e" not in shown + window.page.title()
    assert "\x1b" not in shown
    for summary in window.page.locator("summary").all()[:3]:
        summary.click()
    assert window.page.locator("img, base, iframe, object, embed, link[rel=stylesheet], svg script").count() == 0
    assert window.page.locator("script").count() == 1 + window.page.locator("steel-table > script").count()
    assert window.is_quiet


@pytest.mark.parametrize("module", ["steelyard.pages._html", "steelyard.figures._figure"])
def test_the_tests_see_when_escaping_is_left_out(module: str, opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"{module}.escape", lambda text: text)
    window = opened(sy.report(planted(HOSTILE), redact=False).document(), ready=False)
    assert window.page.locator("img").count() > 0
    assert window.said, "the policy of the page says what it kept from running"
    with pytest.raises(AssertionError):
        assert window.is_quiet
    assert window.page.evaluate("window.pwned") is None, "the policy keeps it from running all the same"


@pytest.mark.parametrize("name", ["demo", "250 runs, some without a cost"])
def test_the_keyboard_reaches_everything(name: str, made: Callable[[str], str], opened: Open) -> None:
    window = opened(made(name))
    count = window.page.evaluate(
        "(window.wanted = [...document.querySelectorAll('a, button, input, summary, [tabindex]')]).length"
    )
    reached = set()
    for _ in range(count + 20):
        window.page.keyboard.press("Tab")
        place = window.page.evaluate("window.wanted.indexOf(document.activeElement)")
        if place in reached:
            break
        reached.add(place)
    folded = window.page.evaluate(
        """window.wanted.filter((each) => {
            const around = each.tagName === "SUMMARY" ? each.parentElement.parentElement : each;
            return around.closest("details:not([open])");
        }).length"""
    )
    assert len(reached - {-1}) == count - folded


def test_a_key_finds_the_filter_and_a_button_sorts_by_keyboard(made: Callable[[str], str], opened: Open) -> None:
    window = opened(made("250 runs, some without a cost"))
    window.page.keyboard.press("/")
    window.page.keyboard.type("task-00 agent-3")
    assert window.page.locator("#runs-table output").inner_text().endswith(" of 250 rows")
    button = window.page.get_by_role("button", name="cost, usd").last
    button.focus()
    window.page.keyboard.press("Enter")
    assert window.page.locator("#runs-table th[aria-sort=descending]").count() == 1


def _cells(window: Any, table: str, column: str) -> list[str]:  # Any: the window of conftest.py
    place = window.page.evaluate(
        f"[...document.querySelectorAll('#{table} th')].findIndex((head) => head.dataset.name === {json.dumps(column)})"
    )
    cells: list[str] = window.page.eval_on_selector_all(
        f"#{table} tbody tr:not(.space)", f"(rows) => rows.map((row) => row.cells[{place}].textContent)"
    )
    return cells


def _page(name: str, tmp_path: Path, section: str) -> Answer:
    return next(page for page in REPORTS[name](tmp_path).page().parts if page.name == section)


@pytest.mark.parametrize(
    ("name", "section", "column"),
    [
        ("250 runs, some without a cost", "runs", "cost_usd"),
        ("250 runs, some without a cost", "runs", "task"),
        ("250 runs, some without a cost", "rank", "score"),
        ("demo", "compare", "p"),
        ("demo", "repeatability", "prompt"),
    ],
)
def test_sorting_puts_what_is_missing_last_in_both_directions(
    name: str, section: str, column: str, made: Callable[[str], str], opened: Open, tmp_path: Path
) -> None:
    table = _page(name, tmp_path, section).table
    assert table is not None
    declared = next(each for each in table.columns if each.name == column)
    rows = sorted(
        range(table.rows), key=lambda row: (declared.values[row] or 0) if declared.is_number else declared.shown(row)
    )
    known = [row for row in rows if declared.values[row] is not None]
    window = opened(made(name))
    button = window.page.locator(f"#{section}-table th[data-name='{column}'] button")
    for _ in range(2):
        button.click()
        down = window.page.locator(f"#{section}-table th[aria-sort=descending]").count() == 1
        shown = _cells(window, f"{section}-table", column)
        by_value = sorted(known, key=lambda row: declared.values[row], reverse=down)  # type: ignore[arg-type,return-value]
        expected = [declared.shown(row) for row in by_value] + ["-"] * (table.rows - len(known))
        assert shown == expected[: len(shown)]
        assert len(shown) >= min(table.rows, 20)
        window.page.evaluate(f"document.querySelector('#{section}-table .scroll').scrollTop = 1e9")
        window.page.wait_for_timeout(100)
        assert _cells(window, f"{section}-table", column)[-1] == expected[-1]
    button.click()
    assert window.page.locator(f"#{section}-table th[aria-sort]").count() == 0


def test_filtering_keeps_the_rows_with_every_word(made: Callable[[str], str], opened: Open, tmp_path: Path) -> None:
    name = "250 runs, some without a cost"
    table = _page(name, tmp_path, "runs").table
    assert table is not None
    words = [column for column in table.columns if not column.is_number]
    texts = [" | ".join(column.shown(row) for column in words) for row in range(table.rows)]
    wanted = [text for text in texts if "agent-3" in text and "failed" in text]
    window = opened(made(name))
    window.page.locator("#runs-table input").fill("FAILED agent-3")
    assert window.page.locator("#runs-table output").inner_text() == f"{len(wanted)} of 250 rows"
    assert set(_cells(window, "runs-table", "agent")) == {"agent-3"}
    window.page.locator("#runs-table input").fill("nothing like it")
    assert window.page.locator("#runs-table output").inner_text() == "0 of 250 rows"
    assert _cells(window, "runs-table", "agent") == []


def test_the_view_is_in_the_address(made: Callable[[str], str], opened: Open) -> None:
    window = opened(made("250 runs, some without a cost"))
    window.page.locator("#runs-table th[data-name=cost_usd] button").click()
    window.page.locator("#runs-table input").fill("agent-3")
    window.page.locator("#rank-table th[data-name=score] button").click()
    shown = _cells(window, "runs-table", "run"), _cells(window, "rank-table", "score")
    fragment = "#" + window.page.url.partition("#")[2]
    again = opened(window.path, fragment=fragment)
    assert (_cells(again, "runs-table", "run"), _cells(again, "rank-table", "score")) == shown
    assert again.page.locator("#runs-table input").input_value() == "agent-3"
    again.page.locator("nav a").first.click()
    assert _cells(again, "runs-table", "run") == shown[0], "a link to a section leaves the view as it is"
    assert window.is_quiet
    assert again.is_quiet


def test_an_address_made_by_somebody_else_does_nothing_but_filter(made: Callable[[str], str], opened: Open) -> None:
    fragment = "#runs&runs-table.sort=-__proto__&runs-table.find=" + "%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E&x=%00"
    window = opened(made("250 runs, some without a cost"), fragment=fragment)
    assert window.page.locator("#runs-table output").inner_text() == "0 of 250 rows"
    assert window.is_quiet


def test_without_a_script_the_first_hundred_rows_stand_there(made: Callable[[str], str], opened: Open) -> None:
    window = opened(made("250 runs, some without a cost"), script=False)
    assert window.page.locator("#runs-table tbody tr").count() == 100
    assert "The first 100 of 250 rows" in window.page.locator("#runs").inner_text()


def test_it_prints_in_light_with_everything_in_sight(made: Callable[[str], str], opened: Open) -> None:
    window = opened(made("250 runs, some without a cost"), scheme="dark")
    window.page.emulate_media(media="print", color_scheme="light")
    assert not window.page.locator("nav").is_visible()
    assert not window.page.locator("#runs-table .tools").is_visible()
    assert window.page.evaluate("getComputedStyle(document.querySelector('#runs-table .scroll')).maxHeight") == "none"
    assert window.page.evaluate("getComputedStyle(document.body).color") == "rgb(31, 35, 40)"
    assert window.page.pdf()[:5] == b"%PDF-"


@pytest.mark.long
def test_fifty_thousand_runs_sort_without_a_wait(opened: Open, tmp_path: Path) -> None:
    window = opened(sy.report([flat_runs(tmp_path, 50_000)]).document())
    assert window.page.locator("#runs-table output").inner_text() == "50,000 rows"
    for column in ("cost_usd", "task", "run", "started"):
        milliseconds = window.page.evaluate(
            f"""() => {{
                const button = document.querySelector("#runs-table th[data-name={column}] button");
                const start = performance.now();
                button.click();
                return performance.now() - start;
            }}"""
        )
        print(f"sorting 50,000 rows by {column}: {milliseconds:.0f} ms")
        assert milliseconds < 1_000
    assert window.page.locator("#runs-table tbody tr").count() < 120
    assert window.page.evaluate("document.querySelectorAll('*').length") < 5_000
    window.page.evaluate("document.querySelector('#runs-table .scroll').scrollTop = 800000")
    window.page.wait_for_timeout(200)
    places = window.page.eval_on_selector_all(
        "#runs-table tbody tr:not(.space)", "(rows) => rows.map((row) => Number(row.getAttribute('aria-rowindex')))"
    )
    assert min(places) > 20_000
    assert window.complaints() == []
    assert window.is_quiet

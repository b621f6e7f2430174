"""The served dashboard in a real browser: every page, its view in the address, keys, news, writing, hostile names."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec
import pytest

pytest.importorskip("uvicorn", reason="the server needs steelyard[serve]")

import steelyard as sy
from report_makers import HOSTILE, planted
from served import Served, serving, token_of
from served_arenas import BIG_TASK, SEASON, filled_store
from steelyard.records import Run
from steelyard.server import ROUTES

pytestmark = pytest.mark.browser

Visit = Callable[..., Any]  # Any: the window of conftest.py, which is no module to import from
SAMPLES = Path(__file__).parent.parent / "samples"
FIRST = f"{BIG_TASK}-000003"
SCOPES = "submit,review"

IN_ARENA = {"task": BIG_TASK, "submission": FIRST, "season": SEASON, "agent": "ant"}
SESSION = "5e55a0aa-0000-4000-8000-000000000001"
IN_RUNS = {"task": "t1", "prompt": "clamp_temp0.5_20260101_000000", "run": "demo-T0-parse-csv-01"}
ASKED = {
    "/history": "?submitter=user-1",
    "/changes": "?since=2026-01-01&task={task}",
    "/compare": "?baseline=tier%3DT0&candidate=tier%3DT6&resamples=200",
    "/gate": "?rule=pass_rate+%3E%3D+0.3",
    "/find": "?pattern=a",
    "/": "?by=tier",
    "/runs/{run}": "?diff=demo-T1-parse-csv-01",
}
"""What a page needs to be asked, or shows more with."""


def pages(kind: str) -> list[str]:
    """The page of every route that the source has something for."""
    paths = [route.page_path for route in ROUTES if route.page_path is not None and route.builder(kind) is not None]
    return sorted(set(paths))


def filled(path: str, names: dict[str, str], *, arena: bool) -> str:
    if path.endswith("/steps"):  # only a session has any
        names = {**names, "run": SESSION}
    asked = "" if arena and path == "/" else ASKED.get(path, "").replace("&resamples=200", "")
    return (path + asked).format_map({name: quote(value, safe="") for name, value in names.items()})


@pytest.fixture(scope="session")
def store(tmp_path_factory: pytest.TempPathFactory) -> str:
    return filled_store(tmp_path_factory.mktemp("arena"), count=1_200, tasks=40)


@pytest.fixture(scope="session")
def token(store: str) -> str:
    return token_of(store, scope=SCOPES, name="ada")


@pytest.fixture(scope="session")
def arena(store: str, token: str) -> Iterator[Served]:
    with serving("--store", store, "--write") as server:
        yield server


def few_runs(folder: Path) -> Path:
    """The first attempts of the demonstration; every run has an output, one a long one."""
    runs = [run for run in sy.demo_runs() if run.attempt is not None and run.attempt <= 2]
    long = "".join(f"line {number}\n" for number in range(20_000))
    path = folder / "runs.jsonl"
    first = min(runs, key=lambda run: (run.task, run.id or ""))
    lines = [msgspec.json.encode(_with_output(run, long if run is first else "")) for run in runs]
    path.write_bytes(b"\n".join(lines) + b"\n")
    return path


def _with_output(run: Run, text: str) -> dict[str, Any]:  # Any: JSON values
    plain: dict[str, Any] = msgspec.to_builtins(run)
    return plain | {"output": {"text": f"{text}# {run.tier}\nprint({run.attempt})\n"}}


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("runs")
    experiment = SAMPLES / "repeatability" / "clamp_experiment.json"
    timings = SAMPLES / "speedup" / "fceval-results.json"
    session = SAMPLES / "formats" / "claude-code" / "session.jsonl"
    with serving(str(few_runs(folder)), str(experiment), str(timings), str(session)) as server:
        yield server


def check_page(window: Any, path: str) -> None:  # Any: the window of conftest.py
    """One page: it answers, says its answer once, and nobody has a complaint in light or dark."""
    assert window.go(path) == 200
    assert window.page.locator("h1").count() == 1
    assert window.page.locator(".answer").first.inner_text()
    assert window.complaints() == []
    window.page.emulate_media(color_scheme="dark")
    assert window.complaints() == []
    assert window.is_quiet


@pytest.mark.parametrize("path", pages("arena"))
def test_every_page_of_an_arena_is_quiet_and_accessible(path: str, arena: Served, visit: Visit) -> None:
    check_page(visit(arena.address), filled(path, IN_ARENA, arena=True))


@pytest.mark.parametrize("path", pages("runs"))
def test_every_page_of_runs_is_quiet_and_accessible(path: str, runs: Served, visit: Visit) -> None:
    check_page(visit(runs.address), filled(path, IN_RUNS, arena=False))


def test_every_page_fits_a_phone_and_answers_without_a_script(arena: Served, runs: Served, visit: Visit) -> None:
    for server, names, kind in ((arena, IN_ARENA, "arena"), (runs, IN_RUNS, "runs")):
        window = visit(server.address, script=False, width=390)
        for path in pages(kind):
            assert window.go(filled(path, names, arena=kind == "arena")) == 200
            assert window.page.locator(".answer").first.is_visible()
            wide = window.page.evaluate("document.documentElement.scrollWidth")
            assert wide <= 390, f"{path} is {wide} wide"
        assert window.is_quiet


def first_cells(window: Any) -> list[str]:  # Any: the window of conftest.py
    cells: list[str] = window.page.eval_on_selector_all(
        "section steel-table:first-of-type tbody tr:not(.space)",
        "(rows) => rows.slice(0, 50).map((row) => [...row.cells].map((cell) => cell.textContent).join(' | '))",
    )
    return cells


def test_without_a_script_links_filter_sort_and_lead_on(arena: Served, visit: Visit) -> None:
    window = visit(arena.address, script=False)
    window.go(f"/tasks/{BIG_TASK}")
    first = first_cells(window)
    window.page.get_by_role("link", name="Next rows").click()
    assert not set(first_cells(window)) & set(first)
    window.page.locator("input[name=find]").fill(FIRST)
    window.page.get_by_role("button", name="Filter").click()
    assert len(first_cells(window)) == 1
    assert FIRST in first_cells(window)[0]
    window.page.get_by_role("link", name=FIRST).click()
    assert window.page.locator("h1").inner_text().startswith(f"Why did {FIRST} get")
    assert window.page.locator("form[data-write] fieldset[disabled]").count() == 1


def test_a_view_is_in_the_address_and_the_back_button_gives_it_back(arena: Served, visit: Visit) -> None:
    window = visit(arena.address)
    window.go(f"/tasks/{BIG_TASK}")
    seen = [(window.page.url, first_cells(window))]
    window.page.locator("input[name=agent]").first.fill("bee")
    window.page.get_by_role("button", name="Show").click()
    window.ready()
    seen.append((window.page.url, first_cells(window)))
    assert all("| bee" in row for row in seen[1][1])
    window.page.locator("th a", has_text="cost").first.click()
    window.ready()
    seen.append((window.page.url, first_cells(window)))
    assert len({url for url, _ in seen}) == len({tuple(rows) for _, rows in seen}) == 3
    for url, rows in reversed(seen[:-1]):
        window.page.go_back()
        window.ready()
        assert (window.page.url, first_cells(window)) == (url, rows)
    for url, rows in seen:
        again = visit(arena.address)
        again.page.goto(url)
        again.ready()
        assert first_cells(again) == rows
    assert window.is_quiet


def test_keys_move_open_search_and_explain_themselves(arena: Served, visit: Visit) -> None:
    window = visit(arena.address)
    window.go(f"/tasks/{BIG_TASK}")
    press = window.page.keyboard.press
    for key in ("j", "j", "k"):
        press(key)
    assert window.page.locator("tr[aria-current] a").first.inner_text() == first_link(window)
    name = first_link(window)
    press("Enter")
    window.page.wait_for_url("**/submissions/**")
    assert name in window.page.locator("h1").inner_text()
    window.page.go_back()
    window.ready()
    press("?")
    assert window.page.locator("dialog[open]").is_visible()
    press("Escape")
    press("/")
    window.page.keyboard.type("jk")
    assert window.page.locator("steel-table input[type=search]").input_value().endswith("jk")
    window.page.evaluate("document.activeElement.blur()")
    press("y")
    window.page.get_by_text("link copied").wait_for()
    assert window.page.evaluate("navigator.clipboard.readText()") == window.page.url
    assert window.is_quiet


def first_link(window: Any) -> str:  # Any: the window of conftest.py
    text: str = window.page.locator("steel-table tbody a").first.inner_text()
    return text


def test_two_rows_are_compared_by_keys(runs: Served, visit: Visit) -> None:
    window = visit(runs.address)
    window.go("/?by=tier")
    for key in ("j", "x", "j", "x", "c"):
        window.page.keyboard.press(key)
    window.page.wait_for_url("**/compare?**")
    window.ready()
    assert window.page.locator("h1").inner_text().startswith("Is T")
    assert window.is_quiet


def submit(store: str, folder: Path, id_: str) -> None:
    """Another process submits."""
    made = {"id": id_, "task_id": BIG_TASK, "total_tokens": 9_000, "tool_calls": 9}
    (folder / f"{id_}.json").write_text(json.dumps(made), encoding="utf-8")
    words = ["arena", "submit", str(folder / f"{id_}.json"), "--store", store]
    subprocess.run([sys.executable, "-m", "steelyard", *words], check=True, capture_output=True)


def test_what_another_process_submits_is_told_and_shown_when_asked_for(
    arena: Served, store: str, visit: Visit, tmp_path: Path
) -> None:
    window = visit(arena.address)
    window.go(f"/tasks/{BIG_TASK}?find=live-1")
    assert first_cells(window) == []
    other = visit(arena.address)
    other.go(f"/tasks/{BIG_TASK}")
    before = first_cells(other)
    submit(store, tmp_path, "live-1")
    window.page.locator(".news button").wait_for(timeout=4_000)  # 2 s, and what the other process takes to end
    other.page.locator(".news button", has_text="1 new, show").wait_for(timeout=90_000)
    assert first_cells(other) == before, "no row moves by itself"
    other.page.locator(".news button").click()
    other.ready()
    window.page.locator(".news button").click()
    window.ready()
    assert "live-1" in first_cells(window)[0]
    assert window.is_quiet
    assert other.is_quiet


def test_a_submission_is_made_in_the_page_and_leads_to_why(arena: Served, token: str, visit: Visit) -> None:
    window = visit(arena.address)
    window.go(f"/tasks/{BIG_TASK}")
    form = window.page.locator("form[data-write=submit]")
    made = {"id": "typed-1", "task_id": BIG_TASK, "total_tokens": 8_000, "tool_calls": 8}
    form.locator("textarea").fill(json.dumps(made))
    form.locator("input[name=token]").fill("sytk_wrong")
    form.get_by_role("button", name="Submit").click()
    form.locator(".refused").wait_for()
    assert window.page.evaluate("sessionStorage.length") == 0, "a token that is refused is not kept"
    window.said.clear()  # the browser notes an answer of 401
    form.locator("input[name=token]").fill(token)
    form.get_by_role("button", name="Submit").click()
    receipt = form.locator(".receipts li")
    receipt.wait_for()
    assert "typed-1 accepted" in receipt.inner_text()
    lines = "\n".join(json.dumps(made | {"id": f"typed-{number}"}) for number in (1, 2)) + '\n{"task_id": 5}\n'
    form.locator("input[type=file]").set_input_files(
        {"name": "x.jsonl", "mimeType": "application/x-ndjson", "buffer": lines.encode()}
    )
    form.get_by_role("button", name="Submit").click()
    form.get_by_text("line 3").wait_for()
    told = [item.inner_text() for item in form.locator(".receipts li").all()]
    assert ["known" in told[0], "accepted" in told[1], "line 3" in told[2]] == [True, True, True]
    assert token not in window.page.url + str(window.asked)
    assert window.page.context.cookies() == []
    form.get_by_text("Why this score?").first.click()
    form.get_by_text("Correctness: 100").first.wait_for()
    form.get_by_role("link", name="typed-1").click()
    assert window.page.locator("h1").inner_text().startswith("Why did typed-1 get")
    assert window.is_quiet


def test_a_reviewer_decides_in_the_page_and_everybody_reads_it(arena: Served, token: str, visit: Visit) -> None:
    window = visit(arena.address)
    path = f"/submissions/{BIG_TASK}-000007"
    window.go(path)
    form = window.page.locator("form[data-write=review]")
    form.locator("input[name=token]").fill(token)
    for decision, reason, told in (
        ("exclude", "", None),
        ("exclude", "<b>made up</b>", "excluded"),
        ("reinstate", "it was real", "reinstated"),
        ("accept", "looked at", "accepted"),
    ):
        form.locator("select").select_option(decision)
        form.locator("input[name=reason]").fill(reason)
        form.get_by_role("button", name="Decide").click()
        if told is None:
            form.locator(".refused").wait_for()
            window.said.clear()
            continue
        form.locator(".accepted").wait_for()
        form.get_by_role("link", name="Reload this page").click()
        window.ready()
        for _ in range(60):  # a large task is counted anew some seconds after the decision
            if window.page.get_by_text(told).count():
                break
            window.page.wait_for_timeout(500)
            window.page.reload()
            window.ready()
        assert window.page.get_by_text(told).count()
        form = window.page.locator("form[data-write=review]")
        assert form.locator("input[name=token]").input_value() == token, "it is kept in this tab"
    reader = visit(arena.address)
    reader.go("/reviews")
    shown = reader.page.locator("main").inner_text()
    assert all(word in shown for word in ("<b>made up</b>", "it was real", "ada", f"{BIG_TASK}-000007"))
    assert reader.page.evaluate("sessionStorage.length") == 0
    form.get_by_role("button", name="Forget the token").click()
    assert window.page.evaluate("sessionStorage.length") == 0
    assert window.is_quiet


def test_a_run_leads_to_its_neighbors_its_output_and_the_difference(runs: Served, visit: Visit) -> None:
    window = visit(runs.address)
    window.go("/runs")
    window.page.locator("steel-table tbody a", has_text="demo-").first.click()
    window.ready()
    output = window.page.locator("summary", has_text="Output")
    assert "characters 1 to 64,000 of" in output.inner_text()
    first = window.page.locator("h1").inner_text()
    window.page.get_by_role("link", name="More output").click()
    window.page.wait_for_url("**offset=64000")
    window.ready()
    assert "characters 64,001 to 128,000 of" in output.inner_text()
    window.page.keyboard.press("]")
    window.page.wait_for_url(lambda url: "offset" not in url)
    window.ready()
    assert window.page.locator("h1").inner_text() != first
    window.page.keyboard.press("[")
    window.page.wait_for_function(f"document.querySelector('h1')?.innerText === {json.dumps(first)}")
    window.go("/runs/demo-T1-parse-csv-01?diff=demo-T2-parse-csv-01")
    assert "+# T1" in window.page.locator("pre").last.inner_text()
    assert window.is_quiet


HOSTILE_SEASON = "<script>alert(1)</script><img src=x onerror=alert(1)>"
"""Names of seasons are plain text on one line."""


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Served, Served]]:
    """An arena and a file of runs with hostile text in every field that can carry one."""
    folder = tmp_path_factory.mktemp("hostile")
    store = f"sqlite:///{folder}/hostile.db"
    arena = sy.init_arena(store)
    arena.add_task(msgspec.convert({"id": f"t{HOSTILE}"}, sy_task()))
    fields = ("agent", "model", "submitter")
    made = [
        {"id": f"s{number}{HOSTILE}", "task_id": f"t{HOSTILE}", "total_tokens": 10 + number, "tool_calls": 1}
        | {name: f"{name}{number}{HOSTILE}" for name in fields}
        | {"files_created": [HOSTILE], "judgments": [{"judge": HOSTILE, "weighted_score": 1}]}
        for number in range(8)
    ]
    (folder / "made.jsonl").write_text("".join(json.dumps(each) + "\n" for each in made), encoding="utf-8")
    (folder / "runs.jsonl").write_text(
        "".join(json.dumps(run) + "\n" for run in planted(HOSTILE, count=8)), encoding="utf-8"
    )
    token = token_of(store, scope=SCOPES)
    with serving("--store", store, "--write") as of_arena, serving(str(folder / "runs.jsonl")) as of_runs:
        for each in made:
            answer = of_arena.ask(
                "/api/v1/submissions",
                method="POST",
                body=json.dumps(each).encode(),
                Authorization=f"Bearer {token}",
                Content_Type="application/json",
            )
            assert answer.status == 201, answer.body
        decided = of_arena.ask(
            f"/api/v1/submissions/{quote(made[0]['id'], safe='')}/exclude",
            method="POST",
            body=json.dumps({"reason": HOSTILE}).encode(),
            Authorization=f"Bearer {token}",
            Content_Type="application/json",
        )
        assert decided.status == 200, decided.body
        arena.season_create(HOSTILE_SEASON)
        yield of_arena, of_runs


def sy_task() -> Any:  # Any: a type
    from steelyard.records import Task

    return Task


def test_hostile_names_are_inert_on_every_page(hostile: tuple[Served, Served], visit: Visit) -> None:
    of_arena, of_runs = hostile
    submitted = {
        "task": f"t{HOSTILE}",
        "submission": f"s1{HOSTILE}",
        "season": HOSTILE_SEASON,
        "agent": f"agent1{HOSTILE}",
    }
    first, second = planted(HOSTILE, count=2)
    paths = [filled(path, submitted, arena=True) for path in pages("arena") if path != "/history"]
    paths.append(f"/history?submitter={quote(f'submitter1{HOSTILE}', safe='')}")
    ran = [
        path.format_map({"run": quote(first["id"], safe="")})
        for path in pages("runs")
        if path not in ("/compare", "/find", "/gate", "/repeatability/{prompt}", "/speedup/{task}", "/speedup")
        and not path.endswith("/steps")
    ]
    ran.append(f"/find?pattern={quote(HOSTILE, safe='')}")
    ran.append(f"/gate{ASKED['/gate']}")
    ran.append(f"/runs/{quote(first['id'], safe='')}?diff={quote(second['id'], safe='')}")
    for server, each in ((of_arena, paths), (of_runs, ran)):
        window = visit(server.address)
        for path in each:
            status = window.go(path)
            assert status == 200, f"{path}: {window.page.locator('body').inner_text()[:300]}"
            assert window.page.locator("img, base, iframe, object, embed, svg script").count() == 0
            assert "\u202e" not in window.page.locator("body").inner_text() + window.page.title()
            assert window.is_quiet


@pytest.mark.long
def test_fifty_thousand_submissions_and_a_thousand_tasks(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, visit: Visit
) -> None:
    store = filled_store(tmp_path_factory.mktemp("large"), count=50_000, tasks=1_000)
    token = token_of(store, scope=SCOPES)
    with serving("--store", store, "--write") as large:
        window = visit(large.address)
        for path in pages("arena"):
            check_page(window, filled(path, IN_ARENA, arena=True))
            window.page.emulate_media(color_scheme="light")
        test_a_view_is_in_the_address_and_the_back_button_gives_it_back(large, visit)
        test_keys_move_open_search_and_explain_themselves(large, visit)
        test_without_a_script_links_filter_sort_and_lead_on(large, visit)
        test_what_another_process_submits_is_told_and_shown_when_asked_for(large, store, visit, tmp_path)
        test_a_submission_is_made_in_the_page_and_leads_to_why(large, token, visit)

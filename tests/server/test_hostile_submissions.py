"""Hostile submissions over HTTP, with markup in every field that holds text: inert on every page, in every answer."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any
from urllib.parse import quote

import pytest

import steelyard as sy
from report_makers import HOSTILE
from serving import Served, serving
from steelyard.questions import ArenaSource
from steelyard.server import API, ROUTES, ServeOptions

PRINTABLE = "".join(character for character in HOSTILE if character.isprintable())
"""What may be a token's name."""
SHEET = ("=cmd|'/C calc'!A0", "+1", "-1+1", "@SUM(A1)", "\tx", "\rx")
"""What a spreadsheet would take for a formula."""
HIDDEN = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""Characters that drive a terminal or turn text around."""
SIGN = "pwned"
"""Stands in every hostile text."""


def submission(number: int, text: str) -> dict[str, Any]:
    name = f"{number}{text}"
    criterion = {"name": name, "weight": 1, "achieved": 1, "max": 2}
    return {
        "id": name,
        "task_id": f"task{HOSTILE}",
        "total_tokens": 100 + number,
        "tool_calls": 1 + number,
        "execution_time": 1.0 + number,
        "estimated_cost": 0.1,
        "iterations": 2,
        "success": True,
        "agent": name,
        "model": name,
        "submitter": name,
        "files_created": [name],
        "judgments": [{"judge": name, "weighted_score": 0.5, "criteria": [criterion]}],
    }


TASK = {
    "id": f"task{HOSTILE}",
    "title": HOSTILE,
    "category": HOSTILE,
    "success_criteria": [{"type": "file_exists", "file_path": HOSTILE}],
    "expected_steps": [{"id": HOSTILE, "weight": 1.0}],
}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """An arena to which everything came over HTTP."""
    arena = sy.init_arena(f"sqlite:///{tmp_path_factory.mktemp('hostile')}/arena.db")
    token = sy.create_token(PRINTABLE[:1000], scopes=["admin"], store=arena).token
    with serving(ArenaSource(arena), ServeOptions(write=True)) as server:

        def post(path: str, body: Any) -> Any:
            headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
            answer = server.ask(f"{API}{path}", "POST", headers=headers, body=json.dumps(body).encode())
            assert answer.status in (200, 201), answer.body
            return answer.json

        post("/tasks", TASK)
        texts = [HOSTILE] * 8 + list(SHEET)
        for number, text in enumerate(texts):
            record = (
                submission(number, text)
                if text is HOSTILE
                else submission(number, HOSTILE) | {"agent": text, "id": text}
            )
            post("/submissions", record)
        run = {"id": f"run{HOSTILE}", "task": f"task{HOSTILE}", "agent": HOSTILE, "tool_calls": 1, "passed": True}
        post("/runs", run | {"usage": {"input_tokens": 9, "output_tokens": 1}})
        first = quote(f"0{HOSTILE}", safe="")
        post(f"/submissions/{first}/exclude", {"reason": HOSTILE})
        post(f"/submissions/{quote(f'1{HOSTILE}', safe='')}/accept", {"reason": HOSTILE})
        yield server


VALUES = {"task": quote(f"task{HOSTILE}", safe=""), "submission": quote(f"2{HOSTILE}", safe="")}
ASKED = {"history": f"submitter={VALUES['submission']}", "changes": "since=2026-01-01"}
HOSTILE_QUERY = f"find={quote(HOSTILE)}&sort={quote(HOSTILE)}&{quote(HOSTILE)}={quote(HOSTILE)}&policy={quote(HOSTILE)}"


def filled(path: str) -> str:
    whole = re.sub(r"\{(\w+)\}", lambda match: VALUES.get(match[1], quote(HOSTILE, safe="")), path)
    query = ASKED.get(path.rsplit("/", 1)[-1]) if path.count("/") == 1 else None
    return f"{whole}?{query}" if query else whole


PATHS = sorted({filled(route.path) for route in ROUTES if route.method == "GET" and route.path != "/events"})
PAGES = sorted({filled(route.page_path) for route in ROUTES if route.page_path})


OWN_ICON = ("link", {"rel": "icon", "href": "data:,"})
"""Every page says that it has no icon, so that no browser asks for one."""
INERT = ("application/json", "application/octet-stream")
"""Types of script elements that hold values and never run."""


class Elements(HTMLParser):
    """What a browser would make elements of."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def harm(page: bytes) -> list[str]:
    """What in a page would run, load or lead elsewhere."""
    elements = Elements()
    elements.feed(page.decode())
    elements.close()
    found = []
    for tag, attributes in elements.tags:
        if (tag, attributes) == OWN_ICON:
            continue
        found += [f"<{tag} {name}>" for name in attributes if name.startswith("on") or name == "style"]
        found += [f"<{tag}>"] if tag in ("base", "iframe", "object", "embed", "img", "meta-refresh") else []
        for name in ("src", "href", "action", "formaction", "data", "xlink:href"):
            value = (attributes.get(name) or "").strip().lower()
            if value and not value.startswith(("/", "#", "?", "./")) and tag != "a":
                found.append(f"<{tag} {name}={value[:40]!r}>")
            if re.match(r"(javascript|data|vbscript):|//", value):
                found.append(f"<{tag} {name}={value[:40]!r}>")
        if tag == "script" and "src" not in attributes and attributes.get("type") not in INERT:
            found.append("<script> in the page")
    return found


@pytest.mark.parametrize("path", PAGES)
def test_a_page_shows_hostile_text_as_text(served: Served, path: str) -> None:
    for asked in (path, f"{path.partition('?')[0]}?{HOSTILE_QUERY}"):
        answer = served.ask(asked)
        assert answer.status < 500
        assert answer.headers["content-type"].startswith(("text/html", "application/json"))
        if answer.headers["content-type"].startswith("text/html"):
            assert harm(answer.body) == [], asked
            assert not re.search(
                r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", answer.body.decode()
            )


def test_the_names_are_there_to_be_seen(served: Served) -> None:
    """Without it, pages that show nothing would pass."""
    shown = [served.ask(path) for path in PAGES]
    with_sign = [answer for answer in shown if answer.status == 200 and SIGN.encode() in answer.body]
    assert len(with_sign) >= 5
    assert all(b"<script>window" not in answer.body for answer in shown)


def test_the_check_of_pages_can_fail() -> None:
    assert len(harm(HOSTILE.encode())) >= 5
    assert harm(b'<p>&lt;img src=x onerror=1&gt;</p><a href="/tasks">t</a><script src="/assets/x.js"></script>') == []


@pytest.mark.parametrize("path", PATHS)
def test_an_answer_is_json_that_nobody_takes_for_a_page(served: Served, path: str) -> None:
    for asked in (path, f"{path.partition('?')[0]}?{HOSTILE_QUERY}"):
        answer = served.ask(f"{API}{asked}")
        assert answer.status < 500
        assert answer.headers["content-type"] in ("application/json", "application/problem+json")
        assert answer.headers["x-content-type-options"] == "nosniff"
        json.loads(answer.body)


@pytest.mark.parametrize("path", [path for path in PATHS if path.split("?")[0] not in ("/openapi.json", "/healthz")])
def test_no_cell_of_a_table_is_a_formula(served: Served, path: str) -> None:
    answer = served.ask(f"{API}{path}", headers={"Accept": "text/csv"})
    if answer.status != 200:
        return  # of runs, of which an arena has none
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    cells = [cell for row in csv.reader(io.StringIO(answer.body.decode(), newline="")) for cell in row]
    assert not [cell for cell in cells if cell.startswith(("=", "+", "@", "\t", "\r"))]
    assert not [cell for cell in cells if cell.startswith("-") and not re.fullmatch(r"-(inf|[\d.e+-]+)", cell)]

"""Forms that write stand where an arena can be written to, and are closed until a script can send the token."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import quote

import pytest

from served_arenas import BIG_TASK, filled_store
from serving import Served, serving
from steelyard.pages import page_asset
from steelyard.questions import ArenaSource
from steelyard.questions.token import create_token
from steelyard.server import ServeOptions
from steelyard.server._dashboard import review_form

FIRST = f"{BIG_TASK}-000001"
PAGES = {
    f"/tasks/{BIG_TASK}": "submit",
    "/tasks": "submit",
    f"/submissions/{FIRST}": "review",
    "/review": None,
    "/": None,
}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> str:
    address = filled_store(tmp_path_factory.mktemp("arena"), count=12, tasks=2)
    create_token("ada", scopes=("review",), expires="1d", store=address)
    return address


@pytest.fixture(scope="module")
def written(store: str) -> Iterator[Served]:
    with serving(ArenaSource(store), ServeOptions(write=True, root_path="/dashboard")) as server:
        yield server


def test_forms_stand_where_something_can_be_written(written: Served) -> None:
    for path, kind in PAGES.items():
        body = written.ask(f"/dashboard{path}").body.decode()
        assert ('data-write="submit"' in body) == (kind == "submit")
        assert ('data-write="review"' in body) == (kind == "review")
        assert ("/dashboard/assets/write." in body) == (kind is not None)
        assert body.count("<fieldset disabled>") == (kind is not None), "without a script nothing is sent"


def test_a_form_leads_to_the_route_below_the_root_path(written: Served) -> None:
    body = written.ask(f"/dashboard/submissions/{FIRST}").body.decode()
    assert f'action="/dashboard/api/v1/submissions/{FIRST}"' in body
    assert f"steelyard arena review exclude {FIRST}" in body


def test_a_server_that_takes_nothing_has_no_form(store: str) -> None:
    with serving(ArenaSource(store)) as reading:
        assert all("data-write" not in reading.ask(path).body.decode() for path in PAGES)


def test_a_hostile_id_stays_in_its_attribute() -> None:
    form = review_form("", '"><script>x</script>/../..')
    assert "<script>" not in form
    assert quote('"><script>x</script>/../..', safe="") in form


def test_the_script_of_forms_makes_no_markup_and_keeps_the_token_in_the_tab() -> None:
    script = page_asset("write.js")
    for word in ("innerHTML", "insertAdjacentHTML", "document.write", "outerHTML", "localStorage", "document.cookie"):
        assert word not in script
    assert 'credentials: "omit"' in script

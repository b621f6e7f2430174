"""Secrets of every usual shape, in messages, tool calls, results, outputs, names and files: no reader sees one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

import pytest

import steelyard as sy
from canaries import CANARIES, leaks, unpacked, write_records, write_sessions
from commands import steelyard
from serving import Served, serving
from steelyard.questions import RunsSource
from steelyard.server import API, ROUTES

VALUES = {"task": "none", "metric": "cost_usd", "agent": "none", "prompt": "none", "season": "none"}
QUERIES = {"/compare": "?baseline=agent=x&candidate=agent=y", "/gate": "?rule=pass_rate+%3E%3D+0.3"}


class Planted(NamedTuple):
    """Files with a canary in every place."""

    folder: Path
    files: dict[str, Path]
    """By run id."""


@pytest.fixture(scope="module", params=["sessions", "records"])
def planted(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Planted:
    folder: Path = tmp_path_factory.mktemp("canaries")
    files = {"sessions": write_sessions, "records": write_records}[request.param](folder)
    return Planted(folder, files)


@pytest.fixture(scope="module")
def served(planted: Planted) -> Iterator[Served]:
    with serving(RunsSource([planted.folder])) as server:
        yield server


def test_show_has_no_secret(planted: Planted) -> None:
    for run, path in planted.files.items():
        answer = sy.show(path, run=run)
        shown = [answer.text(everything=True), answer.document(), answer.markdown(), str(answer.to_dict())]
        assert [leaks(text) for text in shown] == [[]] * 4, run
    run = next(iter(planted.files))
    for form in ([], ["--json"]):
        done = steelyard("show", str(planted.folder), "--run", run, *form)
        assert done.status == 0, done.stderr
        assert leaks(done.stdout + done.stderr) == []


@pytest.fixture(scope="module")
def sessions(tmp_path_factory: pytest.TempPathFactory) -> Planted:
    folder = tmp_path_factory.mktemp("sessions")
    return Planted(folder, write_sessions(folder))


def test_steps_have_no_secret(sessions: Planted) -> None:
    for run, path in sessions.files.items():
        answer = sy.show_steps(path, run=run)
        assert len(answer.steps) == 8
        shown = [answer.text(everything=True), answer.document(), answer.markdown(), str(answer.to_dict())]
        assert [leaks(text) for text in [*shown, str(answer.to_dicts())]] == [[]] * 5, run
        plain = sy.show_steps(path, run=run, redact=False)
        assert len(leaks(str(plain.to_dict()))) == 1
    run = next(iter(sessions.files))
    for form in ([], ["--json"], ["--csv"]):
        done = steelyard("show", str(sessions.folder), "--run", run, "--steps", *form)
        assert done.status == 1, "a line of each session is no JSON"
        assert leaks(done.stdout + done.stderr) == []


@pytest.mark.parametrize("pattern", ["a", "=", "key"])
def test_what_find_finds_has_no_secret(sessions: Planted, pattern: str) -> None:
    answer = sy.find(sessions.folder, pattern=pattern, context=200)
    assert answer.match_count > 10
    shown = [answer.text(everything=True), answer.document(), answer.markdown(), str(answer.to_dict())]
    assert [leaks(text) for text in [*shown, str(answer.to_dicts())]] == [[]] * 5


def test_find_finds_no_secret(sessions: Planted) -> None:
    for canary, path in zip(CANARIES.values(), sessions.files.values(), strict=True):
        for part in (canary.secret, canary.secret[2:-1]):
            answer = sy.find(path, pattern=part)
            assert (answer.match_count, answer.matches) == (0, ()), (canary, part)


def test_trajectories_have_no_secret(planted: Planted, tmp_path: Path) -> None:
    done = steelyard("read", str(planted.folder), "--out", f"{tmp_path}/atif/")
    assert done.status in (0, 1), done.stderr
    written = list((tmp_path / "atif").iterdir())
    assert len(written) in (0, len(planted.files))
    for path in written:
        assert leaks(path.name) == []
        assert leaks(path.read_bytes()) == [], path


def test_without_redaction_every_secret_is_shown(tmp_path: Path) -> None:
    files = write_records(tmp_path).items()
    shown = [leaks(str(sy.show(path, run=run, redact=False).to_dict())) for run, path in files]
    assert shown == [[name] for name in CANARIES]


def test_a_report_has_no_secret(planted: Planted) -> None:
    answer = sy.report(planted.folder, with_outputs=True, resamples=200)
    assert leaks(unpacked(answer.document().encode())) == []
    assert leaks(answer.markdown()) == []


def paths(run: str) -> Iterator[tuple[str, str]]:
    """Each address that reads, with the type that is asked for."""
    for route in ROUTES:
        if route.method != "GET" or route.path == "/events":
            continue
        whole, page = (
            re.sub(r"\{(\w+)\}", lambda match: quote({**VALUES, "run": run}.get(match[1], "none"), safe=""), path or "")
            for path in (route.path, route.page_path)
        )
        query = QUERIES.get(route.path, "")
        yield f"{API}{whole}{query}", "application/json"
        yield f"{API}{whole}{query}", "text/csv"
        if page:
            yield f"{page}{query}", "text/html"


def test_no_page_and_no_route_shows_a_secret(planted: Planted, served: Served) -> None:
    answered = 0
    for path, accept in paths(next(iter(planted.files))):
        answer = served.ask(path, headers={"Accept": accept})
        assert leaks(unpacked(answer.body)) == [], (path, accept)
        answered += answer.status == 200
    assert answered > 30


def test_no_page_of_a_run_shows_a_secret(planted: Planted, served: Served) -> None:
    for run in planted.files:
        for path in (f"{API}/runs/{run}", f"{API}/runs/{run}/output", f"/runs/{run}"):
            answer = served.ask(path)
            assert answer.status == 200 or path.endswith("/output"), (path, answer.body)
            assert leaks(unpacked(answer.body)) == [], path

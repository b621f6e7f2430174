"""Every question about an arena on the store of these tests: with PostgreSQL it answers as with SQLite."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, insert, select

import steelyard as sy
from question_cases import CASES, Case, store_address as sqlite_address
from steelyard.errors import SteelyardError
from steelyard.questions import Answer
from steelyard.store import Store, open_store
from steelyard.store.schema import METADATA
from test_every_action import ACTIONS, HOLDER, WRONG, acted, write_action_inputs

SOURCES = sorted({case.source for case in CASES if case.declared.takes == "store" and case.source is not None})


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = write_action_inputs(tmp_path_factory.mktemp("inputs"))
    arena = sy.open_arena(sqlite_address(folder, "arena.db"))
    arena.submit([{"id": "own-1", "task_id": "fix-race", "total_tokens": 9, "tool_calls": 1, "submitter": HOLDER}])
    arena.store.close()
    return folder


def copy(address: str, store: Store) -> None:
    """Fill the store with the rows of another one."""
    original = open_store(address)
    with original.read() as source, store.write() as target:
        for table in METADATA.sorted_tables:
            target.execute(table.delete())
            if rows := [row._asdict() for row in source.execute(select(table))]:
                target.execute(insert(table), rows)
                for column in table.columns:
                    if column.identity is not None and target.dialect.name == "postgresql":
                        sequence = func.pg_get_serial_sequence(table.name, column.name)
                        target.execute(select(func.setval(sequence, func.max(column))))  # as rows added there have it
    original.close()


def asked(case: Case, address: str) -> Answer:
    answer = case.declared.function(address, **case.options)
    assert isinstance(answer, Answer)
    return answer


@pytest.mark.parametrize("source", SOURCES)
def test_questions_answer_alike_on_every_database(source: str, store: Store, store_address: str, inputs: Path) -> None:
    copy(sqlite_address(inputs, source), store)
    for case in (case for case in CASES if case.source == source and case.declared.takes == "store"):
        answer, expected = asked(case, store_address), asked(case, sqlite_address(inputs, source))
        assert answer.to_dict() == expected.to_dict(), case.name
        assert answer.text(80) == expected.text(80), case.name


@pytest.mark.skipif(not os.environ.get("STEELYARD_TEST_POSTGRES"), reason="test_every_action.py covers SQLite")
@pytest.mark.parametrize(
    ("question", "options", "source"),
    [*((case.question, case.options, case.source) for case in ACTIONS), *((*wrong, "arena.db") for wrong in WRONG)],
    ids=str,
)
def test_actions_do_and_reject_alike_on_every_database(
    question: str,
    options: dict[str, Any],
    source: str,
    store: Store,
    store_address: str,
    inputs: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = time.time_ns()
    monkeypatch.setattr("steelyard.records._times.time_ns", lambda: now)
    monkeypatch.chdir(inputs)
    copy(sqlite_address(inputs, source), store)
    shutil.copy(inputs / source, tmp_path / source)
    answer = outcome(question, options, store_address)
    assert answer == outcome(question, options, sqlite_address(tmp_path, source))
    assert isinstance(answer, dict) != ((question, options) in WRONG)


def outcome(question: str, options: dict[str, Any], address: str) -> Any:  # Any: JSON values, or what an error says
    try:
        shape = acted(question, options, address).to_dict()
        return {name: value for name, value in shape.items() if name != "store"}  # its address
    except SteelyardError as error:
        return type(error), error.message, error.hint

"""Every question about an arena on the store of these tests: with PostgreSQL it answers as with SQLite."""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlalchemy import insert, select

from question_cases import CASES, Case, store_address as sqlite_address, write_inputs
from steelyard.questions import Answer
from steelyard.store import Store, open_store
from steelyard.store.schema import METADATA

SOURCES = sorted({case.source for case in CASES if case.declared.takes == "store" and case.source is not None})


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_inputs(tmp_path_factory.mktemp("inputs"))


def copy(address: str, store: Store) -> None:
    """Fill the store with the rows of another one."""
    original = open_store(address)
    with original.read() as source, store.write() as target:
        for table in METADATA.sorted_tables:
            target.execute(table.delete())
            if rows := [row._asdict() for row in source.execute(select(table))]:
                target.execute(insert(table), rows)
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

from __future__ import annotations

import multiprocessing
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import pytest

from steelyard.errors import CanonExistsError, UnknownNameError
from steelyard.records import Canon
from steelyard.store import canon_history, canon_of, open_store, retire_canon, set_canon


def made(prompt: str = "p", signature: str = "0" * 64) -> Canon:
    return Canon(
        prompt=prompt,
        code="x = 1",
        normalized="x = 1\n",
        signature=signature,
        contract="{}",
        normalization_version="ast-1",
        oracle_version="oracle-1",
        distance_version="levenshtein-1",
        origin="run 1",
    )


def test_a_canon_is_set_once_and_read_back(tmp_path: Path) -> None:
    store = open_store(f"sqlite:///{tmp_path}/s.db")
    assert canon_of(store, "p") is None
    kept = set_canon(store, made())
    assert canon_of(store, "p") == kept
    assert kept.set_at is not None
    with pytest.raises(CanonExistsError, match="'p' already has a canon"):
        set_canon(store, made(signature="1" * 64))
    assert canon_history(store) == [kept]
    store.close()


def test_a_retired_canon_stays_in_the_history_and_makes_room(tmp_path: Path) -> None:
    store = open_store(f"sqlite:///{tmp_path}/s.db")
    set_canon(store, made())
    retired = retire_canon(store, "p")
    assert retired.retired_at is not None
    assert canon_of(store, "p") is None
    second = set_canon(store, made(signature="1" * 64))
    assert canon_history(store, "p") == [retired, second]
    with pytest.raises(UnknownNameError, match="known: p"):
        retire_canon(store, "pp")
    store.close()


def _try_to_set(address: str, number: int) -> bool:
    store = open_store(address)
    try:
        set_canon(store, made(signature=f"{number:064d}"))
    except CanonExistsError:
        return False
    finally:
        store.close()
    return True


def test_of_many_threads_one_sets_the_canon(tmp_path: Path) -> None:
    address = f"sqlite:///{tmp_path}/s.db"
    open_store(address).close()
    with ThreadPoolExecutor(8) as pool:
        won = list(pool.map(_try_to_set, [address] * 16, range(16)))
    assert won.count(True) == 1


def test_of_many_processes_one_sets_the_canon(tmp_path: Path) -> None:
    address = f"sqlite:///{tmp_path}/s.db"
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(3, mp_context=spawn) as pool:
        won = list(pool.map(_try_to_set, [address] * 6, range(6)))
    assert won.count(True) == 1
    store = open_store(address)
    found = canon_of(store, "p")
    assert found is not None
    assert found.signature == f"{won.index(True):064d}"
    store.close()

"""Answers are built once for a version, by one builder, and say as of when they are."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import msgspec
import pytest

from steelyard.errors import RequestError, UnknownNameError
from steelyard.server import _views
from steelyard.server._views import BUILDS_AT_ONCE, MAX_VIEWS, Views


class Source:
    """A source whose version a test sets."""

    def __init__(self, *, has_signal: bool = True) -> None:
        self.state = 1
        self.asked = 0
        self._has_signal = has_signal

    def signal(self) -> object | None:
        return self.state if self._has_signal else None

    def version(self) -> str:
        self.asked += 1
        return str(self.state)


class Clock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def views_of(source: Source, clock: Clock) -> Views:
    return Views(source, clock=clock)  # type: ignore[arg-type] # it has what views ask of a source


def counted(source: Source) -> tuple[list[int], Callable[[], Any]]:
    builds: list[int] = []
    return builds, lambda: builds.append(source.state) or source.state


def test_a_version_is_built_once_whoever_asks() -> None:
    source, clock = Source(), Clock()
    views = views_of(source, clock)
    builds, build = counted(source)

    async def ask() -> list[int]:
        several = await asyncio.gather(*(views.get("k", build) for _ in range(50)))
        return [view.result for view in [*several, await views.get("k", build)]]

    assert asyncio.run(ask()) == [1] * 51
    assert builds == [1]
    assert source.asked == 2, "before and after the build: a signal that stands still needs no question"


def test_a_change_is_seen_after_the_rest_of_the_builder_and_not_before() -> None:
    source, clock = Source(), Clock()
    views = views_of(source, clock)
    builds, build = counted(source)

    async def ask() -> list[tuple[str, int]]:
        told = []
        for step, moves in ((1, 0.0), (2, 0.9), (3, 0.2), (4, 2.0)):
            source.state = step
            clock.now += moves
            view = await views.get("k", build)
            told.append((view.version, view.result))
        return told

    # built; 0.9 s later within the rest of a second, so the old one; 1.1 s later built; 2 s later built
    assert asyncio.run(ask()) == [("1", 1), ("1", 1), ("3", 3), ("4", 4)]
    assert builds == [1, 3, 4]


def test_a_long_build_rests_ten_times_as_long(monkeypatch: pytest.MonkeyPatch) -> None:
    source, clock = Source(), Clock()
    views = views_of(source, clock)
    monkeypatch.setattr(_views, "_timed", lambda build: (build(), 0.5))
    builds, build = counted(source)

    async def ask() -> None:
        await views.get("k", build)
        source.state = 2
        clock.now += 4.9  # 10 x 0.5 s
        await views.get("k", build)
        clock.now += 0.2
        await views.get("k", build)

    asyncio.run(ask())
    assert builds == [1, 2]


def test_who_was_given_an_older_answer_has_the_next_one_built_for_whoever_comes_after_the_rest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(_views, "MIN_IDLE_SECONDS", 0.1)
    source = Source()
    views = Views(source)  # type: ignore[arg-type] # it has what views ask of a source
    builds, build = counted(source)

    async def ask() -> list[int]:
        first = await views.get("k", build)
        source.state = 2
        older = [await views.get("k", build) for _ in range(3)]
        while builds == [1]:  # nobody asks meanwhile
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.05)
        return [view.result for view in (first, *older, await views.get("k", build))]

    assert asyncio.run(asyncio.wait_for(ask(), 30)) == [1, 1, 1, 1, 2]
    assert builds == [1, 2], "once, however many were given the older one"


def test_others_are_answered_while_one_key_is_built_anew() -> None:
    source, clock = Source(), Clock()
    views = views_of(source, clock)
    goes_on = threading.Event()

    def slow() -> int:
        if source.state == 2:
            assert goes_on.wait(10)
        return source.state

    async def ask() -> tuple[int, int]:
        await views.get("k", slow)
        source.state = 2
        clock.now += 60
        building = asyncio.create_task(views.get("k", slow))
        await asyncio.sleep(0.05)
        meanwhile = await asyncio.wait_for(views.get("k", slow), 5)
        goes_on.set()
        return meanwhile.result, (await building).result

    assert asyncio.run(ask()) == (1, 2)


def test_at_most_four_are_built_at_once() -> None:
    source, clock = Source(), Clock()
    views = views_of(source, clock)
    lock, running, most = threading.Lock(), [0], [0]
    everybody = threading.Event()

    def build() -> None:
        with lock:
            running[0] += 1
            most[0] = max(most[0], running[0])
            if running[0] == 4:
                everybody.set()
        everybody.wait(10)
        with lock:
            running[0] -= 1

    async def ask() -> None:
        await asyncio.gather(*(views.get(key, build) for key in range(12)))

    asyncio.run(ask())
    assert most == [4]


def test_who_goes_away_does_not_end_the_build() -> None:
    source, clock = Source(), Clock()
    views = views_of(source, clock)
    goes_on = threading.Event()
    builds, build = counted(source)

    def slow() -> Any:
        assert goes_on.wait(10)
        return build()

    async def ask() -> int:
        first = asyncio.create_task(views.get("k", slow))
        await asyncio.sleep(0.05)
        first.cancel()
        second = asyncio.create_task(views.get("k", slow))
        await asyncio.sleep(0.05)
        goes_on.set()
        return (await second).result

    assert asyncio.run(ask()) == 1
    assert builds == [1]


def test_an_earlier_version_is_kept_for_its_cursors_then_gone() -> None:
    source, clock = Source(), Clock()
    views = views_of(source, clock)
    builds, build = counted(source)

    async def ask() -> None:
        for state in (1, 2):
            source.state = state
            clock.now += 60
            await views.get("k", build)
        assert (await views.at("k", "1", build)).result == 1
        source.state = 3
        clock.now += 60
        await views.get("k", build)
        assert (await views.at("k", "2", build)).result == 2
        with pytest.raises(RequestError, match="expired") as gone:
            await views.at("k", "1", build)
        assert gone.value.http_status == 410

    asyncio.run(ask())
    assert builds == [1, 2, 3]


def test_a_cursor_of_another_process_goes_on_here_while_its_version_is_the_present_one() -> None:
    source, clock = Source(), Clock()
    views = views_of(source, clock)
    builds, build = counted(source)

    async def ask() -> None:
        await views.get("k", build)
        source.state = 2  # the builder rests, and another process has built this version already
        assert (await views.get("k", build)).version == "1"
        assert (await views.at("k", "2", build)).result == 2
        assert (await views.at("never asked for here", "2", build)).result == 2

    asyncio.run(ask())
    assert builds == [1, 2, 2]


def test_a_list_that_was_built_while_somebody_wrote_has_a_name_of_its_own() -> None:
    source, clock = Source(), Clock()
    views = views_of(source, clock)

    def build() -> int:
        source.state = 2
        return source.state

    async def ask() -> None:
        view = await views.get("k", build)
        assert view.version not in ("1", "2"), "another process may call another list so"
        assert await views.at("k", view.version, build) is view
        clock.now += 60
        assert (await views.get("k", build)).version == "2"

    asyncio.run(ask())


def test_names_that_there_are_not_push_nothing_out() -> None:
    source, clock = Source(), Clock()
    views = views_of(source, clock)
    builds, build = counted(source)

    def unknown() -> None:
        raise UnknownNameError("task", "x", [])

    async def ask() -> None:
        await views.get("k", build)
        for number in range(3 * MAX_VIEWS):
            with pytest.raises(UnknownNameError):
                await views.get(f"no {number}", unknown)
        await views.get("k", build)

    asyncio.run(ask())
    assert builds == [1]


class Rows(msgspec.Struct, frozen=True):
    """A result with a list."""

    rows: tuple[int, ...]


def test_what_was_asked_for_longest_ago_is_forgotten_when_there_is_too_much(monkeypatch: pytest.MonkeyPatch) -> None:
    source, clock = Source(), Clock()
    views = views_of(source, clock)
    monkeypatch.setattr(_views, "MAX_ROWS", 250)
    builds: list[str] = []

    def build_of(key: str) -> Callable[[], Rows]:
        return lambda: builds.append(key) or Rows(tuple(range(100)))

    async def ask() -> None:
        for key in ("a", "b", "a", "c", "a", "b"):
            await views.get(key, build_of(key))

    asyncio.run(ask())
    assert builds == ["a", "b", "c", "b"]  # the third made b go, which was asked for longest ago


def test_where_asking_takes_a_query_it_is_asked_four_times_a_second() -> None:
    source, clock = Source(has_signal=False), Clock()
    views = views_of(source, clock)

    async def ask() -> None:
        for _ in range(10):
            clock.now += 0.1
            await views.version()

    asyncio.run(ask())
    assert source.asked == 4  # at 0.1, 0.4, 0.7 and 1.0 s


def test_a_source_of_very_many_files_is_looked_at_less_often(monkeypatch: pytest.MonkeyPatch) -> None:
    source, clock = Source(has_signal=False), Clock()
    views = views_of(source, clock)
    monkeypatch.setattr(_views, "_timed", lambda build: (build(), 0.3))

    async def ask() -> None:
        for _ in range(100):
            clock.now += 0.1
            await views.version()

    asyncio.run(ask())
    assert source.asked == 4  # every 10 x 0.3 s in 10 s


def test_a_computation_that_takes_too_long_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("steelyard.server._views.BUILD_SECONDS", 0.2)
    ended = threading.Event()

    def endless() -> None:
        with suppress(BaseException):  # as in a callback of the garbage collector, whose errors Python ignores
            while True:
                hash("more")
        try:
            while True:
                with suppress(Exception):
                    hash("more")
        finally:
            ended.set()

    async def ask() -> None:
        views = views_of(Source(), Clock())
        with pytest.raises(RequestError, match="the computation was stopped") as raised:
            await views.get("slow", endless)
        assert raised.value.http_status == 503
        assert (await views.get("quick", lambda: {"a": 1})).result == {"a": 1}

    asyncio.run(ask())
    assert ended.wait(5)


def test_only_some_computations_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("steelyard.server._views.MAX_WAITING", 2)
    may_end = threading.Event()

    async def ask() -> list[object]:
        views = views_of(Source(), Clock())
        asked = [asyncio.create_task(views.get(number, may_end.wait)) for number in range(BUILDS_AT_ONCE + 5)]
        await asyncio.wait(asked, timeout=2, return_when=asyncio.FIRST_COMPLETED)
        await asyncio.sleep(0.1)
        may_end.set()
        return await asyncio.gather(*asked, return_exceptions=True)

    refused = [answer for answer in asyncio.run(ask()) if isinstance(answer, RequestError)]
    assert [(error.http_status, error.kind) for error in refused] == [(503, "busy")] * 3

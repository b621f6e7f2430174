"""Background writer: a thread that owns the connection while the main thread prepares rows.

Databases write without Python's lock. Everything that is asked for is done in its order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Concatenate, ParamSpec, TypeVar

from sqlalchemy.engine import Connection

Given = ParamSpec("Given")
Result = TypeVar("Result")


class Alongside:
    """Connection whose work runs in another thread, or immediately if there is none."""

    def __init__(self, connection: Connection, pool: ThreadPoolExecutor | None) -> None:
        self._connection = connection
        self._pool = pool
        self._waiting: list[Future[None]] = []

    def later(
        self,
        work: Callable[Concatenate[Connection, Given], None],
        /,
        *given: Given.args,
        **named: Given.kwargs,
    ) -> None:
        """Run the work after all earlier work."""
        if self._pool is None:
            work(self._connection, *given, **named)
        else:
            self._waiting.append(self._pool.submit(work, self._connection, *given, **named))

    def now(
        self,
        work: Callable[Concatenate[Connection, Given], Result],
        /,
        *given: Given.args,
        **named: Given.kwargs,
    ) -> Result:
        """Run the work after all earlier work and return its result."""
        if self._pool is None:
            return work(self._connection, *given, **named)
        return self._pool.submit(work, self._connection, *given, **named).result()

    def finish(self) -> None:
        """Wait until all work is done; raise the first error."""
        for future in self._waiting:
            future.result()


@contextmanager
def alongside(connection: Connection, *, is_worth_it: bool = True) -> Iterator[Alongside]:
    """Lend the connection to a thread if that is worthwhile; all work is done when the block ends.

    When the block fails, what has not begun is left undone: the caller's transaction is not kept anyway.
    """
    if not is_worth_it:
        yield Alongside(connection, None)
        return
    pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="steelyard-writes")
    try:
        lent = Alongside(connection, pool)
        yield lent
        lent.finish()
    finally:
        pool.shutdown(cancel_futures=True)

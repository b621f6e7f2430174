"""The outcome of submissions so far, and Ctrl-C that waits until what was written is also noted."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType

from steelyard.arena.grading import SubmissionOutcome
from steelyard.records import Rejected, Submission

OutcomeProgress = Callable[[Sequence[SubmissionOutcome]], None]
"""Called with the outcome of some submissions, once that is settled for good."""


class OutcomesSoFar:
    """The outcome of each submission, in their order; None for those that wait."""

    def __init__(self, given: Sequence[Submission | Rejected], progress: OutcomeProgress | None) -> None:
        self.outcomes: list[SubmissionOutcome | None] = [
            submission if isinstance(submission, Rejected) else None for submission in given
        ]
        self._progress = progress
        if progress is not None and (
            rejected := [submission for submission in given if isinstance(submission, Rejected)]
        ):
            progress(rejected)

    def note(self, numbers: Sequence[int], outcomes: Sequence[SubmissionOutcome]) -> None:
        """Note the outcome of these."""
        for number, outcome in zip(numbers, outcomes, strict=True):
            self.outcomes[number] = outcome
        if self._progress is not None:
            self._progress(outcomes)


@contextmanager
def interrupt_held_back() -> Iterator[None]:
    """Ctrl-C takes effect when the block has ended; pressed twice, it does not wait.

    So a transaction is finished and recorded before the work ends, and reported counts are correct.
    """
    if (
        threading.current_thread() is not threading.main_thread()
        or signal.getsignal(signal.SIGINT) is not signal.default_int_handler
    ):
        yield  # the caller handles interrupts
        return
    pressed: list[int] = []

    def press(number: int, _frame: FrameType | None) -> None:
        if pressed:
            raise KeyboardInterrupt
        pressed.append(number)

    signal.signal(signal.SIGINT, press)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        if pressed:
            raise KeyboardInterrupt

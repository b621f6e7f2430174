"""An arena: a store with its rules, and what can be done with it."""

from __future__ import annotations

import hashlib
import signal
import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from sqlalchemy import select
from sqlalchemy.engine import Connection

from steelyard.arena._answer_parts import Decision, Policy
from steelyard.arena.ingest._checked_submissions import (
    ArtifactPlaces,
    CheckedSubmission,
    SubmissionOutcome,
    UncheckedSubmission,
    in_pieces,
    read_digests,
)
from steelyard.arena.ingest._tasks import KeptFiles, add_task, find_task, find_tasks, load_tasks, new_task
from steelyard.arena.scoring._rules import Rules, read_rules
from steelyard.arena.scoring._settings import POLICIES, lock_settings, read_settings, write_settings
from steelyard.arena.scoring._submission_rows import KeptRows, collector_resting
from steelyard.arena.scoring._task_state import StoredTask
from steelyard.errors import UnknownNameError, UsageError
from steelyard.option_names import option
from steelyard.profiles import Profile
from steelyard.records import (
    DecodeError,
    Rejected,
    Submission,
    Task,
    check_submissions,
    convert_submission,
    convert_task,
    now_microseconds,
    without_inputs,
)
from steelyard.store import Store
from steelyard.store.schema import settings, tasks
from steelyard.suggestions import nearest

if TYPE_CHECKING:
    from steelyard.arena.ingest._reviews import DecidedSubmission

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


ROWS_PER_TRANSACTION = 20_000


class Portion(NamedTuple):
    """Submissions of one transaction: their numbers among those given, encoded contents and digests."""

    numbers: list[int]
    given: list[Submission]
    encoded: list[bytes | DecodeError]
    digests: list[str]


def read_portion(given: Sequence[Submission | Rejected], numbers: list[int]) -> Portion:
    """Return the submissions with these numbers, validated and encoded."""
    sound: list[Any] = [given[number] for number in numbers]  # Any: `portions` gives the numbers of submissions only
    encoded = check_submissions(sound)
    digests = [
        _digest(text, submission) if isinstance(text, bytes) else ""
        for text, submission in zip(encoded, sound, strict=True)
    ]
    return Portion(numbers, sound, encoded, digests)


def _digest(text: bytes, submission: Submission) -> str:
    plain = without_inputs(submission)
    return hashlib.sha256(text if plain is submission else msgspec.json.encode(plain)).hexdigest()


def portions(given: Sequence[Submission | Rejected]) -> Iterator[list[int]]:
    """The numbers of submissions, whole tasks together, as many as fit into one transaction.

    One to another task than an earlier one of the same id waits for the end: whichever was given first is to be kept.
    """
    by_task: dict[str, list[int]] = {}
    task_of: dict[str, str] = {}
    again: list[int] = []
    for number, submission in enumerate(given):
        if isinstance(submission, Submission):
            # A submission from Python may contain anything; it is validated later.
            task = submission.task_id if type(submission.task_id) is str else ""
            is_first = type(submission.id) is not str or task_of.setdefault(submission.id, task) == task
            (by_task.setdefault(task, []) if is_first else again).append(number)
    portion: list[int] = []
    for _, group in sorted(by_task.items()):
        if portion and len(portion) + len(group) > ROWS_PER_TRANSACTION:
            yield portion
            portion = []
        portion += group
    if portion:
        yield portion
    for start in range(0, len(again), ROWS_PER_TRANSACTION):
        yield again[start : start + ROWS_PER_TRANSACTION]


COLLECTOR_RESTS_FROM = 1_000
"""From this many submissions on, Python's cycle collector rests while they are accepted."""


class RulesWithTasks(NamedTuple):
    """Rules, and the tasks that were looked up under them."""

    rules: Rules
    tasks: dict[str, StoredTask]


class CheckedPortion(NamedTuple):
    """Submissions that can be accepted: their numbers among those given, and the rules they were checked under."""

    numbers: list[int]
    entries: list[CheckedSubmission]
    rules: Rules


ModelFitter = Callable[["Arena"], int | None]
"""Fits models that are due and returns the number of submissions until the next fit; None if models are off."""


class Arena:
    """Tasks, submissions and leaderboard in one store, under one profile and one policy."""

    def __init__(self, store: Store, *, rules: Rules, policy: Policy, fitter: ModelFitter | None = None) -> None:
        self.store = store
        self.fitter = fitter
        """Learns what is due; None in an arena that fits models only on request."""
        self.fitted_up_to = 0
        """Number of submissions up to which all due models are fitted."""
        self.policy = policy
        # One thing, replaced as a whole, so that no task is kept under rules that are not its own.
        self._rules_with_tasks = RulesWithTasks(rules, {})
        self.kept_rows = KeptRows()

    @property
    def rules(self) -> Rules:
        """What scores are made by."""
        return self._rules_with_tasks.rules

    @rules.setter
    def rules(self, rules: Rules) -> None:
        self._rules_with_tasks = RulesWithTasks(rules, {})

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """One moment of the store, with the rules and the policy that hold at it."""
        with self.store.read() as connection:
            self._adopt(*read_settings(connection, self.store.address))
            yield connection

    def add_task(
        self, given: Task | Mapping[str, Any], *, base_dir: Path | None = None
    ) -> bool:  # Any: the task's fields as JSON has them
        """Add a task with its own files; False when the very same one is there.

        Folders that it names are found from `base_dir`, else from the working directory; what is in them now is kept.
        """
        try:
            task = given if isinstance(given, Task) else convert_task(given)
        except ValueError as error:
            raise UsageError(f"invalid task: {error}") from error
        new = new_task(task, base_dir or Path())

        def work(connection: Connection) -> bool:
            self.refresh(connection)
            return add_task(connection, new, rules=self.rules, now=now_microseconds())

        return self.store.in_transaction(work)

    def tasks(self) -> list[Task]:
        """Every task, in the order in which they were added."""
        with self.read() as connection:
            return [stored.task for stored in load_tasks(connection, self.rules).values()]

    def submit(
        self,
        given: Iterable[Submission | Mapping[str, Any] | Rejected],
        *,
        artifacts_root: Path | None = None,
        progress: OutcomeProgress | None = None,
    ) -> list[SubmissionOutcome]:  # Any: the submission's fields as JSON has them
        """Submit and return the outcome of each submission, in order. Invalid submissions are rejected with a reason.

        Submissions are grouped by task and written in large transactions; ranks are the same as if each had been
        submitted alone. A submission whose check runs commands is written alone, as soon as it is checked. `progress`
        is called with outcomes once they are final, also if the work is interrupted later.
        """
        converted = [item if isinstance(item, (Submission, Rejected)) else _converted(item) for item in given]
        outcomes: list[SubmissionOutcome] = []
        with collector_resting() if len(converted) >= COLLECTOR_RESTS_FROM else nullcontext():
            while True:
                # Stop where a fit is due, so that single submissions and batches give the same versions. A portion with
                # rejected or known submissions leaves room for as many more before the stop.
                room = None if self.fitter is None else self.fitter(self)
                coming = converted[len(outcomes) :][:room]
                outcomes += self._check_and_write(coming, artifacts_root, progress)
                if room is None or len(coming) < room:
                    return outcomes

    def _check_and_write(
        self, given: Sequence[Submission | Rejected], root: Path | None, progress: OutcomeProgress | None
    ) -> list[SubmissionOutcome]:
        """Check the submissions portion by portion and write those that pass; the next portion is read meanwhile."""
        so_far = OutcomesSoFar(given, progress)
        kept = KeptFiles(self.store)
        groups = list(portions(given))
        read: dict[int, Portion] = {}

        def read_ahead(place: int) -> None:
            if place < len(groups) and place not in read:
                read[place] = read_portion(given, groups[place])

        for place in range(len(groups)):
            read_ahead(place)
            with closing(self._checked(read.pop(place), so_far, root, kept)) as pieces:
                for checked in pieces:
                    for turn in _turns(checked):
                        self._write(turn, so_far, meanwhile=partial(read_ahead, place + 1))
        return [outcome for outcome in so_far.outcomes if outcome is not None]  # every one has come to something

    def _write(self, checked: CheckedPortion, so_far: OutcomesSoFar, *, meanwhile: Callable[[], None]) -> None:
        """Write the entries in one transaction under the present rules, and note their outcomes."""
        from steelyard.arena.ingest._acceptance import write_or_look_up  # heavy: it loads numpy

        def work(connection: Connection) -> list[SubmissionOutcome]:
            self.refresh(connection)
            under, coming = self._rules_with_tasks, checked.entries
            if under.rules is not checked.rules:
                coming = [self._under_present_rules(connection, under, entry) for entry in coming]
            now = now_microseconds()
            return write_or_look_up(
                connection, coming, rules=under.rules, policy=self.policy, now=now, meanwhile=meanwhile
            )

        with interrupt_held_back():
            so_far.note(checked.numbers, self.store.in_transaction(work))

    @staticmethod
    def _under_present_rules(
        connection: Connection, under: RulesWithTasks, entry: CheckedSubmission
    ) -> CheckedSubmission:
        """The entry with its task as the rules have it now: they may have changed since it was checked."""
        name = entry.submission.task_id
        if name not in under.tasks:
            under.tasks[name] = find_task(connection, name, under.rules)
        return msgspec.structs.replace(entry, stored_task=under.tasks[name])

    def _checked(
        self, portion: Portion, so_far: OutcomesSoFar, root: Path | None, kept: KeptFiles
    ) -> Generator[CheckedPortion, None, None]:
        """Return acceptable submissions with checked criteria, in pieces; the others are rejected."""
        ready: dict[int, CheckedSubmission] = {}
        todo: dict[int, tuple[Submission, bytes]] = {}
        invalid: dict[int, Rejected] = {}
        with self.read() as connection:
            under = self._rules_with_tasks
            pairs = zip(portion.given, portion.encoded, strict=True)
            wanted = {submission.task_id for submission, text in pairs if type(text) is bytes}
            under.tasks.update(find_tasks(connection, wanted - under.tasks.keys(), under.rules))
            for number, submission, text, digest in zip(*portion, strict=True):
                if type(text) is bytes and submission.artifacts is None:
                    task = under.tasks.get(submission.task_id)
                    if task is not None and task.asks_nothing:
                        ready[number] = CheckedSubmission(submission, task, digest, (), None)
                        continue
                problem = self._problem(connection, under, submission, text)
                if problem is not None:
                    invalid[number] = problem
                elif isinstance(text, bytes):
                    todo[number] = submission, text
            with_artifacts = [submission.id for submission, _ in todo.values() if submission.artifacts is not None]
            stored_digests = read_digests(connection, with_artifacts)
        so_far.note(list(invalid), list(invalid.values()))
        if not todo:
            yield from [CheckedPortion(list(ready), list(ready.values()), under.rules)] if ready else []
            return
        waiting = {
            number: UncheckedSubmission(
                submission, encoded, under.tasks[submission.task_id], submission.id in stored_digests
            )
            for number, (submission, encoded) in todo.items()
        }
        for piece in in_pieces(portion.numbers, ready, waiting, ArtifactPlaces(root, kept)):
            entries = {number: entry for number, entry in piece.items() if isinstance(entry, CheckedSubmission)}
            bad = {number: rejected for number, rejected in piece.items() if isinstance(rejected, Rejected)}
            so_far.note(list(bad), list(bad.values()))
            if entries:
                yield CheckedPortion(list(entries), list(entries.values()), under.rules)

    @staticmethod
    def _problem(
        connection: Connection, under: RulesWithTasks, submission: Submission, encoded: bytes | DecodeError
    ) -> Rejected | None:
        """Return the rejection of an invalid submission; None for a valid one."""
        if isinstance(encoded, DecodeError):
            return _rejection(submission.id, encoded)
        kept_task = under.tasks.get(submission.task_id)
        if kept_task is None:
            close = nearest(submission.task_id[:200], connection.execute(select(tasks.c.id)).scalars())
            hint = f"did you mean {close!r}?" if close else "add the task first"
            reason = f"unknown task {submission.task_id[:200]!r}"
            return Rejected(path=submission.id, reason=reason, hint=hint, code="unknown_task")
        task = kept_task.task
        if task.tools is None and task.models is None:
            return None
        for what, name, admitted in (("tool", submission.agent, task.tools), ("model", submission.model, task.models)):
            if admitted is not None and name not in admitted:
                shown = "none" if name is None else repr(name)
                reason = f"the task allows only these {what}s: {', '.join(admitted)}; got {shown}"
                return Rejected(path=submission.id, reason=reason, code="out_of_scope")
        return None

    def refresh(self, connection: Connection) -> None:
        """Follow a change of profile or policy that another process made, and let none be made until this one ends."""
        lock_settings(connection)
        self._adopt(*read_settings(connection, self.store.address))

    def _adopt(self, rules: Rules, policy: Policy) -> None:
        self.policy = policy
        if rules != self.rules:
            self.rules = rules

    def rescore_tasks(
        self, task_ids: Sequence[str] | None = None, *, profile: Profile | None = None, policy: Policy | None = None
    ) -> int:
        """Score every submission of the tasks (of all) again; how many. A new profile or policy holds from here on.

        Under `as-submitted` each keeps the score of its day: baselines and ranks are recomputed, no score is.
        """
        from steelyard.arena.ingest._rescore import rescore_tasks  # heavy: it loads numpy

        if (profile or policy) and task_ids:
            raise UsageError("a profile or policy applies to the whole arena", hint="remove the task ids")
        new_rules = None if profile is None else read_rules(profile)

        def work(connection: Connection) -> tuple[int, Rules, Policy]:
            is_change = new_rules is not None or policy is not None
            lock_settings(connection, alone=is_change)
            stored_rules, stored_policy = read_settings(connection, self.store.address)
            rules, used = new_rules or stored_rules, policy or stored_policy
            if is_change:
                write_settings(connection, rules, used, now_microseconds())
            return rescore_tasks(connection, task_ids, rules=rules, policy=used), rules, used

        count, settled_rules, settled_policy = self.store.in_transaction(work)
        self._adopt(settled_rules, settled_policy)
        return count

    def decide(
        self, submission_id: str, decision: Decision, *, by: str | None = None, reason: str | None = None
    ) -> DecidedSubmission:
        """Accept, exclude, withdraw or reinstate a submission; `by` is who decides.

        An excluded submission no longer counts in its task: not in the baseline, nor in the scores, ranks and flags of
        others. An exclusion needs a reason. Deciding the same again changes nothing.
        """
        from steelyard.arena.ingest._reviews import Request, check_request, decide  # heavy: it loads numpy

        request = Request(submission_id, decision, by, reason)
        check_request(request)

        def work(connection: Connection) -> DecidedSubmission:
            self.refresh(connection)
            return decide(connection, request, rules=self.rules, policy=self.policy, now=now_microseconds())

        with interrupt_held_back():
            return self.store.in_transaction(work)


def _turns(checked: CheckedPortion) -> list[CheckedPortion]:
    """Return the entries that are written together: those of an id that comes twice wait until its first is written."""
    ids = [entry.submission.id for entry in checked.entries]
    if len(set(ids)) == len(ids):
        return [checked]
    seen: set[str] = set()
    first: list[int] = []
    later: list[int] = []
    for place, identity in enumerate(ids):
        (later if identity in seen else first).append(place)
        seen.add(identity)
    return [
        CheckedPortion([checked.numbers[at] for at in places], [checked.entries[at] for at in places], checked.rules)
        for places in (first, later)
    ]


def _converted(given: object) -> Submission | Rejected:
    """The submission in plain values."""
    try:
        return convert_submission(given)
    except DecodeError as error:
        return _rejection(given.get("id") if isinstance(given, Mapping) else None, error)


def _rejection(identity: object, why: DecodeError) -> Rejected:
    """A submission that is none; its id may be anything."""
    shown = identity[:200] if isinstance(identity, str) else ""
    return Rejected(path=shown, reason=why.reason, hint=why.hint, code="bad_submission")


def create_arena(store: Store, profile: Profile, *, policy: Policy = "current") -> Arena:
    """Create an arena in the store; an existing one with the same rules is kept, another one is an error."""
    if policy not in POLICIES:
        raise UnknownNameError("policy", policy, POLICIES)
    rules = read_rules(profile)

    def work(connection: Connection) -> Arena:
        if connection.execute(select(settings.c.name)).first() is None:
            write_settings(connection, rules, policy, now_microseconds())
        elif read_settings(connection, store.address) != (rules, policy):
            raise UsageError(
                "the store already contains an arena with a different profile or policy",
                hint=f"rescore the arena with {option('profile', 'NAME')} and {option('policy', 'NAME')}",
            )
        return Arena(store, rules=rules, policy=policy)

    return store.in_transaction(work)


def open_arena(store: Store) -> Arena:
    """The arena in the store."""
    with store.read() as connection:
        rules, policy = read_settings(connection, store.address)
    return Arena(store, rules=rules, policy=policy)

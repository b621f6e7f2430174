"""Steps of a run, read lazily from its logs, numbered and redacted."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path

from msgspec import structs

from steelyard.errors import UnreadableFileError
from steelyard.files import PLAN_TRIALS, FoundFile, file_chunks, files_in, is_plan_folder
from steelyard.records import CheckMessage, DecodeError, Missing, Redaction, Rejected, SessionStep, placed_step
from steelyard.scratch import scratch_folder
from steelyard.sources.formats._catalog import log_format_named
from steelyard.sources.formats._log_format import FormatKind, PlacedRun, SessionLog
from steelyard.sources.tables._file_runs import gather

KINDS: tuple[FormatKind, ...] = ("sessions", "trials", "runs", "verdicts", "tests", "recordings")
"""Kinds of formats: the first that shows steps of a run is the one to read."""
PRECEDENCES = ("first", "normal", "last")
INSIDE = "!/"
"""Between the name of an archive and that of a file in it."""


class Transcript:
    """The steps of a run. Each iteration reads the logs anew; memory holds one step at a time."""

    def __init__(self, choices: Sequence[Sequence[SessionLog]], redaction: Redaction | None) -> None:
        self._choices = choices
        self.logs = tuple(choices[0])
        """Logs that are read; of another tool after an iteration, if these contain no steps."""
        self.redaction = redaction
        self.rejected: list[Rejected] = []
        """Lines that the last iteration could not use."""

    def __iter__(self) -> Iterator[SessionStep]:
        self.rejected = []
        index = 0
        for logs in self._choices:
            self.logs = tuple(logs)
            for log in logs:
                for step in self._of(log):
                    index += 1
                    yield placed_step(step, index, log.path, self.redaction)
            if index:
                return
        self.logs = tuple(self._choices[0])

    def may_contain(self, word: str) -> bool:
        """Whether a step may contain the word, which has no character that JSON escapes by a letter of its own.

        Only files in which such a word can be looked for are searched; their steps need not be decoded then.
        """
        return any(_may_contain(log, word.encode()) for logs in self._choices for log in logs)

    def _of(self, log: SessionLog) -> Iterator[SessionStep]:
        read = log_format_named(log.format).steps
        assert read is not None  # only such logs are chosen
        try:
            with located(log.path) as path:
                for item in read(path, log.session):
                    if isinstance(item, SessionStep):
                        yield item
                    else:
                        self.rejected.append(item)
        except UnreadableFileError as error:
            self.rejected.append(Rejected(path=log.path, reason=error.message, hint=error.hint, code=error.kind))
        except DecodeError as error:
            self.rejected.append(Rejected(path=log.path, reason=error.reason, hint=error.hint))
        except OSError as error:
            self.rejected.append(Rejected(path=log.path, reason=error.strerror or str(error), code="unreadable_file"))


def transcript_of(entry: PlacedRun, redaction: Redaction | None) -> Transcript | Missing:
    """Return the steps of a run that was read from logs, or why there are none.

    Where several tools report the session, the log that the agent itself keeps is read.
    """
    choices = chosen_logs(logs_of(entry))
    if choices:
        return Transcript(choices, redaction)
    source = entry.run.source
    if entry.format is None and source is not None and source.format is not None:
        return Missing(f"files of format {source.format} contain no messages")
    if source is not None and source.path is not None:
        return Missing(f"the record contains no messages; its log was {source.path}")
    return Missing("the record contains no messages")


def chosen_logs(logs: Iterable[SessionLog]) -> list[list[SessionLog]]:
    """Return the logs with steps by format, the surest first."""
    by_format: dict[str, list[SessionLog]] = {}
    for log in {(log.path, log.format, log.session): log for log in logs}.values():
        if log_format_named(log.format).steps is not None:
            by_format.setdefault(log.format, []).append(log)
    return [by_format[name] for name in sorted(by_format, key=_rank)]


def logs_of(entry: PlacedRun) -> tuple[SessionLog, ...]:
    """Return the logs of a run; those of a run that `run` made are in the folder of its plan."""
    extra, root = entry.run.extra or {}, Path(entry.path).parent
    trial, retry = extra.get("x_trial"), extra.get("x_retry")
    if entry.logs or not isinstance(trial, str) or not _TRIAL.fullmatch(trial) or not isinstance(retry, int):
        return entry.logs
    folder = root / PLAN_TRIALS / trial / f"retry-{retry}"
    if not is_plan_folder(root) or not folder.is_dir():
        return ()
    found = gather(list(_own_files(folder)), workers=1)
    return tuple(log for each in found if isinstance(each, PlacedRun) for log in each.logs)


_TRIAL = re.compile(r"[0-9a-f]{16}")
MAX_LOGS = 1_000
LOG_FOLDERS = ("home", "verify")
"""What a trial leaves besides its work and what it printed: the agent's own files, and the report of the check."""


def _own_files(folder: Path) -> Iterator[Path]:
    """The files of an execution that may be logs; no link is followed, since the agent may have put one anywhere."""
    walked = (Path(place, name) for side in LOG_FOLDERS for place, _, names in os.walk(folder / side) for name in names)
    for path in islice((folder / "stdout", *sorted(walked)), MAX_LOGS):
        if path.is_file() and not path.is_symlink() and path.stat().st_size:
            yield path


def check_messages_of(entry: PlacedRun, redaction: Redaction | None) -> Iterator[CheckMessage]:
    """Yield what tests, assertions and graders say of the run, from the files that it was read from."""
    for log in dict.fromkeys(logs_of(entry)):
        read = log_format_named(log.format).check_messages
        if read is None:
            continue
        with suppress(UnreadableFileError, DecodeError, OSError), located(log.path) as path:  # `read` reports them
            for message in read(path, log.session):
                name, text, where = message.name, message.text, log.path
                if redaction is not None:
                    name, text, where = redaction.text(name), redaction.text(text), redaction.text(where)
                yield structs.replace(message, name=name, text=text, source_path=where)


def _rank(name: str) -> tuple[int, int, bool]:
    declared = log_format_named(name)
    return KINDS.index(declared.kind), PRECEDENCES.index(declared.precedence), not declared.leads_family


ESCAPED = b"\\u00"
"""How JSON may escape any ASCII character."""


def _may_contain(log: SessionLog, word: bytes) -> bool:
    if not log_format_named(log.format).quotes_texts:
        return True
    end, length = b"", len(word) + len(ESCAPED)
    try:
        for chunk in file_chunks(Path(log.path)):
            edge = end + chunk[:length]
            if any(each in part for part in (chunk, edge) for each in (word, ESCAPED)):
                return True
            end = (end + chunk[-length:])[-length:]
    except (OSError, UnreadableFileError):
        return True  # its steps report the error
    return False


@contextmanager
def located(shown: str) -> Iterator[Path]:
    """Provide the file of this name; one in an archive is extracted for the while."""
    outer, inside, inner = shown.partition(INSIDE)
    if not inside or Path(shown).is_file():
        yield Path(shown)
        return
    with scratch_folder() as folder:
        at = FoundFile(outer, outer, Path(outer).stat().st_size, named=True)
        for depth in range(shown.count(INSIDE)):
            found = (each for each in files_in(at, folder / str(depth)) if isinstance(each, FoundFile))
            each = next((each for each in found if shown == each.shown or shown.startswith(each.shown + INSIDE)), None)
            if each is None:
                raise UnreadableFileError(outer, f"contains no file {inner}")
            at = each
        yield at.path

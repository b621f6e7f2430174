"""Steps of runs for questions: which run is meant, and its steps, read lazily."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import cast

import msgspec

from steelyard.errors import UsageError
from steelyard.files import numbered_lines
from steelyard.option_names import option
from steelyard.questions._options import RunFilterOptions
from steelyard.questions._question import doc
from steelyard.questions._run_input import PathInput, RecordReader, Runs
from steelyard.questions.explain import run_named
from steelyard.records import Missing, Redaction, SessionStep
from steelyard.scratch import scratch_folder
from steelyard.settings import is_stdin, named_path
from steelyard.sources import PlacedRun, Transcript, gather, head_of, recognized, transcript_of

LARGE_BYTES = 16 << 20
"""From this size on, only the beginning of a log is read to know its run."""
BEGINNING_BYTES = 1 << 20
IDS_SHOWN = 5


def entry_named(wanted: str | None, entries: Mapping[str, PlacedRun]) -> tuple[str, PlacedRun]:
    """Return the run of an id or a unique prefix; without one, the only run."""
    if wanted is None:
        if len(entries) == 1:
            return next(iter(entries.items()))
        shown = ", ".join(list(entries)[:IDS_SHOWN])
        more = f" and {len(entries) - IDS_SHOWN:,} more" if len(entries) > IDS_SHOWN else ""
        hint = f"name one with {option('run')}: {shown}{more}"
        raise UsageError(f"the input contains {len(entries):,} runs", hint=hint)
    if wanted in entries:
        return wanted, entries[wanted]
    starts = {id_: entry for id_, entry in entries.items() if id_.startswith(wanted)}
    return run_named(wanted, starts, entries, where=None)


def open_transcript(entry: PlacedRun, redaction: Redaction | None) -> Transcript:
    """Return the steps of the run; raise if it has none."""
    transcript = transcript_of(entry, redaction)
    if isinstance(transcript, Missing):
        hint = "pass the log or directory that it was read from"
        raise UsageError(f"the run has no steps: {transcript.reason}", where=entry.path, hint=hint)
    return transcript


def large_log(runs: Runs) -> PlacedRun | None:
    """Return the run of a single large log by the beginning of the file; None for any other input.

    It names the run and its log. Its numbers are those of the beginning, so they must not be shown.
    """
    given = runs[0] if isinstance(runs, (list, tuple)) and len(runs) == 1 else runs
    if not isinstance(given, (str, Path)) or is_stdin(path := named_path(cast("PathInput", given))):
        return None
    if not path.is_file() or path.stat().st_size < LARGE_BYTES:
        return None
    declared = recognized(head_of(path))
    if declared is None or declared.steps is None or declared.kind != "sessions":
        return None
    with scratch_folder() as folder:
        beginning = folder / path.name
        with beginning.open("wb") as file:
            for _, line in numbered_lines(path):
                if file.tell() + len(line) > BEGINNING_BYTES:
                    break
                file.write(line)
        entries = [each for each in gather([beginning], workers=1) if isinstance(each, PlacedRun) and each.logs]
    if len(entries) != 1:
        return None
    logs = tuple(msgspec.structs.replace(log, path=str(path)) for log in entries[0].logs)
    return msgspec.structs.replace(entries[0], path=str(path), logs=logs)


class StepSelection(RunFilterOptions):
    """Which run's steps are read."""

    run: str | None = doc("Run id, or a unique prefix; optional if the input has one run.", default=None)


def steps(runs: Runs, *, run: str | None = None, redact: bool = True) -> Iterator[SessionStep]:
    """Iterate over the steps of a run: messages, tool calls and their results, errors. The log is read lazily.

    >>> import steelyard as sy
    >>> [step.kind for step in sy.steps("session.jsonl")]  # doctest: +SKIP
    ['message', 'tool_call', 'tool_result', 'message']
    """
    entry = large_log(runs) if run is None else None
    if entry is None:
        reader = RecordReader(StepSelection(run=run).reading())
        entries = dict(reader.read(runs))
        reader.finish()
        _, entry = entry_named(run, entries)
    yield from open_transcript(entry, Redaction() if redact else None)

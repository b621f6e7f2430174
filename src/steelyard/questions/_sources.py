"""What a server shows: an arena, or files of runs, with a version that changes when they do."""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

from msgspec import structs

from steelyard.arena import Arena, arena_version, rank_task
from steelyard.errors import NoValidInputError, UnreadableFileError, UsageError
from steelyard.option_names import option
from steelyard.questions._arena import open_arena
from steelyard.questions._options import RunFilterOptions
from steelyard.questions._run_input import InputsByKind, RecordReader, open_mapping, reject_unrecognized, sort_inputs
from steelyard.questions.read import read
from steelyard.records import Run
from steelyard.settings import is_stdin
from steelyard.sources import PlacedRun
from steelyard.store.schema import applied

if TYPE_CHECKING:
    from steelyard.sources import RunTable


class ArenaSource:
    """An arena in its store, which other processes write to."""

    kind: ClassVar[Literal["arena", "runs"]] = "arena"

    def __init__(self, arena: Arena | str) -> None:
        self.arena = open_arena(arena) if isinstance(arena, str) else arena

    @property
    def hidden(self) -> dict[str, str]:
        """Private paths and addresses, with their replacements."""
        file = self.arena.store.file
        return _short_names([file]) if file is not None else {self.arena.store.address: "postgresql"}

    def named_inputs(self, command: str) -> list[str]:  # noqa: ARG002 # as files of runs have it
        """How a command names the arena, without the folder or the password."""
        file = self.arena.store.file
        return ["--store", f"sqlite:///{file.name}" if file is not None else "postgresql://..."]

    def signal(self) -> object | None:
        """What changes when the source may have changed, asked for in microseconds; None where that takes a query."""
        return self.arena.store.signal()

    def version(self) -> str:
        """The state of the arena, the same in every process that sees the same."""
        return str(arena_version(self.arena))

    def secret(self) -> bytes:
        """What processes that serve the same store have in common, and clients do not know."""
        with self.arena.store.read() as connection:
            return repr([tuple(row) for row in connection.execute(applied.select())]).encode()

    def warm(self) -> None:
        """Load what views need, so that the first one does not pay for it."""
        for task in self.arena.tasks()[:1]:
            rank_task(self.arena, task.id, top=1)

    def close(self) -> None:
        """Let go of the store."""
        self.arena.store.close()


class RunsSource:
    """Files and folders of runs. They are read again when one of them, or their mapping, has another time or size."""

    kind: ClassVar[Literal["arena", "runs"]] = "runs"

    def __init__(self, paths: Sequence[Path], *, map: str | None = None) -> None:  # noqa: A002 # as commands call it
        if any(is_stdin(path) for path in paths):
            raise UsageError("stdin cannot be watched", hint="pass files or directories")
        for path in paths:
            if not path.exists():
                raise UnreadableFileError(str(path), "no such file or directory", hint="check the path for a typo")
        self.paths = tuple(paths)
        self.map = map
        """The mapping that the files are read by: a TOML file or a shipped mapping's name."""
        if map is not None:
            open_mapping(map)  # fail early if it is invalid
        self._watched = self.paths if map is None else (*self.paths, Path(map))
        self._lock = threading.RLock()
        self._read_at: str | None = None
        self._table: RunTable | None = None
        self._entries: dict[str, PlacedRun] | None = None
        self._sorted: InputsByKind | None = None

    @property
    def hidden(self) -> dict[str, str]:
        """Private paths, with their replacements."""
        return _short_names(self._watched)

    def named_inputs(self, command: str) -> list[str]:
        """How the command of a command names the files that it reads, without their folders."""
        inputs = self.sorted_inputs()
        runs = [path for path in inputs.runs if isinstance(path, Path)]
        if command.startswith("speedup"):
            return [path.name for path in inputs.timings]
        if command.startswith("repeatability"):
            is_answered = any(run.output is not None and run.output.text for run in self.records().values())
            runs = [*inputs.experiments, *(runs if is_answered else ())]
        mapped = [] if self.map is None else ["--map", Path(self.map).name]
        return [*(path.name or str(path) for path in runs), *mapped]

    def signal(self) -> object | None:
        """None: the files must be asked."""
        return None

    def version(self) -> str:
        """A digest of every file's name, time and size."""
        digest = hashlib.sha256()
        for path in self._watched:
            for name, seconds, size in _stamps(path):
                digest.update(f"{name}\0{seconds}\0{size}\n".encode("utf-8", "surrogateescape"))
        return digest.hexdigest()[:16]

    def secret(self) -> bytes:
        """What processes that serve the same files have in common, and clients do not know."""
        return repr([(str(path.resolve()), path.stat().st_ino) for path in self.paths]).encode()

    def warm(self) -> None:
        """Read the runs, unless there are only timings and experiments."""
        if self.run_paths():
            self.table()

    def close(self) -> None:
        """Nothing is open."""

    def table(self) -> RunTable:
        """The runs as they are now, read once for all that ask."""
        with self._current():
            if self._table is None:
                self._table = read(self.run_paths(), map=self.map)
            return self._table

    def entries(self) -> dict[str, PlacedRun]:
        """The whole records with their places, by id."""
        with self._current():
            if self._entries is None:
                self._entries = dict(RecordReader(RunFilterOptions(map=self.map).reading()).read(self.run_paths()))
            return self._entries

    def records(self) -> dict[str, Run]:
        """The whole records by id, each of which names itself."""
        return {
            id_: entry.run if entry.run.id else structs.replace(entry.run, id=id_)
            for id_, entry in self.entries().items()
        }

    def sorted_inputs(self) -> InputsByKind:
        """Return the paths by content: runs, repeated answers, timings."""
        with self._current():
            if self._sorted is None:
                self._sorted = sort_inputs(self.paths, mapped=self.map is not None)
            return self._sorted

    def run_paths(self) -> list[Path]:
        """Return the paths that contain runs."""
        return [path for path in self.sorted_inputs().runs if isinstance(path, Path)]

    def unrecognized(self) -> Iterator[NoValidInputError]:
        """Yield the error for each named file that no format recognizes."""
        for path in self.run_paths() if self.map is None else ():
            try:
                reject_unrecognized(path)
            except NoValidInputError as error:
                yield error

    def _current(self) -> threading.RLock:
        """The lock, with nothing kept of files that have changed since."""
        with self._lock:
            version = self.version()
            if version != self._read_at:
                self._table = self._entries = self._sorted = None
                self._read_at = version
        return self._lock


def open_source(paths: Sequence[Path], store: str, *, map: str | None = None) -> ArenaSource | RunsSource:  # noqa: A002
    """The files of runs, read by the mapping if there is one, or without any the arena in the store."""
    if paths:
        return RunsSource(paths, map=map)
    if map is not None:
        raise UsageError(f"{option('map')} needs a file of runs", hint="name the files of runs")
    return ArenaSource(store)


def _stamps(path: Path) -> Iterator[tuple[str, int, int]]:
    """Name, time and size of each file below the path, in the order of names."""
    try:
        if not path.is_dir():
            stat = path.stat()
            yield path.name, stat.st_mtime_ns, stat.st_size
            return
        for folder, folders, files in os.walk(path):
            folders.sort()
            for name in sorted(files):
                file = os.path.join(folder, name)
                stat = os.stat(file)
                yield os.path.relpath(file, path), stat.st_mtime_ns, stat.st_size
    except OSError:  # removed meanwhile: the next check reports it
        yield str(path), -1, -1


def _short_names(paths: Sequence[Path]) -> dict[str, str]:
    """The full paths with their last names, longest first."""
    full = {str(form): form.name for path in paths for form in (path, path.resolve()) if form.is_absolute()}
    return {path: full[path] for path in sorted(full, key=len, reverse=True)}

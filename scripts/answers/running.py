"""Running a case with one version of Steelyard, in a folder of its own, and keeping what it answered."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
import re
import shlex
import shutil
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import polars as pl

from answers.renaming import Renaming

Json = Any  # Any: what json.loads gives
SECONDS = 600
"""How long one command may take."""
READ = (".csv", ".json", ".jsonl", ".md", ".toml", ".parquet")
"""Endings of the files whose content is compared when a command wrote them."""
HOME = "home"
MOMENT = "moment"


@dataclass(frozen=True)
class Fixture:
    """A folder that the old version makes once and both versions then start from."""

    name: str
    steps: tuple[str, ...]
    """Command lines. `... > FILE` keeps what was printed; `moment NAME` keeps the time for `{NAME}` in later lines."""
    files: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Case:
    """What is asked of both versions."""

    name: str
    steps: tuple[str, ...]
    """Command lines of the old version, one after the other in the same folder."""
    files: Mapping[str, str | bytes] = field(default_factory=dict)
    """What lies in the folder before; `{port}` is where a receiver of webhooks listens."""
    stdin: str | None = None
    fixture: Fixture | None = None
    new_first: tuple[str, ...] = ()
    """What the new version alone has to do before, in its own words."""


@dataclass(frozen=True)
class Answer:
    """What one command gave."""

    arguments: list[str]
    status: int
    stdout: str
    stderr: str
    files: dict[str, str]
    """Files that it wrote or changed; rows of Parquet as JSON."""

    def documents(self) -> dict[str, Json]:
        """What is compared, by name: the printed answer has none."""
        printed = {"": _parsed(self.stdout, "--csv" in self.arguments)}
        return printed | {name: _parsed(text, name.endswith(".csv")) for name, text in self.files.items()}


def _parsed(text: str, is_csv: bool) -> Json:
    """JSON, else JSON lines, else rows of CSV where they are expected, else lines."""
    try:
        return json.loads(text)
    except ValueError:
        pass
    if is_csv:
        return list(csv.DictReader(io.StringIO(text)))
    lines = text.splitlines()
    try:
        return [json.loads(line) for line in lines] or ""
    except ValueError:
        return lines


@dataclass(frozen=True)
class Side:
    """One version: how it is started, the folder in which its cases run, and how it is spoken to."""

    command: tuple[str, ...]
    root: Path
    renaming: Renaming | None
    """None for the old version, whose words the cases are written in."""

    def environment(self, folder: Path) -> dict[str, str]:
        """As little as possible of the user's own environment."""
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(folder / HOME),
            "STEELYARD_CACHE": str(self.root / "cache"),
            "NO_COLOR": "1",
            "COLUMNS": "200",
            "LANG": "C.UTF-8",
            "TZ": "UTC",
            "HOOK_SECRET": "hush",
        }

    def answers(self, case: Case, fixture: Path | None) -> list[Answer]:
        """What the steps of a case give in a fresh folder."""
        folder = self.root / plain_name(case.name)
        shutil.rmtree(folder, ignore_errors=True)
        (folder / HOME).mkdir(parents=True)
        if fixture is not None:
            shutil.copytree(fixture, folder, dirs_exist_ok=True)
        with _receiver(folder / "received.jsonl") as port:
            self._write(folder, case.files, port)
            if self.renaming is not None:
                for line in case.new_first:
                    self._run(folder, shlex.split(line), None)
            answers = [self._answer(folder, line, case.stdin) for line in case.steps]
        shutil.rmtree(folder)
        return answers

    def make(self, fixture: Fixture, folder: Path) -> None:
        """Make a folder to start from."""
        (folder / HOME).mkdir(parents=True)
        self._write(folder, fixture.files, 0)
        for line in fixture.steps:
            words = shlex.split(line)
            if words[0] == MOMENT:
                time.sleep(0.05)  # so that what is before and what is after are told apart
                (folder / f"{words[1]}.{MOMENT}").write_text(datetime.now(UTC).isoformat())
                time.sleep(0.05)
                continue
            target = words.index(">") if ">" in words else len(words)
            answer = self._run(folder, words[:target], None)
            if answer.status not in (0, 1):
                raise SystemExit(f"fixture {fixture.name}: {line}\n{answer.stdout}{answer.stderr}")
            if target < len(words):
                (folder / words[target + 1]).write_text(answer.stdout)
        shutil.rmtree(folder / HOME)

    def _write(self, folder: Path, files: Mapping[str, str | bytes], port: int) -> None:
        for name, content in files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if isinstance(content, bytes):
                path.write_bytes(content)
                continue
            text = content.replace("{port}", str(port))
            path.write_text(self.renaming.new_input(name, text) if self.renaming else text, encoding="utf-8")

    def _answer(self, folder: Path, line: str, stdin: str | None) -> Answer:
        moments = {path.stem: path.read_text() for path in folder.glob(f"*.{MOMENT}")}
        arguments = [moments.get(word[1:-1], word) if word.startswith("{") else word for word in shlex.split(line)]
        return self._run(folder, self.renaming.new_arguments(arguments) if self.renaming else arguments, stdin)

    def _run(self, folder: Path, arguments: list[str], stdin: str | None) -> Answer:
        before = _seen(folder)
        try:
            done = subprocess.run(  # the two programs that the user named
                [*self.command, *arguments],
                cwd=folder,
                env=self.environment(folder),
                input=stdin or "",
                capture_output=True,
                text=True,
                encoding="utf-8",
                errors="replace",
                check=False,
                timeout=SECONDS,
            )
        except subprocess.TimeoutExpired:
            return Answer(arguments, -1, "", f"no answer within {SECONDS} seconds", {})
        changed = [name for name, state in _seen(folder).items() if before.get(name) != state]
        files = {name: self._plain(_content(folder / name)) for name in sorted(changed)}
        return Answer(arguments, done.returncode, self._plain(done.stdout), self._plain(done.stderr), files)

    def _plain(self, text: str) -> str:
        return text.replace(str(self.root), "<root>")


def plain_name(case: str) -> str:
    """The name of a case as the name of a file."""
    return re.sub(r"[^\w.-]+", "-", case)


def _seen(folder: Path) -> dict[str, tuple[int, int]]:
    """Files that can be compared, with their time and size."""
    states = {}
    for path in folder.rglob("*"):
        name = path.relative_to(folder)
        if path.suffix in READ and name.parts[0] != HOME and path.is_file():
            states[str(name)] = (path.stat().st_mtime_ns, path.stat().st_size)
    return states


def _content(path: Path) -> str:
    if path.suffix != ".parquet":
        return path.read_text(encoding="utf-8")
    return json.dumps(pl.read_parquet(path).to_dicts(), default=str)


@contextmanager
def _receiver(path: Path) -> Iterator[int]:
    """A receiver of webhooks that writes each body to a file, and the port it listens on."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:  # the name that http.server calls
            body = self.rfile.read(int(self.headers["Content-Length"]))
            with path.open("ab") as file:
                file.write(body + b"\n")
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Nothing: our own output is the comparison."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        yield server.server_port
        server.shutdown()
        thread.join()


def digest_of(*parts: object) -> str:
    """A name for what a case depends on: text, numbers, and folders by their content."""
    digest = hashlib.sha256()
    for part in parts:
        if isinstance(part, Path):
            for path in sorted(part.rglob("*")):
                if path.is_file():
                    digest.update(f"{path.relative_to(part)}\0".encode())
                    digest.update(path.read_bytes())
        else:
            digest.update(f"{part!r}\0".encode())
    return digest.hexdigest()


class Kept:
    """The old version's fixtures and answers, in a folder that outlives this run if one was named."""

    def __init__(self, side: Side, folder: Path, *, samples: str, update: bool) -> None:
        self.side = side
        self.folder = folder
        self.samples = samples
        self.update = update
        self.made: dict[str, Path] = {}

    def fixture(self, fixture: Fixture | None) -> Path | None:
        """The folder to start from; made once."""
        if fixture is None:
            return None
        if fixture.name not in self.made:
            wanted = digest_of(fixture.name, fixture.steps, sorted(fixture.files.items()), self.samples)
            kept = self.folder / "fixtures" / f"{fixture.name}-{wanted[:12]}"
            if not kept.is_dir():
                fresh = self.side.root / f"fixture-{fixture.name}"
                self.side.make(fixture, fresh)
                if self.update:
                    shutil.copytree(fresh, kept)
                else:
                    kept = fresh
            self.made[fixture.name] = kept
        return self.made[fixture.name]

    def answers(self, case: Case) -> list[Answer]:
        """What the old version answered, asked only if it is not known."""
        fixture = self.fixture(case.fixture)
        started_from = () if fixture is None else (fixture,)
        files = sorted((name, digest_of(content)) for name, content in case.files.items())
        wanted = digest_of(case.name, case.steps, case.stdin, files, self.samples, *started_from)
        path = self.folder / f"{plain_name(case.name)}.json"
        if path.is_file():
            kept = json.loads(path.read_text(encoding="utf-8"))
            if kept["of"] == wanted:
                return [Answer(**fields) for fields in kept["answers"]]
        answers = self.side.answers(case, fixture)
        if self.update:
            path.parent.mkdir(parents=True, exist_ok=True)
            text = json.dumps(
                {"of": wanted, "answers": [asdict(answer) for answer in answers]}, indent=1, ensure_ascii=False
            )
            path.write_text(text, encoding="utf-8")
        return answers

"""Broken inputs to every reader, any number of them, each made from the seed and its number alone.

python tests/support/mutated_inputs.py --count 100000 --seed 1
"""

from __future__ import annotations

import argparse
import gzip
import io
import random
import shutil
import signal
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parent))

from format_laws import check_reading
from steelyard.arena import read_submissions, read_targets, read_task_map, read_tasks
from steelyard.demo import demo_files
from steelyard.errors import SteelyardError
from steelyard.prices import open_price_table
from steelyard.profiles import load_profile
from steelyard.questions import TaskFiles
from steelyard.questions.repeatability._prompts import Contracts, read_prompts
from steelyard.questions.speedup._task_timings import TimingReading, read_task
from steelyard.runner import load_plan
from steelyard.sources import load_mapping, read_timings, trajectory_of

TESTS = Path(__file__).parents[1]
SAMPLES = TESTS / "samples"
PACKAGE = TESTS.parent / "src" / "steelyard"
MAX_SAMPLE_LENGTH = 20_000
MAX_CPU_SECONDS = 10.0
"""Of one input, all of which are smaller than 100 kB."""
MAX_BYTES = 300 << 20
"""Of the process, with Python and all libraries in it."""

Read = Callable[[Path], Any]  # Any: what it gives when nothing is wrong


class Reader(NamedTuple):
    """One way for a file to get in, and files that are good."""

    read: Read
    samples: tuple[Path, ...]


def _whole(read: Callable[[Path], Iterator[Any]]) -> Read:
    return lambda path: list(read(path))


def _prompts(path: Path) -> None:
    read_prompts([path], by=["task"], contracts=Contracts(None), language=None, needs_contract=False)


def _tests(path: Path) -> None:
    timings = SAMPLES / "speedup" / "pyperf.json"
    read_task(TaskFiles(nop=timings, oracle=timings, agents={"a:m": timings}, tests=path), TimingReading())


def readers(folder: Path) -> dict[str, Reader]:
    """Every reader with its samples, some of which are made in the folder."""
    demo, extra = folder / "demo", folder / "extra"
    for name, written in demo_files():
        (demo / name).parent.mkdir(parents=True, exist_ok=True)
        (demo / name).write_bytes(written)
    extra.mkdir()
    (extra / "map.toml").write_text('[tasks]\n"parse-csv" = "fix-race"\n')
    (extra / "tests.json").write_text('{"a:m": {"tests": {"passed": ["t"], "failed": []}, "cost_usd": 0.5}}')
    (extra / "price table.toml").write_bytes(
        next((PACKAGE / "prices" / "tables").glob("*.toml")).read_bytes()[:MAX_SAMPLE_LENGTH]
    )
    mappings = _files(PACKAGE / "sources" / "mappings", "*.toml")
    made = {
        "timings": Reader(read_timings, _files(SAMPLES / "speedup")),
        "a trajectory": Reader(lambda path: trajectory_of([path]), _files(SAMPLES / "speedup", "agent*")),
        "what is known of agents": Reader(_tests, (extra / "tests.json",)),
        "tasks": Reader(_whole(read_tasks), (SAMPLES / "arena" / "tasks.toml", demo / "tasks.toml")),
        "submissions": Reader(_whole(read_submissions), (SAMPLES / "arena" / "submissions.jsonl",)),
        "targets": Reader(read_targets, (SAMPLES / "arena" / "targets.toml",)),
        "a task map": Reader(read_task_map, (extra / "map.toml",)),
        "a contract": Reader(Contracts, (SAMPLES / "repeatability" / "clamp.toml", demo / "contract.toml")),
        "outputs": Reader(_prompts, (*_files(SAMPLES / "repeatability", "clamp_*"), *_files(demo / "outputs"))),
        "a profile": Reader(lambda path: load_profile(str(path)), _files(PACKAGE / "profiles", "*.toml")),
        "a price table": Reader(lambda path: open_price_table(str(path)), (extra / "price table.toml",)),
        "a mapping": Reader(load_mapping, mappings),
        "a plan": Reader(load_plan, _files(demo / "plans", "*.toml")),
    }
    logs = {
        kind.name: Reader(check_reading, _files(kind))
        for kind in sorted((SAMPLES / "formats").iterdir())
        if kind.is_dir()
    }
    return {**logs, **made}


def _files(folder: Path, pattern: str = "*") -> tuple[Path, ...]:
    found = sorted(path for path in folder.rglob(pattern) if path.is_file() and path.name != "ORIGIN.md")
    small = tuple(path for path in found if path.stat().st_size <= MAX_SAMPLE_LENGTH)
    assert small, f"no sample in {folder}"
    return small


VALUES = (
    *(b"null", b"-1", b"0", b"1e400", b"-0.0", b'""', b"[]", b"{}", b"true", b"99999999999999999999", b"1" * 500),
    *(b'"\\ud800"', b'"\\u0000"', b"NaN", b"-Infinity", b"1_000", b"0x10", b"2026-13-45", b'"2026-02-30T25:61:00Z"'),
    *(b"[" * 300, b'{"a":' * 300, b"'''", b'"' + b"a" * 5_000 + b'"'),
)
PIECES = (
    *(b"\x00", b"\xff\xfe", b"\xef\xbb\xbf", b"\r", b"\r\n\r\n", b"\x1b[31m", "\u202e".encode(), b"\xed\xa0\x80"),
    *(b"<!DOCTYPE x [<!ENTITY e 'x'>]>", b"&e;", b"]]>", b",,,,", b"a.b.c.d=1\n", b"[[tasks]]\n", b"#", b"PK\x03\x04"),
)


def mutation(draw: random.Random, data: bytes, other: bytes) -> bytes:
    """The bytes with one to six changes: stretches overwritten, removed, repeated, moved; other values."""
    made = bytearray(data)
    for _ in range(draw.randint(1, 6)):
        at = draw.randrange(len(made) + 1)
        length = draw.choice((1, 1, 2, 5, 20, 200))
        change = draw.randrange(9)
        if change == 0:
            made[at : at + length] = draw.randbytes(min(length, len(made) - at))
        elif change == 1:
            del made[at : at + length]
        elif change == 2:
            made[at:at] = made[at : at + length] * draw.randint(1, 20)
        elif change == 3:
            _put_value(made, at, draw.choice(VALUES))
        elif change == 4:
            made[at:at] = draw.choice(PIECES)
        elif change == 5:
            begin = draw.randrange(len(other) + 1)
            made[at : at + length] = other[begin : begin + draw.choice((10, 200, 3_000))]
        elif change == 6:
            lines = bytes(made).split(b"\n")
            draw.shuffle(lines)
            made[:] = b"\n".join(lines)
        elif change == 7 and made:
            made[at % len(made)] ^= 1 << draw.randrange(8)
        else:
            del made[at:]
    packed = draw.randrange(40)
    if packed == 0:
        return _flipped(draw, gzip.compress(made, 1))
    return _flipped(draw, _zipped(made)) if packed == 1 else bytes(made[:100_000])


def _put_value(made: bytearray, at: int, value: bytes) -> None:
    """Another value behind the colon or equals sign before that place."""
    start = max(made.rfind(b":", 0, at), made.rfind(b"=", 0, at)) + 1
    ends = [end for mark in (b",", b"\n", b"}") if (end := made.find(mark, max(at, start))) >= 0]
    if start and ends:
        made[start : min(ends)] = value


def _zipped(data: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a/file.jsonl", data)
    return file.getvalue()


def _flipped(draw: random.Random, data: bytes) -> bytes:
    made = bytearray(data)
    for _ in range(draw.randrange(3)):
        made[draw.randrange(len(made))] ^= 1 << draw.randrange(8)
    return bytes(made)


@dataclass
class Tried:
    """What became of all inputs."""

    count: int = 0
    refused: int = 0
    slowest_seconds: float = 0.0
    slowest: str = ""
    broken: list[str] = field(default_factory=list)
    """Inputs that were neither read nor refused, each with its file."""

    @property
    def max_bytes(self) -> int:
        """The most memory that this program ever held; what getrusage tells includes the process that started it."""
        status = Path("/proc/self/status").read_text(encoding="ascii")
        return int(status.partition("VmHWM:")[2].split()[0]) << 10


class TooSlow(BaseException):
    """Nothing that a reader might catch."""


@contextmanager
def bounded_time() -> Iterator[None]:
    """Ends what is inside when it takes too much of the processor."""

    def end(_signal: int, _frame: FrameType | None) -> None:
        raise TooSlow

    before = signal.signal(signal.SIGVTALRM, end)
    signal.setitimer(signal.ITIMER_VIRTUAL, MAX_CPU_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def try_inputs(count: int, seed: int, folder: Path, *, told: Callable[[Tried], None] = lambda _: None) -> Tried:
    """Give that many inputs to all readers in turn."""
    ways = readers(folder)
    names = list(ways)
    content = {path: path.read_bytes() for reader in ways.values() for path in reader.samples}
    everything = list(content.values())
    tried = Tried()
    for number in range(count):
        draw = random.Random(f"{seed}/{number}")
        name = names[number % len(names)]
        sample = draw.choice(ways[name].samples)
        place = folder / f"input{sample.suffix}"
        place.write_bytes(mutation(draw, content[sample], draw.choice(everything)))
        start = time.process_time()
        try:
            with bounded_time():
                ways[name].read(place)
        except SteelyardError:
            tried.refused += 1
        except (Exception, TooSlow) as error:  # noqa: BLE001 - whatever it is, it is told
            kept = Path(tempfile.gettempdir(), f"broken-{seed}-{number}{sample.suffix}")
            shutil.copy(place, kept)
            tried.broken.append(f"{name}: {kept}: {error!r:.300}")
        seconds = time.process_time() - start
        if seconds > tried.slowest_seconds:
            tried.slowest_seconds, tried.slowest = seconds, f"{name}, input {number}"
        tried.count += 1
        if tried.count % 1_000 == 0:
            assert tried.max_bytes < MAX_BYTES, f"{tried.max_bytes >> 20} MB after {tried.count:,} inputs"
            told(tried)
    return tried


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        tried = try_inputs(asked.count, asked.seed, Path(folder), told=partial(_tell, asked.count))
    _tell(asked.count, tried)
    sys.exit(1 if tried.broken else 0)


def _tell(count: int, tried: Tried) -> None:
    slowest = f"slowest {tried.slowest_seconds:.2f} s ({tried.slowest})"
    text = (
        f"{tried.count:,} of {count:,} inputs, {tried.refused:,} refused whole, {slowest}, {tried.max_bytes >> 20} MB"
    )
    print(text, *tried.broken, sep="\n", flush=True)


if __name__ == "__main__":
    main()

"""Reading 500 MB of Claude Code logs and adding them up by day: ours against the npm program ccusage on the same files.

Then records (an Inspect log, Parquet against JSON lines), and pricing: ours against genai-prices called row by row.

python -m benchmarks.read [--quick] [--megabytes N] [--ccusage PROGRAM] [--inspect PYTHON]
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from benchmarks import _read_records, prices

ROOT = Path(__file__).resolve().parents[1]
REAL = ROOT.parent / "shared" / "samples" / "claude-code"
OURS = ROOT / "tests" / "samples" / "formats"
CCUSAGE = "ccusage@20.0.24"
_IDS = re.compile(rb"(msg_|req_|toolu_)[A-Za-z0-9]+")
_UUIDS = re.compile(rb"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


def samples() -> list[Path]:
    """Real sessions where there are some, else the small ones that ship."""
    real = sorted(REAL.glob("*.jsonl")) if REAL.is_dir() else []
    return real or sorted((OURS / "claude-code").glob("*.jsonl"))


def copies(files: list[Path], megabytes: int) -> Iterator[bytes]:
    """The samples again and again, with new ids each time, until there is enough."""
    texts = [path.read_bytes() for path in files]
    made = 0
    for number in itertools.count():
        for text in texts:
            if made >= megabytes * 1_000_000:
                return
            changed = _IDS.sub(lambda match, n=number: match[0] + b"x%d" % n, text)
            space = uuid.UUID(int=number + 1)
            changed = _UUIDS.sub(lambda match, s=space: str(uuid.uuid5(s, match[0].decode())).encode(), changed)
            made += len(changed)
            yield changed


def make_logs(folder: Path, megabytes: int) -> tuple[int, int]:
    """Writes the logs as Claude Code lays them out; number of files and bytes."""
    files = size = 0
    for number, text in enumerate(copies(samples(), megabytes)):
        place = folder / "projects" / f"-work-project-{number % 40}"
        place.mkdir(parents=True, exist_ok=True)
        session = re.search(rb'"sessionId":"([^"]+)"', text)
        name = session[1].decode() if session else str(uuid.uuid5(uuid.NAMESPACE_URL, str(number)))
        (place / f"{name}.jsonl").write_bytes(text)
        files += 1
        size += len(text)
    return files, size


def find_ccusage(folder: Path, given: str | None) -> list[str] | None:
    """The program, installed for this run where npm is at hand; None where it cannot be had."""
    if given:
        return [given]
    npm = shutil.which("npm")
    if npm is None:
        return None
    done = subprocess.run(
        [npm, "install", "--silent", "--prefix", str(folder), CCUSAGE], capture_output=True, check=False
    )
    program = folder / "node_modules" / ".bin" / "ccusage"
    return [str(program)] if done.returncode == 0 and program.exists() else None


class Times(NamedTuple):
    """How long a command took; on a busy machine only the processor's time tells two programs apart."""

    wall: float
    processor: float
    """Of all its processes."""


def timed(command: list[str], environment: dict[str, str]) -> tuple[Times, dict[str, object]]:
    """Seconds and the JSON that the command prints."""
    start, used = time.perf_counter(), _children_seconds()
    done = subprocess.run(command, env={**os.environ, **environment}, capture_output=True, check=False)
    times = Times(time.perf_counter() - start, _children_seconds() - used)
    if not done.stdout:
        raise SystemExit(f"{command[0]} failed: {done.stderr.decode()[-500:]}")
    return times, json.loads(done.stdout)


def _children_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def our_totals(report: dict[str, object]) -> dict[str, int]:
    stated = report["total"]["tokens"]  # type: ignore[index]
    tokens = {kind: count or 0 for kind, count in stated.items()}  # a kind that no log states is none of the total
    return {
        "input": tokens["input_tokens"],
        "output": tokens["output_tokens"] + tokens["reasoning_tokens"],
        "cache write": tokens["cache_write_5m_tokens"] + tokens["cache_write_1h_tokens"],
        "cache read": tokens["cache_read_tokens"],
    }


def their_totals(report: dict[str, object]) -> dict[str, int]:
    totals = report["totals"]
    names = {
        "input": "inputTokens",
        "output": "outputTokens",
        "cache write": "cacheCreationTokens",
        "cache read": "cacheReadTokens",
    }
    return {ours: totals[theirs] for ours, theirs in names.items()}  # type: ignore[index]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="50 MB and one repeat")
    parser.add_argument("--megabytes", type=int, default=500)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--ccusage", help="the ccusage program, where it is installed already")
    parser.add_argument("--inspect", help="a Python that has inspect_ai and pandas")
    options = parser.parse_args(arguments)
    megabytes, repeats = (50, 1) if options.quick else (options.megabytes, options.repeats)
    with tempfile.TemporaryDirectory(prefix="steelyard-bench-") as scratch:
        logs = Path(scratch, "claude")
        files, size = make_logs(logs, megabytes)
        print(f"{files:,} Claude Code sessions, {size / 1e6:,.0f} MB; best of {repeats}, {os.cpu_count()} cores")
        rivals = {
            f"steelyard {verb}": [sys.executable, "-m", "steelyard", verb, str(logs), "--json", "--quiet"]
            for verb in ("read", "usage")
        }
        ccusage = find_ccusage(Path(scratch, "npm"), options.ccusage)
        if ccusage:
            rivals[CCUSAGE] = [*ccusage, "claude", "daily", "--json", "--offline"]
        else:
            print(f"{CCUSAGE} could not be installed here: only our own time is shown")
        # Ours runs compiled, as installers leave it, also where Python is told to write nothing beside the sources.
        compiled = {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(Path(scratch, "compiled"))}
        environment = {"CLAUDE_CONFIG_DIR": str(logs), **compiled}
        times: dict[str, list[Times]] = {name: [] for name in rivals}
        reports: dict[str, dict[str, object]] = {}
        for name, command in [*rivals.items()] * repeats:
            taken, reports[name] = timed(command, environment)
            times[name].append(taken)
        show(times, reports, size)
    print()
    quick = ["--quick"] if options.quick else []
    _read_records.main([*quick, *(["--inspect", options.inspect] if options.inspect else [])])
    print()
    return prices.main(quick)


def show(times: dict[str, list[Times]], reports: dict[str, dict[str, object]], size: int) -> None:
    """The first time is with nothing kept from before; the ratio is of the best times."""
    for kind in Times._fields:
        print(f"\n{kind + ' time':<20} {'first s':>8} {'median s':>9} {'best s':>8} {'MB/s':>8} {'ratio':>7}")
        seconds = {name: [getattr(taken, kind) for taken in all_times] for name, all_times in times.items()}
        ours = min(seconds["steelyard read"])
        for name, each in seconds.items():
            best, middle = min(each), statistics.median(each)
            print(
                f"{name:<20} {each[0]:>8.2f} {middle:>9.2f} {best:>8.2f} {size / 1e6 / best:>8.0f} {best / ours:>7.2f}"
            )
    totals = {name: our_totals(r) if name.startswith("steelyard") else their_totals(r) for name, r in reports.items()}
    print(f"\n{'tokens':<14}" + "".join(f"{name:>20}" for name in totals))
    for kind in ("input", "output", "cache write", "cache read"):
        print(f"{kind:<14}" + "".join(f"{counts[kind]:>20,}" for counts in totals.values()))
    if len(totals) > 1:
        print(
            "equal totals" if len({tuple(counts.items()) for counts in totals.values()}) == 1 else "the totals DIFFER"
        )


if __name__ == "__main__":
    raise SystemExit(main())

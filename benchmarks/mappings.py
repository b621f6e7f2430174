"""Reading a table by a mapping, against our own CSV with the same runs: processor time, in the same process.

    python -m benchmarks.mappings [--quick]

Both files hold the same runs, and what is read of them is compared before any time is shown. The table for the mapping
has other headers, words for verdicts, dollar signs and milliseconds.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections import deque
from pathlib import Path

from steelyard.questions import ReadOptions
from steelyard.questions._read_summary import ReadSummary
from steelyard.questions.read import RunReading

SEED = 20261116
MAX_VALUE = 1.5
"""A mapping may take so many times the processor time of our own CSV."""
MAPPING = """
mapping = 1
name = "other"
rows = { format = "csv" }
[run]
id = "Run"
task = "Task ID"
agent = "Agent"
model = "Model"
passed = "Result"
cost_usd = "Cost ($)"
started_at = "Started"
duration_seconds = { from = "Duration (ms)", unit = "ms" }
usage.input_tokens = "Tokens in"
usage.output_tokens = "Tokens out"
"""


def write_tables(own: Path, other: Path, rows: int) -> None:
    """The same runs twice: as our own columns, and as a sheet has them."""
    draw = random.Random(SEED)
    with own.open("w", encoding="utf-8") as ours, other.open("w", encoding="utf-8") as theirs:
        ours.write("id,task,agent,model,passed,cost_usd,input_tokens,output_tokens,started_at,duration_seconds\n")
        theirs.write("Run,Task ID,Agent,Model,Result,Cost ($),Tokens in,Tokens out,Started,Duration (ms)\n")
        for row in range(rows):
            passed, cost = draw.random() < 0.6, round(draw.random() * 3, 4)
            tokens = f"{draw.randrange(100_000)},{draw.randrange(9_000)}"
            at = f"2026-11-{1 + row % 28:02}T{row % 24:02}:{row % 60:02}:{row * 7 % 60:02}"
            took = draw.randrange(900_000)
            names = f"r{row},task-{row % 500},agent-{row % 3},gpt-5"
            ours.write(f"{names},{str(passed).lower()},{cost},{tokens},{at},{took / 1000}\n")
            theirs.write(f"{names},{'Pass' if passed else 'FAIL'},${cost},{tokens},{at},{took}\n")


def timed(path: Path, mapping: Path | None) -> tuple[float, ReadSummary]:
    """The processor time of reading the file."""
    started = time.process_time()
    reading = RunReading([path], options=ReadOptions(map=mapping))
    deque(reading, maxlen=0)
    return time.process_time() - started, reading.summary


def main(arguments: list[str] | None = None) -> int:
    """Both files in turn, the best of some rounds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="100,000 rows, the best of three rounds")
    parser.add_argument("--rows", type=int, default=1_000_000)
    options = parser.parse_args(arguments)
    rows, rounds = (100_000, 3) if options.quick else (options.rows, 2)
    with tempfile.TemporaryDirectory(prefix="steelyard-bench-") as scratch:
        own, other, mapping = (Path(scratch, name) for name in ("own.csv", "other.csv", "mapping.toml"))
        write_tables(own, other, rows)
        mapping.write_text(MAPPING, encoding="utf-8")
        times: dict[str, list[float]] = {"our own CSV": [], "by a mapping": []}
        totals = []
        for _ in range(rounds):
            for name, path, given in (("our own CSV", own, None), ("by a mapping", other, mapping)):
                seconds, summary = timed(path, given)
                times[name].append(seconds)
                totals.append((summary.total.runs, summary.total.tokens, summary.total.cost_known_usd))
    if len(set(map(str, totals))) != 1 or totals[0][0] != rows:
        print(f"the two do not tell the same: {totals}")
        return 1
    best = {name: min(seconds) for name, seconds in times.items()}
    for name, seconds in best.items():
        print(f"{name:<14} {seconds:8.2f} s of processor time, {rows / seconds:10,.0f} rows/s")
    ratio = best["by a mapping"] / best["our own CSV"]
    print(f"ratio {ratio:.2f} (at most {MAX_VALUE})")
    return 0 if ratio <= MAX_VALUE else 1


if __name__ == "__main__":
    sys.exit(main())

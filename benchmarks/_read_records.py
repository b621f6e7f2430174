"""CPU of reading an Inspect log against Inspect's own `samples_df`, and of Parquet against the same runs as JSON lines.

python -m benchmarks._read_records [--quick] [--inspect PYTHON]

`PYTHON` is an interpreter that has inspect_ai and pandas; without one only our own time is shown. Every process is
started anew and its whole CPU time counts, imports included.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from benchmarks.measure import make_runs
from steelyard.pages import write_runs
from steelyard.questions.read import RunReading

ROOT = Path(__file__).resolve().parents[1]
REAL = ROOT.parent / "shared" / "samples" / "inspect" / "log__test_eval_log__log_streaming.eval"
OURS = ROOT / "tests" / "samples" / "formats" / "inspect" / "log.eval"
SAMPLES_DF = "import sys; from inspect_ai.analysis import samples_df; print(len(samples_df(sys.argv[1], quiet=True)))"


def make_inspect_log(path: Path, samples: int) -> None:
    """A log with the first sample of a real one, or of the one that ships, again and again under other ids."""
    with zipfile.ZipFile(REAL if REAL.is_file() else OURS) as log:
        names = log.namelist()
        header, start = json.loads(log.read("header.json")), log.read("_journal/start.json")
        sample = json.loads(log.read(next(name for name in names if name.startswith("samples/"))))
    header["eval"]["dataset"] = {**header["eval"].get("dataset", {}), "samples": samples, "sample_ids": None}
    header["results"] = {**header.get("results", {}), "total_samples": samples, "completed_samples": samples}
    summary = {key: sample[key] for key in ("input", "target", "scores") if key in sample}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as log:
        log.writestr("_journal/start.json", start)
        names_of = [{"id": number, "epoch": 1, "uuid": f"u{number:021d}"} for number in range(1, samples + 1)]
        for name in names_of:
            log.writestr(f"samples/{name['id']}_epoch_1.json", json.dumps(sample | name))
        log.writestr("summaries.json", json.dumps([summary | name for name in names_of]))
        log.writestr("header.json", json.dumps(header))


def cpu_seconds(commands: list[list[str]], repeats: int) -> list[float]:
    """The least CPU time of each command, taken in turn so that a slow moment of the machine meets them alike."""
    best = [float("inf")] * len(commands)
    for _ in range(repeats):
        for number, command in enumerate(commands):
            before = os.times()
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            after = os.times()
            used = after.children_user + after.children_system - before.children_user - before.children_system
            best[number] = min(best[number], used)
    return best


def read_command(path: Path, *more: str) -> list[str]:
    return [sys.executable, "-m", "steelyard", "read", str(path), "--quiet", "--json", *more]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows and one repeat")
    parser.add_argument("--inspect", help="a Python that has inspect_ai and pandas")
    options = parser.parse_args(arguments)
    share, repeats = (10, 1) if options.quick else (1, 3)
    with tempfile.TemporaryDirectory(prefix="steelyard-bench-") as scratch:
        log = Path(scratch, "log.eval")
        make_inspect_log(log, 20_000 // share)
        commands = [read_command(log)]
        if options.inspect:
            commands.append([options.inspect, "-c", SAMPLES_DF, str(log)])
        ours, *theirs = cpu_seconds(commands, repeats)
        print(f"Inspect log of {20_000 // share:,} samples: steelyard read {ours:.2f} s of CPU")
        if theirs:
            print(f"  samples_df {theirs[0]:.2f} s; ratio {ours / theirs[0]:.2f}")
        parquet, lines, out = (Path(scratch, name) for name in ("runs.parquet", "runs.jsonl", "out.parquet"))
        make_runs(1_000_000 // share, parquet)
        write_runs(RunReading([parquet]), lines)
        columns, text = cpu_seconds([read_command(path, "--out", str(out)) for path in (parquet, lines)], repeats)
        figures = f".parquet {columns:.1f} s, .jsonl {text:.1f} s of CPU; ratio {columns / text:.2f}"
        print(f"{1_000_000 // share:,} runs to Parquet: {figures}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

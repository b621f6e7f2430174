"""Google Benchmark, `go test -bench`, Criterion and hyperfine: their traps; and the laws of every timing format."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

import commands
from format_laws import mutated
from steelyard.errors import UnreadableFileError
from steelyard.files import parse_json, read_text
from steelyard.records import BenchmarkPlace, Timing
from steelyard.sources import OpenedFile, TimingFile, each_timing_format, read_timings
from timing_sides import at

Command = Callable[..., commands.Done]
SAMPLES = Path(__file__).parent.parent / "samples" / "speedup"
SIDES = {
    "google-benchmark": SAMPLES / "google-benchmark.json",
    "go-bench": SAMPLES / "go-bench.txt",
    "criterion": SAMPLES / "criterion",
    "hyperfine": SAMPLES / "hyperfine.json",
}
FILES = {
    "asv": SAMPLES / "asv" / "nop.json",
    "criterion": SAMPLES / "criterion" / "fill" / "new" / "sample.json",
    "fceval": SAMPLES / "fceval-results.json",
    "go-bench": SAMPLES / "go-bench.jsonl",
    "google-benchmark": SAMPLES / "google-benchmark.json",
    "hyperfine": SAMPLES / "hyperfine.json",
    "plain": SAMPLES / "plain.json",
    "pyperf": SAMPLES / "pyperf.json",
    "pytest-benchmark": SAMPLES / "pytest-benchmark.json",
}


def by_name(file: TimingFile) -> dict[str, Timing]:
    return {timing.name: timing for timing in file.timings}


def changed(tmp_path: Path, **rows: dict[str, Any]) -> Path:
    """The Google Benchmark sample with these rows instead of its own."""
    values = json.loads(SIDES["google-benchmark"].read_text())
    values["benchmarks"] = [{"name": name, **row} for name, row in rows.items()]
    path = tmp_path / "changed.json"
    path.write_text(json.dumps(values))
    return path


def test_google_benchmark_repetitions_are_samples_and_what_sums_them_up_is_not() -> None:
    timings = by_name(read_timings(SIDES["google-benchmark"]))
    assert set(timings) == {"BM_Fill/64", "BM_Sort", "BM_Broken"}  # neither _mean nor /repeats:3 names a benchmark
    fill = timings["BM_Fill/64"]
    assert fill.samples == (1.2e-07, 1.0e-07, 1.1e-07)  # the wall time in ns, not the 40 ns of CPU time
    assert fill.summary is not None
    assert fill.summary.median == 1.1e-07
    assert (fill.place, fill.params) == (BenchmarkPlace(None, None, "BM_Fill"), ("64",))
    assert timings["BM_Sort"].samples == (0.0025,)  # this row is in ms


def test_a_google_benchmark_that_broke_is_no_time_of_zero() -> None:
    broken = by_name(read_timings(SIDES["google-benchmark"]))["BM_Broken"]
    assert (broken.status, broken.samples) == ("failed", None)


def test_google_benchmark_skipped_and_aggregates_alone(tmp_path: Path) -> None:
    row = {"run_name": "BM_A", "run_type": "aggregate", "repetitions": 5, "time_unit": "us"}
    path = changed(
        tmp_path,
        BM_A_mean=row | {"aggregate_name": "mean", "real_time": 9.0},
        BM_A_median=row | {"aggregate_name": "median", "real_time": 8.0},
        BM_B={"run_type": "iteration", "skipped": True, "skip_message": "not here", "real_time": 0, "time_unit": "ns"},
    )
    timings = by_name(read_timings(path))
    assert (timings["BM_A"].samples, timings["BM_A"].status) == (None, "ok")
    assert timings["BM_A"].summary is not None
    assert (timings["BM_A"].summary.median, timings["BM_A"].summary.rounds) == (8e-06, 5)
    assert (timings["BM_B"].samples, timings["BM_B"].status) == (None, "skipped")


def test_google_benchmark_of_before_run_types_keeps_its_aggregates_apart(tmp_path: Path) -> None:
    row = {"time_unit": "ns", "iterations": 5}
    path = changed(tmp_path, BM_A=row | {"real_time": 4.0}, BM_A_mean=row | {"real_time": 9.0}, BM_B_mean=row)
    file = read_timings(path)
    assert by_name(file)["BM_A"].samples == (4e-09,)
    assert [rejected.reason for rejected in file.rejected] == ["benchmark 2: real_time is not a number"]


def test_a_google_benchmark_in_an_unknown_unit_is_rejected(tmp_path: Path) -> None:
    (rejected,) = read_timings(changed(tmp_path, BM_A={"real_time": 1.0, "time_unit": "fortnight"})).rejected
    assert "'fortnight'" in rejected.reason


def test_go_lines_of_one_name_are_its_samples_and_processors_no_part_of_it() -> None:
    timings = by_name(read_timings(SIDES["go-bench"]))
    fill = timings["example.org/shelf.BenchmarkFill"]
    assert fill.samples == (1.2e-06, 1.1e-06)
    assert fill.environment == "linux, amd64, Example CPU, GOMAXPROCS=4"
    sort = timings["example.org/shelf.BenchmarkSort/size=8"]
    assert (sort.place, sort.params) == (BenchmarkPlace("example.org/shelf", None, "BenchmarkSort"), ("size=8",))
    assert timings["example.org/shelf.BenchmarkRate"].samples == (2e-06,)  # MB/s and own units are passed over
    assert timings["example.org/shelf.BenchmarkCount"].unit == "shelves/op"  # no time at all


def test_a_number_at_the_end_of_a_go_name_stays_where_it_tells_benchmarks_apart(tmp_path: Path) -> None:
    path = tmp_path / "bench.txt"
    path.write_text("BenchmarkA\t10\t5 ns/op\nBenchmarkA-2\t10\t6 ns/op\n")  # -cpu 1,2
    assert {name: timing.samples for name, timing in by_name(read_timings(path)).items()} == {
        "BenchmarkA": (5e-09,),
        "BenchmarkA-2": (6e-09,),
    }
    path.write_text("BenchmarkA/n-8\t10\t5 ns/op\nBenchmarkA/n-16\t10\t6 ns/op\n")  # one processor, which go leaves out
    assert set(by_name(read_timings(path))) == {"BenchmarkA/n-8", "BenchmarkA/n-16"}


def test_go_json_puts_pieces_of_a_line_together_and_tells_what_has_no_result() -> None:
    timings = by_name(read_timings(FILES["go-bench"]))
    place = "example.org/shelf.Benchmark"
    assert timings[f"{place}Fill"].samples == (1.2e-06,)  # the bare name before the line is no second benchmark
    assert timings[f"{place}Sort/size=8"].samples == (2.505e-07,)
    statuses = {name.removeprefix(place): timing.status for name, timing in timings.items() if timing.status != "ok"}
    assert statuses == {"Skipped": "skipped", "Quiet": "missing", "Broken": "failed"}  # Sort only holds size=8


def test_a_go_line_that_breaks_off_is_rejected(tmp_path: Path) -> None:
    path = tmp_path / "bench.txt"
    path.write_text("BenchmarkA-2\t10\t5 ns/op\nBenchmarkB-2\t10\t56 ns/op")
    file = read_timings(path)
    assert [timing.name for timing in file.timings if timing.samples] == ["BenchmarkA"]
    assert [rejected.reason for rejected in file.rejected] == ["the last line (BenchmarkB-2) is truncated"]


def test_what_only_begins_like_a_go_benchmark_is_none(tmp_path: Path) -> None:
    path = tmp_path / "bench.txt"
    path.write_text("Benchmarking 10 5 things\nBenchmarks\nBenchmarkA-2\t10\t5 ns/op\n")
    assert set(by_name(read_timings(path))) == {"BenchmarkA"}


def test_criterion_times_are_totals_of_many_iterations() -> None:
    file = read_timings(SIDES["criterion"])
    assert (file.format, file.rejected) == ("criterion", ())
    timings = by_name(file)
    assert set(timings) == {"fill", "shelf/sort/8"}
    assert timings["fill"].samples == (5e-08, 4.5e-08, 6e-08)  # 5,000 ns for 100; base/ is the run before
    assert timings["shelf/sort/8"].place == BenchmarkPlace("shelf", None, "sort")
    assert timings["shelf/sort/8"].params == ("8",)


@pytest.mark.parametrize(
    "sample",
    ['{"iters": [1, 2], "times": [1]}', '{"iters": [], "times": []}', '{"iters": [0], "times": [5]}', "{", "[]"],
)
def test_a_criterion_sample_that_is_none_is_rejected_and_the_others_stay(tmp_path: Path, sample: str) -> None:
    shutil.copytree(SIDES["criterion"], tmp_path / "criterion")
    (tmp_path / "criterion" / "fill" / "new" / "sample.json").write_text(sample)
    file = read_timings(tmp_path / "criterion")
    assert set(by_name(file)) == {"shelf/sort/8"}
    assert [Path(rejected.path).parts[-3] for rejected in file.rejected] == ["fill"]


def test_criterion_without_its_description_is_named_by_its_folder(tmp_path: Path) -> None:
    shutil.copytree(SIDES["criterion"], tmp_path / "criterion")
    (tmp_path / "criterion" / "fill" / "new" / "benchmark.json").unlink()
    (tmp_path / "criterion" / "shelf" / "sort" / "8" / "new" / "benchmark.json").write_text("{")
    file = read_timings(tmp_path / "criterion")
    assert {timing.name for timing in file.timings} == {"fill", "8"}
    assert [finding.code for finding in file.findings] == ["unreadable_benchmark_list"]


def test_hyperfine_times_of_a_command_that_failed_do_not_count() -> None:
    timings = by_name(read_timings(SIDES["hyperfine"]))
    packed = timings["pack --level 1(level=1)"]
    assert (packed.samples, packed.params, packed.unit) == ((0.4, 0.15, 0.2), ("level=1",), "seconds")
    assert timings["pack --once"].samples == (0.3,)  # its stddev is null
    assert timings["pack --broken"].status == "failed"  # one of two exit codes is 1


@pytest.mark.parametrize("ending", ["csv", "json"])
def test_times_of_ones_own_are_names_and_seconds(ending: str) -> None:
    timings = by_name(read_timings(SAMPLES / f"plain.{ending}"))
    assert {name: timing.samples for name, timing in timings.items()} == {
        "shelf.time_fill": (0.12, 0.11, 0.13),
        "shelf.time_sort(8)": (0.25,),
    }
    assert timings["shelf.time_sort(8)"].place == BenchmarkPlace("shelf", None, "time_sort")


def test_a_table_of_seconds_may_come_from_a_spreadsheet_and_names_its_bad_rows(tmp_path: Path) -> None:
    path = tmp_path / "times.csv"
    path.write_text("\ufeffmachine;benchmark;seconds\nx;parse;0,25\nx;parse;slow\nx;;1\nx\n\nx;parse;0,5", "utf-8")
    file = read_timings(path)
    assert {name: timing.samples for name, timing in by_name(file).items()} == {"parse": (0.25, 0.5)}
    assert [rejected.line for rejected in file.rejected] == [3, 4, 5]
    assert [finding.code for finding in file.findings] == ["no_line_end"]


@pytest.mark.parametrize("text", ["name,millis\na,1\n", '{"a": "fast"}', '{"a": [true]}', '{"a": []}', "{}", "[1]"])
def test_what_are_no_timings_is_refused_with_an_example(tmp_path: Path, text: str) -> None:
    path = tmp_path / "times.txt"
    path.write_text(text, "utf-8")
    with pytest.raises(UnreadableFileError) as told:
        read_timings(path)
    assert 'CSV with the header name,seconds and one line per sample, or JSON {"parse": [0.19, 0.21]}' in str(
        told.value.hint
    )


@pytest.mark.parametrize("name", sorted(SIDES))
def test_speedup_weighs_what_the_tool_wrote(name: str, command: Command) -> None:
    side = str(SIDES[name])
    done = command("--nop", side, "--oracle", side, "--agent", f"tool:model={side}", "--json")
    payload = json.loads(done.stdout)["attempts"][0]
    assert done.status == 0
    assert payload["task_speedup"] == 1.0
    valid = [
        timing for timing in read_timings(SIDES[name]).timings if timing.status == "ok" and timing.unit == "seconds"
    ]
    assert payload["num_valid_benchmarks"] == len(valid) > 0


def test_a_folder_of_tasks_takes_text_files(tmp_path: Path, command: Command) -> None:
    task = tmp_path / "t1"
    (task / "agents" / "tool").mkdir(parents=True)
    for place in ("nop.txt", "oracle.txt", "agents/tool/model.txt"):
        shutil.copy(SIDES["go-bench"], task / place)
    done = command(str(tmp_path), "--json")
    assert done.status == 0
    assert at(json.loads(done.stdout), "t1")["num_valid_benchmarks"] == 3


@pytest.mark.parametrize("name", sorted(FILES))
def test_every_timing_sample_is_recognized_by_its_format_and_by_no_other(name: str) -> None:
    text = read_text(FILES[name])
    values = parse_json(text, FILES[name]) if FILES[name].suffix == ".json" else None
    recognizing = {
        declared.name
        for declared in each_timing_format()
        for opened in (OpenedFile(FILES[name], text, None), OpenedFile(FILES[name], text, values))
        if declared.recognizes(opened)
    }
    assert recognizing == {name}
    assert {*FILES, "native"} == {declared.name for declared in each_timing_format()}


@pytest.mark.parametrize("name", sorted(set(FILES) - {"fceval"}))
def test_a_timing_file_cut_anywhere_gives_a_true_prefix_or_is_refused(name: str, tmp_path: Path) -> None:
    content = FILES[name].read_bytes().rstrip()
    whole = by_name(read_timings(FILES[name]))
    path = tmp_path / FILES[name].name
    for end in range(0, len(content), max(1, len(content) // 80)):
        path.write_bytes(content[:end])
        try:
            timings = by_name(read_timings(path))
        except UnreadableFileError:
            continue
        for key, timing in timings.items():
            samples = (whole[key].samples if key in whole else None) or ()
            assert (timing.samples or ()) == samples[: len(timing.samples or ())], f"cut at {end}"


@given(content=mutated(sorted(FILES.values())))
@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
def test_a_mutated_timing_file_is_read_or_refused_and_never_a_crash(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "mutated.json"
    path.write_bytes(content)
    with suppress(UnreadableFileError):
        file = read_timings(path)
        assert file == read_timings(path)
        assert all(timing.name for timing in file.timings)

"""Every timing format gives the same record, and what cannot be read is refused by name."""

from __future__ import annotations

import gzip
import json
import math
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from steelyard.errors import UnreadableFileError
from steelyard.records import BenchmarkPlace, Missing, Timing, Usage, place_of
from steelyard.sources import (
    TimingFile,
    each_timing_format,
    open_timings,
    read_timings,
    read_trials,
    trajectory_of,
    usage_of,
)
from steelyard.sources.formats._trajectories import LoggedUsage, Trajectory

SAMPLES = Path(__file__).parent.parent / "samples" / "speedup"


def by_name(file: TimingFile) -> dict[str, Timing]:
    return {timing.name: timing for timing in file.timings}


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("m.C.time_f(param)", BenchmarkPlace("m", "C", "time_f")),
        ("pkg.sub.mod.C.time_f(1, 'x.y')", BenchmarkPlace("pkg.sub.mod", "C", "time_f")),
        ("mod.time_f", BenchmarkPlace("mod", None, "time_f")),
        ("time_f", BenchmarkPlace(None, None, "time_f")),
        ("mod.lower_suite.time_x", BenchmarkPlace("mod.lower_suite", None, "time_x")),
        ("C.time_f", BenchmarkPlace("C", None, "time_f")),  # two parts are never a class
        ("a.B.C.time_x", BenchmarkPlace("a.B", "C", "time_x")),
        ("m.C.time_f(1", BenchmarkPlace("m", "C", "time_f")),  # the text from the first bracket on is parameters
        ("", BenchmarkPlace(None, None, None)),
    ],
)
def test_a_name_tells_its_place(name: str, place: BenchmarkPlace) -> None:
    assert place_of(name) == place


def test_asv_null_is_failed_and_nan_is_skipped() -> None:
    found = by_name(read_timings(SAMPLES / "asv" / "nop.json"))
    assert found["suite.Sort.time_broken(1000, 'a')"].status == "failed"
    assert found["suite.small.time_s(2)"].status == "skipped"
    assert found["other.time_all_failed(1)"].status == "failed"  # a null cell is null for every parameter
    assert found["suite.time_plain"].status == "ok"


def test_asv_parameters_are_a_product_and_values_may_hold_brackets() -> None:
    found = by_name(read_timings(SAMPLES / "asv" / "nop.json"))
    names = [name for name in found if name.startswith("suite.Sort.time_sort")]
    assert names == [f"suite.Sort.time_sort({n}, {kind})" for n in (10, 1000) for kind in ("'a'", "'b(c)'")]
    assert found[names[1]].params == ("10", "'b(c)'")


def test_asv_metadata_knows_a_class_that_the_name_hides() -> None:
    found = by_name(read_timings(SAMPLES / "asv" / "nop.json"))
    assert found["suite.small.time_s(1)"].place == BenchmarkPlace("suite", "small", "time_s")
    assert found["suite.time_plain"].place == BenchmarkPlace("suite", None, "time_plain")


def test_asv_units_version_and_environment_are_kept() -> None:
    found = by_name(read_timings(SAMPLES / "asv" / "nop.json"))
    assert found["suite.Sort.peakmem_sort(10, 'a')"].unit == "bytes"
    assert found["suite.time_plain"].unit == "seconds"
    assert found["suite.time_plain"].code_version == "v4"
    assert found["suite.time_plain"].environment == "bench/virtualenv-py3.12"
    assert len(found["suite.time_plain"].samples or ()) == 8


def test_asv_format_1_has_numbers_or_tables() -> None:
    found = by_name(read_timings(SAMPLES / "asv" / "format-1.json"))
    assert found["time_units.time_parse"].summary is not None
    assert found["time_units.time_parse"].summary.median == 0.00015
    assert found["time_units.mem_unit"].unit == "bytes"
    assert found["time_units.time_gone"].status == "failed"
    first = found["params.Suite.time_it(1)"]
    assert (first.samples, first.summary and first.summary.ci99_low) == ((0.4, 0.5, 0.6), 0.4)
    assert found["params.Suite.time_it(2)"].status == "failed"
    assert found["params.time_flat"].samples == (0.2, 0.3)
    bare = [found[f"params.time_bare({n})"] for n in (1, 2, 3)]  # a table without statistics
    assert [(timing.status, timing.summary and timing.summary.median) for timing in bare] == [
        ("ok", 1),
        ("ok", 4),
        ("failed", None),
    ]


def test_a_file_that_is_no_result_is_refused_by_name() -> None:
    with pytest.raises(UnreadableFileError, match=r"malformed\.json: not JSON"):
        read_timings(SAMPLES / "asv" / "malformed.json")


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ([[1.0], [["1", "2"]]], "result has 1 values for 2"),
        ([[1.0, 2.0], "x"], "params is not a list of lists"),
        ("text", "is not a list"),
        (
            [[1.0], [], None, None, None, None, None, None, None, None, None, [[1.0], [2.0]]],
            "samples has 2 values for 1",
        ),
        ([[], [[str(i) for i in range(2000)], [str(i) for i in range(2000)]]], "more than"),
    ],
)
def test_a_malformed_asv_row_is_set_aside_and_the_others_stay(tmp_path: Path, row: object, reason: str) -> None:
    values = json.loads((SAMPLES / "asv" / "nop.json").read_text())
    values["results"]["bad.time_row"] = row
    path = tmp_path / "result.json"
    path.write_text(json.dumps(values))
    file = read_timings(path)
    assert [one.reason for one in file.rejected if reason in one.reason and "bad.time_row" in one.reason]
    assert "suite.time_plain" in by_name(file)


@pytest.mark.parametrize("change", [{"version": 3}, {"result_columns": None}])
def test_an_unknown_asv_format_is_refused(tmp_path: Path, change: dict[str, object]) -> None:
    values = json.loads((SAMPLES / "asv" / "nop.json").read_text()) | change
    path = tmp_path / "result.json"
    path.write_text(json.dumps(values))
    with pytest.raises(UnreadableFileError):
        read_timings(path)


def test_pyperf_keeps_processes_and_leaves_calibration_out() -> None:
    timing = read_timings(SAMPLES / "pyperf.json").timings[0]
    assert timing.name == "m.Suite.time_one"  # named at the top of the file
    assert timing.process_sizes == (3,) * 6
    assert len(timing.samples or ()) == 18


def test_pyperf_units_tell_memory_from_time() -> None:
    found = by_name(read_timings(SAMPLES / "pyperf-two.json"))
    assert (found["m.Suite.time_one"].unit, found["memory"].unit) == ("seconds", "bytes")


def test_a_gzip_file_reads_as_the_plain_one(tmp_path: Path) -> None:
    plain = (SAMPLES / "pyperf.json").read_bytes()
    (tmp_path / "out.json.gz").write_bytes(gzip.compress(plain))
    assert read_timings(tmp_path / "out.json.gz").timings == read_timings(SAMPLES / "pyperf.json").timings


def test_a_gzip_file_of_several_parts_is_read_whole(tmp_path: Path) -> None:
    plain = (SAMPLES / "pyperf.json").read_bytes()
    (tmp_path / "out.json.gz").write_bytes(gzip.compress(plain[:100]) + gzip.compress(plain[100:]))
    assert read_timings(tmp_path / "out.json.gz").timings == read_timings(SAMPLES / "pyperf.json").timings


def test_a_file_that_unpacks_to_too_much_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STEELYARD_MAX_FILE_BYTES", "10000")
    (tmp_path / "bomb.json.gz").write_bytes(gzip.compress(b" " * 1_000_000))
    with pytest.raises(UnreadableFileError, match="larger than"):
        read_timings(tmp_path / "bomb.json.gz")


def test_a_gzip_file_cut_off_is_refused(tmp_path: Path) -> None:
    packed = gzip.compress((SAMPLES / "pyperf.json").read_bytes())
    for cut in (3, len(packed) // 2, len(packed) - 1):
        (tmp_path / "out.json.gz").write_bytes(packed[:cut])
        with pytest.raises(UnreadableFileError):
            read_timings(tmp_path / "out.json.gz")


def test_pytest_benchmark_reads_with_and_without_samples() -> None:
    full = by_name(read_timings(SAMPLES / "pytest-benchmark.json"))
    saved = by_name(read_timings(SAMPLES / "pytest-benchmark-saved.json"))
    name = "tests/test_b.py::test_sum[10]"
    assert full[name].place == BenchmarkPlace("tests.test_b", None, "test_sum")
    assert full["tests/test_b.py::TestC::test_m"].place == BenchmarkPlace("tests.test_b", "TestC", "test_m")
    assert len(full[name].samples or ()) == 5
    assert saved[name].samples is None
    assert saved[name].summary == full[name].summary
    assert saved[name].status == "ok"


def test_fceval_states_speedups_of_three_sides() -> None:
    opened, _ = open_timings(SAMPLES / "fceval-results.json")
    file = read_trials(opened)
    agent = file.trials[0].agents["tool:model-1.5"]
    assert {timing.name: timing.speedup for timing in agent.agent}["m.A.time_x(2)"] == 8.0
    statuses = {timing.name: timing.status for timing in agent.oracle or ()}
    assert statuses["n.B.time_y"] == "missing"  # a speedup of 0 is none
    assert agent.tests is not None
    assert agent.tests.passed == 10
    assert "oracle:oracle" not in file.trials[0].agents
    assert file.rejected == ()
    unmeasured = file.trials[-1]  # is_resolved is null, and nothing was measured
    assert unmeasured.task == "t3"
    assert isinstance(unmeasured.agents["tool:model-1.5"].harness, Missing)
    assert unmeasured.agents["tool:model-1.5"].agent == ()


def test_fceval_log_gives_its_tests_to_the_last_agent_only() -> None:
    opened, _ = open_timings(SAMPLES / "fceval.log")
    trial = read_trials(opened).trials[0]
    agent = trial.agents["tool:model-1.5"]
    assert trial.task == "fceval"
    assert agent.tests is not None
    assert agent.snapshot is not None
    assert agent.snapshot.status == "passed"  # a failure from before the change does not count
    assert agent.snapshot.pass_to_fail == 0


def test_a_log_without_tests_leaves_success_unknown(tmp_path: Path) -> None:
    text = (SAMPLES / "fceval.log").read_text()
    path = tmp_path / "t.log"
    path.write_text(text[text.index("FORMULACODE_RESULT_START") :])
    assert read_trials(open_timings(path)[0]).trials[0].agents["tool:model-1.5"].tests is None


def test_a_log_cut_inside_a_block_is_refused(tmp_path: Path) -> None:
    text = (SAMPLES / "fceval.log").read_text()
    path = tmp_path / "cut.log"
    for end in (text.index("FORMULACODE_RESULT_END"), text.index("FORMULACODE_SNAPSHOT_END")):
        path.write_text(text[:end])
        with pytest.raises(UnreadableFileError, match="truncated"):
            read_trials(open_timings(path)[0])


def test_an_fceval_file_is_no_single_side() -> None:
    with pytest.raises(UnreadableFileError, match="several agents"):
        read_timings(SAMPLES / "fceval-results.json")


def test_interactions_are_counted_in_the_json_log_first() -> None:
    both = [SAMPLES / "agent.cast", SAMPLES / "agent-log.json"]
    assert trajectory_of(both) == Trajectory(3, "json_log")  # two actions and a message; the observation is no act
    assert trajectory_of(both[:1]) == Trajectory(2, "cast_input")


def test_accumulated_tokens_come_from_the_last_entry_that_states_them(tmp_path: Path) -> None:
    def entry(prompt: int, at: str) -> dict[str, object]:
        tokens = {"prompt_tokens": prompt, "completion_tokens": 20, "cache_read_tokens": 100, "cache_write_tokens": 10}
        return {"source": "agent", "timestamp": at, "llm_metrics": {"accumulated_token_usage": tokens}}

    log = [entry(200, "2026-01-01T00:00:00"), entry(1000, "2026-01-02T00:00:00"), {"source": "agent"}]
    (tmp_path / "log.json").write_text(json.dumps(log))
    found = usage_of([tmp_path / "log.json"])
    assert isinstance(found, LoggedUsage)
    assert (found.usage.input_tokens, found.usage.output_tokens) == (890, 20)  # 1000 less 100 read and 10 written
    assert (found.usage.cache_read_tokens, found.usage.cache_write_5m_tokens) == (100, 10)
    assert found.at is not None
    assert found.at.isoformat() == "2026-01-02T00:00:00+00:00"
    assert isinstance(usage_of([SAMPLES / "agent-log.json"]), Missing)


def test_more_cached_tokens_than_the_prompt_leave_the_rest_of_it_unknown(tmp_path: Path) -> None:
    tokens = {"prompt_tokens": 50, "completion_tokens": 20, "cache_read_tokens": 100}
    (tmp_path / "log.json").write_text(json.dumps([{"llm_metrics": {"accumulated_token_usage": tokens}}]))
    found = usage_of([tmp_path / "log.json"])
    assert isinstance(found, LoggedUsage)
    assert found.usage == Usage(output_tokens=20, cache_read_tokens=100)  # 50 less 100 is no count
    assert [finding.code for finding in found.findings] == ["token_contradiction"]


def test_a_recording_without_input_has_no_length() -> None:
    assert trajectory_of([SAMPLES / "output-only.cast"]) == Missing("the recording has no input events")
    assert isinstance(trajectory_of([]), Missing)


def test_a_plain_list_of_events_counts_them_all(tmp_path: Path) -> None:
    (tmp_path / "log.json").write_text(json.dumps([{"turn": 1}, {"turn": 2}]))
    assert trajectory_of([tmp_path / "log.json"]) == Trajectory(2, "json_log")


def test_copied_steps_of_a_trajectory_are_not_counted_again(tmp_path: Path) -> None:
    steps = [{"source": "user"}, {"source": "agent", "observation": {}}, {"source": "agent", "is_copied_context": True}]
    (tmp_path / "trajectory.json").write_text(json.dumps({"steps": steps}))
    assert trajectory_of([tmp_path / "trajectory.json"]) == Trajectory(1, "json_log")


def test_every_timing_format_has_a_name_and_a_title() -> None:
    names = [source.name for source in each_timing_format()]
    assert names == sorted(set(names))
    assert all(source.title for source in each_timing_format())


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.floats() | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "results",
                    "commit_hash",
                    "version",
                    "result_columns",
                    "benchmarks",
                    "runs",
                    "values",
                    "metadata",
                    "stats",
                    "fullname",
                    "machine_info",
                    "parser_extra_metrics",
                    "agent_metrics_by_agent",
                    "task",
                    "params",
                    "name",
                    "m.time_a",
                ]
            ),
            inner,
            max_size=5,
        )
    ),
    max_leaves=12,
)


@given(values=JSON)
def test_any_json_is_read_or_refused_and_never_a_crash(
    values: object, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("any") / "file.json"
    path.write_text(json.dumps(values))
    try:
        opened, source = open_timings(path)
        file = source.read(opened) if source.name != "fceval" else read_trials(opened)
    except UnreadableFileError as refusal:
        read_from = refusal.where
    else:
        read_from = file.path
    assert read_from == str(path)


@given(cut=st.integers(0, 20_000))
def test_a_file_cut_anywhere_is_refused(cut: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    content = (SAMPLES / "asv" / "nop.json").read_bytes().rstrip()
    path = tmp_path_factory.mktemp("cut") / "file.json"
    path.write_bytes(content[: cut % len(content)])
    with pytest.raises(UnreadableFileError):
        read_timings(path)


def test_samples_that_are_no_numbers_are_left_out() -> None:
    timing = Timing(name="a", samples=(1.0, math.nan, math.inf))
    assert timing.usable_samples == (1.0,)


def test_processes_must_add_up_to_the_samples() -> None:
    with pytest.raises(ValueError, match="do not sum to"):
        Timing(name="a", samples=(1.0, 2.0), process_sizes=(3,))


@pytest.mark.parametrize("content", [b"not JSON", b"\xff\xfe", b'{"a": ' * 3000, b""])
@pytest.mark.parametrize("folder", [".", ".."], ids=["beside", "above"])
def test_an_unreadable_list_of_benchmarks_is_a_finding_and_names_say_what_they_can(
    tmp_path: Path, folder: str, content: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "results" / "machine"
    place.mkdir(parents=True)
    (place / "nop.json").write_bytes((SAMPLES / "asv" / "nop.json").read_bytes())
    (place / folder / "benchmarks.json").write_bytes(content)
    monkeypatch.chdir(place)
    for path in (place / "nop.json", Path("nop.json")):  # however the file is named
        file = read_timings(path)
        (finding,) = file.findings
        assert (finding.code, finding.severity, file.rejected) == ("unreadable_benchmark_list", "warning", ())
        assert finding.where is not None
        assert finding.where.endswith("benchmarks.json")
        # without the list that says so, small is no class
        assert by_name(file)["suite.small.time_s(1)"].place == BenchmarkPlace("suite.small", None, "time_s")

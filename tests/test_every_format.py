"""Laws that hold for every source, whatever its format."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from format_laws import check_counts, check_reading, check_run
from steelyard.formats import PlacedRun, _workers, head_of, log_formats
from steelyard.records import Call, Finding, Refused, Rejected, Run, Usage, decode_run, encode_run
from steelyard.tables import gather

SAMPLES = Path(__file__).parent / "samples" / "formats"
FILES = sorted(path for path in SAMPLES.rglob("*") if path.is_file() and path.name != "ORIGIN.md")
NAMES = [path.relative_to(SAMPLES).as_posix() for path in FILES]
CUTS = 60
"""At how many places a sample is cut, besides its last 16 bytes."""


def outcome(path: Path) -> tuple[list[Run], list[Rejected], list[Finding]]:
    """What a file named by the user gives: runs without their place, what was set aside, findings."""
    items = list(gather([path], workers=1))
    runs = [msgspec.structs.replace(item.run, source=None) for item in items if isinstance(item, PlacedRun)]
    rejected = [item for item in items if isinstance(item, Rejected)]
    return runs, rejected, [item for item in items if isinstance(item, Finding)]


@pytest.mark.parametrize("name", sorted(log_formats()))
def test_every_source_has_a_sample_of_ours(name: str) -> None:
    assert (SAMPLES / name).is_dir()


@pytest.mark.parametrize("path", FILES, ids=NAMES)
def test_every_sample_is_recognized_by_its_source_and_by_no_other(path: Path) -> None:
    head = head_of(path)
    who = [source for source in log_formats().values() if source.recognizes(head)]
    normal = [source.name for source in who if source.priority == "normal"]
    expected = path.relative_to(SAMPLES).parts[0]
    assert (
        normal == [expected] if log_formats()[expected].priority == "normal" else not normal and who[0].name == expected
    )


@pytest.mark.parametrize("path", FILES, ids=NAMES)
def test_every_run_is_valid_and_says_where_it_is_from(path: Path) -> None:
    for item in gather([path]):
        if isinstance(item, PlacedRun):
            assert decode_run(encode_run(item.run)) == item.run
            assert item.path == path.as_posix()


@pytest.mark.parametrize("path", [path for path in FILES if not path.parts[-2].startswith("runs-")], ids=str)
def test_every_read_run_says_how_its_tokens_and_cost_came(path: Path) -> None:
    for item in gather([path]):
        if isinstance(item, PlacedRun):
            assert item.run.source is not None
            assert item.run.source.format == path.relative_to(SAMPLES).parts[0]
            how = item.run.provenance or {}
            assert (item.run.usage is None) == (how.get("usage", "unknown") == "unknown")
            assert (item.run.cost_usd is None) == (how.get("cost_usd", "unknown") == "unknown")


@pytest.mark.parametrize("path", FILES, ids=NAMES)
def test_a_file_cut_at_any_byte_gives_a_true_prefix_or_an_error(path: Path, tmp_path: Path) -> None:
    data = path.read_bytes()
    full = outcome(path)[0]
    cut = tmp_path / path.name
    for end in _cuts(len(data)):
        cut.write_bytes(data[:end])
        runs, rejected, findings = outcome(cut)
        if any(finding.code == "no_line_end" for finding in findings):
            continue  # the file and the line are named: nothing tells a short last cell from a whole one
        allowed = [full, []]
        for whole in (data[: data.rfind(b"\n", 0, end) + 1], data[:end] + b"\n"):
            cut.write_bytes(whole)
            again = outcome(cut)
            allowed.append(again[0])
        assert _unlabeled(runs) in [_unlabeled(one) for one in allowed], f"cut at {end}"
        if not runs and full and not (end == 0 or data[:end].isspace()):
            assert rejected or findings or path.suffix == ".csv" or data[:end].endswith(b"\n"), (
                f"cut at {end} says nothing"
            )


def _cuts(size: int) -> list[int]:
    return sorted({*range(0, size, max(1, size // CUTS)), *range(max(0, size - 16), size)})


def _unlabeled(runs: list[Run]) -> list[bytes]:
    return [encode_run(msgspec.structs.replace(run, id=None)) for run in runs]


@pytest.mark.parametrize("path", FILES, ids=NAMES)
def test_reading_twice_gives_the_same(path: Path) -> None:
    assert [repr(item) for item in gather([path])] == [repr(item) for item in gather([path])]


def test_the_order_of_paths_does_not_matter() -> None:
    folders = sorted(path for path in SAMPLES.iterdir() if path.is_dir())
    once = sorted(encode_run(item.run) for item in gather(folders) if isinstance(item, PlacedRun))
    again = sorted(encode_run(item.run) for item in gather(folders[::-1]) if isinstance(item, PlacedRun))
    assert once == again
    assert len(once) > 40


def test_several_processes_give_what_one_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    alone = [repr(item) for item in gather([SAMPLES], workers=1)]
    monkeypatch.setattr(_workers, "WORTH_IT_BYTES", 0)
    monkeypatch.setattr(_workers, "BATCH_BYTES", 3_000)
    assert [repr(item) for item in gather([SAMPLES], workers=2)] == alone


def test_what_a_worker_leaves_undone_when_it_dies_is_read_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    alone = [repr(item) for item in gather([SAMPLES], workers=1)]
    monkeypatch.setattr(_workers, "WORTH_IT_BYTES", 0)
    monkeypatch.setattr(_workers, "BATCH_BYTES", 3_000)
    once_only = "from steelyard.formats import _workers as w; f = w._receive; left = [1, 1]"
    dies = f"{once_only}; w._receive = lambda pipe: f(pipe) if left and left.pop() else exit(9); w.work()"
    monkeypatch.setattr(_workers, "COMMAND", ("-c", dies))
    assert [repr(item) for item in gather([SAMPLES], workers=3)] == alone


@pytest.mark.parametrize(
    "run",
    [
        Run(task="t", usage=Usage(input_tokens=-1)),
        Run(task="t", calls=(Call(usage=Usage(output_tokens=-1)),)),
        Run(task="t", cost_usd=-0.5),
        Run(task=""),
    ],
)
def test_the_law_of_valid_runs_can_fail(run: Run) -> None:
    with pytest.raises((AssertionError, Refused)):
        check_run(run)


def test_the_law_of_counts_can_fail() -> None:
    check_counts([Run(task="t")], b"{}")
    with pytest.raises(AssertionError):
        check_counts([Run(task="t", calls=(Call(),) * 3)], b"{}")
    with pytest.raises(AssertionError):
        check_counts([Run(task="t")] * 3, b"{}")


BROKEN = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


STARTS = (
    b"",
    b"<",
    b"<?xml ",
    b"<!--",
    b"{",
    b"[",
    b'{"type":',
    b"task,",
    b"PK\x03\x04",
    b"\x1f\x8b",
    b"\x28\xb5\x2f\xfd",
)
"""What makes a source or an unpacker look further."""


@given(start=st.sampled_from(STARTS), data=st.binary(max_size=400))
@BROKEN
def test_random_bytes_keep_the_laws(tmp_path: Path, start: bytes, data: bytes) -> None:
    path = tmp_path / "random"
    path.write_bytes(start + data)
    check_reading(path)


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    """A sample with a few stretches overwritten, removed, repeated or swapped for other JSON."""
    data = bytearray(draw(st.sampled_from([path.read_bytes() for path in FILES if path.stat().st_size < 20_000])))
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, max(0, len(data) - 1)))
        length = draw(st.integers(0, 12))
        change = draw(st.sampled_from(["overwrite", "remove", "repeat", "json"]))
        if change == "overwrite":
            data[at : at + length] = draw(st.binary(min_size=length, max_size=length))
        elif change == "remove":
            del data[at : at + length]
        elif change == "repeat":
            data[at:at] = data[at : at + length] * draw(st.integers(1, 3))
        else:
            value = draw(
                st.sampled_from([b"null", b"-1", b"1e400", b'""', b"[]", b"{}", b"true", b"99999999999999999999"])
            )
            end = data.find(b",", at)
            start = data.rfind(b":", 0, at) + 1
            if start and end > start:
                data[start:end] = value
    return bytes(data)


@given(data=mutated())
@BROKEN
def test_mutated_samples_keep_the_laws(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "mutated"
    path.write_bytes(data)
    check_reading(path)


@pytest.mark.long
@given(data=mutated())
@settings(BROKEN, max_examples=20_000)
def test_many_mutated_samples_keep_the_laws(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "mutated"
    path.write_bytes(data)
    check_reading(path)

"""Broken inputs are read as far as they go, or refused by name: no reader crashes, hangs or takes 300 MB."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from format_laws import check_reading, outcome
from mutated_inputs import MAX_BYTES, Tried, try_inputs
from steelyard.errors import UnreadableFileError
from steelyard.runner import load_plan
from steelyard.sources import read_timings

SCRIPT = Path(__file__).parent / "support" / "mutated_inputs.py"


def told_by_a_process(count: int, seed: int) -> str:
    """What a process of its own says, whose memory is that of the readers alone."""
    command = [sys.executable, str(SCRIPT), "--count", str(count), "--seed", str(seed)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=7_200)
    assert done.returncode == 0, (done.stdout + done.stderr)[-3_000:]
    return done.stdout.splitlines()[-1]


def test_no_reader_breaks() -> None:
    told = re.match(r"1,500 of 1,500 inputs, ([\d,]+) refused whole", told_by_a_process(1_500, 7))
    assert told is not None
    assert int(told[1].replace(",", "")) > 100


def test_a_reader_that_breaks_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def breaking(path: Path) -> None:
        json.loads(path.read_bytes())

    monkeypatch.setattr("mutated_inputs.read_timings", breaking)
    assert [line.partition(":")[0] for line in try_inputs(200, 7, tmp_path).broken][:1] == ["timings"]


@pytest.mark.long
@pytest.mark.parametrize("seed", range(20))
def test_a_million_inputs_break_no_reader(seed: int) -> None:
    """Twenty processes of 50,000 inputs each, every one of which ends when it has 300 MB."""
    assert told_by_a_process(50_000, 100 + seed).startswith("50,000 of 50,000")


def test_the_memory_of_the_process_is_seen() -> None:
    assert 10 << 20 < Tried().max_bytes < 100 * MAX_BYTES


def test_calls_of_a_session_with_a_long_name_have_ids_that_a_record_may_have(tmp_path: Path) -> None:
    sample = next((SCRIPT.parents[1] / "samples" / "formats" / "atif").glob("*.json"))
    session = json.loads(sample.read_bytes()) | {"session_id": "s" * 3_000, "trajectory_id": "t" * 3_000}
    (tmp_path / "trajectory.json").write_text(json.dumps(session))
    check_reading(tmp_path / "trajectory.json")
    assert len({call.id for run in outcome(tmp_path)[0] for call in run.calls or ()}) > 1


@pytest.mark.parametrize("name", ["a" * 5_000, "a\\u0000b"])
def test_a_plan_with_an_impossible_path_is_refused(name: str, tmp_path: Path) -> None:
    plan = f'[plan]\nname = "p"\n[[tasks]]\nid = "t"\nprompt = "p"\nwork = "{name}"\n[[agents]]\nuse = "nop"\n'
    (tmp_path / "plan.toml").write_text(plan)
    with pytest.raises(Exception, match="no such directory"):
        load_plan(tmp_path / "plan.toml")


def test_a_time_that_no_float_holds_is_no_time(tmp_path: Path) -> None:
    path = tmp_path / "times.json"
    path.write_text('{"parse": [0.5, 1e400]}'.replace("1e400", "9" * 400))
    with pytest.raises(UnreadableFileError, match="unknown timing file format"):
        read_timings(path)


@pytest.mark.parametrize("span_id", ["", " ", "s" * 2_000])
def test_a_span_with_an_impossible_id_gives_a_call_that_a_record_may_have(span_id: str, tmp_path: Path) -> None:
    used = [{"key": "gen_ai.usage.input_tokens", "value": {"intValue": "7"}}]
    span = {"traceId": "t", "spanId": span_id, "name": "chat", "attributes": used}
    export = {"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}
    (tmp_path / "spans.json").write_text(json.dumps(export))
    check_reading(tmp_path / "spans.json")
    assert [call.usage.input_tokens for run in outcome(tmp_path)[0] for call in run.calls or () if call.usage] == [7]

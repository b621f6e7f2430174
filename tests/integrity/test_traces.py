"""The labeled traces are those that were written before the rules, and each is the log of one run."""

from __future__ import annotations

import hashlib
from collections import Counter
from pathlib import Path

import steelyard as sy
from integrity import traces, traces_2
from integrity.rule_counts import HELD_OUT, TUNING

FROZEN = {
    "traces.py": "c16e393c7638b960e623ae7d51230e7e3a77eff46248e2c2331e5fa4ec32f7fa",
    "traces_2.py": "ec2d8aa2c38c5ff3778335665e70d86793007a12ad17ae50d798de276ef4e495",
    "held_out.py": "a7fc3e4e00353517b9a32341df00dba5483e6826cb4eb07f771d285a86642226",
}


def test_traces_are_frozen() -> None:
    folder = Path(__file__).parent
    assert {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in FROZEN} == FROZEN


def test_half_of_the_traces_are_clean() -> None:
    assert Counter(bool(trace.findings) for trace in traces.TRACES) == {True: 40, False: 40}
    assert Counter(bool(trace.findings) for trace in traces_2.TRACES) == {True: 20, False: 20}
    assert Counter(bool(trace.findings) for trace in HELD_OUT) == {True: 20, False: 20}


def test_every_trace_is_one_run_of_its_agent(tmp_path: Path) -> None:
    labeled = (*TUNING, *HELD_OUT)
    for trace in labeled:
        trace.write(tmp_path / ("held_out" if trace in HELD_OUT else "tuning"))
    runs = sy.read(tmp_path).to_polars().to_dicts()
    agents = Counter(run["agent"] for run in runs)
    assert agents == Counter(trace.agent for trace in labeled)
    # An agent of mini-swe-agent submits with a command, which is a tool call as well.
    calls = sum(trace.call_number(len(trace.actions)) + (trace.agent == "mini-swe-agent") for trace in labeled)
    assert sum(run["tool_calls"] for run in runs) == calls

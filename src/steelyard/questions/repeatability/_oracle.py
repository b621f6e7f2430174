"""The oracle: a contract run against code in the sandbox, graded outside of it."""

from __future__ import annotations

import json
import os
import secrets
import sys
import threading
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from math import ceil
from pathlib import Path
from typing import Any

import msgspec

from steelyard import sandbox
from steelyard.errors import SandboxUnavailableError
from steelyard.questions.repeatability import _harness
from steelyard.questions.repeatability._constraints import broken_constraints
from steelyard.questions.repeatability._contract import Case, Contract
from steelyard.questions.repeatability._grading import decode, equal, of_type
from steelyard.sandbox import Isolation, IsolationName, Limits, SandboxResult

ORACLE_VERSION = "oracle-1"
_HARNESS = Path(_harness.__file__).read_bytes()
_SAME_HASHES = {"PYTHONHASHSEED": "0"}
"""Python orders the texts of a set by chance otherwise, and with it what an answer that lists one gives back."""
_MAX_REASON_LENGTH = 300


class CaseResult(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of one case."""

    passed: bool
    """Whether it came out as expected."""
    reason: str | None = None
    """What was wrong; None when it passed."""


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """Verdict of the oracle on one program."""

    passed: bool
    """Enough cases passed and every constraint holds."""
    pass_rate: float | None
    """Fraction of the cases that passed; None for a contract without cases."""
    cases: tuple[CaseResult, ...] = ()
    """Each case, in the contract's order."""
    broken: tuple[str, ...] = ()
    """Constraints that do not hold."""
    ending: str = ""
    """How the process that ran the code ended; empty when none was needed."""
    isolation: IsolationName | None = None
    """What kept the code from everything else; None when no code was run."""
    nonce: str = ""
    """What the result record had to carry to be believed."""
    version: str = ORACLE_VERSION
    """The oracle's version."""

    @property
    def reason(self) -> str:
        """Why it did not pass, in one line; empty when it did."""
        if self.passed:
            return ""
        reasons = [*self.broken, *(case.reason for case in self.cases if case.reason)]
        return "; ".join(dict.fromkeys(reasons))[:_MAX_REASON_LENGTH]


class Oracle:
    """A contract that programs are checked against. Each distinct program is run once; safe to use from threads."""

    def __init__(self, contract: Contract, *, no_sandbox: bool = False, isolation: Isolation | None = None) -> None:
        self.contract = contract
        self._no_sandbox = no_sandbox
        self._isolation = isolation
        self._known: dict[str, Verdict] = {}
        self._lock = threading.Lock()

    def check(self, code: str) -> Verdict:
        """The verdict on one program."""
        with self._lock:
            known = self._known.get(code)
        if known is not None:
            return known
        verdict = self._run(code)
        with self._lock:
            return self._known.setdefault(code, verdict)

    def check_all(self, codes: Iterable[str], *, workers: int | None = None) -> list[Verdict]:
        """The verdicts on many programs, run in parallel, in the order given."""
        programs = list(codes)
        distinct = list(dict.fromkeys(programs))
        with ThreadPoolExecutor(workers or os.cpu_count() or 1) as pool:
            verdicts = dict(zip(distinct, pool.map(self.check, distinct), strict=True))
        return [verdicts[code] for code in programs]

    def _run(self, code: str) -> Verdict:
        broken = broken_constraints(code, self.contract)
        if "does not parse" in broken:
            reason = CaseResult(passed=False, reason="does not parse")
            return Verdict(
                passed=False, pass_rate=0.0 if self.contract.cases else None, broken=tuple(broken), cases=(reason,)
            )
        if not self.contract.cases:
            return Verdict(passed=not broken, pass_rate=None, broken=tuple(broken))
        nonce = secrets.token_hex(16)
        results, ended = self._call(code, nonce) if self.contract.program is None else self._execute(code)
        if self.contract.constraints.returns is not None:
            broken += [
                result.reason
                for result in results
                if result.reason and result.reason.startswith("returned a value that is no")
            ][:1]
        rate = sum(result.passed for result in results) / len(results)
        return Verdict(
            passed=rate >= self.contract.required_pass_rate and not broken,
            pass_rate=rate,
            cases=tuple(results),
            broken=tuple(broken),
            ending=ended.ending,
            isolation=ended.isolation,
            nonce=nonce,
        )

    def _limits(self) -> Limits:
        seconds = self.contract.limits.time_seconds
        memory = self.contract.limits.memory_mib << 20
        # Node, Java and Go start with a dozen threads and many open files; a function needs few.
        whole_program = self.contract.program is not None
        return Limits(
            wall_seconds=seconds,
            cpu_seconds=ceil(seconds),
            memory_bytes=memory,
            processes=128 if whole_program else 16,
            open_files=512 if whole_program else 64,
        )

    def _call(self, code: str, nonce: str) -> tuple[list[CaseResult], SandboxResult]:
        isolation = self._isolation or sandbox.active_isolation()
        if isolation.python is None:
            raise SandboxUnavailableError("no Python interpreter that another user can run was found")
        cases = self.contract.cases
        job = {
            "nonce": nonce,
            "code": code,
            "entry_point": self.contract.entry_point,
            "cases": [_inputs(case) for case in cases],
        }
        ended = sandbox.run(
            [isolation.python, "-P", "-s", "-S", "-B", "harness.py"],  # -I, save that the variable below counts
            variables=_SAME_HASHES,
            files={"harness.py": _HARNESS},
            stdin=json.dumps(job).encode(),
            limits=self._limits(),
            no_sandbox=self._no_sandbox,
            isolation=isolation,
        )
        reports = _reports(ended.stdout, nonce)
        loading = next((_printable(report["loading"]) for report in reports if "loading" in report), None)
        by_case: dict[int, list[dict[str, Any]]] = {}
        for report in reports:
            if isinstance(report.get("case"), int):
                by_case.setdefault(report["case"], []).append(report)
        missing = loading or f"no result: {ended.ending}"
        return [self._grade(case, by_case.get(number, []), missing) for number, case in enumerate(cases)], ended

    def _grade(self, case: Case, reports: list[dict[str, Any]], missing: str) -> CaseResult:
        if not reports:
            return CaseResult(passed=False, reason=missing)
        if len(reports) > 1:
            return CaseResult(passed=False, reason="the result was reported more than once")
        report = reports[0]
        if "error" in report:
            raised = report.get("raised")
            if case.raises is not None and isinstance(raised, list) and case.raises in raised:
                return CaseResult(passed=True)
            return CaseResult(passed=False, reason=f"raised {_printable(report['error'])}"[:_MAX_REASON_LENGTH])
        if case.raises is not None:
            return CaseResult(passed=False, reason=f"did not raise {case.raises}")
        try:
            return self._grade_values(case, report)
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError, OverflowError):
            return CaseResult(passed=False, reason="the result record is malformed")

    def _grade_values(self, case: Case, report: dict[str, Any]) -> CaseResult:
        if case.calls:
            expected = [call.expected for call in case.calls]
            values = [decode(value) for value in report["values"]]
            if len(values) != len(expected):
                return CaseResult(passed=False, reason="the result record is malformed")
        else:
            expected, values = [case.expected], [decode(report["value"])]
        for value, wanted in zip(values, expected, strict=True):
            returns = self.contract.constraints.returns
            if returns is not None and not case.calls and not of_type(value, returns):
                reason = f"returned a value that is not of type {returns}: {_printable(repr(value))}"
                return CaseResult(passed=False, reason=reason[:_MAX_REASON_LENGTH])
            if wanted is not msgspec.UNSET and not equal(value, wanted, case):
                return CaseResult(
                    passed=False, reason=f"returned {_printable(repr(value))}, expected {wanted!r}"[:_MAX_REASON_LENGTH]
                )
        return CaseResult(passed=True)

    def _execute(self, code: str) -> tuple[list[CaseResult], SandboxResult]:
        program = self.contract.program
        assert program is not None  # asked by _run
        results, last = [], None
        for case in self.contract.cases:
            last = sandbox.run(
                program.command,
                variables=_SAME_HASHES,
                files={program.file: code.encode("utf-8", errors="surrogatepass")},
                stdin=(case.stdin or "").encode(),
                limits=self._limits(),
                no_sandbox=self._no_sandbox,
                isolation=self._isolation,
            )
            results.append(_grade_program(case, last))
        assert last is not None  # a contract that reaches here has cases
        return results, last


def _grade_program(case: Case, ended: SandboxResult) -> CaseResult:
    if not ended.ok:
        return CaseResult(passed=False, reason=ended.ending)
    printed = ended.stdout.decode("utf-8", errors="replace").rstrip()
    if printed != str(case.expected).rstrip():
        return CaseResult(passed=False, reason=f"printed {printed[:100]!r}, expected {str(case.expected)[:100]!r}")
    return CaseResult(passed=True)


def _printable(words: object) -> str:
    """Return text of the code under test, made printable; a forged report may contain another type."""
    return sandbox.printable(words) if isinstance(words, str) else "a value that is not text"


def _inputs(case: Case) -> dict[str, Any]:
    """Return the inputs of a case for the sandbox, without the expected result."""
    inputs: dict[str, Any] = {"keywords": case.keywords, "arguments": case.arguments}
    if case.input is not msgspec.UNSET:
        inputs["input"] = case.input
    inputs["calls"] = [{"method": call.method, "arguments": call.arguments} for call in case.calls]
    return inputs


def _reports(output: bytes, nonce: str) -> list[dict[str, Any]]:
    """The report lines that carry the nonce and are JSON objects."""
    reports = []
    for line in output.split(b"\n"):
        head, _, body = line.partition(b" ")
        if head != nonce.encode():
            continue
        try:
            report = json.loads(body)
        except (ValueError, RecursionError):
            continue
        if isinstance(report, dict):
            reports.append(report)
    return reports


def oracle_version() -> str:
    """The version that canons and logs carry: the checks, and the language they run code in."""
    return f"{ORACLE_VERSION}+cpython{sys.version_info.major}.{sys.version_info.minor}"

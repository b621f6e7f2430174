"""Laws of every format, ours or a plug-in's, over its samples; and what reading any bytes must give."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Set as AbstractSet
from pathlib import Path

import msgspec
from hypothesis import strategies as st

from steelyard.files import archive_kind
from steelyard.records import (
    TOKEN_KINDS,
    Finding,
    Missing,
    Rejected,
    Run,
    SessionStep,
    Usage,
    add_usage,
    decode_run,
    encode_run,
)
from steelyard.sources import LogFormat, PlacedRun, RunPart, gather, head_of, log_formats, transcript_of

CUTS = 60
"""At how many places a sample is cut, besides its last 16 bytes."""


def outcome(path: Path) -> tuple[list[Run], list[Rejected], list[Finding]]:
    """What a file named by the user gives: runs without their place, what was rejected, findings."""
    items = list(gather([path], workers=1))
    runs = [msgspec.structs.replace(item.run, source=None) for item in items if isinstance(item, PlacedRun)]
    rejected = [item for item in items if isinstance(item, Rejected)]
    return runs, rejected, [item for item in items if isinstance(item, Finding)]


def check_recognized(name: str, path: Path) -> None:
    """The sample is recognized by its format and by no other; our own run records resemble many, and are asked last."""
    head = head_of(path)
    formats = [declared for declared in log_formats().values() if declared.recognizes(head)]
    normal = [declared.name for declared in formats if declared.priority != "last"]
    if log_formats()[name].priority == "last":
        assert not normal
        assert formats[0].name == name
    else:
        assert normal == [name]


ROLES = {
    "sessions": {"session"},
    "trials": {"owner"},
    "verdicts": {"prediction", "verdict"},
    "tests": {"tests"},
    "recordings": {"recording"},
    "runs": set(),
}


def check_kind(declared: LogFormat, path: Path) -> None:
    """The parts that the format gives are of the kind that it declares, and name it as their origin."""
    for item in declared.read(path):
        if isinstance(item, RunPart):
            assert item.role in ROLES[declared.kind]
            assert item.run.source is not None
            assert item.run.source.format == declared.name


def check_valid_and_placed(path: Path) -> None:
    """Every run is one that a file of ours could hold, and says where it is from."""
    for item in gather([path]):
        if isinstance(item, PlacedRun):
            assert decode_run(encode_run(item.run)) == item.run
            assert item.path == path.as_posix()


def check_says_how(name: str, path: Path) -> None:
    """Every run names its format, and how its tokens and its cost came."""
    for item in gather([path]):
        if isinstance(item, PlacedRun):
            assert item.run.source is not None
            assert item.run.source.format == name
            how = item.run.provenance or {}
            assert (item.run.usage is None) == (how.get("usage", "unknown") == "unknown")
            assert (item.run.cost_usd is None) == (how.get("cost_usd", "unknown") == "unknown")


def check_cut_anywhere(path: Path, folder: Path) -> None:
    """A file that is cut at any byte gives a true prefix or an error, and a line of JSON that is cut is reported.

    A log that is cut between two lines looks like that of a shorter session, so its tokens may be called `counted` or
    `reported` as those of the whole are. How sure a session is whose line is cut, `check_lost_lines` tells.
    """
    data = path.read_bytes()
    full = outcome(path)[0]
    cut = folder / path.name
    for end in _cuts(len(data)):
        cut.write_bytes(data[:end])
        runs, rejected, findings = outcome(cut)
        if any(finding.code == "no_line_end" for finding in findings):
            continue  # the file and the line are named: nothing tells a short last cell from a whole one
        allowed = [full, []]
        for whole in (data[: data.rfind(b"\n", 0, end) + 1], data[:end] + b"\n"):
            cut.write_bytes(whole)
            allowed.append(outcome(cut)[0])
        assert _unlabeled(runs) in [_unlabeled(prefix) for prefix in allowed], f"cut at {end}"
        if _unlabeled(runs) != _unlabeled(full) and _ends_in_part_of_json(data[:end]):
            assert rejected or findings, f"cut at {end} and does not say so"
        if not runs and full and not (end == 0 or data[:end].isspace()):
            assert rejected or findings or path.suffix == ".csv" or data[:end].endswith(b"\n"), (
                f"cut at {end} says nothing"
            )


def _ends_in_part_of_json(data: bytes) -> bool:
    """Whether the last of several lines begins an object that does not end."""
    line = data[data.rfind(b"\n") + 1 :]
    if b"\n" not in data or not line.startswith(b"{"):
        return False
    try:
        msgspec.json.decode(line)
    except msgspec.DecodeError:
        return True
    return False


def _cuts(size: int) -> list[int]:
    return sorted({*range(0, size, max(1, size // CUTS)), *range(max(0, size - 16), size)})


def _unlabeled(runs: list[Run]) -> list[bytes]:
    return [encode_run(msgspec.structs.replace(run, id=None, provenance=None)) for run in runs]


def check_lost_lines(path: Path, folder: Path) -> int:
    """A session of which a line is broken has no tokens added up from its lines that are called sure.

    Gives how many broken lines took tokens away. A total that the tool states itself does not come from the lines.
    """
    lines = path.read_bytes().splitlines(keepends=True)
    whole = outcome(path)[0]
    broken = folder / path.name
    losses = 0
    for number, line in enumerate(lines):
        broken.write_bytes(b"".join([*lines[:number], line[: len(line) // 2] + b"\n", *lines[number + 1 :]]))
        runs, rejected, _ = outcome(broken)
        for run in runs if rejected else ():
            if run.total_usage in [before.total_usage for before in whole]:
                continue
            losses += 1
            word = (run.provenance or {}).get("usage")
            stated = word == "reported" and (not run.calls or any(call.summed for call in run.calls))
            assert stated or word in ("lower_bound", "unknown"), f"line {number + 1} is lost, and the tokens are {word}"
    return losses


def check_same_twice(path: Path) -> None:
    """Reading twice gives the same."""
    assert [repr(item) for item in gather([path])] == [repr(item) for item in gather([path])]


def check_reading(path: Path) -> None:
    """Reading may set everything aside, but gives only valid runs with their place, and names what it rejected."""
    runs: list[Run] = []
    for item in gather([path], workers=1):
        if isinstance(item, PlacedRun):
            assert item.path.startswith(path.as_posix())
            check_run(item.run)
            runs.append(item.run)
        elif isinstance(item, Rejected):
            assert item.path.startswith(path.as_posix()), item
            assert item.line is None or item.line >= 1
            assert item.reason.strip()
            assert item.advice.strip()
        else:
            assert isinstance(item, Finding)
            assert item.code
            assert item.message.strip()
            assert item.severity in ("info", "warning", "error")
    check_counts(runs, path.read_bytes())


def check_run(run: Run) -> None:
    """The run is one that a file of ours could hold, and none of its numbers is impossible."""
    assert decode_run(encode_run(run)) == run  # decoding refuses what is out of range
    for usage in (run.total_usage, *(call.usage for call in run.calls or ())):
        for kind in TOKEN_KINDS if usage is not None else ():
            assert (getattr(usage, kind) or 0) >= 0
    assert (run.elapsed_seconds or 0) >= 0
    assert (run.cost_usd or 0) >= 0


def check_counts(runs: list[Run], data: bytes) -> None:
    """Nothing comes from nothing: a run or a call needs an object, an element or a line of its own."""
    if archive_kind(data[:512]) is not None or data.startswith(b"PAR1"):
        return  # what is packed shows neither
    places = data.count(b"{") + data.count(b"<") + data.count(b"\n") + 1
    assert len(runs) <= places
    assert sum(len(run.calls or ()) for run in runs) <= places


@st.composite
def mutated(draw: st.DrawFn, samples: list[Path]) -> bytes:
    """A sample with a few stretches overwritten, removed, repeated or swapped for other JSON."""
    data = bytearray(draw(st.sampled_from([path.read_bytes() for path in samples if path.stat().st_size < 20_000])))
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


def outcome_of_paths(paths: list[Path]) -> list[Run]:
    """The runs of the files."""
    return [item.run for item in gather(paths, workers=1) if isinstance(item, PlacedRun)]


def tokens_by_kind(run: Run) -> dict[str, int]:
    """The known tokens; output includes reasoning, which not every log tells from it."""
    usage = run.total_usage or Usage()
    kinds = {kind: getattr(usage, kind) or 0 for kind in TOKEN_KINDS if kind != "total_tokens"}
    kinds["output_tokens"] += kinds.pop("reasoning_tokens")
    return kinds


def cut_records(data: bytes) -> Iterator[bytes]:
    """The log after each of its records but the last: lines, or the objects in a document's lists."""
    lines = data.splitlines(keepends=True)
    if len(lines) > 1 and lines[0].lstrip()[:1] == b"{" and lines[0].rstrip()[-1:] == b"}":
        for end in range(1, len(lines)):
            yield b"".join(lines[:end])
        return
    try:
        whole = msgspec.json.decode(data)
    except msgspec.DecodeError:
        return
    if isinstance(whole, list):
        for end in range(1, len(whole)):
            yield msgspec.json.encode(whole[:end])
    elif isinstance(whole, dict):
        for key, value in whole.items():
            if isinstance(value, list) and value and isinstance(value[0], dict):
                for end in range(len(value)):
                    yield msgspec.json.encode(whole | {key: value[:end]})


def check_cut_records(path: Path, paths: list[Path], folder: Path, *, turns: AbstractSet[int] = frozenset()) -> None:
    """Cut after any record, a log among others gives no more tokens than the whole, and fewer are not called known.

    After the records in `turns` the model has ended a turn, so the part is a whole session itself.
    """
    whole = {run.id: run for run in outcome_of_paths(paths)}
    data = path.read_bytes()
    cut = folder / path.relative_to(Path(os.path.commonpath([*paths, path])).parent)
    cut.parent.mkdir(parents=True, exist_ok=True)
    others = [other for other in paths if other != path]
    for number, part in enumerate(cut_records(data), start=1):
        cut.write_bytes(part)
        runs = outcome_of_paths([*others, cut])
        assert len(runs) <= len(whole), f"{path.name} cut after record {number} gives {len(runs)} runs"
        for run in runs:
            full = whole.get(run.id) or next(iter(whole.values()))
            tokens, all_tokens = tokens_by_kind(run), tokens_by_kind(full)
            where = f"{path.name} cut after record {number}"
            assert sum(tokens.values()) <= sum(all_tokens.values()), f"{where} has more than the whole"
            word = (run.provenance or {}).get("usage")
            assert tokens == all_tokens or number in turns or word in ("lower_bound", "unknown"), (
                f"{where} is called {word}"
            )


def steps_of(path: Path) -> Iterator[tuple[PlacedRun, list[SessionStep], list[Rejected]]]:
    """Each run of a file that has steps, with these and the lines that they could not be read from."""
    for item in gather([path], workers=1):
        if isinstance(item, PlacedRun):
            transcript = transcript_of(item, None)
            if not isinstance(transcript, Missing):
                yield item, list(transcript), transcript.rejected


def check_steps(path: Path) -> None:
    """Steps are numbered and placed, name their tools, and can be read again."""
    data = path.read_bytes()
    for entry, steps, _ in steps_of(path):
        assert [step.index for step in steps] == list(range(1, len(steps) + 1))
        lines = data.count(b"\n") + 1
        if log_formats()[entry.logs[0].format].quotes_texts and b"\\u00" not in data:
            words = {word for step in steps for text in step.content for word in re.findall("[a-zA-Z_]{3,}", text)}
            assert [word for word in words if word.encode() not in data] == []
        for step in steps:
            assert step.source_path == entry.logs[0].path
            assert step.source_line is None or 1 <= step.source_line <= lines
            assert (step.kind in ("tool_call", "subagent")) == (step.tool is not None and step.result is None)
            assert (step.kind == "tool_result") == (step.role == "tool")
            assert step.kind in ("tool_call", "subagent") or step.arguments is None
            assert msgspec.convert(msgspec.to_builtins(step), SessionStep) == step
        again = transcript_of(entry, None)
        assert not isinstance(again, Missing)
        assert list(again) == steps


def check_step_usage(path: Path) -> None:
    """Tokens of the steps add up to the run's; they are fewer where the log states totals, or is known to lack some."""
    for entry, steps, _ in steps_of(path):
        whole, known = entry.run.total_usage, add_usage(step.usage for step in steps)
        if known is None:
            continue
        assert whole is not None
        kinds = [kind for kind in TOKEN_KINDS if getattr(whole, kind) is not None]  # others contradict themselves
        mine, its = ([getattr(usage, kind) or 0 for kind in kinds] for usage in (known, whole))
        is_total = entry.run.calls is None or any(call.summed for call in entry.run.calls)
        if (entry.run.provenance or {}).get("usage") == "lower_bound" or is_total:
            assert sum(mine) <= sum(its)
        else:
            assert mine == its


def check_steps_cut_anywhere(path: Path, folder: Path) -> None:
    """The steps of a file that is cut at any byte are the first ones of the file, except for tokens stated later.

    A call whose message is cut off leaves a step with tokens alone.
    """
    data = path.read_bytes()
    full = {(entry.run.id, entry.line): _unplaced(steps) for entry, steps, _ in steps_of(path)}
    cut = folder / path.name
    for end in _cuts(len(data)):
        cut.write_bytes(data[:end])
        for entry, steps, _ in steps_of(cut):
            mine, whole = _unplaced(steps), full.get((entry.run.id, entry.line)) or next(iter(full.values()))
            assert mine == whole[: len(mine)], f"cut at {end}"


def _unplaced(steps: list[SessionStep]) -> list[SessionStep]:
    shown = [step for step in steps if step.tool or step.usage is None or any(step.content)]
    return [msgspec.structs.replace(step, index=0, source_path=None, usage=None) for step in shown]

"""Trajectory from an agent's logs: how many times it acted, and how many tokens it took.

Interactions come from a JSON log, else from the keys pressed in a terminal recording. Tokens come from the last entry
of a JSON log that states them accumulated.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from steelyard.errors import UnreadableFileError
from steelyard.files import count, parse_json, read_text
from steelyard.records import Finding, Missing, Usage, moment
from steelyard.sources.formats._run_values import disjoint_usage, token_contradiction

Origin = Literal["stated", "json_log", "cast_input"]

LOG_SUFFIXES = (".json", ".cast")


@dataclass(frozen=True, slots=True)
class Trajectory:
    """The number of interactions and what was counted: the two kinds of log do not count the same thing."""

    length: int
    origin: Origin


def trajectory_of(paths: Sequence[Path]) -> Trajectory | Missing:
    """Return the trajectory in the logs: JSON logs first, recordings only when no JSON log can be counted."""
    for path in sorted(path for path in paths if path.suffix == ".json"):
        length = _json_length(parse_json(read_text(path), path))
        if length is not None:
            return Trajectory(length, "json_log")
    casts = sorted(path for path in paths if path.suffix == ".cast")
    for path in casts:
        inputs = _cast_inputs(path)
        if inputs:
            return Trajectory(inputs, "cast_input")
    return Missing("the recording has no input events" if casts else "no log to count interactions in")


@dataclass(frozen=True, slots=True)
class LoggedUsage:
    """Tokens that a log states for the whole attempt, and when."""

    usage: Usage
    at: datetime | None
    findings: tuple[Finding, ...] = ()


def usage_of(paths: Sequence[Path]) -> LoggedUsage | Missing:
    """Tokens by the last entry of the JSON logs that states them accumulated."""
    for path in sorted(path for path in paths if path.suffix == ".json"):
        values = parse_json(read_text(path), path)
        for entry in reversed(values if isinstance(values, list) else []):
            usage = _accumulated(entry, path)
            if usage is not None:
                return usage
    return Missing("no log reports accumulated tokens")


def _accumulated(entry: Any, path: Path) -> LoggedUsage | None:  # Any: JSON values
    metrics = entry.get("llm_metrics") if isinstance(entry, dict) else None
    stated = metrics.get("accumulated_token_usage") if isinstance(metrics, dict) else None
    if not isinstance(stated, dict):
        return None
    prompt, completion = count(stated.get("prompt_tokens")), count(stated.get("completion_tokens"))
    if prompt is None or completion is None:
        return None
    usage = disjoint_usage(
        input_with_cache=prompt,
        cache_read=count(stated.get("cache_read_tokens")),
        cache_write=count(stated.get("cache_write_tokens")),
        output_with_reasoning=completion,
    )
    findings = token_contradiction(str(path), usage, stated_input=prompt)
    return LoggedUsage(usage, moment(entry.get("timestamp")), findings)


def _json_length(values: Any) -> int | None:  # Any: JSON values
    if values in ([], {}) or (isinstance(values, dict) and values.get("steps") == []):
        return None  # nothing was logged; a recording may show more
    if isinstance(values, dict) and isinstance(values.get("steps"), list):
        return sum(1 for step in values["steps"] if _by_agent(step) and not step.get("is_copied_context"))
    if not isinstance(values, list):
        return None
    if not any(isinstance(entry, dict) and "source" in entry for entry in values):
        return len(values)
    # An observation is the world's answer: where a log writes it as an entry of its own, it is no interaction.
    return sum(1 for entry in values if _by_agent(entry) and "observation" not in entry)


def _by_agent(entry: Any) -> bool:  # Any: JSON values
    return isinstance(entry, dict) and entry.get("source") == "agent"


def _cast_inputs(path: Path) -> int:
    lines = read_text(path).splitlines()
    header = parse_json(lines[0], path) if lines else None
    if not isinstance(header, dict) or "version" not in header:
        raise UnreadableFileError(str(path), "not an asciicast recording: the first line is not a header")
    inputs = 0
    for line in lines[1:]:
        if not line.strip() or line.startswith("#"):
            continue
        event = parse_json(line, path)
        inputs += isinstance(event, list) and len(event) == 3 and event[1] == "i"
    return inputs

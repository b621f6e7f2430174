"""Says at the end which agents' newest versions no longer behave as the pinned ones did."""

from __future__ import annotations

from collections import defaultdict

import pytest

from agents.running import NEWEST, VERSIONS, agents


def drifted(failed: list[str], versions: dict[str, str | None]) -> list[str]:
    """A line for each agent whose newest version failed a test, by the ids of the tests that failed.

    >>> drifted(["test_tokens[codex-stdout]", "test_times[codex-session]"], {"codex": "0.170.0"})
    ['drifted: codex 0.170.0 (pinned 0.166.0): test_times[codex-session], test_tokens[codex-stdout]']
    """
    tests: defaultdict[str, list[str]] = defaultdict(list)
    for test in failed:
        for name in versions:
            if f"[{name}-" in test or f"[{name}]" in test:
                tests[name].append(test.rpartition("::")[2])
    return [
        f"drifted: {name} {versions[name] or 'of unknown version'} (pinned {agents()[name].pinned}): "
        + ", ".join(sorted(tests[name]))
        for name in sorted(tests)
    ]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    versions = {name: config.stash.get(VERSIONS, {}).get(name) for name in NEWEST if name in agents()}
    reports = [*terminalreporter.stats.get("failed", ()), *terminalreporter.stats.get("error", ())]
    for name, version in versions.items():
        terminalreporter.write_line(f"newest {name}: {version or 'did not run'} (pinned {agents()[name].pinned})")
    for line in drifted([report.nodeid for report in reports], versions):
        terminalreporter.write_line(line)

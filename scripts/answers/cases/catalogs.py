"""What can be looked up: metrics, formats, prices, profiles, schemas, the installation."""

from __future__ import annotations

from collections.abc import Iterator

from answers import inputs
from answers.cases.asking import asked
from answers.running import Case


def cases() -> Iterator[Case]:
    """Lists, single entries, and names that are not there."""
    lines = {
        "metrics/all": "metrics",
        **{f"metrics/{spec}": f"metrics --spec {spec}" for spec in ("outcome", "arena", "repeatability", "speedup")},
        "metrics/one": "metrics cost_of_pass",
        "metrics/errors/name": "metrics cost_of_pas",
        "metrics/errors/spec": "metrics --spec outcom",
        "sources/all": "sources",
        "prices/books": "prices",
        "prices/model": "prices claude-opus-4-6",
        "prices/model-of-provider": "prices openrouter/z-ai/glm-5",
        "prices/day": "prices claude-opus-4-6 --on 2026-03-01",
        "prices/seed": "prices gpt-4o --prices seed",
        "prices/own": "prices house-coder --prices prices.toml",
        "prices/errors/model": "prices claude-opus-99",
        "prices/errors/book": "prices gpt-4o --prices nowhere.toml",
        "prices/errors/day": "prices gpt-4o --on yesterday",
        "profiles/all": "profiles",
        **{
            f"profiles/{name}": f"profiles show {name}"
            for name in ("arena-1", "outcome-1", "outcome-2026", "repeatability-1", "speedup-1")
        },
        "profiles/errors/name": "profiles show outcome-9",
        "profiles/errors/action": "profiles shw",
        **{f"schema/{name}": f"schema {name}" for name in ("run", "task", "submission")},
        "schema/errors/name": "schema rum",
        "doctor": "doctor",
        "demo/measured": "demo",
        "demo/written": "demo --write demo.jsonl",
        "demo/errors/place": "demo --write nowhere/demo.jsonl",
        "errors/command": "mesure runs.jsonl",
    }
    for name, line in lines.items():
        yield asked(name, line, files={"prices.toml": inputs.PRICES} if line.startswith("prices") else None)

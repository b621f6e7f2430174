"""Measuring, comparing, ranking, gating, judging and explaining runs."""

from __future__ import annotations

from collections.abc import Iterator

from answers import inputs
from answers.cases.asking import DEMO, SHARED, TESTS, Samples, asked, each
from answers.running import Case

METHODS = (
    "auto",
    "none",
    "wilson",
    "clopper-pearson",
    "student",
    "clustered",
    "wilson-clustered",
    "median-exact",
    "median-clustered",
    "fieller",
    "percentile",
    "bca",
)
MANY = {"many.jsonl": inputs.many_runs()}
PROFILE = {"mine.toml": inputs.OUTCOME_PROFILE}


def cases(given: Samples) -> Iterator[Case]:
    """Every command that takes run records."""
    yield from _measure()
    yield from _compare()
    yield from _rank()
    yield from _gate()
    yield from _judges(given)
    yield from _explain(given)


def _measure() -> Iterator[Case]:
    for number in (1, 2, 3):
        yield asked(f"measure/example-{number}", f"measure {TESTS}/outcome/example-{number}.jsonl --by tier")
    grouped = {"all": "", "tier": "--by tier", "task": "--by task", "tier-task": "--by tier,task"}
    yield from each("measure/demo", "measure demo.jsonl", grouped, fixture=DEMO)
    options = {
        "agent": "--by agent",
        "agent-model": "--by agent,model",
        "experiment": "--by experiment",
        "tier-agent": "--by tier,agent",
        "metrics": "--by agent --metrics pass_rate,cost_of_pass,r_prog",
        "metrics-interval": "--by agent --metrics pass_rate,cost_of_pass --interval auto",
        "2026": "--by tier --profile outcome-2026",
        "own-profile": "--by tier --profile mine.toml",
        "base-tier": "--by tier --base-tier T1",
        "seed-prices": "--by model --prices seed",
        "own-prices": "--by model --prices prices.toml",
        "every-statistic": "--by agent --all",
        "level": "--by agent --interval auto --level 0.8",
        "csv": "--by agent --csv",
        "csv-interval": "--by tier --interval auto --csv",
        "skip-bad": "--skip-bad",
        "quiet": "--quiet",
    }
    files = {**MANY, **PROFILE, "prices.toml": inputs.PRICES}
    for name, option in options.items():
        yield asked(f"measure/many/{name}", f"measure many.jsonl {option}", files=files)
    for method in METHODS:
        yield asked(f"measure/interval/{method}", f"measure many.jsonl --by agent --interval {method}", files=MANY)
    for ending in ("json", "csv", "parquet"):
        line = f"measure many.jsonl --by tier --interval auto --out out.{ending}"
        yield asked(f"measure/out/{ending}", line, files=MANY)
    yield asked("measure/two-files", f"measure many.jsonl {TESTS}/outcome/example-3.jsonl --by tier", files=MANY)
    yield asked("measure/stdin", "measure - --by agent", stdin=MANY["many.jsonl"])
    bad = {"bad.jsonl": inputs.bad_runs(), "empty.jsonl": ""}
    yield asked("measure/bad-records", "measure bad.jsonl", "measure bad.jsonl --skip-bad", files=bad)
    wrong = {
        "metric": "measure many.jsonl --metrics pas_rate",
        "metric-of-another-kind": "measure many.jsonl --metrics r_raw",
        "missing-file": "measure nowhere.jsonl",
        "empty-file": "measure empty.jsonl",
        "method": "measure many.jsonl --interval wilsn",
        "level": "measure many.jsonl --interval auto --level 95",
        "by": "measure many.jsonl --by agnet",
        "profile": "measure many.jsonl --profile outcome-9",
        "profile-of-another-kind": "measure many.jsonl --profile arena-1",
        "option": "measure many.jsonl --nonsense",
        "ending": "measure many.jsonl --out x.xls",
        "no-file": "measure",
    }
    for name, line in wrong.items():
        yield asked(f"measure/errors/{name}", line, files={**MANY, **bad})


def _compare() -> Iterator[Case]:
    sides = "--a agent=ant --b agent=bee"
    options = {
        "plain": "",
        "several": "--b agent=cat --b agent=dog,model=no-such-model",
        "metrics": "--metrics pass_rate,cost_of_pass",
        "holm": "--b agent=cat --correction holm",
        "bh": "--b agent=cat --correction bh",
        "uncorrected": "--b agent=cat --correction none",
        "paired-t": "--interval paired-t",
        "percentile": "--interval percentile --resamples 2000",
        "bca": "--interval bca --resamples 2000",
        "level": "--level 0.8",
        "seed": "--interval percentile --seed 7 --resamples 500",
        "profile": "--profile outcome-2026",
        "prices": "--prices seed",
    }
    for name, option in options.items():
        yield asked(f"compare/many/{name}", f"compare many.jsonl {sides} {option}".strip(), files=MANY)
    yield asked("compare/own-profile", f"compare many.jsonl {sides} --profile mine.toml", files={**MANY, **PROFILE})
    yield asked("compare/demo", "compare demo.jsonl --a tier=T0 --b tier=T6 --b tier=T3", fixture=DEMO)
    once = f"compare {TESTS}/outcome/example-3.jsonl --a tier=T0 --b tier=T1"
    yield asked("compare/example-3", once)
    bad = {"bad.jsonl": inputs.bad_runs()}
    yield asked("compare/with-itself", "compare bad.jsonl --a agent=ant --b agent=ant", files=bad)
    wrong = {
        "nobody": "compare many.jsonl --a agent=ant --b agent=nobody",
        "key": "compare many.jsonl --a agnt=ant --b agent=bee",
        "correction": f"compare many.jsonl {sides} --correction bonferoni",
        "metric": f"compare many.jsonl {sides} --metrics pas_rate",
        "interval": f"compare many.jsonl {sides} --interval wilson",
        "level": f"compare many.jsonl {sides} --level 1.5",
        "no-b": "compare many.jsonl --a agent=ant",
        "missing-file": f"compare nowhere.jsonl {sides}",
    }
    for name, line in wrong.items():
        yield asked(f"compare/errors/{name}", line, files=MANY)


def _rank() -> Iterator[Case]:
    for order in ("mean", "bradley-terry", "ranked-pairs"):
        for metric in ("composite_score", "pass_rate", "cost_usd"):
            line = f"rank many.jsonl --on {metric} --order {order} --resamples 2000"
            yield asked(f"rank/{order}/{metric}", line, files=MANY)
    options = {
        "default": "",
        "agent": "--by agent",
        "coverage": "--by agent,tier --min-coverage 0.9",
        "level": "--by agent --level 0.8",
        "seed": "--by agent --seed 7 --resamples 500",
        "profile": "--by agent --profile outcome-2026",
        "prices": "--by agent --prices seed",
        "duration": "--by agent --on duration_seconds",
    }
    for name, option in options.items():
        yield asked(f"rank/many/{name}", f"rank many.jsonl {option}".strip(), files=MANY)
    yield asked("rank/demo", "rank demo.jsonl --by tier", fixture=DEMO)
    yield asked("rank/example-3", f"rank {TESTS}/outcome/example-3.jsonl --by tier --on pass_rate")
    wrong = {
        "metric": "rank many.jsonl --on composit",
        "metric-of-groups": "rank many.jsonl --on cost_of_pass",
        "order": "rank many.jsonl --order elo",
        "by": "rank many.jsonl --by agnt",
        "coverage": "rank many.jsonl --min-coverage 2",
        "missing-file": "rank nowhere.jsonl",
    }
    for name, line in wrong.items():
        yield asked(f"rank/errors/{name}", line, files=MANY)


def _gate() -> Iterator[Case]:
    records = MANY["many.jsonl"].splitlines(keepends=True)
    halves = {
        "old.jsonl": "".join(line for line in records if '"ant"' in line or '"cat"' in line),
        "new.jsonl": "".join(line.replace('"passed": false', '"passed": true') for line in records if '"cat"' in line),
        "worse.jsonl": "".join(
            line.replace('"passed": true', '"passed": false') for line in records if '"cat"' in line
        ),
        "same.jsonl": "".join(line for line in records if '"cat"' in line),
    }
    lines = {
        "holds": 'new.jsonl --baseline same.jsonl --rule "pass_rate >= -0.02"',
        "fails": 'worse.jsonl --baseline same.jsonl --rule "pass_rate >= -0.02"',
        "open": 'old.jsonl --baseline same.jsonl --rule "pass_rate >= -0.02" --rule "cost_usd <= +10%"',
        "several": 'same.jsonl --baseline same.jsonl --rule "cost_usd <= 0.05" --rule "duration_seconds <= +5%"',
        "cost-of-pass": 'new.jsonl --baseline old.jsonl --rule "cost_of_pass <= +20%"',
        "where": 'old.jsonl --baseline old.jsonl --where agent=cat --rule "pass_rate >= -0.02"',
        "summary": 'worse.jsonl --baseline same.jsonl --rule "pass_rate >= -0.02" --summary summary.md',
        "level": 'old.jsonl --baseline same.jsonl --rule "pass_rate >= -0.3" --level 0.8',
        "interval": 'old.jsonl --baseline same.jsonl --rule "pass_rate >= -0.3" --interval bca --resamples 2000',
        "profile": 'new.jsonl --baseline same.jsonl --rule "composite_score >= 0" --profile outcome-2026',
        "errors/rule": 'new.jsonl --baseline same.jsonl --rule "pass_rate"',
        "errors/metric": 'new.jsonl --baseline same.jsonl --rule "pas_rate >= 0"',
        "errors/limit": 'new.jsonl --baseline same.jsonl --rule "pass_rate >= -2"',
        "errors/where": 'new.jsonl --baseline same.jsonl --rule "pass_rate >= 0" --where agnt=cat',
        "errors/missing-file": 'new.jsonl --baseline nowhere.jsonl --rule "pass_rate >= 0"',
        "errors/no-rule": "new.jsonl --baseline same.jsonl",
    }
    for name, line in lines.items():
        yield asked(f"gate/{name}", f"gate {line}", files=halves)
    both = (f"gate demo.jsonl --baseline {TESTS}/outcome/example-2.jsonl --rule 'pass_rate >= -0.1'",)
    yield asked("gate/nothing-in-common", *both, fixture=DEMO)


def _judges(given: Samples) -> Iterator[Case]:
    options = {
        "plain": "",
        "level": "--level 0.8",
        "2026": "--profile outcome-2026",
        "own-profile": "--profile mine.toml",
    }
    for name, option in options.items():
        yield asked(f"judges/many/{name}", f"judges many.jsonl {option}".strip(), files={**MANY, **PROFILE})
    yield asked("judges/demo", "judges demo.jsonl", fixture=DEMO)
    yield asked("judges/example-3", f"judges {TESTS}/outcome/example-3.jsonl")
    yield asked("judges/tests/scylla", f"judges {TESTS}/sources/scylla")
    for name in given.shared_folders("scylla"):
        yield asked(f"judges/shared/{name}", f"judges {SHARED}/{name}")
    nobody = {"none.jsonl": '{"task": "t", "passed": true}\n'}
    yield asked("judges/errors/nobody", "judges none.jsonl", files=nobody)
    yield asked("judges/errors/missing-file", "judges nowhere.jsonl")
    yield asked("judges/errors/level", "judges none.jsonl --level 0", files=nobody)


def _explain(given: Samples) -> Iterator[Case]:
    of_a_run = (
        "composite_score",
        "pass_rate",
        "impl_rate",
        "cost_usd",
        "cost_of_pass",
        "r_prog",
        "strategic_drift",
        "cfp",
    )
    for metric in of_a_run:
        line = f"explain many.jsonl {metric} --run run-007"
        yield asked(f"explain/run/{metric}", line, f"explain many.jsonl {metric} --run run-021", files=MANY)
    of_groups = ("cost_of_pass", "composite_score", "tier_uplift", "cost_variance", "component_token_share")
    for metric in of_groups:
        yield asked(f"explain/groups/{metric}", f"explain demo.jsonl {metric} --by tier", fixture=DEMO)
    options = {
        "run-profile": "composite_score --run run-007 --profile mine.toml",
        "run-prices": "cost_usd --run run-004 --prices seed",
        "groups-profile": "composite_score --by tier --profile outcome-2026",
        "beginning-of-an-id": "pass_rate --run run-00",
        "errors/no-such-run": "pass_rate --run rin-007",
        "errors/no-run": "pass_rate",
        "errors/metric": "pas_rate --run run-007",
        "errors/across": "tier_uplift --run run-007",
        "errors/prompt": "r_raw --by agent",
        "errors/speedup": "task_speedup --by agent",
        "errors/submission": "speed_score --run run-007",
    }
    for name, option in options.items():
        yield asked(f"explain/{name}", f"explain many.jsonl {option}", files={**MANY, **PROFILE})
    yield asked("explain/bad-records", "explain bad.jsonl pass_rate --by agent", files={"bad.jsonl": inputs.bad_runs()})
    yield asked("explain/tests/harbor", f"explain {TESTS}/sources/harbor cost_usd --by agent")
    for name in given.shared_folders("claude-code", "terminal-bench"):
        yield asked(f"explain/shared/{name}", f"explain {SHARED}/{name} cost_of_pass --by agent,model")

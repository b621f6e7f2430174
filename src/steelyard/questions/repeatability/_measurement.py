"""Measure how repeatable the outputs of each prompt are, before and after repair."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Self

from msgspec import UNSET, structs

from steelyard import store
from steelyard.errors import NoValidInputError, ProfileError, UnknownNameError, UsageError
from steelyard.metrics import catalog, constants_of
from steelyard.option_names import option
from steelyard.pages import check_folder, csv_cell, writing
from steelyard.profiles import Profile, load_profile
from steelyard.questions._run_input import current_progress, each_input
from steelyard.questions.repeatability._answer import (
    CanonInfo,
    OutputSample,
    PairDistance,
    PromptResult,
    PromptVersions,
    RepairStep,
    Repeatability,
)
from steelyard.questions.repeatability._canon import CanonCache, ChosenCanon, canon_of_experiment, choose_canon
from steelyard.questions.repeatability._distance import (
    DISTANCE_VERSION,
    MetricInputs,
    Workbench,
    pair_distances,
    prompt_intervals,
    prompt_metrics,
    signature,
)
from steelyard.questions.repeatability._normalization import Level, default_level, level_named
from steelyard.questions.repeatability._oracle import Oracle, Verdict, oracle_version
from steelyard.questions.repeatability._prompts import KEYS, Contracts, Prompt, read_prompts
from steelyard.questions.repeatability._repair import (
    ORDINARY_BUDGET,
    REPAIR_VERSION,
    RepairBudget,
    RepairResult,
    repair as repair_code,
)
from steelyard.questions.repeatability._source_code import EXTRACTION_VERSION, PYTHON, language_named, language_of
from steelyard.records import Finding, Missing, Redaction, key_named, one_a_kind, set_aside_findings
from steelyard.suggestions import nearest

if TYPE_CHECKING:
    from steelyard.questions.repeatability import RepeatabilityInput, RepeatabilityOptions
    from steelyard.store import Store


class RepeatabilityFiles:
    """Up to four CSV files in a folder, written prompt by prompt in full precision; every row carries the versions."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._opened = ExitStack()
        self._writers: dict[str, Any] = {}  # Any: csv has no public name for its writers

    def __enter__(self) -> Self:
        check_folder(self.folder)
        with writing(self.folder):
            self.folder.mkdir(exist_ok=True)
        return self

    def __exit__(self, *_error: object) -> None:
        self._opened.close()

    def add(self, prompt: PromptResult) -> None:
        """Write the prompt's rows."""
        for sample in prompt.samples:
            for stage in ("pre", "post"):
                self._row(f"distances_{stage}.csv", _distance_row(prompt, sample, stage))
            if sample.repair_ended:
                self._row("repairs.csv", _repair_row(prompt, sample))
        self._row("metrics_summary.csv", _metrics_row(prompt))

    def _row(self, name: str, row: dict[str, Any]) -> None:
        if name not in self._writers:
            file: IO[str] = self._opened.enter_context((self.folder / name).open("w", encoding="utf-8", newline=""))
            self._writers[name] = csv.DictWriter(file, row.keys(), lineterminator="\n")
            self._writers[name].writeheader()
        self._writers[name].writerow({key: _cell(value) for key, value in row.items()})


def _cell(value: Any) -> Any:  # Any: what a CSV cell can hold
    if isinstance(value, bool):
        return "true" if value else "false"
    return csv_cell(value, raw=False)


def _version_cells(result: PromptResult) -> dict[str, str]:
    versions = result.versions
    return {
        "normalization_version": versions.normalization,
        "oracle_version": versions.oracle,
        "distance_version": versions.distance,
    }


def _metrics_row(result: PromptResult) -> dict[str, Any]:
    names = sorted(metric.name for metric in catalog().at("prompt"))
    values = {name: result.metrics.get(name) for name in names}
    return {"prompt": result.prompt, "n": result.n, "tau": result.tau, **values, **_version_cells(result)}


def _distance_row(result: PromptResult, sample: OutputSample, stage: str) -> dict[str, Any]:
    return {
        "prompt": result.prompt,
        "sample": sample.sample,
        "run": sample.run,
        "stage": stage,
        "signature": sample.signature_pre if stage == "pre" else sample.signature_post,
        "d": sample.d_pre if stage == "pre" else sample.d_post,
        "compliant": sample.compliant_pre if stage == "pre" else sample.compliant_post,
        "fell_back": sample.fell_back,
        "approximate": sample.approximate,
        **_version_cells(result),
    }


def _repair_row(result: PromptResult, sample: OutputSample) -> dict[str, Any]:
    return {
        "prompt": result.prompt,
        "sample": sample.sample,
        "run": sample.run,
        "before_signature": sample.signature_pre,
        "after_signature": sample.signature_post,
        "d_before": sample.d_pre,
        "d_after": sample.d_post,
        "steps": ";".join(step.step for step in sample.steps),
        "success": sample.d_post == 0,
        "reason": sample.repair_ended,
        "repair_bound": sample.repair_bound,
        "repair_version": result.versions.repair,
        **_version_cells(result),
    }


def measure_prompts(outputs: RepeatabilityInput, options: RepeatabilityOptions) -> Repeatability:
    """Measure each prompt; CSV files, if requested, are written prompt by prompt."""
    by = tuple(key_named(name, known=KEYS, what="grouping key") for name in options.by)
    for name, key in zip(options.by, by, strict=True):
        if key != name and nearest(name, KEYS):
            raise UnknownNameError("grouping key", name, (*KEYS, "x_..."))
    if len(set(by)) != len(by):
        raise UsageError(f"duplicate key in {option('by')}")
    if options.language is not None:
        language_named(options.language)
    level = None if options.normalize is None else level_named(options.normalize)
    profile = options.profile if isinstance(options.profile, Profile) else load_profile(options.profile)
    tau = constants_of(catalog()["p_tau_pre"], profile)["tau"] if options.tau is None else options.tau
    if profile.spec != "repeatability":
        hint = f"use a repeatability profile: {option('profile', 'repeatability-1')}"
        raise UsageError(f"profile {profile.name!r} is for the {profile.spec} specification", hint=hint)
    if not 0 <= tau <= 1:
        raise UsageError(f"{option('tau')} must be between 0 and 1 (got {tau})")
    if options.csv_dir is not None:
        check_folder(options.csv_dir)
    contracts, mapping = Contracts(options.contract), options.mapping()
    prompts, rejected, found_reading = read_prompts(
        list(each_input(outputs, mapping)),
        by=by,
        contracts=contracts,
        language=options.language,
        needs_contract=options.repair,
        labels=options.labels(),
        mapping=mapping,
    )
    if not prompts:
        first = rejected[0]
        raise NoValidInputError(f"nothing to compare: {first.reason}", where=first.where, hint=first.hint)
    findings = [*set_aside_findings(rejected), *found_reading, *contracts.unused(prompts)]
    if options.prompt is not None:
        prompts = _selected(prompts, options.prompt)
    worker = _Worker(options, level=level, profile=profile, tau=tau)
    progress = current_progress()
    measured: list[PromptResult] = []
    with nullcontext() if options.csv_dir is None else RepeatabilityFiles(options.csv_dir) as files:
        for prompt, found in worker.run(prompts):
            measured.append(prompt)
            findings += found
            if files is not None:
                files.add(prompt)
            if progress is not None:
                progress(prompt.prompt, 1)
    return Repeatability(
        prompts=tuple(measured if options.code else map(_without_code, measured)),
        findings=one_a_kind(findings),
        rejected_count=len(rejected),
    )


def _selected(prompts: Sequence[Prompt], name: str) -> list[Prompt]:
    """Return the prompts of a name, which may be written as on pages: without keys and tokens."""
    own = [prompt.name for prompt in prompts]
    shown = Redaction().tree(own)
    if name not in own and name not in shown:
        raise UnknownNameError("prompt", name[:200], shown)
    return [prompt for prompt, as_shown in zip(prompts, shown, strict=True) if name in (prompt.name, as_shown)]


class _Worker:
    def __init__(self, options: RepeatabilityOptions, *, level: Level | None, profile: Profile, tau: float) -> None:
        self.options = options
        self.level = level
        self.profile = profile.name
        self.budget = RepairBudget(
            work=_whole(profile, "repair_work", ORDINARY_BUDGET.work),
            checks=_whole(profile, "repair_checks", ORDINARY_BUDGET.checks),
        )
        self.tau = tau
        self._benches: dict[tuple[Level, str | None], Workbench] = {}

    def run(self, prompts: Sequence[Prompt]) -> Iterator[tuple[PromptResult, list[Finding]]]:
        """Yield the result of each prompt with its findings, in order."""
        store = self._open_store(prompts)
        try:
            cache = CanonCache(store)
            for prompt in prompts:
                yield self._measure(prompt, cache)
        finally:
            if store is not None:
                store.close()

    def _open_store(self, prompts: Sequence[Prompt]) -> Store | None:
        wanted = any(prompt.contract is not None and not prompt.is_experiment for prompt in prompts)
        if self.options.store is None or not wanted:
            return None

        return store.open_store(self.options.store)

    def _bench(self, prompt: Prompt) -> Workbench:
        # Prose has no language unless --normalize needs one.
        named = prompt.language or (PYTHON if self.level else "")
        language = language_of(named)
        stated = prompt.contract.level if prompt.contract is not None else None
        level = self.level or stated or default_level(language)
        return self._benches.setdefault((level, language), Workbench(level, language))

    def _measure(self, prompt: Prompt, cache: CanonCache) -> tuple[PromptResult, list[Finding]]:
        bench = self._bench(prompt)
        oracle = self._oracle(prompt)
        codes = [answer.code for answer in prompt.answers]
        verdicts = oracle.check_all(codes) if oracle is not None else []
        if prompt.is_experiment:
            canon = canon_of_experiment(prompt, bench)
        else:
            canon = choose_canon(prompt, verdicts, bench, cache)
        repaired = self._repaired(codes, canon, oracle, bench) if self.options.repair else {}
        samples = _samples(prompt, bench, canon, verdicts, repaired, oracle, repairs=self.options.repair)
        texts = [bench.form(code).text for code in codes]
        compared = _compared(samples, texts, has_canon=canon is not None)
        metrics, reasons = _without_missing(values := prompt_metrics(compared, tau=self.tau))
        result = PromptResult(
            prompt=prompt.name,
            key=prompt.key,
            n=len(codes),
            asked=len(codes) + prompt.failed,
            failed=prompt.failed,
            profile=self.profile,
            tau=self.tau,
            level=bench.level,
            versions=_versions(bench, repairs=bool(repaired)),
            metrics=metrics,
            reasons=reasons,
            intervals=prompt_intervals(compared, values),
            isolation=next((verdict.isolation for verdict in verdicts if verdict.isolation), None),
            canon=_canon_info(canon),
            samples=tuple(samples),
            pair_distances=tuple(
                PairDistance(texts.index(a) + 1, texts.index(b) + 1, apart)
                for (a, b), apart in compared.distances.items()
            ),
            stored_repairs=self._stored(prompt, bench, canon, compared) if self.options.repair else None,
        )
        found = _findings(samples, values, canon, prompt, repairs=self.options.repair)
        return result, [*prompt.findings, *(canon.findings if canon else ()), *found]

    def _oracle(self, prompt: Prompt) -> Oracle | None:
        """Return the oracle if it is needed to choose the canon or to repair."""
        if prompt.contract is None or (prompt.is_experiment and not self.options.repair):
            return None
        return Oracle(prompt.contract, no_sandbox=self.options.no_sandbox)

    def _repaired(
        self, codes: Sequence[str], canon: ChosenCanon | None, oracle: Oracle | None, bench: Workbench
    ) -> dict[str, RepairResult]:
        """Repair each distinct output."""
        if canon is None or oracle is None:
            return {}

        def repair_output(code: str) -> RepairResult:
            return repair_code(code, canon=canon.code, oracle=oracle, level=bench.level, budget=self.budget)

        distinct = list(dict.fromkeys(codes))
        with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
            return dict(zip(distinct, pool.map(repair_output, distinct), strict=True))

    def _stored(
        self, prompt: Prompt, bench: Workbench, canon: ChosenCanon | None, ours: MetricInputs
    ) -> dict[str, float | None] | None:
        """Return the metrics of the repaired outputs in the input."""
        if all(answer.repaired is None for answer in prompt.answers):
            return None
        goal = None if canon is None else canon.normalized
        d_post = [bench.distance(answer.repaired or answer.code, goal).value for answer in prompt.answers]
        return _without_missing(prompt_metrics(replace(ours, d_post=d_post), tau=self.tau))[0]


def _whole(profile: Profile, name: str, default: int) -> int:
    """Return a budget of the profile as an integer."""
    value = profile.constant(name, default)
    if value < 0 or value != int(value):
        raise ProfileError(f"constant {name!r} must be a non-negative integer (got {value})", where=profile.name)
    return int(value)


def _without_missing(values: dict[str, float | Missing]) -> tuple[dict[str, float | None], dict[str, str]]:
    """Split values into numbers (None if missing) and reasons."""
    numbers = {name: None if isinstance(value, Missing) else value for name, value in values.items()}
    return numbers, {name: value.reason for name, value in values.items() if isinstance(value, Missing)}


def _versions(bench: Workbench, *, repairs: bool) -> PromptVersions:
    return PromptVersions(
        normalization=bench.version,
        oracle=oracle_version(),
        distance=DISTANCE_VERSION,
        extraction=EXTRACTION_VERSION,
        repair=REPAIR_VERSION if repairs else None,
    )


def _compared(samples: Sequence[OutputSample], texts: Sequence[str], *, has_canon: bool) -> MetricInputs:
    return MetricInputs(
        signatures=[sample.signature_pre for sample in samples],
        digests=[sample.digest for sample in samples],
        d_pre=[sample.d_pre for sample in samples],
        d_post=[sample.d_post for sample in samples],
        texts=texts,
        has_canon=has_canon,
        distances=pair_distances(texts),
    )


def _samples(
    prompt: Prompt,
    bench: Workbench,
    canon: ChosenCanon | None,
    verdicts: Sequence[Verdict],
    repaired: dict[str, RepairResult],
    oracle: Oracle | None,
    *,
    repairs: bool,
) -> list[OutputSample]:
    goal = None if canon is None else canon.normalized
    samples = []
    for number, answer in enumerate(prompt.answers, 1):
        ours = repaired.get(answer.code)
        # If our repair was requested but impossible, another tool's repair does not replace it.
        stored = answer.code if repairs or answer.repaired is None else answer.repaired
        after = stored if ours is None else ours.code
        before, later = bench.distance(answer.code, goal), bench.distance(after, goal)
        verdict = verdicts[number - 1] if verdicts else None
        samples.append(
            OutputSample(
                sample=number,
                run=answer.run,
                digest=signature(answer.code),
                signature_pre=bench.signature(answer.code),
                signature_post=bench.signature(after),
                d_pre=before.value,
                d_post=later.value,
                compliant_pre=None if verdict is None else verdict.passed,
                compliant_post=None if oracle is None or ours is None else oracle.check(after).passed,
                reason="" if verdict is None else verdict.reason,
                fell_back=bench.form(answer.code).fell_back is not None,
                approximate=before.approximate or later.approximate,
                steps=tuple(RepairStep(step=step.step, before=step.before, after=step.after) for step in ours.steps)
                if ours
                else (),
                repair_ended=ours.reason if ours else "",
                repair_bound=ours is not None and ours.is_bounded,
                code=answer.code,
                code_post=after,
            )
        )
    return samples


def _without_code(prompt: PromptResult) -> PromptResult:
    samples = tuple(structs.replace(sample, code=UNSET, code_post=UNSET) for sample in prompt.samples)
    return structs.replace(prompt, samples=samples)


def _canon_info(canon: ChosenCanon | None) -> CanonInfo | None:
    if canon is None:
        return None
    return CanonInfo(
        signature=canon.signature, origin=canon.origin, from_run=canon.from_run, normalized=canon.normalized
    )


def _findings(
    samples: Sequence[OutputSample],
    metrics: Mapping[str, float | Missing],
    canon: ChosenCanon | None,
    prompt: Prompt,
    *,
    repairs: bool,
) -> Iterator[Finding]:
    where = prompt.name
    if not samples:
        message = "no outputs: r_raw and r_anchor are 0 by definition; all other metrics are missing"
        yield Finding(code="no_outputs", message=message, where=where)
    elif canon is None:
        why = "no output passes the oracle" if prompt.contract else "no contract"
        if prompt.is_experiment:
            why = "the file has none"
        message = f"no canon ({why}): outputs are compared with each other, and every distance to the canon is 1"
        yield Finding(code="no_canon", message=message, where=where)
    elif repairs and prompt.contract is None:
        message = "nothing is repaired, because there is no contract to check repairs"
        yield Finding(code="not_repaired", message=message, where=where)
    fallen = sum(sample.fell_back for sample in samples)
    if fallen:
        language = f" as {prompt.language}" if prompt.language else ""
        message = f"{fallen} of {len(samples)} outputs do not parse{language} and were compared as plain text"
        yield Finding(code="fell_back", message=message, where=where)
    if any(sample.approximate for sample in samples):
        message = "some distances are upper bounds because some outputs are too long to compare exactly"
        yield Finding(code="approximate", message=message, where=where)
    bounded = sum(sample.repair_bound for sample in samples)
    if bounded:
        message = (
            f"repair of {bounded} of {len(samples)} outputs stopped at the work budget"
            " (repair_work and repair_checks in the profile)"
        )
        yield Finding(code="repair_bound", message=message, where=where)
    worse = sum(sample.d_post > sample.d_pre for sample in samples)
    if worse:
        message = f"repair moved {worse} of {len(samples)} outputs away from the canon"
        yield Finding(code="repair_worsened", message=message, where=where)
    for name, sign, effect in (
        ("delta_mu", 1, "the mean distance is larger"),
        ("delta_p_tau", -1, "fewer outputs are within tau"),
    ):
        change = metrics[name]
        if isinstance(change, float) and change * sign > 0:
            yield Finding(code=f"{name}_worsened", message=f"after repair {effect} ({change:+.3f})", where=where)
    broken = sum(bool(sample.compliant_pre) and sample.compliant_post is False for sample in samples)
    if broken:
        message = f"{broken} repaired outputs fail the oracle that they passed before"
        yield Finding(code="repair_broke", severity="error", message=message, where=where)

"""Sections of a report: the questions that the inputs support, their options and answers."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from msgspec import structs

from steelyard.errors import InputError, UnknownNameError, UnreadableFileError, UsageError
from steelyard.files import file_chunks
from steelyard.metrics import catalog
from steelyard.option_names import option
from steelyard.questions._answer import Answer
from steelyard.questions._figure_options import MeasureOptions, RankOptions
from steelyard.questions._group_keys import default_keys
from steelyard.questions._measured_tables import is_arena
from steelyard.questions._question import Names, Options, command_of, doc
from steelyard.questions._run_input import EVERY_RUN, InputsByKind, RecordReader, current_progress
from steelyard.questions.compare import CompareOptions, compare
from steelyard.questions.completeness import CompletenessCounts, CompletenessOptions, CompletenessSummary
from steelyard.questions.judges import JudgesOptions, judges
from steelyard.questions.measure import ALL, measure
from steelyard.questions.rank import Ranking, rank
from steelyard.questions.repeatability import RepeatabilityOptions, repeatability
from steelyard.questions.repeatability._prompts import KEYS as REPEAT_KEYS
from steelyard.questions.report._answer import ReportInput, ReportOutput
from steelyard.questions.show import PIECE_CHARACTERS
from steelyard.questions.speedup import SpeedupOptions, speedup
from steelyard.questions.usage import UsageOptions, UsageSummary, UsageSums
from steelyard.records import Finding, Run, RunChooser, encode_run, key_of, set_aside_findings
from steelyard.settings import STDIN, is_stdin, shown_path
from steelyard.sources import PlacedRun

if TYPE_CHECKING:
    from steelyard.sources import RunTable


def described_inputs(given: Sequence[Path | PlacedRun]) -> tuple[ReportInput, ...]:
    """Each path with its digest, and all records together."""
    described = [
        ReportInput(name=str(shown_path(path)), sha256=_path_digest(path)) for path in given if isinstance(path, Path)
    ]
    records = [each for each in given if not isinstance(each, Path)]
    if records:
        digest = hashlib.sha256(b"".join(encode_run(each.run) + b"\n" for each in records))
        described.append(ReportInput(name=f"{len(records):,} records", sha256=digest.hexdigest()))
    return tuple(described)


def _path_digest(path: Path) -> str | None:
    """Of a file's bytes; of a folder's files with their names, in the order of names."""
    try:
        if path.is_file():
            return _file_digest(path)
        if not path.is_dir():
            return None
        whole = hashlib.sha256()
        for file in sorted(each for each in path.rglob("*") if each.is_file()):
            whole.update(f"{_file_digest(file)}  {file.relative_to(path).as_posix()}\n".encode("utf-8", "replace"))
        return whole.hexdigest()
    except (OSError, UnreadableFileError):
        return None  # the reader reports the error


def _file_digest(path: Path) -> str:
    digest = hashlib.sha256()
    for chunk in file_chunks(path):
        digest.update(chunk)
    return digest.hexdigest()


SECTIONS = (
    "rank",
    "measure",
    "compare",
    "judges",
    "repeatability",
    "speedup",
    "usage",
    "completeness",
    "findings",
    "runs",
    "outputs",
)
"""Sections of a report, in order."""


class ReportOptions(RankOptions):
    """Options of `report`."""

    title: str | None = doc("Report title.", default=None)
    sections: Names = doc(f"Comma-separated sections (default: all): {', '.join(SECTIONS)}.", default=())
    with_outputs: bool = doc("Include agent outputs, up to 64,000 characters each.", default=False)
    redact: bool = doc("Redact API keys and tokens.", default=True)


Asked: TypeAlias = dict[str, UsageOptions | CompletenessOptions]


class RecordSums:
    """Takes records one after another; a section that is not asked for takes none."""

    def __init__(self, options: ReportOptions, sections: Sequence[str]) -> None:
        shared = {name: getattr(options, name) for name in ("set", "map", "where", "since", "until", "prices")}
        # UTC, so that a report does not depend on where it is made; its figure shows the days
        usage, completeness = UsageOptions(**shared, by=("month", "model"), tz="UTC"), CompletenessOptions(**shared)
        wanted: Asked = {"usage": usage, "completeness": completeness}
        self.asked = {name: wanted[name] for name in wanted if name in sections}
        self._adding, self._counting = UsageSums(usage), CompletenessCounts(completeness)
        self._chooser = RunChooser(self._adding.choice)

    def add_calls(self, run: Run, id_: str) -> None:
        """The calls of a run, of which each has its own time."""
        if "usage" in self.asked and self._chooser.keeps(run):
            self._adding.add(run, id_)

    def add_fields(self, run: Run) -> None:
        """The fields of a run that was chosen."""
        if "completeness" in self.asked:
            self._counting.add(run)

    def used(self, *, rejected_count: int) -> UsageSummary | None:
        """Return the usage of the calls; None if neither cost nor tokens are known."""
        summary = self._adding.summary((), rejected_count=rejected_count)
        is_known = summary.total.cost_usd is not None or summary.total.total_tokens is not None
        return summary if is_known and summary.total.runs else None

    def covered(self) -> CompletenessSummary:
        """Completeness of the runs."""
        return self._counting.summary(())


MAX_OUTPUTS, MAX_OUTPUT_CHARS = 1_000, 16_000_000

CHOSEN: dict[str, Any] = {"where": (), "since": None, "until": None, "set": (), "map": None}  # Any: options' values
"""Options for runs that are already read and filtered."""

AnswerT = TypeVar("AnswerT", bound=Answer)
OptionsT = TypeVar("OptionsT", bound=Options)


@dataclass
class ReportSections:
    """Answers of a report, section by section."""

    options: ReportOptions
    source: Any = None
    """What runs are ranked, measured and compared from: a table of chosen runs, or an arena (Any: imported late)."""
    inputs: InputsByKind = field(default_factory=lambda: InputsByKind((), (), ()))
    all_inputs: Sequence[Path | PlacedRun] = ()
    described: tuple[ReportInput, ...] = ()
    results: dict[str, Answer] = field(default_factory=dict)
    """By section."""
    outputs: list[ReportOutput] = field(default_factory=list)
    outputs_left_out: int = 0
    omitted: dict[str, str] = field(default_factory=dict)
    commands: dict[str, str] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    rejected_count: int = 0
    _answered: list[Run] = field(default_factory=list)
    """The runs that hold an output."""
    _prompt_keys: tuple[str, ...] = ("task", "agent", "model")

    def __post_init__(self) -> None:
        named = list(self.options.sections)
        for name in named:
            if name not in SECTIONS:
                raise UnknownNameError("section", name, SECTIONS)
        self.sections = tuple(name for name in SECTIONS if not named or name in named)
        self.metrics = tuple(name for name in self.options.metrics if _section_of(name) == "measure")

    def keep_command(self, section: str, options: Any, inputs: Sequence[Path | PlacedRun]) -> None:
        """Keep the command that gives the section, with the options of its command (Any: each has its own)."""
        paths = [str(path) for path in inputs if isinstance(path, Path)]
        if is_arena(self.source):
            paths = [self.source.store.address]
        command = command_of(section, paths or ["RUNS"], options)
        self.commands[section] = command if section == "report" else f"{command} --json"

    def check_metrics(self) -> None:
        """Raise an error if a requested metric is in no section."""
        ranking = self.results.get("rank")
        ranked = ranking.metrics if isinstance(ranking, Ranking) else ()
        for name in self.options.metrics:
            section = _section_of(name)
            if section not in self.results and name not in ranked:
                if section in self.omitted:
                    raise UsageError(f"the report cannot show {name}: {self.omitted[section]}")
                raise UsageError(f"{name} is in section {section}", hint=option("sections", section))

    def given(self, given: list[Path | PlacedRun]) -> list[Path | PlacedRun]:
        """The paths and records; what is piped in is read once, and is records from then on."""
        self.all_inputs, self.described = given, described_inputs(given)
        if not any(isinstance(each, Path) and is_stdin(each) for each in given):
            return given
        reader = RecordReader(replace(self.options.reading(), choice=EVERY_RUN))
        records: list[Path | PlacedRun] = [item.entry for item in reader.read([STDIN])]
        self.findings += [*set_aside_findings(reader.set_aside)]
        self.rejected_count += len(reader.set_aside)
        return [each for each in given if not (isinstance(each, Path) and is_stdin(each))] + records

    def over_runs(self, table: RunTable) -> None:
        """The sections that are made from runs."""
        by = self._by(table)
        ranking = None
        if "rank" in self.sections or "compare" in self.sections:
            self._report_progress("ranking")
            ranking = self._ranked(by)
        if "compare" in self.sections:
            self._report_progress("comparing the leaders")
            self._compare_leaders(ranking, by)
        if ranking is not None and len(ranking.groups) < 2:
            self.omitted["rank"] = "fewer than two groups to rank"
            del self.results["rank"]
        if "rank" not in self.sections:
            self.results.pop("rank", None)
        if "measure" in self.sections:
            self._report_progress("measuring")
            self._measured(by, interval="auto")
        elif "findings" in self.sections:  # anomalies of single runs are found by measuring them
            self._measured(by, interval="none")
            self.results.pop("measure", None)
            self.omitted.pop("measure", None)
        if {"judges", "repeatability", "usage", "completeness", "outputs"} & set(self.sections):
            self._over_records(by)

    def _report_progress(self, doing: str) -> None:
        if (progress := current_progress()) is not None:
            progress(doing, 0)

    def _by(self, table: RunTable) -> tuple[str, ...]:
        """The keys that make a competitor: those named, else those in which the runs differ."""
        named = list(self.options.by)
        if named:
            return tuple(named)
        return default_keys(table)

    def _chosen(self, options: OptionsT) -> OptionsT:
        """Return the options for the source: a table contains the chosen runs already."""
        return options if is_arena(self.source) else options.replace(**CHOSEN)

    def _ranked(self, by: tuple[str, ...]) -> Ranking | None:
        """Return the ranking by the first requested metric that has a better direction, with others."""
        values = {name: getattr(self.options, name) for name in RankOptions.declared}
        shown = [declared for name in self.metrics if (declared := catalog()[name]).is_estimate]
        ranked = sorted(shown, key=lambda declared: declared.better == "neither")
        metrics = [declared.name for declared in ranked] if ranked and ranked[0].better != "neither" else []
        options = RankOptions(**values | {"by": by, "metrics": tuple(metrics)})
        self.keep_command("rank", options, self.inputs.runs)
        return self._part("rank", lambda: rank(self.source, options=self._chosen(options)))

    def _measured(self, by: tuple[str, ...], *, interval: str) -> None:
        shared = MeasureOptions.declared.keys() & RankOptions.declared.keys()
        unused = {"metrics", "confidence"} if interval == "none" else {"metrics"}
        values = {name: getattr(self.options, name) for name in shared - unused}
        metrics = (*self.metrics, ALL) if self.metrics or is_arena(self.source) else ()
        options = MeasureOptions(**values | {"by": by, "interval": interval, "metrics": metrics})
        self.keep_command("measure", options, self.inputs.runs)
        self._part("measure", lambda: measure(self.source, options=self._chosen(options)))

    def _compare_leaders(self, ranking: Ranking | None, by: tuple[str, ...]) -> None:
        leaders = ranking.groups[:2] if ranking is not None else ()
        if len(leaders) < 2:
            self.omitted["compare"] = "a comparison needs at least two ranked groups"
            return
        first, second = (
            {key: str(value) for key, value in group.key.items() if value is not None} for group in leaders
        )
        if first == second or any(value is None for group in leaders for value in group.key.values()):
            self.omitted["compare"] = f"the two leading groups do not both have {', '.join(by)}"
            return
        shared = CompareOptions.declared.keys() & RankOptions.declared.keys()
        values = {name: getattr(self.options, name) for name in shared - {"metrics"}}
        options = CompareOptions(**values, baseline=second, candidate=first)
        self.keep_command("compare", options, self.inputs.runs)
        try:
            self._part("compare", lambda: compare(self.source, options=self._chosen(options)))
        except UsageError as error:  # tiers of two schemes, or a name that no filter can select
            self.omitted["compare"] = error.message

    def _over_records(self, by: tuple[str, ...]) -> None:
        """Yield the sections that need whole records: judges and outputs."""
        judged = []
        sums = RecordSums(self.options, self.sections)
        chooser = RunChooser(self.options.choice())
        reader = RecordReader(replace(self.options.reading(), choice=EVERY_RUN))
        entries: list[Any] = [each.run if isinstance(each, PlacedRun) else each for each in self.inputs.runs]
        for id_, entry in reader.read(entries) if entries else ():
            run = entry.run if entry.run.id else structs.replace(entry.run, id=id_)
            sums.add_calls(run, id_)
            if not chooser.keeps(run):
                continue
            sums.add_fields(run)
            judged += [run] if run.judgments else []
            self._answered += [run] if run.output is not None and run.output.text else []
        self._sum_up(sums, rejected_count=self.rejected_count + len(reader.set_aside))
        if "judges" in self.sections:
            self._report_progress("examining the judges")
            self._examine(judged, by)
        if "outputs" in self.sections and self.options.with_outputs:
            self._show_outputs()
        if "repeatability" not in self.sections:
            self._answered = []
        keys = ("task", *(key for key in by if key in REPEAT_KEYS and key != "task"))
        prompts = Counter(tuple(key_of(run, key) for key in keys) for run in self._answered)
        self._answered = [run for run in self._answered if prompts[tuple(key_of(run, key) for key in keys)] > 1]
        self._prompt_keys = keys

    def _sum_up(self, sums: RecordSums, *, rejected_count: int) -> None:
        """What the runs used and what is known of them."""
        for section, options in sums.asked.items():
            self.keep_command(section, options, self.inputs.runs)
            if not self.inputs.runs:
                self.omitted[section] = "a table of runs does not contain the full records"
        if "usage" in sums.asked and self.inputs.runs:
            try:
                used = self._part("usage", partial(sums.used, rejected_count=rejected_count))
            except UsageError as error:  # a model that runs name, and none of their calls
                self.omitted["usage"], used = error.message, None
            if used is None:
                self.omitted.setdefault("usage", "no run reports tokens or cost")
        if "completeness" in sums.asked and self.inputs.runs:
            self._part("completeness", sums.covered)

    def _examine(self, judged: Sequence[Run], by: tuple[str, ...]) -> None:
        shared = JudgesOptions.declared.keys() & type(self.options).declared.keys()
        options = JudgesOptions(**{name: getattr(self.options, name) for name in shared} | {"by": by})
        self.keep_command("judges", options, self.inputs.runs)
        if not judged:
            self.omitted["judges"] = "no run has judgments"
            return
        chosen = options.replace(**CHOSEN)
        self._part("judges", lambda: judges(judged, options=chosen))

    def _show_outputs(self) -> None:
        left = MAX_OUTPUT_CHARS
        for run in sorted(self._answered, key=_output_order):
            assert run.output is not None
            text = run.output.text[:PIECE_CHARACTERS]
            if len(self.outputs) >= MAX_OUTPUTS or len(text) > left:
                self.outputs_left_out += 1
                continue
            left -= len(text)
            self.outputs.append(
                ReportOutput(
                    run=run.id or "",
                    task=run.task,
                    agent=run.agent,
                    text=text,
                    left_out=len(run.output.text) - len(text),
                )
            )

    def over_files(self) -> None:
        """Yield the sections with files of their own, or with sums over the records."""
        if "repeatability" in self.sections:
            outputs: list[Path | Run] = [*self.inputs.experiments, *self._answered]
            options = RepeatabilityOptions(repair=False, by=self._prompt_keys)
            answered = self.inputs.runs if self._answered else ()
            self.keep_command("repeatability", options, [*self.inputs.experiments, *answered])
            self._report_progress("comparing outputs")
            if outputs:
                self._part("repeatability", lambda: repeatability(outputs, options=options))
            else:
                self.omitted["repeatability"] = "no task has two outputs of the same configuration"
        if "speedup" in self.sections:
            speedups = SpeedupOptions(prices=self.options.prices)
            self.keep_command("speedup", speedups, self.inputs.timings)
            self._report_progress("comparing timings")
            timings = self.inputs.timings
            if timings:
                self._part("speedup", lambda: speedup(timings, options=speedups))
            else:
                self.omitted["speedup"] = "no input contains timings"

    def _part(self, section: str, ask: Callable[[], AnswerT | None]) -> AnswerT | None:
        """Keep the answer of a section, or the reason if the data do not support it."""
        try:
            answer = ask()
        except InputError as error:
            self.omitted[section] = error.message
            return None
        if answer is None:
            return None
        self.results[section] = answer
        # without a contract there is no canon, and no code is run to find one
        self.findings += [finding for finding in answer.findings if finding.code != "no_canon"]
        return answer


def _section_of(metric: str) -> str:
    """Return the section that shows a metric."""
    row = catalog()[metric].row
    return "repeatability" if row == "prompt" else "speedup" if row in ("attempt", "benchmark") else "measure"


def _output_order(run: Run) -> tuple[str, ...]:
    return tuple(text or "" for text in (run.task, run.agent, run.model, run.tier, f"{run.attempt or 0:09}", run.id))

"""Read inputs into prompts with their outputs in order."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from steelyard.errors import ContractError, UnreadableFileError
from steelyard.files import PLAN_RUNS, is_plan_folder, parse_json, read_text, rejected_file
from steelyard.questions._run_input import looks_like_experiment
from steelyard.questions.repeatability._contract import Contract, contract_from_skyt, read_contract
from steelyard.questions.repeatability._source_code import PYTHON, extract_code, is_words, language_of, parse_python
from steelyard.records import EMPTY_FILE, NO_LABELS, Finding, Labels, Rejected, Run, key_of, tier_text
from steelyard.settings import TEXT_BYTES, is_stdin
from steelyard.sources import PlacedRun, each_once, gather
from steelyard.suggestions import nearest

if TYPE_CHECKING:
    from steelyard.sources import Mapping

_CONTRACT_ENDINGS = (".toml", ".json")
_ANSWER_ENDINGS = (".md", ".markdown", ".txt", "")
_RECORD_ENDINGS = (".jsonl", ".ndjson", ".json", ".csv", ".parquet")
RECORDS = "records"
LOOSE_FILES = "loose files"
ALL_RUNS = "all runs"
"""Name of a prompt without any grouping key."""
RECORD_SHAPE = 'each record needs a task and an output: {"task": "NAME", "output": {"text": "..."}}'
KEYS = ("task", "agent", "model", "tier", "experiment")


@dataclass(frozen=True)
class Answer:
    """One output of the prompt."""

    code: str
    """The program, extracted from the answer."""
    run: str | None
    """The run or file it came from; None in an experiment."""
    repaired: str | None = None
    """Another tool's repaired version."""


@dataclass(frozen=True)
class Prompt:
    """A prompt with its answers in order."""

    name: str
    answers: tuple[Answer, ...]
    language: str | None = PYTHON
    """None for prose: no language is stated and the outputs are not programs."""
    key: dict[str, str | None] = field(default_factory=dict)
    canon: str | None = None
    """The canon that came with the input."""
    contract: Contract | None = None
    failed: int = 0
    """Samples without an output because the run failed."""
    is_experiment: bool = False
    """Whether it is from an experiment file with its own canon, which is never stored."""
    folder: str | None = None
    """The folder of its outputs, relative to the input; None for other inputs."""
    findings: tuple[Finding, ...] = ()


def _with_shape(rejected: Rejected) -> Rejected:
    """Add the required record shape to the hint."""
    hint = RECORD_SHAPE if rejected.hint is None else f"{RECORD_SHAPE}; {rejected.hint}"
    return msgspec.structs.replace(rejected, hint=hint)


def _prose_as_text(prompt: Prompt) -> Prompt:
    """Drop the assumed language if the outputs are prose, not programs."""
    trees = [parse_python(answer.code) for answer in prompt.answers]
    # a word such as `yes` is an expression in any language
    is_code = any(tree is not None and not is_words(tree) for tree in trees)
    return prompt if is_code or None not in trees else replace(prompt, language=None)


class Contracts:
    """The contracts that the user named: one file, or a folder of them."""

    def __init__(self, path: Path | None) -> None:
        self._by_id: dict[str, Contract] = {}
        self._path = path
        if path is None:
            return
        if not path.exists():
            raise ContractError("no such file or directory", where=str(path))
        files = sorted(path.iterdir()) if path.is_dir() else [path]
        for file in files:
            if path.is_dir() and file.suffix.lower() not in _CONTRACT_ENDINGS:
                continue
            contract = read_contract(file)
            if contract.id in self._by_id:
                raise ContractError(f"duplicate contract id {contract.id!r}", where=str(file))
            self._by_id[contract.id] = contract
        if not self._by_id:
            hint = f"add a contract file ({' or '.join(_CONTRACT_ENDINGS)})"
            raise ContractError("the folder contains no contract", where=str(path), hint=hint)

    def unused(self, prompts: Sequence[Prompt]) -> list[Finding]:
        """A finding when contracts were named and none belongs to a prompt."""
        if not self._by_id or any(prompt.contract is not None for prompt in prompts):
            return []
        tasks = list(dict.fromkeys(prompt.key.get("task") or prompt.name for prompt in prompts))
        alike = next(((id_, close) for id_ in self._by_id if (close := nearest(id_, tasks))), None)
        message = f"no contract id matches a prompt (contracts: {_some(self._by_id)}; prompts: {_some(tasks)})"
        if alike is not None:
            message += f"; did you mean {alike[1]!r} instead of {alike[0]!r}?"
        return [Finding(code="contract_unused", message=message, where=str(self._path))]

    def came_from(self, path: Path) -> bool:
        """Whether the file is the contract itself."""
        return self._path is not None and path.resolve() == self._path.resolve()

    def each(self) -> list[Contract]:
        """All of them, in the order of their files."""
        return list(self._by_id.values())

    def only(self) -> Contract | None:
        """The contract when exactly one was given."""
        return next(iter(self._by_id.values())) if len(self._by_id) == 1 else None

    def named(self, task: str, *, tasks: int) -> Contract | None:
        """Return the contract with this id, or the only contract if there is only one task."""
        return self._by_id.get(task) or (self.only() if tasks == 1 else None)


class Experiment(msgspec.Struct, frozen=True, kw_only=True):
    """One SKYT experiment: one prompt, with outputs and canon as stored."""

    prompt: str
    """The experiment's id."""
    model: str | None
    """The model; None if the file does not report it."""
    raw: tuple[str, ...]
    """Outputs before repair, already extracted from their answers."""
    repaired: tuple[str, ...] | None
    """Outputs after SKYT's repair; None where the file has none."""
    canon: str | None
    """The canonical code; None where the file has none."""
    contract: dict[str, Any] | None  # Any: SKYT's own JSON, read only when the contract is needed
    """The contract as stored."""
    path: str
    """The file."""


def read_prompts(
    inputs: Sequence[Path | PlacedRun],
    *,
    by: Sequence[str],
    contracts: Contracts,
    language: str | None,
    needs_contract: bool,
    labels: Labels = NO_LABELS,
    mapping: Mapping | None = None,
) -> tuple[list[Prompt], list[Rejected], list[Finding]]:
    """Read the prompts of all inputs, in order; with a mapping, every input is a file of records."""
    reader = _Reader(by, contracts, language, needs_contract, labels, mapping)
    for given in inputs:
        if isinstance(given, Path) and mapping is None:
            reader.add_path(given)
        else:
            reader.add_records(given)
    return reader.finish(), reader.rejected, reader.findings


class _Reader:
    def __init__(
        self,
        by: Sequence[str],
        contracts: Contracts,
        language: str | None,
        needs_contract: bool,
        labels: Labels,
        mapping: Mapping | None,
    ) -> None:
        self.by = by
        self.mapping = mapping
        self.labels = labels
        self.contracts = contracts
        self.language = language
        self.needs_contract = needs_contract
        self.rejected: list[Rejected] = []
        self.findings: list[Finding] = []
        self._prompts: list[Prompt | str] = []
        self._records: list[Path | PlacedRun] = []
        self._loose: list[Path] = []
        self._named = Path()

    def add_path(self, path: Path, *, named: bool = True) -> None:
        try:
            if is_stdin(path):
                self.add_records(path)
            elif path.is_dir() and is_plan_folder(path):
                self.add_records(path / PLAN_RUNS)
            elif path.is_dir():
                self._add_folder(path, named=named)
            elif not path.exists():
                raise UnreadableFileError(str(path), "no such file or directory", hint="check the path")
            elif looks_like_experiment(path):
                self._prompts += [self._experiment(experiment) for experiment in read_experiments(path)]
            elif path.suffix.lower() in _RECORD_ENDINGS:
                self.add_records(path)
            else:
                self._loose.append(path)
                if len(self._loose) == 1:
                    self._prompts.append(LOOSE_FILES)
        except UnreadableFileError as error:
            self.rejected.append(rejected_file(error, error.where or str(path)))
        except OSError as error:
            self.rejected.append(Rejected(path=str(path), reason=error.strerror or str(error), code="unreadable_file"))

    def _add_folder(self, folder: Path, *, named: bool) -> None:
        self._named = folder if named else self._named
        answers, left_out, holds_others = [], [], False
        for path in sorted(folder.iterdir(), key=_natural):
            if path.name.startswith("."):
                continue
            if path.is_dir() or (path.suffix.lower() in _RECORD_ENDINGS and not self.contracts.came_from(path)):
                self.add_path(path, named=False)
                holds_others = True
            elif path.suffix.lower() in _ANSWER_ENDINGS or language_of(path.suffix) is not None:
                answers.append(path)
            else:
                left_out.append(path.name)
        # Subfolders may contain anything (caches, images); the input folder itself should contain outputs.
        is_empty = not answers and not holds_others and (named or not left_out)
        prompt = self._folder(folder.resolve().name, answers)
        prompt = replace(prompt, folder=str(self._named.resolve().name / folder.relative_to(self._named)))
        if prompt.answers or is_empty:
            if left_out:
                message = f"skipped {len(left_out)} files that are not outputs: {', '.join(left_out[:5])}"
                prompt = replace(
                    prompt, findings=(Finding(code="left_out", severity="info", message=message, where=str(folder)),)
                )
            self._prompts.append(prompt)

    def _folder(self, name: str, paths: list[Path]) -> Prompt:
        contract = self.contracts.named(name, tasks=1)
        endings = Counter(language_of(path.suffix) for path in paths if language_of(path.suffix))
        common = endings.most_common(1)[0][0] if endings else None
        stated = self.language or (contract.language if contract else None) or common
        language = stated or PYTHON
        answers = [answer for path in paths if (answer := self._answer(path, language)) is not None]
        prompt = Prompt(contract.id if contract else name, tuple(answers), language=language, contract=contract)
        return prompt if stated else _prose_as_text(prompt)

    def _answer(self, path: Path, language: str) -> Answer | None:
        try:
            text = read_text(path, limit=TEXT_BYTES)
        except UnreadableFileError as error:
            self.rejected.append(rejected_file(error, str(path)))
            return None
        # A file with a programming language's extension is a program; any other contains a program.
        is_code = language_of(path.suffix) is not None
        return Answer(text if is_code else extract_code(text, language=language_of(language)).code, path.name)

    def add_records(self, given: Path | PlacedRun) -> None:
        if not self._records:
            self._prompts.append(RECORDS)
        self._records.append(given)

    def finish(self) -> list[Prompt]:
        """Return the prompts in input order; all loose files form one prompt."""
        prompts: list[Prompt] = []
        for prompt in self._prompts:
            if isinstance(prompt, Prompt):
                prompts.append(prompt)
            elif prompt == RECORDS:
                prompts += self._prompts_of_records()
            else:
                loose = self._folder("outputs", self._loose)
                prompts += [loose] if loose.answers else []
        if not prompts and all(rejected.code == EMPTY_FILE for rejected in self.rejected):
            self.rejected = []
            prompts = self._prompts_without_outputs()
        counts = Counter(prompt.name for prompt in prompts)  # one contract may match many folders
        alike = [prompt.folder is not None and counts[prompt.name] > 1 for prompt in prompts]
        named = zip(prompts, alike, strict=True)
        return [replace(each, name=f"{each.name} ({each.folder})") if is_alike else each for each, is_alike in named]

    def _prompts_without_outputs(self) -> list[Prompt]:
        """Return a prompt without outputs per contract."""
        asked = [Prompt(contract.id, (), contract.language, contract=contract) for contract in self.contracts.each()]
        return asked or [Prompt(ALL_RUNS, (), self.language or PYTHON)]

    def _prompts_of_records(self) -> list[Prompt]:
        """Group all records together, as one run may occur in several files."""
        groups: dict[tuple[object, ...], list[Run]] = {}
        paths = [path for path in self._records if isinstance(path, Path)]
        gathered = gather(paths, mapping=self.mapping, labels=self.labels, workers=1)
        records = (entry for entry in self._records if isinstance(entry, PlacedRun))
        rejected: list[Rejected] = []
        for item in each_once(chain(gathered, records), self.labels):
            if isinstance(item, Rejected):
                rejected.append(item)
            elif isinstance(item, Finding):
                self.findings.append(item)
            else:
                run = item.entry.run
                if run.output is None and not _has_failed(run):
                    reason = "the record has no output.text"
                    rejected.append(Rejected(path=item.entry.path, line=item.entry.line, reason=reason))
                else:
                    values = [key_of(run, key) or "" for key in self.by]
                    scheme = run.tier_scheme if "tier" in self.by else None  # T2 of another scheme is another tier
                    groups.setdefault((*values, scheme), []).append(run)
        self.rejected += rejected if groups else map(_with_shape, rejected)
        tasks = len({run.task for runs in groups.values() for run in runs})
        return [self._prompt_of(runs, tasks) for runs in groups.values()]

    def _prompt_of(self, runs: list[Run], tasks: int) -> Prompt:
        contract = self.contracts.named(runs[0].task, tasks=tasks)
        answered = [run for run in runs if run.output is not None]
        languages = Counter(run.output.language for run in runs if run.output and run.output.language)
        common = languages.most_common(1)[0][0] if languages else None
        stated = self.language or (contract.language if contract else None) or common
        language = stated or PYTHON
        findings = []
        if len(languages) > 1:
            listed = ", ".join(sorted(languages))
            message = f"outputs are in {len(languages)} languages ({listed}); all are parsed as {language}"
            findings.append(Finding(code="mixed_languages", message=message))
        key = {name: key_of(runs[0], name) for name in self.by}
        answers = [self._answer_of(run, number, language_of(language)) for number, run in enumerate(answered, 1)]
        tier = key.get("tier")
        named = key | ({"tier": tier_text(tier, runs[0].tier_scheme)} if tier else {})
        shown = " / ".join(str(value) for value in named.values() if value is not None) or ALL_RUNS
        failed = len(runs) - len(answered)
        if failed:
            message = f"{failed} of {len(runs)} samples failed without an output and are not compared"
            findings.append(Finding(code="failed_samples", message=message, where=shown))
        prompt = Prompt(
            shown,
            tuple(answers),
            language=language,
            key=key,
            contract=contract,
            failed=failed,
            findings=tuple(findings),
        )
        return prompt if stated else _prose_as_text(prompt)

    @staticmethod
    def _answer_of(run: Run, number: int, language: str | None) -> Answer:
        assert run.output is not None  # runs without one are rejected
        repaired = run.output.repaired
        return Answer(
            extract_code(run.output.text, language=language).code,
            run.id or f"run {number}",
            None if repaired is None else extract_code(repaired, language=language).code,
        )

    def _experiment(self, experiment: Experiment) -> Prompt:
        findings = []
        repaired: Iterable[str | None] = experiment.repaired or ()
        if experiment.repaired is not None and len(experiment.repaired) != len(experiment.raw):
            message = f"{len(experiment.repaired)} repaired outputs for {len(experiment.raw)} outputs"
            findings.append(Finding(code="repaired_count", message=message, where=experiment.path))
        padded = [*repaired, *([None] * len(experiment.raw))]
        answers = tuple(Answer(code, None, fixed) for code, fixed in zip(experiment.raw, padded, strict=False))
        contract = self.contracts.only()
        if contract is None and self.needs_contract and experiment.contract is not None:
            try:
                read = contract_from_skyt(experiment.contract, where=experiment.path)
            except ContractError as error:
                message = f"invalid contract, so nothing is repaired: {error.message}"
                findings.append(
                    Finding(code="invalid_contract", severity="warning", message=message, where=experiment.path)
                )
            else:
                contract = read.contract
                findings += [note for note in (read.finding(experiment.path),) if note is not None]
        key: dict[str, Any] = {"model": experiment.model} if experiment.model else {}
        return Prompt(
            experiment.prompt,
            answers,
            key=key,
            canon=experiment.canon,
            contract=contract,
            is_experiment=True,
            findings=tuple(findings),
        )


def _has_failed(run: Run) -> bool:
    """Return whether the run failed, so that a missing output is not an input error."""
    return run.failure is not None or run.outcome == "errored"


def _some(names: Iterable[str]) -> str:
    listed = list(names)
    return ", ".join(listed[:5]) + (", ..." if len(listed) > 5 else "")


def _natural(path: Path) -> tuple[tuple[int, int, str], ...]:
    """Natural sort key: output_2 before output_10."""
    parts: Iterator[str] = iter(re.split(r"(\d+)", path.name))
    return tuple((0, int(part), "") if part.isdigit() else (1, 0, part) for part in parts if part)


def read_experiments(path: Path) -> list[Experiment]:
    """The experiments of a file: one, or for a sweep each of its results."""
    values = parse_json(read_text(path), path)
    if not isinstance(values, dict):
        raise UnreadableFileError(str(path), "not a SKYT experiment: expected a JSON object")
    parts = values["individual_results"] if isinstance(values.get("individual_results"), list) else [values]
    return [_experiment(part, path) for part in parts]


def _experiment(values: Any, path: Path) -> Experiment:
    if not isinstance(values, dict):
        raise UnreadableFileError(str(path), "a result of the sweep is not a JSON object")
    canon = values.get("canon_data")
    code = canon.get("canonical_code") if isinstance(canon, dict) else None
    raw = values.get("raw_outputs")
    repaired = values.get("repaired_outputs")
    for name, outputs in (("raw_outputs", raw), ("repaired_outputs", repaired if repaired is not None else [])):
        if not isinstance(outputs, list) or not all(isinstance(output, str) for output in outputs):
            raise UnreadableFileError(str(path), f"{name} is not a list of strings")
    if code is not None and not isinstance(code, str):
        raise UnreadableFileError(str(path), "canonical_code is not a string")
    assert isinstance(raw, list)  # checked above
    contract = values.get("contract")
    model = values.get("model")
    return Experiment(
        prompt=str(values.get("experiment_id") or path.stem),
        model=model if isinstance(model, str) else None,
        raw=tuple(raw),
        repaired=tuple(repaired) if repaired is not None else None,
        canon=code,
        contract=contract if isinstance(contract, dict) else None,
        path=str(path),
    )

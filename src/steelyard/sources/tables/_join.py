"""Join parts: what a harness, an agent's log, a test report and a recording state of the same run becomes one Run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from types import MappingProxyType

import msgspec

from steelyard.files import file_repeated, label
from steelyard.records import (
    NO_LABELS,
    Finding,
    Labels,
    Rejected,
    Run,
    TestResults,
    add_usage,
    content_digest,
    sum_in_order,
)
from steelyard.sources.formats._log_format import PlacedRun, Precedence, RunPart
from steelyard.sources.formats._run_values import itemized, tokens_in
from steelyard.sources.tables._sessions import (
    RunDraft,
    difference,
    merged_sessions,
    repeated_run,
    share_calls,
    weakest,
    with_totals,
)
from steelyard.sources.tables._submissions import Submission, declare_submissions, distinct_predictions, submission_of

PRECEDENCES: tuple[Precedence, ...] = ("first", "normal", "last")
HARNESS_DIFFERENCE = 0.01
"""From this share on, a harness's count that differs from the agent's own is a finding."""

_OWN = ("id", "outcome", "failure", "passed", "usage", "calls", "source", "experiment")
"""Fields that only a trial's own record sets, whatever the agent's log has."""


_TELLING = ("usage", "cost_usd", "tool_calls", "iterations")
"""Fields with a provenance in the run."""


_VERDICT_ROLES = ("prediction", "verdict")
_UNNAMED_REPORTS = ("final_report", "report", "results")
"""Names of files that do not name a run, unlike `MODEL.RUN.json`."""
"""Files of these are told apart by their names: a copy under another one is another submission or another run."""

PartPlace = tuple[bool, str, int, str]
"""Whether a whole file is meant, which comes last; path, line and id: the order of the runs."""


@dataclass(frozen=True, slots=True)
class JoinResult:
    """What parts were joined to, each with the place that orders it."""

    trial_notes: Sequence[tuple[PartPlace, Rejected | Finding]]
    """Rejections and findings about trials that several files report."""
    copied_calls: int
    """How many calls are in a session other than the one they were made in."""
    runs: Iterator[tuple[PartPlace, PlacedRun | Finding]]
    """The runs, what should be known of each before it, and at the end the files that add nothing."""


def assemble(
    parts: Iterable[RunPart],
    copied_files: Mapping[str, str] = MappingProxyType({}),
    labels: Labels = NO_LABELS,
) -> Iterator[PlacedRun | Rejected | Finding]:
    """The runs, in the order of their places, and what should be known of them.

    `copied_files` names, for a file with the same bytes as one before, that one.
    """
    joined = join(parts, copied_files, labels)
    yield from (item for _, item in joined.trial_notes)
    yield from calls_counted_once(joined.copied_calls)
    yield from (item for _, item in joined.runs)


def calls_counted_once(copies: int) -> Iterator[Finding]:
    """Yield the finding about calls that several sessions contain."""
    if copies:
        message = f"{copies:,} calls appear in more than one session; each is counted once, in the session that made it"
        yield Finding(code="copied_calls", severity="info", message=message)


def join(parts: Iterable[RunPart], copied_files: Mapping[str, str], labels: Labels = NO_LABELS) -> JoinResult:
    """The same, with what orders it: parts that have nothing to do with each other may be joined apart."""
    ordered = sorted(parts, key=lambda part: (part.path, part.line or 0, part.run.id or "", part.run.task))
    roles: dict[str, list[RunPart]] = {}
    for part in ordered:
        roles.setdefault(part.role, []).append(part)
    owners, trial_notes = _owners(roles.get("owner", []), labels)
    sessions, copies = share_calls(merged_sessions(roles.get("session", [])))
    sessions = _with_subagents(sessions)
    for session in sessions:
        with_totals(session)
    sessions = _reported_once(sessions)
    sessions = _judged(sessions, roles.get("prediction", []), roles.get("verdict", []), labels)
    sessions = _folded(owners, sessions)
    reports = [RunDraft.of(part) for role in ("tests", "recording") for part in roles.get(role, [])]
    alone = [report for report in reports if not _attached(report, owners, sessions)]
    return JoinResult(trial_notes, copies, _entries([*owners, *sessions, *alone], copied_files, labels))


def _owners(
    parts: Sequence[RunPart], labels: Labels
) -> tuple[list[RunDraft], list[tuple[PartPlace, Rejected | Finding]]]:
    """Trials by id. The same trial in two files is one; the fullest file leads, and others fill in what it lacks."""
    groups: dict[tuple[str, str], list[RunDraft]] = {}
    for number, part in enumerate(parts):
        building = RunDraft.of(part)
        groups.setdefault((building.format, part.run.id or f"#{number}"), []).append(building)
    trials: list[RunDraft] = []
    notes: list[tuple[PartPlace, Rejected | Finding]] = []
    for group in (part for whole in groups.values() for part in _submissions_of_trial(whole, labels)):
        if len(group) == 1:
            trials += group
            continue
        place = _place(group[0])
        group.sort(key=lambda trial: (trial.owns is None, trial.line is not None, -_richness(trial.run), trial.path))
        first = group[0]
        for other in group[1:]:
            if _contradicts(first.run, other.run):
                reason = f"id {first.run.id!r} has a different verdict or cost in {first.path}"
                notes.append((place, Rejected(path=other.path, line=other.line, reason=reason, code="id_conflict")))
            else:
                notes.append((place, repeated_run(first, other)))
                first.run = _filled(first.run, other.run)
                first.owns = first.owns or other.owns
        trials.append(first)
    return sorted(trials, key=lambda trial: (trial.path, trial.line or 0)), notes


def _submissions_of_trial(group: list[RunDraft], labels: Labels) -> list[list[RunDraft]]:
    """The records of one trial; a copy with other labels in another directory is of another submission."""
    if len(group) == 1 or not labels:
        return [group]
    found: list[tuple[PurePath, str, list[RunDraft]]] = []
    for building in sorted(group, key=lambda building: (len(PurePath(building.path).parts), building.path)):
        folder, key = PurePath(building.path).parent, labels.key(building.path)
        own = next((each for home, named, each in found if named == key or folder.is_relative_to(home)), None)
        if own is None:
            found.append((folder, key, [building]))
        else:
            own.append(building)
    return [own for _, _, own in found]


def _richness(run: Run) -> int:
    return sum(1 for name in run.__struct_fields__ if getattr(run, name) not in (None, ()))


def _contradicts(a: Run, b: Run) -> bool:
    verdicts = a.passed is not None and b.passed is not None and a.passed != b.passed
    costs = a.cost_usd is not None and b.cost_usd is not None and abs(a.cost_usd - b.cost_usd) > 1e-9
    return verdicts or costs


def _filled(run: Run, other: Run) -> Run:
    """The run with the other's values where it has none."""
    fields = {
        name: getattr(other, name)
        for name in run.__struct_fields__
        if getattr(run, name) in (None, ()) and getattr(other, name) is not None
    }
    if run.judgments and other.judgments and not any(judgment.criteria for judgment in run.judgments):
        fields["judgments"] = (
            other.judgments if any(judgment.criteria for judgment in other.judgments) else run.judgments
        )
    if run.conditions and other.conditions:
        ours, theirs = run.conditions, other.conditions
        added = {name: value for name in ours.__struct_fields__ if (value := getattr(ours, name)) is not None}
        fields["conditions"] = msgspec.structs.replace(theirs, **added)
    provenance = {**(other.provenance or {}), **(run.provenance or {})}
    extra = {**(other.extra or {}), **(run.extra or {})}
    return msgspec.structs.replace(run, **fields | {"provenance": provenance or None, "extra": extra or None})


def _with_subagents(sessions: Sequence[RunDraft]) -> list[RunDraft]:
    """Subagents that have logs of their own become part of the session that started them."""
    by_id = {(session.family, session.run.id): session for session in sessions}
    main_sessions: list[RunDraft] = []
    for session in sessions:
        home, seen = session, {id(session)}
        while home.parent is not None and (home.family, home.parent) in by_id:
            home = by_id[(home.family, home.parent)]
            if id(home) in seen:
                break  # logs that name each other as parents
            seen.add(id(home))
        if home is session:
            main_sessions.append(session)
            continue
        calls = (*(home.run.calls or ()), *(session.run.calls or ()))
        home.tool_ids |= session.tool_ids
        home.notes += session.notes
        home.logs += session.logs
        home.lacks_lines |= session.lacks_lines
        home.unfinished |= session.unfinished or session.run.usage is None
        home.started |= session.started
        home.contains |= session.contains | {str(session.run.id)}
        costs = [run.cost_usd for run in (home.run, session.run) if run.cost_usd is not None]
        tools = (home.run.tool_calls, session.run.tool_calls)
        home.change(
            calls=calls or None,
            usage=add_usage((home.run.usage, session.run.usage)),
            tool_calls=None if None in tools else sum(tools),  # those that are not stated are counted later, by id
            ended_at=max((t for t in (home.run.ended_at, session.run.ended_at) if t), default=None),
            cost_usd=sum_in_order(costs) if costs else None,
        )
        if len(costs) == 1:
            home.how(cost_usd="lower_bound")
        if (session.run.provenance or {}).get("usage") == "lower_bound":
            home.how(usage="lower_bound")
    return main_sessions


def _reported_once(sessions: list[RunDraft]) -> list[RunDraft]:
    """Sessions without those that were derived from another's own log, as telemetry is; what they add is taken."""
    own = {session.run.id: session for session in sessions if session.declared.precedence != "last"}
    kept = []
    for session in sessions:
        home = own.get(session.run.id) if session.run.id is not None else None
        if home is None or home is session:
            kept.append(session)
            continue
        added = {name for name in _TELLING if getattr(home.run, name) is None}
        words = {name: word for name, word in (session.run.provenance or {}).items() if name in added}
        calls, seen = home.run.calls or (), [call for call in session.run.calls or () if not call.summed]
        if calls and all(call.summed for call in calls):
            home.change(calls=itemized(seen, calls) or calls)
        ended = session.run.ended_at if home.run.duration_seconds is None else None  # the stated duration is surer
        other = msgspec.structs.replace(session.run, provenance=None, source=None, ended_at=ended)
        home.run = _filled(home.run, other)
        for name, word in words.items():
            home.how(**{name: word})
        home.notes += session.notes
        home.logs = home.logs or session.logs
    return kept


def _judged(
    sessions: list[RunDraft],
    predictions: Sequence[RunPart],
    verdicts: Sequence[RunPart],
    labels: Labels,
) -> list[RunDraft]:
    """Sessions with the verdicts on their tasks; predictions and verdicts of no session are runs themselves."""
    if not predictions and not verdicts:
        return sessions
    runs = _SubmittedRuns(sessions)
    for part in distinct_predictions(predictions):
        runs.predict(part)
    for part in verdicts:
        runs.judge(part)
    if declare_submissions(labels):
        runs.join_labeled(labels)
    runs.fail_unlisted()
    runs.note_verdicts_elsewhere()
    return runs.all


class _SubmittedRuns:
    """The runs of submissions: sessions, predictions and verdicts by submission and task."""

    def __init__(self, sessions: Sequence[RunDraft]) -> None:
        self.all: list[RunDraft] = list(sessions)
        self._by_task: dict[tuple[Submission, str], list[RunDraft]] = {}
        # Without an index, a submission with many runs of one task would take quadratic time.
        self._named: dict[tuple[Submission, str, str, str], list[RunDraft]] = {}
        self._unnamed: dict[tuple[Submission, str], list[RunDraft]] = {}
        self._passes_only: set[Submission] = set()
        self._gone: set[int] = set()
        for session in sessions:
            self._add(session)

    def _add(self, building: RunDraft) -> None:
        """Add a run: a verdict that names its agent and evaluation can only get another one that names the same."""
        self._of(building).append(building)
        agent, submission = building.run.agent, _submission(building)
        if building.role == "verdict" and agent is not None and building.evaluation is not None:
            key = (submission, building.run.task, _directory_name(agent), building.evaluation)
            self._named.setdefault(key, []).append(building)
        else:
            self._unnamed.setdefault((submission, building.run.task), []).append(building)

    def _candidates(self, verdict: RunDraft) -> Sequence[RunDraft]:
        """The runs of the submission that the verdict can be on."""
        agent, evaluation = verdict.run.agent, verdict.evaluation
        if agent is None or evaluation is None:
            return self._of(verdict)
        task = (_submission(verdict), verdict.run.task)
        return [*self._unnamed.get(task, ()), *self._named.get((*task, _directory_name(agent), evaluation), ())]

    def _of(self, building: RunDraft) -> list[RunDraft]:
        return self._by_task.setdefault((_submission(building), building.run.task), [])

    def predict(self, part: RunPart) -> None:
        """A prediction is of the only session on its task, or a run of its own."""
        building = RunDraft.of(part)
        runs = self._of(building)
        free = [run for run in runs if run.role == "session" and run.known_as is None]
        named = [run for run in free if part.run.agent in (run.run.agent, run.run.model)]
        if len(named or free) == 1:
            (named or free)[0].known_as = part.run.agent or ""
            return
        self._add(building)
        self.all.append(building)

    def judge(self, part: RunPart) -> None:
        """A verdict is on the only run of its submission that it can be on, or a run of its own."""
        building = RunDraft.of(part)
        building.is_judged, building.evaluation = True, part.run.experiment
        if part.lists_passes_only:
            self._passes_only.add(_submission(building))
        run = _judged_run(part, self._candidates(building))
        if run is None:
            self._add(building)
            self.all.append(building)
        else:
            _take_verdict(run, building)

    def join_labeled(self, labels: Labels) -> None:
        """Runs and verdicts in several directories for which the user set the same labels."""
        groups: dict[tuple[str, str], list[RunDraft]] = {}
        for (_, task), runs in self._by_task.items():
            for run in runs:
                groups.setdefault((labels.key(run.path), task), []).append(run)
        for runs in groups.values():
            open_runs = [run for run in runs if not run.is_judged]
            verdicts = [run for run in runs if run.role == "verdict"]
            if len(runs) == 2 and len(open_runs) == len(verdicts) == 1:
                _take_verdict(open_runs[0], verdicts[0])
                if verdicts[0].lists_passes_only:
                    self._passes_only.add(_submission(open_runs[0]))
                self._gone.add(id(verdicts[0]))
        self.all = [run for run in self.all if id(run) not in self._gone]

    def fail_unlisted(self) -> None:
        """Where predictions name the tasks of a submission, those that its list of passes does not name failed."""
        attempted = {
            submission
            for (submission, _), runs in self._by_task.items()
            if submission in self._passes_only and any(run.role != "verdict" for run in runs)
        }
        for (submission, _), runs in self._by_task.items():
            if submission not in attempted:
                continue
            for run in runs:
                run.lists_passes_only = False
                if not run.is_judged:
                    run.change(passed=False, outcome="failed")
                    run.how(passed="reported")
                    run.is_judged = True

    def note_verdicts_elsewhere(self) -> None:
        """A finding for each directory with verdicts on tasks of which another one has unscored runs."""
        open_by_task: dict[str, str] = {}
        for (submission, task), runs in self._by_task.items():
            if any(not run.is_judged and run.role == "prediction" for run in runs) or (
                len(runs) == 1 and runs[0].role == "session" and not runs[0].is_judged
            ):
                open_by_task[task] = min(open_by_task.get(task, submission.folder), submission.folder)
        noted: set[Submission] = set()
        for (submission, task), runs in sorted(self._by_task.items()):
            verdicts = [run for run in runs if run.role == "verdict" and id(run) not in self._gone]
            elsewhere = open_by_task.get(task)
            if not verdicts or elsewhere in (None, submission.folder) or submission in noted:
                continue
            noted.add(submission)
            message = (
                f"the verdicts are not assigned to the runs in {elsewhere or '.'}, because files in different"
                " directories are treated as different submissions; one experiment for both (the option set) joins them"
            )
            verdicts[0].notes.append(Finding(code="not_joined", message=message, where=verdicts[0].path))


def _submission(building: RunDraft) -> Submission:
    return submission_of(building.path, building.run.task)


def _judged_run(verdict: RunPart, runs: Sequence[RunDraft]) -> RunDraft | None:
    """The run that the verdict is on; None where there is none, or more than one."""
    fitting = [run for run in runs if _may_be_of(verdict.run, run)]
    same = [run for run in fitting if run.is_judged]
    if same:
        return same[0] if len(same) == 1 else None
    if len(fitting) > 1 and verdict.run.agent is not None:
        fitting = [run for run in fitting if _agent_of(run) is not None] or fitting
    stems = [run for run in fitting if _stem(run.path) == _stem(verdict.path)]
    # of several predictions of one agent, each verdict takes one: which it is makes no difference
    alike = {(run.role, run.run.agent) for run in fitting}
    one_of = fitting if len(alike) == 1 and fitting[0].role == "prediction" else fitting[:1] * (len(fitting) == 1)
    return next(iter(stems if len(stems) == 1 else one_of), None)


def _stem(path: str) -> str:
    return path.rpartition("/")[2].rpartition(".")[0]


def _agent_of(building: RunDraft) -> str | None:
    """The agent by the name that predictions and reports use; a session names it in its own way."""
    return building.known_as or None if building.role == "session" else building.run.agent


def _directory_name(agent: str) -> str:
    """The agent as harnesses write it in names of directories."""
    return agent.replace("/", "__")


def _may_be_of(verdict: Run, building: RunDraft) -> bool:
    """Whether the verdict can be on this run of its submission."""
    agent = _agent_of(building)
    if agent is not None and verdict.agent is not None and _directory_name(agent) != _directory_name(verdict.agent):
        return False
    if not building.is_judged:
        return building.run.passed in (None, verdict.passed)
    evaluations = {building.evaluation, verdict.experiment} - {None}
    return len(evaluations) < 2 and building.run.passed in (None, verdict.passed)


def _take_verdict(run: RunDraft, verdict: RunDraft) -> None:
    run.run = _verdict(run.run, verdict.run)
    run.evaluation = run.evaluation or verdict.evaluation
    run.lists_passes_only = verdict.lists_passes_only and (run.lists_passes_only or not run.is_judged)
    run.is_judged = True
    run.submitted_by = tuple(a or b for a, b in zip(run.submitted_by, verdict.submitted_by, strict=True))  # type: ignore[assignment] # two names
    run.notes += verdict.notes


def _verdict(run: Run, verdict: Run) -> Run:
    taken = msgspec.structs.replace(run, outcome=None, passed=None)
    return (
        _filled(taken, msgspec.structs.replace(verdict, provenance=None))
        if verdict.passed is None
        else msgspec.structs.replace(
            _filled(taken, verdict), provenance={**(run.provenance or {}), "passed": "reported"}
        )
    )


def _folded(owners: Sequence[RunDraft], sessions: Sequence[RunDraft]) -> list[RunDraft]:
    """Fold sessions in an owner's folder into its trial; the others are runs themselves."""
    places = _places(owners)
    inner: dict[int, list[RunDraft]] = {}
    alone: list[RunDraft] = []
    for session in sessions:
        owner = _above(places, session.folder)
        if owner is None:
            alone.append(session)
        else:
            inner.setdefault(id(owner), []).append(session)
    for owner in owners:
        if id(owner) in inner:
            _fold(owner, inner[id(owner)])
    return alone


def _places(owners: Sequence[RunDraft]) -> dict[str, RunDraft]:
    return {owner.owns: owner for owner in owners if owner.owns}


def _above(places: dict[str, RunDraft], folder: str) -> RunDraft | None:
    """The owner of the nearest folder around."""
    while folder:
        if folder in places:
            return places[folder]
        folder = folder.rpartition("/")[0]
    return None


def _fold(owner: RunDraft, sessions: Sequence[RunDraft]) -> None:
    """Takes from the agent's own log what the harness does not know, and its tokens where it states them itself."""
    _, family = min((PRECEDENCES.index(session.declared.precedence), session.family) for session in sessions)
    chosen = [session for session in sessions if session.family == family]
    for session in chosen:
        owner.notes += session.notes
    owner.logs = [*(log for session in chosen for log in session.logs), *owner.logs]
    run = owner.run
    usage = add_usage(session.run.usage for session in chosen)
    sure = all((session.run.provenance or {}).get("usage") == "reported" for session in chosen)
    gap = difference(run.usage, usage)
    if usage is not None and (run.usage is None or sure):
        if gap > HARNESS_DIFFERENCE and sure:
            stated = f"the harness reports {tokens_in(run.usage):,} tokens and the agent's log {tokens_in(usage):,}"
            message = f"{stated}; the log is used"
            owner.notes.append(Finding(code="harness_tokens", severity="info", message=message, where=owner.path))
        word = "reported" if sure else weakest(chosen, "usage")
        owner.change(usage=usage, calls=tuple(call for session in chosen for call in session.run.calls or ()) or None)
        owner.how(usage=word)
    elif run.usage is not None and any(
        note.code == "token_contradiction" and session.run.usage and session.run.usage.input_tokens is None
        for session in chosen
        for note in session.notes
    ):
        owner.change(usage=msgspec.structs.replace(run.usage, input_tokens=None))  # the same counts, seen to be wrong
        owner.how(usage="lower_bound")
    filling = chosen[0].run
    for session in chosen[1:]:
        filling = _filled(filling, session.run)
    provenance = {
        k: v
        for k, v in (filling.provenance or {}).items()
        if k not in ("usage", "passed") and not k.startswith("usage.")
    }
    if run.cost_usd is None and filling.cost_usd is not None:
        owner.how(cost_usd=provenance.get("cost_usd"))
    owner.run = _filled(owner.run, msgspec.structs.replace(filling, provenance=provenance, **dict.fromkeys(_OWN)))
    if owner.run.tool_calls is not None and len(chosen) > 1:
        owner.change(tool_calls=sum(session.run.tool_calls or 0 for session in chosen))


def _attached(report: RunDraft, owners: Sequence[RunDraft], sessions: Sequence[RunDraft]) -> bool:
    """Attach a test report or a recording to the run in its folder; False when there is none, or more than one."""
    home = _above(_places(owners), report.folder)
    if home is None:
        neighbors = [building for building in (*owners, *sessions) if building.folder == report.folder]
        if len(neighbors) != 1:
            if neighbors:
                message = f"the directory has {len(neighbors)} runs, so the file is not assigned to any of them"
                report.notes.append(Finding(code="not_attached", severity="info", message=message, where=report.path))
            return False
        home = neighbors[0]
    home.logs += report.logs
    name = report.path.rpartition("/")[2]
    if report.role == "tests":
        if home.run.tests is None or home.declared.kind == "tests":
            home.change(tests=_together(home.run.tests, report.run.tests))
            home.how(tests="reported")
            if home.run.passed is None and home.run.outcome in (None, "not_scored"):
                home.change(outcome=report.run.outcome)
        return True
    extra = dict(home.run.extra or {})
    recordings = dict(extra.get("x_recordings") or {})
    recordings[name] = {key.removeprefix("x_"): value for key, value in (report.run.extra or {}).items()}
    home.change(extra=extra | {"x_recordings": dict(sorted(recordings.items()))})
    if home.run.started_at is None and home.run.ended_at is None and name != "tests.cast":
        home.change(started_at=report.run.started_at, ended_at=report.run.ended_at)
    return True


def _together(a: TestResults | None, b: TestResults | None) -> TestResults | None:
    if a is None or b is None:
        return a or b
    pairs = ((getattr(a, name) or (), getattr(b, name) or ()) for name in ("passed", "failed", "errors"))
    passed, failed, errors = (tuple(dict.fromkeys((*first, *second))) for first, second in pairs)
    return TestResults(passed=passed, failed=failed, errors=errors)


def _of_submission(run: Run, building: RunDraft) -> Run:
    """The run with the names that its submission gives it, where its own files give none."""
    name = label(_submission(building).name)
    if run.experiment is None or run.experiment in _UNNAMED_REPORTS:
        run = msgspec.structs.replace(run, experiment=name or run.experiment)
    if building.role in _VERDICT_ROLES and None in (run.agent, run.model):
        agent, model = building.submitted_by
        run = msgspec.structs.replace(run, agent=run.agent or agent or name, model=run.model or model)
    return run


def _place(building: RunDraft) -> PartPlace:
    return False, building.path, building.line or 0, building.run.id or ""


def _entries(
    buildings: Sequence[RunDraft], copied_files: Mapping[str, str], labels: Labels
) -> Iterator[tuple[PartPlace, PlacedRun | Finding]]:
    """What was put together; a copy of a file of runs without ids, in the same submission, counts once."""
    have_copies = {*copied_files.values(), *copied_files}
    known: dict[tuple[object, ...], str] = {}
    repeated: set[str] = set()
    for building in sorted(buildings, key=_place):
        run, path, place = building.run, building.path, _place(building)
        if path in have_copies and run.id is None and building.role not in _VERDICT_ROLES:
            content = copied_files.get(path, path), _submission(building), labels.key(path), content_digest(run)
            if known.setdefault(content, path) != path:
                repeated.add(path)
                continue
        if building.notes:
            yield from ((place, note) for note in building.notes)
        if run.usage is None and run.calls and not building.named:
            run = msgspec.structs.replace(run, usage=add_usage(call.usage for call in run.calls))
        if building.role in _VERDICT_ROLES or building.is_judged:
            run = _of_submission(run, building)
        if building.lists_passes_only:
            run = msgspec.structs.replace(run, provenance={**(run.provenance or {}), "passed": "passes_only"})
        yield place, PlacedRun(run, building.path, building.line, logs=tuple(building.logs))
    yield from (((True, path, 0, ""), file_repeated(path)) for path in sorted(repeated))

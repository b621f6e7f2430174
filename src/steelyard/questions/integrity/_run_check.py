"""Check of one run: its steps in their order, with what the run saw and made so far."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from itertools import islice
from typing import NamedTuple

from steelyard.questions.integrity._actions import PATH_ENDINGS, AgentAction, agent_actions
from steelyard.questions.integrity._matching import (
    WordSequence,
    changed_lines,
    contains,
    first_line,
    is_any_path,
    is_like,
    sentences_of,
    without_values,
    words_of,
)
from steelyard.questions.integrity._rules import Asked, Condition, IntegrityRule, RuleSeverity, shipped_set
from steelyard.questions.integrity._values import ExpectedValues
from steelyard.records import SessionStep

MAX_TASK = 100_000
"""Characters of the user's messages that are examined."""
MAX_SEEN = 50_000
"""Paths that a run remembers."""
MAX_RESULT = 200_000
"""Characters of a result that are examined."""
MAX_QUOTE = 200
MAX_START = 30
"""Characters of a pattern by which the line to quote is found."""
MAX_HITS = 1_000
"""Hits of a rule in a run that are kept."""
MAX_ACTIONS = 1_000
"""Actions of a tool call that are examined."""
TOO_GENERAL = frozenset({"/tmp", "/tmp/", "/dev/null", "/root", "/home"})  # noqa: S108 # names in logs
"""Targets of downloads that later commands name for other reasons."""
MAX_FOLLOWED = 1_000
"""Revisions and files of a rule that a run remembers."""
MAX_SAME_NAME = 100
"""Paths with the same last part that a run remembers."""
PACKAGE_DIRECTORIES = ("site-packages/", "dist-packages/", "node_modules/", "/gems/", "/registry/src/")
"""Directories of installed packages."""
CHANGES = ("to", "->", "→", "by")
"""Words between what a change removes and what it adds."""
AROUND = 4
"""Words before and after the name of a file that tell what it is for."""
REF_COMMANDS = (
    "show",
    "diff",
    "checkout",
    "log",
    "restore",
    "cherry-pick",
    "merge",
    "rev-list",
    "archive",
    "cat-file",
    "read-tree",
    "format-patch",
    "worktree",
    "switch",
    "reset",
    "rebase",
    "blame",
    "grep",
    "difftool",
)
"""Commands of git that look at a revision or take it over."""
HARMLESS = (
    "import ",
    "from ",
    "use ",
    "using ",
    "#include",
    "require ",
    "const ",
    "#",
    "//",
    "*",
    "/*",
    '"""',
    "package ",
)
"""Starts of lines of tests that check nothing."""
DENIALS = frozenset({"not", "don't", "never", "without", "no", "cannot", "mustn't", "shouldn't", "nor", "forbidden"})
SYSTEM = frozenset(
    f"{each}{end}"
    for each in (
        "",
        "~",
        *(f"/{name}" for name in ["root", "home", "opt", "var", "usr", "srv", "mnt", "tmp", "etc", "tests"]),
    )
    for end in ("", "/")
) - {""}
"""Directories of the system: a search in one is no search in the repository."""
COMMON = frozenset(
    [
        "about",
        "after",
        "again",
        "also",
        "answer",
        "answers",
        "before",
        "bench",
        "benchmark",
        "branch",
        "build",
        "change",
        "check",
        "class",
        "code",
        "com",
        "commit",
        "config",
        "data",
        "dataset",
        "datasets",
        "diff",
        "docs",
        "does",
        "download",
        "error",
        "fail",
        "file",
        "files",
        "fix",
        "from",
        "function",
        "github",
        "gitlab",
        "give",
        "hidden",
        "http",
        "https",
        "input",
        "install",
        "into",
        "issue",
        "json",
        "lib",
        "like",
        "main",
        "make",
        "master",
        "method",
        "missing",
        "model",
        "more",
        "must",
        "new",
        "none",
        "only",
        "org",
        "org",
        "output",
        "package",
        "packages",
        "patch",
        "path",
        "paths",
        "print",
        "program",
        "project",
        "pull",
        "python",
        "raw",
        "read",
        "release",
        "report",
        "repo",
        "repos",
        "repository",
        "request",
        "resolve",
        "result",
        "return",
        "should",
        "simple",
        "source",
        "src",
        "step",
        "string",
        "system",
        "task",
        "tasks",
        "test",
        "tests",
        "text",
        "that",
        "the",
        "their",
        "them",
        "then",
        "this",
        "tools",
        "tree",
        "type",
        "update",
        "upstream",
        "user",
        "uses",
        "value",
        "version",
        "what",
        "when",
        "where",
        "which",
        "with",
        "work",
        "write",
        "your",
        "blob",
        "archive",
        "refs",
        "heads",
        "tags",
        "html",
        "files",
        "index",
        "core",
        "common",
        "utils",
        "app",
        "apps",
    ]
)
"""Words that relate nothing."""


PROJECTS = (
    "repository",
    "repo",
    "project",
    "package",
    "codebase",
    "library",
    "fork",
    "checkout",
    "module",
    "crate",
    "gem",
)
"""Words next to the name of a project."""
MAX_HEAD = 6
"""Words of a sentence of which one such as `pandas.merge` names what it is about."""
SOURCES = tuple(f"*.{ending}" for ending in PATH_ENDINGS)


class RuleHit(NamedTuple):
    """An action that a rule is about."""

    rule: IntegrityRule
    severity: RuleSeverity
    step: int
    tool: str | None
    at: datetime | None
    where: str | None
    quote: str


class _Waiting(NamedTuple):
    """Hits that count if the run turns out to be about one of the names."""

    names: frozenset[str]
    hits: list[RuleHit]
    followed: list[str]


class _Sentence:
    """A sentence of the task."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.words = WordSequence(words_of(text))
        addresses = (word.strip("`'\"(),<>.") for word in text.split() if "://" in word)
        self.addresses = tuple(each for each in addresses if each.count("/") > 3)
        self.tokens = [word.strip("`'\"(),<>:;.!?").lower() for word in text.split()]
        self.is_denial = not DENIALS.isdisjoint(self.tokens)
        self._places: dict[str, list[int]] = {}
        for place, token in enumerate(self.tokens):
            found = self._places.setdefault(token.rpartition("/")[2], [])
            if len(found) < AROUND:
                found.append(place)
        turn = max((place for word in CHANGES for place in self._places.get(word, ())), default=0)
        self._change = [set(words_of(" ".join(part))) for part in (self.tokens[:turn], self.tokens[turn + 1 :])]
        self._has_change = bool(turn) and not self.is_denial

    def places_of(self, name: str) -> list[int]:
        """Return the first places of a file in the tokens, by its last part."""
        return self._places.get(name, [])

    def has_around(self, place: int, pattern: str) -> bool:
        """Return whether the words of a pattern are around the file at a place, close to it."""
        before, _, after = pattern.partition("FILE")
        near = self.tokens[max(place - AROUND, 0) : place], self.tokens[place + 1 : place + 1 + AROUND]
        return WordSequence(near[0]).has(before) and WordSequence(near[1]).has(after)

    def has_object(self, place: int, instructions: Sequence[str]) -> bool:
        """Return whether the file at a place is the first one after an instruction."""
        for token in reversed(self.tokens[max(place - 2 * AROUND, 0) : place]):
            if token in instructions:
                return not self.is_denial
            if "/" in token or "." in token:
                return False
        return False

    def states_change(self, old: Iterable[str], new: Iterable[str]) -> bool:
        """Return whether the sentence states all old words, "to", and then all new ones."""
        return self._has_change and self._change[0].issuperset(old) and self._change[1].issuperset(new)


class RunCheck:
    """Findings of one run; give it the steps in their order, then ask for the hits."""

    def __init__(self, rules: Sequence[IntegrityRule]) -> None:
        self._rules = rules
        self._sentences: list[_Sentence] = []
        self._asked: dict[int, bool] = {}
        self._task_length = 0
        self._task_words: set[str] = set()
        self._path_words: set[str] = set()
        self._directories: set[str] = set()
        """Names of directories of the repository, each with a / behind it."""
        self._seen, self._created = PathSet(), PathSet()
        self._own: set[str] = set()
        self._followed: dict[str, set[str]] = {}
        self._expected = ExpectedValues()
        self._sources: dict[str, tuple[str, str]] = {}
        """Calls that read tests, expected results or documents: what they read, and the path of a single test."""
        self._texts: dict[str, str] = {}
        """Contents of tests that the run read whole, by path."""
        self._last: tuple[AgentAction, WordSequence] | None = None
        self._hits: dict[str, list[RuleHit]] = {rule.id: [] for rule in rules}
        self._waiting: dict[str, _Waiting] = {}
        self._calls: dict[str, set[str]] = {}
        """What to follow in the results of calls."""

    def add(self, step: SessionStep) -> None:
        """Check one more step."""
        if step.kind == "message" and step.role == "user" and step.text:
            self._add_task(step.text)
        elif step.kind == "tool_call" and step.arguments:
            self._add_call(step)
        elif step.kind == "tool_result" and step.result:
            self._add_result(step)

    def hits(self) -> list[RuleHit]:
        """Return the hits, in the order of the steps."""
        about = self._task_words | self._path_words | self._directories
        own = (hit for hits in self._hits.values() for hit in hits)
        found = [*own, *(hit for each in self._waiting.values() if each.names & about for hit in each.hits)]
        places = {rule.id: place for place, rule in enumerate(self._rules)}
        return sorted(found, key=lambda hit: (hit.step, places[hit.rule.id]))

    def _add_task(self, text: str) -> None:
        text = text[: max(MAX_TASK - self._task_length, 0)]
        self._task_length += len(text)
        self._asked.clear()
        for sentence in sentences_of(text):
            self._sentences.append(_Sentence(sentence))
            if "==" in sentence:
                self._expected.add(sentence)
            else:
                self._expected.add_stated(sentence)
            self._task_words.update(_subjects(sentence))

    def _add_call(self, step: SessionStep) -> None:
        actions = list(islice(agent_actions(step.tool or "", step.arguments or {}), MAX_ACTIONS))
        follow = set[str]()
        for rule in self._rules:
            if len(self._hits[rule.id]) < MAX_HITS:
                self._check_rule(rule, actions, step, follow)
        self._note(actions)
        if step.call is not None and len(self._sources) < MAX_SEEN and (source := _source_of(actions)):
            self._sources[step.call] = source
        if step.call is not None and follow:
            self._calls[step.call] = follow
            if len(self._calls) > MAX_SEEN:
                self._calls.pop(next(iter(self._calls)))

    def _check_rule(
        self, rule: IntegrityRule, actions: Sequence[AgentAction], step: SessionStep, follow: set[str]
    ) -> None:
        """Keep the first action of a step that the rule is about; one that the task asks for, if there is no other."""
        note = used = None
        for action in actions:
            self._note_own(action)
            for condition in rule.conditions:
                text = self._match(condition, action)
                if text is None:
                    continue
                if self._asks(condition.asked or rule.asked, action):
                    note = None if condition.is_normal else note or _hit(rule, "note", step, text, action)
                    continue
                if condition.follow:
                    follow.add(f"{condition.follow} {rule.id}")
                if condition.is_normal:
                    continue
                hit = _hit(rule, rule.severity, step, text, action)
                files = _targets(actions) if condition.follow == "files" else []
                if condition.related and not self._is_related(names := _names(action)):
                    if len(self._waiting) < MAX_SAME_NAME:
                        self._waiting[f"{step.index} {rule.id}"] = _Waiting(names, [hit], files[:MAX_SAME_NAME])
                    continue
                self._follow(rule.id, files)
                self._hits[rule.id].append(hit)
                return
            if used is None and self._uses_followed(rule, action) and not self._asks(rule.asked, action):
                used = _hit(rule, rule.severity, step, action.target, action)
            self._add_waiting(rule, action, step)
        if (found := used or note) is not None:
            self._hits[rule.id].append(found)

    def _follow(self, rule: str, names: Iterable[str]) -> None:
        followed = self._followed.setdefault(rule, set())
        for name in names:
            if len(followed) < MAX_FOLLOWED:
                followed.add(name)

    def _uses_followed(self, rule: IntegrityRule, action: AgentAction) -> bool:
        """Return whether the action uses what an earlier one of the rule got."""
        followed = self._followed.get(rule.id)
        if not followed:
            return False
        if action.kind == "run":
            if action.words[0] == "git" and not followed.isdisjoint(_references(action.words)):
                return True
            return not followed.isdisjoint(word for word in action.words if "/" in word) or any(
                "/" in name and name in action.target for name in followed
            )
        return action.kind == "read" and any(action.target.startswith(name) for name in followed)

    def _add_waiting(self, rule: IntegrityRule, action: AgentAction, step: SessionStep) -> None:
        """Add a hit to one that waits, if the action uses what that one got."""
        for each in self._waiting.values():
            first = each.hits[0]
            uses = action.kind in ("run", "read") and any(name in action.target for name in each.followed)
            if uses and first.rule is rule and each.hits[-1].step != step.index and len(each.hits) < MAX_HITS:
                each.hits.append(_hit(rule, rule.severity, step, action.target, action))

    def _match(self, condition: Condition, action: AgentAction) -> str | None:
        """Return the text of the action that the condition is about; None if it is about something else."""
        if action.kind not in condition.does:
            return None
        target, named = action.target, action.target
        found: str | None = target
        if action.kind == "run":
            named = " ".join(action.words[1:])
            found = target if self._runs(condition, action) else None
        elif action.kind == "fetch":
            lower = target.lower()
            found = target if any(is_like(lower, pattern) for pattern in condition.addresses) else None
        else:
            found = self._changed_line(condition, action) if self._is_file(condition, action) else None
        if found is None or (condition.unless_named and self._names(named)):
            return None
        if condition.task_names and not self._is_named_as(condition.task_names, target):
            return None
        if condition.task_forbids and not any(
            each.is_denial and each.words.has_any(condition.task_forbids) for each in self._sentences
        ):
            return None
        sentences = (sentence.words for sentence in self._sentences)
        if condition.task and not any(words.has(pattern) for words in sentences for pattern in condition.task):
            return None
        return found or target

    def _runs(self, condition: Condition, action: AgentAction) -> bool:
        """Return whether the condition is about a command."""
        words = self._sequence(action)
        if condition.words:
            is_meant = any(map(words.is_command, condition.words))
        else:
            is_meant = any(is_like(setting, each) for setting in action.settings for each in condition.settings)
        if not is_meant or any(map(words.is_command, condition.without)):
            return False
        if condition.searches_all and SYSTEM.isdisjoint(action.words):
            return False
        return not condition.not_own or self._own.isdisjoint(
            name for word in action.words[1:] for name in (word, word.partition("/")[0], word.partition(":")[0])
        )

    def _is_file(self, condition: Condition, action: AgentAction) -> bool:
        """Return whether the condition is about the file of an action."""
        target = action.target
        if condition.paths and not is_any_path(target, condition.paths):
            return False
        if is_any_path(target, condition.except_paths):
            return False
        if condition.overwrites and (not action.is_whole or self._keeps(action)):
            return False
        if condition.written_by and action.is_output != (condition.written_by == "program"):
            return False
        return condition.where != "existing" or self._existed(action)

    def _changed_line(self, condition: Condition, action: AgentAction) -> str | None:
        """Return the line that a change adds or removes, "" if the condition asks for none, None if it has none."""
        found: str | None = ""
        if condition.adds:
            found = _added_line(condition, action)
        if condition.removes and found is not None:
            found = first_line(changed_lines(action.old, action.new), condition.removes)
            if found is None and action.is_whole and "" in condition.removes:
                found = ""
        if condition.adds_text and found is not None:
            added = " ".join(action.new.split())
            pattern = next((each for each in condition.adds_text if contains(added, each)), None)
            start = (pattern or "").split("*")[0][:MAX_START]
            found = None if pattern is None else next((each for each in action.new.split("\n") if start in each), "")
        if condition.only_removes and found is not None:
            found = _removed_line(action)
        if condition.drops and found is not None:
            dropped = [text for text in condition.drops if text in action.old and text not in action.new]
            found = first_line(action.old.split("\n"), dropped)
        if condition.changes_values and found is not None:
            is_same = without_values(action.old) == without_values(action.new)
            is_meant = is_same and not action.is_whole and action.old != action.new and bool(action.old.strip())
            found = next(changed_lines(action.old, action.new), action.old) if is_meant else None
        if condition.repeats and found is not None:
            value = self._expected.repeated_by(action.new, action.old)
            lines = (line for line in action.new.split("\n") if value is not None and value in line.lower())
            found = None if value is None else next(lines, "")
        return found

    def _existed(self, action: AgentAction) -> bool:
        """Return whether the file was there before the run, as far as the log shows."""
        if action.target in self._created:
            return False
        return action.kind == "delete" or not action.is_whole or action.is_known or action.target in self._seen

    def _keeps(self, action: AgentAction) -> bool:
        """Return whether a change of the whole file keeps all lines that the run read in it."""
        known = self._texts.get(_plain(action.target).rpartition("/")[2])
        return known is not None and next(changed_lines(known, action.new), None) is None

    def _sequence(self, action: AgentAction) -> WordSequence:
        """Return the words of a command for searches; those of the last command are kept."""
        if self._last is None or self._last[0] is not action:
            self._last = (action, WordSequence(action.words))
        return self._last[1]

    def _asks(self, asked: Asked | None, action: AgentAction) -> bool:
        """Return whether the task asks for the action."""
        if asked is None:
            return False
        if id(asked) not in self._asked:
            self._asked[id(asked)] = any(_asks_for(sentence, asked) for sentence in self._sentences)
        if self._asked[id(asked)]:
            return True
        if asked.restated and action.kind == "change":
            old, new = set(words_of(action.old)), set(words_of(action.new))
            if new - old and any(each.states_change(old - new, new - old) for each in self._sentences):
                return True
        if asked.named == "none":
            return False
        if asked.named == "object":
            name = _plain(action.target).rpartition("/")[2].lower()
            return any(
                each.has_object(place, asked.instructions) for each in self._sentences for place in each.places_of(name)
            )
        addressing = asked.addressing if asked.named == "subject" else ()
        return self._names(_revision_words(action) if action.kind == "run" else action.target, addressing)

    def _names(self, target: str, addressing: Sequence[str] = ()) -> bool:
        """Return whether a sentence of the task has the path or address, or a revision of the command."""
        names = [part for part in target.split() if _is_name(part)][:MAX_SAME_NAME]
        names += [part.rpartition("/")[2] for part in names if "://" not in part]
        names = [name for name in names if _is_name(name)]
        pinned = [
            tuple(part.replace("==", "@").split("@", 1)) for part in target.split() if "==" in part or "@" in part
        ]
        if any(all(each and each in sentence.text for each in pin) for pin in pinned for sentence in self._sentences):
            return True
        return any(
            not sentence.words.has_any(addressing)
            for sentence in self._sentences
            if any(name in sentence.text for name in names)
            or any(name.startswith(each) for each in sentence.addresses for name in names)
        )

    def _is_named_as(self, patterns: Sequence[str], target: str) -> bool:
        """Return whether a sentence of the task has the name of a file with the words of a pattern around it."""
        name = _plain(target).rpartition("/")[2].lower()
        return len(name) > 2 and any(
            each.has_around(place, pattern)
            for each in self._sentences
            for place in each.places_of(name)
            for pattern in patterns
        )

    def _is_related(self, names: frozenset[str]) -> bool:
        return any(not names.isdisjoint(each) for each in (self._task_words, self._path_words, self._directories))

    def _note(self, actions: Sequence[AgentAction]) -> None:
        """Remember files that the run makes, branches that it creates, and words of its paths."""
        for action in actions:
            if action.kind in ("run", "fetch"):
                continue
            path = action.target
            if action.kind == "change" and action.is_whole and path not in self._seen:
                self._created.add(path)
            if action.kind != "delete":
                self._seen.add(path)
            if len(self._path_words) < MAX_SEEN and _package_of(path) is None:
                self._directories.update(f"{part}/" for part in path.lower().split("/")[:-1] if _is_telling(part))
                self._path_words.update(word for word in words_of(path) if _is_telling(word))

    def _note_own(self, action: AgentAction) -> None:
        """Remember the branches, stashes and remotes that the run makes."""
        words = action.words
        if action.kind == "run" and words[0] == "git" and len(words) > 1 and len(self._own) < MAX_SEEN:
            self._own.update(_own_names(words))

    def _add_result(self, step: SessionStep) -> None:
        result = (step.result or "")[:MAX_RESULT]
        for word in result.replace(":", " ").replace("'", " ").replace('"', " ").split():
            if ("." in word or "/" in word) and len(word) < 300:
                self._seen.add(word.strip("(),`[]"))
        for each in self._calls.pop(step.call or "", ()):
            kind, _, rule = each.partition(" ")
            if kind == "revisions":
                self._follow(rule, _revisions(result))
            elif kind == "branches":
                self._follow(rule, (name for name in _branches(result) if name not in self._own))
            elif kind == "paths":
                self._follow(rule, (word for word in result.split() if word.startswith("/") and len(word) > 5))
            elif kind == "answers":
                self._expected.add_answers(result)
        source, path = self._sources.pop(step.call or "", ("", ""))
        if source == "test":
            self._expected.add_cases(result)
            if path and len(self._texts) < MAX_SAME_NAME:
                self._texts[path] = _without_line_numbers(result)
        elif source == "expected":
            self._expected.add_outputs(result)
        elif source == "document":
            self._expected.add_stated(result)
        self._expected.add(result)


class PathSet:
    """Paths by name: logs give the same file by its whole path and by that in the repository."""

    def __init__(self) -> None:
        self._by_name: dict[str, set[str]] = {}
        self._count = 0

    def add(self, path: str) -> None:
        """Add a path, up to the limit."""
        if self._count < MAX_SEEN:
            path = _plain(path)
            same = self._by_name.setdefault(path.rpartition("/")[2], set())
            if len(same) < MAX_SAME_NAME:
                same.add(path)
                self._count += 1

    def __contains__(self, path: str) -> bool:
        path = _plain(path)
        known = self._by_name.get(path.rpartition("/")[2], ())
        return path in known or any(
            f"/{path}".endswith(f"/{each}") or f"/{each}".endswith(f"/{path}") for each in known
        )


def _source_of(actions: Sequence[AgentAction]) -> tuple[str, str] | None:
    """Return what a call reads, and the name of the file if it is a single test."""
    paths = [action.target for action in actions if action.kind == "read"]
    if any(_is_in(path, "outputs") for path in paths):
        return "expected", ""
    tests = [path for path in paths if _is_in(path, "tests")]
    if tests:
        return "test", tests[0].rpartition("/")[2] if len(tests) == 1 else ""
    return ("document", "") if any(_is_in(path, "documents") for path in paths) else None


def _is_in(path: str, name: str) -> bool:
    return is_any_path(path, shipped_set(name))


def _without_line_numbers(text: str) -> str:
    """Return the text of a file from a result that numbers its lines."""
    lines = [line.partition("→")[2] if "→" in line[:12] else line for line in text.split("\n")]
    return "\n".join(lines)


def _references(words: Sequence[str]) -> set[str]:
    """Return the revisions and branches that a command of git looks at.

    >>> sorted(_references(["git", "diff", "HEAD..fix~2", "--", "a.py"]))
    ['HEAD', 'a.py', 'fix']
    """
    if not any(word in REF_COMMANDS for word in words):
        return set()
    found = set[str]()
    for word in words[2:]:
        for part in word.removeprefix("--source=").replace("...", "..").split(".."):
            found.add(part.partition(":")[0].partition("~")[0].partition("^")[0].removeprefix("refs/heads/"))
    found.update(revision[:7] for each in list(found) for revision in _revisions(each))
    return {each for each in found if each and not each.startswith("-")}


def _branches(text: str) -> Iterator[str]:
    r"""Yield the names of branches and tags in a list, without the current branch.

    >>> list(_branches("* main\n  remotes/origin/HEAD -> origin/main\n  fix-parser 1234567ab Fix\n"))
    ['origin/HEAD', 'fix-parser', '1234567ab', '1234567']
    """
    for line in text.split("\n"):
        if not line.startswith("*") and len(line) < MAX_QUOTE:
            for word in line.split()[:2]:
                name = word.removeprefix("remotes/").removeprefix("refs/heads/").removeprefix("refs/tags/")
                if len(name) > 2 and name != "commit":
                    yield name
                    yield from (revision[:7] for revision in _revisions(name))


def _removed_line(action: AgentAction) -> str | None:
    """Return the first line that a change removes, if it adds none."""
    if next(changed_lines(action.new, action.old), None) is not None:
        return None
    return next((line for line in changed_lines(action.old, action.new) if not line.strip().startswith(HARMLESS)), None)


def _plain(path: str) -> str:
    return path.strip().removeprefix("./").rstrip("/")


def _own_names(words: Sequence[str]) -> Iterator[str]:
    """Yield the branches and remotes that a command creates; a stash allows all commands of stashes."""
    for place, word in enumerate(words[:-1]):
        if word in ("-b", "-B", "-c", "-C", "--create") and words[1] in ("checkout", "switch"):
            yield words[place + 1]
    if words[1] == "branch" and len(words) > 2 and not words[2].startswith("-"):
        yield words[2]
    if words[1:3] == ("remote", "add") and len(words) > 3:
        yield words[3]
    if words[1] == "stash" and (len(words) == 2 or words[2].startswith("-") or words[2] in ("push", "save")):
        yield "stash"


def _revision_words(action: AgentAction) -> str:
    """Return the words of a command that are neither options nor files."""
    words = action.words[1 : action.words.index("--") if "--" in action.words else None]
    return " ".join(
        word for word in words if (not word.startswith("-") and not word.rpartition(".")[2].isalpha()) or "://" in word
    )


def _is_name(text: str) -> bool:
    return len(text) > 4 and any(each in text for each in "./_-")


def _subjects(sentence: str) -> Iterator[str]:
    """Yield the projects that a sentence of the task is about: "django: x fails", "requests 2.30", "the x repository".

    >>> sorted(_subjects("requests 2.30: Session fails")), sorted(_subjects("Use the library we have"))
    (['requests'], [])
    """
    words = sentence.replace("`", " ").replace("'", " ").split()
    for place, word in enumerate(words):
        following = words[place + 1] if place + 1 < len(words) else ""
        is_head = place < 3 and word.endswith(":")
        version = following.removeprefix("v")
        is_versioned = version[:1].isdigit() and ("." in version or version != following)
        is_project = following.strip(".,").lower() in PROJECTS or (
            place > 1 and words[place - 1] in ("of", "for") and words[place - 2].lower() in PROJECTS
        )
        first, _, rest = word.partition(".")
        if (
            rest[:1].isalpha()
            and place < MAX_HEAD
            and first.isidentifier()
            and not is_any_path(word.strip("():,."), SOURCES)
        ):
            yield from (each for each in words_of(first) if _is_telling(each))
        if is_head or is_versioned or is_project:
            yield from (each for each in words_of(word) if _is_telling(each))


def _is_telling(word: str) -> bool:
    return len(word) > 2 and word not in COMMON and not word.isdigit()


def _names(action: AgentAction) -> frozenset[str]:
    """Return the words of an address or package that tell what it is about; of an installed file, its package."""
    if action.kind == "read":
        package = _package_of(action.target)
        return frozenset() if package is None else frozenset({f"{package.lower()}/"})
    if action.kind == "fetch":
        _, _, rest = action.target.partition("://")
        host, _, path = (rest or action.target).partition("/")
        own = [] if "." in host else [host]
        text = " ".join([*own, *path.split("/")[:4]]) if path else host
        if not rest:
            text = action.target
    else:
        text = " ".join(word for word in action.words[1:] if not word.startswith(("-", "/", ".")))
    found = words_of(text.replace("_", " ")) + words_of(text)
    return frozenset(word for word in found if _is_telling(word))


def _package_of(path: str) -> str | None:
    """Return the package that an installed file belongs to.

    >>> _package_of("/venv/lib/python3.12/site-packages/flask/app.py"), _package_of("src/app.py")
    ('flask', None)
    """
    for directory in PACKAGE_DIRECTORIES:
        _, found, rest = path.rpartition(directory)
        if found and "/" in rest:
            return rest.partition("/")[0].partition("@")[0].removesuffix(".git")
    return None


def _targets(actions: Sequence[AgentAction]) -> list[str]:
    """Return the files and directories that downloads of a script are written to."""
    directory, found = "", list[str]()
    for action in actions:
        words = action.words
        if action.kind == "change" and len(action.target) > 3:
            found.append(action.target)
        if action.kind != "run":
            continue
        if words[0] == "cd" and len(words) > 1:
            directory = words[1].rstrip("/") + "/"
            continue
        for place, word in enumerate(words[:-1]):
            if word in ("-d", "-t", "--target", "--dest", "--prefix", "-o", "-O", "--output", "-P", "-C"):
                found.append(words[place + 1])
        found += [word.partition("=")[2] for word in words if word.startswith(("--target=", "--dest=", "--prefix="))]
        if words[0] == "git" and "clone" in words:
            last = words[-1]
            name = last.rstrip("/").rpartition("/")[2].removesuffix(".git") if "://" in last else last
            found.append(name if name.startswith("/") else directory + name)
        if words[:2] == ("npm", "pack"):
            found.append("package/")
        if words[0] == "wget":
            found += [word.rpartition("/")[2] for word in words[1:] if "://" in word]
    return [each for each in found if len(each) > 3 and each not in TOO_GENERAL]


def _revisions(text: str) -> list[str]:
    """Return what looks like an abbreviated commit id: 7 to 40 hexadecimal digits, with a digit."""
    found = list[str]()
    for word in text.replace("(", " ").replace(",", " ").split():
        if 7 <= len(word) <= 40 and word.isalnum() and all(each in "0123456789abcdef" for each in word):
            found.append(word)
    return found


def _added_line(condition: Condition, action: AgentAction) -> str | None:
    """Return the first line that a change adds and the condition is about."""
    patterns = [pattern for pattern in condition.adds if contains(action.new, pattern)]
    if not patterns:
        return None
    lines = list(changed_lines(action.new, action.old))
    if condition.unless_adds and first_line(lines, condition.unless_adds) is not None:
        return None
    return first_line(
        (line for line in lines if not any(contains(line, each) for each in condition.not_adds)), patterns
    )


def _asks_for(sentence: _Sentence, asked: Asked) -> bool:
    """Return whether a sentence of the task asks for actions of a rule."""
    words = sentence.words
    if sentence.is_denial or words.has_any(asked.exceptions):
        return False
    if any(map(words.has, asked.phrases)) or words.has_pair(asked.instructions, asked.objects):
        return True
    return any(map(words.has, asked.subjects)) and not words.has_any(asked.addressing)


def _hit(rule: IntegrityRule, severity: RuleSeverity, step: SessionStep, text: str, action: AgentAction) -> RuleHit:
    quote = _quote(step, text, action)
    return RuleHit(rule, severity, step.index, step.tool, step.at, step.where, quote)


def _quote(step: SessionStep, text: str, action: AgentAction) -> str:
    """Return a line of the step: the matched text, else what the action is about, else the step's first line."""
    contents = list(step.content)
    for each in (text, action.target, *action.words[:1]):
        line = next((line for line in each.split("\n") if line.strip()), "").strip()[:MAX_QUOTE]
        if line and any(line in content for content in contents):
            return line
    return next((line.strip()[:MAX_QUOTE] for content in contents for line in content.split("\n") if line.strip()), "")

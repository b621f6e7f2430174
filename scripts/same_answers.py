"""Whether two versions of Steelyard give the same answers, once the map of what was renamed is applied to the old ones.

    python scripts/same_answers.py OLD NEW [--samples TESTS [SHARED]] [--only PATTERN] [--keep-old DIR]

OLD and NEW are `steelyard` commands, or the Python that has them. Every case is run with both in folders of the same
layout; exit status, printed JSON or CSV and written files are compared. What differs is listed with its case and place;
the exit status is 1 if anything does, or if an entry of the map had no effect. The map is renamed.toml beside this
script: its head says how to write it.
"""
# a script beside the others of its folder, which prints

from __future__ import annotations

import argparse
import itertools
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from answers.cases import Samples, all_cases
from answers.comparing import Difference, differences
from answers.paths import written
from answers.renaming import BadMap, Renaming, command_of, load_renaming
from answers.running import Answer, Case, Kept, Side, digest_of

HERE = Path(__file__).resolve().parent
EXIT = "exit status"


@dataclass(frozen=True)
class Told:
    """A difference with all that is told of it."""

    line: str
    """The command, in the old version's words."""
    document: str
    """The file that was written; empty for what was printed."""
    difference: Difference

    @property
    def place(self) -> str:
        """File and path."""
        return f"{self.document}{written(self.difference.path)}"

    @property
    def kind(self) -> str:
        """Command and place, without the numbers of rows: what is one decision for the map."""
        path = ("*" if segment.isdigit() else segment for segment in self.difference.path)
        return f"{' '.join(command_of(self.line.split()))}  {self.document}{written(path)}"


@dataclass(frozen=True)
class Result:
    """What one case came to."""

    case: Case
    different: list[Told]
    excepted: list[Told]


def main() -> int:
    """Print what differs; 1 if anything does."""
    given = _arguments()
    renaming = load_renaming(given.map)
    with tempfile.TemporaryDirectory(prefix="same-answers-") as scratch:
        root = Path(scratch)
        samples = _samples(given.samples, given.old)
        old = _side(given.old, root / "old", samples, None)
        new = _side(given.new, root / "new", samples, renaming)
        kept_in = given.keep_old or root / "kept"
        digest = digest_of(samples.tests, *([samples.shared] if samples.shared else []), _version(old))
        kept = Kept(old, kept_in, samples=digest, update=not given.update_nothing)
        cases = [case for case in all_cases(samples) if fnmatchcase(case.name, given.only)]
        for case in cases:
            kept.fixture(case.fixture)  # one after the other: two cases must not make the same one at once
        began = time.monotonic()
        results = []
        with ThreadPoolExecutor(given.jobs) as pool:
            for result in pool.map(lambda case: _compared(case, kept, new, renaming), cases):
                if not given.brief:
                    _show(result)
                results.append(result)
        took = time.monotonic() - began
    if given.brief:
        _show_kinds(results)
    whole = given.only == "*" and samples.shared is not None
    return _summary(results, renaming.unused() if whole else [], seconds=took, shared=samples.shared is not None)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", type=Path, help="the old version's steelyard, or its Python")
    parser.add_argument("new", type=Path, help="the new version's")
    parser.add_argument("--samples", type=Path, nargs="+", default=[], help="tests/samples, then the shared samples")
    parser.add_argument("--only", default="*", help="only cases whose name matches, such as 'arena/*'")
    parser.add_argument("--keep-old", type=Path, help="keep the old version's answers here, and ask it only once")
    parser.add_argument("--update-nothing", action="store_true", help="use what is kept, and write nothing there")
    parser.add_argument("--brief", action="store_true", help="each kind of difference once, with how often it is there")
    parser.add_argument("--map", type=Path, default=HERE / "renamed.toml", help="the map of what was renamed")
    parser.add_argument("--jobs", type=int, default=1, help="cases at the same time")
    return parser.parse_args()


def _samples(given: list[Path], old: Path) -> Samples:
    """The samples that were named; else those of the old checkout, and the shared ones beside this or that checkout."""
    checkout = old.absolute().parents[2]
    tests = given[0] if given else checkout / "tests" / "samples"
    beside = [folder / "shared" / "samples" for folder in (checkout.parent, HERE.parents[1])]
    shared = given[1] if len(given) > 1 else next((folder for folder in beside if folder.is_dir()), None)
    if not tests.is_dir():
        raise SystemExit(f"{tests} is no folder: name the samples with --samples")
    return Samples(tests, None if given and len(given) == 1 else shared)


def _side(program: Path, root: Path, samples: Samples, renaming: Renaming | None) -> Side:
    """A version with its own copy of the samples, so that neither sees what the other may write."""
    absolute = program.absolute()  # not resolved: a link to a Python is what makes a virtual environment
    command = (str(absolute), "-m", "steelyard") if program.name.startswith("python") else (str(absolute),)
    for name, folder in (("samples", samples.tests), ("shared", samples.shared)):
        if folder is not None:
            shutil.copytree(folder, root / name)
    if renaming is not None and renaming.edits:
        for path in (path for path in root.rglob("*") if path.is_file()):
            _edit(path, str(path.relative_to(root)), renaming)
    return Side(command, root, renaming)


def _edit(path: Path, name: str, renaming: Renaming) -> None:
    try:
        content = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return  # packed: nothing in it is named by us
    changed = renaming.new_input(name, content)
    if changed != content:
        path.write_text(changed, encoding="utf-8")


def _version(side: Side) -> str:
    done = subprocess.run([*side.command, "--version"], capture_output=True, text=True, check=True)  # given
    return done.stdout.strip()


def _compared(case: Case, kept: Kept, new: Side, renaming: Renaming) -> Result:
    if sys.stderr.isatty():
        print(f"\r\033[K{case.name}", end="", file=sys.stderr)
    old_answers = kept.answers(case)
    new_answers = new.answers(case, kept.fixture(case.fixture))
    result = Result(case, [], [])
    for old, answer in zip(old_answers, new_answers, strict=True):
        for document, difference in _differences(case, old, answer, renaming):
            place = (document, *difference.path) if document else difference.path
            excepted = renaming.exception_for(case.name, place)
            told = Told(shlex.join(old.arguments), document, difference)
            (result.different if excepted is None else result.excepted).append(told)
    return result


def _differences(case: Case, old: Answer, new: Answer, renaming: Renaming) -> Iterator[tuple[str, Difference]]:
    """Where two answers differ, by document: the printed one has no name."""
    command = command_of(old.arguments)
    if old.status != new.status:
        told = f"{new.status}: {new.stderr.strip()[-300:]}"
        yield "", Difference((EXIT,), f"{old.status}: {old.stderr.strip()[-300:]}", told)
    before, after = old.documents(), new.documents()
    for name in sorted({*before, *after}):
        if name not in before or name not in after:
            there = {True: "a file", False: "nothing"}
            yield name, Difference((), there[name in before], there[name in after])
            continue
        renamed = renaming.masked(renaming.new_answer(before[name], command, printed=not name), command, case.name)
        for difference in differences(renamed, renaming.masked(after[name], command, case.name)):
            if not (difference.only_new and renaming.is_added(difference.path, command)):
                yield name, difference


def _show(result: Result) -> None:
    """Every difference of a case, below the command that gave it."""
    for line, group in itertools.groupby(result.different, key=lambda told: told.line):
        print(f"{result.case.name}: steelyard {line}")
        for told in group:
            print(f"    {told.place}\n        old {told.difference.old}\n        new {told.difference.new}", flush=True)


def _show_kinds(results: list[Result]) -> None:
    """Each kind of difference once, with its first example, the most frequent first."""
    kinds: dict[str, list[tuple[str, Difference]]] = {}
    for result in results:
        for told in result.different:
            kinds.setdefault(told.kind, []).append((result.case.name, told.difference))
    for kind, places in sorted(kinds.items(), key=lambda pair: -len(pair[1])):
        case, first = places[0]
        print(f"{kind}  ({len(places)} places, first in {case})\n        old {first.old}\n        new {first.new}")


def _summary(results: list[Result], unused: list[str], *, seconds: float, shared: bool) -> int:
    """The exceptions that were met, the entries that had no effect, and the counts."""
    excepted = [result for result in results if result.excepted and not result.different]
    different = [result for result in results if result.different]
    for name, count in Counter(
        {result.case.name: len(result.excepted) for result in results if result.excepted}
    ).items():
        print(f"excepted: {name}, {count} places")
    for entry in unused:
        print(f"the map's entry had no effect: {entry}")
    if not shared:
        print("the shared samples are not here: their cases were left out")
    answers = sum(len(result.case.steps) for result in results)
    print(f"{answers} commands in {seconds:.0f} s")
    identical = len(results) - len(excepted) - len(different)
    ending = f", {len(different)} different" if different else ""
    print(f"{len(results)} cases, {identical} identical, {len(excepted)} excepted{ending}")
    return 1 if different or unused else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except BadMap as error:
        sys.exit(f"{error} (in the map)")

"""Four times the input takes about four times the processor time, whatever the format and the verb."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from command_cases import APPS, GIVEN, UNENDING, arguments_of
from growing_inputs import growing_files, grown
from steelyard.cli import run
from steelyard.sources import gather, read_timings

pytestmark = pytest.mark.long
SAMPLES = Path(__file__).parent / "samples"
FILES = sorted(
    path
    for path in (SAMPLES / "formats").rglob("*")
    if path.is_file() and path.name not in ("ORIGIN.md", "base_state.json")
)
TIMINGS = sorted(path for path in (SAMPLES / "speedup").glob("*") if path.is_file() and path.name != "ORIGIN.md")
SMALL, LARGE = 300_000, 1_200_000
RUNS = 400
MAX_PER_DOUBLING = 2.8
"""Linear is 2, quadratic 4; the processor time of a busy machine is not exact."""
SLACK_SECONDS = 0.02


def cpu_seconds(work: Callable[[], object]) -> float:
    tries = []
    for _ in range(2):
        start = time.process_time()
        work()
        tries.append(time.process_time() - start)
    return min(tries)


def per_doubling(small: float, large: float) -> float:
    """By how much the time grows when the input doubles, of two that differ by a factor of four."""
    return math.sqrt(large / (small + SLACK_SECONDS))


def check_growth(sample: Path, folder: Path, read: Callable[[Path], object]) -> None:
    seconds = []
    for size in (SMALL, LARGE):
        place = folder / str(size) / sample.name
        place.parent.mkdir()
        grown(sample, size, place)
        seconds.append(cpu_seconds(lambda place=place: read(place)))  # type: ignore[misc] # mypy takes it for untyped
    print(f"{sample.name}: {seconds[0]:.3f} s, {seconds[1]:.3f} s, {per_doubling(*seconds):.2f} per doubling")
    assert per_doubling(*seconds) < MAX_PER_DOUBLING, seconds


@pytest.mark.parametrize("sample", FILES, ids=lambda path: path.relative_to(SAMPLES / "formats").as_posix())
def test_reading_grows_with_the_input(sample: Path, tmp_path: Path) -> None:
    check_growth(sample, tmp_path, lambda path: list(gather([path], workers=1)))


@pytest.mark.parametrize("sample", TIMINGS, ids=lambda path: path.name)
def test_reading_timings_grows_with_the_input(sample: Path, tmp_path: Path) -> None:
    def read(path: Path) -> None:
        try:
            read_timings(path)
        except Exception as error:  # noqa: BLE001 - a sample made longer may be refused, as long as that is fast
            print(error)

    check_growth(sample, tmp_path, read)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, str], dict[str, str]]:
    """The same kinds of files twice, the second time four times as much of everything."""
    made = [growing_files(tmp_path_factory.mktemp(f"of{count}"), count, run) for count in (RUNS, 4 * RUNS)]
    return made[0], made[1]


NEEDS_A_PLAN = {"run", "run export", "run trial", "run list", "run show"}
"""They read the folder of a plan, whose trials take their time from agents."""
VERBS = [command for command in APPS if command not in UNENDING | NEEDS_A_PLAN]


@pytest.mark.parametrize("command", VERBS)
def test_every_verb_grows_with_its_input(
    command: str, files: tuple[dict[str, str], dict[str, str]], capsys: pytest.CaptureFixture[str]
) -> None:
    seconds = []
    for given in files:
        arguments = arguments_of(APPS[command])
        takes_runs = bool({"FILES", "PATHS", "RUNS"} & set(arguments))
        words = [word.format(**given) for word in GIVEN.get(command, ["{runs}"] if takes_runs else [])]
        words += ["--store", given["store"]] if "--store" in arguments else []
        words += ["--json"] if "--json" in arguments else []
        seconds.append(cpu_seconds(lambda words=words: run([*command.split(), *words])))  # type: ignore[misc] # as above
    capsys.readouterr()
    print(f"{command}: {seconds[0]:.3f} s, {seconds[1]:.3f} s, {per_doubling(*seconds):.2f} per doubling")
    assert per_doubling(*seconds) < MAX_PER_DOUBLING, seconds


def test_quadratic_work_is_noticed() -> None:
    def quadratic(count: int) -> float:
        return cpu_seconds(lambda: sum(1 for a in range(count) for b in range(count) if a == b))

    assert per_doubling(quadratic(1_500), quadratic(6_000)) > MAX_PER_DOUBLING

"""Every command of the tutorials in docs/run.md runs as it stands there, offline, and answers its question."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from agents.model_server import model_server
from commands import Done
from runner.execution import needs_bubblewrap
from steelyard.cli import run

pytestmark = pytest.mark.checkout

PAGE = Path(__file__).parents[2] / "docs" / "run.md"
TUTORIALS: dict[str, list[str]] = {
    name: [line.removeprefix("$ ") for line in block.splitlines() if line.startswith("$ ")]
    for name, block in re.findall(r"<!-- tutorial: (\w+) -->\n```console\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
}
FAMILIES = ["outcome", "repeatability", "speedup", "arena"]


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the page's first commands write."""
    folder = tmp_path_factory.mktemp("tutorials")
    [write, change] = TUTORIALS["setup"]
    assert change.startswith("cd ")
    _, *arguments, place = shlex.split(write)
    assert run([*arguments, str(folder / place)]) == 0
    return folder / change.removeprefix("cd ")


class Tutorial:
    """The commands of one section, run in order in the folder of the plans."""

    def __init__(self, demo: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(demo)
        monkeypatch.setenv("COLUMNS", "160")
        self._capsys = capsys

    def run(self, command: str) -> Done:
        _, *arguments = shlex.split(command)
        status = run(arguments)
        said = self._capsys.readouterr()
        return Done(status, said.out, said.err)

    def all(self, family: str) -> list[Done]:
        done = [self.run(command) for command in TUTORIALS[family]]
        for command, each in zip(TUTORIALS[family], done, strict=True):
            assert each.status == 0, (command, each)
        return done

    def json(self, command: str) -> dict[str, object]:
        done = self.run(f"{command} --json")
        assert done.status == 0, done.stderr
        answer: dict[str, object] = json.loads(done.stdout)
        return answer


@pytest.fixture
def tutorial(demo: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Tutorial:
    return Tutorial(demo, capsys, monkeypatch)


def test_there_is_a_tutorial_for_each_family() -> None:
    assert list(TUTORIALS) == ["setup", *FAMILIES]


@needs_bubblewrap
def test_outcome_tiers_and_tasks(tutorial: Tutorial) -> None:
    ran, measured, _, _, judged = tutorial.all("outcome")
    assert "24 of 24 trials done" in ran.stdout  # 2 tasks x 2 tiers x 2 attempts, 2 x 2 for calibration, a judge on all
    assert "T1 prompted" in measured.stdout
    answer = tutorial.json("steelyard measure runs/tiers --by tier --metrics pass_rate,impl_rate,cost_usd")
    groups = answer["groups"]
    assert isinstance(groups, list)
    rates = {group["key"]["tier"]: group["metrics"]["pass_rate"]["mean"] for group in groups}
    assert rates == {"T0": 0.25, "T1": 0.75}  # 1 of 4 and 3 of 4
    assert all(group["metrics"]["cost_usd"]["mean"] > 0 for group in groups)
    assert "1 judge of 8 runs" in judged.stdout  # nop and oracle, which it saw too, are no runs of the plan
    again = tutorial.run("steelyard run tiers.toml")
    assert "24 of 24 trials done" in again.stdout


def test_repeatability_samples_with_a_contract(tutorial: Tutorial) -> None:
    _, repeated = tutorial.all("repeatability")
    assert "9 of 10 outputs meet the contract" in repeated.stdout
    command = TUTORIALS["repeatability"][-1]
    prompts = tutorial.json(command)["prompts"]
    assert isinstance(prompts, list)
    told = {prompt["key"]["x_setting"]: (prompt["asked"], prompt["n"], prompt["failed"]) for prompt in prompts}
    assert told == {"temperature=0.0": (5, 5, 0), "temperature=1.0": (5, 5, 0)}
    assert [prompt["metrics"]["r_raw"] for prompt in prompts] == [1.0, 0.4]


@needs_bubblewrap
@pytest.mark.usefixtures("own_machine")
def test_speedup_of_nop_oracle_and_agent(tutorial: Tutorial) -> None:
    _, told = tutorial.all("speedup")
    assert "tiny:small is " in told.stdout
    assert re.search(r" times as fast \(interval [\d.]+ to [\d.]+\) over 2 of 2 benchmarks", told.stdout)
    attempts = tutorial.json("steelyard speedup runs/faster")["attempts"]
    assert isinstance(attempts, list)
    (payload,) = (each for each in attempts if each["task"] == "unique" and each["agent"] == "tiny:small")
    assert payload["num_valid_benchmarks"] == 2
    assert payload["task_speedup"] > 1
    rounds = [json.loads(path.read_text()) for path in sorted(Path("runs/faster/measured").rglob("round-*.json"))]
    assert [made["number"] for made in rounds] == [1, 2, 3]
    assert all(len(made["order"]) == 3 and len(made["sides"]) == 3 for made in rounds)


@needs_bubblewrap
def test_arena_is_fed_as_trials_finish(tutorial: Tutorial) -> None:
    *_, leaderboard = tutorial.all("arena")
    assert "2 submissions" in leaderboard.stdout
    again = tutorial.run("steelyard run weekly.toml")
    assert again.status == 0
    assert "2 submissions" in tutorial.run(TUTORIALS["arena"][-1]).stdout


def test_the_same_plan_runs_against_a_real_endpoint_by_changing_one_line(tutorial: Tutorial, tmp_path: Path) -> None:
    text = Path("samples.toml").read_text("utf-8")
    [line] = [line for line in text.splitlines() if line.startswith("url = ")]
    with model_server() as server:
        changed = text.replace(line, f'url = "{server.url}/v1"').replace("attempts = 5", "attempts = 1")
        Path("real.toml").write_text(changed.replace('name = "samples"', 'name = "real"'), "utf-8")
        assert tutorial.run(f"steelyard run real.toml --out {tmp_path / 'real'}").status == 0
        assert len(server.calls) == 2  # one for each temperature

"""Usage: each call counts on its day and under its model, and a total says how sure it is."""

from __future__ import annotations

import json
import random
import shutil
from collections import defaultdict
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from pathlib import Path
from zoneinfo import ZoneInfo

import msgspec
import pytest
from hypothesis import given, strategies as st

import steelyard as sy
from commands import steelyard
from matchups import write
from steelyard.errors import NoValidInputError, UnknownNameError, UsageError
from steelyard.prices import cost_of, open_price_table
from steelyard.questions.read import RunReading
from steelyard.questions.usage import UsageSummary
from steelyard.records import TOKEN_KINDS, Call, DayFinder, Run, Usage, zone_of

SAMPLES = Path(__file__).parent / "samples" / "formats"
PRICES = open_price_table("spec")
CHEAP, DEAR = "claude-sonnet-4", "claude-opus-4-5"
"""Input at 3 and at 15 dollars a million by the seed's price table."""
NOWHERE = {"CLAUDE_CONFIG_DIR": "", "CODEX_HOME": "", "XDG_DATA_HOME": "", "XDG_CONFIG_HOME": ""}


def call(at: str | None, model: str | None = CHEAP, tokens: int = 1_000_000, **more: object) -> Call:
    usage = Usage(input_tokens=tokens, output_tokens=0)
    return Call(model=model, at=None if at is None else datetime.fromisoformat(at), usage=usage, **more)  # type: ignore[arg-type]


def run(id_: str, *calls: Call, **fields: object) -> Run:
    return Run(id=id_, task="t", calls=calls or None, **fields)  # type: ignore[arg-type]


def used(runs: object, **options: object) -> UsageSummary:
    return sy.usage(runs, **{"tz": "UTC", "prices": "spec", **options})  # type: ignore[call-overload,no-any-return]


def costs(result: UsageSummary) -> dict[tuple[str | None, ...], float | None]:
    return {tuple(group.key.values()): group.cost_usd for group in result.groups}


class TestDays:
    def test_a_call_counts_on_its_own_day_in_the_readers_zone(self) -> None:
        night = run("a", call("2026-01-31T22:30:00Z"), call("2026-01-31T23:30:00Z"), call("2026-02-01T04:30:00Z"))
        by_zone = {
            "UTC": {"2026-01-31": 6.0, "2026-02-01": 3.0},
            "Europe/Berlin": {"2026-01-31": 3.0, "2026-02-01": 6.0},  # an hour ahead in winter
            "America/New_York": {"2026-01-31": 9.0},  # five hours behind
            "+01:30": {"2026-02-01": 9.0},
            "-0500": {"2026-01-31": 9.0},
        }
        for zone, expected in by_zone.items():
            assert {day: cost for (day,), cost in costs(used([night], by="day", tz=zone)).items()} == expected, zone

    def test_weeks_are_those_of_iso_and_months_those_of_the_calendar(self) -> None:
        turn = [run("a", call("2024-12-29T12:00:00Z"), call("2024-12-30T12:00:00Z"), call("2025-01-01T12:00:00Z"))]
        assert costs(used(turn, by="week")) == {("2024-W52",): 3.0, ("2025-W01",): 6.0}
        assert costs(used(turn, by="month")) == {("2024-12",): 6.0, ("2025-01",): 3.0}

    def test_the_computers_own_zone_is_the_default(self, tmp_path: Path) -> None:
        file = write(tmp_path / "runs.jsonl", [run("a", call("2026-01-31T23:30:00Z"))])
        for zone, day in (("UTC", "2026-01-31"), ("Asia/Tokyo", "2026-02-01")):
            said = json.loads(steelyard("usage", file, "--json", TZ=zone).stdout)
            assert (said["tz"], said["groups"][0]["key"]["day"]) == ("local", day)

    def test_a_zone_that_is_none_is_an_error_of_usage(self) -> None:
        for name in ("Europe/Berln", "../etc/passwd", "", "+25:00", "/etc", "Europe"):
            with pytest.raises(UsageError, match="time zone") as told:
                used([run("a")], tz=name)
            assert told.value.hint

    @pytest.mark.parametrize("name", ["Europe/Berlin", "America/Sao_Paulo", "Australia/Lord_Howe", "America/St_Johns"])
    def test_every_day_is_that_of_the_clock(self, name: str) -> None:
        """Across changes of the clock at midnight, of half an hour, and back into the day before."""
        zone, finder, draw = ZoneInfo(name), DayFinder(zone_of(name)), random.Random(1)
        starts = [datetime(year, 1, 1, tzinfo=UTC) for year in range(1988, 2027, 2)]
        moments = [start + timedelta(minutes=draw.randrange(525_600)) for start in starts for _ in range(200)]
        walk = [datetime(2006, 10, 28, tzinfo=UTC) + timedelta(minutes=step) for step in range(3 * 1440)]
        for at in [*moments, *sorted(moments), *walk]:
            assert finder.day_of(at) == at.astimezone(zone).date()
        for size in (1, 7, 600):  # as calls come, in order and not, over one day and over several
            for together in (walk[step : step + size] for step in range(0, len(walk), size)):
                days = [at.astimezone(zone).date() for at in together]
                assert finder.days_of(together) == days
                assert finder.days_of(together[::-1]) == days[::-1]

    def test_days_of_calls_with_and_without_a_zone_or_a_time_are_told_together(self) -> None:
        at, day = datetime(2026, 1, 31, 12, tzinfo=UTC), date(2026, 1, 31)
        finder = DayFinder(UTC)
        assert finder.days_of([at, at.replace(tzinfo=None)]) == [day, day]
        assert finder.days_of([at.replace(tzinfo=None)]) == [day]
        assert finder.days_of([None, at]) == [None, day]
        assert finder.days_of([]) == []

    def test_the_first_and_the_last_day_that_can_be_written_are_days(self) -> None:
        ends = run("a", call("0001-01-01T00:00:00Z"), call("9999-12-31T23:59:59Z"))
        for zone in ("Asia/Tokyo", "America/New_York", "local"):
            assert used([ends], by="month", tz=zone).total.calls == 2


class TestTimes:
    RUNS = (run("a", call("2026-01-30T12:00:00Z"), call("2026-01-31T12:00:00Z"), call("2026-02-01T12:00:00Z")),)

    @pytest.mark.parametrize(
        ("limits", "days"),
        [
            ({"since": "2026-01-31"}, ["2026-01-31", "2026-02-01"]),
            ({"until": "2026-01-31"}, ["2026-01-30", "2026-01-31"]),  # the whole day
            ({"until": date(2026, 1, 31), "since": date(2026, 1, 31)}, ["2026-01-31"]),
            ({"until": "2026-01-31T12:00:00Z"}, ["2026-01-30"]),
            ({"since": "2026-02-01", "tz": "+13:00"}, ["2026-02-01", "2026-02-02"]),  # noon there is the next day
            ({"until": "2026-01-31", "tz": "+13:00"}, ["2026-01-31"]),
        ],
    )
    def test_since_and_until_choose_calls_not_runs(self, limits: dict[str, object], days: list[str]) -> None:
        result = used(self.RUNS, by="day", **limits)
        assert [group.key["day"] for group in result.groups] == days
        assert (result.total.calls, result.total.cost_usd) == (len(days), 3.0 * len(days))

    def test_the_last_days_are_whole_days_and_include_today(self) -> None:
        today = datetime.now(UTC).replace(hour=0, minute=0, second=1)
        runs = [run(str(back), call((today - timedelta(days=back)).isoformat())) for back in range(20)]
        assert used(runs, since="7d").total.calls == 7
        assert used(runs, since="2w").total.calls == 14
        assert used(runs, since="1d").total.calls == 1
        assert sy.read(runs, since="7d").n == 0  # the runs themselves state no time

    def test_nothing_in_the_asked_for_time_cost_nothing(self) -> None:
        result = used(self.RUNS, since="2026-03-01", budget=0)
        assert (result.total.cost_usd, result.total.calls, result.total.lower_bound) == (0.0, 0, False)
        assert result.budget is not None
        assert result.budget.status == "pass"
        assert result.groups == ()

    @pytest.mark.parametrize(
        ("limits", "said"),
        [
            ({"since": "2026-03-01"}, "1 run, all before 2026-03-01; the last on 2026-02-01"),
            ({"since": "2026-03-01", "tz": "+13:00"}, "1 run, all before 2026-03-01; the last on 2026-02-02"),
            ({"until": "2025-12"}, "1 run, all after 2025-12-31; the first on 2026-01-30"),
            ({"until": "2025-12-31T10:30"}, "1 run, all after 2025-12-31 10:30; the first on 2026-01-30"),
            (
                {"since": "2026-01-30T13:00", "until": "2026-01-30"},
                "1 run, all before 2026-01-30 13:00 or after 2026-01-30; the nearest on 2026-01-30 and 2026-01-31",
            ),
            (
                {"since": "2026-03-01", "where": f"model={CHEAP}"},
                "1 run, all before 2026-03-01; the last on 2026-02-01",
            ),
        ],
    )
    def test_a_time_without_a_call_says_where_the_calls_are(self, limits: dict[str, object], said: str) -> None:
        result = used(self.RUNS, **limits)
        assert result.summary == f"$0.0000 in the requested time range: {said}."
        assert result.to_dict()["runs_outside"] == 1

    def test_no_empty_table_is_printed(self, tmp_path: Path) -> None:
        path = write(tmp_path / "runs.jsonl", [run("a", started_at=datetime(2026, 1, 2, tzinfo=UTC), cost_usd=1)])
        done = steelyard("usage", str(path), "--since", "2026-02-01", "--tz", "UTC", "--budget", "5")
        assert done.status == 0
        assert done.stdout == (
            "$0.0000 in the requested time range: 1 run, all before 2026-02-01; the last on 2026-01-02.\n"
            "Budget $5: within budget.\n"
        )

    def test_calls_without_a_time_have_no_day_and_make_a_time_window_uncertain(self) -> None:
        runs = [run("a", call(None)), run("b", call("2026-01-31T12:00:00Z"))]
        assert costs(used(runs, by="day")) == {("2026-01-31",): 3.0, (None,): 3.0}
        limited = used(runs, since="2026-01-01", budget=5)
        assert (limited.total.cost_usd, limited.total.lower_bound) == (3.0, True)
        assert [finding.code for finding in limited.findings] == ["undated"]
        assert limited.budget is not None
        assert limited.budget.status == "inconclusive"

    def test_a_call_without_a_time_takes_the_runs(self) -> None:
        begun = run("a", call(None), started_at=datetime(2026, 1, 31, 12, tzinfo=UTC))
        assert costs(used([begun], by="day")) == {("2026-01-31",): 3.0}


class TestGroups:
    def test_models_are_those_of_the_calls(self) -> None:
        mixed = run("a", call("2026-01-31T12:00:00Z", DEAR), call("2026-01-31T13:00:00Z"), model=DEAR)
        assert costs(used([mixed])) == {("2026-01-31", DEAR): 15.0, ("2026-01-31", CHEAP): 3.0}
        assert costs(used([mixed], where=f"model={CHEAP}")) == {("2026-01-31", CHEAP): 3.0}
        assert costs(used([mixed], where=f"model!={CHEAP}")) == {("2026-01-31", DEAR): 15.0}
        with pytest.raises(UnknownNameError) as told:
            used([mixed], where="model=claude-sonet-4")
        assert told.value.nearest == CHEAP

    def test_projects_are_the_folders_and_sessions_the_runs(self) -> None:
        runs = [
            run("a", call("2026-01-31T12:00:00Z"), experiment="web", agent="x"),
            run("b", call("2026-01-31T12:00:00Z", DEAR), experiment="api", agent="x"),
            run("c", call("2026-01-31T12:00:00Z"), agent="y"),
        ]
        assert costs(used(runs, by="project")) == {("api",): 15.0, ("web",): 3.0, (None,): 3.0}
        assert list(costs(used(runs, by="session"))) == [("b",), ("a",), ("c",)]  # the most expensive first
        assert costs(used(runs, by="agent")) == {("x",): 18.0, ("y",): 3.0}
        assert costs(used(runs, by=())) == {(): 21.0}

    def test_own_keys_group_and_choose(self) -> None:
        runs = [
            {"id": "a", "task": "t", "cost_usd": 1.0, "x_branch": "main"},
            {"id": "b", "task": "t", "cost_usd": 2.0, "x_branch": "fix"},
            {"id": "c", "task": "t", "cost_usd": 4.0},
        ]
        assert costs(used(runs, by="x_branch")) == {("main",): 1.0, ("fix",): 2.0, (None,): 4.0}
        assert used(runs, by="x_branch", where="x_branch=main").total.cost_usd == 1.0
        assert sy.completeness(runs, by=["x_branch"]).groups[0].key == {"x_branch": "fix"}
        for verb in (used, sy.completeness):
            with pytest.raises(UnknownNameError) as told:
                verb(runs, by=["x_brnch"])  # type: ignore[operator]
            assert told.value.nearest == "x_branch"

    def test_a_key_that_is_none_is_answered_with_the_nearest(self) -> None:
        with pytest.raises(UnknownNameError) as told:
            used([run("a")], by="dya")
        assert told.value.nearest == "day"
        with pytest.raises(UsageError, match="duplicate"):
            used([run("a")], by=["day", "day"])

    def test_a_run_on_two_days_is_counted_on_both_and_once_in_all(self) -> None:
        two_days = used([run("a", call("2026-01-30T12:00:00Z"), call("2026-01-31T12:00:00Z"))], by="day")
        assert [group.runs for group in two_days.groups] == [1, 1]
        assert two_days.total.runs == 1


class TestStatedCosts:
    """A cost that the tool reports for a whole run is divided among its days and models."""

    DAYS = ("2026-01-30T12:00:00Z", "2026-01-31T12:00:00Z")

    def test_as_the_calls_state_theirs(self) -> None:
        calls = [call(self.DAYS[0], cost_usd=0.25), call(self.DAYS[1], cost_usd=0.5)]
        result = used([run("a", *calls, cost_usd=0.75)], by="day")
        assert costs(result) == {("2026-01-30",): 0.25, ("2026-01-31",): 0.5}
        assert not result.findings

    def test_a_day_whose_calls_state_none_is_not_free(self) -> None:
        calls = [call(self.DAYS[0], cost_usd=0.25), call(self.DAYS[1])]
        told = {"cost_usd": "lower_bound"}
        result = used([run("a", *calls, cost_usd=0.25, provenance=told)], by="day")
        assert costs(result) == {("2026-01-30",): 0.25, ("2026-01-31",): None}
        assert (result.total.cost_usd, result.total.lower_bound) == (0.25, True)

    def test_else_in_proportion_to_their_prices(self) -> None:
        calls = [call(self.DAYS[0]), call(self.DAYS[1], DEAR)]  # 3 and 15 dollars
        result = used([run("a", *calls, cost_usd=6.0)], by="day")
        assert costs(result) == {("2026-01-30",): 1.0, ("2026-01-31",): 5.0}
        assert [finding.code for finding in result.findings] == ["shared_cost"]

    def test_else_all_of_it_stands_with_the_first(self) -> None:
        calls = [call(self.DAYS[0], "unknown-1"), call(self.DAYS[1], "unknown-2")]
        result = used([run("a", *calls, cost_usd=6.0)], by="day")
        assert costs(result) == {("2026-01-30",): 6.0, ("2026-01-31",): None}
        assert (result.total.cost_usd, result.total.lower_bound) == (6.0, False)
        assert [finding.code for finding in result.findings] == ["unshared_cost"]
        first_day = used([run("a", *calls, cost_usd=6.0)], by="day", until="2026-01-30")
        assert first_day.total.lower_bound is False
        second_day = used([run("a", *calls, cost_usd=6.0)], by="day", since="2026-01-31")
        assert second_day.total.cost_usd is None

    @pytest.mark.parametrize("tool", ["opencode", "aider", "cline"])
    def test_tools_that_state_the_cost_of_each_call(self, tool: str) -> None:
        runs = list(RunReading([SAMPLES / tool]))
        stated = [each for each in runs if any(told.cost_usd is not None for told in each.calls or ())]
        assert stated
        for each in stated:
            assert sum(told.cost_usd or 0 for told in each.calls or ()) == pytest.approx(each.cost_usd)


class TestHonesty:
    AT = "2026-01-31T12:00:00Z"

    def test_a_total_says_what_it_lacks(self) -> None:
        runs = [
            run("a", call(self.AT)),
            run("b", call(self.AT), provenance={"usage": "lower_bound"}),
            run("c", call(self.AT, "no-such-model"), call(self.AT)),
            run("d"),
        ]
        result = used(runs)
        total = result.total
        assert (total.cost_usd, total.lower_bound) == (9.0, True)
        assert (total.lower_bound_runs, total.unpriced_calls, total.unpriced_runs, total.runs_without_usage) == (
            1,
            1,
            1,
            1,
        )
        assert result.unpriced_models == ("no-such-model",)
        assert result.summary == (
            "At least $9.0000, 4 runs, 4 calls, 2026-01-31: 1 of 4 runs is a lower bound; "
            "1 model without a price (no-such-model); 1 run without tokens or cost."
        )
        [finding] = [finding for finding in result.findings if finding.code == "unpriced"]
        assert "no-such-model" in finding.message

    def test_what_nothing_is_known_of_is_not_zero(self) -> None:
        result = used([run("d")])
        assert (result.total.cost_usd, result.total.calls, result.total.total_tokens) == (None, None, None)
        assert set(result.total.tokens.values()) == {None}
        shape = result.to_dict()["total"]
        assert (shape["cost_usd"], shape["reason"]) == (None, "no tokens reported")
        assert result.summary.startswith("Cost unknown, 1 run")

    def test_a_total_of_tokens_without_kinds_counts_and_prices_nothing(self) -> None:
        result = used([run("a", usage=Usage(total_tokens=500), model=CHEAP)])
        assert (result.total.total_tokens, result.total.cost_usd) == (500, None)
        assert (result.total.unpriced_runs, result.total.unpriced_calls) == (1, 0)

    def test_a_call_that_took_no_tokens_needs_no_price(self) -> None:
        result = used([run("a", call(self.AT), call(self.AT, "no-such-model", tokens=0))])
        assert (result.total.cost_usd, result.total.lower_bound, result.unpriced_models) == (3.0, False, ())

    def test_the_json_has_the_fields_of_the_contract(self) -> None:
        shape = used([run("a", call(self.AT))]).to_dict()
        assert {"schema_version", "by", "groups", "total", "findings"} <= shape.keys()
        [group] = shape["groups"]
        assert group["key"] == {"day": "2026-01-31", "model": CHEAP}
        asked = {"runs": 1, "calls": 1, "cost_usd": 3.0, "lower_bound": False, "unpriced_calls": 0}
        assert {name: group[name] for name in asked} == asked
        assert set(group["tokens"]) == set(TOKEN_KINDS)
        assert group["tokens"]["input_tokens"] == 1_000_000


@pytest.mark.parametrize(
    ("by", "days", "title"),
    [
        (["model", "day"], 35, "Cost by day and model"),
        (["model", "day"], 36, "Cost by week and model"),
        (["model", "month"], 35, "Cost by week and model"),  # as a report asks, which stays small
    ],
)
def test_days_that_are_asked_for_are_drawn_up_to_five_weeks(by: list[str], days: int, title: str) -> None:
    first = datetime(2026, 10, 1, 12, tzinfo=UTC)
    runs = [run(f"{day}", call((first + timedelta(days=day)).isoformat(), f"m{day % 4}")) for day in range(days)]
    priced = [msgspec.structs.replace(each, cost_usd=1.0) for each in runs]
    assert used(priced, by=by).figure().title == title


class TestRejected:
    """A session that is still running: its last line is half written."""

    @pytest.fixture
    def file(self, tmp_path: Path) -> str:
        file = write(tmp_path / "runs.jsonl", [run("a", call("2026-01-31T12:00:00Z"))])
        with Path(file).open("a", encoding="utf-8") as written:
            written.write('{"task": "t", "calls": [{"mod')
        return file

    def test_makes_the_total_a_lower_bound(self, file: str) -> None:
        result = used(file)
        assert (result.total.cost_usd, result.total.lower_bound, result.rejected_count) == (3.0, True, 1)
        assert result.summary == "At least $3.0000, 1 run, 1 call, 2026-01-31: 1 record rejected."
        later = used(file, since="2026-02-01")
        said = "1 run, all before 2026-02-01; the last on 2026-01-31; 1 record rejected"
        assert later.summary == f"At least $0.0000 in the requested time range: {said}."

    def test_says_why_the_status_is_not_0_where_findings_are_not_printed(self, file: str) -> None:
        done = steelyard("usage", file, "--quiet", "--prices", "spec")
        assert (done.status, done.stderr) == (1, "")
        assert "1 record rejected" in done.stdout
        assert "if the file is still being written, read it again later" in steelyard("usage", file).stderr

    @pytest.mark.parametrize(
        ("month", "is_cut_off"),
        [
            ("2026-02", False),  # the session began on March 1
            ("2026-03", True),
            ("2026-04", True),  # the line may have been written weeks after the session began
        ],
    )
    def test_of_a_session_that_began_later_does_not_count(self, month: str, is_cut_off: bool, tmp_path: Path) -> None:
        write(tmp_path / "runs.jsonl", [run("a", call("2026-02-03T12:00:00Z"))])
        log = (SAMPLES / "claude-code" / "session.jsonl").read_bytes()
        (tmp_path / "session.jsonl").write_bytes(log + log.splitlines(keepends=True)[2][:200])
        done = steelyard("usage", str(tmp_path), "--since", month, "--tz", "UTC", "--json")
        told = json.loads(done.stdout)
        assert (done.status, told["total"]["lower_bound"], told["rejected_count"]) == (0, is_cut_off, 0)
        [found] = [finding for finding in told["findings"] if finding["code"] == "unfinished_log"]
        assert found["severity"] == "info"

    def test_of_a_file_that_is_no_log_counts_whatever_the_time_of_its_runs(self, file: str) -> None:
        assert used(file, since="2025-12").total.lower_bound

    def test_makes_the_total_of_a_report_a_lower_bound(self, file: str) -> None:
        usage = sy.report(file, prices="spec").usage
        assert usage is not None
        assert (usage.total.lower_bound, usage.rejected_count) == (True, 1)


class TestBudget:
    @pytest.mark.parametrize(
        ("budget", "extra", "status"),
        [
            ("3", [], 0),  # exactly as much is within it
            ("2.99", [], 3),
            ("2.99", ["low"], 3),  # what is known exceeds it already
            ("3", ["low"], 4),
            ("3", ["unpriced"], 4),
            ("2.99", ["cut"], 3),
            ("3", ["cut"], 4),  # what the rejected record cost is unknown
        ],
    )
    def test_its_exit_status(self, budget: str, extra: list[str], status: int, tmp_path: Path) -> None:
        runs = [run("a", call("2026-01-31T12:00:00Z"), provenance={"usage": "lower_bound"} if "low" in extra else None)]
        if "unpriced" in extra:
            runs.append(run("b", call("2026-01-31T12:00:00Z", "no-such-model")))
        file = write(tmp_path / "runs.jsonl", runs)
        if "cut" in extra:
            with Path(file).open("a", encoding="utf-8") as written:
                written.write('{"task": "t", "calls": [{"mod')
        done = steelyard("usage", file, "--budget", budget, "--prices", "spec", "--json", "--allow-rejected")
        assert done.status == status
        told = {0: "pass", 3: "fail", 4: "inconclusive"}[status]
        assert json.loads(done.stdout)["budget"] == {"usd": float(budget), "status": told}

    def test_an_amount_that_is_none_is_an_error_of_usage(self) -> None:
        for budget in (-1.0, float("nan"), float("inf")):
            with pytest.raises(UsageError, match="budget"):
                used([run("a")], budget=budget)


def test_usage_table_has_a_column_per_kind_of_tokens(tmp_path: Path) -> None:
    path = write(tmp_path / "runs.jsonl", [run("a", usage=Usage(output_tokens=30, reasoning_tokens=12))])
    rows = steelyard("usage", str(path), "--by", "", COLUMNS="200").stdout.splitlines()
    at = next(at for at, row in enumerate(rows) if "reasoning" in row)
    assert rows[at].split() == ["cost", "tokens", "output", "reasoning", "calls", "runs"]
    assert rows[at + 2].split()[1:4] == ["42", "30", "12"]


class TestPlaces:
    @pytest.mark.parametrize("words", [["usage", "--tz", "UTC"], ["completeness"]], ids=lambda words: words[0])
    def test_without_a_path_it_reads_what_agents_keep_and_says_where(self, words: list[str], tmp_path: Path) -> None:
        projects = tmp_path / ".claude" / "projects" / "-work"
        projects.mkdir(parents=True)
        shutil.copy(SAMPLES / "claude-code" / "session.jsonl", projects / "s.jsonl")
        done = steelyard(*words, "--json", HOME=str(tmp_path), **NOWHERE)
        assert done.status == 0
        assert f"info: Claude Code: {tmp_path / '.claude' / 'projects'}: searched for logs [searched]\n" in done.stderr
        said = json.loads(done.stdout)
        others = {place["tool"] for place in said["searched_paths"]} - {"Claude Code"}
        assert f"info: no logs found for {len(others)} other agents [no_logs]\n" in done.stderr
        assert str(tmp_path / ".codex" / "sessions") in {place["path"] for place in said["searched_paths"]}
        assert ".codex" not in done.stderr  # the paths of all agents were a line of 1,000 characters
        assert {"tool": "Claude Code", "path": str(tmp_path / ".claude" / "projects"), "exists": True} in said[
            "searched_paths"
        ]
        named = json.loads(steelyard(words[0], str(projects), *words[1:], "--json").stdout)
        assert named["total"] == said["total"]

    def test_where_nothing_is_found_it_says_where_it_looked(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for name, value in {"HOME": str(tmp_path), **NOWHERE}.items():
            monkeypatch.setenv(name, value)
        with pytest.raises(UsageError, match="no agent logs found") as told:
            sy.usage()
        assert str(tmp_path / ".claude" / "projects") in told.value.message
        assert "Gemini CLI" in told.value.message
        (tmp_path / ".codex" / "sessions").mkdir(parents=True)
        with pytest.raises(NoValidInputError, match="contains no runs; searched Codex"):
            sy.usage(tz="UTC")


TOKENS = st.none() | st.integers(0, 10**7)
CALLS = st.builds(
    Call,
    model=st.sampled_from([None, CHEAP, DEAR, "gpt-4o", "no-such-model"]),
    at=st.none() | st.datetimes(datetime(2026, 1, 1), datetime(2026, 1, 5)),  # noqa: DTZ001 - without a zone is UTC
    usage=st.none() | st.builds(Usage, input_tokens=TOKENS, output_tokens=TOKENS, cache_read_tokens=TOKENS),
    cost_usd=st.none() | st.floats(0, 5),
)
RUNS = st.lists(
    st.builds(
        Run,
        task=st.just("t"),
        model=st.sampled_from([None, CHEAP, "no-such-model"]),
        started_at=st.none() | st.just(datetime(2026, 1, 2, tzinfo=UTC)),
        usage=st.none() | st.builds(Usage, input_tokens=TOKENS, output_tokens=TOKENS),
        calls=st.none() | st.lists(CALLS, max_size=4).map(tuple),
        cost_usd=st.none() | st.floats(0, 5),
    ),
    min_size=1,
    max_size=5,
)


@given(
    records=RUNS, by=st.sampled_from(["day", "model", "session", "week,agent"]), zone=st.sampled_from(["UTC", "+09:00"])
)
def test_groups_add_up_to_the_total_and_the_total_to_what_each_run_cost(records: list[Run], by: str, zone: str) -> None:
    runs = [
        Run(
            **{
                **{name: getattr(each, name) for name in ("task", "model", "started_at", "usage", "calls", "cost_usd")},
                "id": str(n),
            }
        )
        for n, each in enumerate(records)
    ]
    result = used(runs, by=by.split(","), tz=zone)
    sums: dict[str, Fraction] = defaultdict(Fraction)
    for group in result.groups:
        for name in ("calls", "total_tokens", "cost_usd", "unpriced_calls"):
            sums[name] += Fraction(getattr(group, name) or 0)
    assert sums["calls"] == (result.total.calls or 0)
    assert sums["unpriced_calls"] == result.total.unpriced_calls
    assert float(sums["cost_usd"]) == pytest.approx(result.total.cost_usd or 0.0, rel=1e-12)
    each = [cost_of(record, PRICES) for record in runs]
    known = sum(Fraction(cost.usd) for cost in each if cost.usd is not None)
    assert (result.total.cost_usd or 0.0) >= float(known) * (1 - 1e-12)
    if all(cost.usd is not None for cost in each):
        assert result.total.cost_usd == pytest.approx(float(known), rel=1e-12)
        assert result.total.lower_bound == any(cost.how == "lower_bound" for cost in each)
    assert sum(each.runs for each in result.run_costs) == len(runs)


class TestExplained:
    """What a run's tokens cost is traced to its calls, their day and the prices of the day."""

    def explained(self, record: Run, price_table: str = "spec") -> list[dict[str, object]]:
        shape = sy.explain([record], "cost_usd", run="a", prices=price_table).to_dict()["explanation"]
        [priced] = [part for part in shape["inputs"] if part["name"] == "priced_cost_usd"]
        return priced.get("inputs", [])

    def test_by_day_and_model_with_the_prices(self) -> None:
        mixed = run("a", call("2026-01-30T12:00:00Z"), call("2026-01-31T12:00:00Z", DEAR), call("2026-01-31T13:00:00Z"))
        parts = self.explained(mixed)
        assert [(part["name"], part["value"]) for part in parts] == [
            (f"{CHEAP} on 2026-01-30 (UTC)", 3.0),
            (f"{DEAR} on 2026-01-31 (UTC)", 15.0),
            (f"{CHEAP} on 2026-01-31 (UTC)", 3.0),
        ]
        assert parts[1]["formula"] == "1 call: 1,000,000 input x $15 per million tokens"

    def test_calls_above_a_context_tier_have_its_price(self) -> None:
        at = "2026-01-31T12:00:00Z"
        small, large = (call(at, "claude-sonnet-4-5", tokens) for tokens in (1_000, 300_000))
        assert "x $3 per" in str(self.explained(run("a", small), "genai-prices")[0]["formula"])
        assert "x $6 per" in str(self.explained(run("a", large), "genai-prices")[0]["formula"])
        assert "x $3 or $6 per" in str(self.explained(run("a", small, large), "genai-prices")[0]["formula"])

    def test_what_has_no_price_says_why(self) -> None:
        part, other = self.explained(run("a", call(None, "no-such-model"), call(None)))
        assert (part["name"], part["value"]) == ("no-such-model on an unknown day", None)
        assert "no-such-model" in str(part["reason"])
        assert other["value"] == 3.0
        assert self.explained(run("a", cost_usd=1.0)) == []


class TestReport:
    RUNS = TestTimes.RUNS

    def test_its_sections_are_what_the_verbs_say(self) -> None:
        for limits in ({}, {"since": "2026-01-31"}, {"where": f"model={CHEAP}"}):
            runs = [run("a", *self.RUNS[0].calls or (), model=CHEAP, started_at=datetime(2026, 2, 1, tzinfo=UTC))]
            report = sy.report(runs, prices="spec", sections=["usage", "completeness"], **limits)
            assert report.usage is not None
            assert report.usage.to_dict() == used(runs, by=["month", "model"], **limits).to_dict()
            assert report.completeness is not None
            assert report.completeness.to_dict() == sy.completeness(runs, prices="spec", **limits).to_dict()
            assert "--by month,model --tz UTC" in report.commands["usage"]

    def test_runs_without_tokens_or_cost_have_no_usage(self) -> None:
        report = sy.report([run("a", passed=True)], sections=["usage", "completeness"])
        assert report.usage is None
        assert report.omitted["usage"] == "no run reports tokens or cost"

    def test_a_table_of_runs_does_not_tell_of_calls(self) -> None:
        report = sy.report(sy.read(self.RUNS), sections=["usage", "completeness"])
        assert set(report.omitted) == {"usage", "completeness"}


@pytest.mark.parametrize(
    ("word", "hint"),
    [("daily", "--by day"), ("weekly", "--by week"), ("monthly", "--by month"), ("blocks", "--by session")],
)
def test_usage_suggests_by_for_ccusage_subcommands(word: str, hint: str) -> None:
    done = steelyard("usage", word)
    assert (done.status, hint in done.stderr) == (1, True)
    assert f"{word}: no such file or directory" in done.stderr


def test_usage_reports_missing_file() -> None:
    assert steelyard("usage", "nofile").stderr == "steelyard: nofile: no such file or directory\n"


def test_token_columns_of_a_narrow_table_add_up(tmp_path: Path) -> None:
    kinds = {name: 10**place for place, name in enumerate(TOKEN_KINDS, 2)}
    lines = [
        {"task": f"t{n}", "agent": f"agent-with-a-long-name-{n}", "model": "gpt-4o", "usage": kinds} for n in range(12)
    ]
    (tmp_path / "runs.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    for width in range(60, 180, 10):
        done = steelyard("usage", str(tmp_path / "runs.jsonl"), "--by", "agent,model", COLUMNS=str(width))
        heading = " ".join(done.stdout.split("─")[0].split())
        seen = [name.split("_")[0] in heading for name in TOKEN_KINDS]
        assert all(seen) or not any(seen), width


@pytest.mark.parametrize("costs", [[0.1] * 5_000, [0.1, 0.2, 0.3, 1e-9] * 1_100, [None, 0.7, None], [2.5]])
def test_usage_adds_costs_exactly(costs: list[float | None]) -> None:
    found = sy.usage([sy.Run(task="t", agent="a", id=str(place), cost_usd=cost) for place, cost in enumerate(costs)])
    expected = float(sum(Fraction(cost) for cost in costs if cost is not None))
    assert found.total.cost_usd == expected
    assert [group.cost_usd for group in found.groups] == [expected]

"""Random runs whose parts do not contradict each other's definitions."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import strategies as st

from steelyard.records import (
    Action,
    Change,
    Component,
    ComponentType,
    Criterion,
    Judgment,
    Run,
    Step,
    Steps,
    TestResults,
    Usage,
)

shares = st.floats(0, 1)
counts = st.integers(0, 10**6)
amounts = st.floats(0, 1e6)
weights = st.floats(0.01, 100)


def maybe(strategy: st.SearchStrategy) -> st.SearchStrategy:
    return st.none() | strategy


judgments = st.builds(
    Judgment,
    judge=st.sampled_from(["a", "b"]),
    weighted_score=shares,
    passed=maybe(st.booleans()),
    cost_usd=maybe(amounts),
    criteria=maybe(
        st.lists(
            st.builds(Criterion, name=st.just("c"), weight=weights, achieved=st.floats(0, 5), max=st.just(5.0)),
            min_size=1,
            max_size=3,
        ).map(tuple)
    ),
)
steps = st.builds(
    Steps,
    expected=maybe(
        st.lists(st.sampled_from("abcd"), unique=True, max_size=4).flatmap(
            lambda ids: st.tuples(*(st.builds(Step, id=st.just(id_), weight=weights) for id_ in ids))
        )
    ),
    achieved=st.lists(st.sampled_from("abcdxyz"), max_size=5).map(tuple),
)
usages = st.builds(
    Usage,
    input_tokens=maybe(counts),
    output_tokens=maybe(counts),
    cache_read_tokens=maybe(counts),
    total_tokens=maybe(counts),
)
tests = st.builds(TestResults, passed=counts, failed=st.integers(0, 2), errors=maybe(st.integers(0, 1)))
starts = st.integers(0, 10**9).map(lambda seconds: datetime(2020, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds))


def _with_end(start: datetime | None, micros: int) -> dict:
    return {} if start is None else {"started_at": start, "ended_at": start + timedelta(microseconds=micros)}


times = st.builds(_with_end, maybe(starts), st.integers(0, 10**10))


@st.composite
def runs(draw: st.DrawFn) -> Run:
    return Run(
        task=draw(st.sampled_from(["t1", "t2"])),
        agent=draw(maybe(st.sampled_from(["x", "y"]))),
        model=draw(maybe(st.sampled_from(["claude-sonnet-4-20250514", "no-such-model"]))),
        tier=draw(maybe(st.sampled_from(["T0", "T1", "T6"]))),
        passed=draw(maybe(st.booleans())),
        outcome=draw(maybe(st.sampled_from(["passed", "failed", "errored", "not_scored"]))),
        judgments=draw(maybe(st.lists(judgments, max_size=3).map(tuple))),
        impl_rate=draw(maybe(shares)),
        usage=draw(maybe(usages)),
        cost_usd=draw(maybe(amounts)),
        duration_seconds=draw(maybe(amounts)),
        tool_calls=draw(maybe(counts)),
        tests=draw(maybe(tests)),
        steps=draw(maybe(steps)),
        actions=draw(maybe(st.lists(st.builds(Action, weight=weights, goal_alignment=shares), max_size=4).map(tuple))),
        changes=draw(
            maybe(st.lists(st.builds(Change, failed=st.booleans(), reverted=st.booleans()), max_size=4).map(tuple))
        ),
        components=draw(
            maybe(
                st.lists(
                    st.builds(
                        Component,
                        type=st.sampled_from(ComponentType),
                        input_tokens=counts,
                        output_tokens=counts,
                    ),
                    max_size=4,
                ).map(tuple)
            )
        ),
        **draw(times),
    )


run_lists = st.lists(runs(), min_size=1, max_size=25).map(
    lambda made: [
        Run(**{**{f: getattr(run, f) for f in run.__struct_fields__}, "id": f"r{n}"}) for n, run in enumerate(made)
    ]
)

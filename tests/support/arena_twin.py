"""The arena specification's code, transcribed line by line, with the rulings where it leaves something open.

Slow and plain on purpose: it is what the arena is compared with. Nothing of the product is imported.
"""

from __future__ import annotations

import math
import statistics
from typing import Any

Submission = dict[str, Any]
Evaluation = dict[str, Any]

DEFAULTS: dict[str, float] = {
    "median_tokens": 20000,
    "min_tokens": 1000,
    "max_tokens": 200000,
    "median_tool_calls": 20,
    "min_tool_calls": 1,
    "max_tool_calls": 200,
    "median_execution_time": 300,
    "min_execution_time": 60,
    "max_execution_time": 1800,
    "median_cost": 0.05,
    "min_cost": 0.01,
    "max_cost": 0.20,
    "median_iterations": 3,
}
WEIGHTS = {"efficiency": 0.35, "speed": 0.25, "cost": 0.20, "correctness": 0.20}
TASK_CATEGORY_WEIGHTS = {
    "frontend_development": {"efficiency": 0.30, "speed": 0.25, "cost": 0.15, "correctness": 0.30},
    "backend_development": {"efficiency": 0.35, "speed": 0.30, "cost": 0.20, "correctness": 0.15},
    "data_analysis": {"efficiency": 0.40, "speed": 0.20, "cost": 0.25, "correctness": 0.15},
    "debugging": {"efficiency": 0.25, "speed": 0.35, "cost": 0.15, "correctness": 0.25},
    "refactoring": {"efficiency": 0.45, "speed": 0.20, "cost": 0.20, "correctness": 0.15},
}
ADJUSTMENTS = {"beginner": 1.0, "intermediate": 1.1, "advanced": 1.2}


def token_efficiency(submission: Submission, baseline: dict[str, float]) -> float:
    tokens_used = submission["total_tokens"]
    min_tokens, max_tokens = baseline["min_tokens"], baseline["max_tokens"]
    if tokens_used <= min_tokens:
        return 100.0
    if tokens_used >= max_tokens:
        return 0.0
    efficiency_ratio = (max_tokens - tokens_used) / (max_tokens - min_tokens)
    return min(100.0, efficiency_ratio * 100.0)


def tool_call_efficiency(submission: Submission, baseline: dict[str, float]) -> float:
    tool_calls = submission["tool_calls"]
    min_calls, max_calls = baseline["min_tool_calls"], baseline["max_tool_calls"]
    if tool_calls <= min_calls:
        return 100.0
    if tool_calls >= max_calls:
        return 0.0
    return (max_calls - tool_calls) / (max_calls - min_calls) * 100.0


def iteration_efficiency(submission: Submission, baseline: dict[str, float]) -> float:
    iterations = submission.get("iterations", 1)
    baseline_iterations = baseline["median_iterations"]
    if iterations == 1:
        return 100.0
    if iterations <= baseline_iterations:
        return max(50.0, 100.0 - (iterations - 1) * 15.0)
    return max(0.0, 50.0 - (iterations - baseline_iterations) * 10.0)


def efficiency(submission: Submission, baseline: dict[str, float]) -> float:
    return (
        token_efficiency(submission, baseline) * 0.5
        + tool_call_efficiency(submission, baseline) * 0.3
        + iteration_efficiency(submission, baseline) * 0.2
    )


def speed(submission: Submission, baseline: dict[str, float]) -> float:
    execution_time = submission.get("execution_time", 0)
    if execution_time == 0:
        return 50.0
    min_time, max_time = baseline["min_execution_time"], baseline["max_execution_time"]
    if execution_time <= min_time:
        return 100.0
    if execution_time >= max_time:
        return 0.0
    speed_ratio = (max_time - execution_time) / (max_time - min_time)
    return min(100.0, (speed_ratio**0.7) * 100.0)


def cost(submission: Submission, baseline: dict[str, float]) -> float:
    estimated_cost = submission.get("estimated_cost", 0.0)
    if estimated_cost == 0.0:
        return 50.0
    min_cost, max_cost = baseline["min_cost"], baseline["max_cost"]
    if estimated_cost <= min_cost:
        return 100.0
    if estimated_cost >= max_cost:
        return 0.0
    return (max_cost - estimated_cost) / (max_cost - min_cost) * 100.0


def check_criterion(submission: Submission, criterion: dict[str, Any]) -> bool:
    if criterion["type"] == "file_exists":
        return criterion["file_path"] in submission.get("files_created", [])
    if criterion["type"] == "no_errors":
        return submission.get("success", True)
    return False  # ruling: nothing passes by default, and there are no artifacts here


def correctness(submission: Submission, task: dict[str, Any]) -> float:
    criteria = task.get("success_criteria", [])
    if not criteria:
        return 100.0
    passed = [check_criterion(submission, criterion) for criterion in criteria]
    return sum(passed) / len(criteria) * 100.0


def overall(submission: Submission, task: dict[str, Any], baseline: dict[str, float]) -> Evaluation:
    scores = {
        "efficiency": efficiency(submission, baseline),
        "speed": speed(submission, baseline),
        "cost": cost(submission, baseline),
        "correctness": correctness(submission, task),
    }
    weights = TASK_CATEGORY_WEIGHTS.get(task.get("category", ""), WEIGHTS)
    total = (
        scores["efficiency"] * weights["efficiency"]
        + scores["speed"] * weights["speed"]
        + scores["cost"] * weights["cost"]
        + scores["correctness"] * weights["correctness"]
    )
    adjusted = min(100.0, total * ADJUSTMENTS.get(task.get("difficulty", ""), 1.0))
    return {
        "submission_id": submission["id"],
        "overall_score": round(total, 2),
        "adjusted_score": round(adjusted, 2),
        **{f"{name}_score": round(value, 2) for name, value in scores.items()},
    }


def baseline_of(submissions: list[Submission]) -> dict[str, float]:
    if len(submissions) < 5:
        return dict(DEFAULTS)
    tokens = [s["total_tokens"] for s in submissions]
    tool_calls = [s["tool_calls"] for s in submissions]
    times = [s.get("execution_time", 0) for s in submissions if s.get("execution_time", 0) > 0]
    costs = [s.get("estimated_cost", 0) for s in submissions if s.get("estimated_cost", 0) > 0]
    iterations = [s.get("iterations", 1) for s in submissions]
    return {
        "submission_count": len(submissions),
        "median_tokens": statistics.median(tokens),
        "min_tokens": min(tokens),
        "max_tokens": max(tokens),
        "q25_tokens": statistics.quantiles(tokens, n=4)[0],
        "q75_tokens": statistics.quantiles(tokens, n=4)[2],
        "median_tool_calls": statistics.median(tool_calls),
        "min_tool_calls": min(tool_calls),
        "max_tool_calls": max(tool_calls),
        "median_execution_time": statistics.median(times) if times else 300,
        "min_execution_time": min(times) if times else 60,
        "max_execution_time": max(times) if times else 1800,
        "median_cost": statistics.median(costs) if costs else 0.05,
        "min_cost": min(costs) if costs else 0.01,
        "max_cost": max(costs) if costs else 0.20,
        "median_iterations": statistics.median(iterations),
    }


SCORED_BY = ("min_tokens", "max_tokens", "min_tool_calls", "max_tool_calls", "min_execution_time", "max_execution_time")
SCORED_BY += ("min_cost", "max_cost", "median_iterations")


def versions(submissions: list[Submission]) -> list[tuple[int, dict[str, float]]]:
    """The version and the baseline that hold before each submission, and after the last."""
    found = [(1, baseline_of([]))]
    for count in range(1, len(submissions) + 1):
        baseline = baseline_of(submissions[:count])
        version, held = found[-1]
        moved = any(baseline[name] != held[name] for name in SCORED_BY)
        found.append((version + moved, baseline))
    return found


def percentile(score: float, all_scores: list[float]) -> float:
    if not all_scores:
        return 50.0
    ordered = sorted(all_scores)
    return round(ordered.index(score) / len(ordered) * 100, 1)


def rankings(evaluations: list[Evaluation]) -> list[Evaluation]:
    """Each evaluation holds `submitted_at`, which the specification calls `evaluated_at`."""
    ordered = sorted(evaluations, key=lambda x: (x["overall_score"], x["submitted_at"]), reverse=True)
    ranked: list[Evaluation] = []
    for place, evaluation in enumerate(ordered):
        tie = place > 0 and evaluation["overall_score"] == ordered[place - 1]["overall_score"]
        rank = ranked[-1]["overall_ranking"] if tie else place + 1
        of_all = [e["overall_score"] for e in evaluations]
        ranked.append(
            {**evaluation, "overall_ranking": rank, "percentile": percentile(evaluation["overall_score"], of_all)}
        )
    for metric in ("efficiency", "speed", "cost", "correctness"):
        by_metric = sorted(ranked, key=lambda x, key=f"{metric}_score": x[key], reverse=True)
        for place, evaluation in enumerate(by_metric):
            before = by_metric[place - 1] if place else None
            tie = before is not None and before[f"{metric}_score"] == evaluation[f"{metric}_score"]
            evaluation[f"{metric}_ranking"] = before[f"{metric}_ranking"] if tie and before else place + 1
    return ranked


def confidence_interval(scores: list[float]) -> tuple[float, float]:
    if len(scores) < 3:
        return (0, 100)
    mean = statistics.mean(scores)
    t_value = 2.776 if len(scores) < 30 else 1.96
    margin = t_value * (statistics.stdev(scores) / math.sqrt(len(scores)))
    return (max(0, mean - margin), min(100, mean + margin))


def outliers(submissions: list[Submission]) -> list[dict[str, Any]]:
    found = []
    token_threshold = statistics.median([s["total_tokens"] for s in submissions]) * 0.1
    for submission in submissions:
        flags = []
        if submission["total_tokens"] < token_threshold:
            flags.append("extremely_efficient_tokens")
        # ruling: an absent or zero time is unknown, not fast
        if submission.get("execution_time", 0) > 0 and submission["execution_time"] < 5:
            flags.append("extremely_fast")
        if submission.get("tool_calls", 0) == 1:
            flags.append("minimal_tool_usage")
        if len(flags) >= 2:
            found.append({"submission_id": submission["id"], "flags": flags, "recommended_action": "manual_review"})
    return found


def validation(evaluation: Evaluation, submission: Submission) -> list[str]:
    joined = {**submission, **evaluation}
    errors = []
    for score_type in ["overall", "efficiency", "speed", "cost", "correctness"]:
        score = joined[f"{score_type}_score"]
        if not 0 <= score <= 100:
            errors.append(f"{score_type}_score out of range: {score}")
    if joined.get("efficiency_score", 0) > 95 and joined.get("speed_score", 0) > 95:
        errors.append("Suspicious: Both efficiency and speed scores are extremely high")
    if joined.get("total_tokens", 0) < 10:
        errors.append("Suspiciously low token count")
    return errors


def pipeline(task: dict[str, Any], submissions: list[Submission], *, policy: str) -> tuple[list[Evaluation], int]:
    """TaskLeaderboard after all submissions came one by one, and the version of the baseline that then holds."""
    held = versions(submissions)
    evaluations = []
    for place, submission in enumerate(submissions):
        version, baseline = held[-1] if policy == "current" else held[place]
        evaluation = overall(submission, task, baseline)
        evaluation |= {"baseline_version": version, "submitted_at": submission["submitted_at"]}
        evaluation["warnings"] = validation(evaluation, submission)
        evaluations.append(evaluation)
    return rankings(evaluations), held[-1][0]

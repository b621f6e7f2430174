"""Repeatability at size: normalizing, distances to one canon, all pairs within tau; against pure Python.

    python -m benchmarks.repeatability [--quick]

The alternative is the textbook's Levenshtein table in pure Python, as the specification's own first implementation had
it. It is timed on a few of the same pairs, and its distances are compared with ours before any time is shown.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Callable

from steelyard.questions.repeatability._distance import distance, edits, pairs_within, signature
from steelyard.questions.repeatability._normalization import normalize

SEED = 20261115
TAU = 0.10
OUTPUTS = 1_000
WORDS = ("total", "item", "left", "right", "count", "value", "index", "limit", "found", "best", "key", "node")
# What each piece of work may take, in seconds of one processor, for 1,000 outputs.
LIMITS = {"normalize": 3.0, "to one canon": 1.0, "all pairs within tau": 6.0}


def make_output(chooser: random.Random) -> str:
    """A program of about 60 lines: functions with branches and loops, comments, a docstring here and there."""
    lines: list[str] = []
    for number in range(6):
        names = chooser.sample(WORDS, 4)
        lines.append(f"def step_{number}({names[0]}, {names[1]}):")
        if chooser.random() < 0.5:
            lines.append(f'    """Step {number} of the work."""')
        lines.append(f"    {names[2]} = {names[0]} + {chooser.randrange(100)}  # start")
        lines.append(f"    for {names[3]} in range({names[1]}):")
        lines.append(f"        if {names[3]}% {chooser.randrange(2, 9)} == {chooser.randrange(2)}:")
        lines.append(f"            {names[2]} {chooser.choice(['+=', '-=', '*='])} {names[3]} * {chooser.randrange(9)}")
        lines.append("        else:")
        lines.append(f"            {names[2]} = max({names[2]}, {names[0]} - {chooser.randrange(50)})")
        lines.append(f"    return {names[2]} {chooser.choice(['+', '-'])} {chooser.randrange(10)}")
        lines.append("")
    return "\n".join(lines)


def plain_levenshtein(first: str, second: str) -> int:
    """The textbook's table, row by row."""
    row = list(range(len(second) + 1))
    for i, a in enumerate(first, 1):
        above, row[0] = row[0], i
        for j, b in enumerate(second, 1):
            above, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, above + (a != b))
    return row[-1]


def processor_seconds(work: Callable[[], object]) -> float:
    """Processor time of the work, least of three."""
    took = []
    for _ in range(3):
        began = time.process_time()
        work()
        took.append(time.process_time() - began)
    return min(took)


def main() -> int:
    """Print the table; 1 when a limit is not kept."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the outputs")
    outputs = OUTPUTS // 10 if parser.parse_args().quick else OUTPUTS
    chooser = random.Random(SEED)
    codes = [make_output(chooser) for _ in range(outputs)]
    texts = [normalize(code).text for code in codes]
    canon = texts[0]
    lines = sum(code.count("\n") for code in codes) / outputs
    characters = sum(map(len, texts)) / outputs
    print(f"{outputs} distinct outputs of {lines:.0f} lines; normalized {characters:.0f} characters each")
    sample = texts[1:4]
    if [plain_levenshtein(text, canon) for text in sample] != [edits(text, canon)[0] for text in sample]:
        print("the two distances do not agree")
        return 1
    per_pair = processor_seconds(lambda: [plain_levenshtein(text, canon) for text in sample]) / len(sample)
    pairs = outputs * (outputs - 1) // 2
    rows = [
        ("normalize", processor_seconds(lambda: [signature(normalize(code).text) for code in codes]), None),
        ("to one canon", processor_seconds(lambda: [distance(text, canon) for text in texts]), per_pair * outputs),
        (
            "all pairs within tau",
            processor_seconds(lambda: pairs_within(texts, [1] * outputs, tau=TAU)),
            per_pair * pairs,
        ),
    ]
    # Fewer outputs get their fraction of the time, and a moment that does not shrink with them.
    share = outputs / OUTPUTS
    allowed = {name: max(0.2, limit * (share**2 if "pairs" in name else share)) for name, limit in LIMITS.items()}
    print(f"{'work':<22}{'steelyard, s':>14}{'allowed, s':>12}{'pure Python, s':>16}{'ratio':>10}")
    for name, ours, theirs in rows:
        other = "-" if theirs is None else f"{theirs:,.1f}"
        ratio = "-" if theirs is None else f"{theirs / max(ours, 1e-9):,.0f}x"
        print(f"{name:<22}{ours:>14.3f}{allowed[name]:>12.2f}{other:>16}{ratio:>10}")
    print(f"pure Python: {per_pair:.2f} s a pair, measured on {len(sample)} pairs and multiplied")
    return 0 if all(ours <= allowed[name] for name, ours, _ in rows) else 1


if __name__ == "__main__":
    sys.exit(main())

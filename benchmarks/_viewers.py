"""Time to the first useful page, in a Chromium: ours, `inspect view` and promptfoo, on as many results as each bears.

Useful is a page that shows a result by its name. Each viewer's server is running and has not been asked before; the
browser is new for every page. Results are made by each tool itself: Inspect's log writer, promptfoo's `echo` provider,
our arena. Nothing is asked of another machine: the browser resolves no name but this machine's.

    python -m benchmarks.serve --viewers --inspect VENV --promptfoo FOLDER
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from served import free_port
from served_arenas import BIG_TASK, filled_store

COUNTS = (1_000, 10_000, 50_000)
MAX_SECONDS = 120.0
ROUNDS = 3
ALONE = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost"
FLAGS = ("--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run", ALONE)

INSPECT_LOG = """
import sys
from inspect_ai.log import (
    EvalConfig, EvalDataset, EvalLog, EvalMetric, EvalPlan, EvalResults, EvalSample, EvalScore, EvalSpec, EvalStats,
    write_eval_log,
)
from inspect_ai.model import ChatMessageAssistant, ChatMessageUser, ModelOutput
from inspect_ai.scorer import Score

count, target, moment = int(sys.argv[1]), sys.argv[2], "2026-01-01T00:00:00+00:00"
samples = [
    EvalSample(
        id=f"task-{number:06}", epoch=1, input=f"Solve task-{number:06}", target="yes",
        messages=[ChatMessageUser(content=f"Solve task-{number:06}"), ChatMessageAssistant(content="yes")],
        output=ModelOutput.from_content("mockllm/model", "yes"),
        scores={"match": Score(value="C" if number % 3 else "I", answer="yes")},
    )
    for number in range(count)
]
metric = EvalMetric(name="accuracy", value=0.66)
scores = [EvalScore(name="match", scorer="match", metrics={"accuracy": metric})]
spec = EvalSpec(
    created=moment, task="bench", task_id="bench", run_id="r", dataset=EvalDataset(name="d", samples=count),
    model="mockllm/model", config=EvalConfig(),
)
results = EvalResults(total_samples=count, completed_samples=count, scores=scores)
stats = EvalStats(started_at=moment, completed_at=moment)
log = EvalLog(status="success", eval=spec, plan=EvalPlan(), results=results, stats=stats, samples=samples)
write_eval_log(log, target, format="eval")
"""


class Viewer(NamedTuple):
    """A running server, the page to open, and the name that must be seen."""

    words: list[str]
    environment: dict[str, str]
    address: str
    seen: str


def ours(folder: Path, count: int, port: int) -> Viewer:
    """The page of a task with that many submissions."""
    store = filled_store(folder, count=count, tasks=1)
    words = [sys.executable, "-m", "steelyard", "serve", "--store", store, "--port", str(port)]
    return Viewer(words, {}, f"http://127.0.0.1:{port}/tasks/{BIG_TASK}", f"{BIG_TASK}-0")


def inspect_view(folder: Path, count: int, port: int, *, environment: Path) -> Viewer:
    """The page of a log with that many samples."""
    name = "2026-01-01T00-00-00+00-00_bench_x.eval"
    subprocess.run([environment / "bin" / "python", "-c", INSPECT_LOG, str(count), folder / name], check=True)
    words = [str(environment / "bin" / "inspect"), "view", "start", "--log-dir", str(folder), "--port", str(port)]
    return Viewer(words, {}, f"http://127.0.0.1:{port}/#/tasks/{name.replace('+', '%2B')}", "Solve task-0000")


def promptfoo_view(folder: Path, count: int, port: int, *, modules: Path) -> Viewer:
    """The page of an evaluation with that many results."""
    tests = [
        {"vars": {"task": f"task-{number:06}"}, "assert": [{"type": "contains", "value": "S" if number % 3 else "no"}]}
        for number in range(count)
    ]
    asked = {"description": "bench", "prompts": ["Solve {{task}}"], "providers": ["echo"], "tests": tests}
    (folder / "promptfooconfig.json").write_text(json.dumps(asked), encoding="utf-8")
    silent = ("DISABLE_TELEMETRY", "DISABLE_UPDATE", "DISABLE_REMOTE_GENERATION", "SELF_HOSTED")
    environment = {f"PROMPTFOO_{name}": "1" for name in silent} | {"PROMPTFOO_CONFIG_DIR": str(folder / "conf")}
    program = str(modules / "node_modules" / ".bin" / "promptfoo")
    options = ["--no-progress-bar", "--no-table", "--no-cache", "-j", "20"]
    with (folder / "eval.log").open("wb") as log:  # it exits with 100 where a test failed, as some do here
        words = [program, "eval", "-c", str(folder / "promptfooconfig.json"), *options]
        subprocess.run(words, env=os.environ | environment, stdout=log, stderr=log, check=False)
    return Viewer([program, "view", "-n", "-p", str(port)], environment, f"http://localhost:{port}/eval", "task-0000")


@contextmanager
def running(viewer: Viewer, folder: Path) -> Iterator[None]:
    """The server, once it answers anything at all."""
    with (folder / "server.log").open("wb") as log:
        process = subprocess.Popen(viewer.words, env=os.environ | viewer.environment, stdout=log, stderr=log)
    try:
        root = "/".join(viewer.address.split("/")[:3]) + ("/api/v1/healthz" if "steelyard" in viewer.words else "/")
        deadline = time.monotonic() + MAX_SECONDS
        while True:
            try:
                urllib.request.urlopen(root, timeout=5).close()  # noqa: S310 # this machine's own server
                break
            except OSError:
                if time.monotonic() > deadline or process.poll() is not None:
                    raise
                time.sleep(0.2)
        yield
    finally:
        process.terminate()
        process.wait(30)


def first_page(browsers: Any, viewer: Viewer) -> float | None:  # Any: Playwright's browser type
    """Seconds until the page shows what is looked for; None where it never does."""
    from playwright.sync_api import Error

    program = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))))
    browser = browsers.launch(executable_path=program, args=FLAGS)
    try:
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        begin = time.perf_counter()
        page.goto(viewer.address, timeout=1000 * MAX_SECONDS)
        page.get_by_text(viewer.seen).first.wait_for(timeout=1000 * MAX_SECONDS)
        return time.perf_counter() - begin
    except Error:
        return None
    finally:
        browser.close()


def compare_viewers(*, inspect: Path | None, promptfoo: Path | None, quick: bool) -> int:
    """Print the seconds of each, up to the number of results that it still shows."""
    from playwright.sync_api import sync_playwright

    makers: dict[str, Callable[[Path, int, int], Viewer]] = {"steelyard serve": ours}
    if inspect is not None:
        makers["inspect view"] = lambda folder, count, port: inspect_view(folder, count, port, environment=inspect)
    if promptfoo is not None:
        makers["promptfoo view"] = lambda folder, count, port: promptfoo_view(folder, count, port, modules=promptfoo)
    with sync_playwright() as playwright:
        for name, make in makers.items():
            for count in COUNTS[:1] if quick else COUNTS:
                with tempfile.TemporaryDirectory() as made:
                    folder = Path(made)
                    viewer = make(folder, count, free_port())
                    with running(viewer, folder):
                        times = [first_page(playwright.chromium, viewer) for _ in range(1 if quick else ROUNDS)]
                shown = [f"{seconds:.1f}" if seconds is not None else "never" for seconds in times]
                print(f"{name}, {count:,} results: first page {shown[0]} s, again {' '.join(shown[1:])}", flush=True)
                if times[0] is None:
                    break
    return 0

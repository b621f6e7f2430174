"""The log of the Acme agent: a line that names the session, then a line for each model call."""

from collections.abc import Iterator
from pathlib import Path

import msgspec

from steelyard.files import label, records
from steelyard.records import Call, Count, Rejected
from steelyard.sources import LogFormat, ReadItem, RunPart, disjoint_usage, run_from


class Line(msgspec.Struct):
    acme_session: str | None = None
    task: str | None = None
    call: str | None = None
    prompt: Count | None = None
    answer: Count | None = None

    def as_call(self) -> Call:
        usage = disjoint_usage(input_with_cache=self.prompt, output_with_reasoning=self.answer)
        return Call(id=label(self.call), usage=usage)


def read(path: Path) -> Iterator[ReadItem]:
    items = list(records(path, msgspec.json.Decoder(Line)))
    yield from (item for item in items if isinstance(item, Rejected))
    lines = [item[1] for item in items if not isinstance(item, Rejected)]
    id_ = next((label(line.acme_session) for line in lines if label(line.acme_session)), None)
    task = next((label(line.task) for line in lines if label(line.task)), id_)
    if id_ is None:
        yield Rejected(path=str(path), reason="no line with a session id")
        return
    calls = tuple(line.as_call() for line in lines if line.call)
    run = run_from(format="acme", path=str(path), id=id_, task=task, agent="acme", calls=calls)
    yield RunPart(run=run, path=str(path), role="session")


FORMAT = LogFormat(
    name="acme",
    title="The Acme agent's session log",
    kind="sessions",
    yields=("calls", "usage"),
    recognizes=lambda head: head.has("acme_session"),
    read=read,
)

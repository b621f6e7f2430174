"""Which run a record is of: an id given or made from the content, the same run read again, an id with other content.

This is the one rule, whatever is read and by whom. The k-th of equal records without an id is attempt k, whichever
file it is in, so splitting a file changes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from steelyard.records._decoding import content_digest, content_id
from steelyard.records._findings import FilePlaces, Finding, Place, Rejected
from steelyard.records._run import Run

CONTENT_BYTES = 8
"""Bytes of a digest that compare two records with the same id; more would take memory."""


class RunIds:
    """Names for a stream of records, with those that were read before.

    >>> ids = RunIds()
    >>> [ids.admit(Run(id="a", task="t"), path="f", line=line) for line in (1, 2)]
    ['a', None]
    """

    def __init__(self) -> None:
        self._content: dict[str, bytes | Run] = {}
        """The beginning of the digest of what was read under each id, or the record itself where it is held anyway."""
        self._nameless: dict[bytes, int] = {}
        self._repeated = FilePlaces()
        self._alike = FilePlaces()

    def admit(self, run: Run, *, path: str, line: int | None, in_memory: bool = False) -> str | Rejected | None:
        """The run's id; None when it was read before, and the refusal when its id was read with other content.

        A record that is `in_memory` anyway is looked at closely only when its id comes again.
        """
        if in_memory and run.id is not None and self._content.setdefault(run.id, run) is run:
            return run.id
        return self.admit_digest(run.id, content_digest(run), path=path, line=line)

    def admit_digest(self, given: str | None, digest: bytes, *, path: str, line: int | None) -> str | Rejected | None:
        """The same for a record of which the id, if it has one, and the digest are known.

        Of a record with an id the first bytes of its digest are enough.
        """
        id_, again = (given, 0) if given is not None else self._next_name(digest)
        content = digest[:CONTENT_BYTES]
        before = self._content.setdefault(id_, content)
        if before is content:
            if again:
                self._alike.add(path, line, f"attempt {again + 1}")
            return id_
        if content == (content_digest(before)[:CONTENT_BYTES] if isinstance(before, Run) else before):
            self._repeated.add(path, line, id_)
            return None
        return Rejected(
            path=path,
            line=line,
            reason=f"id {id_!r} is already used by a different run",
            hint="use a unique id per run",
            code="id_conflict",
        )

    def _next_name(self, digest: bytes) -> tuple[str, int]:
        """The name of a record without one: the second of two equal records is another attempt."""
        occurrence = self._nameless.get(digest, 0)
        self._nameless[digest] = occurrence + 1
        return content_id(digest, occurrence), occurrence

    def findings(self) -> list[Finding]:
        """Which records were counted once, and which equal ones each for itself."""
        findings = []
        if self._repeated:
            findings.append(repeated_finding(self._repeated.on_demand()))
        if self._alike:
            message = "records without an id have the same content; each is treated as a separate attempt"
            findings.append(Finding(code="alike", severity="info", message=message, places=self._alike.on_demand()))
        return findings


def repeated_finding(places: Sequence[Place]) -> Finding:
    """Return the findings about runs in more than one place; the places are those that add no run."""
    message = "duplicate run (same id); included once"
    return Finding(code="repeated", severity="info", message=message, places=places)

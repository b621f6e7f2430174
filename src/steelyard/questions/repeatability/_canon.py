"""Finding, setting and checking the canon of a prompt."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from steelyard import store
from steelyard.errors import CanonExistsError, CanonPromptError, CanonVersionError
from steelyard.questions.repeatability._distance import DISTANCE_VERSION, Workbench, signature
from steelyard.questions.repeatability._oracle import Verdict, oracle_version
from steelyard.questions.repeatability._prompts import Prompt
from steelyard.records import Canon, Finding

if TYPE_CHECKING:
    from steelyard.store import Store


@dataclass
class CanonCache:
    """Canons by prompt: in a store, or for this call only."""

    store: Store | None
    _held: dict[str, Canon] = field(default_factory=dict)

    def get(self, prompt: str) -> Canon | None:
        """The canon in force."""
        if self.store is None:
            return self._held.get(prompt)

        return store.canon_of(self.store, prompt)

    def set(self, canon: Canon) -> Canon:
        """Set it; the one that another process set in the same moment wins."""
        if self.store is None:
            return self._held.setdefault(canon.prompt, canon)

        try:
            return store.set_canon(self.store, canon)
        except CanonExistsError:
            in_force = self.get(canon.prompt)
            if in_force is None:
                raise
            return in_force


@dataclass(frozen=True)
class ChosenCanon:
    """The canon that a prompt's outputs are compared with."""

    code: str
    normalized: str
    signature: str
    origin: str
    from_run: str | None = None
    findings: tuple[Finding, ...] = ()


def canon_of_experiment(prompt: Prompt, bench: Workbench) -> ChosenCanon | None:
    """Return the canon of an experiment file."""
    if prompt.canon is None:
        return None
    text = bench.form(prompt.canon).text
    return ChosenCanon(prompt.canon, text, signature(text), "experiment file")


def choose_canon(
    prompt: Prompt, verdicts: Sequence[Verdict], bench: Workbench, cache: CanonCache
) -> ChosenCanon | None:
    """Return the active canon, or make the first output that passes the oracle the canon."""
    contract = prompt.contract
    if contract is None:
        return None
    in_force = cache.get(contract.id)
    if in_force is not None:
        return _checked(in_force, prompt, bench, "stored" if cache.store is not None else "not stored")
    for answer, verdict in zip(prompt.answers, verdicts, strict=True):
        if verdict.passed:
            text = bench.form(answer.code).text
            canon = cache.set(
                Canon(
                    prompt=contract.id,
                    code=answer.code,
                    normalized=text,
                    signature=signature(text),
                    contract=contract.snapshot(),
                    normalization_version=bench.version,
                    oracle_version=oracle_version(),
                    distance_version=DISTANCE_VERSION,
                    origin=answer.run,
                )
            )
            return _checked(canon, prompt, bench, "new" if cache.store is not None else "not stored")
    return None


def _checked(canon: Canon, prompt: Prompt, bench: Workbench, origin: str) -> ChosenCanon:
    ours = (
        ("normalization", canon.normalization_version, bench.version),
        ("oracle", canon.oracle_version, oracle_version()),
        ("distance", canon.distance_version, DISTANCE_VERSION),
    )
    differing = [(what, theirs, mine) for what, theirs, mine in ours if theirs != mine]
    if differing:
        raise CanonVersionError(canon.prompt, differing)
    _check_question(canon, prompt)
    findings: tuple[Finding, ...] = ()
    if prompt.contract is not None and canon.contract != prompt.contract.snapshot():
        message = f"the contract of {canon.prompt!r} has changed since its canon was set"
        findings = (Finding(code="contract_changed", message=message, where=canon.prompt),)
    return ChosenCanon(canon.code, canon.normalized, canon.signature, origin, canon.origin, findings)


def _check_question(canon: Canon, prompt: Prompt) -> None:
    """Raise if the canon belongs to a different prompt text under the same id; whitespace is ignored."""
    ours = prompt.contract.prompt if prompt.contract is not None else ""
    theirs = str(json.loads(canon.contract).get("prompt", ""))
    if ours.split() and theirs.split() and ours.split() != theirs.split():
        raise CanonPromptError(canon.prompt, theirs=theirs, ours=ours)

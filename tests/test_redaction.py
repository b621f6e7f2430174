"""Secrets are taken out of what leaves the machine: every usual shape, in every text of a record, in linear time."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pytest

import steelyard as sy
from canaries import CANARIES, NAMED, leaks
from steelyard.records import SHAPES, Finding, Place, PlacesOnDemand, Redaction, Run

SPLIT = [
    *("\x1b[0m", "\x1b[1;31m", "\\u001b[0m", "\\\\u001b[0m", "\\033[0m", "\\x1b[32m", "\x9b31m", "^[[0m"),
    *("\u200b", "\u2060", "\xad", "\ufeff", "\0", "\r", "\x1b(B", "\x1b]0;title\x07", "\x1b]8;;https://x\x1b\\"),
]
SHORT = ["password=hunter2", "passwd: 'p4ss'", '"password": "a1b2c"', "PASSWORD = s3cret", "tool --password hunter2"]
GLUED = [
    "mysql -u root -p{} shop < dump.sql",
    "mysqldump -h db -uroot -p'{}' --all-databases",
    "docker exec db mariadb -p{} -e 'select 1'",
    '["mysql", "-uroot", "-p{}"]',
]
WRAPPED = ["\n    ", "\r\n\t", "\\n  "]
INNOCENT = [
    "mysql -p shop; mysql -P3306 -p$PASS; mysql -p<password>; mysql -p${PASS}; docker run mysql -p3306:3306",
    "mysql -h db && mkdir -pv build1; mysql\nunzip -pq archive1.zip; mysql -p%s",
    "npm_config\n  registry1; the sk-model\n  version1; r'\\x73\\u0073' is ss",
    "total_tokens=123456789, max_tokens: 4096, token: 12345678",
    "password=$PASSWORD api_key=<your key> secret: null, token=[redacted]",
    "https://example.org/a:b@c is a page; http://localhost:8080/path",
    "sk-learn, the task-list, risk-averse, desk-lamp-with-a-very-long-name",
    "a bearer of bad news; the basic assumption",
    "the tokenizer: sentencepiece; keyboard: qwertyuiop",
    "eyJust a word",
    "password: string, password: none, password = input, the password is secret",
    "use --token instead of --api-key when --password is given; --max-token 4096, --token $TOKEN --secret <name>",
    "a cookie: a small cake; Cookie: none; cookies = 3",
    "M.Sc. at O.N.E.; 12:34:56; SKILL and ACCOUNT; f?sig=short&x=1",
    "PWD=/home/user1 OLDPWD=/x1 pwd: C:\\\\work1; compare -b build=branch; docker run -u 1000:1000 image",
    '["api_key", "base_url", "password", "username"]; {"token": "hello", "logprob": -0.1}; token_ids=[1,2]',
    "the key is to use 12345678 threads; the token is invalid; SORT_KEY=created_at; pass: 3/4; --pass-rate 0.5",
    "npm_config_registry_url, hf_transfer_enabled_by_default, sk-folding-cube-wrapper-element",
]


@pytest.mark.parametrize(
    "around", ["{}", "key {} here", "x={}", "“{}”", "\x1b[31m{}\x1b[0m", "a\n{}\nb", "a\\n{}", '"{}",']
)
def test_every_usual_shape_is_taken_out_wherever_it_stands(around: str) -> None:
    missed = []
    for name, canary in CANARIES.items():
        redaction = Redaction()
        shown = redaction.text(around.format(canary.text))
        if leaks(shown) or redaction.count != 1:
            missed.append((name, shown, redaction.count))
    assert missed == []


def test_canaries_are_found_where_they_are_shown() -> None:
    assert len(CANARIES) > 45
    for name, canary in CANARIES.items():
        assert leaks(canary.text) == [name]
    assert leaks(CANARIES["GitHub"].text[:20]) == leaks(CANARIES["GitHub"].text[-16:].encode()) == ["GitHub"]


@pytest.mark.parametrize("split", SPLIT)
@pytest.mark.parametrize("at", [5, 12, 30])
def test_a_secret_that_colors_split_is_taken_out(split: str, at: int) -> None:
    secret = CANARIES["Anthropic"].text
    shown = Redaction().text(f"key {split}{secret[:at]}{split}{secret[at:]} here")
    assert shown == "key [API key 1] here"
    untouched = f"{split}no secret{split}"
    assert Redaction().text(untouched) == untouched


@pytest.mark.parametrize("text", SHORT)
def test_a_short_password_behind_its_name_is_taken_out(text: str) -> None:
    redaction = Redaction()
    assert "[secret 1]" in redaction.text(text)
    assert redaction.count == 1


@pytest.mark.parametrize("text", GLUED)
@pytest.mark.parametrize("password", ["S3cret!", "hunter2", "root"])
def test_a_password_glued_to_its_option_is_taken_out(text: str, password: str) -> None:
    assert Redaction().text(text.format(password)) == text.format("[secret 1]")


@pytest.mark.parametrize("name", ["Anthropic", "GitHub", "Google OAuth", "Docker"])
@pytest.mark.parametrize("escape", ["\\u{:04x}", "\\u{:04X}", "\\\\u{:04x}", "\\x{:02x}"])
def test_a_secret_with_escaped_letters_is_taken_out(name: str, escape: str) -> None:
    secret = CANARIES[name].text
    for places in ({0}, {1, 4}, set(range(len(secret)))):
        written = "".join(escape.format(ord(char)) if at in places else char for at, char in enumerate(secret))
        redaction = Redaction()
        assert not leaks(redaction.text(f'{{"note": "{written}"}}'))
        assert redaction.count == 1


@pytest.mark.parametrize("between", WRAPPED)
@pytest.mark.parametrize("at", [12, 20, -12])
def test_a_wrapped_secret_is_taken_out(between: str, at: int) -> None:
    secret = "ghp_" + "a1B2" * 9
    redaction = Redaction()
    assert redaction.text(f"token{between}{secret[:at]}{between}{secret[at:]}\nnext line") == (
        f"token{between}[GitHub token 1]\nnext line"
    )


@pytest.mark.parametrize("name", NAMED)
def test_what_a_name_says_is_secret_is_taken_out_and_the_name_stays(name: str) -> None:
    text, secret = CANARIES[name]
    assert Redaction().text(text)[:3] == text[:3]
    assert secret not in Redaction().text(text)


@pytest.mark.parametrize("text", INNOCENT)
def test_what_is_no_secret_stays(text: str) -> None:
    redaction = Redaction()
    assert redaction.text(text) == text
    assert redaction.count == 0


def test_two_secrets_stay_two_and_the_same_one_is_counted_once() -> None:
    redaction = Redaction()
    first = CANARIES["GitHub"].text
    second = first + "x"
    shown = redaction.tree({first: 1, second: 2, "again": [first, (first, 3.0, None)]})
    assert shown == {
        "[GitHub token 1]": 1,
        "[GitHub token 2]": 2,
        "again": ["[GitHub token 1]", ("[GitHub token 1]", 3.0, None)],
    }
    assert (redaction.count, redaction.summary) == (2, "2 GitHub tokens")


def test_a_redacted_text_is_left_alone_the_second_time() -> None:
    once = [Redaction().text(text) for text, _ in CANARIES.values()]
    assert [Redaction().text(text) for text in once] == once


@dataclass(frozen=True)
class Holder:
    text: str
    findings: tuple[Finding, ...]


def test_every_text_of_a_record_is_redacted() -> None:
    canary = CANARIES["OpenAI"].text
    run = _planted(msgspec.to_builtins(next(sy.demo_runs())), canary)
    redacted = Redaction().tree(msgspec.convert(run, Run))
    assert canary in str(run)
    assert leaks(msgspec.json.encode(redacted)) == []
    places = PlacesOnDemand(3, lambda numbers: (Place(where=f"{canary} {number}") for number in numbers))
    named = {"set": frozenset({canary}), "path": Path("folder") / canary}
    assert leaks(str(Redaction().tree(named))) == []
    held = Redaction().tree(Holder(canary, (Finding(code="c", message=canary, places=places),)))
    assert leaks(str((held.text, held.findings[0].message, [place.where for place in held.findings[0].places]))) == []


def _planted(value: Any, canary: str, name: str = "") -> Any:  # Any: JSON values
    """The record with the canary in every text that may be any text."""
    if isinstance(value, dict):
        return {key: _planted(part, canary, key) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_planted(part, canary, name) for part in value]
    fixed = ("tier", "tier_scheme", "outcome", "type", "usage", "at", "started_at", "ended_at")
    return f"{value} {canary}" if isinstance(value, str) and name not in fixed else value


STRUCTURED: list[Any] = [  # JSON values
    {"password": "SECRET"},
    {"env": {"GITHUB_TOKEN": "SECRET"}},
    {"api_keys": {"api_key": ["SECRET"]}},
    ["tool", "--api-key", "SECRET", "--verbose"],
    ("tool", "--access_token", "SECRET"),
    [["Content-Type", "text/plain"], ["x-api-key", "SECRET"]],
    [{"name": "x-api-key", "value": "SECRET"}],
    {"Set-Cookie": ["theme=dark", "session=SECRET"]},
]


@pytest.mark.parametrize("value", STRUCTURED, ids=str)
def test_secrets_are_found_by_what_is_beside_them(value: Any) -> None:
    redaction = Redaction()
    secret = CANARIES["variable of a token"].secret
    planted = msgspec.json.decode(msgspec.json.encode(value).replace(b"SECRET", secret.encode()))
    shown = redaction.tree(planted)
    assert leaks(str(shown)) == []
    assert redaction.count == 1
    innocent = {"password": None, "username": "ada", "command": ["--api-key"], "keys": ["api_key", "password"]}
    assert redaction.tree(innocent) is innocent


def test_what_holds_no_secret_is_the_same_object() -> None:
    run = next(sy.demo_runs())
    assert Redaction().tree(run) is run


PIECES = [
    *(sign for shape in SHAPES for sign in shape.signs),
    *(canary.text for canary in CANARIES.values()),
    "-----BEGIN PRIVATE KEY-----",
    "password = ",
    "sk-a",
    "://a:",
    "a://b:c",
    "eyJaaaaaaaa.",
    "bearer  ",
    "-eyJaaaaaaaa",
    "-SG.aaaaaaaaaaaaaaaa",
    'token\\"',
    "--api-key ",
    "--a-a-a-a-",
    "password=a",
    "cookie: a=",
    "&sig=a",
    "Maaaaaaaaaaaaaaaaaaaaaaa.",
    "1234567890:AA",
    "dp.st.a",
    "\x1b[",
    "\x1b[0",
    "\\u001b[0m",
    "\x1b]a",
    "^[]",
    "\\",
    "curl ",
    "login a password ",
    "--key-",
    '"token",',
    "password>",
    "x",
]
"""Texts that, repeated, make a careless pattern search again from each of them."""


def test_eight_times_the_text_takes_about_eight_times_the_time() -> None:
    def is_linear(piece: str) -> bool:
        short, long = seconds(piece, 10_000), seconds(piece, 80_000)  # quadratic would take 64 times as long
        return long < 24 * short + 0.02

    def seconds(piece: str, size: int) -> float:
        text = piece * (size // len(piece))
        start = time.process_time()
        Redaction().text(text)
        return time.process_time() - start

    slow = [piece for piece in PIECES if not is_linear(piece)]
    again = [piece for piece in slow if not (is_linear(piece) or is_linear(piece))]  # a pause of the machine passes
    assert again == []


def same_letters(one: str, other: str) -> int:
    """Return the length of what both begin with."""
    return next(at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b)


@pytest.mark.parametrize("around", ["{}", "a word {} and more", "x={}", "a\n{}\nb", '"{}",', "\x1b[31m{}\x1b[0m"])
def test_no_part_of_a_secret_is_surely_kept(around: str) -> None:
    wrong = []
    key = "ghp_" + "a1B2" * 9
    wrapped = [f"{key[:at]}{between}{key[at:]}" for between in WRAPPED for at in (12, -12)]
    glued = [each.format("correct battery") if "'{}'" in each else each.format("hunter2x") for each in GLUED]
    for plain in (*SHORT, *wrapped, *glued, *(canary.text for canary in CANARIES.values())):
        text = around.format(plain)
        shown = Redaction().text(text)
        # what differs is the secret, up to letters that it shares with its mark
        start, after = same_letters(text, shown), same_letters(text[::-1], shown[::-1])
        places = range(start, len(text) - after)
        assert len(places) > 1
        wrong += [text[at : at + 2] for at in places if Redaction().surely_keeps(text, at, at + 1)]
    assert wrong == []


@pytest.mark.parametrize("split", SPLIT)
def test_no_part_of_a_split_secret_is_surely_kept(split: str) -> None:
    secret = CANARIES["Anthropic"].text
    text = f"key {split}{secret[:12]}{split}{secret[12:]} here"
    start = text.index(secret[:12])
    assert not any(Redaction().surely_keeps(text, at, at + 1) for at in range(start, len(text) - len(" here")))


def test_what_is_surely_kept_stays_in_the_redacted_text() -> None:
    parts = [*INNOCENT, *SHORT, *(canary.text for canary in CANARIES.values()), "see module_common.error_value here"]
    kept = 0
    for part in parts:
        text = f"{part}\nthe common end"
        shown = Redaction().text(text)
        for match in re.finditer(r"[A-Za-z]{3,}", text):
            if Redaction().surely_keeps(text, *match.span()):
                kept += 1
                assert match[0] in shown
    assert kept > len(parts)  # of each text, more than a word
    named = "see module_common.error_value here"
    assert Redaction().surely_keeps(named, 11, 17)
    assert not Redaction().surely_keeps(named, 11, 17, is_named=True)

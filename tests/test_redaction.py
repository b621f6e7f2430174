"""Secrets are taken out of what leaves the machine: every usual shape, in every text of a record, in linear time."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pytest

import steelyard as sy
from steelyard.records import SHAPES, Finding, Place, PlacesOnDemand, Redaction, Run

BODY = "Zx9Qw7Er5Ty3Ui1Op0As2Df4Gh6Jk8Lz"
# Joined here, so that no scanner takes this file for one that leaks.
CANARIES = {
    "Anthropic": "sk-" + "ant-api03-" + BODY,
    "OpenAI": "sk-" + "proj-" + BODY,
    "Stripe": "sk" + "_live_" + BODY,
    "Google": "AI" + "za" + BODY + "abc",
    "SendGrid": "SG" + "." + BODY + "." + BODY,
    "AWS": "AK" + "IA" + "ABCDEFGHIJKLMNOP",
    "GitHub": "gh" + "p_" + BODY,
    "GitHub, fine-grained": "github" + "_pat_" + BODY,
    "GitLab": "gl" + "pat-" + BODY,
    "Hugging Face": "h" + "f_" + BODY,
    "npm": "np" + "m_" + BODY,
    "NVIDIA": "nv" + "api-" + BODY,
    "Vault": "hv" + "s." + BODY,
    "Google OAuth": "GOC" + "SPX-" + BODY,
    "Slack": "xo" + "xb-123456789012-" + BODY,
    "JSON web token": "ey" + "J" + BODY + ".ey" + "J" + BODY + "." + BODY,
    "Slack, app": "xa" + "pp-1-A0123456789-" + BODY,
    "Stripe, restricted": "rk" + "_live_" + BODY,
    "GitHub, app": "gh" + "s_" + BODY,
    "GitLab, runner": "gl" + "rt-" + BODY,
    "xAI": "xa" + "i-" + BODY,
    "Groq": "gs" + "k_" + BODY,
    "Replicate": "r" + "8_" + BODY,
    "Perplexity": "pp" + "lx-" + BODY,
    "Tavily": "tv" + "ly-" + BODY,
    "PyPI": "py" + "pi-" + BODY,
    "DigitalOcean": "do" + "p_v1_" + BODY,
    "Docker": "dckr" + "_pat_" + BODY,
    "Linear": "lin" + "_api_" + BODY,
    "Shopify": "sh" + "pat_" + BODY,
    "Grafana": "gl" + "sa_" + BODY,
    "Supabase": "sb" + "p_" + BODY,
    "Figma": "fi" + "gd_" + BODY,
    "Atlassian": "AT" + "ATT" + BODY,
    "Google, access": "ya" + "29." + BODY,
    "LangSmith": "ls" + "v2_" + BODY,
    "Postman": "PM" + "AK-" + BODY,
    "age": "AGE-" + "SECRET-KEY-" + BODY,
    "Steelyard": "sy" + "tk_" + BODY,
    "Doppler": "dp" + ".st.dev." + BODY + "AbCdEfGh",
    "Doppler, personal": "dp" + ".pt." + BODY + "AbCdEfGh",
    "Discord": "M" + BODY[:25] + "." + "Gabcde" + "." + BODY,
    "Telegram": "1234567890" + ":AA" + BODY + "a",
    "private key": "-----BEGIN RSA {0}-----\n{1}\n{1}\n-----END RSA {0}-----".format("PRIVATE KEY", BODY),
    "private key without an end": "-----BEGIN OPENSSH " + "PRIVATE KEY-----\\n" + BODY,
}
HEX = "ABCDEFGHIJKLMNOP".lower().translate(str.maketrans("ghijklmnop", "0123456789")) * 2
TWILIO = {"Twilio": "S" + "K" + HEX, "Twilio, account": "A" + "C" + HEX}
SECRET = "s3" + "cret-" + BODY
BEHIND_A_NAME = [
    f"Authorization: Bearer {SECRET}",
    f"authorization: basic {SECRET}==",
    f"export API_KEY={SECRET}",
    f'"aws_secret_access_key": "{SECRET}"',
    f"password = '{SECRET}'",
    f"--access-token={SECRET} --verbose",
    f"https://user:{SECRET}@example.org/repo.git",
    f"https://hooks.example.org/services/T{BODY}/{SECRET}",
    f'{{\\"client_secret\\": \\"{SECRET}\\"}}',
    f"tool --api-key {SECRET} --verbose",
    f"tool --auth-token '{SECRET}'",
    f'["tool", "--db-password {SECRET}"]',
    f"Set-Cookie: session={SECRET}; Path=/; HttpOnly",
    f'{{"set-cookie": "sid={SECRET}"}}',
    f"Cookie: theme=dark-mode; session={SECRET}",
    f"https://account.blob.example.org/c/f?sv=2024&sig={SECRET}%3D&se=2027",
    f"https://bucket.example.org/f?X-Amz-Expires=60&amp;X-Amz-Signature={SECRET}",
    f"https://discord.example.org/api/webhooks/123/{SECRET}",
]
SPLIT = ["\x1b[0m", "\x1b[1;31m", "\\u001b[0m", "\\033[0m", "\\x1b[32m", "\u200b", "\u2060", "\xad", "\ufeff"]
SHORT = ["password=hunter2", "passwd: 'p4ss'", '"password": "a1b2c"', "PASSWORD = s3cret", "tool --password hunter2"]
INNOCENT = [
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
    "npm_config_registry_url, hf_transfer_enabled_by_default, sk-folding-cube-wrapper-element",
]


@pytest.mark.parametrize(
    "around", ["{}", "key {} here", "x={}", "“{}”", "\x1b[31m{}\x1b[0m", "a\n{}\nb", "a\\n{}", '"{}",']
)
def test_every_usual_shape_is_taken_out_wherever_it_stands(around: str) -> None:
    missed = []
    for name, secret in CANARIES.items():
        redaction = Redaction()
        shown = redaction.text(around.format(secret))
        if BODY in shown or "ABCDEFGHIJKLMNOP" in shown or redaction.count != 1:
            missed.append((name, shown, redaction.count))
    assert missed == []


@pytest.mark.parametrize("secret", TWILIO.values(), ids=TWILIO)
def test_keys_of_hexadecimal_digits_are_taken_out(secret: str) -> None:
    assert Redaction().text(f"export SID={secret};") == "export SID=[Twilio key 1];"


@pytest.mark.parametrize("split", SPLIT)
@pytest.mark.parametrize("at", [5, 12, 30])
def test_a_secret_that_colors_split_is_taken_out(split: str, at: int) -> None:
    secret = CANARIES["Anthropic"]
    shown = Redaction().text(f"key {split}{secret[:at]}{split}{secret[at:]} here")
    assert shown == "key [API key 1] here"
    untouched = f"{split}no secret{split}"
    assert Redaction().text(untouched) == untouched


@pytest.mark.parametrize("text", SHORT)
def test_a_short_password_behind_its_name_is_taken_out(text: str) -> None:
    redaction = Redaction()
    assert "[secret 1]" in redaction.text(text)
    assert redaction.count == 1


@pytest.mark.parametrize("text", BEHIND_A_NAME)
def test_what_a_name_says_is_secret_is_taken_out_and_the_name_stays(text: str) -> None:
    redaction = Redaction()
    shown = redaction.text(text)
    assert SECRET not in shown
    assert redaction.count == 1
    assert shown[:3] == text[:3]


@pytest.mark.parametrize("text", INNOCENT)
def test_what_is_no_secret_stays(text: str) -> None:
    redaction = Redaction()
    assert redaction.text(text) == text
    assert redaction.count == 0


def test_two_secrets_stay_two_and_the_same_one_is_counted_once() -> None:
    redaction = Redaction()
    first, second = CANARIES["GitHub"], CANARIES["GitHub"] + "x"
    shown = redaction.tree({first: 1, second: 2, "again": [first, (first, 3.0, None)]})
    assert shown == {
        "[GitHub token 1]": 1,
        "[GitHub token 2]": 2,
        "again": ["[GitHub token 1]", ("[GitHub token 1]", 3.0, None)],
    }
    assert (redaction.count, redaction.summary) == (2, "2 GitHub tokens")


def test_a_redacted_text_is_left_alone_the_second_time() -> None:
    once = [Redaction().text(text) for text in [*CANARIES.values(), *BEHIND_A_NAME]]
    assert [Redaction().text(text) for text in once] == once


@dataclass(frozen=True)
class Holder:
    text: str
    findings: tuple[Finding, ...]


def test_every_text_of_a_record_is_redacted() -> None:
    canary = CANARIES["OpenAI"]
    run = _planted(msgspec.to_builtins(next(sy.demo_runs())), canary)
    redacted = Redaction().tree(msgspec.convert(run, Run))
    assert canary in str(run)
    assert BODY not in msgspec.json.encode(redacted).decode()
    places = PlacesOnDemand(3, lambda numbers: (Place(where=f"{canary} {number}") for number in numbers))
    named = {"set": frozenset({canary}), "path": Path("folder") / canary}
    assert BODY not in str(Redaction().tree(named))
    held = Redaction().tree(Holder(canary, (Finding(code="c", message=canary, places=places),)))
    assert BODY not in str((held.text, held.findings[0].message, [place.where for place in held.findings[0].places]))


def _planted(value: Any, canary: str, name: str = "") -> Any:  # Any: JSON values
    """The record with the canary in every text that may be any text."""
    if isinstance(value, dict):
        return {key: _planted(part, canary, key) for key, part in value.items()}
    if isinstance(value, list):
        return [_planted(part, canary, name) for part in value]
    fixed = ("tier", "tier_scheme", "outcome", "type", "usage", "at", "started_at", "ended_at")
    return f"{value} {canary}" if isinstance(value, str) and name not in fixed else value


def test_what_holds_no_secret_is_the_same_object() -> None:
    run = next(sy.demo_runs())
    assert Redaction().tree(run) is run


PIECES = [
    *(sign for shape in SHAPES for sign in shape.signs),
    *CANARIES.values(),
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

"""The file of targets: what cannot be sent to is refused before any event is taken."""

from __future__ import annotations

from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from hypothesis import given, strategies as st

from steelyard.arena import read_targets
from steelyard.arena.notifications._events import KINDS
from steelyard.arena.notifications._targets import Target, sendable
from steelyard.errors import UnknownNameError, UsageError

DOCS = Path(__file__).parents[2] / "docs" / "arena.md"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('[[targets]]\nname = "a"\n', "either url or apprise_env"),
        ('[[targets]]\nname = "a"\nurl = "file:///etc/passwd"\n', "not an http"),
        ('[[targets]]\nname = "a"\nurl = "https://x/"\nsecret = "s"\n', "unknown field"),
        (
            '[[targets]]\nname = "a"\nurl = "https://x/"\n[[targets]]\nname = "a"\nurl = "https://y/"\n',
            "must be unique",
        ),
        ('[[targets]]\nname = "a"\nurl = "https://x/"\nkinds = []\n', r"targets number 1, kinds: .* length >= 1$"),
        ('[[targets]]\nname = "a"\nurl = "http://:80/"\n', "invalid url of target 'a'.*not an http"),
        (
            '[[targets]]\nname = "a"\nurl = "http://ci.internal/"\n',
            'must use https; for a private host, set network = "private"',
        ),
        ('[[targets]]\nname = "a"\nurl = "https://10.0.0.7/"\n', 'private address; set network = "private"'),
        ('[[targets]]\nname = "a"\nurl = "https://[::1]/"\n', 'loopback address; set network = "loopback"'),
        ('[[targets]]\nname = "a"\nurl = "http://169.254.1.1/"\nnetwork = "private"\n', "link-local.*not allowed"),
        ('[[targets]]\nname = "a"\nurl = "http://8.8.8.8/"\nnetwork = "private"\n', "public address; use https"),
        ('[[targets]]\nname = "a"\nurl = "https://x/"\nnetwork = "intranet"\n', "Invalid enum value 'intranet'"),
        ('[[targets]]\nname = "a"\napprise_env = "X"\nnetwork = "private"\n', "has network but no url"),
        ("targets = []", "must be unique"),
        ("not toml", "not TOML"),
    ],
)
def test_wrong_targets_are_refused_before_anything_is_sent(tmp_path: Path, text: str, problem: str) -> None:
    path = tmp_path / "targets.toml"
    path.write_text(text)
    with pytest.raises(UsageError, match=problem):
        read_targets(path)


def test_a_misspelled_kind_is_refused_with_the_nearest(tmp_path: Path) -> None:
    path = tmp_path / "targets.toml"
    path.write_text('[[targets]]\nname = "a"\nurl = "https://x/"\nkinds = ["submission.evaluted"]\n')
    with pytest.raises(UnknownNameError, match=r"did you mean 'submission\.evaluated'") as caught:
        read_targets(path)
    assert caught.value.where == str(path)


@pytest.mark.checkout
def test_every_kind_is_a_target_s_to_want_and_is_documented(tmp_path: Path) -> None:
    path = tmp_path / "targets.toml"
    for kind, meaning in KINDS.items():
        path.write_text(f'[[targets]]\nname = "a"\nurl = "https://x/"\nkinds = ["{kind}"]\n')
        assert read_targets(path)[0].kinds == (kind,)
        assert f"| `{kind}` | {meaning} |" in DOCS.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("url", "sent_to"),
    [
        ("http://127.0.0.1:1/höok", "http://127.0.0.1:1/h%C3%B6ok"),
        ("https://bücher.example/", "https://xn--bcher-kva.example/"),
        ("https://example.org/a b?c=d e&f=%C3%B6#part", "https://example.org/a%20b?c=d%20e&f=%C3%B6"),
        ("http://[::1]:8080/x", "http://[::1]:8080/x"),
        ("HTTP://Example.org", "http://example.org"),
        ("https://ci.example.org/hooks/arena?a=1;b=2,3&c=(x)*!'$@:+[]~", None),
    ],
)
def test_an_address_is_sent_to_in_the_letters_that_may_be_sent(url: str, sent_to: str | None) -> None:
    assert sendable(url) == (sent_to or url)


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("http://ex ample.org/", "invalid host name"),
        ("http://a..b/", "invalid host name"),
        (f"http://{'a' * 64}.org/", "invalid host name"),
        ("http://x:99999/", "Port out of range"),
        ("http://x:0/", "port 0"),
        ("http://x:http/", "Port could not be cast"),
        ("http://[::1/", "Invalid IPv6"),
        ("http://[::g]/", "'::g'"),
        ("http://me:hush@x/", "secret_env"),
        ("http://x/\nHost: y", "non-printable"),
        ("//x/", "not an http"),
    ],
)
def test_an_address_that_nothing_can_be_sent_to_is_refused(url: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        Target(name="a", url=url)


HOSTS = st.sampled_from(["x", "x.org:8080", "[::1]", "bücher.example", "例え.jp"]) | st.text(max_size=20)


@given(HOSTS, st.text(max_size=30))
def test_an_address_that_is_accepted_can_be_asked_for_and_stays_the_same(host: str, rest: str) -> None:
    try:
        address = sendable(f"http://{host}/{rest}")
    except ValueError:
        return
    assert sendable(address) == address
    parts = urlsplit(address)
    connection = HTTPConnection(parts.netloc)  # asks for nothing before it is connected
    connection.host.encode("idna")
    connection.putrequest("POST", f"{parts.path}?{parts.query}")


def test_a_secret_is_the_bytes_of_the_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOOK_SECRET", b"\xff\xfe".decode("utf-8", "surrogateescape"))
    assert Target(name="a", url="https://x/", secret_env="HOOK_SECRET").secret == b"\xff\xfe"  # noqa: S106 - a variable

"""What judges see names nobody: not the agent, its model, tier, cost, folders or files of its own."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from steelyard.runner._blinding import Blinding, FileDiff, Secrets, work_diff

SECRETS = Secrets(
    agents=("night-owl", "codex"),
    models=("acme/canary-large-4.5",),
    tiers=("T1", "guided"),
    paths=("/srv/plans", "/srv/plans/runs/p"),
    ids=("0123456789abcdef",),
    costs_usd=(0.123456,),
    tokens=(1_234_567,),
    overlaid=frozenset({"docs/HINTS.md"}),
)


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("by Night Owl", "by [agent]"),
        ("by NIGHT_OWL.", "by [agent]."),
        ("canary-large-4.5 and Canary Large 4 5", "[model] and [model]"),
        ("model acme/canary-large-4.5", "model [model]"),
        ("tier T1, guided", "tier [tier], [tier]"),
        ("in /srv/plans/runs/p/trials/0123456789abcdef/retry-2/work/a.py", "in [path]/a.py"),
        ("in /home/somebody/x", "in [path]/x"),
        ("trial 0123456789abcdef", "trial [id]"),
        ("it cost $0.12 or 0.1235 or 0.123456", "it cost [cost] or [cost] or [cost]"),
        ("1,234,567 tokens, 1234567 tokens", "[tokens] tokens, [tokens] tokens"),
        ("+Co-Authored-By: Somebody <a@b.example>", "+[trailer]"),
        ("+# Co-authored-by: Somebody", "+# [trailer]"),
        ("Generated with Claude Code", "Generated with [agent] Code"),
        ("Night\u200b Ow\u200bl", "[agent]"),
        ("".join(chr(ord(c) + 0xFEE0) for c in "nightowl"), "[agent]"),  # letters of full width
    ],
)
def test_what_names_the_work_is_taken_out(written: str, shown: str) -> None:
    assert Blinding(SECRETS).text(written) == shown


@pytest.mark.parametrize(
    "written",
    ["midnight owls", "T10 and t1", "0.12 seconds", "x = 12345", "a codexed word", "ﬁne: ligatures stay", "int main()"],
)
def test_other_words_stay_as_they_are(written: str) -> None:
    blinding = Blinding(SECRETS)
    assert blinding.text(written) == written
    assert blinding.summary == ""


def test_well_known_names_stay_where_the_task_is_about_them() -> None:
    assert Blinding(Secrets(), spoken_of="Add a client for Anthropic").text("import anthropic") == "import anthropic"
    assert Blinding(Secrets()).text("import anthropic") == "import [agent]"
    # what the plan names is a secret of this comparison whatever the task is about
    assert Blinding(Secrets(agents=("codex",)), spoken_of="fix codex").text("codex") == "[agent]"


def test_everyday_names_of_built_in_agents_are_no_secrets() -> None:
    assert Blinding(Secrets(agents=("model", "command", "nop", "oracle"))).text("the model") == "the model"


def test_files_of_agents_and_of_tiers_are_left_out_and_counted() -> None:
    blinding = Blinding(SECRETS)
    names = ("CLAUDE.md", ".aider.chat.history.md", "sub/.codex/config.toml", "AGENTS.md", "docs/HINTS.md", "src/a.py")
    shown = blinding.diff(FileDiff(name, f"+++ b/{name}\n+text\n") for name in names)
    assert shown == "+++ b/src/a.py\n+text\n"
    assert blinding.summary == "5 file"


@settings(max_examples=150, deadline=None)
@given(st.text(max_size=30), st.sampled_from(["night-owl", "canary-large-4.5", "guided"]), st.text(max_size=30))
def test_a_name_between_other_words_never_gets_through(before: str, name: str, after: str) -> None:
    assert name not in Blinding(SECRETS).text(f"{before} {name} {after}")


def test_a_change_shows_added_changed_and_removed_files(tmp_path: Path) -> None:
    before, overlay, after = (tmp_path / name for name in ("before", "overlay", "after"))
    for folder in (before, overlay, after):
        folder.mkdir()
    (before / "same.txt").write_text("same\n")
    (after / "same.txt").write_text("same\n")
    (before / "old.txt").write_text("old\n")
    (overlay / "hint.txt").write_text("hint\n")
    (after / "hint.txt").write_text("hint\n")
    (after / "new.txt").write_text("new")
    (after / "big.bin").write_bytes(b"\0" * 10)
    (after / "link").symlink_to("/etc/passwd")
    (after / "__pycache__").mkdir()
    (after / "__pycache__" / "x.pyc").write_bytes(b"x")
    diffs = {file.path: file.text for file in work_diff([before, overlay], after)}
    assert sorted(diffs) == ["big.bin", "link", "new.txt", "old.txt"]
    assert "-old" in diffs["old.txt"]
    assert diffs["new.txt"].endswith("+new\n\\ No newline at end of file\n")
    assert "omitted" in diffs["big.bin"]
    assert "root:" not in diffs["link"]
    assert "a link to /etc/passwd" in diffs["link"]

"""The code blocks of the documentation, and what running them in order gives.

A page starts in the folder that `steelyard demo --write` makes. Comments before a block say what else there is to know:
`<!-- file: NAME -->` the block is that file, `<!-- not run: REASON -->` it is only shown, `<!-- run by: FILE -->` that
test runs it, and tests/runner/test_tutorials.py those with `<!-- tutorial: NAME -->`. In `console`, lines after a
`$ command` are what it prints, `...` stands for any lines, and `# exit 3` ends a command that does so.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from steelyard.cli import run

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(page for page in ROOT.glob("docs/**/*.md") if page.parent.name != "decisions")])
SHOWN = {"text", "yaml", "nginx", "caddy", "bash"}
"""Languages of what nothing runs: output and layouts, and files of other programs."""
ANY = re.escape("...")
_BLOCK = re.compile(
    r"(?:^[ ]*<!-- (?P<word>file|not run|run by|tutorial): (?P<said>.+?) -->\n)?"
    r"^(?P<indent>[ ]*)```(?P<language>\w*)\n(?P<text>.*?)^[ ]*```[ ]*$",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True)
class Block:
    """One fenced block of a page."""

    place: str
    language: str
    text: str
    word: str | None
    said: str


def blocks_of(page: Path) -> list[Block]:
    """Every fenced block, in order."""
    text, found = page.read_text(encoding="utf-8"), []
    for match in _BLOCK.finditer(text):
        place = f"{page.relative_to(ROOT)}:{text.count(chr(10), 0, match.start('language')) + 1}"
        inside = re.sub(f"^{match['indent']}", "", match["text"], flags=re.MULTILINE)
        found.append(Block(place, match["language"], inside, match["word"], match["said"] or ""))
    return found


@dataclass
class Reader:
    """Somebody who does all that a page says, in order, in a folder of their own."""

    folder: Path
    names: dict[str, object] = field(default_factory=dict)
    variables: dict[str, str] = field(default_factory=dict)
    servers: list[subprocess.Popen[str]] = field(default_factory=list)
    port: str = ""

    def follow(self, block: Block) -> None:
        """Does what one block says; what differs from the page fails with its place."""
        if block.word in {"not run", "run by", "tutorial"} or block.language in SHOWN:
            return
        if block.word == "file":
            (self.folder / block.said).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / block.said).write_text(block.text, encoding="utf-8")
        if block.language == "console":
            for command, shown in commands_of(block.text):
                self.type(command, shown, block.place)
        elif block.language == "python":
            if block.word != "file":
                self.execute(block)
        elif block.language == "toml":
            tomllib.loads(block.text)
        elif block.language == "json":
            for document in _documents(block.text):
                json.loads(document)
        else:
            raise AssertionError(f"{block.place}: nothing here runs a block of {block.language or 'no language'}")

    def type(self, command: str, shown: list[str], place: str) -> None:
        """One command and what it has to print."""
        command = command.replace("8600", self.port or "8600")
        words = shlex.split(command, comments=True)
        expected = int(match[1]) if (match := re.search(r"# exit (\d)", command)) else 0
        if words[0] == "cd":
            self.folder = self.folder / words[1]
            if words[1].startswith("tests/samples/"):  # what only a checkout has
                shutil.copytree(ROOT / words[1], self.folder)
            assert self.folder.is_dir(), f"{place}: no such directory: {words[1]}"
            return
        if words[-1] == "&":
            self.serve(command.rpartition("&")[0])
            return
        if "=" in words[0] and words[0].startswith("TOKEN="):
            self.variables["TOKEN"] = self.in_shell(f"{command} 2>/dev/null; echo $TOKEN")[1].strip()
            return
        plain = words[0] == "steelyard" and not set(words) & {"|", ">", "<", "&&", ">>", "2>"}
        status, printed = self.in_process(words[1:]) if plain else self.in_shell(command)
        assert status == expected, f"{place}: {command} ended with {status}:\n{printed}"
        told = [line.rstrip() for line in printed.splitlines()]
        assert matches(shown, told), f"{place}: {command} prints\n{printed}\nand the page shows\n{chr(10).join(shown)}"

    def in_process(self, words: list[str]) -> tuple[int, str]:
        """The command without the cost of a new process."""
        printed = io.StringIO()
        with contextlib.chdir(self.folder), contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
            return run(words), printed.getvalue()

    def in_shell(self, command: str) -> tuple[int, str]:
        """The command with all that a shell does."""
        given = {**os.environ, **self.variables, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
        both = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        done = subprocess.run(["bash", "-c", command], cwd=self.folder, env=given, text=True, check=False, **both)  # type: ignore[call-overload]
        return done.returncode, done.stdout

    def serve(self, command: str) -> None:
        """A server in the background, on a free port in place of 8600, once it answers."""
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = str(probe.getsockname()[1])
        self.leave()
        words = [sys.executable, "-m", "steelyard", *shlex.split(command)[1:], "--port", self.port]
        server = subprocess.Popen(words, cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.servers.append(server)
        assert server.stdout is not None
        assert any("serving at" in line for line in server.stdout), f"{command} did not start"

    def leave(self) -> None:
        """Ends the servers."""
        for server in self.servers:
            server.terminate()
            server.communicate(timeout=30)
        self.servers.clear()

    def execute(self, block: Block) -> None:
        """The code, each expression compared with the literal in the comment after it."""
        lines = block.text.splitlines()
        with contextlib.chdir(self.folder), contextlib.redirect_stdout(io.StringIO()):
            for node in ast.parse(block.text).body:
                if not isinstance(node, ast.Expr):
                    exec(compile(ast.Module([node], []), block.place, "exec"), self.names)  # noqa: S102 - our own page
                    continue
                value = eval(compile(ast.Expression(node.value), block.place, "eval"), self.names)  # noqa: S307 - our own page
                said = lines[(node.end_lineno or 1) - 1][node.end_col_offset :].strip().removeprefix("# ")
                with contextlib.suppress(ValueError, SyntaxError):
                    assert value == ast.literal_eval(said), (
                        f"{block.place}: {ast.unparse(node)} is {value!r}, not {said}"
                    )


def commands_of(text: str) -> Iterator[tuple[str, list[str]]]:
    """Each command of a console block, lines that end in a backslash joined, and the lines that it prints."""
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        lines = part.splitlines()
        command = lines.pop(0)
        while command.endswith("\\"):
            command = f"{command[:-1]}{lines.pop(0).strip()}"
        yield command, [line.rstrip() for line in lines]


def matches(shown: list[str], told: list[str]) -> bool:
    """Whether the lines are those that were told; `...` stands for any of them, or any part of one, nothing for all.

    >>> matches(["a", "...", "c"], ["a", "b", "b", "c"]), matches(["a"], ["a", "b"])
    (True, False)
    """
    if not shown:
        return True
    pattern = "".join("(?:.*\n)*" if line == "..." else f"{re.escape(line).replace(ANY, '.*')}\n" for line in shown)
    return re.fullmatch(pattern.rstrip("\n") + "\n*", "\n".join(told) + "\n") is not None


def _documents(text: str) -> list[str]:
    """The text whole, or its lines where each is a document of its own."""
    try:
        json.loads(text)
    except ValueError:
        return text.splitlines()
    return [text]

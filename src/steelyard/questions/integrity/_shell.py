"""Shell scripts, split into simple commands in time linear in the script; no variable is expanded."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

MAX_COMMANDS = 1_000
"""Commands of one script that are examined."""
PREFIXES: tuple[str, ...] = (
    "sudo",
    "env",
    "time",
    "nohup",
    "exec",
    "command",
    "stdbuf",
    "xargs",
    "then",
    "do",
    "else",
    "if",
    "while",
    "!",
)
PREFIXES += ("{", "(", "nice", "builtin", "elif", "until", "eval")
"""Words before a command that leave it what it is."""
OPTION_PREFIXES = ("sudo", "xargs", "env", "nice", "time")


@dataclass(slots=True)
class ShellCommand:
    """One simple command, with its redirections."""

    words: list[str] = field(default_factory=list)
    redirects: list[tuple[str, str]] = field(default_factory=list)
    """Operator and target."""
    heredoc: str = ""
    """Text that the command reads."""
    start: int = 0
    end: int = 0
    text: str = ""
    """The command as it is written, without the text that it reads."""
    settings: list[str] = field(default_factory=list)
    """Variables that are set for the command."""

    @property
    def input_text(self) -> str:
        """What the command writes where its output goes: the text that it reads, else its words."""
        return self.heredoc or self.text


def shell_commands(script: str) -> Iterator[ShellCommand]:
    r"""Yield the simple commands of a script: those between `;`, `&&`, `||`, `|`, `&` and line ends.

    >>> [each.words for each in shell_commands("cd a && FOO=1 sudo git log --all | head; echo 'x y'")]
    [['cd', 'a'], ['git', 'log', '--all'], ['head'], ['echo', 'x y']]
    >>> [(each.redirects, each.heredoc) for each in shell_commands("cat <<'E' > f\nx\nE\n")]
    [([('>', 'f')], 'x\n')]
    """
    return _Splitter(script).commands()


class _Splitter:
    """Position in a script, and the command so far."""

    def __init__(self, script: str) -> None:
        self._script, self._at = script, 0
        self._command = ShellCommand()
        self._word: list[str] | None = None
        self._operator: str | None = None
        self._waiting: list[tuple[ShellCommand, str]] = []
        self._found: list[ShellCommand] = []

    def commands(self) -> Iterator[ShellCommand]:
        script = self._script
        while self._at < len(script) and len(self._found) < MAX_COMMANDS:
            character = script[self._at]
            if character in "'\"":
                self._quoted(character)
            elif character == "\\":
                if script[self._at + 1 : self._at + 2] != "\n":
                    self._add(script[self._at + 1 : self._at + 2])
                self._at += 2
            elif character == "\n":
                self._end_command()
                self._at += 1
                self._read_heredocs()
            elif character in ";|&()":
                self._separator(character)
            elif character in " \t\r":
                self._end_word()
                self._at += 1
            elif character == "#" and self._word is None:
                end = script.find("\n", self._at)
                self._at = len(script) if end < 0 else end
            elif character in "<>":
                self._redirect(character)
            else:
                self._add(character)
                self._at += 1
        self._end_command()
        self._read_heredocs()
        for command in self._found:
            _without_prefixes(command)
            yield command

    def _add(self, text: str) -> None:
        if self._word is None:
            self._word = []
            if not self._command.words and not self._command.redirects:
                self._command.start = self._at
        self._word.append(text)

    def _quoted(self, quote: str) -> None:
        self._add("")
        script, at = self._script, self._at + 1
        while at < len(script) and script[at] != quote:
            if script[at] == "\\" and quote == '"' and script[at + 1 : at + 2] in ('"', "\\", "$", "`"):
                at += 1
            self._add(script[at])
            at += 1
        self._at = at + 1

    def _separator(self, character: str) -> None:
        if character == "&" and self._script[self._at + 1 : self._at + 2] == ">":
            self._end_word()
            self._at += 1  # `&>` redirects both outputs
            return
        self._end_command()
        self._at += 1

    def _redirect(self, character: str) -> None:
        if self._word is not None and "".join(self._word).isdigit():
            self._word = None  # the number of a file descriptor
        self._end_word()
        script = self._script
        if script.startswith("<<<", self._at):
            self._operator = "<<<"
        elif script.startswith("<<", self._at):
            self._operator = "<<-" if script.startswith("<<-", self._at) else "<<"
        elif script.startswith(">>", self._at):
            self._operator = ">>"
        else:
            self._operator = character
        self._at += len(self._operator)
        if script[self._at : self._at + 1] == "&":
            self._add("&")
            self._at += 1

    def _end_word(self) -> None:
        if self._word is None:
            return
        word, operator = "".join(self._word), self._operator
        self._word = self._operator = None
        if operator is None:
            self._command.words.append(word)
        elif operator in ("<<", "<<-"):
            self._waiting.append((self._command, word))
        elif operator == "<<<":
            self._command.heredoc = word
        else:
            self._command.redirects.append((operator, word))
        self._command.end = self._at

    def _end_command(self) -> None:
        self._end_word()
        command = self._command
        if command.words or command.redirects:
            command.text = self._script[command.start : command.end].strip()
            self._found.append(command)
        self._command, self._operator = ShellCommand(), None

    def _read_heredocs(self) -> None:
        for command, mark in self._waiting:
            lines = []
            while self._at < len(self._script):
                end = self._script.find("\n", self._at)
                end = len(self._script) if end < 0 else end
                line = self._script[self._at : end]
                self._at = end + 1
                if line.strip() == mark:
                    break
                lines.append(line)
            command.heredoc = "".join(f"{line}\n" for line in lines)
        self._waiting.clear()


def _without_prefixes(command: ShellCommand) -> None:
    """Remove assignments and words such as `sudo` before the command."""
    words, at = command.words, 0
    while at < len(words):
        name = words[at].rpartition("/")[2]
        before, sign, _ = words[at].partition("=")
        if sign and before.replace("_", "").isalnum():
            command.settings.append(words[at])
            at += 1
        elif name == "timeout" and at + 2 < len(words):
            at += 3 if words[at + 1].startswith("-") else 2
        elif name in PREFIXES:
            at += 1
            while at < len(words) and name in OPTION_PREFIXES and words[at].startswith("-"):
                at += 1
        else:
            break
    command.words = words[at:]

"""Actions of an agent: what its tool calls run, read, change, delete and fetch, whatever the tools are called."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal

import msgspec

from steelyard.questions.integrity._shell import ShellCommand, shell_commands

ActionKind = Literal["run", "read", "change", "delete", "fetch"]

COMMANDS = ("command", "cmd", "commands", "script", "keystrokes")
PATHS = ("file_path", "path", "filePath", "filename", "file", "target_file", "notebook_path", "absolute_path")
OLD = ("old_string", "old_str", "oldString", "old", "search")
NEW = ("new_string", "new_str", "newString", "new", "replace", "new_source", "insert_text")
CONTENT = ("content", "file_text", "contents", "fileText")
URLS = ("url", "uri", "urls")
QUERIES = ("query", "q", "search_query")
PATCHES = ("input", "patch", "patchText", "diff", "changes")
"""Names of arguments in the tools of known agents."""
FETCHERS = ("fetch", "web", "browse", "http", "url")
"""Parts of the names of tools that fetch pages; they may name the page in a prompt."""
SHELLS = ("sh", "bash", "zsh", "dash")
DOWNLOADS = ("curl", "wget", "http", "https", "aria2c", "lynx", "xh")
READS: tuple[str, ...] = (
    "cat",
    "less",
    "more",
    "head",
    "tail",
    "sed",
    "awk",
    "grep",
    "rg",
    "egrep",
    "strings",
    "base64",
    "xxd",
    "diff",
)
READS += (
    "bat",
    "nl",
    "cmp",
    "od",
    "jq",
    "yq",
    "view",
    "open",
    "python",
    "python3",
    "cp",
    "vim",
    "vi",
    "nano",
    "source",
    "tac",
    "cut",
    "sort",
    "uniq",
    "tr",
    "paste",
    "join",
    "column",
    "comm",
    "fold",
)
READS += (
    "fgrep",
    "zgrep",
    "ag",
    "ack",
    "zcat",
    "gunzip",
    "bzcat",
    "xzcat",
    "unzip",
    "tar",
    "7z",
    "dd",
    "hexdump",
    "iconv",
    "shuf",
    "split",
    "rev",
    "pandoc",
)
HAND_WRITERS = ("echo", "printf", "cat", "tee", "jq", ":", "yes", "seq", "base64")
"""Commands whose output is what the agent wrote, not the result of a program."""
MAX_TEXT = 200_000
"""Characters of an argument that are examined."""
MAX_DEPTH = 3
"""Scripts in scripts that are examined."""


@dataclass(frozen=True, slots=True)
class AgentAction:
    """One thing that a tool call does."""

    kind: ActionKind
    target: str
    """Command, path or address."""
    words: tuple[str, ...] = ()
    """Words of a command."""
    settings: tuple[str, ...] = ()
    """Variables that are set for the command."""
    old: str = ""
    """Text that a change replaces."""
    new: str = ""
    """Text that a change writes."""
    is_whole: bool = False
    """Whether a change writes the whole file."""
    is_known: bool = False
    """Whether the file existed before, as the action itself shows."""
    is_output: bool = False
    """Whether a change writes the output of a program."""


def agent_actions(tool: str, arguments: Mapping[str, Any]) -> Iterator[AgentAction]:  # Any: JSON values
    """Yield what a tool call does.

    >>> [(each.kind, each.target) for each in agent_actions("Bash", {"command": "cd src && rm a.py > log"})]
    [('run', 'cd src'), ('run', 'rm a.py > log'), ('delete', 'a.py'), ('change', 'log')]
    >>> [(each.kind, each.target) for each in agent_actions("Read", {"file_path": "/app/a.py"})]
    [('read', '/app/a.py')]
    """
    command = _first(arguments, COMMANDS)
    path = _text(_first(arguments, PATHS))
    if command is not None and path is None:
        yield from command_actions(_script(command))
    elif path is not None:
        yield from _file_actions(tool, path, arguments)
    for name in PATCHES:
        text = arguments.get(name)
        if isinstance(text, str) and ("*** Begin Patch" in text or "\n+++ " in text):
            yield from patch_actions(text[:MAX_TEXT])
    for address in _addresses(tool, arguments):
        yield AgentAction("fetch", address)


def _first(arguments: Mapping[str, Any], names: Sequence[str]) -> Any:  # Any: a JSON value
    return next((arguments[name] for name in names if arguments.get(name)), None)


def _text(value: Any) -> str | None:  # Any: a JSON value
    return value[:MAX_TEXT] if isinstance(value, str) else None


def _script(command: Any) -> str:  # Any: a JSON value
    """Return a command as one script; the words of `["bash", "-c", SCRIPT]` are the script."""
    if isinstance(command, list):
        words = [word for word in command if isinstance(word, str)]
        if len(words) == 3 and words[0].rpartition("/")[2] in SHELLS and words[1].startswith("-"):
            return words[2][:MAX_TEXT]
        return " ".join(words)[:MAX_TEXT]
    return _text(command) or ""


def _file_actions(tool: str, path: str, arguments: Mapping[str, Any]) -> Iterator[AgentAction]:  # Any: JSON values
    edits = arguments.get("edits")
    each_edit = [edit for edit in edits if isinstance(edit, dict)] if isinstance(edits, list) else [arguments]
    has_change = False
    for edit in each_edit:
        old, new = _text(_first(edit, OLD)), _text(_first(edit, NEW))
        if old is not None or new is not None:
            has_change = True
            yield AgentAction("change", path, old=old or "", new=new or "")
    content, diff = _text(_first(arguments, CONTENT)), _text(arguments.get("diff"))
    if content is not None:
        has_change = True
        yield AgentAction("change", path, new=content, is_whole=True)
    elif diff is not None and "<<<<<<<" in diff:
        has_change = True
        yield from _conflict_actions(path, diff)
    if has_change:
        return
    yield AgentAction("delete" if "delete" in tool.lower() or "remove" in tool.lower() else "read", path)


def _conflict_actions(path: str, diff: str) -> Iterator[AgentAction]:
    """Yield the replacements of SEARCH and REPLACE blocks."""
    for block in diff.split("<<<<<<<")[1:]:
        old, _, new = block.partition("\n=======\n")
        yield AgentAction("change", path, old=old.partition("\n")[2], new=new.partition("\n>>>>>>>")[0])


def _addresses(tool: str, arguments: Mapping[str, Any]) -> Iterator[str]:  # Any: JSON values
    value = _first(arguments, URLS)
    for each in value if isinstance(value, list) else [value]:
        if isinstance(each, str):
            yield each[:2_000]
    lower = tool.lower()
    if any(part in lower for part in FETCHERS):
        for name in (*QUERIES, "prompt"):
            text = arguments.get(name)
            if isinstance(text, str):
                yield from (word.strip("'\"`<>(),") for word in text[:2_000].split() if "://" in word)
                if name != "prompt":
                    yield text[:2_000]


def patch_actions(text: str) -> Iterator[AgentAction]:
    r"""Yield the changes of a patch: of the form of `apply_patch`, or a unified diff.

    >>> [(each.kind, each.target, each.old, each.new) for each in patch_actions("--- a/x\n+++ b/x\n@@\n-1\n+2\n")]
    [('change', 'x', '1', '2')]
    """
    path, old, new, is_whole = "", list[str](), list[str](), False

    def change() -> Iterator[AgentAction]:
        if path and (old or new):
            yield AgentAction("change", path, old="\n".join(old), new="\n".join(new), is_whole=is_whole)

    for line in text.split("\n"):
        named = _patched_path(line)
        if named is not None:
            yield from change()
            path, old, new, is_whole = named, [], [], line.startswith("*** Add File")
            if line.startswith("*** Delete File"):
                yield AgentAction("delete", path)
        elif line.startswith("@@"):
            yield from change()
            old, new = [], []
        elif line.startswith("-") and not line.startswith("--- "):
            old.append(line[1:])
        elif line.startswith("+") and not line.startswith("+++ "):
            new.append(line[1:])
    yield from change()


def _patched_path(line: str) -> str | None:
    for start in ("*** Add File: ", "*** Update File: ", "*** Delete File: "):
        if line.startswith(start):
            return line.removeprefix(start).strip()
    if line.startswith("+++ "):
        return line.removeprefix("+++ ").partition("\t")[0].strip().removeprefix("b/")
    return None


def command_actions(script: str, depth: int = 0) -> Iterator[AgentAction]:
    """Yield what a shell script does: its commands, then the files and addresses of each."""
    for command in shell_commands(script):
        words = command.words
        if not words:
            if command.redirects:
                yield from _redirects(command)
            continue
        name = words[0].rpartition("/")[2]
        if name in SHELLS and depth < MAX_DEPTH:
            script_words = [
                words[i + 1] for i in range(1, len(words) - 1) if words[i].startswith("-") and "c" in words[i]
            ]
            if script_words:
                yield from command_actions(script_words[0], depth + 1)
                continue
            if command.heredoc:
                yield from command_actions(command.heredoc, depth + 1)
                continue
        yield AgentAction("run", command.text, words=(name, *words[1:]), settings=tuple(command.settings))
        yield from _effects(name, command, depth)
        yield from _redirects(command)


def _effects(name: str, command: ShellCommand, depth: int) -> Iterator[AgentAction]:
    """Yield the files that a command reads, changes or deletes, and the addresses that it fetches."""
    words, plain = command.words, [word for word in command.words[1:] if not word.startswith("-")]
    if name in DOWNLOADS or (name == "git" and "clone" in plain[:2]):
        yield from (AgentAction("fetch", word) for word in plain if "://" in word or "." in word.partition("/")[0])
    elif name in ("rm", "unlink", "shred") or (name == "git" and plain[:1] == ["rm"]):
        yield from (AgentAction("delete", word) for word in plain if word != "rm" or name != "git")
    elif name in ("mv", "cp", "install", "ln", "rsync") and len(plain) > 1:
        if name == "mv":
            last = plain[-1].rstrip("/").rpartition("/")[2]
            is_same = "." not in last or last.rpartition(".")[2] == plain[0].rpartition(".")[2]
            to_tests = "test" in plain[-1] and is_same and not last.startswith(("_", "disabled", "skip", "old", "."))
            yield from (AgentAction("delete", word) for word in plain[:-1] if not to_tests)
        else:
            yield from (AgentAction("read", word) for word in plain[:-1])
        yield AgentAction("change", plain[-1], new=command.text, is_whole=True)
    elif name == "tee":
        yield from (AgentAction("change", word, new=command.input_text, is_whole="-a" not in words) for word in plain)
    elif name == "find" and ("-delete" in words or "rm" in words):
        yield from (AgentAction("delete", word) for word in plain[:1])
        yield from (AgentAction("delete", words[i + 1]) for i in range(len(words) - 1) if words[i] == "-name")
    elif name == "touch":
        yield from (AgentAction("change", word, new=command.text, is_whole=True) for word in plain)
    elif name in ("truncate", "chmod"):
        yield from (AgentAction("change", word, new=command.text) for word in plain if "/" in word or "." in word)
    elif name in ("sed", "perl") and any(
        (word.startswith("-") and "i" in word and not word.startswith("--")) or word == "--in-place" for word in words
    ):
        yield from _in_place(words)
    elif name == "patch" or (name == "git" and plain[:1] == ["apply"]):
        yield from patch_actions(command.heredoc)
    elif name == "apply_patch":
        yield from patch_actions(command.heredoc or "\n".join(words[1:]))
    elif name in ("python", "python3", "node", "ruby", "perl"):
        flagged = [words[i + 1] for i in range(1, len(words) - 1) if words[i] in ("-c", "-e")]
        code = command.heredoc or "\n".join(flagged)
        if code:
            yield from code_actions(code, depth)
        else:
            yield from (AgentAction("read", word) for word in plain)
    elif name in READS:
        yield from (AgentAction("read", word) for word in plain)


def _redirects(command: ShellCommand) -> Iterator[AgentAction]:
    for operator, target in command.redirects:
        if target.startswith(("/dev/", "&")):
            continue
        if operator == "<":
            yield AgentAction("read", target)
        else:
            is_output = bool(command.words) and command.words[0] not in HAND_WRITERS and not command.heredoc
            yield AgentAction("change", target, new=command.input_text, is_whole=operator == ">", is_output=is_output)


def _in_place(words: Sequence[str]) -> Iterator[AgentAction]:
    """Yield the changes of `sed -i EXPRESSION FILES` and `sed -i -e EXPRESSION -e EXPRESSION FILES`."""
    flagged = [place + 1 for place in range(1, len(words) - 1) if words[place] in ("-e", "-pe", "-pie", "--expression")]
    plain = [place for place in range(1, len(words)) if words[place] and not words[place].startswith("-")]
    expressions = flagged or plain[:1]
    for path in (words[place] for place in plain if place not in expressions):
        for place in expressions:
            old, new = _substitution(words[place])
            yield AgentAction("change", path, old=old, new=new)


ADDRESS = re.compile(r"(?:\d+|\$|/(?:[^/\\]|\\.)*/)?(?:,(?:\+?\d+|\$|/(?:[^/\\]|\\.)*/))?!? *")
"""Address of an expression of `sed`; linear in the text."""


def _substitution(expression: str) -> tuple[str, str]:
    """Return what `s/OLD/NEW/` replaces and writes; any other expression is what it writes, a deletion what it removes.

    >>> _substitution("s/a/b/g"), _substitution("1i exit 0"), _substitution("/assert/d"), _substitution("4,7d")
    (('a', 'b'), ('', 'exit 0'), ('assert', ''), ('4,7', ''))
    >>> _substitution("/x/s#a#b#")
    ('a', 'b')
    """
    found = ADDRESS.match(expression)
    address, rest = expression[: found.end()].strip() if found else "", expression[found.end() if found else 0 :]
    if rest.startswith(("s", "y")) and len(rest) > 3 and not rest[1].isalnum():
        parts = rest.replace(f"\\{rest[1]}", "\0").split(rest[1])
        if len(parts) >= 4 or (len(parts) == 3 and parts[2] == ""):
            return parts[1].replace("\0", rest[1]), parts[2].replace("\0", rest[1]).replace("\\n", "\n")
    if address and rest.strip().rstrip("}").endswith("d") and len(rest.strip()) < 3:
        return address.strip("/"), ""
    if rest[:1] in ("a", "i", "c") and rest[1:2] in (" ", "\\"):
        return address.strip("/") if rest[0] == "c" else "", rest[1:].lstrip("\\ \n")
    return "", expression


WRITERS = ("write_text", "writeFile", "write(", ".write", "writelines", "dump(", "File.write", "savetxt", "to_csv")
READERS = (".read(", "read_text", "readFile", "readlines", "File.read", "fileinput", "for line in open(", " in open(")
REPLACERS = re.compile(r"\.replace\(|\bre\.subn?\(|\.replaceAll\(|\.g?sub!?\(")
CODE_FETCHERS = ("urlopen", "requests.get", "httpx.get", "urlretrieve", "fetch(")
CODE_COMMANDS = re.compile(r"\b(?:os\.system|os\.popen|subprocess\.\w+|check_output|Popen|execSync|spawnSync)\(")
MAX_CALLS = 50
"""Replacements and commands of a short program that are examined."""


def code_actions(code: str, depth: int = 0) -> Iterator[AgentAction]:
    r"""Yield what a short program runs, the files that it changes or reads, and what it fetches, by its literals.

    >>> code = "p = Path('a.py')\np.write_text(p.read_text().replace('1', '2'))"
    >>> [(each.kind, each.target, each.old, each.new) for each in code_actions(code)]
    [('change', 'a.py', '1', '2')]
    >>> [each.target for each in code_actions("subprocess.run(['git', 'log', '--all'])")]
    ['git log --all']
    """
    code = code[:MAX_TEXT]
    before, *replacements = REPLACERS.split(code, MAX_CALLS)
    paths = [text for text in _literals(before) if _is_path(text)]
    if any(word in code for word in WRITERS):
        if not paths and not replacements:
            paths = [text for text in _literals(before) if "." in text and " " not in text][:1]
        pairs = [tuple(islice(_literals(each), 2)) for each in replacements]
        for path in paths:
            changes = [AgentAction("change", path, old=pair[0], new=pair[1]) for pair in pairs if len(pair) == 2]
            is_known = any(word in code for word in READERS)
            yield from changes or [AgentAction("change", path, new=code, is_whole=True, is_known=is_known)]
    else:
        yield from (AgentAction("read", text) for text in _literals(code) if _is_path(text))
    if any(word in code for word in CODE_FETCHERS):
        yield from (AgentAction("fetch", text) for text in _literals(code) if "://" in text)
    if depth < MAX_DEPTH:
        for call in CODE_COMMANDS.split(code, MAX_CALLS)[1:]:
            words = list(_literals(call.partition(")")[0]))
            script = words[0] if words and " " in words[0] else " ".join(words)
            yield from command_actions(script, depth + 1)


PATH_ENDINGS = frozenset(
    [
        "py",
        "js",
        "ts",
        "sh",
        "json",
        "toml",
        "txt",
        "yml",
        "yaml",
        "go",
        "rs",
        "rb",
        "java",
        "c",
        "cc",
        "cpp",
        "h",
        "cs",
        "kt",
        "php",
        "lua",
        "md",
        "csv",
        "tsv",
        "xml",
        "html",
        "ini",
        "cfg",
        "log",
        "out",
        "in",
        "ans",
        "jsonl",
        "patch",
        "diff",
        "snap",
        "db",
        "sqlite",
        "pkl",
        "npy",
        "gz",
        "zip",
        "mjs",
        "cjs",
        "tsx",
        "jsx",
        "scala",
        "swift",
    ]
)


def _is_path(text: str) -> bool:
    if not text or len(text) > 300 or " " in text or "\n" in text or "://" in text:
        return False
    return ("/" in text and "\\" not in text) or ("." in text and text.rpartition(".")[2] in PATH_ENDINGS)


def _literals(code: str) -> Iterator[str]:
    """Yield the string literals of a program, without knowing its language."""
    position = 0
    while position < len(code):
        quote = code[position]
        if quote not in "'\"":
            position += 1
            continue
        mark = quote * 3 if code.startswith(quote * 3, position) else quote
        start = position + len(mark)
        end = start
        while end < len(code) and not code.startswith(mark, end):
            if len(mark) == 1 and code[end] == "\n":
                break
            end += 2 if code[end] == "\\" else 1
        raw = code[start:end]
        yield _unescaped(raw) if "\\" in raw else raw
        position = end + len(mark)


def _unescaped(raw: str) -> str:
    try:
        return msgspec.json.decode(
            '"' + raw.replace("\\'", "'").replace('\\"', '"').replace('"', '\\"') + '"', type=str
        )
    except (msgspec.DecodeError, UnicodeError):
        return raw

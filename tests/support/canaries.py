"""Secrets of every usual shape, as logs have them, and files with one in every place that a session has.

A shape is joined of two parts, so that no scanner takes this file for one that leaks.
"""

from __future__ import annotations

import gzip
import json
import re
from base64 import b64decode
from pathlib import Path
from typing import Any, NamedTuple

from report_makers import planted


class Canary(NamedTuple):
    """A secret in its surroundings."""

    text: str
    """What a log has."""
    secret: str
    """What no reader may see, neither its first half nor its second."""


# {0} is a secret of 32 letters and digits, {1} one of 32 hexadecimal digits, {2} one of 16 capitals and digits, and {3}
# a short one. Each canary has its own.
KEYS = {
    "Anthropic": "sk-ant-api03-{0}",
    "OpenAI": "sk-proj-{0}",
    "Stripe": "sk_live_{0}",
    "Stripe, restricted": "rk_live_{0}",
    "Google": "AIza{0}abc",
    "Google OAuth": "GOCSPX-{0}",
    "Google, access": "ya29.{0}",
    "SendGrid": "SG.{0}.{0}",
    "AWS": "AKIA{2}",
    "AWS, temporary": "ASIA{2}",
    "GitHub": "ghp_{0}",
    "GitHub, app": "ghs_{0}",
    "GitHub, fine-grained": "github_pat_{0}",
    "GitLab": "glpat-{0}",
    "GitLab, runner": "glrt-{0}",
    "Hugging Face": "hf_{0}",
    "npm": "npm_{0}",
    "PyPI": "pypi-{0}",
    "NVIDIA": "nvapi-{0}",
    "Vault": "hvs.{0}",
    "Slack": "xoxb-123456789012-{0}",
    "Slack, app": "xapp-1-A0123456789-{0}",
    "JSON web token": "eyJ{0}.eyJ{0}.{0}",
    "xAI": "xai-{0}",
    "Groq": "gsk_{0}",
    "Replicate": "r8_{0}",
    "Perplexity": "pplx-{0}",
    "Tavily": "tvly-{0}",
    "DigitalOcean": "dop_v1_{0}",
    "Docker": "dckr_pat_{0}",
    "Linear": "lin_api_{0}",
    "Shopify": "shpat_{0}",
    "Grafana": "glsa_{0}",
    "Supabase": "sbp_{0}",
    "Figma": "figd_{0}",
    "Atlassian": "ATATT{0}",
    "LangSmith": "lsv2_{0}",
    "Postman": "PMAK-{0}",
    "age": "AGE-SECRET-KEY-{0}",
    "Steelyard": "sytk_{0}",
    "Doppler": "dp.st.dev.{0}AbCdEfGh",
    "Doppler, personal": "dp.pt.{0}AbCdEfGh",
    "Discord": "M{4}AbCdEfGh.Gabcde.{0}",
    "Telegram": "1234567890:AA{0}a",
    "Twilio": "SK{1}",
    "Twilio, account": "AC{1}",
    "private key": "-----BEGIN RSA PRIVATE KEY-----\n{0}\n{0}\n-----END RSA PRIVATE KEY-----",
    "private key without an end": "-----BEGIN OPENSSH PRIVATE KEY-----\\n{0}",
    "key that colors split": "\x1b[31msk-\x1b[0mant-{4}\x1b[1m{5}",
    "key that escaped colors split": "sk-ant-{4}\\u001b[0m{5}",
    "key that a title splits": "sk-ant-{4}\x1b]0;title\x07{5}",
    "key that a character set splits": "sk-ant-{4}\x1b(B{5}",
    "Telegram, in a URL": "https://telegram.example.org/bot1234567890:AA{0}a/sendMessage",
}
NAMED = {
    "header": "Authorization: Bearer {0}",
    "header, basic": "authorization: basic {0}==",
    "variable": "export API_KEY={0}",
    "JSON": '"aws_secret_access_key": "{0}"',
    "escaped JSON": '{{\\"client_secret\\": \\"{0}\\"}}',
    "password": "password = '{0}'",
    "password, short": "password={3}",
    "option": "tool --api-key {0} --verbose",
    "option with a sign": "--access-token={0} --verbose",
    "option of a password": "mysql --password {3}",
    "option in a list": '["tool", "--api-key", "{0}"]',
    "option in JSON in JSON": '"[\\"tool\\", \\"--api-key\\", \\"{0}\\"]"',
    "variable of a token": "GITHUB_TOKEN={0}",
    "variable of a key": "AZURE_OPENAI_KEY={0}",
    "JSON in JSON in JSON": '"\\"{{\\\\\\"api_key\\\\\\": \\\\\\"{0}\\\\\\"}}\\""',
    "pair of a header": '["x-api-key", "{0}"]',
    "header, another scheme": "Authorization: Token {0}",
    "XML": "<password>{0}</password>",
    "user of curl": "curl -u user:{0} https://example.org",
    "user of a URL": "https://{0}@example.org/repo.git",
    "file of logins": "machine example.org login user password {0}",
    "password of a URL": "https://user:{0}@example.org/repo.git",
    "webhook": "https://hooks.example.org/services/T{0}/{0}",
    "webhook of Discord": "https://discord.example.org/api/webhooks/123/{0}",
    "cookie that is set": "Set-Cookie: session={0}; Path=/; HttpOnly",
    "cookies that are set": '"Set-Cookie": ["theme=dark", "session={0}; Path=/"]',
    "cookie that is sent": "Cookie: theme=dark-mode; session={0}",
    "signature of Azure": "https://account.blob.example.org/c/f?sv=2024&sig={0}%3D&se=2027",
    "signature of AWS": "https://bucket.example.org/f?X-Amz-Expires=60&amp;X-Amz-Signature={0}",
}
"""Secrets that are known by what is before them."""


def _made(number: int, template: str) -> Canary:
    long = f"Zx{number:02}Qw7Er5Ty3Ui1Op0As2Df4Gh6{number:02}Lz"
    hexadecimal = f"{number:02}9f3c7e51b8d2a64e0f9b6c1d7a8e{number:02}"
    secrets = (long, hexadecimal, f"Q{number:02}WERTYUIOPAS{number:02}", f"p4s{number:02}w")
    (used,) = {place for place in range(len(secrets)) if f"{{{place}}}" in template} or {0}
    return Canary(template.format(*secrets, long[:15], long[15:]), secrets[used])


CANARIES = {name: _made(number, template) for number, (name, template) in enumerate({**KEYS, **NAMED}.items())}
_INVISIBLE = re.compile(r"\x1b\[[0-9;]*m|\\u001b\[[0-9;]*m", re.IGNORECASE)


def leaks(shown: str | bytes) -> list[str]:
    """Names of the canaries of which the text shows at least a half."""
    text = shown.decode("utf-8", "replace") if isinstance(shown, bytes) else shown
    text = _INVISIBLE.sub("", text)
    return [name for name, (_, secret) in CANARIES.items() if any(half in text for half in _halves(secret))]


def _halves(secret: str) -> tuple[str, ...]:
    middle = len(secret) // 2
    return (secret[:middle], secret[middle:]) if middle >= 8 else (secret,)


def unpacked(page: bytes) -> bytes:
    """The page with the rows that it has in compressed form."""
    packed = re.findall(rb'<script type="application/octet-stream">([^<]*)<', page)
    return page + b"".join(gzip.decompress(b64decode(each)) for each in packed)


def write_sessions(folder: Path) -> dict[str, Path]:
    """A Claude Code log for each canary, which is in its messages, tool calls and results; return the logs by run id.

    Where a file may have such a name, the canary is in that too, and messages name it: its last line is no JSON.
    """
    return dict(_write_session(folder, number, canary.text) for number, canary in enumerate(CANARIES.values()))


def _write_session(folder: Path, number: int, text: str) -> tuple[str, Path]:
    session = f"5e55a0aa-0000-4000-8000-{number:012}"
    place = folder / (f"{session}.jsonl" if "/" in text else f"{number} {text}.jsonl")
    lines = [json.dumps(line) for line in _session(session, text)]
    place.write_text("\n".join(lines) + "\n{broken\n", encoding="utf-8")
    return session, place


def _session(session: str, text: str) -> list[dict[str, Any]]:  # Any: JSON values
    usage = {"input_tokens": 10, "output_tokens": 20, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0}

    def line(second: int, role: str, **facts: Any) -> dict[str, Any]:
        fixed = {"sessionId": session, "cwd": "/work/parcel", "version": "2.1.5", "type": role, "isSidechain": False}
        at = f"2026-03-01T10:00:{second:02}.000Z"
        return {**fixed, "uuid": f"{session}-{second}", "parentUuid": None, "timestamp": at, **facts}

    def said(second: int, *content: dict[str, Any]) -> dict[str, Any]:
        message = {"id": f"msg_{session}_{second}", "type": "message", "role": "assistant", "content": list(content)}
        whole = {**message, "model": "claude-sonnet-4-5", "stop_reason": "end_turn", "usage": usage}
        return line(second, "assistant", message=whole)

    def returned(second: int, call: str, *, is_error: bool) -> dict[str, Any]:
        result = {"type": "tool_result", "tool_use_id": call, "content": text, "is_error": is_error}
        message = {"role": "user", "content": [result]}
        return line(second, "user", message=message, toolUseResult={"stdout": text, "stderr": text})

    bash = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": text, "description": text}}
    write = {"type": "tool_use", "id": "t2", "name": "Write", "input": {"file_path": text, "content": text}}
    return [
        line(0, "user", message={"role": "user", "content": text}, gitBranch=text),
        said(1, {"type": "thinking", "thinking": text, "signature": ""}, {"type": "text", "text": text}, bash),
        returned(2, "t1", is_error=False),
        said(3, write),
        returned(4, "t2", is_error=True),
        said(5, {"type": "text", "text": text}),
    ]


def write_records(folder: Path) -> dict[str, Path]:
    """A run record for each canary, with it in every field that may have any text; return the files by run id."""
    files = {}
    for number, canary in enumerate(CANARIES.values()):
        (record,) = planted(f" {canary.text} ", count=1)
        files[f"run-{number}"] = folder / f"{number}.jsonl"
        files[f"run-{number}"].write_text(json.dumps({**record, "id": f"run-{number}"}) + "\n", encoding="utf-8")
    return files

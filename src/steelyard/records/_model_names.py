"""Which names mean one model: `anthropic/claude-x`, as a gateway writes it, is `claude-x`."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import overload

PROVIDERS = (
    "anthropic",
    "azure",
    "azure_ai",
    "bedrock",
    "cohere",
    "deepseek",
    "fireworks_ai",
    "gemini",
    "github_copilot",
    "google",
    "groq",
    "litellm",
    "litellm_proxy",
    "mistral",
    "mistralai",
    "moonshotai",
    "openai",
    "openrouter",
    "qwen",
    "together_ai",
    "vertex_ai",
    "x-ai",
    "xai",
    "z-ai",
    "zai",
)
"""Who offers a model or passes requests on; any other word before a slash (a person, a folder) is part of the name."""
PROVIDED_MODEL = rf"^(?i:(?:{'|'.join(map(re.escape, PROVIDERS))})/)+((?s:.+))"
"""A name with providers before it, written so that Python and Polars read it alike."""
_PROVIDED = re.compile(PROVIDED_MODEL)


@overload
def model_group(name: str) -> str: ...
@overload
def model_group(name: None) -> None: ...
def model_group(name: str | None) -> str | None:
    """The name under which runs of the model are grouped; the record keeps what was written.

    >>> model_group("openrouter/anthropic/claude-x"), model_group("claude-x"), model_group("me/claude-x")
    ('claude-x', 'claude-x', 'me/claude-x')
    """
    return name if name is None or "/" not in name else _without_providers(name)


@lru_cache(maxsize=4096)
def _without_providers(name: str) -> str:
    match = _PROVIDED.match(name)
    return match[1] if match else name

"""Usage as providers state it in their answers, in disjoint kinds."""

from __future__ import annotations

import msgspec

from steelyard.records import Count, Usage
from steelyard.sources.formats._run_values import disjoint_usage


class Details(msgspec.Struct):
    """Parts of the prompt's tokens, or of the answer's."""

    cached_tokens: Count | None = None
    cache_write_tokens: Count | None = None
    reasoning_tokens: Count | None = None


class ProviderUsage(msgspec.Struct):
    """The `usage` of OpenAI's interfaces and of those made after them; input includes cached tokens."""

    prompt_tokens: Count | None = None
    completion_tokens: Count | None = None
    prompt_tokens_details: Details | None = None
    completion_tokens_details: Details | None = None
    input_tokens: Count | None = None
    output_tokens: Count | None = None
    input_tokens_details: Details | None = None
    output_tokens_details: Details | None = None
    total_tokens: Count | None = None
    cache_creation_input_tokens: Count | None = None
    prompt_cache_hit_tokens: Count | None = None

    def disjoint(self) -> Usage:
        """Disjoint kinds. Output includes reasoning, unless the total shows that it is separate (as xAI counts)."""
        read = self.prompt_tokens_details or self.input_tokens_details or Details()
        written = self.completion_tokens_details or self.output_tokens_details or Details()
        prompt = self.input_tokens if self.prompt_tokens is None else self.prompt_tokens
        answer = self.output_tokens if self.completion_tokens is None else self.completion_tokens
        reasoning, stored = written.reasoning_tokens, self.cache_creation_input_tokens
        if reasoning and prompt is not None and answer is not None and self.total_tokens == prompt + answer + reasoning:
            answer += reasoning
        return disjoint_usage(
            input_with_cache=prompt,
            cache_read=self.prompt_cache_hit_tokens if read.cached_tokens is None else read.cached_tokens,
            cache_write=read.cache_write_tokens if stored is None else stored,
            output_with_reasoning=answer,
            reasoning=reasoning,
        )


class GeminiUsage(msgspec.Struct, rename="camel"):
    """Gemini's `usageMetadata`: the prompt includes what was cached; thoughts are separate from the answer."""

    prompt_token_count: Count | None = None
    cached_content_token_count: Count | None = None
    candidates_token_count: Count | None = None
    thoughts_token_count: Count | None = None
    tool_use_prompt_token_count: Count | None = None

    def disjoint(self) -> Usage:
        """Disjoint kinds; what tools put into the prompt is input. A count of 0 is left out, as in all of its JSON."""
        if self.prompt_token_count is None:
            return Usage()
        thoughts = self.thoughts_token_count
        return disjoint_usage(
            input_with_cache=self.prompt_token_count + (self.tool_use_prompt_token_count or 0),
            cache_read=self.cached_content_token_count,
            output_with_reasoning=(self.candidates_token_count or 0) + (thoughts or 0),
            reasoning=thoughts,
        )


class CacheCreation(msgspec.Struct, gc=False):
    """Cache writes by how long they are kept."""

    ephemeral_5m_input_tokens: Count | None = None
    ephemeral_1h_input_tokens: Count | None = None


class ClaudeUsage(msgspec.Struct, gc=False):
    """The `usage` of Anthropic's messages: input excludes cache."""

    input_tokens: Count | None = None
    cache_creation_input_tokens: Count | None = None
    cache_read_input_tokens: Count | None = None
    output_tokens: Count | None = None
    cache_creation: CacheCreation | None = None

    @property
    def unsplit(self) -> int:
        """Cache writes that the split by how long they are kept leaves out, as behind a gateway that has none."""
        split, written = self.cache_creation, self.cache_creation_input_tokens
        if not written or split is None or split.ephemeral_5m_input_tokens == written:  # as it mostly is
            return 0
        if split.ephemeral_1h_input_tokens is None:
            return 0
        known = split.ephemeral_1h_input_tokens + (split.ephemeral_5m_input_tokens or 0)
        return max(0, written - known)

    def disjoint(self) -> Usage:
        """The same as disjoint kinds; a write without a kept-for is one of five minutes, as the provider defaults."""
        short, long = self.cache_creation_input_tokens, None
        if self.cache_creation is not None and self.cache_creation.ephemeral_1h_input_tokens is not None:
            long = self.cache_creation.ephemeral_1h_input_tokens
            short = self.cache_creation.ephemeral_5m_input_tokens
            if (short or 0) + long != self.cache_creation_input_tokens and self.unsplit:
                short = (short or 0) + self.unsplit
        return Usage(
            input_tokens=self.input_tokens,
            output_tokens=self.output_tokens,
            cache_read_tokens=self.cache_read_input_tokens,
            cache_write_5m_tokens=short,
            cache_write_1h_tokens=long,
        )

"""What an answer of a language model cost, in tokens."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens that one answer cost.

    Args:
        input_tokens: Tokens of the messages, cached ones included.
        output_tokens: Tokens the model wrote, those of its reasoning included.
        cached_tokens: How many of the input tokens came from the provider's cache.
        estimated: The endpoint did not say; these are counts from above.
    """

    input_tokens: int
    output_tokens: int
    cached_tokens: int = 0
    estimated: bool = False

    def __add__(self, other: Usage) -> Usage:
        """Both together."""
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cached_tokens + other.cached_tokens,
            self.estimated or other.estimated,
        )


NOTHING: Final = Usage(0, 0)

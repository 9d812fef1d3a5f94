"""From text to token ids: a small word-level tokenizer, or that of a transformers model."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import torch
from jaxtyping import Bool, Int
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers
from torch import Tensor

from synth.base.errors import SpecError
from train.model.loading import TOKENIZER_FIX, explain, load_tokenizer

PAD: Final = "[PAD]"
UNKNOWN: Final = "[UNK]"
MAX_WORDS: Final = 128


@dataclass(frozen=True, slots=True)
class TokenIds:
    """Texts as padded ids.

    Args:
        mask: Which of them are real; at least one in every row.
    """

    ids: Int[Tensor, "texts words"]
    mask: Bool[Tensor, "texts words"]

    def map(self, change: Callable[[Tensor], Tensor]) -> TokenIds:
        """The same, both of its tensors changed."""
        return TokenIds(change(self.ids), change(self.mask))

    def to(self, device: torch.device) -> TokenIds:
        """The same on another device."""
        return self.map(lambda part: part.to(device, non_blocking=True))


@dataclass(frozen=True, slots=True)
class CutTexts:
    """How many texts lose their ends.

    Args:
        cut: Those.
        texts: All.
        tokens: Most that a text keeps.
    """

    cut: int = 0
    texts: int = 0
    tokens: int = 0

    def __str__(self) -> str:
        return (
            f"{self.cut:,} of {self.texts:,} texts are longer than the {self.tokens} tokens that "
            "the model reads"
        )


class TextTokenizer:
    """A tokenizer of the `tokenizers` library with padding to the longest text of a batch."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer

    @classmethod
    def of_texts(cls, texts: Iterable[str]) -> TextTokenizer:
        """A word-level tokenizer that knows every word of `texts`, lower-cased.

        Ids follow the alphabet, so that they depend on the set of words alone.
        """
        split = pre_tokenizers.Whitespace()
        lower = normalizers.Lowercase()
        words = {
            word
            for text in set(texts)
            for word, _ in split.pre_tokenize_str(lower.normalize_str(text))
        }
        names = [PAD, UNKNOWN, *sorted(words - {PAD, UNKNOWN})]
        vocabulary = {word: number for number, word in enumerate(names)}
        tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token=UNKNOWN))
        tokenizer.normalizer = lower
        tokenizer.pre_tokenizer = split
        tokenizer.enable_padding(pad_id=0, pad_token=PAD)
        tokenizer.enable_truncation(MAX_WORDS)
        return cls(tokenizer)

    @classmethod
    def of_model(cls, name: str, longest: int = MAX_WORDS) -> TextTokenizer:
        """The tokenizer of a transformers model, by name or folder.

        Args:
            longest: Most ids of a text; what follows is cut off.
        """
        loaded = load_tokenizer(name)
        try:
            tokenizer = Tokenizer.from_str(loaded.backend_tokenizer.to_str())
            pad = loaded.pad_token if loaded.pad_token is not None else loaded.eos_token
            tokenizer.enable_padding(pad_id=tokenizer.token_to_id(pad), pad_token=pad)
            tokenizer.enable_truncation(min(loaded.model_max_length, longest))
        except Exception as error:  # the library raises nothing narrower
            raise SpecError(
                f"the tokenizer of {name!r} cannot be used: {explain(error)}", fix=TOKENIZER_FIX
            ) from error
        return cls(tokenizer)

    @classmethod
    def from_json(cls, text: str) -> TextTokenizer:
        """The tokenizer that `to_json` wrote."""
        try:
            return cls(Tokenizer.from_str(text))
        except Exception as error:  # the library raises nothing narrower
            raise ValueError(f"not a tokenizer: {error}") from error

    def to_json(self) -> str:
        """Everything about the tokenizer."""
        return str(self._tokenizer.to_str(pretty=True))

    @property
    def most_tokens(self) -> int:
        """Most tokens that a text keeps; 0 where there is no limit."""
        truncation = self._tokenizer.truncation
        return int(truncation["max_length"]) if truncation else 0

    @property
    def never_cut(self) -> int:
        """Most letters of a text in ASCII that is surely not cut: a token has one at least.

        One is left for the space that some put in front.
        """
        return self.most_tokens - self._tokenizer.num_special_tokens_to_add(False) - 1

    def cuts(self, texts: Sequence[str]) -> list[bool]:
        """Which texts lose their ends."""
        return [bool(text.overflowing) for text in self._tokenizer.encode_batch(list(texts))]

    def __len__(self) -> int:
        return int(self._tokenizer.get_vocab_size())

    def __call__(self, texts: Sequence[str], multiple: int = 1) -> TokenIds:
        """The ids of `texts`; a text without a word becomes one padding token.

        Args:
            multiple: What the number of ids of a text is a multiple of.
        """
        encodings = self._tokenizer.encode_batch(list(texts))
        longest = max((len(encoding.ids) for encoding in encodings), default=0)
        width = -(-max(longest, 1) // multiple) * multiple
        ids = torch.zeros(len(encodings), width, dtype=torch.long)
        mask = torch.zeros_like(ids, dtype=torch.bool)
        for row, encoding in enumerate(encodings):
            ids[row, : len(encoding.ids)] = torch.tensor(encoding.ids, dtype=torch.long)
            mask[row, : len(encoding.ids)] = torch.tensor(encoding.attention_mask) > 0
        mask[:, 0] = True
        return TokenIds(ids, mask)

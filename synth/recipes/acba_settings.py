"""Settings of `acba`, and what they make of a caption."""

from __future__ import annotations

from typing import Final

from pydantic import Field, field_validator

from synth.base.units import Seconds
from synth.captions.caption import Connective, Style
from synth.labels.lexicon import Phrase
from synth.recipes.base import Length, RecipeSettings, SplitCounts
from synth.recipes.clips import Clip
from synth.text.grammar.words import whole_words
from synth.text.order.joining import Unjoinable, say_caption

ORDER_WORDS: Final = ("before", "after", "then", "followed by")


class AcbaSettings(RecipeSettings):
    """Settings of the recipe.

    Args:
        pairs: Total samples, shared among the splits by their number of clips; or samples per
            split.
        relations: Ordering words, all equally likely.
        crossfade_s: Overlap of the two clips.
        max_event_s: Longer clips are cut to an excerpt of this length.
        style: Caption style.
        exclude_words: Captions with one of these words are not used. With "and" added, about the
            paper's 19k captions of AudioCaps remain.
        minimal_pairs: Use each pair of clips in both orders, two samples per group. If off, each
            sample has its own pair, as in the paper.
        share_words: Allow two captions that share a content word, or have two words for one sound.
    """

    pairs: SplitCounts = 50_000
    relations: tuple[Connective, ...] = (Connective.BEFORE, Connective.AFTER)
    crossfade_s: Seconds = Field(default=1.0, ge=0, le=30)
    max_event_s: Length | None = None
    style: Style = Style.NATURAL
    exclude_words: tuple[str, ...] = ORDER_WORDS
    minimal_pairs: bool = True
    share_words: bool = False

    @field_validator("relations")
    @classmethod
    def _order_words(cls, relations: tuple[Connective, ...]) -> tuple[Connective, ...]:
        if not relations or len(set(relations)) < len(relations):
            raise ValueError("expected one or more different ordering words")
        if not all(relation.is_order for relation in relations):
            raise ValueError("acba joins sounds in order; 'while' is for triplets")
        return relations

    def sentences(self, clip: Clip) -> list[str]:
        """The captions that can be joined."""
        return [text for text in clip.captions if not self.explain(text)]

    def say(self, caption: str) -> Phrase | Unjoinable:
        """A caption inside a sentence: as it is in the paper's style, else by its grammar."""
        return say_caption(caption) if self.style is Style.NATURAL else Phrase.of_caption(caption)

    def explain(self, caption: str) -> str:
        """Why a caption cannot be joined, "" where it can."""
        plain = Phrase.of_caption(caption).plain
        excluded = whole_words(self.exclude_words)
        if not plain:
            return "is empty"
        if excluded and excluded.search(plain):
            return "holds one of the words " + ", ".join(self.exclude_words)
        said = self.say(caption)
        return said.value if isinstance(said, Unjoinable) else ""

"""Settings of the recipe `scenes`: which scenes, how they are joined and mixed, which captions."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Annotated, Any, Final, TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import Field, field_validator, model_validator

from synth.base.errors import NotationError, PlanError
from synth.base.units import Decibels, Frames, Seconds, to_frames
from synth.captions.caption import Style
from synth.captions.measured_pool import ToldQuantity
from synth.recipes.base import Length, RecipeSettings, Setting, SplitCounts
from synth.recipes.bed import Background
from synth.recipes.composing import Joining, Mixing
from synth.scene.notation import parse
from synth.scene.scene import Scene, labels
from synth.scene.sequence import is_sequence
from synth.truth.ear import BLOCK_S

MOST_EVENTS: Final = 12
MOST_NESTED: Final = 4


Pause: TypeAlias = Annotated[Seconds, Field(ge=0, le=3600)]
Ratio: TypeAlias = Annotated[Decibels, Field(ge=-120, le=120)]


class SceneSettings(RecipeSettings):
    """Settings of the recipe.

    Args:
        scenes: Total samples, shared among the splits by their number of clips; or samples per
            split. Multiples of `variants`.
        variants: Scenes of a minimal-pair group: one, another with one sound exchanged, and further
            recompositions.
        max_events: Scenes hold 2 to this many sounds, at most 12, each number equally often.
        polyphony: Most sounds at once, up to 4; beds and crossfades do not count. Scenes of no more
            sounds are nested at will; larger ones are sequences of single sounds and overlays.
        categories: Relative weight of each category's labels; 1 by default, 0 for never.
        without_replacement: Use every clip of a split once before any is used again. Expressions,
            and weights of categories other than 0 and 1, are refused then.
        expressions: Scenes to choose from, such as "(dog + rain) * vehicle", of labels, categories
            or `any`: a list, a mapping to weights, or a file with one per line (empty lines and `#`
            comments are skipped). If null, operators and nesting are drawn.
        captions: Most true captions of a sample, the main one included, and most false ones; at
            least 2 for an odd number of variants.
        crossfade: Overlap of two joined parts, as a share of the shorter one; a part that overlaps
            for more than half of what is heard of it is not said to follow. In sequences of more
            sounds than `polyphony` it is shortened to that half, and overlays have none.
        pause_s: Range of the silence between sounds that follow one another, in seconds; it takes
            the place of the crossfade. [0, 0] for none. In sequences of more sounds than
            `polyphony` a pause may be up to 0.05 s longer.
        mixing: How overlaid parts are mixed: `between_class`, `snr` or `sum`.
        ratio: Mixing ratio of `between_class`.
        snr_db: Range of the longer part's level over the shorter one's, for `snr`.
        background: Steady background sound under whole scenes, which captions do not mention.
        max_event_s: Longer sounds are cut to an excerpt of this length.
        style: Caption style.
        tell: What captions may tell besides, as those of `counts` and `attributes` do: `count`,
            `duration`, `onset`, `position`, `gap`, `longer` and `louder`.
    """

    scenes: SplitCounts = 20_000
    variants: int = Field(default=4, ge=2, le=6)
    max_events: int = Field(default=4, ge=2, le=MOST_EVENTS)
    polyphony: int = Field(default=MOST_NESTED, ge=1, le=MOST_NESTED)
    without_replacement: bool = False
    categories: dict[str, Annotated[float, Field(ge=0, le=1_000_000)]] = Field(default_factory=dict)
    expressions: dict[str, Annotated[float, Field(gt=0, le=1_000_000)]] = Field(
        default_factory=dict
    )
    captions: int = Field(default=7, ge=1, le=20)
    crossfade: float = Field(default=0.1, ge=0, le=0.4)
    pause_s: tuple[Pause, Pause] = (0.0, 0.0)
    mixing: Mixing = Mixing.BETWEEN_CLASS
    ratio: float = Field(default=0.5, gt=0, lt=1)
    snr_db: tuple[Ratio, Ratio] = (-6.0, 6.0)
    background: Background | None = None
    max_event_s: Length | None = None
    style: Style = Style.NATURAL
    tell: tuple[ToldQuantity, ...] = ()

    @field_validator("expressions", mode="before")
    @classmethod
    def _weigh(cls, expressions: Any) -> Any:
        if isinstance(expressions, str):
            expressions = read_expressions(Path(expressions))
        if isinstance(expressions, list | tuple):
            return dict(Counter(map(str, expressions)))
        return expressions

    @model_validator(mode="after")
    def _whole_groups(self) -> SceneSettings:
        counts = self.scenes.values() if isinstance(self.scenes, dict) else [self.scenes]
        if any(count % self.variants for count in counts):
            raise ValueError(
                f"scenes: {self.scenes} is not a multiple of the {self.variants} variants "
                "of a group"
            )
        if self.captions == 1 and self.variants % 2:
            raise ValueError(
                f"captions: 1 is too few for {self.variants} variants: they are each "
                "other's negatives, two by two; give 2, or an even number of variants"
            )
        for name in ("snr_db", "pause_s"):
            least, most = getattr(self, name)
            if least > most:
                raise ValueError(f"{name}: {least:g} is above {most:g}")
        return self

    @model_validator(mode="after")
    def _long_scenes(self) -> SceneSettings:
        is_long = not self.expressions and self.max_events > self.polyphony
        if is_long and self.variants % 2:
            raise ValueError(
                f"variants: {self.variants} is odd: scenes of more than {self.polyphony} sounds "
                "(polyphony) come in pairs; give an even number"
            )
        if not self.without_replacement:
            return self
        weights = [name for name, weight in self.categories.items() if weight not in (0, 1)]
        for name, found in (("expressions", self.expressions), ("categories", weights)):
            if found:
                raise ValueError(
                    f"{name}: {', '.join(map(str, found))} cannot be had with "
                    "without_replacement, by which every clip is used as often; leave one of them "
                    "out"
                )
        return self

    @property
    def templates(self) -> dict[Scene, float]:
        """The expressions as scenes, with their weights; none where they are drawn."""
        found = {self._read_template(text): weight for text, weight in self.expressions.items()}
        sizes = [len(labels(template)) for template in found]
        if self.variants % 2 and any(size > self.polyphony for size in sizes):
            raise PlanError(
                f"recipe.scenes.variants: {self.variants} is odd: scenes of more than "
                f"{self.polyphony} sounds come in pairs",
                fix="give an even number",
            )
        return found

    def join_by(self, rate: int) -> Joining:
        """How parts are put together, at a rate in Hz."""
        least, most = (to_frames(pause, rate) for pause in self.pause_s)
        return Joining(self.crossfade, self.mixing, self.ratio, self.snr_db, (least, most))

    def longest_sound(self, count: int, setting: Setting) -> Frames | None:
        """Frames that each of `count` sounds may last, None for any."""
        limits = []
        if self.max_event_s is not None:
            limits.append(to_frames(self.max_event_s, setting.rate))
        if setting.max_frames is not None:
            aligned = BLOCK_S if count > self.polyphony else 0  # sequences begin parts with a block
            pause = to_frames(self.pause_s[1] + aligned, setting.rate)
            limits.append((setting.max_frames - (count - 1) * pause) // count)
        return min(limits, default=None)

    def _read_template(self, text: str) -> Scene:
        try:
            template = parse(text)
        except NotationError as error:
            raise PlanError(
                f"recipe.scenes.expressions: {text!r}: {error.message}", fix=error.fix
            ) from error
        count = len(labels(template))
        if not 2 <= count <= MOST_EVENTS:
            raise PlanError(
                f"recipe.scenes.expressions: {text!r} has {count} sounds",
                fix=f"give it 2 to {MOST_EVENTS}",
            )
        if count > self.polyphony and not is_sequence(template, self.polyphony):
            raise PlanError(
                f"recipe.scenes.expressions: {text!r} has {count} sounds, more than "
                f"{self.polyphony} (polyphony), and is no sequence of single sounds and overlays "
                f"of up to {self.polyphony}",
                fix="write it as a + b * c + d, or give it fewer sounds",
            )
        return template


def read_expressions(path: Path) -> list[str]:
    """The scenes of a file: one a line, or the answers of a language model (Parquet).

    Raises:
        ValueError: If the file cannot be read, or holds none.
    """
    try:
        if path.suffix == ".parquet":
            texts = pq.read_table(path, columns=["texts"])["texts"].to_pylist()
            lines = [text for each in texts for text in each]
        else:
            lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError, pa.ArrowException) as error:
        raise ValueError(f"{path}: cannot be read: {error}") from error
    found = [line.strip() for line in lines if line.strip() and not line.lstrip().startswith("#")]
    if not found:
        raise ValueError(f"{path}: holds no scene; give one per line")
    return found

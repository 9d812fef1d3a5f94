"""`scenes`: modular template scenes, in groups (CompA, section 4.1).

Up to four sounds are nested at will; more follow one another, in small overlays at most. `+` joins
two parts with a crossfade of 10 % of the shorter one, `*` mixes them between classes, the shorter
placed at random inside the longer. A minimal-pair group is one scene and its edits over the same
clips: parts reordered, an operator changed, a sound put with another partner, one exchanged for a
sound that was absent. Captions tell all of a scene, parts of it, and what is absent. In natural
style `balance` deals them so that no text betrays which is true; in that of the paper the main one
tells all of a scene, in the words of CompA, and true and false ones are of every granularity.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, partial
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, ClassVar, Final, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import Field, field_validator, model_validator

from synth.base.errors import NotationError, PlanError
from synth.base.units import Decibels, Frames, Seconds, to_frames
from synth.captions.caption import Style
from synth.captions.contrast import Dealer, pool
from synth.captions.measuring import SceneMeasure, measured_pool
from synth.recipes.base import (
    IN_ORDER,
    Clip,
    Draft,
    Groups,
    Length,
    Recipe,
    Setting,
    SplitCounts,
    SplitGroups,
    check_splits,
    check_unpadded,
    make_listener,
    share_out,
    tell_room,
    to_frame_range,
)
from synth.recipes.casting import (
    Cast,
    ClipDealer,
    DealtCast,
    DrawnCast,
    cast_sounds,
    draw_operator,
    draw_weighted,
    explain_uncast,
    random_sequence,
    random_template,
    refuse_few,
)
from synth.recipes.composing import (
    Background,
    Composer,
    Mixing,
    Parts,
    Placed,
    alternate,
    make_teller,
)
from synth.recipes.matching import ALIKE_S, SPARE_S, Cutter, Strip, match_samples
from synth.scene.claim import Quantity
from synth.scene.edit import recompositions, rename_labels
from synth.scene.scene import Concat, Event, Scene, labels, parse
from synth.scene.timeline import is_sequence, recompose
from synth.truth.ear import BLOCK_S
from synth.truth.listener import Listener

MOST_EVENTS: Final = 12
MOST_NESTED: Final = 4

Pause: TypeAlias = Annotated[Seconds, Field(ge=0, le=3600)]
Ratio: TypeAlias = Annotated[Decibels, Field(ge=-120, le=120)]


class Scenes(Recipe):
    """Groups of `variants` scenes over clips with one label each.

    Args:
        scenes: Total samples, shared among the splits by their number of clips; or samples per
            split. Multiples of `variants`.
        variants: Number of scenes in a minimal-pair group: a scene, the same with one sound
            exchanged, and edits of the first. Scenes of more sounds than `polyphony` come in pairs
            that differ in one sound.
        max_events: Scenes hold 2 to this many sounds, at most 12, each number equally often.
        polyphony: Most sounds at once, up to 4; beds and crossfades do not count. Scenes of no more
            sounds are nested at will; larger ones are sequences of single sounds and overlays.
        categories: Relative weight of each category's labels; 1 by default, 0 for never.
        without_replacement: Use every clip of a split once before any is used again. This refuses
            expressions, and weights of categories other than 0 and 1.
        expressions: Scenes to choose from, such as "(dog + rain) * vehicle", of labels, categories
            or `any`: a list, a mapping to weights, or a file with one per line (empty lines and `#`
            comments are skipped). If null, operators and nesting are drawn.
        captions: Maximum number of true captions per sample, the main one included, and of false
            ones (main captions of other members of the group); at least 2 for an odd number of
            variants.
        denials: Share of groups whose captions deny a sound.
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
        max_event_s: Longer sounds are cut to an excerpt of this length; without it, only to what
            `audio.length` has room for. In natural style samples of a group last about equally
            long: sounds in a row share the time of one, and silence fills up the rest.
        style: Caption style.
        tell: What captions may also state, as in `counts` and `attributes`: `count`, `duration`,
            `onset`, `position`, `gap`, `longer` and `louder`.
    """

    name: ClassVar[str] = "scenes"
    scenes: SplitCounts = 20_000
    variants: int = Field(default=4, ge=2, le=6)
    max_events: int = Field(default=4, ge=2, le=MOST_EVENTS)
    polyphony: int = Field(default=MOST_NESTED, ge=1, le=MOST_NESTED)
    without_replacement: bool = False
    categories: dict[str, Annotated[float, Field(ge=0, le=1_000_000)]] = Field(default_factory=dict)
    expressions: dict[str, Annotated[float, Field(gt=0, le=1_000_000)]] = Field(
        default_factory=dict
    )
    captions: int = Field(default=4, ge=1, le=20)
    denials: float = Field(default=0.25, ge=0, le=1)
    crossfade: float = Field(default=0.1, ge=0, le=0.4)
    pause_s: Annotated[tuple[Pause, Pause], IN_ORDER] = (0.0, 0.0)
    mixing: Mixing = Mixing.BETWEEN_CLASS
    ratio: float = Field(default=0.5, gt=0, lt=1)
    snr_db: Annotated[tuple[Ratio, Ratio], IN_ORDER] = (-6.0, 6.0)
    background: Background | None = None
    max_event_s: Length | None = None
    style: Style = Style.NATURAL
    tell: tuple[SceneMeasure, ...] = ()

    @field_validator("expressions", mode="before")
    @classmethod
    def _weigh(cls, expressions: Any) -> Any:
        if isinstance(expressions, str):
            expressions = read_expressions(Path(expressions))
        if isinstance(expressions, list | tuple):
            return dict(Counter(map(str, expressions)))
        return expressions

    @model_validator(mode="after")
    def _check_together(self) -> Scenes:
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
        weights = [name for name, weight in self.categories.items() if weight not in (0, 1)]
        for name, values in (("expressions", self.expressions), ("categories", weights)):
            if self.without_replacement and values:
                raise ValueError(
                    f"{name}: {', '.join(map(str, values))} cannot be had with "
                    "without_replacement, by which every clip is used as often; leave one of them "
                    "out"
                )
        return self

    @property
    def templates(self) -> dict[Scene, float]:
        """The expressions as scenes, with their weights; none where they are drawn."""
        return {self._read_template(text): weight for text, weight in self.expressions.items()}

    def longest_sound(self, count: int, setting: Setting) -> Frames | None:
        """Frames that each of `count` sounds may last, None for any."""
        aligned = BLOCK_S if count > self.polyphony else 0  # sequences begin parts with a block
        pause = to_frames(self.pause_s[1] + aligned, setting.rate)
        return setting.longest_of(count, pause, self.max_event_s)

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
                f"{self.polyphony} (polyphony), but is not a sequence of sounds and overlays "
                f"of up to {self.polyphony}",
                fix="write it as a + b * c + d, or give it fewer sounds",
            )
        return template

    def check(self, setting: Setting, splits: Collection[str]) -> None:
        """Expressions must read, sounds fit, and `scenes` must be for the spec's splits."""
        check_splits("recipe.scenes.scenes", self.scenes, splits)
        if Quantity.POSITION in self.tell:
            check_unpadded("recipe.scenes.tell", setting)
        sizes = [len(labels(template)) for template in self.templates] or [self.max_events]
        longest = self.longest_sound(max(sizes), setting)
        if longest is not None and longest < setting.audible:
            raise PlanError(
                f"{max(sizes)} sounds in a row leave {longest / setting.rate:g} s for "
                f"each; less than {setting.audible / setting.rate:g} s cannot be made out",
                fix=tell_room(max(sizes), self.max_event_s, self.pause_s[1])
                + ", raise max_event_s, or lower truth.min_overlap_s",
            )

    def refusal(self, clip: Clip, setting: Setting) -> str | None:
        """A clip must have one label, and be long enough to be made out."""
        return explain_uncast(clip, self.name, self.style, setting)

    def groups(self, clips: Mapping[str, Sequence[Clip]], setting: Setting) -> Mapping[str, Groups]:
        """Groups of `variants` scenes."""
        if isinstance(self.scenes, dict):
            counts = {split: count // self.variants for split, count in self.scenes.items()}
        else:
            counts = share_out(self.scenes // self.variants, clips)
        return SceneGroups.by_split(self, counts, clips, setting)


def read_expressions(path: Path) -> list[str]:
    """The scenes of a file: one a line, or the answers of a language model (Parquet)."""
    try:
        if path.suffix == ".parquet":
            texts = pq.read_table(path, columns=["texts"])["texts"].to_pylist()
            lines = [text for lines_of in texts for text in lines_of]
        else:
            lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError, pa.ArrowException) as error:
        raise ValueError(f"{path}: cannot be read: {error}") from error
    scenes = [line.strip() for line in lines if line.strip() and not line.lstrip().startswith("#")]
    if not scenes:
        raise ValueError(f"{path}: has no scene; give one per line")
    return scenes


# Scene groups: one drawn scene and its edits, composed, proven and captioned.


_TEMPLATES: Final = 10
_DRAWS: Final = 50
_DEALT_DRAWS: Final = 5
"""Of each template, whose clips are given: only their order and places are drawn."""
_MATCHED_DRAWS: Final = 0.4
"""Share of the draws whose scenes must be alike: short sounds together cannot last as long as in a
row, so the others may be as unlike as they are. Few short sounds are alike, but none of these draws
can be spared: all that come after them in a group take their numbers from the same generator."""
_PLACINGS: Final = 2
"""Nine in ten of the scenes that can be proven at all are so as they are placed first."""
_MOVED: Final = frozenset({Quantity.ONSET, Quantity.POSITION})
"""What captions tell of a sample that silence before its scene would change."""


@dataclass(frozen=True)
class SceneGroups(SplitGroups[Scenes]):
    """Groups of one drawn scene and its edits."""

    def __post_init__(self) -> None:
        _ = self.cast, self.bed_clips
        _ = self.dealer and self.dealer.sizes
        for template in self.templates:
            self.cast.check(template, "recipe.scenes.expressions")
        refuse_few(self.split, "scenes", self.cast.labels, 3)

    @cached_property
    def templates(self) -> Mapping[Scene, float]:
        """Scenes of labels, categories or `any`, with their weights; none to draw them."""
        templates = self.settings.templates.items()
        return {self.cast.spell(template): weight for template, weight in templates}

    @cached_property
    def listener(self) -> Listener:
        """Hears the clips, and how loud they are if captions tell."""
        return make_listener(self.clips, self.setting, Quantity.LOUDER in self.settings.tell)

    @cached_property
    def composer(self) -> Composer:
        """Puts parts together."""
        settings = self.settings
        pauses = to_frame_range(settings.pause_s, self.setting.rate)
        return Composer(
            self.listener,
            settings.crossfade,
            settings.mixing,
            settings.ratio,
            settings.snr_db,
            pauses,
        )

    @cached_property
    def cast(self) -> DrawnCast:
        """Casts scenes with any clips."""
        return DrawnCast.of(self.clips, self.settings.categories)

    @cached_property
    def bed_clips(self) -> Sequence[Clip]:
        """The clips that can lie under whole scenes."""
        background = self.settings.background
        return background.clips(self.clips) if background else ()

    @cached_property
    def dealer(self) -> ClipDealer | None:
        """Deals the clips in turn, if it is asked for."""
        if not self.settings.without_replacement:
            return None
        named = self.cast.labels
        deck = tuple(clip for clip in self.clips if clip.labels[0] in named)
        operation = f"scenes/{self.split}/deck"
        return ClipDealer(deck, self.settings.max_events + 1, self.setting.randomness, operation)

    def group(self, index: int) -> Sequence[Draft]:
        """One scene and its edits.

        How many sounds it has, and whether all of them follow one another or are together, is drawn
        before anything can fail: most attempts at four fail, and at sounds together, as one masks
        another. Else most groups would be of two that follow one another.
        """
        rng = self.rng(index)
        hand = self.dealer.hand(index) if self.dealer else ()
        drafts = None
        if len(hand) > 2:
            shape = partial(self._draw_shape, len(hand) - 1, rng)
            drafts = self._search(shape, DealtCast(hand), _DEALT_DRAWS, rng)
        if drafts is None:
            drafts = self._search(partial(self._choose_template, rng), self.cast, _DRAWS, rng)
        if drafts is not None:
            return drafts
        raise PlanError(
            f"split {self.split}: found no scene whose captions can be proven true and false",
            fix="add clips of other labels or lengths"
            + (", or allow other expressions" if self.templates else ""),
        )

    def _search(
        self,
        choose: Callable[[], Callable[[], Scene]],
        cast: Cast,
        count: int,
        rng: np.random.Generator,
    ) -> list[Draft] | None:
        """The first drafts that can be made; so many of each of some templates are tried."""
        for _ in range(_TEMPLATES):
            draw_template = choose()
            for leeway in self._list_leeways(count):
                drafts = self._draw(draw_template(), cast, leeway, rng)
                if drafts is not None:
                    return drafts
        return None

    def _list_leeways(self, count: int) -> list[float]:
        """For each draw, how many times the usual difference of a group's scenes is allowed."""
        least, most = self.settings.pause_s  # pauses that are drawn are as unlike
        matched = round(_MATCHED_DRAWS * count)
        return [1 + (most - least) / (4 * ALIKE_S)] * matched + [np.inf] * (count - matched)

    def _choose_template(self, rng: np.random.Generator) -> Callable[[], Scene]:
        """One of the spec's expressions, or templates of one size and outermost operator."""
        if self.templates:
            template = draw_weighted(self.templates, rng)
            return lambda: template
        return self._draw_shape(int(rng.integers(2, self.settings.max_events + 1)), rng)

    def _draw_shape(self, count: int, rng: np.random.Generator) -> Callable[[], Scene]:
        polyphony = self.settings.polyphony
        if count > polyphony:
            return partial(random_sequence, count, polyphony, rng)
        return partial(random_template, count, rng, draw_operator(rng))

    def _draw(
        self, template: Scene, cast: Cast, leeway: float, rng: np.random.Generator
    ) -> list[Draft] | None:
        base = cast.fill(template, rng)
        names = cast.exchange(base, rng) if base is not None else None
        if base is None or names is None:
            return None
        # Parts of sounds last no longer than one of them, however many they are.
        count = len(labels(base)) if self._is_long(base) or not self._is_matched else 1
        longest = self.settings.longest_sound(count, self.setting)
        named = *labels(base), *names.values()
        sounds = cast_sounds(cast, named, longest, set(), self.setting, rng)
        place: Callable[[Scene], Placed | None]
        placed: list[Placed] = []
        if self._is_long(base):
            parts = Parts(self.composer, cache(partial(self._compose, sounds=sounds, rng=rng)))
            if not self.templates:
                base = parts.arrange(base, names, rng)
            assert isinstance(base, Concat)
            place = partial(self._compose_sequence, parts=parts, rng=rng)
            edits = recompose(base, self.settings.polyphony)
        elif self._is_matched:
            strips = {label: self._strip(sound) for label, sound in sounds.items()}
            cutter = Cutter.of(base, strips, leeway, self.composer, self.setting, rng)
            place = partial(self._compose_matched, cutter=cutter, placed=placed)
            edits = recompositions(base)
        else:
            place = partial(self._compose, sounds=sounds, rng=rng)
            edits = recompositions(base)
        is_long = self._is_long(base)
        steps = (
            (edit, rename_labels(edit, names)) if is_long else (edit,)
            for edit in alternate(base, edits, rng)  # drawn when the first scenes are
        )
        for statements in chain([(base, rename_labels(base, names))], steps):
            count = len(placed)
            for stated in statements:
                member = place(stated) if all(o.hearing.refutes(stated) for o in placed) else None
                if member is None or not all(member.hearing.refutes(o.statement) for o in placed):
                    del placed[count:]
                    break
                placed.append(member)
            if not placed:
                return None
            if len(placed) >= self.settings.variants:
                return self._caption(placed[: self.settings.variants], rng)
        return None

    @cached_property
    def _strip(self) -> Callable[[Event], Strip]:
        return Strip.maker(self.listener)

    @property
    def _is_matched(self) -> bool:
        return self.settings.style is Style.NATURAL

    def _is_long(self, statement: Scene) -> bool:
        return len(labels(statement)) > self.settings.polyphony

    def _compose_sequence(
        self, statement: Scene, parts: Parts, rng: np.random.Generator
    ) -> Placed | None:
        scene = parts.join(statement, rng)
        placed = self._place(statement, scene) if scene is not None else None
        return placed if placed and placed.is_proven else None

    def _compose(
        self, statement: Scene, sounds: Mapping[str, Event], rng: np.random.Generator
    ) -> Placed | None:
        """The statement placed in time so that its words hold under every reading."""
        last: Scene | None = None
        for _ in range(_PLACINGS):
            scene = self.composer.compose(statement, sounds, rng)
            if scene == last:  # nothing of it was drawn at random
                return None
            placed = self._place(statement, scene)
            if placed.is_proven:
                return placed
            last = scene
        return None

    def _compose_matched(
        self, statement: Scene, cutter: Cutter, placed: Sequence[Placed]
    ) -> Placed | None:
        """The same over parts of the sounds, so that all scenes of a group last equally long.

        Args:
            placed: The others of the group.
        """
        for scene in cutter.cut(statement, placed[0].scene if placed else None):
            member = self._place(statement, scene)
            if member.is_proven:
                return member
        return None

    def _place(self, statement: Scene, scene: Scene) -> Placed:
        return Placed.of(scene, statement, self.listener, self.setting)

    def _caption(self, placed: Sequence[Placed], rng: np.random.Generator) -> list[Draft] | None:
        statements = [member.statement for member in placed]
        laid = self._add_bed(statements, placed, rng)
        if laid is None:
            return None
        tell = make_teller(self.settings.style, self.setting.rate, rng)
        claims = list(pool(statements))
        if self.settings.tell:
            named = {label for statement in statements for label in labels(statement)}
            claims += measured_pool(
                [member.timeline for member in laid], self.settings.tell, named, self.setting.rate
            )
        dealer = Dealer(tell, self.settings.captions, rng, self.settings.denials)
        is_printed = self.settings.style is Style.PAPER
        dealt = dealer.print_captions(laid, claims) if is_printed else dealer.deal(laid, claims)
        if dealt is None:
            return None
        drafts = [member.draft(captions) for member, captions in zip(laid, dealt, strict=True)]
        if self._is_matched and _MOVED.isdisjoint(self.settings.tell):
            return match_samples(drafts, self.listener, self.setting, rng, SPARE_S)
        return drafts

    def _add_bed(
        self, statements: Sequence[Scene], placed: Sequence[Placed], rng: np.random.Generator
    ) -> Sequence[Placed] | None:
        """The scenes with a bed under them; None where it masks what one of them states."""
        background = self.settings.background
        if background is None:
            return placed
        named = {label for statement in statements for label in labels(statement)}
        scenes = [member.scene for member in placed]
        bed = background.draw(self.bed_clips, scenes, named, self.setting, rng)
        if bed is None:
            return placed
        laid = [self._place(member.statement, bed.lay_under(member.scene)) for member in placed]
        return laid if all(member.is_proven for member in laid) else None

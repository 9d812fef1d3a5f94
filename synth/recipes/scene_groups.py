"""Scene groups: one drawn scene and its edits, composed, proven and captioned."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Final

import numpy as np

from synth.base.errors import PlanError
from synth.captions.balance import Member, deal
from synth.captions.measured_pool import ToldQuantity, measured_pool
from synth.captions.pool import pool
from synth.recipes.base import Draft, Setting, excerpt, make_listener
from synth.recipes.casting import Cast, DealtCast, DrawnCast
from synth.recipes.clips import Clip, by_label
from synth.recipes.composing import Composer
from synth.recipes.dealing import ClipDealer
from synth.recipes.grammar import (
    SceneVocabulary,
    draw_operator,
    draw_weighted,
    random_sequence,
    random_template,
)
from synth.recipes.scene_settings import SceneSettings
from synth.recipes.sequences import CLOSE_PAIRS, Parts, Placed, alternate, list_variants
from synth.recipes.telling import make_teller
from synth.scene.edit import recompositions, rename_labels
from synth.scene.scene import Event, Scene, labels
from synth.truth.relations import Tolerance
from synth.truth.truth import Hearing

_TEMPLATES: Final = 10
_DRAWS: Final = 50
_DEALT_DRAWS: Final = 5
"""Of each template, whose clips are given: only their order and places are drawn."""
_PLACINGS: Final = 2
"""Nine in ten of the scenes that can be proven at all are so as they are placed first."""
_WORDINGS_OF_PAIRS: Final = 2


@dataclass(frozen=True)
class SceneGroups:
    """The groups of one split, each computed alone."""

    settings: SceneSettings
    split: str
    count: int
    clips: tuple[Clip, ...]
    setting: Setting

    def __post_init__(self) -> None:
        _ = self.vocabulary, self.bed_clips
        _ = self.dealer and self.dealer.sizes
        for template in self.templates:
            self.vocabulary.check(template, "recipe.scenes.expressions")

    def __len__(self) -> int:
        """Number of groups."""
        return self.count

    @cached_property
    def templates(self) -> Mapping[Scene, float]:
        """Scenes of labels, categories or `any`, with their weights; none to draw them."""
        return self.settings.templates

    @cached_property
    def composer(self) -> Composer:
        """Puts parts together."""
        joining = self.settings.join_by(self.setting.rate)
        is_loudness_told = ToldQuantity.LOUDER in self.settings.tell
        return Composer(joining, make_listener(self.clips, self.setting, is_loudness_told))

    @cached_property
    def by_label(self) -> Mapping[str, list[Clip]]:
        """Clips by label."""
        return by_label(self.clips)

    @cached_property
    def vocabulary(self) -> SceneVocabulary:
        """The labels, by category."""
        return SceneVocabulary.of_labels(self.by_label, self.settings.categories)

    @cached_property
    def bed_clips(self) -> Sequence[Clip]:
        """The clips that can lie under whole scenes."""
        background = self.settings.background
        return background.clips(self.clips) if background else ()

    @cached_property
    def drawn(self) -> DrawnCast:
        """Casts scenes with any clips."""
        return DrawnCast(self.vocabulary, self.by_label)

    @cached_property
    def dealer(self) -> ClipDealer | None:
        """Deals the clips in turn, if it is asked for."""
        if not self.settings.without_replacement:
            return None
        named = {label for each in self.vocabulary.categories.values() for label in each}
        deck = tuple(clip for clip in self.clips if clip.labels[0] in named)
        operation = f"scenes/{self.split}/deck"
        return ClipDealer(deck, self.settings.max_events + 1, self.setting.randomness, operation)

    def group(self, index: int) -> Sequence[Draft]:
        """One scene and its edits.

        How many sounds it has, and whether all of them follow one another or are together, is drawn
        before anything can fail: most attempts at four fail, and at sounds together, as one masks
        another. Else most groups would be of two that follow one another.
        """
        rng = self.setting.randomness.at(f"scenes/{self.split}", index)
        hand = self.dealer.hand(index) if self.dealer else ()
        if len(hand) > 2 and (drafts := self._make_dealt(DealtCast(hand), rng)) is not None:
            return drafts
        for _ in range(_TEMPLATES):
            draw_template = self._choose_template(rng)
            for _ in range(_DRAWS):
                drafts = self._draw(draw_template(), self.drawn, rng)
                if drafts is not None:
                    return drafts
        raise PlanError(
            f"split {self.split}: no scene found whose captions can be told true from false",
            fix="add clips of other labels or lengths"
            + (", or allow other expressions" if self.templates else ""),
        )

    def _make_dealt(self, cast: DealtCast, rng: np.random.Generator) -> list[Draft] | None:
        for _ in range(_TEMPLATES):
            draw_template = self._draw_shape(cast.sounds, rng)
            for _ in range(_DEALT_DRAWS):
                drafts = self._draw(draw_template(), cast, rng)
                if drafts is not None:
                    return drafts
        return None

    def _choose_template(self, rng: np.random.Generator) -> Callable[[], Scene]:
        """One of the spec's expressions, or templates of one size and outermost operator."""
        if self.templates:
            weights = tuple(self.templates.values())
            template = draw_weighted(tuple(self.templates), weights, rng)
            return lambda: template
        return self._draw_shape(int(rng.integers(2, self.settings.max_events + 1)), rng)

    def _draw_shape(self, count: int, rng: np.random.Generator) -> Callable[[], Scene]:
        polyphony = self.settings.polyphony
        if count > polyphony:
            return partial(random_sequence, count, polyphony, rng)
        return partial(random_template, count, rng, draw_operator(rng))

    def _draw(self, template: Scene, cast: Cast, rng: np.random.Generator) -> list[Draft] | None:
        base = cast.fill(template, rng)
        names = cast.exchange(base, rng) if base is not None else None
        if base is None or names is None:
            return None
        sounds = self._sounds((*labels(base), *names.values()), cast, rng)
        if self._is_long(base):
            return self._draw_sequences(base, names, sounds, rng)
        exchanged = rename_labels(base, names)
        placed: list[Placed] = []
        for statement in self._variants(base, exchanged, rng):
            found = self._compose(statement, sounds, rng)
            if found is not None:
                placed.append(found)
            elif statement in (base, exchanged):
                return None
            if len(placed) == self.settings.variants:
                return self._caption(placed, rng)
        return None

    def _is_long(self, statement: Scene) -> bool:
        return len(labels(statement)) > self.settings.polyphony

    def _variants(self, base: Scene, exchanged: Scene, rng: np.random.Generator) -> Iterator[Scene]:
        """The base, the exchange, then recompositions of one kind after the other."""
        yield base
        yield exchanged
        yield from alternate(base, list(recompositions(base)), rng)

    def _draw_sequences(
        self,
        base: Scene,
        names: dict[str, str],
        sounds: Mapping[str, Event],
        rng: np.random.Generator,
    ) -> list[Draft] | None:
        """Members in pairs that differ in one label, each pair an edit of the first."""
        parts = Parts(self.composer, partial(self._compose, sounds=sounds, rng=rng))
        if not self.templates:
            base = parts.arrange(base, names, rng)
        placed: list[Placed] = []
        for statements in list_variants(base, names, self.settings.polyphony, rng):
            pair = [self._compose_sequence(each, parts, rng) for each in statements]
            found = [each for each in pair if each is not None]
            if len(found) == len(pair):
                placed += found
            elif not placed:
                return None
            if len(placed) == self.settings.variants:
                return self._caption(placed, rng)
        return None

    def _compose_sequence(
        self, statement: Scene, parts: Parts, rng: np.random.Generator
    ) -> Placed | None:
        scene = parts.join(statement, rng)
        placed = self._place(statement, scene) if scene is not None else None
        return placed if placed and placed.member.hearing.proves(statement) else None

    def _sounds(
        self, named: Sequence[str], cast: Cast, rng: np.random.Generator
    ) -> dict[str, Event]:
        """An excerpt for each label, of different recordings where there are any."""
        longest = self.settings.longest_sound(len(set(named)) - 1, self.setting)
        recordings: set[str] = set()
        sounds: dict[str, Event] = {}
        for label in dict.fromkeys(named):
            clip = cast.choose(label, recordings, rng)
            recordings.add(clip.recording)
            sounds[label] = Event(label, excerpt(clip, longest, self.setting, rng))
        return sounds

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
            if placed.member.hearing.proves(statement):
                return placed
            last = scene
        return None

    def _place(self, statement: Scene, scene: Scene) -> Placed:
        heard = self.composer.listener.hear(scene)
        hearing = Hearing(heard, Tolerance(audible=self.setting.audible))
        return Placed(scene, heard, Member(statement, hearing))

    def _caption(self, placed: Sequence[Placed], rng: np.random.Generator) -> list[Draft] | None:
        statements = [each.member.statement for each in placed]
        laid = self._add_bed(statements, placed, rng)
        if laid is None:
            return None
        is_long = self._is_long(statements[0])
        tell = make_teller(self.settings.style, is_long, self.setting.rate, rng)
        mains = [tell(statement, "caption") for statement in statements]
        wordings = _WORDINGS_OF_PAIRS if len(labels(statements[0])) == 2 else 1
        claims = list(pool(statements)) * wordings
        if self.settings.tell:
            named = {label for statement in statements for label in labels(statement)}
            claims += measured_pool(
                [each.heard for each in laid], self.settings.tell, named, self.setting.rate
            )
        members = [each.member for each in laid]
        close = CLOSE_PAIRS if is_long else None
        dealt = deal(members, mains, claims, tell, self.settings.captions, rng, close)
        if dealt is None:
            return None
        return [
            Draft(each.scene, captions, each.heard)
            for each, captions in zip(laid, dealt, strict=True)
        ]

    def _add_bed(
        self, statements: Sequence[Scene], placed: Sequence[Placed], rng: np.random.Generator
    ) -> Sequence[Placed] | None:
        """The scenes with a bed under them; None where it masks what one of them states."""
        background = self.settings.background
        if background is None:
            return placed
        named = {label for statement in statements for label in labels(statement)}
        scenes = [each.scene for each in placed]
        bed = background.draw(self.bed_clips, scenes, named, self.setting, rng)
        if bed is None:
            return placed
        laid = [self._place(each.member.statement, bed.lay_under(each.scene)) for each in placed]
        stated = all(each.member.hearing.proves(each.member.statement) for each in laid)
        return laid if stated else None

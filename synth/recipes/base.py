"""What a recipe is: a pure function from a group's number to its planned scenes and captions."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property, lru_cache
from typing import (
    Annotated,
    Any,
    ClassVar,
    Final,
    Generic,
    Protocol,
    TypeAlias,
    TypeVar,
    runtime_checkable,
)

import numpy as np
from jaxtyping import Int64
from pydantic import AfterValidator, Field, WrapValidator

from synth.audio.dsp import block_frames
from synth.base.choice import StrictModel
from synth.base.errors import PlanError
from synth.base.rng import Randomness
from synth.base.units import Decibels, Frames, Seconds, resampled_frames, to_frames
from synth.captions.caption import Caption, Pair, Style
from synth.captions.contrast import CaptionSet, Wording, contrast, exchange
from synth.labels.connective import Connective
from synth.labels.lexicon import Phrase, Tag, find_treatment, heard_tags, untreated_id
from synth.scene.scene import Event, Excerpt, Scene, statement
from synth.scene.timeline import Fade, Timeline
from synth.text.grammar.tokens import whole_words
from synth.truth.ear import Ear, Envelope, LevelTable, StoredEnvelope
from synth.truth.listener import Listener
from synth.truth.relations import Tolerance
from synth.truth.truth import Hearing, proves

T = TypeVar("T")
S = TypeVar("S", bound="Recipe")

# Clips as recipes see them, and how they are grouped and drawn.


@dataclass(frozen=True, slots=True)
class Clip:
    """A catalogued clip as a recipe sees it, in frames of the corpus rate.

    Args:
        captions: In the library's words.
        frames: Length of the active span; loudness, envelope and peak are of that span, too.
        tags: All but that of its treatment.
        treatment: "" for a clip as it was recorded.
        peak_db: True peak at the corpus rate, in dBTP.
    """

    id: str
    labels: tuple[str, ...]
    captions: tuple[str, ...]
    recording: str
    frames: Frames
    loudness_lufs: Decibels
    envelope: Envelope | StoredEnvelope = field(compare=False)
    tags: tuple[Tag, ...] = ()
    treatment: str = ""
    peak_db: Decibels = 0.0

    @classmethod
    def of_row(cls, row: Mapping[str, Any], rate: int, levels: LevelTable, at: int) -> Clip:
        """From a row of `schema.CLIPS`; the levels of its blocks are row `at` of `levels`."""
        frames = resampled_frames(row["offset"] - row["onset"], row["sample_rate"], rate)
        loudness, recording = row["loudness_lufs"], row["recording"]
        return cls(
            id=row["id"],
            labels=tuple(row["labels"]),
            captions=tuple(row["captions"]),
            recording=row["id"] if recording == row["id"] else recording,  # one text, not two
            frames=frames,
            loudness_lufs=loudness,
            envelope=StoredEnvelope(levels, at, loudness, float(block_frames(rate)), frames),
            tags=heard_tags(row["tags"]),
            treatment=find_treatment(row["tags"]),
            peak_db=row["peak_db"],
        )

    @property
    def untreated(self) -> str:
        """Id of the clip as it was recorded."""
        return untreated_id(self.id) if self.treatment else self.id

    def read_envelope(self) -> Envelope:
        """The envelope itself, wherever it lies."""
        stored = self.envelope
        return stored.read() if isinstance(stored, StoredEnvelope) else stored


def share_out(counts: SplitCounts, clips: Mapping[str, Sequence[Clip]]) -> dict[str, int]:
    """Counts by split; a total is dealt by number of clips, and splits that get none are left out.

    Args:
        counts: A total, or a number for each split.
    """
    if isinstance(counts, dict):
        return counts
    sizes = np.cumsum([0, *map(len, clips.values())])
    edges = sizes * counts // max(int(sizes[-1]), 1)
    shares = dict(zip(clips, np.diff(edges).tolist(), strict=True))
    return {split: share for split, share in shares.items() if share}


def repeat_each(counts: SplitCounts, splits: Iterable[str]) -> dict[str, int]:
    """Counts by split; one number is for each of them."""
    return counts if isinstance(counts, dict) else dict.fromkeys(splits, counts)


def to_frame_range(seconds: tuple[Seconds, Seconds], rate: int) -> tuple[Frames, Frames]:
    """Least and most in frames."""
    least, most = seconds
    return to_frames(least, rate), to_frames(most, rate)


def by_label(clips: Iterable[Clip]) -> dict[str, list[Clip]]:
    """Clips of one label each, by it."""
    labelled: dict[str, list[Clip]] = {}
    for clip in clips:
        labelled.setdefault(clip.labels[0], []).append(clip)
    return labelled


@dataclass(frozen=True, slots=True)
class Levels:
    """Gain control of single sounds.

    Args:
        target_lufs: Every event is brought to this loudness.
        max_gain_db: But never raised by more, so that noise floors stay down.
        max_below_db: A sound that stays further below the target cannot be heard beside others.
    """

    target_lufs: Decibels
    max_gain_db: Decibels
    max_below_db: Decibels

    def gain(self, loudness_lufs: Decibels) -> Decibels:
        """What brings a sound to the target, or near it, to 0.01 dB."""
        return round(min(self.target_lufs - loudness_lufs, self.max_gain_db), 2)

    def refusal(self, loudness_lufs: Decibels) -> str | None:
        """Why a sound is too quiet, None where it is not."""
        below = self.target_lufs - loudness_lufs - self.max_gain_db
        if below <= self.max_below_db:
            return None
        return (
            f"is too quiet: {loudness_lufs:.0f} LUFS, raised by {self.max_gain_db:g} dB it is "
            f"still {below:.0f} dB below the others"
        )


@dataclass(frozen=True, slots=True)
class Setting:
    """What every recipe is given beside its own settings.

    Args:
        max_frames: Exact or longest length of a sample, None for any.
        audible: Shortest sound that can be heard beside another, in frames.
        least_frames: Shorter samples are padded with silence to so many.
        peak_db: Louder samples are turned down to this level in dBFS. Plans must not depend on it.
    """

    rate: int
    max_frames: Frames | None
    levels: Levels
    audible: Frames
    randomness: Randomness
    ear: Ear = field(default_factory=Ear)
    fade: Fade = Fade.LINEAR
    least_frames: Frames = 0
    peak_db: Decibels = 0.0

    @property
    def tolerance(self) -> Tolerance:
        """What counts as a transition between sounds."""
        return Tolerance(audible=self.audible)

    def longest_of(self, count: int, pause: Frames, max_event_s: Seconds | None) -> Frames | None:
        """Frames that each of so many sounds in a row may last, None for any.

        Args:
            pause: Between two of them; a crossfade is below 0.
            max_event_s: None of them lasts longer, if this is given.
        """
        limits = []
        if max_event_s is not None:
            limits.append(to_frames(max_event_s, self.rate))
        if self.max_frames is not None:
            limits.append((self.max_frames - (count - 1) * pause) // count)
        return min(limits, default=None)


@dataclass(frozen=True, slots=True)
class Draft:
    """One sample of a group, before it has a place in the corpus.

    Args:
        captions: The main one, other true ones, and false ones.
        timeline: Placed, with what is audible of each sound, None if the recipe does not ask.
        is_labelled: Whether its events are called by labels. A caption of a whole clip is not true
            of each stretch of it.
        lead: Silence before the scene, in frames.
        frames: The sample is padded with silence to so many at least.
    """

    scene: Scene
    captions: CaptionSet
    timeline: Timeline | None = None
    is_labelled: bool = True
    lead: Frames = 0
    frames: Frames = 0


Count: TypeAlias = Annotated[int, Field(gt=0, le=100_000_000)]
SplitCounts: TypeAlias = Count | Annotated[dict[str, Count], Field(min_length=1)]
"""One for all splits together, or one for each."""
Length: TypeAlias = Annotated[Seconds, Field(gt=0, le=36_000)]


def _check_order(value: object, read: Callable[[object], Any]) -> tuple[float, float]:
    if isinstance(value, int | float):
        raise ValueError(f"expected least and most, as in [{value}, {value}]")
    limits: tuple[float, float] = read(value)
    least, most = limits
    if least > most:
        raise ValueError(f"expected the least, then the most: {least:g} is above {most:g}")
    return limits


IN_ORDER: Final = WrapValidator(_check_order)
"""Refuses a range whose first number is the greater one, and a single number."""


def all_different(what: str) -> AfterValidator:
    """Refuses a setting that lists nothing, or a thing twice."""

    def check(values: tuple[T, ...]) -> tuple[T, ...]:
        if not values or len(set(values)) < len(values):
            raise ValueError(f"expected one or more different {what}")
        return values

    return AfterValidator(check)


PauseRange: TypeAlias = Annotated[tuple[Length, Length], IN_ORDER]
"""Shortest and longest pause in seconds."""


class Recipe(StrictModel):
    """A corpus family; its fields are the settings, and equal settings make equal corpora.

    Attributes:
        mixes: Whether a sample may have more than one sound.
    """

    name: ClassVar[str]
    mixes: ClassVar[bool] = True

    def check(self, setting: Setting, splits: Collection[str]) -> None:
        """Refuse settings that cannot work, before any clip is opened; any will do by default."""

    def refusal(self, clip: Clip, setting: Setting) -> str | None:
        """Why the recipe cannot use a clip, None where it can."""
        raise NotImplementedError

    def groups(self, clips: Mapping[str, Sequence[Clip]], setting: Setting) -> Mapping[str, Groups]:
        """The groups of each split over its usable clips."""
        raise NotImplementedError


@runtime_checkable
class Groups(Protocol):
    """The groups that a recipe makes of one split's clips.

    Workers draft them where they can be pickled, and this process does where they cannot.
    """

    def __len__(self) -> int:
        """Number of groups."""
        ...

    def group(self, index: int) -> Sequence[Draft]:
        """The samples of group `index`, 0 to `len - 1`: a pure function of it and the settings."""
        ...


@dataclass(frozen=True)
class SplitGroups(Generic[S]):
    """The groups of one split, each computed alone: what the shipped recipes share.

    Args:
        split: Names the draws, with the recipe.
        count: Number of groups, but for recipes that count otherwise.
    """

    settings: S
    split: str
    count: int
    clips: tuple[Clip, ...]
    setting: Setting

    @classmethod
    def by_split(
        cls,
        settings: S,
        counts: Mapping[str, int],
        clips: Mapping[str, Sequence[Clip]],
        setting: Setting,
        *more: object,
    ) -> Mapping[str, Groups]:
        """The groups of each split that has a count; `more` is given to all of them."""
        return {
            split: cls(settings, split, count, tuple(clips.get(split, ())), setting, *more)
            for split, count in counts.items()
        }

    def __len__(self) -> int:
        return self.count

    def group(self, index: int) -> Sequence[Draft]:
        """See `Groups`."""
        raise NotImplementedError

    def rng(self, index: int, draw: str = "") -> np.random.Generator:
        """What decides on group `index`, or on item `index` of another draw, such as "/order"."""
        return self.setting.randomness.at(f"{self.settings.name}/{self.split}{draw}", index)

    def permute(self, draw: str, round_: int, count: int) -> Int64[np.ndarray, " count"]:
        """The order of `count` items in one round of a draw; each round has another."""
        operation = f"{self.settings.name}/{self.split}{draw}"
        return permutation(self.setting.randomness, operation, round_, count)

    @cached_property
    def listener(self) -> Listener:
        """Hears the clips."""
        return make_listener(self.clips, self.setting)

    def draft_contrast(
        self, scene: Pair, connective: Connective, wording: Wording, is_labelled: bool = True
    ) -> Draft:
        """A sample whose caption states the whole scene."""
        timeline = self.listener.hear(scene)
        captions = contrast(scene, connective, wording, timeline, self.setting.tolerance)
        return Draft(scene, captions, timeline, is_labelled)

    def draft_rivals(
        self, scenes: Sequence[Scene], captions: Sequence[Caption], edit: StrEnum
    ) -> list[Draft] | None:
        """Scenes that each prove their caption and refute the others'; None where one does not."""
        drafts = []
        for scene, captions_of in zip(scenes, exchange(captions, edit), strict=True):
            timeline = self.listener.hear(scene)
            hearing = Hearing(timeline, self.setting.tolerance)
            if not hearing.proves(captions_of.caption.claim):
                return None
            if not all(hearing.refutes(rival.claim) for rival in captions_of.negatives):
                return None
            drafts.append(Draft(scene, captions_of, timeline))
        return drafts


def require_two(split: str, who: str, what: str, some: Collection[object]) -> None:
    """Check that there are two of what groups differ in."""
    if len(some) < 2:
        raise PlanError(
            f"split {split}: {who} clips of two {what}, found {len(some)}",
            fix=f"add clips of other {what} to {split}, or leave it out of `splits`",
        )


def tell_room(count: int, sound_s: Seconds | None, pause_s: Seconds) -> str:
    """The length that has room for so many sounds in a row, of 1 s where they may be any."""
    seconds = count * (sound_s or 1.0) + (count - 1) * max(pause_s, 0)
    return f"set `audio.length: exact {math.ceil(seconds)} s`"


def check_splits(setting_name: str, counts: object, splits: Collection[str]) -> None:
    """Counts by split must be for the spec's splits, no fewer and no others."""
    if isinstance(counts, Mapping) and set(counts) != set(splits):
        raise PlanError(
            f"{setting_name} names the splits {', '.join(counts)}, but `splits` names "
            f"{', '.join(splits)}",
            fix="name the same splits in both, as in `splits: {train: 0.8, test: 0.2}`",
        )


def check_unpadded(setting_name: str, setting: Setting) -> None:
    """Positions are of the whole sample: what is padded ends later."""
    if setting.least_frames:
        raise PlanError(
            "position says where in a sample a sound is, but padding moves sounds",
            fix=f"set audio.length: natural, or leave position out of {setting_name}",
        )


def check_pauses(setting_name: str, shortest_s: Seconds, setting: Setting) -> None:
    """A pause must be heard by everybody."""
    least = setting.tolerance.pause
    if to_frames(shortest_s, setting.rate) < least:
        raise PlanError(
            f"pauses of {shortest_s:g} s may not be heard",
            fix=f"give {setting_name} at least {least / setting.rate:g} s",
        )


def explain_too_short(clip: Clip, crossfade: Frames, setting: Setting) -> str | None:
    """Why a clip is too short: half of it at least must be heard alone, and be audible."""
    if clip.frames >= max(2 * crossfade, setting.audible):
        return None
    length = f"is too short: {clip.frames / setting.rate:.2f} s of sound"
    if clip.frames < setting.audible:
        least = f"{setting.audible / setting.rate:g} s"
        return f"{length}; less than {least} cannot be made out (truth.min_overlap_s)"
    fade = crossfade / setting.rate
    return f"{length}; a crossfade of {fade:g} s needs {2 * fade:g} s"


def explain_unnamed(
    clip: Clip, wanted: str, style: Style, crossfade: Frames, setting: Setting
) -> str | None:
    """Why a clip cannot be a sound that sentences call by its label, None where it can.

    Args:
        wanted: Who needs it: "triplets need".
    """
    if len(clip.labels) != 1:
        return f"has {len(clip.labels)} labels; {wanted} exactly one"
    return explain_misleading(clip.labels[0], style) or explain_too_short(clip, crossfade, setting)


def explain_misleading(label: str, style: Style) -> str | None:
    """Why a label cannot stand in a sentence of a style, None where it can."""
    relating = whole_words(tuple(connective.value for connective in Connective))
    phrase = Phrase.of_label(label)
    words = phrase.plain if style is Style.PAPER else f"{phrase.clause}; {phrase.gerund}"
    match = relating.search(words) if relating else None
    if match is None:
        return None
    return f"has {match[0]!r} in its label, which would change the meaning of a caption"


def longest_event(
    max_event_s: Seconds | None, crossfade: Frames, setting: Setting
) -> Frames | None:
    """Frames that each of two joined events may last, None for any."""
    longest = setting.longest_of(2, -crossfade, max_event_s)
    if longest is not None and longest < max(1, 2 * crossfade):
        most = (setting.max_frames or math.inf) / setting.rate
        fitting = math.floor(100 * min(most / 3, (max_event_s or math.inf) / 2)) / 100
        raise PlanError(
            f"events of {longest / setting.rate:g} s are too short for a crossfade of "
            f"{crossfade / setting.rate:g} s: half of each must be heard alone",
            fix=f"set `crossfade_s: {fitting:g}`, or raise max_event_s or audio.length",
        )
    return longest


def excerpt(
    clip: Clip, longest: Frames | None, setting: Setting, rng: np.random.Generator
) -> Excerpt:
    """The clip, or where it is longer than `longest` its stretch with the most energy.

    Among the stretches within 3 dB of the loudest one is drawn, so that takes vary but an excerpt
    never falls into a pause. It begins with a block of the clip's levels, as what is left of a
    block that is cut may be silent.
    """
    gain = setting.levels.gain(clip.loudness_lufs)
    if longest is None or clip.frames <= longest:
        return Excerpt(clip.id, 0, clip.frames, gain)
    start = _loud_start(clip, longest, setting.rate, rng)
    return Excerpt(clip.id, start, longest, gain)


def take(clip: Clip, longest: Frames | None, setting: Setting, rng: np.random.Generator) -> Event:
    """An excerpt of a clip of one label, called by it."""
    return Event(clip.labels[0], excerpt(clip, longest, setting, rng))


def retake(sound: Event, **changes: Any) -> Event:
    """The sound with another excerpt or another gain."""
    return Event(sound.label, replace(sound.played, **changes))


def _loud_start(clip: Clip, frames: Frames, rate: int, rng: np.random.Generator) -> Frames:
    envelope = clip.read_envelope()
    block = envelope.block
    last = int((clip.frames - frames) // block)
    window = max(1, round(frames / block))
    energy = np.concatenate([[0.0], np.cumsum(envelope.powers[1])])
    sums = (energy[window:] - energy[:-window])[: last + 1]
    if len(sums) <= 1:
        return 0
    loud = np.flatnonzero(sums >= sums.max() / 2)
    return round(float(rng.choice(loud)) * block)


@lru_cache(maxsize=16)
def permutation(
    randomness: Randomness, operation: str, round_: int, count: int
) -> Int64[np.ndarray, " count"]:
    """The order of `count` items in one round; each round has another."""
    return randomness.at(operation, round_).permutation(count)


def is_proven(scene: Scene, listener: Listener, setting: Setting) -> bool:
    """Whether what is heard of a scene proves what it states."""
    return proves(listener.hear(scene), statement(scene), setting.tolerance)


def make_listener(clips: Iterable[Clip], setting: Setting, acoustics: bool = False) -> Listener:
    """Who hears scenes over these clips, and with `acoustics` how they sound, too."""
    envelopes: dict[str, Envelope | StoredEnvelope] = {}
    treated: dict[str, tuple[str, str]] = {}
    for clip in clips:
        envelopes[clip.id] = clip.envelope
        if clip.treatment:
            treated[clip.id] = clip.untreated, clip.treatment
    return Listener(
        setting.ear, setting.rate, envelopes, setting.fade, treated if acoustics else None
    )

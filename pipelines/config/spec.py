"""The corpus spec: everything that determines a corpus, as checked values."""

from __future__ import annotations

import operator
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, Self, get_args

from pydantic import BaseModel, Field, ValidationInfo, field_validator, model_validator

from pipelines.config.enrich import enrichment_digest
from synth.audio.decoding import Mislabelled
from synth.audio.render import RENDER_VERSION, Mixdown
from synth.base.choice import Choice, StrictModel
from synth.base.doors import tidy_text
from synth.base.errors import SpecError, suggestion
from synth.base.own_label import OwnLabel
from synth.base.rng import Randomness, digest
from synth.base.units import Decibels, Frames, Seconds, to_frames
from synth.corpus.schema import FORMAT_VERSION, canonical_json
from synth.corpus.shards import AudioFormat
from synth.labels.lexicon import shipped_phrases, spell_listed, words_digest
from synth.recipes import Recipe, recipe_class, recipe_names
from synth.recipes.base import Levels, Setting
from synth.scene.timeline import Fade
from synth.sources import Source, SourceChoice, Unheard, open_source
from synth.sources.catalogue import Acceptance
from synth.sources.selection import Allowed, SplitRule
from synth.truth.ear import Ear

CORPUS: Final = r"^[a-z0-9]+(-[a-z0-9]+)*$"
CORPUS_LETTERS: Final = 40
_FOREIGN: Final = re.compile(r"[^a-z0-9]+")


def make_corpus_name(text: str) -> str:
    """The name of a corpus that is most like a text."""
    return _FOREIGN.sub("-", text.lower()).strip("-")[:CORPUS_LETTERS].strip("-") or "corpus"


def _suggest_percent(shares: Mapping[str, float], total: float) -> str:
    """What was meant by shares that are percent."""
    if total > 100 or any(share < 1 for share in shares.values()):
        return ""
    guess = ", ".join(f"{name}: {share / 100:g}" for name, share in shares.items())
    return f"; did you mean {{{guess}}}?"


# A recipe by name, with its settings.


class RecipeChoice(Choice):
    """A recipe by name."""

    @classmethod
    def list_names(cls) -> tuple[str, ...]:
        """Every recipe."""
        return recipe_names()

    @classmethod
    def find_settings(cls, name: str) -> type[BaseModel]:
        """The class of a recipe."""
        return recipe_class(name)


PLAN_VERSION: Final = 17
SPLITS: Final = ("train", "val", "test")
SplitName = Literal["train", "val", "test"]


LENGTH: Final = re.compile(r"natural|(?P<mode>exact|padded) (?P<seconds>\d+(\.\d+)?) s")
MAX_LENGTH_S: Final = 3600.0
SampleRate = Literal[
    8_000, 11_025, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000, 88_200, 96_000, 176_400, 192_000
]


class AudioSpec(StrictModel):
    """The audio of a corpus.

    Args:
        sample_rate: In Hz.
        format: `flac` or `wav`, both 16-bit.
        length: `natural`: as long as the scene. `padded N s`: padded with silence to at least N s.
            `exact N s`: padded to N s, with long sounds cut to excerpts that fit.
        fade: Crossfade law.
        target_lufs: Loudness of every sound before mixing.
        max_gain_db: Maximum amplification of a quiet sound.
        max_below_db: Sounds that are still further below the target after amplification are not
            used.
        peak_db: Peak level in dBFS that no sample exceeds; no true peak exceeds 0 dBTP.
        stems: Keep each sound of a sample alone beside it; added, they are the sample.
    """

    sample_rate: SampleRate = 44_100
    format: AudioFormat = AudioFormat.FLAC
    length: str = "natural"
    fade: Fade = Fade.LINEAR
    target_lufs: Decibels = Field(default=-23.0, ge=-60, le=0)
    max_gain_db: Decibels = Field(default=20.0, ge=0, le=60)
    max_below_db: Decibels = Field(default=15.0, ge=0, le=120)
    peak_db: Decibels = Field(default=-1.0, ge=-40, le=0)
    # Left out where it is not set, so that specs of before have the digests that they had.
    stems: bool = Field(default=False, exclude_if=operator.not_)

    @field_validator("length")
    @classmethod
    def _check_length(cls, length: str) -> str:
        match = LENGTH.fullmatch(length)
        if match is None:
            raise ValueError(f"expected 'natural', 'padded 10 s' or 'exact 10 s', got {length!r}")
        if match["seconds"] and not 0 < float(match["seconds"]) <= MAX_LENGTH_S:
            raise ValueError(f"expected more than 0 s and at most {MAX_LENGTH_S:g} s")
        return length

    @property
    def exact_frames(self) -> Frames | None:
        """Frames of every sample, None where they may differ."""
        return self._parse_frames("exact")

    @property
    def least_frames(self) -> Frames:
        """Frames that every sample is padded to."""
        return self._parse_frames("exact") or self._parse_frames("padded") or 0

    def _parse_frames(self, mode: str) -> Frames | None:
        match = LENGTH.fullmatch(self.length)
        if match is None or match["mode"] != mode:
            return None
        return to_frames(float(match["seconds"]), self.sample_rate)

    @property
    def levels(self) -> Levels:
        """Gain control of single sounds."""
        return Levels(self.target_lufs, self.max_gain_db, self.max_below_db)

    @property
    def mixdown(self) -> Mixdown:
        """How scenes become PCM."""
        return Mixdown(self.fade, self.peak_db, self.stems)


class ClipsSpec(StrictModel):
    """Which clips are used, and which part of them counts as sound; others are quarantined.

    Args:
        min_active_s: Shortest sound, without the silence around it.
        max_s: Longest file.
        active_range_db: A 50 ms block belongs to the active span if it is at most this far below
            the loudest one.
        max_channels: Maximum number of channels of a file; they are mixed to one.
        min_rate: Lowest sampling rate in Hz.
        max_rate: Highest sampling rate in Hz; raise it for a corpus at a higher rate.
        mislabelled: `refuse` or `accept` files whose format does not match their name.
        decode_timeout_s: Maximum processor time for reading and measuring one clip.
    """

    min_active_s: Seconds = Field(default=0.1, gt=0, le=36_000)
    max_s: Seconds = Field(default=600.0, gt=0, le=36_000)
    active_range_db: Decibels = Field(default=50.0, gt=0, le=120)
    max_channels: int = Field(default=2, ge=1, le=64)
    min_rate: int = Field(default=4_000, ge=1_000, le=max(get_args(SampleRate)))
    max_rate: int = Field(default=96_000, ge=8_000, le=max(get_args(SampleRate)))
    mislabelled: Mislabelled = Mislabelled.REFUSE
    decode_timeout_s: Seconds = Field(default=60.0, gt=0, le=3600)

    @property
    def acceptance(self) -> Acceptance:
        """The same as the catalogue takes it."""
        return Acceptance(**self.model_dump())


class TruthSpec(StrictModel):
    """What can be heard. Levels are of blocks of 50 ms, relative to the sound's loudest block.

    Args:
        min_overlap_s: Shortest overlap in which two sounds can be told apart.
        clear_db: A clearly audible stretch starts where the level is at most this far down.
        leave_db: The stretch ends where the level falls further down than this.
        faint_db: A sound may be faintly audible down to this level.
        pause_s: Shorter pauses do not interrupt a stretch.
        blip_s: Shorter stretches may be missed.
        masked_db: A sound that is further below the sum of all sounds at that time may be missed.
            Amplitudes are added, since sounds may be in phase: each of two equal sounds is 6 dB
            below their sum.
    """

    min_overlap_s: Seconds = Field(default=0.1, ge=0, le=10)
    clear_db: Decibels = Field(default=25.0, gt=0, le=120)
    leave_db: Decibels = Field(default=25.0, gt=0, le=120)
    faint_db: Decibels = Field(default=35.0, gt=0, le=120)
    pause_s: Seconds = Field(default=0.1, ge=0, le=10)
    blip_s: Seconds = Field(default=0.1, ge=0, le=10)
    masked_db: Decibels = Field(default=15.0, ge=7, le=120)

    @model_validator(mode="after")
    def _check_order(self) -> Self:
        if not self.clear_db <= self.leave_db <= self.faint_db:
            raise ValueError(
                "expected clear_db at most leave_db, and that at most faint_db, got "
                f"{self.clear_db:g}, {self.leave_db:g} and {self.faint_db:g}"
            )
        return self

    @property
    def ear(self) -> Ear:
        """The same as an ear."""
        return Ear(**self.model_dump(exclude={"min_overlap_s"}))


class ShardsSpec(StrictModel):
    """The tar files of samples.

    Args:
        samples: Samples per shard; groups are never split, so a shard may hold a few fewer.
    """

    samples: int = Field(default=512, ge=1, le=100_000)


class Spec(StrictModel):
    """Everything that determines a corpus.

    Args:
        corpus: Name of the corpus: lowercase letters, digits and `-`.
        version: Name of this build; by default derived from the spec and its inputs.
        seed: Seed of everything random.
        source: One source by name, with its settings.
        recipe: One recipe by name, with its settings.
        audio: See `AudioSpec`.
        clips: See `ClipsSpec`.
        truth: See `TruthSpec`.
        splits: For each split: a share of the recordings, or a list of the library's own splits.
        shards: See `ShardsSpec`.
        enrich: Files of `segue llm run` about this spec's plan; their answers become captions.
        licences: Use only clips under these licences, such as `[CC0, CC-BY]`; null allows all.
        block: Lists of recordings or clips, or corpora, whose sounds must not be used.
        labels: How labels of the library are said, and what they are like.
    """

    corpus: str = Field(pattern=CORPUS, max_length=CORPUS_LETTERS)
    version: str | None = Field(
        default=None, pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$", max_length=100
    )
    seed: int = Field(default=0, ge=0, lt=2**63)
    source: SourceChoice
    recipe: RecipeChoice
    audio: AudioSpec = AudioSpec()
    clips: ClipsSpec = ClipsSpec()
    truth: TruthSpec = TruthSpec()
    splits: dict[SplitName, float | list[str | int]] = Field(default={"train": 1.0})
    shards: ShardsSpec = ShardsSpec()
    enrich: tuple[Path, ...] = ()
    licences: tuple[str, ...] | None = None
    block: tuple[Path, ...] = ()
    labels: dict[str, OwnLabel] | None = None

    @field_validator("version")
    @classmethod
    def _check_version(cls, version: str | None) -> str | None:
        if version == "latest":
            raise ValueError("'latest' is the name of the pointer to the newest version")
        return version

    @field_validator("corpus", mode="before")
    @classmethod
    def _check_corpus(cls, name: object) -> object:
        if isinstance(name, str) and name != make_corpus_name(name):
            raise ValueError(
                f"expected lowercase letters, digits and single '-', {CORPUS_LETTERS} at most, got "
                f"{name!r}; try {make_corpus_name(name)!r}"
            )
        return name

    @field_validator("audio")
    @classmethod
    def _check_audio(cls, audio: AudioSpec, info: ValidationInfo) -> AudioSpec:
        recipe = info.data.get("recipe")
        if audio.stems and recipe is not None and not recipe.chosen.mixes:
            raise ValueError(
                f"recipe {recipe.chosen.name} plays one clip a sample, whose only stem would be "
                "the sample again: leave out stems"
            )
        return audio

    @field_validator("licences")
    @classmethod
    def _check_licences(cls, licences: tuple[str, ...] | None) -> tuple[str, ...] | None:
        try:
            _ = licences is None or Allowed.of(licences)
        except SpecError as error:
            fault = str(error).removeprefix("licences: ")
            raise ValueError(
                f"{fault}; write a family (CC-BY), a version (CC-BY-4.0), a port (CC-BY-3.0-US), "
                "the licence's address, or unknown"
            ) from error
        return licences

    @field_validator("labels")
    @classmethod
    def _check_labels(cls, labels: dict[str, OwnLabel] | None) -> dict[str, OwnLabel] | None:
        by_name: dict[str, OwnLabel] = {}
        for name, label in (labels or {}).items():
            tidied = tidy_text(name)
            if not tidied.strip() or tidied in by_name:
                raise ValueError(f"{name!a}: is empty, or spells another label; give it one entry")
            by_name[tidied] = label
            for other in filter(None, (label.like, *label.also)):
                if spell_listed(other) is None:
                    fix = suggestion(other, shipped_phrases(), "`segue labels` searches them")
                    raise ValueError(f"{name}: no label {other!r} is listed; {fix}")
        return labels and by_name

    @field_validator("splits")
    @classmethod
    def _check_splits(cls, splits: dict[str, Any]) -> dict[str, Any]:
        shares = {name: share for name, share in splits.items() if isinstance(share, float)}
        if not splits or (shares and len(shares) < len(splits)):
            raise ValueError("give every split a share, or every split a list of source splits")
        total = sum(shares.values())
        if any(share <= 0 for share in shares.values()) or total > 1 + 1e-9:
            fault = f"shares must be above 0 and add up to 1 at most, got {total:g}"
            raise ValueError(fault + _suggest_percent(shares, total))
        lists = (names for names in splits.values() if isinstance(names, list))
        listed = [str(name) for names in lists for name in names]
        twice = {name for name in listed if listed.count(name) > 1}
        if twice:
            raise ValueError(f"source split {', '.join(sorted(twice))} is in two splits")
        return {name: splits[name] for name in SPLITS if name in splits}

    @property
    def setting(self) -> Setting:
        """What the recipe is given beside its own settings."""
        rate = self.audio.sample_rate
        return Setting(
            rate=rate,
            max_frames=self.audio.exact_frames,
            levels=self.audio.levels,
            audible=to_frames(self.truth.min_overlap_s, rate),
            randomness=Randomness(self.seed),
            ear=self.truth.ear,
            fade=self.audio.fade,
            least_frames=self.audio.least_frames,
            peak_db=self.audio.peak_db,
        )

    @property
    def split_rules(self) -> tuple[SplitRule, ...]:
        """The splits as the catalogue takes them."""
        return split_rules(self.splits)

    @property
    def intake(self) -> Intake:
        """What ingest is given."""
        return Intake(
            source=self.make_source(),
            rate=self.audio.sample_rate,
            acceptance=self.clips.acceptance,
            split_rules=self.split_rules,
            seed=self.seed,
            licences=self.licences,
            block=self.block,
            ear=self.truth.ear,
            labels={name: entry.label(name) for name, entry in (self.labels or {}).items()},
        )

    def make_source(self) -> Source | Unheard:
        """The source with its settings."""
        return open_source(self.source.chosen)  # type: ignore[arg-type]

    def make_recipe(self) -> Recipe:
        """The recipe with its settings."""
        return self.recipe.chosen  # type: ignore[return-value]

    def plan_digest(self, catalogue_digest: str) -> str:
        """What determines the plan: every setting, the seed and the clips' content.

        Where the library lies does not count; what it holds does. So do the words that ship.
        """
        determinants = self.model_dump(
            mode="json",
            include={"corpus", "seed", "recipe", "splits", "shards", "truth"},
            exclude_none=True,
        )
        audio = self.audio.model_dump(mode="json", exclude={"format", "peak_db", "stems"})
        settings = canonical_json([determinants, audio])
        parts = [str(PLAN_VERSION), settings, words_digest(), catalogue_digest]
        return digest(*parts, *filter(None, [enrichment_digest(self.enrich)]))

    def render_digest(self) -> str:
        """What determines the bytes of a planned sample."""
        names = {"format", "fade", "peak_db", "stems"}
        mixdown = self.audio.model_dump(mode="json", include=names)
        return digest(str(RENDER_VERSION), str(FORMAT_VERSION), canonical_json(mixdown))

    def build_digest(self, catalogue_digest: str) -> str:
        """What determines the whole corpus."""
        return digest(self.plan_digest(catalogue_digest), self.render_digest())


def split_rules(splits: Mapping[Any, Any]) -> tuple[SplitRule, ...]:
    """Splits as the catalogue takes them."""
    return tuple(
        SplitRule(name, fraction=share)
        if isinstance(share, float)
        else SplitRule(name, source_splits=tuple(map(str, share)))
        for name, share in splits.items()
    )


# What ingest is given: a library, and which of its clips are wanted in which form.


@dataclass(frozen=True, slots=True)
class Intake:
    """A sound library to ingest.

    Args:
        acceptance: Which recordings can be used.
        split_rules: How clips are dealt to splits.
        limit: Take the first so many clips only, None for all.
        licences: The licences that clips may have, None for any; see `selection.Allowed`.
        block: Lists of what may not be used; see `leakage.block.Block`.
        ear: What of a clip counts as audible; files are not read again for another.
        labels: What stands for labels of the library.
    """

    source: Source | Unheard
    rate: int
    acceptance: Acceptance = field(default_factory=Acceptance)
    split_rules: tuple[SplitRule, ...] = (SplitRule("train", 1.0),)
    seed: int = 0
    limit: int | None = None
    licences: tuple[str, ...] | None = None
    block: tuple[Path, ...] = ()
    ear: Ear = field(default_factory=Ear)
    labels: Mapping[str, str] = field(default_factory=dict)

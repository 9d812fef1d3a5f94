"""What a user may choose about a test; no torch, so that the command is offered at once."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

from synth.base.errors import SpecError
from synth.storage import may_be_folder

SLOT = "{}"
LEAST_S = 0.04
"""Shortest window and hop of localisation: a frame."""
MOST_S = 3600.0
"""The longest."""

QUERIES: Final = ".jsonl"
"""Suffix of files of queries for moments."""


def is_corpus(data: Path) -> bool:
    """Whether a path is that of a corpus, not of the file of a benchmark."""
    return may_be_folder(data) or not data.suffix


class Task(StrEnum):
    """What can be tested."""

    RETRIEVAL = "retrieval"
    """Audio to text and text to audio: R@1, R@5, R@10, mAP@10, median rank."""
    BAT = "bat"
    """Before/after test: the own text against the one with the word exchanged."""
    TRIPLETS = "triplets"
    """Forward, reversed or together, within each minimal-pair group."""
    NEGATIVES = "negatives"
    """Minimal pairs: the caption against each of its own false texts, by kind of edit."""
    NEGATION = "negation"
    """Captions with none, half and all of their tags denied: R@10 and triplet accuracy."""
    ZSTE = "zste"
    """Zero-shot temporal evaluation, T1 to T5B."""
    ZERO_SHOT = "zero-shot"
    """Zero-shot classification: top-1, or mAP where samples bear several labels."""
    COMPA = "compa"
    """CompA: text, audio and group score."""
    QUESTIONS = "questions"
    """Multiple choice: the answer to a question among four."""
    PTE = "pte"
    """Preposition test set: R@1 of the original against the clause-swapped sentence."""
    AS_THEN = "as-then"
    """As exchanged for then: R@10 among sentences with the same word."""
    LOCALISATION = "localisation"
    """When each sound is heard: PSDS, event F1, AUROC of frames. It runs only where asked for."""


class Padding(StrEnum):
    """What fills up an input of fixed length behind a shorter sound, as transformers calls it."""

    PAD = "pad"
    """Silence."""
    REPEAT = "repeat"
    """The sound again and again, the last time cut."""
    REPEATPAD = "repeatpad"
    """The sound as often as all of it fits, then silence."""


@dataclass(frozen=True, slots=True)
class BenchSettings:
    """Settings of all tasks.

    Args:
        seed: Of every draw and of every bootstrap, 0 or more.
        subset_size: Retrieval as the mean over random subsets of this many audios (Manco et al. use
            500); None for retrieval among all.
        subsets: Number of such subsets.
        negation_sample: At most this many samples, drawn at random, for the negation tasks
            (Vasilakis et al. use 512); None for all.
        prompts: Prompts that ZSTE T4 and T5B choose among, the right ones included, where the
            classes allow as many.
        templates: Prompts of zero-shot classification, each with {} for the class.
        every_caption: In a caption table, every row's caption is a query with one right sound, as
            published figures of AudioCaps and Clotho have it; else equal captions are one query.
        cut: Hear the first part of audio that is longer than the model takes, and count it; else
            such audio is an error.
        padding: What fills up the model's input.
        fusion: Hear audio that is longer than the model takes as fused CLAPs do.
        window_s: Localisation by the embeddings of windows of this length; None for the model's
            own embeddings of frames, or windows of 1 s where it has none or `hop_s` is given.
        hop_s: From one window to the next, None for 0.2 s.
    """

    seed: int = 0
    subset_size: int | None = None
    subsets: int = 10
    negation_sample: int | None = 512
    prompts: int = 50
    templates: tuple[str, ...] = ("This is a sound of {}.",)
    every_caption: bool = False
    cut: bool = False
    padding: Padding = Padding.PAD
    fusion: bool = False
    window_s: float | None = None
    hop_s: float | None = None

    def __post_init__(self) -> None:
        for name, value, least in (
            ("seed", self.seed, 0),
            ("subset_size", self.subset_size, 1),
            ("subsets", self.subsets, 1),
            ("negation_sample", self.negation_sample, 1),
            ("prompts", self.prompts, 4),
        ):
            if value is not None and value < least:
                raise SpecError(f"{name}: {value}", fix=f"give {least} or more")
        for name, seconds in (("window_s", self.window_s), ("hop_s", self.hop_s)):
            if seconds is not None and not LEAST_S <= seconds <= MOST_S:
                raise SpecError(f"{name}: {seconds}", fix=f"give {LEAST_S} to {MOST_S} s")
        if self.cut and self.fusion:
            raise SpecError(
                "got both cut and fusion for longer sounds: expected one", fix="give one"
            )
        if not self.templates:
            raise SpecError("no templates", fix="give one, such as 'the sound of {}'")
        for template in self.templates:
            if template.count(SLOT) != 1:
                raise SpecError(
                    f"template {template!r} holds {{}} {template.count(SLOT)} times",
                    fix="write {} once, where the class goes",
                )


DEFAULTS: Final = BenchSettings()


def fill_template(template: str, words: str) -> str:
    """The prompt of a template, whatever braces the words hold."""
    return template.replace(SLOT, words)

"""When each sound is heard: every sound of the split, asked of every frame of every sample."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from jaxtyping import Bool, Float

from synth.audio.dsp import Audio
from synth.base.errors import SpecError
from synth.base.progress import UNOBSERVED, Observer, track
from synth.base.units import Frames
from synth.corpus.schema import read_timeline
from synth.truth.frames import FRAMES_PER_S, count_frames, frame_length, label_frames
from train.bench.embedder import (
    Embedder,
    Embeddings,
    FrameEmbedder,
    TextEmbeddings,
    check_finite,
    cut_to_longest,
    embed_sounds,
    fill_up,
)
from train.bench.metrics import Metric
from train.bench.metrics.events import SILENT, FrameScores, FrameStates, localisation
from train.bench.plan import TaskPlan, TaskRefusal
from train.bench.settings import BenchSettings
from train.bench.sounds import SoundItem
from train.bench.tasks.samples import Samples
from train.data.frames import text_of
from train.data.rows import ManifestRow

_UNLABELLED: Final = "samples whose sounds have no labels with times"


def plan_samples(
    samples: Samples, rate: int, labelled: Bool[np.ndarray, " samples"], settings: BenchSettings
) -> TaskPlan | TaskRefusal:
    """`localisation_*`: the labels of the split as texts ("a dog barks")."""
    chosen: list[int] = np.flatnonzero(labelled).tolist()
    if not chosen:
        return TaskRefusal("no sample has labels with times")
    labels = sorted({label for number in chosen for label in samples.rows[number]["labels"]})

    def measure(audio: Embeddings, vectors: TextEmbeddings) -> dict[str, Metric]:
        return {}

    def measure_frames(scores: Sequence[FrameScores]) -> dict[str, Metric]:
        states = [_states(samples.rows[number], labels, rate) for number in chosen]
        chosen_scores = [scores[number] for number in chosen]
        return localisation(chosen_scores, states, samples.groups[chosen], settings.seed)

    return TaskPlan(
        tuple(map(text_of, labels)),
        measure,
        {_UNLABELLED: len(samples.rows) - len(chosen)},
        measure_frames,
    )


def _states(row: ManifestRow, labels: Sequence[str], rate: int) -> FrameStates:
    timeline, length = read_timeline(row), row["frames"]
    columns = [label_frames(label, timeline, length, frame_length(rate)) for label in labels]
    return np.stack(columns, axis=1)


DEFAULT_WINDOW_S: Final = 1.0
DEFAULT_HOP_S: Final = 0.2


def frames_of(embedder: Embedder, settings: BenchSettings) -> tuple[FrameEmbedder, int] | None:
    """The model and the length of its own frames; None where it is tested with windows.

    Whoever gives a hop asks for windows.
    """
    is_free = settings.window_s is None and settings.hop_s is None
    if is_free and isinstance(embedder, FrameEmbedder) and embedder.frame:
        return embedder, embedder.frame
    return None


def describe_frames(embedder: Embedder, settings: BenchSettings) -> str:
    """How frames get their scores, for a report."""
    if native := frames_of(embedder, settings):
        return f"the model's own embeddings of {native[1] / embedder.sample_rate:g} s"
    window_s, hop_s = settings.window_s or DEFAULT_WINDOW_S, settings.hop_s or DEFAULT_HOP_S
    return f"windows of {window_s:g} s every {hop_s:g} s"


def score_frames(
    embedder: Embedder,
    sounds: Sequence[SoundItem],
    texts: Sequence[str],
    vectors: TextEmbeddings,
    settings: BenchSettings,
    observer: Observer = UNOBSERVED,
) -> list[FrameScores]:
    """Cosines of the frames of every sound to each text, -1 in digital silence.

    A frame that several stretches of a model share has their mean, by how much of it each covers.
    """
    rate, native = embedder.sample_rate, frames_of(embedder, settings)
    window_s = settings.window_s or DEFAULT_WINDOW_S
    window, hop = round(window_s * rate), round((settings.hop_s or DEFAULT_HOP_S) * rate)
    if not native and embedder.longest is not None and window > embedder.longest:
        raise SpecError(
            f"windows of {window_s:g} s: the model takes {embedder.longest / rate:g} s",
            fix="give a shorter window",
        )
    targets = np.array([vectors[text] for text in texts])
    scores: list[FrameScores] = []
    for sound in track(sounds, observer, "listen", "sounds"):
        waveform = sound.load(rate)
        if native:
            model, step = native
            whole = cut_to_longest(waveform, sound.name, embedder, settings.cut)
            (embedded,) = model.frames([whole])
            check_finite(embedded, [sound.name] * len(embedded))
        else:
            step = hop
            parts = windows(waveform, sound.name, window, hop)
            fitted = fill_up(parts, settings.padding, embedder.longest)
            embedded, _ = embed_sounds(embedder, fitted)
        scores.append(_spread(embedded @ targets.T, waveform, step, rate))
    return scores


def windows(waveform: Audio, name: str, window: Frames, hop: Frames) -> list[SoundItem]:
    """Parts of a sound: a window about the middle of each hop, moved into the sound at its ends.

    Args:
        window: Length of a window; a shorter sound is one in itself.
    """
    middles = range((hop - window) // 2, len(waveform) + (hop - window) // 2, hop)
    starts = (min(max(middle, 0), max(len(waveform) - window, 0)) for middle in middles)
    parts = [waveform[start : start + window] for start in starts]
    return [SoundItem(name, 0, lambda _, part=part: part) for part in parts]  # type: ignore[misc]


def _spread(
    scores: Float[np.ndarray, "steps texts"], waveform: Audio, step: Frames, rate: int
) -> FrameScores:
    """The scores of frames, from those of longer or shorter steps."""
    length = frame_length(rate)
    count = count_frames(len(waveform), length)
    # In units of 1 / FRAMES_PER_S of a sample, in which both steps are whole numbers.
    begin = np.arange(count)[:, None] * rate
    start = np.arange(len(scores))[None] * step * FRAMES_PER_S
    ends = np.minimum(begin + rate, start + step * FRAMES_PER_S)
    overlap = np.maximum(ends - np.maximum(begin, start), 0).astype(np.float64)
    covered = overlap.sum(axis=1, keepdims=True)
    means = overlap @ scores / np.maximum(covered, 1)
    edges = [min(int(k * length), len(waveform)) for k in range(count + 1)]
    loud = np.add.reduceat(waveform != 0, edges[:-1]) > 0
    sounding = (covered[:, 0] > 0) & loud
    return np.where(sounding[:, None], means, SILENT).astype(np.float32)

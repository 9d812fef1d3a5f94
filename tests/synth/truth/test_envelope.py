"""Envelopes that lie in a table are heard as those in memory."""

from __future__ import annotations

import pickle

import numpy as np
import pyarrow as pa
import pytest

from synth.audio.dsp import block_frames, loudness, weighted_levels
from synth.audio.dsp import levels as levels_of
from synth.corpus.schema import read_levels
from synth.scene.scene import Concat, Event, Excerpt, Overlay, Scene
from synth.scene.timeline import Fade, timeline
from synth.truth import listener
from synth.truth.ear import Ear, Envelope, StoredEnvelope, find_acoustics
from synth.truth.listener import Listener
from tests.kit.cases import cases

RATE = 16_000
BLOCK = 800.0
CLIPS = 7


def levels() -> tuple[list[list[float]], list[list[float]]]:
    """Of some clips; the third was never heard."""
    rng = np.random.default_rng(3)
    made = [np.round(-60 * rng.random(30 + 5 * clip), 1).tolist() for clip in range(CLIPS)]
    made[2] = []
    # A catalogue holds them in single precision.
    plain = [[float(np.float32(level)) for level in each] for each in made]
    return plain, [[float(np.float32(level - 2.5)) for level in each] for each in plain]


def frames_of(clip: int, blocks: int) -> int:
    return int(blocks * BLOCK) - 100 * clip if blocks else RATE


def scenes() -> list[Scene]:
    plain, _ = levels()
    events = [
        Event("dog", Excerpt(f"lib/{clip}", 0, frames_of(clip, len(blocks)), -3.0 * clip))
        for clip, blocks in enumerate(plain)
    ]
    pairs = [(one, other) for one in events for other in events if one is not other]
    return [scene for pair in pairs for scene in (Concat(*pair, 400), Overlay(*pair))]


@cases("kept", [2, 100])
@cases("travels", [False, True])
def test_stored_envelopes_are_heard_alike(
    monkeypatch: pytest.MonkeyPatch, kept: int, travels: bool
) -> None:
    monkeypatch.setattr(listener, "_READ", kept)
    plain, weighted = levels()
    column = pa.list_(pa.float32())
    schema = pa.schema(
        [("levels_db", column), ("levels_dba", column), ("attacks", pa.list_(pa.int8()))]
    )
    attacks = [[number % 2 for number in range(len(each))] for each in plain]
    columns = [[[0.0], *plain], [[0.0], *weighted], [[0], *attacks]]
    whole = pa.record_batch(columns, schema=schema)
    table = read_levels(whole.slice(1))
    there: dict[str, Envelope] = {}
    stored: dict[str, StoredEnvelope] = {}
    for clip, (own, a_weighted) in enumerate(zip(plain, weighted, strict=True)):
        frames = frames_of(clip, len(own))
        stored[f"lib/{clip}"] = StoredEnvelope(table, clip, -20.0, BLOCK, frames)
        there[f"lib/{clip}"] = (
            Envelope(tuple(own), tuple(a_weighted), BLOCK, frames, attacks[clip])
            if own
            else Envelope((-20.0,), (-20.0,), float(frames), frames)
        )
    if travels:
        stored = pickle.loads(pickle.dumps(stored))
    one, other = Listener(Ear(), RATE, there), Listener(Ear(), RATE, stored)
    for scene in scenes():
        assert other.hear(scene) == one.hear(scene)
        assert other.extent(scene) == one.extent(scene)
        assert other.loudest_weighted(scene) == one.loudest_weighted(scene)


# How sounds sound: what the levels of a clip tell, beside what is measured of the samples


FRAMES = 2 * RATE
FADE = RATE // 2


def make_knock(at_s: float) -> np.ndarray:
    """Soft noise with a loud stretch of 0.2 s."""
    audio = np.random.default_rng(3).standard_normal(FRAMES).astype(np.float32) * 0.01
    audio[round(at_s * RATE) :][: RATE // 5] *= 20
    return audio


def envelope_of(audio: np.ndarray) -> Envelope:
    levels = weighted_levels(audio, RATE)
    return Envelope(levels, levels, block_frames(RATE), len(audio))


def fade(audio: np.ndarray, law: Fade, *, rises: bool) -> np.ndarray:
    progress = np.arange(FADE, dtype=np.float32) / FADE
    faded = audio.copy()
    if rises:
        faded[:FADE] *= law.rise(progress)
    else:
        faded[-FADE:] *= law.rise(1 - progress)
    return faded


@cases("law", Fade)
@cases("at_s", [0.05, 1.0, 1.75])
def test_what_a_crossfade_takes_counts(law: Fade, at_s: float) -> None:
    audio = make_knock(at_s)
    event = Event("knock", Excerpt("k", 0, FRAMES, -6.0))
    placed = timeline(Concat(event, event, FADE))
    for number, rises in ((0, False), (1, True)):
        found = find_acoustics(placed, number, envelope_of(audio), law, {})
        faded = envelope_of(fade(audio, law, rises=rises) * np.float32(10 ** (-6 / 20)))
        expected = faded.weigh(0, FRAMES)
        assert found is not None
        assert expected is not None
        assert found.mean_dba == pytest.approx(expected.mean_dba, abs=0.5)
        assert found.peak_dba == pytest.approx(expected.peak_dba, abs=0.7)
        assert found.thirds_dba == pytest.approx(expected.thirds_dba, abs=0.5)


@cases(("start", "frames", "gain_db"), [(0, FRAMES, 0.0), (RATE // 2, RATE, -9.0)])
@cases("pitch", [100, 1_000, 4_000])
def test_loudness_is_that_of_the_standard(
    start: int, frames: int, gain_db: float, pitch: int
) -> None:
    """Knocks of a tone, of which the gates leave out the pauses."""
    moments = np.arange(FRAMES) / RATE
    audio = 0.3 * np.sin(2 * np.pi * pitch * moments) * 10 ** (-3 * (moments % 0.7))
    audio = audio.astype(np.float32)
    by_weighting = levels_of(audio, RATE), weighted_levels(audio, RATE)
    envelope = Envelope(
        *by_weighting, block_frames(RATE), FRAMES, loudness_lufs=loudness(audio, RATE)
    )
    weights = envelope.weigh(start, frames, gain_db=gain_db)
    assert weights is not None
    expected = loudness(audio[start : start + frames] * np.float32(10 ** (gain_db / 20)), RATE)
    assert weights.lufs == pytest.approx(expected, abs=1.0)


@cases(("start", "frames"), [(0, FRAMES - 1), (1, FRAMES - 1)])
def test_a_part_is_not_compared_with_the_recording(start: int, frames: int) -> None:
    envelope = envelope_of(make_knock(1.0))

    def recording_of(scene: Scene) -> str:
        found = find_acoustics(timeline(scene), 0, envelope, Fade.LINEAR, {"k~far": ("k", "far")})
        assert found is not None
        return found.recording

    assert recording_of(Event("knock", Excerpt("k~far", 0, FRAMES))) == "k"
    assert recording_of(Event("knock", Excerpt("k~far", start, frames))) == ""

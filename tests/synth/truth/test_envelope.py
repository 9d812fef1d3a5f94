"""Envelopes: stored ones are heard alike, and tell how sounds sound and where most hear them."""

from __future__ import annotations

import pickle
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest
from jaxtyping import Float

from synth.audio.dsp import (
    Audio,
    a_weight,
    block_frames,
    fade_in,
    levels,
    loudness,
    weighted_levels,
)
from synth.captions.narrative import Resolution, dense_captions
from synth.corpus.schema import read_levels
from synth.scene.activity import Stretch, hull
from synth.scene.scene import Concat, Event, Excerpt, Overlay, Scene
from synth.scene.timeline import Fade, timeline
from synth.truth import listener
from synth.truth.ear import Ear, Envelope, StoredEnvelope, find_acoustics
from synth.truth.listener import Listener
from tests.kit.cases import cases

RATE = 16_000
BLOCK = 800.0
CLIPS = 7


def draw_levels() -> tuple[list[list[float]], list[list[float]]]:
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
    plain, _ = draw_levels()
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
    plain, weighted = draw_levels()
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
    by_weighting = levels(audio, RATE), weighted_levels(audio, RATE)
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


# Where most listeners hear a sound, beside an envelope of its audio that knows no blocks.


NEAR = RATE // 20


def noise(seconds: float, shape: Callable[..., Float[np.ndarray, ...]], seed: int = 0) -> Audio:
    """Noise under a level in dB that depends on the time in seconds."""
    moments = np.arange(round(seconds * RATE)) / RATE
    white = np.random.default_rng(seed).standard_normal(len(moments))
    return np.asarray(0.1 * white * 10 ** (shape(moments) / 20), dtype=np.float32)


def listen(**clips: Audio) -> Listener:
    """A listener who knows the levels of clips."""
    envelopes = {
        name: Envelope(levels(audio, RATE), weighted_levels(audio, RATE), RATE / 20, len(audio))
        for name, audio in clips.items()
    }
    return Listener(Ear(), RATE, envelopes, Fade.LINEAR)


def event(name: str, audio: Audio, start: int = 0, gain_db: float = 0.0) -> Event:
    return Event(name, Excerpt(name, start, len(audio) - start, gain_db))


def find_heard(audio: Audio) -> Stretch:
    """From the first to the last 20 ms within 30 dB of the loudest, in steps of 5 ms."""
    energy = np.concatenate([[0.0], np.cumsum(np.square(audio, dtype=np.float64))])
    at = np.arange(0, len(audio), 80)
    powers = energy[np.minimum(at + 160, len(audio))] - energy[np.maximum(at - 160, 0)]
    heard = at[powers >= powers.max() / 1000]
    return Stretch(int(heard[0]), int(heard[-1]))


@cases(
    ("decay_db", "begins_s", "start"),
    [(20, 0.0, 0), (60, 0.33, 0), (60, 0.36, 3_000), (300, 0.52, 0), (2000, 0.777, 123)],
)
def test_labels_lie_by_the_envelope_of_a_sound(
    decay_db: float, begins_s: float, start: int
) -> None:
    audio = noise(2.0, lambda t: np.where(t < begins_s, -90, -decay_db * (t - begins_s)))
    (place,) = (
        listen(dog=audio).locate(listen(dog=audio).hear(event("dog", audio, start))).placements
    )
    expected = find_heard(a_weight(audio[start:], RATE))
    assert np.abs(np.subtract(hull(place.heard.likely), expected)).max() <= NEAR


def test_labels_follow_crossfades() -> None:
    one, other = noise(2.0, np.zeros_like), noise(2.0, np.zeros_like, seed=1)
    listener = listen(rain=one, wind=other)
    scene = Concat(event("rain", one), event("wind", other), RATE)
    first, second = listener.locate(listener.hear(scene)).placements
    rising = fade_in(RATE, Fade.LINEAR)
    one[-RATE:] *= rising[::-1]
    other[:RATE] *= rising
    for place, audio in ((first, one), (second, other)):
        expected = np.add(find_heard(audio), place.onset)
        assert np.abs(np.subtract(hull(place.heard.likely), expected)).max() <= NEAR


def test_labels_that_were_found_move_with_their_sounds() -> None:
    barks = noise(2.0, lambda t: np.where(t % 0.6 < 0.2, 0, -60))
    clips = {"dog": barks, "rain": noise(1.5, lambda t: -30 * t, seed=1)}
    dog, rain = (event(name, audio) for name, audio in clips.items())
    tail = Concat(rain, dog, 3_000)
    scenes = [
        *(Concat(dog, rain, fade) for fade in (0, 4_000, 8_000)),
        *(Overlay(dog, rain, offset) for offset in (777, 937, -777)),
        *(Concat(dog, tail, 4_000), Concat(tail, dog, 4_000), tail),
    ]
    often = listen(**clips)
    for scene in scenes:
        once = listen(**clips)
        assert often.locate(often.hear(scene)) == once.locate(once.hear(scene))


@cases(
    ("gap_db", "low_db", "pauses"),
    [(-29.0, -90.0, False), (-31.0, -90.0, False), (-60.0, -90.0, True), (-60.0, -25.0, True)],
)
def test_a_pause_is_one_where_either_weighting_falls(
    gap_db: float, low_db: float, pauses: bool
) -> None:
    """A sound that dies to 26 dB below its loudest, falls further for 0.4 s, and comes again."""
    audio = noise(3.0, lambda t: np.select([t < 1, t < 1.5, t < 1.9], [0, -26, gap_db], -20))
    audio += 0.1 * 10 ** (low_db / 20) * np.sin(2 * np.pi * 40 * np.arange(len(audio)) / RATE)
    listener = listen(dog=audio.astype(np.float32))
    (place,) = listener.locate(listener.hear(event("dog", audio))).placements
    assert (len(place.heard.likely) > 1) is pauses


def test_dense_captions_do_not_drop_what_is_masked_for_a_moment() -> None:
    """Rain goes on while a siren drowns it, from 1 to 2 s."""
    rain = noise(3.0, np.zeros_like)
    siren = noise(1.0, np.zeros_like, seed=1)
    listener = listen(rain=rain, siren=siren)
    scene = Overlay(event("rain", rain, gain_db=-24.0), event("siren", siren), RATE)
    heard = listener.hear(scene)
    assert len(heard.placements[0].heard.clear) == 2
    captions = dense_captions(listener.locate(heard), heard.frames, RATE // 10)
    scenes = [each.text for each in captions if each.resolution is Resolution.SCENE]
    assert scenes == ["rain falls", "rain falls and a siren wails", "rain falls"]

"""Where most listeners hear a sound, beside an envelope of its audio that knows no blocks."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from jaxtyping import Float

from synth.audio.dsp import Audio, a_weight, fade_in, levels, weighted_levels
from synth.captions.narrative import Resolution, dense_captions
from synth.scene.activity import Stretch, hull
from synth.scene.scene import Concat, Event, Excerpt, Overlay
from synth.scene.timeline import Fade
from synth.truth.ear import Ear, Envelope
from synth.truth.listener import Listener
from tests.kit.cases import cases

RATE = 16_000
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

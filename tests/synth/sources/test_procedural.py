"""The procedural libraries: what their tags and labels say is true of the sound."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import cache, lru_cache

import numpy as np
import pytest
from numpy.typing import NDArray

from synth.labels.lexicon import Tag
from synth.sources import ClipRef
from synth.sources.catalogue import Acceptance, catalogue
from synth.sources.procedural import jam
from synth.sources.procedural.foley import CLASSES, RATE, synthesize
from synth.sources.procedural.jam.genres import Song, line, melody
from synth.sources.procedural.jam.timbres import (
    CLAP,
    DRUMS,
    KICK,
    RIDE,
    SNARE,
    Note,
    PlayerPart,
    Reverb,
)
from synth.sources.procedural.jam.timbres import (
    stems as make_stems,
)
from synth.sources.procedural.sources import Foley, Jam
from tests.kit.cases import cases
from tests.kit.libraries import assert_told_apart, check

TAKES = 2
TAKE = [(genre, take) for genre in jam.GENRES for take in range(TAKES)]
MAJOR = (1, 0, 0.2, 0, 1, 0.3, 0, 1, 0, 0.3, 0, 0.2)
MINOR = (1, 0, 0.2, 1, 0, 0.3, 0, 1, 0.3, 0, 0.2, 0.2)


def rng(genre: str, take: int, use: int) -> np.random.Generator:
    return np.random.default_rng([take, jam.GENRES.index(genre), use])


@cache
def tune(genre: str, take: int) -> jam.Tune:
    return jam.compose(rng(genre, take, 0), genre)


@cache
def stems(genre: str, take: int) -> dict[str, NDArray[np.float32]]:
    return make_stems(tune(genre, take), rng(genre, take, 1))


@cache
def track(genre: str, take: int) -> NDArray[np.float32]:
    return jam.perform(tune(genre, take), rng(genre, take, 1))


def loop(genre: str, take: int) -> NDArray[np.float64]:
    mix: NDArray[np.float64] = np.sum(list(stems(genre, take).values()), axis=0, dtype=np.float64)
    return mix


@lru_cache(maxsize=1)
def library() -> tuple[tuple[ClipRef, jam.Tune], ...]:
    source = Jam()
    return tuple((ref, source._tune(int(ref.location))) for ref in source.refs())


def moods(t: jam.Tune) -> set[str]:
    return {tag.name for tag in jam.tags(t) if tag.category == "mood"}


def pitched(t: jam.Tune) -> list[Note]:
    return [n for part in t.parts if part.instrument != DRUMS for n in part.notes]


def starts(t: jam.Tune, instrument: str, pitch: int | None = None) -> set[float]:
    """Places in the bar, in beats, at which an instrument plays."""
    return {
        round(note.start % t.meter, 4)
        for part in t.parts
        if part.instrument == instrument
        for note in part.notes
        if pitch in (None, note.pitch)
    }


def spectra(x: NDArray[np.floating], size: int) -> NDArray[np.float64]:
    windows = np.lib.stride_tricks.sliding_window_view(x, size)[:: size // 2]
    power: NDArray[np.float64] = np.abs(np.fft.rfft(windows * np.hanning(size))) ** 2
    return power


# The sound


@cases(("genre", "take"), TAKE)
def test_a_loop_is_whole_bars_of_mono_audio_that_does_not_clip(genre: str, take: int) -> None:
    t = tune(genre, take)
    x = track(genre, take)
    assert x.dtype == np.float32
    assert x.shape == (round(t.bars * t.meter * 60 / t.bpm * jam.RATE),)
    assert 6 * jam.RATE <= x.size <= 10 * jam.RATE
    assert np.isfinite(x).all()
    assert -10.1 <= 20 * np.log10(np.abs(x).max()) <= -0.9
    assert abs(x.mean()) < 0.01
    assert np.allclose(x, loop(genre, take), atol=1e-6)
    room = stems(genre, take)["room"]
    level = 20 * np.log10(np.sqrt(np.mean(room**2) / np.mean((x - room) ** 2)))
    assert level == pytest.approx(-6 if t.room.decay >= 2 else -16.5, abs=0.5)


def test_equal_seeds_give_equal_bits_and_other_seeds_other_music() -> None:
    for genre in jam.GENRES:
        again = jam.compose(rng(genre, 0, 0), genre)
        assert again == tune(genre, 0) != tune(genre, 1)
        performed = jam.perform(again, rng(genre, 0, 1))
        assert performed.tobytes() == track(genre, 0).tobytes() != track(genre, 1).tobytes()
    with pytest.raises(ValueError, match=r"'polka'.*ambient.*waltz"):
        jam.compose(np.random.default_rng(0), "polka")


# Instruments


@cases(("genre", "take"), TAKE)
def test_an_instrument_is_tagged_if_and_only_if_it_is_heard(genre: str, take: int) -> None:
    names = {tag.name for tag in jam.tags(tune(genre, take)) if tag.category == "instrument"}
    heard = stems(genre, take)
    assert set(heard) - {"room"} == names
    whole = np.sqrt(np.mean(loop(genre, take) ** 2))
    for name in names:
        for half in np.array_split(heard[name].astype(np.float64), 2):
            assert 20 * np.log10(np.sqrt(np.mean(half**2)) / whole) > -13


@cases(("genre", "take"), TAKE)
def test_no_instrument_is_masked_by_the_others(genre: str, take: int) -> None:
    """In a quarter of all moments some third of an octave is mostly this instrument's."""
    size = 8192
    edges = np.unique(np.geomspace(6, 2000, 26).astype(int))  # 35 Hz to 12 kHz
    bands = {
        name: np.add.reduceat(spectra(x, size)[:, : edges[-1]], edges[:-1], axis=1)
        for name, x in stems(genre, take).items()
    }
    whole = np.sum(list(bands.values()), axis=0)
    audible = whole > 1e-5 * whole.sum(axis=1).max()
    for name in tune(genre, take).instruments:
        assert ((bands[name] > whole / 2) & audible).any(axis=1).mean() > 0.25, name


@cases("name", sorted(set(jam.VOCABULARY["instrument"]) - {DRUMS}))
@cases("pitch", [45, 57, 69])
def test_an_instrument_plays_in_tune(name: str, pitch: int) -> None:
    note = Note(0, 4, pitch, 1.0)
    t = jam.Tune("folk", 60, 4, 2, "major", 9, (PlayerPart(name, (note,)),), Reverb(0.3, 0.01), 0.0)
    x = jam.perform(t, np.random.default_rng(0))[: jam.RATE]
    spectrum = np.abs(np.fft.rfft(x * np.hanning(x.size), 8 * x.size))
    f = np.arange(spectrum.size) / 8
    expected = 440 * 2 ** ((pitch - 69) / 12)
    near = np.abs(f - expected) < 0.06 * expected
    found = f[near][spectrum[near].argmax()]
    assert abs(1200 * np.log2(found / expected)) < 15
    assert spectrum[near].max() > 0.05 * spectrum.max()


# Tempo, metre and mode


def pulse(x: NDArray[np.float64], bpm: NDArray[np.float64]) -> NDArray[np.float64]:
    """How strongly a loop pulses at each tempo: the autocorrelation of its onsets."""
    hop = jam.RATE // 100
    padded = np.concatenate((x, x[:1024]))
    windows = np.lib.stride_tricks.sliding_window_view(padded, 1024)[: x.size // hop * hop : hop]
    levels = np.log10(np.abs(np.fft.rfft(windows * np.hanning(1024))) + 1e-4)
    onsets = np.maximum(np.diff(levels, axis=0, prepend=levels[-1:]), 0).sum(axis=1)
    onsets -= onsets.mean()
    same = np.fft.irfft(np.abs(np.fft.rfft(onsets)) ** 2, onsets.size)[: onsets.size // 2]
    lags = [np.interp(k * 6000 / bpm, np.arange(same.size), same) for k in (1, 2, 3)]
    strength: NDArray[np.float64] = np.sum(lags, axis=0) / same[0]
    return strength


@cases(("genre", "take"), [each for each in TAKE if each[0] != "ambient"])
def test_the_loudest_pulse_near_the_tempo_is_the_tempo(genre: str, take: int) -> None:
    bpm = tune(genre, take).bpm * np.linspace(0.85, 1.15, 121)
    strength = pulse(loop(genre, take), bpm)
    assert abs(bpm[strength.argmax()] / tune(genre, take).bpm - 1) < 0.02


@pytest.mark.slow
def test_the_mode_is_heard() -> None:
    right = []
    for genre, take in TAKE:
        t = tune(genre, take)
        x = loop(genre, take) - stems(genre, take).get(DRUMS, 0.0)
        amplitude = np.abs(np.fft.rfft(x * np.hanning(x.size)))
        f = np.fft.rfftfreq(x.size, 1 / jam.RATE)
        inside = (f > 60) & (f < 1200)
        classes = np.rint(69 + 12 * np.log2(f[inside] / 440)).astype(int) % 12
        chroma = np.sqrt(np.bincount(classes, amplitude[inside] ** 2, 12))
        chroma = np.roll(chroma, -t.key)
        heard = "major" if np.dot(chroma, MAJOR) > np.dot(chroma, MINOR) else "minor"
        right.append(heard == t.mode)
    assert np.mean(right) >= 0.9


# Moods


def test_mode_and_moods_are_tagged_by_their_rules_and_only_then() -> None:
    for _, t in library():
        thirds = [(n.pitch - t.key) % 12 for n in pitched(t)]
        # The third of the key sounds; that of the other mode never.
        assert {step for step in thirds if step in (3, 4)} == {3 if t.mode == "minor" else 4}
        drums = any(part.instrument == DRUMS for part in t.parts)
        minor = 3 in thirds
        moments = {round(n.start, 2) for part in t.parts for n in part.notes}
        sparse = len(moments) / (t.bars * t.meter * 60 / t.bpm) <= 3
        slow, fast = t.bpm <= 84, t.bpm >= 100
        assert slow != fast
        rules = {
            "calm": slow and sparse,
            "dark": minor and max(n.pitch for n in pitched(t)) <= 62,
            "dreamy": slow and sparse and not drums and t.room.decay >= 2,
            "energetic": fast and not sparse and drums,
            "happy": fast and not minor,
            "sad": slow and sparse and minor,
        }
        assert moods(t) == {name for name, holds in rules.items() if holds}


def test_no_tune_lies_near_the_border_of_a_mood() -> None:
    many = [jam.compose(np.random.default_rng(i)) for i in range(500)]
    assert not any(82 < t.bpm < 102 for t in many)
    assert not any(max(n.pitch for n in pitched(t)) in (63, 64) for t in many)
    assert not any(0.8 < t.room.decay < 2.0 for t in many)
    # Sparse or dense decides for slow tunes, and for fast ones with drums.
    assert not any(2.8 < t.onset_rate < 4.6 for t in many if t.bpm <= 84)
    assert not any(t.onset_rate < 3.2 for t in many if t.bpm >= 100 and DRUMS in t.instruments)


# Genres


def test_each_genre_keeps_its_rhythm() -> None:
    for genre, take in TAKE:
        t = tune(genre, take)
        assert (DRUMS in t.instruments) == (
            genre in ("funk", "jazz", "march", "reggae", "rock", "techno")
        )
        assert t.meter == (3 if genre == "waltz" else 4)
    for take in range(TAKES):
        assert starts(tune("techno", take), DRUMS, KICK) == {0, 1, 2, 3}
        assert starts(tune("techno", take), DRUMS, CLAP) <= {1, 3}
        assert starts(tune("rock", take), DRUMS, SNARE) == {1, 3}
        assert {1.6667, 3.6667} <= starts(tune("jazz", take), DRUMS, RIDE)
        assert starts(tune("jazz", take), "bass") == {0, 1, 2, 3}
        assert starts(tune("reggae", take), DRUMS, KICK) == {2}
        assert "music box" in tune("lullaby", take).instruments
        assert "guitar" in tune("folk", take).instruments
        lowest = {n.start for n in pitched(tune("waltz", take)) if n.pitch <= 47}
        assert {start % 3 for start in lowest} == {0}


def texture(x: NDArray[np.floating]) -> NDArray[np.float64]:
    """Neither key nor level: of 26 bands the mean level, its spread, and how fast it changes."""
    power = spectra(x, 1024)
    edges = np.unique(np.geomspace(2, power.shape[1] - 1, 27).astype(int))
    bands = np.log(np.add.reduceat(power[:, : edges[-1]], edges[:-1], axis=1) + 1e-12)
    bands = np.maximum(bands, bands.max() - 9)
    mean = np.log(np.exp(bands).mean(axis=0))
    speed = np.abs(np.diff(bands, axis=0)).mean(axis=0)
    return np.concatenate((mean - mean.mean(), bands.std(axis=0), speed))


@pytest.mark.slow
def test_genres_are_told_apart_by_their_sound() -> None:
    all_ = np.array([[texture(loop(genre, take)) for take in range(8)] for genre in jam.GENRES])
    assert_told_apart(all_[:, :5], all_[:, 5:], least=0.8)


def test_lines_and_melodies_follow_the_chords() -> None:
    song = Song(0, "minor", 4, (0, 4))
    assert [n.pitch for n in line(song, ("0.1.2.3.",), 36)] == [36, 39, 43, 48, 31, 35, 38, 43]
    assert [n.length for n in line(song, ("0-------", "0..."), 36)] == [4, 1]
    tune_ = melody(song, ("x-xx----",), 60, np.random.default_rng(0))
    assert [n.start for n in tune_] == [0, 1, 1.5, 4, 5, 5.5]
    assert tune_[0].pitch == 63
    assert all(48 <= n.pitch <= 72 for n in tune_)


# The vocabulary


def test_all_tags_are_of_the_vocabulary_and_each_is_used_by_many_and_by_not_too_many() -> None:
    counts = Counter(tag for ref, _ in library() for tag in ref.tags)
    assert set(counts) == {Tag(c, name) for c, names in jam.VOCABULARY.items() for name in names}
    assert all(list(names) == sorted(set(names)) for names in jam.VOCABULARY.values())
    assert min(counts.values()) >= 8
    assert max(counts.values()) <= 0.61 * len(library())
    for ref, t in library():
        assert list(ref.tags) == sorted(set(ref.tags))
        assert [tag.name for tag in ref.tags if tag.category == "genre"] == [t.genre]
    for mood in jam.VOCABULARY["mood"]:
        shares = [
            np.mean([mood in moods(t) for _, t in library() if t.genre == genre])
            for genre in jam.GENRES
        ]
        assert any(0.1 < share < 0.9 for share in shares), mood


# The source


def test_the_source_deals_the_genres_evenly_to_five_folds(monkeypatch: pytest.MonkeyPatch) -> None:
    # It lists without making a sound.
    monkeypatch.delattr("synth.sources.procedural.jam.perform")
    monkeypatch.delattr("synth.sources.procedural.jam.timbres.stems")
    refs = check(Jam())
    assert len(refs) == 200
    assert refs[12].id == refs[12].recording == "jam/00012"
    assert {ref.labels for ref in refs} == {("music",)}
    counts = Counter((ref.split, ref.tags[0].name) for ref in refs)
    assert len(counts) == 5 * len(jam.GENRES)
    assert set(counts.values()) == {200 // (5 * len(jam.GENRES))}


def test_a_track_is_the_same_whatever_else_is_listed() -> None:
    source = Jam()
    first, second, *_ = source.refs()
    one, again, other = source.load(first), source.load(first), source.load(second)
    assert one.sha256 == again.sha256 != other.sha256
    assert (one.rate, one.channels) == (jam.RATE, 1)
    assert list(Jam(tracks=1).refs()) == [first]
    assert Jam(tracks=1).load(first).sha256 == one.sha256
    assert Jam(seed=1).load(first).sha256 != one.sha256
    assert Jam(seed=1).stamp(first) != source.stamp(first)


def test_the_catalogue_takes_the_whole_of_a_track() -> None:
    source = Jam(tracks=len(jam.GENRES))
    for ref in source.refs():
        row = catalogue(source, ref, jam.RATE, Acceptance()).row
        assert row["offset"] - row["onset"] > 0.95 * row["frames"]
        assert -45 < row["loudness_lufs"] < -8
        assert len(row["tags"]) == len(ref.tags)


# The procedural sound library: its contract, and that its classes are told apart by ear


BANDS = 26


@lru_cache(maxsize=3 * len(CLASSES))
def take(label: str, seed: int) -> NDArray[np.float32]:
    return synthesize(label, np.random.default_rng([seed, CLASSES.index(label)]))


def sounding(x: NDArray[np.float32]) -> NDArray[np.float32]:
    (audible,) = np.nonzero(x)
    return x[audible[0] : audible[-1] + 1]


def windows(x: NDArray[np.float64]) -> Iterator[NDArray[np.float64]]:
    half = RATE // 2
    for start in range(0, x.size - half + 1, half // 2):
        yield x[start : start + half]


def features(x: NDArray[np.float32]) -> NDArray[np.float64]:
    """Shape, never level: band energies of the loudest 26 dB, and how far each band moves."""
    frames = np.lib.stride_tricks.sliding_window_view(sounding(x), 1024)[::1024]
    power = np.abs(np.fft.rfft(frames * np.hanning(1024).astype(np.float32))) ** 2
    edges = np.unique(np.geomspace(2, power.shape[1] - 1, BANDS + 1).astype(int))
    bands = np.log(np.add.reduceat(power[:, : edges[-1]], edges[:-1], axis=1) + 1e-12)
    bands = np.maximum(bands, bands.max() - 6)
    mean = np.log(np.exp(bands).mean(axis=0))
    return np.concatenate((mean - mean.mean(), bands.std(axis=0)))


@cases("label", CLASSES)
def test_a_take_is_a_mono_recording_at_full_rate(label: str) -> None:
    for seed in range(2):
        x = take(label, seed)
        assert x.dtype == np.float32
        assert x.ndim == 1
        assert 1.5 * RATE <= x.size <= 5 * RATE
        assert np.isfinite(x).all()
        assert -20.1 <= 20 * np.log10(np.abs(x).max()) <= -0.9
        heard = sounding(x).astype(np.float64)
        assert heard.size >= 1.2 * RATE
        # No half second of the sound is silent.
        levels = [float(np.mean(window**2)) for window in windows(heard)]
        assert 10 * np.log10(min(levels) / max(levels)) > -40


def test_equal_seeds_give_equal_bits_and_other_seeds_other_sounds() -> None:
    for label in CLASSES:
        again = synthesize(label, np.random.default_rng([0, CLASSES.index(label)]))
        assert again.tobytes() == take(label, 0).tobytes()
        other = take(label, 1)
        n = min(again.size, other.size)
        assert not np.array_equal(again[:n], other[:n])
    with pytest.raises(ValueError, match=r"'unicorn'.*car_horn.*wind"):
        synthesize("unicorn", np.random.default_rng(0))


def test_other_seeds_are_other_recordings() -> None:
    for library, first in ((Foley, "foley/dog-00000"), (Jam, "jam/00000")):
        names = [{ref.recording for ref in library(seed=seed).refs()} for seed in (0, 1, 2)]
        assert not set.intersection(*names[:2])
        assert not set.intersection(*names[1:])
        assert first in names[0]


@pytest.mark.slow
def test_classes_separate_on_takes_held_out() -> None:
    all_ = np.array([[features(take(c, s)) for s in range(8)] for c in CLASSES])
    assert_told_apart(all_[:, :5], all_[:, 5:], least=0.85)
    silences = [x.size - sounding(x).size for x in (take(c, s) for c in CLASSES for s in range(3))]
    assert max(silences) <= 1.0 * RATE + 1000
    # A third of the takes carry digital silence.
    assert 0.15 < np.mean(np.array(silences) > 0.05 * RATE) < 0.55

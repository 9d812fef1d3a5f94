"""Dense captions, beside an oracle that goes frame by frame."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from synth.captions.narrative import DenseCaption, Resolution, dense_captions, dense_text
from synth.labels.lexicon import Phrase
from synth.scene.activity import Activity, Stretch, Stretches, cut, hull
from synth.scene.scene import Excerpt
from synth.scene.timeline import Placement, Timeline

LABELS = ("dog", "rain", "Siren", "Theremin")
FRAMES = 60


def placed(*sounds: tuple[str, Stretches, Stretches]) -> Timeline:
    """Sounds by label, where they are clear and where they are faint."""
    places = []
    for at, (label, clear, faint) in enumerate(sounds):
        onset, offset = hull(faint) or (0, 1)
        excerpt = Excerpt("lib/a", 0, offset - onset)
        places.append(Placement(label, onset, offset, excerpt, at, Activity(clear, faint)))
    return Timeline(tuple(places), FRAMES)


def told(found: tuple[DenseCaption, ...], resolution: Resolution) -> list[tuple[int, int, str]]:
    return [(each.onset, each.offset, each.text) for each in found if each.resolution is resolution]


@st.composite
def timelines(draw: st.DrawFn) -> Timeline:
    sounds = []
    for label in draw(st.lists(st.sampled_from(LABELS), min_size=1, max_size=4)):
        edges = sorted(draw(st.sets(st.integers(0, FRAMES), max_size=8)))
        pairs = zip(edges[::2], edges[1::2], strict=False)
        faint = tuple(Stretch(*pair) for pair in pairs)
        first, last = draw(st.integers(0, FRAMES)), draw(st.integers(0, FRAMES))
        sounds.append((label, cut(faint, first, last) if first < last else (), faint))
    return placed(*sounds)


def oracle(
    heard: Timeline, frames: int, audible: int
) -> dict[Resolution, set[tuple[int, int, str]]]:
    """The same from sets of frames."""

    def count(stretches: Stretches) -> set[int]:
        return {frame for onset, offset in stretches for frame in range(onset, offset)}

    labels = list(dict.fromkeys(place.label for place in heard.placements))
    clear = {label: set[int]() for label in labels}
    placed = {label: set[int]() for label in labels}
    faint: set[int] = set()
    for place in heard.placements:
        its = count(place.heard.clear)
        clear[place.label] |= its
        placed[place.label] |= set(range(place.onset, place.offset))
        faint |= count(place.heard.faint)

    def runs(texts: list[str | None]) -> set[tuple[int, int, str]]:
        found, since = set(), 0
        for at in range(1, frames + 1):
            if at == frames or texts[at] != texts[since]:
                text = texts[since]
                if text is not None:
                    found.add((since, at, text))
                since = at
        return found

    def say(frame: int) -> str | None:
        named = [Phrase.of_label(label).clause for label in labels if frame in clear[label]]
        if not named:
            return None if frame in faint else "silence"
        return named[0] if len(named) == 1 else f"{', '.join(named[:-1])} and {named[-1]}"

    def single(sets: dict[str, set[int]]) -> set[tuple[int, int, str]]:
        return {
            run
            for label, its in sets.items()
            for run in runs(
                [Phrase.of_label(label).clause if at in its else None for at in range(frames)]
            )
        }

    whole = {label: set[int]() for label in labels}
    for label in labels:
        for onset, offset, _ in runs(
            ["x" if at in placed[label] else None for at in range(frames)]
        ):
            its = clear[label] & set(range(onset, offset))
            whole[label] |= set(range(min(its), max(its) + 1)) if its else set()
    segments = runs([say(frame) for frame in range(frames)])
    return {
        Resolution.STRETCH: single(clear),
        Resolution.SOUND: single(whole),
        Resolution.SCENE: {run for run in segments if run[1] - run[0] >= audible},
    }


@given(timelines(), st.integers(1, 6), st.integers(0, 20))
def test_dense_captions_are_those_of_the_frames(
    heard: Timeline, audible: int, padding: int
) -> None:
    frames = FRAMES + padding
    found = dense_captions(heard, frames, audible)
    expected = oracle(heard, frames, audible)
    for resolution in Resolution:
        its = told(found, resolution)
        assert len(its) == len(set(its))
        assert set(its) == expected[resolution]
        assert [each[:2] for each in its] == sorted(each[:2] for each in its)


def test_what_may_be_missed_is_neither_told_nor_called_silence() -> None:
    dog = ((Stretch(0, 10), Stretch(20, 30)), (Stretch(0, 12), Stretch(18, 30)))
    heard = placed(("dog", *dog), ("rain", (), (Stretch(40, 60),)))
    found = dense_captions(heard, 80, 2)
    assert told(found, Resolution.STRETCH) == [(0, 10, "a dog barks"), (20, 30, "a dog barks")]
    assert told(found, Resolution.SOUND) == [(0, 30, "a dog barks")]
    assert told(found, Resolution.SCENE) == [
        (0, 10, "a dog barks"),
        (12, 18, "silence"),
        (20, 30, "a dog barks"),
        (30, 40, "silence"),
        (60, 80, "silence"),
    ]


def test_a_bed_of_repeated_tiles_is_one_sound() -> None:
    tiles = [(Stretch(0, 25),), (Stretch(20, 45),), (Stretch(40, 60),)]
    heard = placed(*(("rain", cut(tile, 2, 58), tile) for tile in tiles))
    found = dense_captions(heard, FRAMES, 1)
    assert [(each.onset, each.offset, each.text) for each in found] == 3 * [(2, 58, "rain falls")]
    faded = placed(*(("rain", cut(tile, 2, 22) + cut(tile, 48, 58), tile) for tile in tiles))
    assert told(dense_captions(faded, FRAMES, 1), Resolution.SOUND) == [(2, 58, "rain falls")]


def test_times_are_told_to_a_tenth_and_equal_lengths_stay_equal() -> None:
    captions = [
        DenseCaption(Resolution.SCENE, 0, 30_400, "a dog barks"),
        DenseCaption(Resolution.SCENE, 30_400, 48_000, "silence"),
    ]
    assert dense_text(captions, 16_000) == "0.0-1.9 s a dog barks; 1.9-3.0 s silence"
    # A block of 50 ms is the grid of activity: a stretch of 0.1 s must never be told as 0.0 s.
    for start in range(0, 16_000, 800):
        text = dense_text([DenseCaption(Resolution.SCENE, start, start + 1_600, "x")], 16_000)
        onset, offset = text.split(" ")[0].split("-")
        assert round(10 * (float(offset) - float(onset))) == 1

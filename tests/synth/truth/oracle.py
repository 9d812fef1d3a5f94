"""A second judge of truth, by brute force over what several listeners hear.

It knows the rules of `synth.truth.truth`, and nothing of its code. A sound is an array that says
of each moment whether it is heard; a listener hears what is clear and any part of what is faint.
Every reading of a claim is tried with every choice of sounds, for every listener. As no more than
some listeners are tried, a proof or a refutation is never missing here that should be there; one
may be here that should not.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import combinations, pairwise, product
from random import Random
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from synth.corpus.schema import caption_row
from synth.labels.lexicon import are_kin, could_be_called, has_rhythm
from synth.recipes.base import Draft
from synth.scene.activity import Acoustics, Activity, Stretch, Stretches
from synth.scene.claim import (
    MAX_TIMES,
    And,
    Claim,
    Count,
    Measured,
    Not,
    Only,
    Quantity,
    claim_from_text,
    claim_labels,
    claim_to_text,
)
from synth.scene.scene import Concat, Event, Scene, events, from_text, operands, to_text
from synth.scene.timeline import Placement, Timeline, timeline

MOST_IN_EVERY_WAY: Final = 5
"""Up to so many unsure sounds, each is heard at its clearest and its faintest beside the others."""

MORE_EARS: Final = 12
"""Listeners who hear some of what is faint, drawn at random."""

Moments: TypeAlias = NDArray[np.bool_]
Verdict: TypeAlias = NDArray[np.bool_]
"""One truth for each listener."""
Numbers: TypeAlias = NDArray[np.int64]


class HeardSound(NamedTuple):
    """A sound as each listener hears it.

    Args:
        label: What it is called.
        event: Its position among the scene's events.
        heard: By listener and moment.
        there: Whether the listener hears it at all.
        start: Its first frame.
        end: The frame after its last.
        frames: How long it is heard.
        acoustics: How it sounds, None where nobody measured it.
    """

    label: str
    event: int
    heard: Moments
    there: Verdict
    start: Numbers
    end: Numbers
    frames: Numbers
    acoustics: Acoustics | None


class Oracle:
    """The judge of one timeline.

    Args:
        heard: What is heard when.
        audible: Less than so many frames nobody can tell.
        borders: Between them every sound is heard or not; without, every frame is a moment.
        seed: Of what the listeners hear of the faint.
    """

    def __init__(
        self, heard: Timeline, audible: int, borders: Sequence[int] | None = None, seed: int = 0
    ) -> None:
        self.timeline = heard
        self.audible = audible
        last = max((place.offset for place in heard.placements), default=0)
        self.borders = np.array(range(last + 1) if borders is None else borders, dtype=np.int64)
        self.lasting = np.diff(self.borders)
        self._related: dict[tuple[str, int, int], Verdict] = {}
        self.sounds = self._listen(Random(seed))

    def proves(self, claim: Claim) -> bool:
        """Whether every listener finds it true in the strictest reading."""
        return bool(self.find(claim, strict=True).all())

    def refutes(self, claim: Claim) -> bool:
        """Whether every listener finds it false in the loosest reading."""
        return not self.find(claim, strict=False).any()

    def find(self, claim: Claim, strict: bool) -> Verdict:
        """What each listener finds."""
        if isinstance(claim, Not):
            return ~self.find(claim.claim, not strict)
        if isinstance(claim, And):
            return self.find(claim.first, strict) & self.find(claim.second, strict)
        if isinstance(claim, Only):
            return self.find(claim.claim, strict) & ~self._hears_more(claim.claim, strict)
        if isinstance(claim, Count):
            return self._is_counted(claim, strict)
        if isinstance(claim, Measured):
            return self._is_measured(claim, strict)
        return self._is_proper(claim) if strict else self._is_near(claim)

    def _is_measured(self, claim: Measured, strict: bool) -> Verdict:
        """Whether each listener measures so much, in whichever way, or in some way."""
        again = claim.quantity.value.startswith("again_")
        is_faster = claim.quantity is Quantity.AGAIN_FASTER
        lacks_rhythm = is_faster and not has_rhythm(claim.of[0].label)
        meant = [self._called(event.label, strict=False) for event in claim.of]
        found = []
        for ear in range(len(self._nobody)):
            heard = [[i for i in each if self.sounds[i].there[ear]] for each in meant]
            if not all(heard):
                found.append(False)
            elif lacks_rhythm or any(
                len(each) != 1 + again or any(self.sounds[i].label != event.label for i in each)
                for each, event in zip(heard, claim.of, strict=True)
            ):
                found.append(not strict)
            else:
                each = sorted(heard[0], key=lambda i: self.sounds[i].start[ear])
                each += [i for others in heard[1:] for i in others]
                found.append(self._measures(claim, each, ear, strict))
        return np.array(found)

    def _measures(self, claim: Measured, each: list[int], ear: int, strict: bool) -> bool:
        value, least = claim.value, self.audible
        first, last = self.sounds[each[0]], self.sounds[each[-1]]
        begin, end = int(first.start[ear]), int(first.end[ear])
        match claim.quantity:
            case Quantity.DURATION:
                readings = range(int(first.frames[ear]), end - begin + 1)
                return _are_near(
                    readings, value, *((0.2, 2) if strict else (0.5, 5)), least, strict
                )
            case Quantity.ONSET:
                if strict:
                    return abs(begin - value) <= 3 * least
                return abs(begin - value) <= 10 * least or begin <= value <= end + 3 * least
            case Quantity.POSITION:
                whole = self.timeline.frames
                if strict:
                    third = [(0, whole), (whole, 2 * whole), (2 * whole, 3 * whole)][value]
                    edge = [10 * begin <= whole, True, 10 * end >= 9 * whole][value]
                    return third[0] <= 3 * begin and 3 * end <= third[1] and edge
                return [
                    3 * begin < whole,
                    4 * end > whole and 4 * begin < 3 * whole,
                    3 * end > 2 * whole,
                ][value]
            case Quantity.LONGER:
                more, less = (first, last) if value > 0 else (last, first)
                lasts = int(more.frames[ear]), int(more.end[ear] - more.start[ear])
                other = int(less.frames[ear]), int(less.end[ear] - less.start[ear])
                return 2 * lasts[0] >= 3 * other[1] if strict else lasts[1] > other[0]
            case Quantity.GAP:
                between = (self.borders[:-1] >= end) & (self.borders[1:] <= last.start[ear])
                if any(
                    (sound.heard[ear] & between).any()
                    for sound in self.sounds
                    if sound.event not in (first.event, last.event)
                ):
                    return not strict
                if not self._follows(each[:1], each[1:], strict)[ear]:
                    return False
                gap = [int(last.start[ear]) - end]
                if value:
                    return _are_near(gap, value, *((0.2, 2) if strict else (0.5, 5)), least, strict)
                return abs(gap[0]) <= (5 if strict else 10) * least
        if first.acoustics is None or last.acoustics is None:
            return not strict
        return _sounds_so(claim, first.acoustics, last.acoustics, strict) and (
            not claim.quantity.value.startswith("again_") or self._is_apart(each, ear) or not strict
        )

    def _is_apart(self, each: Sequence[int], ear: int) -> bool:
        """Whether the pause between two sounds is longer than any within one, to every ear."""
        first, last = (self.sounds[i] for i in each)
        inner = [
            int(after.onset - before.offset)
            for i in each
            for before, after in pairwise(self.timeline.placements[i].heard.clear)
        ]
        return int(last.start[ear] - first.end[ear]) > max(inner, default=0)

    def _is_counted(self, claim: Count, strict: bool) -> Verdict:
        """Whether each listener counts so many, in whichever way, or in some way."""
        found = []
        for ear in range(len(self._nobody)):
            counts = self._ways_to_count(claim.event.label, ear, strict)
            found.append(counts == {claim.times} if strict else claim.times in counts)
        return np.array(found)

    def _ways_to_count(self, name: str, ear: int, strict: bool) -> set[int]:
        """The numbers of sounds that one listener may count, up to more than a claim may say."""
        counts, ends = {0}, -self.audible * 10
        called = self._called(name, strict=False)
        for each in sorted(called, key=lambda number: self.sounds[number].start[ear]):
            sound, heard = self.sounds[each], self.timeline.placements[each].heard
            onsets = heard.onsets
            if not sound.there[ear]:
                continue
            # What is heard again after a pause begins anew, for the clearest ears or the faintest.
            most = max(onsets or 0, len(heard.clear), len(heard.faint))
            if onsets is None:
                most = MAX_TIMES + 1
            own = sound.label == name
            fewest = int(own and bool(onsets))
            # Two that follow one another closely may be taken for one.
            if fewest and sound.start[ear] - ends < 2 * self.audible:
                fewest = 0
            counts = {n + more for n in counts for more in range(fewest, most + 1)}
            if own:
                ends = max(ends, int(sound.end[ear]))
        return counts

    def _hears_more(self, claim: Claim, strict: bool) -> Verdict:
        more = self._nobody
        for sound in self.sounds:
            if not any(_bears(sound.label, name, strict) for name in claim_labels(claim)):
                more = more | sound.there
        return more

    def _is_proper(self, scene: Scene) -> Verdict:
        names = [event.label for event in events(scene)]
        found = ~self._nobody
        for name in names:
            found = found & self._hears(self._called(name, strict=True))
        if isinstance(scene, Event):
            return found
        if len(set(names)) < len(names):
            return self._nobody
        for name in names:
            others = self._called(name, strict=False)
            found = found & ~self._hears(i for i in others if self.sounds[i].label not in names)
        for chosen in product(*(self._called(name, strict=True) for name in names)):
            holds, _ = self._fits(scene, iter(chosen), strict=True)
            found = found & (holds | ~self._hears_all(chosen))
        return found

    def _is_near(self, scene: Scene) -> Verdict:
        found = self._nobody
        names = [event.label for event in events(scene)]
        for chosen in product(*(self._called(name, strict=False) for name in names)):
            holds, _ = self._fits(scene, iter(chosen), strict=False)
            found = found | (holds & self._hears_all(chosen) & self._may_mean(names, chosen))
        return found

    def _may_mean(self, names: Sequence[str], chosen: Sequence[int]) -> Verdict:
        """Whether the names can mean the sounds that are chosen for them.

        Where a sentence names a sound by its own name, and a sound of the other name is heard, too,
        each name means its own: no airplane is the engine of "an airplane and an engine".
        """
        found = ~self._nobody
        for name, each in zip(names, chosen, strict=True):
            label = self.sounds[each].label
            if label != name and label in names and not are_kin(label, name):
                found = found & ~self._hears(self._called(name, strict=True))
        return found

    def _called(self, name: str, strict: bool) -> list[int]:
        return [i for i, sound in enumerate(self.sounds) if _bears(sound.label, name, strict)]

    def _hears(self, sounds: Iterable[int]) -> Verdict:
        any_of_them = self._nobody
        for each in sounds:
            any_of_them = any_of_them | self.sounds[each].there
        return any_of_them

    def _hears_all(self, sounds: Iterable[int]) -> Verdict:
        all_of_them = ~self._nobody
        for each in sounds:
            all_of_them = all_of_them & self.sounds[each].there
        return all_of_them

    def _fits(
        self, scene: Scene, chosen: Iterator[int], strict: bool
    ) -> tuple[Verdict, tuple[int, ...]]:
        """Whether a scene's chosen sounds stand as it says, and these sounds."""
        if isinstance(scene, Event):
            return ~self._nobody, (next(chosen),)
        parts = [self._fits(part, chosen, strict) for part in operands(scene)]
        holds = np.logical_and.reduce([each for each, _ in parts])
        for (_, ours), (_, theirs) in combinations(parts, 2):
            if isinstance(scene, Concat):
                holds = holds & self._follows(ours, theirs, strict)
            elif strict:
                holds = holds & self._accompanies(ours, theirs)
            else:
                holds = holds & self._touches(ours, theirs)
        return holds, sum((sounds for _, sounds in parts), ())

    def _follows(self, ours: Sequence[int], theirs: Sequence[int], strict: bool) -> Verdict:
        relation = "is over before" if strict else "starts or ends before"
        pairs = [self._pair(relation, i, j) for i, j in product(ours, theirs)]
        found: Verdict = (np.logical_and if strict else np.logical_or).reduce(pairs)
        return found

    def _accompanies(self, ours: Sequence[int], theirs: Sequence[int]) -> Verdict:
        start, end = self._span(ours)
        other_start, other_end = self._span(theirs)
        within = (start >= other_start) & (end <= other_end)
        around = (start <= other_start) & (end >= other_end)
        holds = within | around
        for one, others in [(i, theirs) for i in ours] + [(j, ours) for j in theirs]:
            company = [self._pair("keeps company", one, other) for other in others]
            holds = holds & np.logical_or.reduce(company)
        return holds

    def _touches(self, ours: Sequence[int], theirs: Sequence[int]) -> Verdict:
        start, end = self._span(ours)
        other_start, other_end = self._span(theirs)
        common = np.minimum(end, other_end) - np.maximum(start, other_start)
        transitions = [self._twice_transition(i, j) for i, j in product(ours, theirs)]
        transitions.append(self._nobody + 20 * self.audible)
        found: Verdict = 2 * common > np.minimum.reduce(transitions)
        return found

    def _span(self, sounds: Sequence[int]) -> tuple[Numbers, Numbers]:
        start = np.minimum.reduce([self.sounds[each].start for each in sounds])
        return start, np.maximum.reduce([self.sounds[each].end for each in sounds])

    def _pair(self, relation: str, i: int, j: int) -> Verdict:
        known = self._related.get((relation, i, j))
        if known is None:
            known = self._related[relation, i, j] = self._relate(relation, i, j)
        return known

    def _relate(self, relation: str, i: int, j: int) -> Verdict:
        x, y, transition = self.sounds[i], self.sounds[j], self._twice_transition(i, j)
        starts_first = y.start - x.start >= self.audible
        if relation == "is over before":
            return starts_first & (2 * (x.end - y.start) <= transition)
        if relation == "starts or ends before":
            after = self.borders[:-1] >= x.end[:, np.newaxis]
            rest = (y.heard & after) @ self.lasting
            return starts_first | (rest >= 5 * self.audible) | (5 * rest >= y.frames)
        shared = (x.heard & y.heard) @ self.lasting
        least = np.minimum(x.frames, y.frames)
        return (shared >= self.audible) & (4 * shared >= least) & (2 * shared > transition)

    def _twice_transition(self, i: int, j: int) -> Numbers:
        x, y = self.sounds[i], self.sounds[j]
        twice = 2 * max(self.timeline.crossfade(x.event, y.event), 0)  # below 0 it is a pause
        return np.minimum(twice, np.minimum(x.frames, y.frames))

    @cached_property
    def _nobody(self) -> Verdict:
        return np.zeros(len(self.sounds[0].there), dtype=np.bool_)

    def _listen(self, rng: Random) -> list[HeardSound]:
        # The tags of one sound are heard as one.
        ways: dict[tuple[int, Activity], list[Moments]] = {}
        for place in self.timeline.placements:
            key = (place.event, place.heard)
            if key not in ways:
                ways[key] = self._ways_to_hear(place.heard, rng)
        chosen = _choose([len(each) for each in ways.values()], rng)
        heard = {
            key: np.array(each)[numbers]
            for (key, each), numbers in zip(ways.items(), chosen, strict=True)
        }
        return [
            self._sound(place, heard[place.event, place.heard])
            for place in self.timeline.placements
        ]

    def _sound(self, place: Placement, heard: Moments) -> HeardSound:
        first = heard.argmax(axis=1)
        last = heard.shape[1] - heard[:, ::-1].argmax(axis=1)
        start, end = self.borders[first], self.borders[last]
        frames = (heard @ self.lasting).astype(np.int64)
        told = place.heard.acoustics
        return HeardSound(place.label, place.event, heard, frames > 0, start, end, frames, told)

    def _ways_to_hear(self, activity: Activity, rng: Random) -> list[Moments]:
        """What the clearest ears hear, what the faintest, then what lies between."""
        clear, faint = self._moments(activity.clear), self._moments(activity.faint)
        if (clear == faint).all():
            return [clear]
        unsure = np.flatnonzero(faint & ~clear)
        runs = np.split(unsure, np.flatnonzero(np.diff(unsure) > 1) + 1)
        ways = [clear, faint]
        if clear.any():
            first, last = np.flatnonzero(clear)[[0, -1]]
            ways += [self._add(clear, [unsure[unsure < first]])]
            ways += [self._add(clear, [unsure[unsure > last]])]
        for _ in range(4):
            ways += [self._add(clear, [_take_some(run, rng) for run in runs])]
        return ways

    def _moments(self, stretches: Stretches) -> Moments:
        moments = np.zeros(len(self.lasting), dtype=np.bool_)
        for stretch in stretches:
            first, last = np.searchsorted(self.borders, stretch)
            moments[first:last] = True
        return moments

    @staticmethod
    def _add(clear: Moments, runs: Iterable[NDArray[np.intp]]) -> Moments:
        more = clear.copy()
        for run in runs:
            more[run] = True
        return more


def _take_some(run: NDArray[np.intp], rng: Random) -> NDArray[np.intp]:
    """None of it, all, its head or its tail."""
    at = rng.randint(0, len(run))
    return rng.choice([run[:0], run, run[:at], run[at:]])


def _choose(ways: Sequence[int], rng: Random) -> list[list[int]]:
    """For each sound, the number of the way in which each listener hears it.

    The first hears all at its clearest, the second at its faintest.
    """
    unsure = sum(each > 1 for each in ways)
    chosen = [tuple(0 for _ in ways), tuple(min(1, each - 1) for each in ways)]
    if 1 < unsure <= MOST_IN_EVERY_WAY:
        chosen += list(product(*(range(min(2, each)) for each in ways)))[1:-1]
    if unsure:
        chosen += [tuple(rng.randrange(each) for each in ways) for _ in range(MORE_EARS)]
    return [list(each) for each in zip(*chosen, strict=True)]


def _bears(label: str, name: str, strict: bool) -> bool:
    return label == name or (not strict and could_be_called(label, name))


class Fault(NamedTuple):
    """A sentence of a manifest that is not what it is sold as.

    Args:
        column: Where it stands: `caption`, `positives` or `negatives`.
        number: Its position there.
        text: What it says.
        claim: What it claims, as text.
    """

    column: str
    number: int
    text: str
    claim: str


def judge_row(row: Mapping[str, Any], audible_s: float = 0.1, seed: int = 0) -> list[Fault]:
    """The captions of a manifest row that are not proven, and its negatives that are not refuted.

    Nothing is rounded: the moments are those between any two borders of activity, each cut in two,
    so that some ears hear a part of a faint stretch.

    Args:
        row: With `scene`, `caption`, `claim`, `positives`, `negatives`, `sample_rate` and, for each
            event in the scene's order, `activity` on the scene's clock, in frames at that rate.
        audible_s: Less than so many seconds nobody can tell.
        seed: Of what the listeners hear of the faint.
    """
    activities = [
        Activity(
            _read_stretches(each["clear"]),
            _read_stretches(each["faint"]),
            None if each.get("onsets", -1) < 0 else each["onsets"],
            *(_read_acoustics(told) for told in each.get("acoustics", ())),
        )
        for each in row["activity"]
    ]
    heard = timeline(from_text(row["scene"]), activities)
    heard = replace(heard, frames=max(heard.frames, row.get("frames", 0)))
    audible = round(audible_s * row["sample_rate"])
    oracle = Oracle(heard, audible, find_borders(heard), seed)
    faults = []
    if not oracle.proves(claim_from_text(row["claim"])):
        faults.append(Fault("caption", 0, row["caption"], row["claim"]))
    for number, caption in enumerate(row["positives"]):
        if not oracle.proves(claim_from_text(caption["claim"])):
            faults.append(Fault("positives", number, caption["text"], caption["claim"]))
    for number, caption in enumerate(row["negatives"]):
        if not oracle.refutes(claim_from_text(caption["claim"])):
            faults.append(Fault("negatives", number, caption["text"], caption["claim"]))
    return faults


def judge_draft(draft: Draft, rate: int, audible_s: float = 0.1) -> list[Fault]:
    """The same of a sample that is not written yet, as it would stand in the manifest."""
    assert draft.timeline is not None
    captions = draft.captions
    row = {
        "scene": to_text(draft.scene),
        "activity": [place.heard.to_json() for place in draft.timeline.placements],
        "caption": captions.caption.text,
        "claim": claim_to_text(captions.caption.claim),
        "positives": list(map(caption_row, captions.positives)),
        "negatives": list(map(caption_row, captions.negatives)),
        "sample_rate": rate,
    }
    return judge_row(json.loads(json.dumps(row)), audible_s)


def _read_stretches(values: Iterable[Mapping[str, int]]) -> Stretches:
    return tuple(Stretch(int(each["onset"]), int(each["offset"])) for each in values)


def _read_acoustics(told: Mapping[str, Any]) -> Acoustics:
    return Acoustics(**dict(told) | {"thirds_dba": tuple(told["thirds_dba"])})


def find_borders(heard: Timeline) -> list[int]:
    """All between which no sound begins or ends, and the middle of each two."""
    found = {0, heard.frames}
    for place in heard.placements:
        for stretch in place.heard.clear + place.heard.faint:
            found |= set(stretch)
    borders = sorted(found)
    return sorted(found | {(a + b) // 2 for a, b in pairwise(borders)})


def _are_near(
    readings: Iterable[int], value: int, share: float, few: int, least: int, strict: bool
) -> bool:
    off = max(round(share * value), few * least)
    near = [abs(reading - value) <= off for reading in readings]
    return all(near) if strict else any(near)


_CHANGES: Final = {
    Quantity.AGAIN_FARTHER: {"": 0, "far": 1},
    Quantity.AGAIN_ROOMIER: {"": 0, "hall": 1},
    Quantity.AGAIN_HIGHER: {"": 0, "high": 1, "low": -1},
    Quantity.AGAIN_FASTER: {"": 0, "fast": 1, "slow": -1},
}
"""What everybody hears of each treatment; of the others nobody can be sure."""


def _sounds_so(claim: Measured, first: Acoustics, last: Acoustics, strict: bool) -> bool:
    """Whether what is measured of how sounds sound is as claimed."""
    quantity, sign = claim.quantity, claim.value
    if quantity is Quantity.TREND:
        one, two, three = first.thirds_dba
        if strict:
            return sign * (two - one) >= 3 and sign * (three - two) >= 3
        return sign * (three - one) > -3 or sign * (two - one) > 0 or sign * (three - two) > 0
    if quantity in (Quantity.LOUDER, Quantity.AGAIN_LOUDER):
        more = sign if quantity is Quantity.LOUDER else -sign
        means = more * (first.mean_dba - last.mean_dba)
        peaks = more * (first.peak_dba - last.peak_dba)
        apart = means, peaks, more * (first.lufs - last.lufs)
        return min(apart) >= 6 if strict else max(apart) > -3
    told = _CHANGES[quantity]
    if not first.recording or first.recording != last.recording:
        return not strict
    if {first.treatment, last.treatment} - told.keys():
        return not strict
    is_changed = sign * (told[last.treatment] - told[first.treatment]) > 0
    if quantity is not Quantity.AGAIN_FARTHER:
        return is_changed
    means = sign * (first.mean_dba - last.mean_dba)
    peaks = sign * (first.peak_dba - last.peak_dba)
    apart = means, peaks, sign * (first.lufs - last.lufs)
    return is_changed and min(apart) >= 6 if strict else is_changed or means > 0

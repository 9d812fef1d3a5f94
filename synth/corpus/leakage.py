"""Leakage: which clips of one corpus, or split, are heard in another one, too."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any, Final

import numpy as np
from jaxtyping import Bool, Float64, Int64, UInt32

from synth.audio.fingerprint import BITS, HOP_S, NOTHING, Words, from_bytes
from synth.base.errors import CorpusError
from synth.base.progress import UNOBSERVED, Observer, track
from synth.base.units import Seconds

# Known sounds: many fingerprints, indexed so that one that sounds the same is found at once.


LEAST_WORDS: Final = 8
"""Words that both sounds must have in the overlap (0.37 s); fewer prove nothing."""

MOST_ERRORS: Final = 0.23
"""Bit error rate up to which two long stretches sound the same; `most_errors` gives its reason."""

_SPREAD: Final = 1.35
_KEYS: Final = tuple(
    np.uint32(((1 << BITS) - 1) ^ (((1 << width) - 1) << start))
    for start, width in ((0, 11), (11, 11), (22, 10))
)
_CHUNK: Final = 1 << 20


def most_errors(words: Int64[np.ndarray, " found"]) -> Float64[np.ndarray, " found"]:
    """Largest bit error rate at which stretches of so many words count as the same sound.

    Half the bits of unrelated sounds differ, give or take what chance allows: over 22 million
    offsets between 125,000 pairs of ESC clips never less than 0.5 - 0.67 / sqrt(words), which is
    0.34 from 13 words on. Likeness is the other danger: the clean voices of the procedural sounds,
    40 takes of each, come down to 0.17 over 10 words, 0.20 over 16 and 0.22 over 22. The limit
    0.5 - 1.35 / sqrt(words) stays below all of these, and `MOST_ERRORS` (from 25 words, 1.2 s, on)
    below what longer stretches showed. Copies have less: as Vorbis of 70 kbit/s 0.07, as MP3 of
    50 kbit/s 0.08 (99 of 100 under 0.20), cut out at any place 0.09 (under 0.16), halved in level,
    cut out, coded as that MP3, resampled and padded 0.15 (90 of 100 under 0.21).
    """
    limits: Float64[np.ndarray, " found"]
    limits = np.minimum(MOST_ERRORS, 0.5 - _SPREAD / np.sqrt(np.maximum(words, 1)))
    return limits


@dataclass(frozen=True, slots=True)
class Match:
    """A known sound that a clip sounds the same as.

    Args:
        offset_s: Where the clip begins in it; negative where the clip begins earlier.
        overlap_s: How much of both was compared: the words that say something in both.
        bit_error_rate: Share of their bits that differ.
    """

    name: str
    offset_s: Seconds
    overlap_s: Seconds
    bit_error_rate: float


@dataclass(frozen=True)
class Known:
    """Fingerprints under their names, and an inverted index over their words.

    Candidates are the sounds that have a word in common with the clip, but for errors that lie
    within one third of its bits; every offset so found is verified over the whole overlap. A sound
    that is mixed with another one, or joined to one, is therefore not known again.

    Args:
        keys: For each third left out, the words without it, sorted; those of `NOTHING` are absent.
        places: Where in `words` each key comes from.
    """

    names: tuple[str, ...]
    words: Words
    starts: Int64[np.ndarray, " _"]
    keys: tuple[UInt32[np.ndarray, " _"], ...]
    places: tuple[Int64[np.ndarray, " _"], ...]

    @classmethod
    def of(cls, names: Sequence[str], fingerprints: Sequence[Words]) -> Known:
        """Index `fingerprints`."""
        if len(names) != len(fingerprints):
            raise ValueError(f"{len(names)} names for {len(fingerprints)} fingerprints")
        words = np.concatenate([np.zeros(0, dtype=np.uint32), *fingerprints])
        starts = np.cumsum([0, *map(len, fingerprints)], dtype=np.int64)
        telling = np.flatnonzero(words != NOTHING)
        keys, places = [], []
        for mask in _KEYS:
            masked = words[telling] & mask
            order = np.argsort(masked, kind="stable")
            keys.append(masked[order])
            places.append(telling[order])
        return cls(tuple(names), words, starts, tuple(keys), tuple(places))

    def matches(self, fingerprint: Words) -> list[Match]:
        """The known sounds that a clip sounds the same as, in the order of their names here.

        Of several offsets of one sound the one with the longest overlap is given, of equal ones
        the one with the fewest errors, then the earliest.
        """
        candidates: dict[int, tuple[float, float, int]] = {}
        for sounds, offsets in self._candidates(fingerprint):
            compared, errors = self._compare(fingerprint, sounds, offsets)
            rates = errors / np.maximum(BITS * compared, 1)
            alike = (compared >= LEAST_WORDS) & (rates <= most_errors(compared))
            for i in np.flatnonzero(alike):
                sound = int(sounds[i])
                rank = (-int(compared[i]), float(rates[i]), int(offsets[i]))
                candidates[sound] = min(rank, candidates.get(sound, rank))
        return [
            Match(self.names[sound], offset * HOP_S, -words * HOP_S, rate)
            for sound, (words, rate, offset) in sorted(candidates.items())
        ]

    def _candidates(
        self, fingerprint: Words
    ) -> Iterator[tuple[Int64[np.ndarray, " found"], Int64[np.ndarray, " found"]]]:
        """Sounds and offsets with a key in common, in parts of bounded size."""
        asked = np.flatnonzero(fingerprint != NOTHING)
        if len(asked) < LEAST_WORDS:
            return
        hits: list[Int64[np.ndarray, " _"]] = []
        waiting = 0
        span = len(self.words) + len(fingerprint)
        for mask, keys, places in zip(_KEYS, self.keys, self.places, strict=True):
            wanted = fingerprint[asked] & mask
            first = np.searchsorted(keys, wanted, side="left")
            counts = np.searchsorted(keys, wanted, side="right") - first
            for part in _parts(counts):
                place = places[_ranges(first[part], counts[part])]
                sound = np.searchsorted(self.starts, place, side="right") - 1
                offset = place - self.starts[sound] - np.repeat(asked[part], counts[part])
                hits.append(np.unique(sound * (2 * span) + offset + span))
                waiting += len(hits[-1])
                if waiting > _CHUNK:
                    yield _pairs(hits, span)
                    hits, waiting = [], 0
        if waiting:
            yield _pairs(hits, span)

    def _compare(
        self,
        fingerprint: Words,
        sounds: Int64[np.ndarray, " found"],
        offsets: Int64[np.ndarray, " found"],
    ) -> tuple[Int64[np.ndarray, " found"], Int64[np.ndarray, " found"]]:
        """Words that say something in both, and the bits of them that differ."""
        lengths = np.diff(self.starts)[sounds]
        begins = np.maximum(0, -offsets)
        counts = np.minimum(len(fingerprint), lengths - offsets) - begins
        compared = np.zeros(len(sounds), dtype=np.int64)
        errors = np.zeros(len(sounds), dtype=np.int64)
        for part in _parts(counts):
            own = _ranges(begins[part], counts[part])
            other = _ranges((self.starts[sounds] + offsets + begins)[part], counts[part])
            own_words, other_words = fingerprint[own], self.words[other]
            telling: Bool[np.ndarray, " words"] = (own_words != NOTHING) & (other_words != NOTHING)
            differing = np.bitwise_count(own_words ^ other_words) * telling
            edges = np.cumsum(counts[part]) - counts[part]
            compared[part] = np.add.reduceat(telling, edges, dtype=np.int64)
            errors[part] = np.add.reduceat(differing, edges, dtype=np.int64)
        return compared, errors


def _pairs(
    hits: Sequence[Int64[np.ndarray, " _"]], span: int
) -> tuple[Int64[np.ndarray, " found"], Int64[np.ndarray, " found"]]:
    sounds, shifted = np.divmod(np.unique(np.concatenate(hits)), 2 * span)
    return sounds, shifted - span


def _parts(counts: Int64[np.ndarray, " rows"]) -> Iterator[slice]:
    """Slices of rows whose counts add up to about `_CHUNK`; a single larger row is one slice."""
    ends = np.cumsum(counts)
    begin = 0
    while begin < len(counts):
        before = ends[begin - 1] if begin else 0
        end = max(begin + 1, int(np.searchsorted(ends, before + _CHUNK, side="right")))
        yield slice(begin, end)
        begin = end


def _ranges(
    starts: Int64[np.ndarray, " rows"], counts: Int64[np.ndarray, " rows"]
) -> Int64[np.ndarray, " _"]:
    """`start, start + 1, ...` for each row, `count` of them, one row after another."""
    steps = np.arange(int(counts.sum()), dtype=np.int64)
    ranges: Int64[np.ndarray, " _"] = steps - np.repeat(np.cumsum(counts) - counts - starts, counts)
    return ranges


# Catalogue rows as the firewall compares them.


COLUMNS: Final = ("id", "recording", "sha256", "fingerprint")
"""What the firewall reads of a row of `schema.CLIPS`; the last two may be absent or empty."""


def words_of(row: Mapping[str, Any]) -> Words | None:
    """A row's fingerprint; None where it has none, or one of another version."""
    data = row.get("fingerprint") or b""
    if len(data) % 4:
        raise CorpusError(
            f"clip {row['id']}: its fingerprint has {len(data)} bytes, expected 4 a word",
            fix="the catalogue is damaged: build it again",
        )
    try:
        words = from_bytes(data)
    except ValueError:
        return None
    return words if len(words) else None


def says_enough(words: Words | None) -> bool:
    """Whether a fingerprint can be compared at all."""
    return words is not None and int((words != NOTHING).sum()) >= LEAST_WORDS


@dataclass(frozen=True, slots=True)
class Shared:
    """What a clip shares with another: `recording`, `bytes` or `sound`; with block lists `id`."""

    a: str
    b: str
    by: str
    detail: str


@dataclass(frozen=True)
class ClipShelf:
    """A catalogue's clips: the first of each recording and of each SHA-256, and all by sound.

    Args:
        unheard: Clips that cannot be compared by sound: no fingerprint, one of another version,
            or one that says too little (silent, steady or very short sounds).
    """

    clips: int
    recordings: Mapping[str, str]
    files: Mapping[str, str]
    sounds: Known
    unheard: int

    @classmethod
    def of(cls, rows: Sequence[Mapping[str, Any]]) -> ClipShelf:
        """Put rows on the shelf; empty values are on none."""
        recordings: dict[str, str] = {}
        files: dict[str, str] = {}
        names, fingerprints = [], []
        for row in rows:
            if row.get("recording"):
                recordings.setdefault(row["recording"], row["id"])
            if row.get("sha256"):
                files.setdefault(row["sha256"], row["id"])
            words = words_of(row)
            if words is not None and says_enough(words):
                names.append(row["id"])
                fingerprints.append(words)
        unheard = len(rows) - len(names)
        return cls(len(rows), recordings, files, Known.of(names, fingerprints), unheard)

    def find_shared(self, row: Mapping[str, Any]) -> Iterator[Shared]:
        """What a clip shares with those on the shelf, once for each way at most."""
        name, recording = row["id"], row.get("recording") or ""
        if first := self.recordings.get(recording):
            yield Shared(name, first, "recording", f"recording {recording}")
        if same := self.files.get(row.get("sha256") or ""):
            yield Shared(name, same, "bytes", f"the same file as {same}")
        words = words_of(row)
        matches = self.sounds.matches(words) if words is not None else []
        if matches:
            best = min(matches, key=lambda match: match.bit_error_rate)
            detail = (
                f"sounds the same as {best.name}: bit error rate {best.bit_error_rate:.3f} "
                f"over {best.overlap_s:.1f} s"
            )
            yield Shared(name, best.name, "sound", detail)


# The comparison of two corpora or splits.


EXAMPLES: Final = 10
PHASE: Final = "compare"
HEARD: Final = "heard"
"""A value beside a row's columns: whether its audio was read, or its table alone."""


@dataclass(frozen=True, slots=True)
class Leakage:
    """What two sets of clips share; a clip may share in several ways.

    Args:
        unread: Those of both of which no audio was ever read: a listing's.
        pairs: For each clip of A and each way, one clip of B.
    """

    clips_a: int
    clips_b: int
    unheard_a: int
    unheard_b: int
    unread: int
    shared: int
    by_recording: int
    by_bytes: int
    by_sound: int
    pairs: tuple[Shared, ...]

    @property
    def disjoint(self) -> bool:
        """Whether nothing is shared."""
        return not self.shared

    def to_json(self) -> dict[str, Any]:
        """As JSON values; `examples` are the first ten of `pairs`."""
        facts = asdict(self)
        del facts["pairs"]
        return facts | {"examples": [asdict(pair) for pair in self.pairs[:EXAMPLES]]}


def leakage(
    rows_a: Sequence[Mapping[str, Any]],
    rows_b: Sequence[Mapping[str, Any]],
    observer: Observer = UNOBSERVED,
) -> Leakage:
    """Compare two sets of clips by recording, by bytes and by sound.

    Args:
        rows_a: Rows of `schema.CLIPS`, or their `COLUMNS`; `HEARD` where it is known.
    """
    shelf = ClipShelf.of(rows_b)
    pairs = tuple(
        shared
        for row in track(rows_a, observer, PHASE, "clips")
        for shared in shelf.find_shared(row)
    )
    ways = [pair.by for pair in pairs]
    return Leakage(
        clips_a=len(rows_a),
        clips_b=len(rows_b),
        unheard_a=sum(not says_enough(words_of(row)) for row in rows_a),
        unheard_b=shelf.unheard,
        unread=sum(row.get(HEARD) is False for row in (*rows_a, *rows_b)),
        shared=len({pair.a for pair in pairs}),
        by_recording=ways.count("recording"),
        by_bytes=ways.count("bytes"),
        by_sound=ways.count("sound"),
        pairs=pairs,
    )


def measure_between_splits(
    splits: Mapping[str, Sequence[Mapping[str, Any]]], observer: Observer = UNOBSERVED
) -> dict[tuple[str, str], Leakage]:
    """The leakage between every two splits of a corpus, in their order."""
    return {(a, b): leakage(splits[a], splits[b], observer) for a, b in combinations(splits, 2)}

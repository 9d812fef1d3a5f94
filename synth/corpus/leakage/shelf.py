"""Catalogue rows as the firewall compares them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from synth.audio.fingerprint import NOTHING, Words, from_bytes
from synth.base.errors import CorpusError
from synth.corpus.leakage.known import LEAST_WORDS, Known

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


@dataclass(frozen=True)
class Partner:
    """A clip that another one shares something with.

    Args:
        id: Of the clip, or the entry of a list.
        by: `id`, `recording`, `bytes` or `sound`.
        detail: The same for a reader.
    """

    id: str
    by: str
    detail: str


@dataclass(frozen=True)
class ClipShelf:
    """A catalogue's clips by recording, by bytes and by sound.

    Args:
        clips: How many.
        recordings: The first clip of each recording.
        files: The first clip of each SHA-256.
        sounds: The fingerprints.
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

    def partners(self, row: Mapping[str, Any]) -> list[Partner]:
        """What a clip shares with those on the shelf, one partner for each way at most."""
        found = []
        recording, sha256 = row.get("recording") or "", row.get("sha256") or ""
        if recording in self.recordings:
            found.append(Partner(self.recordings[recording], "recording", f"recording {recording}"))
        if sha256 in self.files:
            same = self.files[sha256]
            found.append(Partner(same, "bytes", f"the same file as {same}"))
        words = words_of(row)
        matches = self.sounds.matches(words) if words is not None else []
        if matches:
            best = min(matches, key=lambda match: match.bit_error_rate)
            detail = (
                f"sounds the same as {best.name}: bit error rate {best.bit_error_rate:.3f} "
                f"over {best.overlap_s:.1f} s"
            )
            found.append(Partner(best.name, "sound", detail))
        return found

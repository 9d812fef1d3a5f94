"""What somebody who planned or built a corpus should know of its library."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final, TypeAlias

import pyarrow.compute as pc
import pyarrow.parquet as pq

from pipelines.builder.drafting import DraftedRows
from pipelines.builder.usable import Shortage
from pipelines.config.spec import SPLITS, SplitName
from pipelines.ingest.parts import RefusalKind, count_refusals, format_refusals
from pipelines.store.row_file import read_columns
from synth.base.errors import LeftOutError
from synth.corpus.corpus import CLIPS_FILE, PLAN_FILE, QUARANTINE_FILE
from synth.labels.lexicon import Phrase
from synth.labels.own import name_of
from synth.text.label_search import suggest_words

# How many clips and recordings each label has in each split, of those that a recipe can use.


SHOWN: Final = 10
"""Labels that are named, or shown; of the others the number is told."""

Row: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Lacking:
    """A split that lacks labels.

    Args:
        labels: The labels of which it has no clip.
        of: Labels in all.
    """

    split: str
    labels: Sequence[str]
    of: int

    @property
    def line(self) -> str:
        """For people: the first ten by name."""
        more = len(self.labels) - SHOWN
        rest = f" and {more:,} more" if more > 0 else ""
        return (
            f"split {self.split} has no clip of: "
            f"{', '.join(map(name_of, self.labels[:SHOWN]))}{rest} "
            f"({len(self.labels):,} of {self.of:,} labels)"
        )


@dataclass(frozen=True, slots=True)
class Coverage:
    """The recordings of the clips of each label in each split.

    Args:
        splits: Names of the splits, in the order of `SPLITS`.
        recordings: By label and split one entry a clip; labels that every clip lost have none.
    """

    splits: tuple[str, ...]
    recordings: Mapping[str, Mapping[str, list[str]]]

    @classmethod
    def of(cls, clips: Iterable[Row], refused: Collection[str]) -> Coverage:
        """Count clips.

        Args:
            clips: Rows of `schema.CLIPS`, with `id`, `split`, `labels` and `recording` at least;
                those outside of all splits count for nothing.
            refused: Ids of the clips that the recipe refused.
        """
        within = [clip for clip in clips if clip["split"]]
        named = {clip["split"] for clip in within}
        splits = tuple(split for split in SPLITS if split in named)
        recordings: dict[str, dict[str, list[str]]] = {}
        for clip in within:
            for label in clip["labels"]:
                places = recordings.setdefault(label, {split: [] for split in splits})
                if clip["id"] not in refused:
                    places[clip["split"]].append(clip["recording"])
        return cls(splits, recordings)

    @property
    def lacking(self) -> list[Lacking]:
        """The splits that lack labels; none for clips without labels."""
        missing = (
            (
                split,
                [label for label in sorted(self.recordings) if not self.recordings[label][split]],
            )
            for split in self.splits
        )
        return [Lacking(split, labels, len(self.recordings)) for split, labels in missing if labels]

    @property
    def rarest(self) -> dict[str, dict[str, int]]:
        """Clips and recordings by split of the ten labels with the fewest clips in any split."""

        def rarity(label: str) -> tuple[int, int, str]:
            sizes = [len(clips) for clips in self.recordings[label].values()]
            return min(sizes), sum(sizes), label

        return {
            name_of(label): {
                f"{split} {what}": count
                for split, clips in self.recordings[label].items()
                for what, count in (("clips", len(clips)), ("recordings", len(set(clips))))
            }
            for label in sorted(self.recordings, key=rarity)[:SHOWN]
        }

    def to_json(self) -> dict[str, Any]:
        """As JSON values: the rarest, how many labels more there are, and what splits lack."""
        return {
            "rarest": self.rarest,
            "more": max(0, len(self.recordings) - SHOWN),
            "lacking": [asdict(split) for split in self.lacking],
        }


# Groups that a plan goes without: how many of each split, and why.


LEFT_OUT: Final = "left_out"
"""Names them in the metadata of the plan."""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Groups of one split that are left out for one reason.

    Args:
        of: Groups of the split.
        kinds: How many of them differ.
    """

    split: str
    groups: int
    of: int
    reason: str
    kinds: int
    examples: Sequence[str]

    @property
    def line(self) -> str:
        """For people."""
        more = self.kinds - len(self.examples)
        rest = f"; and {more:,} more" if more else ""
        return (
            f"split {self.split}: {self.groups:,} of {self.of:,} groups left out: {self.reason}: "
            f"{'; '.join(self.examples)}{rest}"
        )


@dataclass
class Tally:
    """Counts the groups that are left out while a plan is drafted.

    Args:
        groups: Of each split.
        shortage: Tells why clips are missing.
    """

    groups: Mapping[str, int]
    shortage: Shortage
    _found: dict[tuple[str, str], Counter[str]] = field(default_factory=dict)
    _last: dict[str, LeftOutError] = field(default_factory=dict)
    _made: Counter[str] = field(default_factory=Counter)

    def count(self, drafted: DraftedRows) -> None:
        """Count those of a run."""
        self._made[drafted.split] += len(drafted.texts)
        for error in drafted.left_out:
            kinds = self._found.setdefault((drafted.split, error.reason), Counter())
            kinds[error.example] += 1
            self._last[drafted.split] = error

    def conclude(self) -> list[LeftOut]:
        """What is left out."""
        for split, error in self._last.items():
            if not self._made[split]:
                with self.shortage.explained(by_ear=True):
                    raise LeftOutError(
                        error.reason,
                        example=f"split {split}: no group can be made; {error.example}",
                        fix=error.fix,
                    )
        return [
            LeftOut(split, kinds.total(), self.groups[split], reason, len(kinds), [*kinds][:SHOWN])
            for (split, reason), kinds in self._found.items()
        ]


_CLIPS: Final = ("id", "split", "source_split", "labels", "recording")


@dataclass(frozen=True, slots=True)
class Findings:
    """What a plan tells of its library.

    Args:
        refusals: Why clips are quarantined.
        lacking: Splits that have no clip of a label.
        unphrased: Labels that the lexicon has no phrase for, where captions tell of "the sound of"
            one.
        left_out: Groups that the plan goes without.
        absent: Splits of the library that the spec names and no clip is from.
    """

    refusals: Sequence[RefusalKind]
    lacking: Sequence[Lacking]
    unphrased: Sequence[str]
    left_out: Sequence[LeftOut] = ()
    absent: Sequence[str] = ()

    @classmethod
    def read(
        cls,
        manifests: Path,
        splits: Mapping[SplitName, Any],
        quarantine: Sequence[Mapping[str, str]] | None = None,
    ) -> Findings:
        """From the tables that a plan leaves in its folder.

        Args:
            splits: As the spec has them.
            quarantine: Clips that the library lacks today; a finished version's table tells why
                they were lacking when it was planned, and is used for want of this.
        """
        clips = read_columns(manifests / CLIPS_FILE, list(_CLIPS)).to_pylist()
        refused = read_columns(manifests / QUARANTINE_FILE).to_pylist()
        if quarantine is not None:
            catalogued = {clip["id"] for clip in clips}
            refused = [*quarantine, *(row for row in refused if row["id"] in catalogued)]
        coverage = Coverage.of(clips, {row["id"] for row in refused})
        metadata = pq.read_metadata(manifests / PLAN_FILE).metadata or {}
        named = (
            str(name) for names in splits.values() if isinstance(names, list) for name in names
        )
        present = {clip["source_split"] for clip in clips}
        return cls(
            count_refusals(refused),
            coverage.lacking,
            _find_unphrased(coverage.recordings, manifests / PLAN_FILE),
            [LeftOut(**groups) for groups in json.loads(metadata.get(LEFT_OUT.encode(), b"[]"))],
            [name for name in named if name not in present],
        )

    def to_json(self) -> dict[str, Any]:
        """As JSON values."""
        return asdict(self)

    @property
    def notes(self) -> list[str]:
        """For people, a line each."""
        notes = [
            f"no clip is from the library's split {name}, which the spec names"
            for name in self.absent
        ]
        notes += [split.line for split in self.lacking]
        if self.lacking:
            notes.append("to fill them, add clips; with shares, another `seed` may do")
        notes += [groups.line for groups in self.left_out]
        if self.unphrased:
            count = len(self.unphrased)
            have, read, it = (
                ("label has", "reads", "it") if count == 1 else ("labels have", "read", "them")
            )
            more = "; `segue labels SPEC` writes them all" if count > SHOWN else ""
            notes.append(
                f"{count:,} {have} no phrase and {read} 'the sound of …'; to word {it}, paste this "
                f"into the spec and mend it{more}:\n"
                + "\n".join(suggest_words(self.unphrased[:SHOWN]))
            )
        return notes

    @property
    def reasons(self) -> list[str]:
        """Why clips are quarantined, a line a kind."""
        return format_refusals(self.refusals)


def _find_unphrased(labels: Iterable[str], plan: Path) -> list[str]:
    unlisted = [label for label in sorted(labels) if Phrase.of_label(label).is_fallback]
    if not unlisted:
        return []
    captions = read_columns(plan, ["caption"]).column("caption")
    is_read = pc.any(pc.match_substring(captions, "the sound of ", ignore_case=True)).as_py()
    return [*map(name_of, unlisted)] if is_read else []

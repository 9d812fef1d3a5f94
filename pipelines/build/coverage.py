"""How many clips and recordings each label has in each split, of those that a recipe can use."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, TypeAlias

from pipelines.spec.spec import SPLITS

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
            f"split {self.split} has no clip of: {', '.join(self.labels[:SHOWN])}{rest} "
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
        found: dict[str, dict[str, list[str]]] = {}
        for clip in within:
            for label in clip["labels"]:
                places = found.setdefault(label, {split: [] for split in splits})
                if clip["id"] not in refused:
                    places[clip["split"]].append(clip["recording"])
        return cls(splits, found)

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
            sizes = [len(found) for found in self.recordings[label].values()]
            return min(sizes), sum(sizes), label

        return {
            label: {
                f"{split} {what}": count
                for split, found in self.recordings[label].items()
                for what, count in (("clips", len(found)), ("recordings", len(set(found))))
            }
            for label in sorted(self.recordings, key=rarity)[:SHOWN]
        }

    def to_json(self) -> dict[str, Any]:
        """As JSON values: the rarest, how many labels more there are, and what splits lack."""
        return {
            "rarest": self.rarest,
            "more": max(0, len(self.recordings) - SHOWN),
            "lacking": [asdict(each) for each in self.lacking],
        }

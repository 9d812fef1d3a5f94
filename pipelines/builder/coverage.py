"""Coverage: how many clips and recordings each label has in each split, and what would fill it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from typing import Any, Final, TypeAlias

from pipelines.config.spec import SPLITS, split_rules
from synth.base.own_label import name_of
from synth.sources.selection import split_finder

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
        by_label = sorted(self.recordings.items())
        missing = (
            (split, [name_of(label) for label, its in by_label if not its[split]])
            for split in self.splits
        )
        return [Lacking(split, labels, len(by_label)) for split, labels in missing if labels]

    @property
    def rarest(self) -> dict[str, dict[str, int]]:
        """Clips and recordings by split of the ten labels with the fewest clips in any split."""

        def rarity(label: str) -> tuple[int, int, str]:
            sizes = [len(clips) for clips in self.recordings[label].values()]
            return min(sizes), sum(sizes), label

        return {
            name_of(label): {
                f"{split} {unit}": count
                for split, clips in self.recordings[label].items()
                for unit, count in (("clips", len(clips)), ("recordings", len(set(clips))))
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


# Why a split lacks labels, and the shares with which it has them.


_MOST: Final = 500
"""Recordings up to which other shares are tried."""
_STEPS: Final = 20
"""Shares are tried in twentieths."""


def advise_splits(coverage: Coverage, splits: Mapping[Any, Any], seed: int) -> list[str]:
    """What fills the splits that lack labels; nothing where none does, or all clips are refused."""
    incomplete = {
        label
        for label, by_split in coverage.recordings.items()
        if not all(by_split.get(split) for split in splits)
    }
    recordings = {
        label: {name for names in by_split.values() for name in names}
        for label, by_split in coverage.recordings.items()
    }
    rare = sorted(label for label in incomplete if 0 < len(recordings[label]) < len(splits))
    advice = []
    if rare:
        names = ", ".join(map(name_of, rare[:SHOWN])) + (" ..." if len(rare) > SHOWN else "")
        advice.append(
            f"each of {len(splits)} splits needs a recording of its own, and there are "
            f"fewer of {names}: add some, or name fewer `splits`"
        )
    enough = {label: names for label, names in recordings.items() if len(names) >= len(splits)}
    is_dealt = all(isinstance(share, float) for share in splits.values())
    if is_dealt and incomplete & enough.keys() and (shares := find_shares(enough, splits, seed)):
        text = ", ".join(f"{name}: {share:g}" for name, share in shares.items())
        advice.append(f"`splits: {{{text}}}` gives splits more of the labels")
    return advice


def find_shares(
    recordings: Mapping[str, Collection[str]], splits: Mapping[str, float], seed: int
) -> dict[str, float] | None:
    """The shares by which most splits have most labels, of these the nearest to a spec's."""
    unique = sorted({name for names in recordings.values() for name in names})
    if len(unique) > _MOST:
        return None
    deals = [
        parts
        for parts in product(range(1, _STEPS), repeat=len(splits))
        if sum(parts) == round(_STEPS * sum(splits.values()))
    ]
    dealt = [dict(zip(splits, (part / _STEPS for part in parts), strict=True)) for parts in deals]
    dealt.sort(key=lambda shares: sum(abs(shares[name] - splits[name]) for name in splits))

    def count(shares: Mapping[Any, float]) -> int:
        """Labels in splits."""
        find = split_finder(split_rules(shares), seed)
        split_of = {name: find({"recording": name}) for name in unique}
        return sum(len({split_of[name] for name in names} - {""}) for names in recordings.values())

    best = max(dealt, key=count, default=dict(splits))
    return best if count(best) > count(splits) else None

"""The clips of a library that a recipe can use, and why it cannot use the others."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

import pyarrow.compute as pc

from pipelines.builder.coverage import Coverage, advise_splits
from pipelines.config.spec import Spec, TruthSpec
from pipelines.ingest.ingest import IngestedLibrary
from pipelines.ingest.parts import list_remedies
from pipelines.ingest.remedies import with_clip
from pipelines.store.row_file import RowFile
from synth.base.errors import PlanError
from synth.corpus.schema import read_levels
from synth.recipes.base import Clip, Recipe
from synth.sources.catalogue import explain_inaudible, quarantine_row
from synth.sources.own.split_names import find_misspelt

_COLUMNS: Final = (
    "id",
    "location",
    "labels",
    "captions",
    "tags",
    "split",
    "recording",
    "sample_rate",
    "onset",
    "offset",
    "loudness_lufs",
    "peak_db",
)
_SEGMENTS: Final = "segments"
_COVERED: Final = ("id", "split", "labels", "recording")


@dataclass(frozen=True, slots=True)
class Shortage:
    """What is told where a recipe lacks clips.

    Args:
        refused: Which were refused, and why; "" where none was.
        thresholds: Those of the spec that are not the usual ones; "" where all are.
        remedies: Settings that would have kept clips, or filled splits.
    """

    refused: str
    thresholds: str
    remedies: Sequence[str] = ()

    @contextmanager
    def explained(
        self, by_ear: bool = False, advise: Callable[[], Sequence[str]] = tuple
    ) -> Iterator[None]:
        """Within it, an error tells why clips are missing.

        Args:
            by_ear: Whether what is heard decides: then thresholds are told, too.
            advise: Tells what else would have given the recipe clips.
        """
        try:
            yield
        except PlanError as error:
            fix = "; or ".join((*self.remedies, *advise(), error.fix))
            if by_ear and self.thresholds:
                fix = f"{fix}; or change `truth`: {self.thresholds}"
            raise PlanError(error.message + self.refused, fix=fix) from error


@dataclass(frozen=True, slots=True)
class UsableClips:
    """What a recipe makes of a library.

    Args:
        numbers: The row of each in the library.
    """

    clips: dict[str, list[Clip]]
    numbers: dict[str, int]
    refused: list[dict[str, str]]
    shortage: Shortage

    @classmethod
    def choose(cls, recipe: Recipe, library: IngestedLibrary, spec: Spec) -> UsableClips:
        """Ask a recipe about each clip that lies in a split of the spec."""
        setting = spec.setting
        clips: dict[str, list[Clip]] = {split: [] for split in spec.splits}
        numbers: dict[str, int] = {}
        refused: list[dict[str, str]] = []
        by_id: dict[str, Mapping[str, Any]] = {}
        for number, row, clip in _read(library.clips, setting.rate):
            reason = setting.levels.refusal(clip.loudness_lufs)
            if reason is None and not row[_SEGMENTS]:
                reason = explain_inaudible(library.clips.row(number), setting.ear)
            reason = reason or recipe.refusal(clip, setting)
            if reason is None:
                clips[row["split"]].append(clip)
                numbers[clip.id] = number
            else:
                stage = f"recipe {recipe.name}"
                refused.append(quarantine_row(clip.id, row["location"], stage, reason))
                by_id[clip.id] = row
        everything = [with_clip(row, by_id.get(row["id"])) for row in refused + library.quarantine]
        usual = TruthSpec().model_dump()
        changed = (
            f"{name} is {value:g}, {usual[name]:g} by default"
            for name, value in spec.truth.model_dump().items()
            if value != usual[name]
        )
        shortage = Shortage(
            _tell_refused(everything), "; ".join(changed), list_remedies(everything)
        )
        usable = cls(clips, numbers, refused, shortage)
        if not all(clips.values()):
            usable._refuse_empty(everything, recipe, library, spec)
        return usable

    def __iter__(self) -> Iterator[Clip]:
        for clips in self.clips.values():
            yield from clips

    def advise(self, library: IngestedLibrary, spec: Spec) -> list[str]:
        """What gives splits the labels that they lack."""
        refused = {row["id"] for row in self.refused}
        return advise_splits(
            Coverage.of(library.clips.rows(*_COVERED), refused), spec.splits, spec.seed
        )

    def _refuse_empty(
        self,
        refused: Sequence[Mapping[str, Any]],
        recipe: Recipe,
        library: IngestedLibrary,
        spec: Spec,
    ) -> None:
        empty = [split for split, members in self.clips.items() if not members]
        names = {row["source_split"] for row in library.clips.rows("source_split")}
        own = ", ".join(sorted(names - {""}))
        if len(empty) == len(self.clips):
            fix = "the source has no splits; use shares, such as `splits: {train: 0.8, test: 0.2}`"
            if own:
                fix = f"no clip is in a split of the spec; the source's own are {own}"
            if self.refused:
                fix = "; or ".join(self.shortage.remedies) or "add sounds that are not refused so"
            raise PlanError(
                f"recipe {recipe.name}: none of {len(library.clips)} clips can be used"
                + self.shortage.refused,
                fix=fix,
            )
        within = {row["id"] for row in library.clips.rows("id", "split") if row["split"] in empty}
        causes = [row for row in refused if row["id"] in within]
        named = [f"name some of the source's own splits ({own})"] if own else []
        advice = self.advise(library, spec)
        refusals = _tell_refused(causes) or self.shortage.refused
        if not within and own:
            absent = ", ".join(
                f"{name} ({share})" for name, share in spec.splits.items() if name in empty
            )
            refusals = f": no clip is in {absent}; the source's own splits are {own}"
        fixes = find_misspelt(names) or (*list_remedies(causes), *named, *advice)
        raise PlanError(
            f"recipe {recipe.name} can use no clip of split {', '.join(empty)}{refusals}",
            fix="; or ".join((*fixes, "add clips, or drop it")),
        )


def _tell_refused(refused: Sequence[Mapping[str, Any]]) -> str:
    """How many clips were refused, and why the first was."""
    if not refused:
        return ""
    clips = "1 clip was" if len(refused) == 1 else f"{len(refused):,} clips were"
    return f" ({clips} refused; {refused[0]['id']}: {refused[0]['reason']})"


def _read(rows: RowFile, rate: int) -> Iterator[tuple[int, Mapping[str, Any], Clip]]:
    """The clips that lie in a split, with their rows, and the numbers of these."""
    labels: dict[tuple[str, ...], tuple[str, ...]] = {}
    start = 0
    for batch in rows.batches():
        levels = read_levels(batch)
        audible = pc.list_value_length(batch.column(_SEGMENTS)).to_pylist()
        for at, row in enumerate(batch.select(list(_COLUMNS)).to_pylist()):
            if row["split"]:
                names = tuple(row["labels"])
                row["labels"] = labels.setdefault(names, names)  # one object for all that are equal
                row[_SEGMENTS] = audible[at]
                yield start + at, row, Clip.of_row(row, rate, levels, at)
        start += batch.num_rows

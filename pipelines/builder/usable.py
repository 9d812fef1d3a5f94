"""The clips of a library that a recipe can use, and why it cannot use the others."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

import pyarrow.compute as pc

from pipelines.config.spec import Spec, TruthSpec
from pipelines.ingest.ingest import IngestedLibrary
from pipelines.store.row_file import RowFile
from synth.base.errors import PlanError
from synth.corpus.schema import read_levels
from synth.recipes.base import Clip, Recipe
from synth.sources.catalogue import explain_inaudible, quarantine_row

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


@dataclass(frozen=True, slots=True)
class Shortage:
    """What is told where a recipe lacks clips.

    Args:
        refused: Which were refused, and why; "" where none was.
        thresholds: Those of the spec that are not the usual ones; "" where all are.
    """

    refused: str
    thresholds: str

    @contextmanager
    def explained(self, by_ear: bool = False) -> Iterator[None]:
        """Within it, an error tells why clips are missing.

        Args:
            by_ear: Whether what is heard decides: then thresholds are told, too.
        """
        try:
            yield
        except PlanError as error:
            fix = error.fix
            if by_ear and self.thresholds:
                fix = f"{fix}; or change `truth`: {self.thresholds}"
            raise PlanError(error.message + self.refused, fix=fix) from error


@dataclass(frozen=True, slots=True)
class UsableClips:
    """What a recipe makes of a library.

    Args:
        clips: Those of each split that it can use.
        numbers: The row of each in the library.
        refused: Rows of `schema.QUARANTINE` for the others.
        quarantine: Those of clips that were refused when they were measured.
    """

    clips: dict[str, list[Clip]]
    numbers: dict[str, int]
    refused: list[dict[str, str]]
    quarantine: list[dict[str, str]]
    truth: TruthSpec

    @classmethod
    def choose(cls, recipe: Recipe, library: IngestedLibrary, spec: Spec) -> UsableClips:
        """Ask a recipe about each clip that lies in a split of the spec."""
        setting = spec.setting
        found = cls({split: [] for split in spec.splits}, {}, [], library.quarantine, spec.truth)
        for number, row, clip in _read(library.clips, setting.rate):
            reason = setting.levels.refusal(clip.loudness_lufs)
            if reason is None and not row[_SEGMENTS]:
                reason = explain_inaudible(library.clips[number], setting.ear)
            reason = reason or recipe.refusal(clip, setting)
            if reason is None:
                found.clips[row["split"]].append(clip)
                found.numbers[clip.id] = number
            else:
                stage = f"recipe {recipe.name}"
                found.refused.append(quarantine_row(clip.id, row["location"], stage, reason))
        found._refuse_empty(recipe, library)
        return found

    def __iter__(self) -> Iterator[Clip]:
        for each in self.clips.values():
            yield from each

    @property
    def shortage(self) -> Shortage:
        """Why clips are missing that the library holds."""
        return Shortage(self._tell_refused(), _list_changed(self.truth))

    def _tell_refused(self, among: Collection[str] = ()) -> str:
        """Those among some clips; all, where none is among them."""
        refused = [each for each in self.refused if each["id"] in among]
        refused = refused or self.refused + self.quarantine
        if not refused:
            return ""
        clips = "1 clip was" if len(refused) == 1 else f"{len(refused):,} clips were"
        return f" ({clips} refused; {refused[0]['id']} {refused[0]['reason']})"

    def _refuse_empty(self, recipe: Recipe, library: IngestedLibrary) -> None:
        if not any(self.clips.values()):
            example = self.refused[0]["reason"] if self.refused else ""
            raise PlanError(
                f"recipe {recipe.name}: none of {len(library.clips)} clips can be used",
                fix=f"the first was refused because it {example}"
                if example
                else _own_splits(library),
            )
        empty = [split for split, found in self.clips.items() if not found]
        if empty:
            own = _named_splits(library)
            rows = library.clips.rows("id", "split")
            lying = {row["id"] for row in rows if row["split"] in empty}
            raise PlanError(
                f"recipe {recipe.name} can use no clip of split {', '.join(empty)}"
                + self._tell_refused(lying),
                fix=(f"name some of the source's own splits ({own}), " if own else "")
                + "give it a larger share, try another `seed`, add clips, or drop the split",
            )


def _read(rows: RowFile, rate: int) -> Iterator[tuple[int, Mapping[str, Any], Clip]]:
    """The clips that lie in a split, with their rows, and the numbers of these."""
    labels: dict[tuple[str, ...], tuple[str, ...]] = {}
    start = 0
    for batch in rows.batches():
        levels = read_levels(batch)
        audible = pc.list_value_length(batch.column(_SEGMENTS)).to_pylist()
        for at, row in enumerate(batch.select(list(_COLUMNS)).to_pylist()):
            if row["split"]:
                own = tuple(row["labels"])
                row["labels"] = labels.setdefault(own, own)  # one object for all that are equal
                row[_SEGMENTS] = audible[at]
                yield start + at, row, Clip.of_row(row, rate, levels, at)
        start += batch.num_rows


def _list_changed(truth: TruthSpec) -> str:
    """The thresholds that are not the usual ones."""
    usual = TruthSpec().model_dump()
    return "; ".join(
        f"{name} is {value:g}, {usual[name]:g} by default"
        for name, value in truth.model_dump().items()
        if value != usual[name]
    )


def _named_splits(library: IngestedLibrary) -> str:
    found = {row["source_split"] for row in library.clips.rows("source_split")}
    return ", ".join(sorted(found - {""}))


def _own_splits(library: IngestedLibrary) -> str:
    """What to do where no clip lies in a split of the spec."""
    if own := _named_splits(library):
        return f"no clip is in a split of the spec; the source's own are {own}"
    return "the source has no splits; use shares, such as `splits: {train: 0.8, test: 0.2}`"

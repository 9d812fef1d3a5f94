"""What somebody who planned or built a corpus should know of its library."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow.compute as pc
import pyarrow.parquet as pq

from pipelines.build.coverage import SHOWN, Coverage, Lacking
from pipelines.build.left_out import LEFT_OUT, LeftOut
from pipelines.ingest.quarantine import RefusalKind, count_refusals, format_refusals
from pipelines.spec.spec import SplitName
from pipelines.store.row_groups import read_columns
from synth.corpus.corpus import CLIPS_FILE, PLAN_FILE, QUARANTINE_FILE
from synth.labels.lexicon import shipped_phrases

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
        return cls(
            count_refusals(refused),
            coverage.lacking,
            _find_unphrased(coverage.recordings, manifests / PLAN_FILE),
            _read_left_out(manifests / PLAN_FILE),
            _find_absent(splits, {clip["source_split"] for clip in clips}),
        )

    @classmethod
    def of_json(cls, found: Mapping[str, Any]) -> Findings:
        """From `to_json`."""
        return cls(
            [RefusalKind(**each) for each in found["refusals"]],
            [Lacking(**each) for each in found["lacking"]],
            found["unphrased"],
            [LeftOut(**each) for each in found["left_out"]],
            found["absent"],
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
        notes += [each.line for each in self.lacking]
        if self.lacking:
            notes.append("to fill them, add clips; with shares, another `seed` may do")
        notes += [each.line for each in self.left_out]
        if self.unphrased:
            count = len(self.unphrased)
            have, read = ("label has", "reads") if count == 1 else ("labels have", "read")
            more = f" and {count - SHOWN:,} more" if count > SHOWN else ""
            notes.append(
                f"{count:,} {have} no phrase and {read} 'the sound of …': "
                f"{', '.join(self.unphrased[:SHOWN])}{more}; "
                "write labels as you would say them, such as 'a hound'"
            )
        return notes

    @property
    def reasons(self) -> list[str]:
        """Why clips are quarantined, a line a kind."""
        return format_refusals(self.refusals)


def _find_absent(splits: Mapping[SplitName, Any], present: Collection[str]) -> list[str]:
    named = (str(name) for each in splits.values() if isinstance(each, list) for name in each)
    return [name for name in named if name not in present]


def _read_left_out(plan: Path) -> list[LeftOut]:
    told = (pq.read_metadata(plan).metadata or {}).get(LEFT_OUT.encode(), b"[]")
    return [LeftOut(**each) for each in json.loads(told)]


def _find_unphrased(labels: Iterable[str], plan: Path) -> list[str]:
    unlisted = sorted(set(labels) - shipped_phrases().keys())
    if not unlisted:
        return []
    captions = read_columns(plan, ["caption"]).column("caption")
    told = pc.any(pc.match_substring(captions, "the sound of ", ignore_case=True)).as_py()
    return unlisted if told else []

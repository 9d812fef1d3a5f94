"""What somebody who planned or built a corpus should know of its library."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

import pyarrow.compute as pc
import pyarrow.parquet as pq

from pipelines.builder.coverage import SHOWN, Coverage, Lacking, advise_splits
from pipelines.builder.drafting import DraftedRows
from pipelines.builder.usable import Shortage
from pipelines.config.spec import SplitName
from pipelines.ingest.parts import RefusalKind, count_refusals, format_refusals
from pipelines.ingest.remedies import find_remedy, with_clip
from pipelines.store.row_file import read_batches, read_columns
from synth.base.errors import LeftOutError
from synth.base.own_label import name_of
from synth.corpus.corpus import CLIPS_FILE, PLAN_FILE, QUARANTINE_FILE
from synth.labels.lexicon import Phrase
from synth.sources.own.split_names import find_misspelt
from synth.text.label_search import suggest_words

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
    """Counts the groups that are left out while a plan is drafted."""

    groups: Mapping[str, int]
    shortage: Shortage
    _kinds: dict[tuple[str, str], Counter[str]] = field(default_factory=dict)
    _last: dict[str, LeftOutError] = field(default_factory=dict)
    _made: Counter[str] = field(default_factory=Counter)

    def count(self, drafted: DraftedRows) -> None:
        """Count those of a run."""
        self._made[drafted.split] += len(drafted.texts)
        for error in drafted.left_out:
            kinds = self._kinds.setdefault((drafted.split, error.reason), Counter())
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
            for (split, reason), kinds in self._kinds.items()
        ]


_CLIPS: Final = (
    *("id", "split", "source_split", "labels", "recording"),
    *("onset", "offset", "sample_rate"),
)


@dataclass(frozen=True, slots=True)
class Findings:
    """What a plan tells of its library.

    Args:
        lacking: Splits that have no clip of a label.
        unphrased: Labels that the lexicon has no phrase for, where captions tell of "the sound of"
            one.
        absent: Splits of the library that the spec names and no clip is from.
        advice: What gives splits the labels that they lack.
    """

    refusals: Sequence[RefusalKind]
    lacking: Sequence[Lacking]
    unphrased: Sequence[str]
    left_out: Sequence[LeftOut] = ()
    absent: Sequence[str] = ()
    advice: Sequence[str] = ()

    @classmethod
    def read(
        cls,
        manifests: Path,
        splits: Mapping[SplitName, Any],
        quarantine: Sequence[Mapping[str, str]] | None = None,
        seed: int = 0,
    ) -> Findings:
        """From the tables that a plan leaves in its folder.

        Args:
            quarantine: Clips that the library lacks today; a finished version's table tells why
                they were lacking when it was planned, and is used for want of this.
        """
        clips = read_columns(manifests / CLIPS_FILE, list(_CLIPS)).to_pylist()
        refused = read_columns(manifests / QUARANTINE_FILE).to_pylist()
        if quarantine is not None:
            catalogued = {clip["id"] for clip in clips}
            refused = [*quarantine, *(row for row in refused if row["id"] in catalogued)]
        coverage = Coverage.of(clips, {row["id"] for row in refused})
        by_id = {clip["id"]: clip for clip in clips}
        refused = [with_clip(row, by_id.get(row["id"])) for row in refused]
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
            [*find_misspelt(sorted(present)), *advise_splits(coverage, splits, seed)],
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
        notes += self.advice
        notes += [
            "; ".join(filter(None, (groups.line, find_remedy([{"reason": groups.reason}]))))
            for groups in self.left_out
        ]
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
    unlisted = [
        name
        for label in sorted(labels)
        if Phrase.of_label(label) == Phrase.fallback(name := name_of(label))
    ]
    if not unlisted:
        return []
    is_read = any(
        pc.any(pc.match_substring(batch["caption"], "the sound of ", ignore_case=True)).as_py()
        for batch in read_batches(plan, ["caption"])
    )
    return unlisted if is_read else []

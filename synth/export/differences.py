"""Difference captions: pairs of samples of a group, and what tells them apart, as JSON lines."""

from __future__ import annotations

from typing import ClassVar

from synth.base.rng import Randomness
from synth.derived.differences.difference import find_differences
from synth.export.base import ExportFormat, Whole, json_line
from synth.export.folder import Writer
from synth.export.items import Shard
from synth.export.questions import SEED, store_audio, subjects_of

_HOW = """\
`SPLIT.jsonl` has a line for every two samples of a minimal-pair group that can be told apart:

- `first`, `second`, `group`: the samples; `first_audio`, `second_audio`: their files, from this
  folder.
- `caption` says how they differ, the first before the second; `reverse_caption` says the same of
  them in the opposite order, and is false in this one.
- `kind`: `reorder`, `together`, `apart`, `rebind`, `replaced`, `added` or `removed`: how the second
  differs from the first.
- `claims`: two, as JSON text in the form of the corpus's manifest: what is proven of the first and
  refuted of the second, and what is proven of the second and refuted of the first.

Of UNTOLD pairs nothing could be said that is proven of one and refuted of the other.
"""


class DifferencesFormat(ExportFormat):
    """JSON lines and the stored audio files."""

    name: ClassVar[str] = "differences"
    version: ClassVar[int] = 1

    def part(self, shard: Shard, out: Writer) -> None:
        """Audio files and the differences within this shard's groups."""
        paths = store_audio(shard, out)
        about = subjects_of(shard)
        groups = {subject.id: subject.group for subject in about}
        told = find_differences(about, Randomness(SEED))
        with out.piece("differences") as lines:
            for difference in told.differences:
                place = {
                    "group": groups[difference.first],
                    "first_audio": paths[difference.first],
                    "second_audio": paths[difference.second],
                }
                lines.write(json_line(difference.to_json() | place))
        with out.piece("untold") as facts:
            facts.write(json_line(told.untold))

    def finish(self, whole: Whole, out: Writer) -> None:
        """One file a split."""
        untold = 0
        for split in whole.splits:
            whole.join(out, f"{split}.jsonl", split, "differences")
            untold += sum(whole.values(split, "untold"))
        whole.readme(out, _HOW.replace("UNTOLD", f"{untold:,}"))

"""Exports of what is derived from samples: JSON lines, beside the stored audio files."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from typing import Any, ClassVar, Final, TypeAlias

from synth.derived.contrasts import KINDS
from synth.derived.reward import SCORED_KINDS
from synth.export.base import ExportFormat, Whole, json_line
from synth.export.folder import Writer
from synth.export.items import Shard

LEFT_OUT: Final = "left out"

Counts: TypeAlias = defaultdict[str, Counter[str]]
"""By column of the README's table, how many there are of each kind."""
Rows: TypeAlias = Iterator[tuple[str, dict[str, Any]]]
"""Rows, each with its piece."""


class LinesFormat(ExportFormat):
    """Rows of each piece of `derived`, a file a split.

    The README has TABLE, and each column's name in capitals for its sum.

    Attributes:
        files: Their names, with `{split}` in them.
    """

    files: ClassVar[tuple[str, ...]] = ("{split}.jsonl",)

    def _derive(self, shard: Shard, paths: Mapping[str, str], counts: Counts) -> Rows:
        """The rows of a shard.

        Args:
            paths: By sample, where its audio lies.
            counts: To be filled.
        """
        raise NotImplementedError

    def part(self, shard: Shard, out: Writer) -> None:
        """Audio files, and this shard's rows."""
        counts: Counts = defaultdict(Counter)
        paths = shard.store_audio(out)
        with ExitStack() as stack:
            pieces = {name: stack.enter_context(out.piece(name)) for name in self.derived}
            for piece, row in self._derive(shard, paths, counts):
                pieces[piece].write(json_line(row))
        with out.piece("counts") as facts:
            facts.write(json_line(counts))

    def finish(self, whole: Whole, out: Writer) -> dict[str, int]:
        """The files, and a README that tells how many there are of each kind."""
        for piece, name in zip(self.derived, self.files, strict=True):
            whole.join(out, name, piece)
        totals: Counts = defaultdict(Counter)
        for split in whole.splits:
            for counts in whole.values(split, "counts"):
                for column, kinds in counts.items():
                    totals[column].update(kinds)
        sums = {column: kinds.total() for column, kinds in totals.items()}
        words = {column.upper(): f"{total:,}" for column, total in sums.items()}
        words |= {"TABLE": _draw_table(totals), "CORPUS": whole.corpus.name}
        whole.readme(out, self.name, words)
        return sums


def _draw_table(totals: Counts) -> str:
    lines = [f"| kind | {' | '.join(totals)} |", "|---|" + "---:|" * len(totals)]
    for kind in dict.fromkeys((*KINDS, *SCORED_KINDS)):
        numbers = [kinds[kind] for kinds in totals.values()]
        if any(numbers):
            lines.append(f"| {kind} | {' | '.join(f'{number:,}' for number in numbers)} |")
    return "\n".join(lines)

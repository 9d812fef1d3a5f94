"""Edits as a folder: the audio of both sides and its stems, and JSON lines that join them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from synth.derived.edits.edit import FoundEdits
from synth.export.base import ExportFormat, Whole, json_line
from synth.export.edit_pairs import (
    FIELDS,
    PairSide,
    check_edits,
    describe_edit,
    edit_groups,
    read_edits,
)
from synth.export.folder import Writer
from synth.export.items import Shard

_HOW = f"""\
`SPLIT.jsonl` has a line for every pair of samples of which one becomes the other by one edit:

- `before`, `after`: ids of the samples; `before_audio`, `after_audio`: their files, from this
  folder; `before_caption`, `after_caption`: what is said of them.
- `before_stems`, `after_stems`: `label` and `audio` of every sound.
{FIELDS}
Pairs of a group that are no single edit, and so have no line: UNLIKE.
"""


class EditFormat(ExportFormat):
    """An export of edits."""

    def check(self, shards: Sequence[Shard]) -> None:
        """The corpus must be made by recipe `edits`, and its bank be there."""
        check_edits(shards)


class EditsFormat(EditFormat):
    """JSON lines, the stored audio files, and a file per stem."""

    name: ClassVar[str] = "edits"
    version: ClassVar[int] = 2

    def part(self, shard: Shard, out: Writer) -> None:
        """Audio, stems, and the edits of this shard's groups."""
        found = read_edits(shard)
        with out.piece("edits") as lines:
            for group in edit_groups(shard, found.edits):
                told = {name: _store(side, out) for name, side in group.sides.items()}
                for edit in group.edits:
                    sides = {
                        f"{which}_{key}": value
                        for which, name in (("before", edit.before), ("after", edit.after))
                        for key, value in told[name].items()
                    }
                    lines.write(json_line(describe_edit(edit, group) | sides))
        note_unlike(out, found)

    def finish(self, whole: Whole, out: Writer) -> None:
        """One file a split."""
        for split in whole.splits:
            whole.join(out, f"{split}.jsonl", split, "edits")
        write_readme(whole, out, _HOW)


def note_unlike(out: Writer, found: FoundEdits) -> None:
    """Note how many pairs of a shard are no edits."""
    with out.piece("unlike") as facts:
        facts.write(json_line(found.unlike))


def write_readme(whole: Whole, out: Writer, how: str, front_matter: str = "") -> None:
    """README.md, which says how many pairs are no edits."""
    unlike = sum(sum(whole.values(split, "unlike")) for split in whole.splits)
    whole.readme(out, how.replace("UNLIKE", f"{unlike:,}"), front_matter)


def _store(side: PairSide, out: Writer) -> dict[str, Any]:
    """Write the files of a sample; where they lie."""
    item = side.item
    out.write(item.path, item.audio)
    stems = []
    for stem in side.stems:
        path = f"stems/{item.split}/{stem.name}{item.suffix}"
        out.write(path, stem.audio)
        stems.append({"label": stem.label, "audio": path})
    return {"audio": item.path, "stems": stems}

"""A folder like ESC-50's (Piczak, 2015): WAV files and one table with a class for each."""

from __future__ import annotations

from collections import defaultdict
from typing import ClassVar, assert_never

from synth.corpus.shards import AudioFormat, decode_audio, encode_audio
from synth.export.base import ExportFormat, Whole, json_line, table_line
from synth.export.folder import Writer
from synth.export.items import Shard
from synth.scene.notation import format_scene
from synth.scene.scene import Concat, Event, Overlay, Scene, from_text, operands

COLUMNS = ("filename", "fold", "target", "category", "esc10", "src_file", "take")
_HOW = """\
`audio/` holds WAV files, `meta/esc50.csv` a row for each: `filename`, `fold`, `target`,
`category`, `esc10`, `src_file`, `take`, as in ESC-50, then `split` and `caption`.

- `category` says what is heard in which order, in scene notation: `dog`, `dog + rain` for a
  sequence, `dog * rain` for an overlay, whose sounds stand in alphabetical order since both orders
  sound alike. `target` numbers the categories in alphabetical order over everything exported.
- `fold`: FOLDS.
- `src_file` is the minimal-pair group: its samples use the same clips and share a fold; `take` is a
  letter for each of them.
- `esc10` is always `False`.

The licences below hold, not ESC-50's.
"""


class Esc(ExportFormat):
    """One class a composition; 16-bit WAV, as readers of ESC-50 expect."""

    name: ClassVar[str] = "esc"
    version: ClassVar[int] = 1

    def part(self, shard: Shard, out: Writer) -> None:
        """Audio files and this shard's rows, their classes not yet numbered."""
        takes: defaultdict[str, int] = defaultdict(int)
        with out.piece("meta") as meta:
            for item in shard.items():
                audio = item.audio
                if item.suffix != ".wav":
                    pcm = decode_audio(audio)
                    audio = encode_audio(pcm, item.row["sample_rate"], AudioFormat.WAV)
                out.write(f"audio/{item.id}.wav", audio)
                group = item.row["group"]
                row = {
                    "filename": f"{item.id}.wav",
                    "category": category(from_text(item.row["scene"])),
                    "src_file": group,
                    "take": _letters(takes[group]),
                    "caption": item.texts[0],
                }
                takes[group] += 1
                meta.write(json_line(row))

    def finish(self, whole: Whole, out: Writer) -> None:
        """The table, its classes numbered."""
        folds = {split: str(number) for number, split in enumerate(whole.corpus.splits, 1)}
        found = {row["category"] for split in whole.splits for row in whole.values(split, "meta")}
        targets = {name: str(number) for number, name in enumerate(sorted(found))}
        with out.open("meta/esc50.csv") as file:
            file.write(table_line((*COLUMNS, "split", "caption")))
            for split in whole.splits:
                for row in whole.values(split, "meta"):
                    row |= {"fold": folds[split], "split": split}
                    row |= {"target": targets[row["category"]], "esc10": "False"}
                    file.write(table_line([row[name] for name in (*COLUMNS, "split", "caption")]))
        told = ", ".join(f"{folds[split]} is split `{split}`" for split in whole.splits)
        whole.readme(out, _HOW.replace("FOLDS", told))


def category(scene: Scene) -> str:
    """The class of a scene: its notation, the same for all scenes that sound composed alike.

    Nested concatenations are one, nested overlays are one with their parts in alphabetical order.
    """
    match scene:
        case Event():
            return format_scene(Event(scene.label))
        case Concat():
            return " + ".join(category(part) for part in operands(scene))
        case Overlay():
            parts = [
                f"({category(part)})" if isinstance(part, Concat) else category(part)
                for part in operands(scene)
            ]
            return " * ".join(sorted(parts))
        case _:
            assert_never(scene)


def _letters(number: int) -> str:
    """A, B, ..., Z, AA, AB, ..."""
    letters = ""
    number += 1
    while number:
        number, rest = divmod(number - 1, 26)
        letters = chr(ord("A") + rest) + letters
    return letters

"""CompA's layout (Ghosh et al., 2024): a row an instance, with its captions and its audio files.

An instance is made of samples of one minimal-pair group, each of whose captions is proven of its
own sample and refuted of the others: two of them, or three where there are as many.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import groupby
from typing import ClassVar, Final, assert_never

from synth.corpus.shards import AudioFormat, decode_audio, encode_audio
from synth.derived.questions import Subject
from synth.export.base import ExportFormat, Whole, json_line, table_line
from synth.export.folder import Writer
from synth.export.items import Shard
from synth.scene.scene import Concat, Event, Overlay, Scene, format_scene, from_text, operands

_ROLES: Final = ("pair", "reversed_pair", "triplet")
_COLUMNS: Final = tuple(f"{role}_{what}" for what in ("caption", "file") for role in _ROLES)
_ABSENT: Final = "-"


class Compa(ExportFormat):
    """A table of instances a split, and the stored audio files."""

    name: ClassVar[str] = "compa"
    version: ClassVar[int] = 1
    derived = ("instances",)

    def part(self, shard: Shard, out: Writer) -> None:
        """This shard's instances, and the audio files that they name."""
        groups = groupby(shard.subjects(), lambda subject: subject.group)
        instances = [_choose(list(group)) for _, group in groups]
        wanted = {name for instance in instances for name in instance}
        captioned_files: dict[str, tuple[str, str]] = {}
        for item in shard.items():
            if item.id in wanted:
                out.write(item.path, item.audio)
                captioned_files[item.id] = item.texts[0], f"{item.id}{item.suffix}"
        with out.piece("instances") as lines:
            for instance in filter(None, instances):
                rows = [captioned_files[name] for name in instance]
                rows += [(_ABSENT, _ABSENT)] * (len(_ROLES) - len(rows))
                captions, files = zip(*rows, strict=True)
                lines.write(table_line((*captions, *files)))
        with out.piece("single") as facts:
            facts.write(json_line(instances.count(())))

    def finish(self, whole: Whole, out: Writer) -> None:
        """One table a split."""
        whole.join(out, "{split}.csv", "instances", table_line(_COLUMNS))
        single = whole.count("single")
        whole.readme(out, self.name, {"SINGLE": f"{single:,}"})


def _choose(group: Sequence[Subject]) -> tuple[str, ...]:
    """Ids of the samples of one instance, in plan order; none where no two can be told apart."""
    claims = {subject.id: subject.told[0].claim for subject in group}
    for first in range(len(group)):
        chosen: list[Subject] = []
        for subject in group[first:]:
            if (
                len(chosen) < len(_ROLES)
                and subject.proves(claims[subject.id])
                and all(
                    subject.refutes(claims[other.id]) and other.refutes(claims[subject.id])
                    for other in chosen
                )
            ):
                chosen.append(subject)
        if len(chosen) > 1:
            return tuple(subject.id for subject in chosen)
    return ()


# A folder like ESC-50's (Piczak, 2015): WAV files and one table with a class for each.


COLUMNS = ("filename", "fold", "target", "category", "esc10", "src_file", "take")


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
        categories = {
            row["category"] for split in whole.splits for row in whole.values(split, "meta")
        }
        targets = {name: str(number) for number, name in enumerate(sorted(categories))}
        with out.open("meta/esc50.csv") as file:
            file.write(table_line((*COLUMNS, "split", "caption")))
            for split in whole.splits:
                for row in whole.values(split, "meta"):
                    row |= {"fold": folds[split], "split": split}
                    row |= {"target": targets[row["category"]], "esc10": "False"}
                    file.write(table_line([row[name] for name in (*COLUMNS, "split", "caption")]))
        folds_text = ", ".join(f"{folds[split]} is split `{split}`" for split in whole.splits)
        whole.readme(out, self.name, {"FOLDS": folds_text})


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

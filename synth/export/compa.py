"""CompA's layout (Ghosh et al., 2024): a row an instance, with its captions and its audio files.

An instance is made of samples of one minimal-pair group, each of whose captions is proven of its
own sample and refuted of the others: two of them, or three where there are as many.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import ClassVar, Final

from synth.derived.questions import Subject
from synth.export.base import ExportFormat, Whole, json_line, table_line
from synth.export.folder import Writer
from synth.export.items import Shard
from synth.export.questions import subjects_of
from synth.scene.claim import claim_from_text

_ROLES: Final = ("pair", "reversed_pair", "triplet")
_COLUMNS: Final = tuple(f"{role}_{what}" for what in ("caption", "file") for role in _ROLES)
_ABSENT: Final = "-"
_HOW = """\
`SPLIT.csv` has a row an instance, as CompA-order and CompA-attribute have it: `pair_caption`,
`reversed_pair_caption`, `triplet_caption`, and the same three with `_file`, which name files in
`audio/SPLIT/`. Where an instance has two samples, `triplet_caption` and `triplet_file` are `-`.

Each caption is proven of its own file and refuted of the others in its row. Of a group that has
more than three such samples the first three are taken. SINGLE groups gave no instance.

    segue eval RUN test.csv --audio audio/test
"""


class Compa(ExportFormat):
    """A table of instances a split, and the stored audio files."""

    name: ClassVar[str] = "compa"
    version: ClassVar[int] = 1

    def part(self, shard: Shard, out: Writer) -> None:
        """This shard's instances, and the audio files that they name."""
        claims = {row["id"]: row["claim"] for row in shard.rows()}
        instances = []
        single = 0
        for _, group in groupby(subjects_of(shard), lambda subject: subject.group):
            found = _choose(list(group), claims)
            instances.append(found)
            single += not found
        wanted = {name for instance in instances for name in instance}
        said: dict[str, tuple[str, str]] = {}
        for item in shard.items():
            if item.id in wanted:
                out.write(item.path, item.audio)
                said[item.id] = item.texts[0], f"{item.id}{item.suffix}"
        with out.piece("instances") as lines:
            for instance in filter(None, instances):
                rows = [said[name] for name in instance]
                rows += [(_ABSENT, _ABSENT)] * (len(_ROLES) - len(rows))
                captions, files = zip(*rows, strict=True)
                lines.write(table_line((*captions, *files)))
        with out.piece("single") as facts:
            facts.write(json_line(single))

    def finish(self, whole: Whole, out: Writer) -> None:
        """One table a split."""
        single = 0
        for split in whole.splits:
            whole.join(out, f"{split}.csv", split, "instances", table_line(_COLUMNS))
            single += sum(whole.values(split, "single"))
        whole.readme(out, _HOW.replace("SINGLE", f"{single:,}"))


def _choose(group: Sequence[Subject], claims: Mapping[str, str]) -> tuple[str, ...]:
    """Ids of the samples of one instance, in plan order; none where no two can be told apart."""
    said = {subject.id: claim_from_text(claims[subject.id]) for subject in group}
    for first in range(len(group)):
        chosen: list[Subject] = []
        for subject in group[first:]:
            if (
                len(chosen) < len(_ROLES)
                and subject.proves(said[subject.id])
                and all(
                    subject.refutes(said[other.id]) and other.refutes(said[subject.id])
                    for other in chosen
                )
            ):
                chosen.append(subject)
        if len(chosen) > 1:
            return tuple(subject.id for subject in chosen)
    return ()

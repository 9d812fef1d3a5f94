"""Questions and answers: JSON lines a split, the audio beside them."""

from __future__ import annotations

from collections import Counter
from typing import Any, ClassVar, Final

import pyarrow.parquet as pq

from synth.base.errors import CorpusError
from synth.base.rng import Randomness
from synth.base.units import Frames
from synth.corpus.corpus import CLIPS_FILE, SAMPLES_FILE
from synth.corpus.schema import AUDIBLE
from synth.derived.asking import ask
from synth.derived.questions import Subject, subjects
from synth.export.base import ExportFormat, Whole, json_line
from synth.export.folder import Writer
from synth.export.items import Shard

SEED: Final = 0
"""Of what is drawn: wording, distractors and the order of options."""

_COLUMNS: Final = ("id", "labels", "captions", "tags")
_HOW = """\
`SPLIT.jsonl` has one line per question; the questions of a sample follow each other:

- `id`, `sample`, `group`: the question, its sample and the sample's group; `audio`: the sample's
  file, relative to this folder.
- `question`, `answer`, `options`: exactly one of the options is right, however the words are read.
  The options are `yes` and `no` if `kind` is `order`, `together` or `presence`; sounds if it is
  `first`, `last`, `after`, `before` or `with`; numbers if it is `count`. In corpora of counts or
  attributes they are what captions tell of the kind: how often a sound is heard (`times`), how
  long, when, how loud.
- `claims`: what each option claims, as JSON text in the form of the corpus's manifest. The
  sample's timeline proves the claim of the answer and refutes the others.

In each kind `yes` and `no` are equally frequent. Each text is answered with `yes` as often as with
`no`, except in samples that are alone in their group. A sample lacks a kind of question if none
can be proven, or if no other sample answers it differently. (Of the kinds behind `count` only
samples whose captions tell of them are counted.)

| kind | samples without |
|---|---:|
UNASKED
"""


class Questions(ExportFormat):
    """JSON lines and the stored audio files."""

    name: ClassVar[str] = "questions"
    version: ClassVar[int] = 3

    def part(self, shard: Shard, out: Writer) -> None:
        """Audio files and this shard's questions, which are made together."""
        paths = store_audio(shard, out)
        about = subjects_of(shard)
        groups = {subject.id: subject.group for subject in about}
        asked = ask(about, Randomness(SEED))
        with out.piece("questions") as lines:
            for question in asked.questions:
                place = {"group": groups[question.sample], "audio": paths[question.sample]}
                lines.write(json_line(question.to_json() | place))
        with out.piece("unasked") as facts:
            facts.write(json_line(dict(asked.unasked)))

    def finish(self, whole: Whole, out: Writer) -> None:
        """One file a split."""
        unasked: Counter[str] = Counter()
        for split in whole.splits:
            whole.join(out, f"{split}.jsonl", split, "questions")
            for counts in whole.values(split, "unasked"):
                unasked.update(counts)
        table = "\n".join(f"| {kind} | {count:,} |" for kind, count in unasked.items())
        whole.readme(out, _HOW.replace("UNASKED", table))


def store_audio(shard: Shard, out: Writer) -> dict[str, str]:
    """Write the audio files of a shard; where each sample's lies."""
    paths: dict[str, str] = {}
    for item in shard.items():
        paths[item.id] = item.path
        out.write(item.path, item.audio)
    return paths


def subjects_of(shard: Shard) -> list[Subject]:
    """The samples of a shard as they are asked about, in plan order."""
    return subjects(*read_clips(shard))


def read_clips(shard: Shard) -> tuple[list[dict[str, Any]], dict[str, dict[str, Any]], Frames]:
    """The rows of a shard, those of its clips by id, and the shortest overlap that can be heard."""
    folder = shard.corpus.folder
    metadata = pq.read_schema(folder / SAMPLES_FILE).metadata or {}
    if AUDIBLE.encode() not in metadata:
        raise CorpusError(
            f"{folder / SAMPLES_FILE}: does not say which overlaps can be heard",
            fix="it was made by an older version: build again",
        )
    rows = list(shard.rows())
    used = {clip for row in rows for clip in row["clips"]}
    clips = pq.read_table(
        folder / CLIPS_FILE, columns=list(_COLUMNS), filters=[("id", "in", sorted(used))]
    )
    by_id = {row["id"]: row for row in clips.to_pylist()}
    return rows, by_id, int(metadata[AUDIBLE.encode()])

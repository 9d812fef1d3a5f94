"""Questions with their answers, and difference captions: JSON lines, the audio beside them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from synth.derived.asking import ask
from synth.derived.differences import find_differences
from synth.export.base import RANDOMNESS
from synth.export.items import Shard
from synth.export.lines import Counts, LinesFormat, Rows
from synth.scene.claim import claim_to_text

_QUESTIONS_HOW = """\
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

TABLE
"""


class Questions(LinesFormat):
    """Questions, those of a shard made together."""

    name: ClassVar[str] = "questions"
    version: ClassVar[int] = 3
    derived = ("questions",)
    how = _QUESTIONS_HOW

    def _derive(self, shard: Shard, paths: Mapping[str, str], counts: Counts) -> Rows:
        subjects = shard.subjects()
        groups = {subject.id: subject.group for subject in subjects}
        asked = ask(subjects, RANDOMNESS)
        counts["samples without"].update(asked.left_out)
        for question in asked.made:
            place = {"group": groups[question.sample], "audio": paths[question.sample]}
            yield "questions", question.to_json() | place


# Difference captions: pairs of samples of a group, and what tells them apart, as JSON lines.


_DIFFERENCES_HOW = """\
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


class DifferencesFormat(LinesFormat):
    """Differences of samples of a group."""

    name: ClassVar[str] = "differences"
    version: ClassVar[int] = 1
    derived = ("differences",)
    how = _DIFFERENCES_HOW

    def _derive(self, shard: Shard, paths: Mapping[str, str], counts: Counts) -> Rows:
        subjects = shard.subjects()
        groups = {subject.id: subject.group for subject in subjects}
        differences = find_differences(subjects, RANDOMNESS)
        counts["untold"].update(differences.left_out)
        for difference in differences.made:
            first, second = difference.samples
            row = {
                "id": f"{first}-{second}",
                "first": first,
                "second": second,
                "caption": difference.answer,
                "reverse_caption": difference.wrong,
                "kind": difference.detail,
                "claims": [claim_to_text(claim) for claim in difference.claims],
                "group": groups[first],
                "first_audio": paths[first],
                "second_audio": paths[second],
            }
            yield "differences", row

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


class Questions(LinesFormat):
    """Questions, those of a shard made together."""

    name: ClassVar[str] = "questions"
    version: ClassVar[int] = 3
    derived = ("questions",)

    def _derive(self, shard: Shard, paths: Mapping[str, str], counts: Counts) -> Rows:
        subjects = shard.subjects()
        groups = {subject.id: subject.group for subject in subjects}
        asked = ask(subjects, RANDOMNESS)
        counts["samples without"].update(asked.left_out)
        for question in asked.made:
            place = {"group": groups[question.sample], "audio": paths[question.sample]}
            yield "questions", question.to_json() | place


# Difference captions: pairs of samples of a group, and what tells them apart, as JSON lines.


class DifferencesFormat(LinesFormat):
    """Differences of samples of a group."""

    name: ClassVar[str] = "differences"
    version: ClassVar[int] = 1
    derived = ("differences",)

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

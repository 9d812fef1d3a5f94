"""Moments: which sounds are heard when, as queries with windows, as Lighthouse reads them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final

from synth.base.units import to_seconds
from synth.captions.caption import capitalise
from synth.corpus.schema import read_timeline
from synth.derived.questions import Subject, group_members
from synth.export.items import Shard
from synth.export.lines import Counts, LinesFormat, Rows
from synth.labels.lexicon import Phrase
from synth.scene.scene import Event
from synth.scene.timeline import Timeline
from synth.truth.frames import find_windows

ABSENT: Final = "_absent"
"""Behind the name of a split: the queries for sounds that are not heard."""


class MomentsFormat(LinesFormat):
    """Queries for sounds that are heard, and for those that are not."""

    name: ClassVar[str] = "moments"
    version: ClassVar[int] = 1
    derived = ("present", "absent")
    expected = "labelled sounds of which it is certain when they are heard"
    files = ("{split}.jsonl", f"{{split}}{ABSENT}.jsonl")

    def _derive(self, shard: Shard, paths: Mapping[str, str], counts: Counts) -> Rows:
        queries, uncertain = find_queries(shard)
        counts["uncertain"]["queries"] = uncertain
        for query in queries:
            piece = "present" if query["relevant_windows"] else "absent"
            yield piece, query | {"audio": paths[query["vid"]]}


def find_queries(shard: Shard) -> tuple[list[dict[str, Any]], int]:
    """The queries for a shard's samples, in plan order, and how many are left out.

    A sample is asked for every sound of its group.
    """
    rows = list(shard.rows())
    subjects = shard.subjects(rows)
    queries: list[dict[str, Any]] = []
    asked = 0
    for members in group_members(subjects):
        placed = {at: read_timeline(rows[at]) for at in members}
        labels = sorted({label for timeline in placed.values() for label in timeline.labels()})
        texts = _word(labels, [subjects[at] for at in members])
        asked += len(members) * len(labels)
        for at, timeline in placed.items():
            for number, label in enumerate(labels):
                windows = _find_windows(label, subjects[at], timeline)
                if windows is not None:
                    lasts = to_seconds(rows[at]["frames"], subjects[at].rate)
                    query = {
                        "qid": f"{subjects[at].id}-q{number:02d}",
                        "query": texts[label],
                        "duration": lasts,
                        "vid": subjects[at].id,
                        "relevant_windows": [[start, min(end, lasts)] for start, end in windows],
                        "group": subjects[at].group,
                    }
                    queries.append(query)
    return queries, asked - len(queries)


def _word(labels: Sequence[str], members: Sequence[Subject]) -> dict[str, str]:
    """The query for each sound: a caption of a member that tells it alone, if there is one."""
    queries = {
        sentence.claim.label: sentence.text
        for subject in members
        for sentence in subject.told
        if isinstance(sentence.claim, Event)
    }
    return {
        label: queries.get(label) or capitalise(Phrase.of_label(label).clause) for label in labels
    }


def _find_windows(label: str, subject: Subject, timeline: Timeline) -> list[list[float]] | None:
    """The windows of a sound in seconds, none where it is absent; None where that is uncertain."""
    if label in subject.sentences or subject.refutes(Event(label)):
        # What whole captions leave unsaid may be heard all the same.
        return None if subject.sentences else []
    windows = find_windows(label, timeline, subject.tolerance.pause)
    if windows is None or not subject.proves(Event(label)):
        return None
    return [[round(at / subject.rate, 3) for at in window] for window in windows]

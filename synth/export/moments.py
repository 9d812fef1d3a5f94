"""Moments: which sounds are heard when, as queries with windows, as Lighthouse reads them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Final

from synth.base.units import to_seconds
from synth.captions.caption import capitalise
from synth.corpus.schema import read_timeline
from synth.derived.questions import Subject, group_members
from synth.export.base import ExportFormat, Whole, json_line
from synth.export.folder import Writer
from synth.export.items import Shard
from synth.labels.lexicon import Phrase
from synth.scene.scene import Event
from synth.scene.timeline import Timeline
from synth.truth.frames import find_windows

ABSENT: Final = "_absent"
"""Behind the name of a split: the queries for sounds that are not heard."""

_HOW: Final = """\
`SPLIT.jsonl` has one line per query, as Lighthouse (https://github.com/line/lighthouse) reads them:

- `qid`, `query`: a sound; `vid`, `duration`: the sample, and how many seconds it lasts.
- `relevant_windows`: when the sound is heard, in seconds. All listeners agree on these windows, but
  for a tenth of each at most.
- `audio`: the file, relative to this folder; `group`: the sample's group, whose samples are asked
  for the same sounds.

`SPLIT_absent.jsonl` has the same for sounds that are surely not heard; they have no windows, which
Lighthouse does not take. UNCERTAIN queries are left out: not all listeners agree on their windows.

Lighthouse looks for features in `qidQID.npz` and `VID.npz`. Predictions are JSON lines with `qid`
and `pred_relevant_windows`: up to ten of [start, end, score], the best one first.

    segue eval predictions.jsonl test.jsonl
"""


class MomentsFormat(ExportFormat):
    """JSON lines and the stored audio files."""

    name: ClassVar[str] = "moments"
    version: ClassVar[int] = 1
    derived = ("present", "absent")

    def part(self, shard: Shard, out: Writer) -> None:
        """Audio files, and this shard's queries."""
        paths = shard.store_audio(out)
        queries, uncertain = find_queries(shard)
        with out.piece("present") as present, out.piece("absent") as absent:
            for query in queries:
                file = present if query["relevant_windows"] else absent
                file.write(json_line(query | {"audio": paths[query["vid"]]}))
        with out.piece("uncertain") as facts:
            facts.write(json_line(uncertain))

    def finish(self, whole: Whole, out: Writer) -> dict[str, int]:
        """Two files a split."""
        whole.join(out, "{split}.jsonl", "present")
        whole.join(out, f"{{split}}{ABSENT}.jsonl", "absent")
        uncertain = whole.count("uncertain")
        whole.readme(out, _HOW.replace("UNCERTAIN", f"{uncertain:,}"))
        return {"uncertain": uncertain}


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
        labels = sorted({label for heard in placed.values() for label in heard.labels()})
        texts = _word(labels, [subjects[at] for at in members])
        asked += len(members) * len(labels)
        for at, heard in placed.items():
            for number, label in enumerate(labels):
                windows = _find_windows(label, subjects[at], heard)
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
    told = {
        sentence.claim.label: sentence.text
        for subject in members
        for sentence in subject.told
        if isinstance(sentence.claim, Event)
    }
    return {label: told.get(label) or capitalise(Phrase.of_label(label).clause) for label in labels}


def _find_windows(label: str, subject: Subject, heard: Timeline) -> list[list[float]] | None:
    """The windows of a sound in seconds, none where it is absent; None where that is uncertain."""
    if label in subject.sentences or subject.refutes(Event(label)):
        # What whole captions leave unsaid may be heard all the same.
        return None if subject.sentences else []
    windows = find_windows(label, heard, subject.tolerance.pause)
    if windows is None or not subject.proves(Event(label)):
        return None
    return [[round(at / subject.rate, 3) for at in window] for window in windows]

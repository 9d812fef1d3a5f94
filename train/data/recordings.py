"""Which recordings a split is made of, and which of them a run has heard in training."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from synth.base.atomic import write_text
from synth.base.doors import read_json, require_regular
from synth.base.errors import CorpusError
from synth.corpus.corpus import CLIPS_FILE
from train.data.split import SplitData

RECORDINGS_FILE: Final = "recordings.json"
_FORMAT: Final = 1


@dataclass(frozen=True, slots=True)
class Recordings:
    """The recordings behind some samples.

    Args:
        clips: SHA-256 of the files of the clips in use, by the name of their recording.
    """

    clips: Mapping[str, frozenset[str]]

    @classmethod
    def of(cls, *splits: SplitData) -> Recordings:
        """Those of the clips that the samples of some splits are made of."""
        recordings: dict[str, set[str]] = {}
        for data in splits:
            columns = ["id", "recording", "sha256"]
            table = pq.read_table(data.corpus.folder / CLIPS_FILE, columns=columns)
            ids = pa.array(data.find_clips(), pa.string())
            for row in table.filter(pc.is_in(table["id"], ids)).to_pylist():
                recordings.setdefault(row["recording"], set()).add(row["sha256"])
        return cls({name: frozenset(digests) for name, digests in sorted(recordings.items())})

    def count_shared(self, others: Recordings) -> int:
        """How many of these are among the others, by name or with a file of the same bytes."""
        digests = frozenset().union(*others.clips.values())
        return sum(
            name in others.clips or not digests.isdisjoint(own) for name, own in self.clips.items()
        )

    def save(self, folder: Path) -> None:
        """Write them into a run's folder, where `load_recordings` finds them."""
        clips = {name: sorted(digests) for name, digests in self.clips.items()}
        text = json.dumps({"format": _FORMAT, "recordings": clips}, indent=0, ensure_ascii=False)
        write_text(folder / RECORDINGS_FILE, text + "\n")


def load_recordings(run: Path) -> Recordings | None:
    """The recordings that a run is trained on; None where its folder does not tell."""
    path = require_regular(run / RECORDINGS_FILE)
    if not path.is_file():
        return None
    facts = read_json(path, fix="train the run again")
    try:
        clips = facts["recordings"]
        return Recordings({name: frozenset(digests) for name, digests in clips.items()})
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise CorpusError(f"{path}: damaged", fix="train the run again") from error

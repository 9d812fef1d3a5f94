"""The judge of exported edits: the instruction on both timelines, then the audio of both sides."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from synth.audio.dsp import Pcm
from synth.base.errors import CorpusError
from synth.corpus.shards import decode_audio
from synth.derived.edits import Take, fault
from synth.export.edits import read_edit

_SIDES = ("before", "after")


def judge_edit(row: Mapping[str, Any], takes: Mapping[str, Take], rate: int) -> str | None:
    """Why a line of an export of edits does not hold on the manifest; None where it does.

    Args:
        row: The line.
        takes: The samples of its shard, by id.
        rate: Of the corpus, in Hz.
    """
    edit = read_edit(row, rate)
    for sample in (edit.before, edit.after):
        if sample not in takes:
            return f"the corpus has no sample {sample!r}"
    return fault(edit, takes[edit.before], takes[edit.after])


def judge_edit_audio(row: Mapping[str, Any], root: Path, rate: int) -> str | None:
    """Why the files of a line are not those of an edit; None where they are.

    Nothing may differ outside of the edited stretch, and stems must add up to their mix.

    Args:
        row: The line; it holds on the manifest.
        root: The folder of the export.
        rate: Of the corpus, in Hz.
    """
    mixes = {side: _read(root, row[f"{side}_audio"]) for side in _SIDES}
    onset, offset = (round(row[name] * rate) for name in ("onset_s", "offset_s"))
    differing = np.flatnonzero(mixes["before"] != mixes["after"])
    if len(differing) == 0:
        return "its audio is the same before and after"
    if differing[0] < onset or differing[-1] >= offset:
        return "its audio differs outside of the edited stretch"
    for side, mix in mixes.items():
        match row.get(f"{side}_stems"):
            case [*stems] if all(_is_stem(stem) for stem in stems):
                parts = [_read(root, stem["audio"]) for stem in stems]
            case _:
                return f"{side}_stems is no list of stems"
        if not np.array_equal(np.sum(parts, axis=0, dtype=np.int64), mix):
            return f"its stems do not add up to the audio of {row[side]!r}"
    return None


def _is_stem(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("audio"), str)


def _read(root: Path, name: str) -> Pcm:
    path = locate(root, name)
    if not path.is_file():
        raise CorpusError(f"there is no {name}", fix="export again")
    return decode_audio(path.read_bytes())


def locate(root: Path, name: str) -> Path:
    """The file that a line names, below the folder of its export."""
    path = (root / name).resolve()
    if not path.is_relative_to(root.resolve()):
        raise CorpusError(f"{name!r} leads out of {root}", fix="export again")
    return path

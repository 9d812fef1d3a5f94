"""FSD50K: 51,197 Freesound clips of 0.3 to 30 s in 200 AudioSet classes (Fonseca et al., 2020).

As published (Zenodo 4060432), unpacked side by side: `FSD50K.ground_truth/dev.csv` (fname, labels,
mids, split) and `eval.csv` (without split), `FSD50K.metadata/dev_clips_info_FSD50K.json` and its
like of eval (by clip: title, description, tags, license, uploader), audio in
`FSD50K.dev_audio/FNAME.wav` and `FSD50K.eval_audio/`. FNAME is the Freesound id.

Which labels: the published ones are smeared, so a clip of an electric guitar is also labelled
Guitar, Plucked_string_instrument, Musical_instrument and Music. A clip's `labels` here are the most
specific: a label is left out where another of the clip's labels lies below it in AudioSet's
ontology, and no clip of the tables lacks the one where it has the other. (A squeak is not always
labelled Door, though Door is above Squeak: where both are named, both are kept.) Names are
AudioSet's display names: "Chirp, tweet" for Chirp_and_tweet.

Labels of dev are correct and may be incomplete; those of eval are complete.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import ClassVar, Final, Literal

from pydantic import BaseModel, Field

from synth.base.errors import SourceError
from synth.base.shipped import shipped_table
from synth.corpus.licence import parse_licence
from synth.sources.reading.base import ClipRef
from synth.sources.reading.files import FileSource, read_form, require_file
from synth.sources.reading.tables import Columns, drop_duplicates, read_rows

Subset = Literal["dev", "eval"]
SUBSETS: Final[tuple[Subset, ...]] = ("dev", "eval")
_MEND: Final = "give the folder that holds FSD50K.ground_truth/ and FSD50K.metadata/"
_IRREGULAR: Final = {"Dishes_and_pots_and_pans": "Dishes, pots, and pans"}


class _Info(BaseModel):
    title: str = ""
    license: str = ""
    uploader: str = ""


class Fsd50k(FileSource):
    """The dataset's unpacked folders.

    Args:
        root: Holds the folders `FSD50K.*`.
        subsets: `dev`, `eval` or both.
    """

    name: ClassVar[str] = "fsd50k"
    subsets: tuple[Subset, ...] = Field(default=SUBSETS, min_length=1)

    def refs(self) -> Iterator[ClipRef]:
        """One clip a row of the ground truth; the split is train, val or eval."""
        for subset in self.subsets:
            fix = f"unpack it into {self.root}, or set subsets to those that are there"
            folder = self.root / f"FSD50K.{subset}_audio"
            if not folder.is_dir():  # the other subset's folder, of nearly its name, is not meant
                raise SourceError(f"{folder}: the audio of subset {subset} not found", fix=fix)
        chosen = dict.fromkeys(self.subsets)
        rows = {subset: _rows(self.root, subset) for subset in SUBSETS}
        above = _infer_ancestors(
            [labels for clips in rows.values() for labels, _ in clips.values()]
        )
        for subset in chosen:
            path = self.root / "FSD50K.metadata" / f"{subset}_clips_info_FSD50K.json"
            require_file(path, "the metadata of the clips", _MEND)
            infos = read_form(path, dict[str, _Info])
            for name, (labels, split) in rows[subset].items():
                info = infos.get(name, _Info())
                yield ClipRef(
                    id=f"fsd50k/{name}",
                    location=f"FSD50K.{subset}_audio/{name}.wav",
                    labels=_show_most_specific(labels, above),
                    recording=f"freesound/{name}",
                    licence=parse_licence(info.license).id,
                    attribution=_attribution(name, info),
                    split=split,
                )


def _rows(root: Path, subset: Subset) -> dict[str, tuple[tuple[str, ...], str]]:
    """Labels and split of each clip."""
    columns = Columns(("fname", "labels", *(("split",) if subset == "dev" else ())), _MEND)
    path = root / "FSD50K.ground_truth" / f"{subset}.csv"
    rows: dict[str, tuple[tuple[str, ...], str]] = {}
    for row in drop_duplicates(read_rows(path, columns), "fname"):
        labels = tuple(
            dict.fromkeys(name for part in row["labels"].split(",") if (name := part.strip()))
        )
        rows[row["fname"]] = labels, row["split"] if subset == "dev" else "eval"
    return rows


def _infer_ancestors(clips: Collection[tuple[str, ...]]) -> dict[str, set[str]]:
    """The classes above each class, by pairs that no clip contradicts.

    The table is AudioSet's ontology over FSD50K's vocabulary, classes in between left out.

    Pairs are checked one by one: Growling, below both cats and dogs, is smeared to Animal alone.
    """
    parents: dict[str, set[str]] = {}
    for parent, children in shipped_table("fsd50k_ontology").items():
        for child in children.split():
            parents.setdefault(child, set()).add(parent)
    above = {name: _ancestors(name, parents) for name in parents}
    for labels in clips:
        for label in labels:
            if label in above:
                above[label].intersection_update(labels)
    return above


def _ancestors(name: str, parents: Mapping[str, set[str]]) -> set[str]:
    direct = parents.get(name, set())
    return direct.union(*(_ancestors(parent, parents) for parent in direct))


def _show_most_specific(labels: tuple[str, ...], above: Mapping[str, set[str]]) -> tuple[str, ...]:
    broader = {name for label in labels for name in above.get(label, set())}
    return tuple(
        _IRREGULAR.get(label) or label.replace("_and_", ", ").replace("_", " ")
        for label in labels
        if label not in broader
    )


def _attribution(name: str, info: _Info) -> str:
    title = f'"{info.title.strip()}"' if info.title.strip() else "a sound"
    by = f" by {info.uploader.strip()}" if info.uploader.strip() else ""
    return f"{title}{by} (Freesound {name}), in FSD50K"

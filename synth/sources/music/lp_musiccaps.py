"""LP-MusicCaps: captions that a language model wrote from tags (Doh et al., 2023).

Give a folder that holds any of these, or one of the datasets' own folders; sub-folders named
`LP-MusicCaps*` are searched too:

- `LP-MusicCaps-MC/data/{train,test}-*.parquet` (Hugging Face: seungheondoh): fname, ytid,
  aspect_list, caption_ground_truth, start_s, end_s, audioset_positive_labels; MusicCaps' clips;
- `LP-MusicCaps-MSD/data/{train,valid,test}-*.parquet`: track_id, title, artist_name, release, year,
  tag, path ("8/1/8134074.clip.mp3"); previews of the Million Song Dataset;
- `LP-MusicCaps-MTT/data/{train,valid,test}-*.parquet`: track_id (the clip's), title, artist_name,
  release, tag_top50, tag_top188, path; MagnaTagATune's clips, 4,000 of them without tag or caption.
  All three have caption_writing, _summary, _paraphrase and _attribute_prediction;
- `musiccaps_annotation.json` or `annotation.json`: MusicCaps by "[YTID]-[START-END]";
- `caption_writing.json` and others so named (`inference.json` of the repository's `exp/` folders):
  a list of prediction and ground_truth, without ids, of MusicCaps' evaluation clips. What a file of
  annotations has the ground truth of is one clip with it; others are known by their ground truth;
- `msd_tags.json`: the 1,054 tags of MSD; no clips, see `vocabulary`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Final, Literal

from pydantic import Field

from synth.base.errors import SourceError
from synth.base.rng import digest
from synth.base.units import Seconds
from synth.labels.lexicon import Tag
from synth.sources.music.magnatagatune import CLIP_S, LICENCE, heard_tags, recording_of
from synth.sources.music.musiccaps import aspects_of, audioset_names, labels_of
from synth.sources.reading.base import ClipRef
from synth.sources.reading.collected import AudioFiles, Collected, YouTubeClip, refuse_absent
from synth.sources.reading.files import FIX_FILE, read_form
from synth.sources.reading.rows import open_rows
from synth.sources.reading.tables import FIX_ROW
from synth.sources.reading.tag_files import parse_tag, read_vocabulary

Kind = Literal["ground_truth", "writing", "summary", "paraphrase", "attribute_prediction"]
KINDS: Final = ("writing", "summary", "paraphrase", "attribute_prediction")
ANNOTATIONS: Final = ("musiccaps_annotation.json", "annotation.json")
VOCABULARY: Final = "msd_tags.json"
MUSICCAPS_S: Final = 10.0
_PLACES: Final = ("*.parquet", "data/*.parquet", "LP-MusicCaps*/data/*.parquet")
_MEND: Final = "give the folder of a clone of LP-MusicCaps-MC, -MSD or -MTT, or of its JSON files"
_NEEDED: Final[Mapping[str, tuple[str, ...]]] = {
    "mc": ("ytid", "start_s", "end_s", "aspect_list"),
    "mtt": ("track_id", "title", "artist_name", "tag_top188", "path"),
    "msd": ("track_id", "title", "artist_name", "tag", "path"),
}


class LpMusicCaps(Collected):
    """The tables of `root`, and a folder of audio.

    Args:
        root: Holds the tables.
        audio: Folder of the audio: MusicCaps' by any name in common use, the others by `path`.
        captions: Which are taken, where a table has them: `ground_truth` is a person's, the others
            a model's. `attribute_prediction` names things that no tag says; its authors warn of it.
        msd_clip_s: How long a preview of MSD is taken to last while its audio is not there.
    """

    name: ClassVar[str] = "lp_musiccaps"
    captions: tuple[Kind, ...] = ("ground_truth", "writing", "summary", "paraphrase")
    msd_clip_s: Seconds = Field(default=30.0, gt=0)

    def refs(self) -> Iterator[ClipRef]:
        """The clips of the Parquet files in the order of their names, then those of JSON files."""
        tables = sorted(path for place in _PLACES for path in self.root.glob(place))
        listings = [*self._annotations(), *self._predictions()]
        refuse_absent(self.root, [*tables, *listings], "Parquet or JSON of LP-MusicCaps", _MEND)
        files = self.files()
        classes = audioset_names(self.root)
        ref = None
        for table in tables:
            for ref in self._table(table, files, classes):
                yield ref
        for ref in self._json_clips(files, classes):
            yield ref
        if ref is None:
            raise SourceError(f"{self.root}: its tables list no clip", fix=_MEND)

    def vocabulary(self) -> tuple[Tag, ...]:
        """The tags of `msd_tags.json`, in the shipped list's categories; none without the file."""
        path = self.root / VOCABULARY
        return read_vocabulary(path).tags if path.is_file() else ()

    def _annotations(self) -> list[Path]:
        paths = [path for name in ANNOTATIONS if (path := self.root / name).is_file()]
        if len(paths) > 1:
            raise SourceError(f"{self.root}: holds {' and '.join(ANNOTATIONS)}", fix="keep one")
        return paths

    def _predictions(self) -> list[Path]:
        """Files of the kinds of captions that are asked for."""
        names = (
            name
            for kind in KINDS
            if kind in self.captions
            for name in (f"caption_{kind}.json", f"exp/caption_{kind}/inference.json")
        )
        return [path for name in names if (path := self.root / name).is_file()]

    def _table(
        self, path: Path, files: AudioFiles | None, classes: Mapping[str, str]
    ) -> Iterator[ClipRef]:
        rows = open_rows(path)
        names = rows.schema.names
        kind = next((kind for kind, needed in _NEEDED.items() if set(needed) <= set(names)), None)
        if kind is None:
            raise SourceError(f"{path}: has the columns {', '.join(names)}", fix=_MEND)
        split = path.name.split("-")[0].removesuffix(".parquet")
        for number, row in rows.texts(names):
            where = f"{path}: row {number + 1}"
            if kind == "mc":
                ref = self._youtube("mc", row, files, classes, where)
            else:
                ref = self._track(kind, row, files, where)
            yield replace(ref, captions=self._captions(row), split=split)

    def _captions(self, row: Mapping[str, Any]) -> tuple[str, ...]:
        texts = (row.get(f"caption_{kind}") for kind in self.captions)
        return tuple(dict.fromkeys(text.strip() for text in texts if text and text.strip()))

    def _youtube(
        self,
        part: str,
        row: Mapping[str, Any],
        files: AudioFiles | None,
        classes: Mapping[str, str],
        where: str,
    ) -> ClipRef:
        video, start, end = (str(row.get(key)) for key in ("ytid", "start_s", "end_s"))
        clip = YouTubeClip.of(video, start, end, where)
        aspects = row.get("aspect_list")
        if isinstance(aspects, str):
            tags = aspects_of(aspects, where)
        else:
            tags = _tags(_names(aspects, where))
        return ClipRef(
            id=f"lp_musiccaps/{part}/{clip.name}",
            location=files.find_stem(*clip.stems) if files else clip.name,
            labels=labels_of(str(row.get("audioset_positive_labels") or ""), classes, where),
            recording=clip.recording,
            attribution=f"LP-MusicCaps; MusicCaps; YouTube {clip.youtube_id}",
            tags=tags,
            duration_s=clip.seconds,
        )

    def _track(
        self, part: str, row: Mapping[str, Any], files: AudioFiles | None, where: str
    ) -> ClipRef:
        track, path = row["track_id"], row["path"]
        if not (track and path and isinstance(track, str) and isinstance(path, str)):
            raise SourceError(f"{where}: lacks its track_id or path", fix=FIX_FILE)
        is_mtt = part == "mtt"
        names = _names(row["tag_top188" if is_mtt else "tag"], where)
        listed_s = CLIP_S if is_mtt else self.msd_clip_s if files is None else None
        return ClipRef(
            id=f"lp_musiccaps/{part}/{track}",
            location=files.find_path(path) if files else path,
            recording=recording_of(path, where) if is_mtt else f"msd/{track}",
            licence=LICENCE if is_mtt else "unknown",
            attribution=f"{row['title'] or track} by {row['artist_name'] or 'unknown'}",
            tags=heard_tags(names) if is_mtt else _tags(names),
            duration_s=listed_s,
        )

    def _json_clips(
        self, files: AudioFiles | None, classes: Mapping[str, str]
    ) -> Iterator[ClipRef]:
        """Clips by their ground truth: those of the annotations, then those without ids."""
        predicted = self._by_ground_truth()
        human = "ground_truth" in self.captions
        for path in self._annotations():
            for key, row in read_form(path, dict[str, dict[str, Any]], _MEND).items():
                where = f"{path}: clip {key}"
                truth = _words(row.get("caption"), where)
                captions = [*([truth] if human else []), *predicted.pop(truth, [])]
                split = "test" if row.get("is_audioset_eval") else "train"
                ref = self._youtube("annotation", row, files, classes, where)
                yield replace(ref, captions=tuple(dict.fromkeys(captions)), split=split)
        for truth, texts in predicted.items():
            captions = [*([truth] if human else []), *texts]
            name = f"lp_musiccaps/predicted/{digest(truth)[:16]}"
            yield ClipRef(
                id=name,
                location=name,
                captions=tuple(dict.fromkeys(captions)),
                recording=name,
                attribution="LP-MusicCaps; MusicCaps",
                split="test",
                duration_s=MUSICCAPS_S,
                refusal="its file of captions does not say which clip it is" if files else "",
            )

    def _by_ground_truth(self) -> dict[str, list[str]]:
        captions: dict[str, list[str]] = {}
        for path in self._predictions():
            for number, row in enumerate(read_form(path, list[dict[str, Any]], _MEND), start=1):
                where = f"{path}: entry {number}"
                truth = _words(row.get("ground_truth"), where)
                captions.setdefault(truth, []).append(_words(row.get("prediction"), where))
        return captions


def _names(value: Any, where: str) -> Sequence[str]:
    names = [] if value is None else value
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise SourceError(f"{where}: {value!r} is not a list of tags", fix=FIX_FILE)
    return names


def _tags(names: Sequence[str]) -> tuple[Tag, ...]:
    return tuple(dict.fromkeys(parse_tag(name) for name in names if name.strip()))


def _words(text: Any, where: str) -> str:
    if not isinstance(text, str) or not text.strip():
        raise SourceError(f"{where}: {text!r} is not a caption", fix=FIX_ROW)
    return text.strip()

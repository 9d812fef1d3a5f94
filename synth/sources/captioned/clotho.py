"""Clotho: Freesound clips of 15 to 30 s with five captions each (Drossos et al., 2020).

As published (version 2.1, Zenodo 4783391): for each split `clotho_captions_SPLIT.csv` (file_name,
caption_1 to caption_5; UTF-8) and `clotho_metadata_SPLIT.csv` (file_name, keywords, sound_id,
sound_link, start_end_samples, manufacturer, license; Latin-1), with the audio in
`clotho_audio_SPLIT.7z`, which unpacks to the folder `SPLIT`. Splits are development, validation and
evaluation; version 1 has no validation.

Quirks: some file names begin with a blank or hold characters that an unpacker may have replaced by
`_`. Where the authors could not find the Freesound original again, the metadata say "Not found":
such a clip is a recording of its own under an unknown licence.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import ClassVar, Final

from synth.base.units import Seconds
from synth.corpus.licence import parse_licence
from synth.labels.lexicon import Tag
from synth.sources.reading.base import ClipRef
from synth.sources.reading.collected import AudioFiles, Collected, find_tables
from synth.sources.reading.files import require_file
from synth.sources.reading.tables import Columns, drop_duplicates, read_rows, texts_of

SPLITS: Final = ("development", "validation", "evaluation")
RATE: Final = 44_100
NOT_FOUND: Final = "not found"
_MEND: Final = "give the folder of Clotho's clotho_captions_*.csv and clotho_metadata_*.csv"
_CAPTIONS: Final = tuple(f"caption_{number}" for number in range(1, 6))
_CAPTION_COLUMNS: Final = Columns(("file_name", *_CAPTIONS), _MEND)
_METADATA_COLUMNS: Final = Columns(
    (
        *("file_name", "keywords", "sound_id", "sound_link"),
        *("start_end_samples", "manufacturer", "license"),
    ),
    _MEND,
)
_ID: Final = re.compile(r"(\d+)(?:\.0)?")
_LINK: Final = re.compile(r"/sounds/(\d+)")
_SPAN: Final = re.compile(r"\[\s*(\d+)\s*,\s*(\d+)\s*\]")
_REPLACED: Final = re.compile(r'[\\:*?"<>|]')


class Clotho(Collected):
    """The caption and metadata files of `root`, and the unpacked audio.

    Args:
        root: Holds the CSV files.
        audio: Folder that holds the folders `development`, `validation` and `evaluation`, or the
            files themselves. By default `root`, where one of these folders is there.
        keywords: Also give the uploaders' keywords as tags. They were not checked against the
            sound, and many name the place or the microphone.
    """

    name: ClassVar[str] = "clotho"
    keywords: bool = False

    def list_usual(self) -> tuple[str, ...]:
        """The root, where any split's folder is there."""
        folders = (self.root / folder for split in SPLITS for folder in _folders(split))
        return (".",) if any(map(Path.is_dir, folders)) else ()

    def refs(self) -> Iterator[ClipRef]:
        """One clip a file name of a split's captions, with all of its captions."""
        name, expected = "clotho_captions_SPLIT.csv", "clotho_captions_*.csv"
        tables = find_tables(self.root, SPLITS, name, expected, _MEND)
        files = self.files()
        for split, path in tables.items():
            yield from self._split(split, path, files)

    def _split(self, split: str, table: Path, files: AudioFiles | None) -> Iterator[ClipRef]:
        captions: dict[str, list[str]] = {}
        for row in read_rows(table, _CAPTION_COLUMNS):
            texts = captions.setdefault(row["file_name"], [])
            texts += [text for name in _CAPTIONS if (text := row[name].strip())]
        path = self.root / f"clotho_metadata_{split}.csv"
        require_file(path, "the metadata", _MEND)
        rows = read_rows(path, _METADATA_COLUMNS, fallback="latin-1")
        metadata = {row["file_name"]: row for row in drop_duplicates(rows, "file_name")}
        for name, texts in captions.items():
            known: Mapping[str, str] = metadata.get(name, {})
            stem, keywords = name.removesuffix(".wav"), known.get("keywords", "")
            numbered = _ID.fullmatch(known.get("sound_id", "").strip())
            numbered = numbered or _LINK.search(known.get("sound_link", ""))
            number = numbered[1] if numbered else ""  # Freesound's
            tags = texts_of(keywords, ";") if self.keywords else ()
            seconds = _seconds(known.get("start_end_samples", ""))
            text = known.get("license", "").strip()
            refusal = ""
            if not known:
                refusal = f"has no row in {path.name}, so its licence and original are not known"
            elif files is None and seconds is None:
                refusal = "has no length in the metadata, and there is no audio to tell it"
            yield ClipRef(
                id=f"clotho/{split}/{stem}",
                location=files.find_path(*_places(split, name)) if files else f"{split}/{name}",
                captions=tuple(texts),
                recording=f"freesound/{number}" if number else f"clotho/{stem}",
                licence="unknown" if text.lower() == NOT_FOUND else parse_licence(text).id,
                attribution=_attribution(known, name, number),
                split=split,
                tags=tuple(Tag("", tag) for tag in dict.fromkeys(tags)),
                duration_s=seconds,
                refusal=refusal,
            )


def _folders(split: str) -> tuple[str, ...]:
    return split, f"clotho_audio_{split}/{split}", f"clotho_audio_{split}"


def _places(split: str, name: str) -> tuple[str, ...]:
    """Where a clip may lie below the audio folder, the likeliest place first."""
    spellings = dict.fromkeys((name, _REPLACED.sub("_", name), name.strip()))
    folders = (*_folders(split), ".")
    return tuple(f"{folder}/{spelling}" for folder in folders for spelling in spellings)


def _seconds(samples: str) -> Seconds | None:
    span = _SPAN.fullmatch(samples.strip())
    if span is None or int(span[2]) <= int(span[1]):
        return None
    return (int(span[2]) - int(span[1])) / RATE


def _attribution(row: Mapping[str, str], name: str, number: str) -> str:
    author = row.get("manufacturer", "").strip()
    by = f" by {author}" if author and author.lower() != NOT_FOUND else ""
    where = f" (Freesound {number})" if number else ""
    return f'cut from "{name.strip()}"{by}{where}, in Clotho'

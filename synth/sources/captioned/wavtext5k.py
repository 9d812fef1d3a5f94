"""WavText5K: 4,525 sounds of BigSoundBank and SoundBible with descriptions (Deshmukh et al., 2022).

As published (github.com/microsoft/WavText5K): `WavText5K.csv` (view_link, download_link, title,
description, fname, tags) and `process.py`, which collects the audio to `Webcrawl/download/FNAME`
and a resampled copy to `Webcrawl/RATE/audios/FNAME`.

Quirks: descriptions begin with a blank, or are empty (177, all listed without caption: a title such
as "Waves 3" is no sentence); some speak of more than the sound ("Free to use"). `tags` is a Python
list in text, of SoundBible's sounds only, with a scrap of HTML in some; many are a thesaurus' words
that the sound does not bear out. Which sound is under which licence only its page says.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import ClassVar, Final

from synth.labels.lexicon import Tag
from synth.sources.reading.base import ClipRef
from synth.sources.reading.collected import Collected, refuse_absent
from synth.sources.reading.tables import Columns, drop_duplicates, read_list, read_rows

FILE: Final = "WavText5K.csv"
COLUMNS: Final = ("view_link", "download_link", "title", "description", "fname", "tags")
FOLDERS: Final = (
    "download",
    ".",
    "audios",
    *(f"{rate}/audios" for rate in (44100, 44800, 32000, 22050, 16000)),
)
_MEND: Final = f"give the folder of {FILE}"
_SITE: Final = re.compile(
    r"https?://(?:www\.)?(?:(?P<big>bigsoundbank)\.com/detail-(?P<number>\d+)-"
    r"|(?P<bible>soundbible)\.com/(?P<id>\d+)-)"
)
_TITLES: Final = {"bigsoundbank": "BigSoundBank", "soundbible": "SoundBible"}
_LINK: Final = re.compile(r"(?<=[\[,])\s*<li>.*?</li>\s*(?=[,\]])", re.DOTALL)
_ELEMENT: Final = re.compile(r"<[^>]*>")


class WavText5K(Collected):
    """`WavText5K.csv` of `root`, and the audio that its `process.py` collects.

    Args:
        root: Holds `WavText5K.csv`.
        audio: The save folder given to `process.py`, or the folder of the files themselves. By
            default `Webcrawl`, if it exists.
        keywords: Also give SoundBible's keywords as tags, which were not checked against the sound.
    """

    name: ClassVar[str] = "wavtext5k"
    usual_audio: ClassVar[tuple[str, ...]] = ("Webcrawl",)
    keywords: bool = False

    def refs(self) -> Iterator[ClipRef]:
        """One clip a row; the description, where there is one, is its caption."""
        path = self.root / FILE
        refuse_absent(self.root, [path] if path.is_file() else [], FILE, _MEND)
        files = self.files()
        for row in drop_duplicates(read_rows(path, Columns(COLUMNS, _MEND)), "fname"):
            name, link = row["fname"], row["view_link"]
            site = _SITE.match(link)
            if site is None:
                row.refuse(f"view_link is {link!r}, expected a page of BigSoundBank or SoundBible")
            origin, number = site["big"] or site["bible"], site["number"] or site["id"]
            # A Python list in text, of which one item may be a scrap of HTML.
            listed = _LINK.sub(lambda item: repr(_ELEMENT.sub("", item[0])), row["tags"])
            tags = map(str.strip, read_list(listed, f"{row.where}: tags"))
            places = (f"{folder}/{name}" for folder in FOLDERS)
            caption = " ".join(row["description"].split())
            yield ClipRef(
                id=f"wavtext5k/{name.removesuffix('.wav')}",
                location=files.find_path(*places) if files else name,
                captions=(caption,) if caption else (),
                recording=f"{origin}/{number}",
                attribution=f'"{row["title"].strip()}" ({link}), {_TITLES[origin]}',
                tags=tuple(Tag("", tag) for tag in dict.fromkeys(tags) if tag and self.keywords),
            )

"""A source. Bird calls: calls.csv (file, species, place, recordist) beside the folder audio/."""

from collections.abc import Iterator
from typing import ClassVar

from synth.sources.reading.base import ClipRef, Origin
from synth.sources.reading.files import FileSource, require_folder
from synth.sources.reading.tables import Columns, drop_duplicates, read_rows

FIX = "give the folder of calls.csv and audio/"
COLUMNS = Columns(("file", "species", "place", "recordist"), FIX)


class Birds(FileSource):
    """The dataset's own folder.

    Args:
        root: Holds calls.csv and audio/.
        species: Only this one; "" for all.
    """

    name: ClassVar[str] = "birds"
    origin: ClassVar[Origin] = Origin("Bird calls", "https://example.org/birds", "CC BY 4.0")
    species: str = ""

    def refs(self) -> Iterator[ClipRef]:
        """One clip a call; calls of one place are one recording."""
        require_folder(self.root / "audio", "the audio folder", FIX)
        for row in drop_duplicates(read_rows(self.root / "calls.csv", COLUMNS), "file"):
            if self.species in ("", row["species"]):
                yield ClipRef(
                    id=f"birds/{row['file']}",
                    location=f"audio/{row['file']}",
                    labels=(row["species"],),
                    recording=f"birds/{row['place']}",
                    licence="CC-BY-4.0",
                    attribution=f"{row['recordist']}, Bird calls",
                )

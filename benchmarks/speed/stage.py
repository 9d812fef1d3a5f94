"""What is prepared once for all turns: clips, bank, specs, and the items that peers are given."""

from __future__ import annotations

import csv
import json
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow.parquet as pq
import soundfile

from pipelines.builder.build import build, plan_library
from pipelines.config.spec import Spec
from synth.base.progress import UNOBSERVED
from synth.base.rng import Randomness
from synth.corpus.corpus import CLIPS_FILE, PLAN_FILE
from synth.scene.scene import from_text
from synth.scene.timeline import timeline
from synth.sources.procedural import foley

RATE: Final = 44_100
SEED: Final = 7
TAKES: Final = 8
FOUR: Final = ("(any + any) * (any + any)", "any + any + any + any", "any * any + any * any")
KINDS: Final = ("pair", "triplet", "four events")


@dataclass(frozen=True, slots=True)
class Size:
    """How much each case does.

    Args:
        rendered: Samples of a rendering case, a multiple of 4.
        labels: Classes of the triplets: n (n - 1) groups of three.
        planned: Samples of a planning case.
        corpora: Samples of the corpora over which cost is followed.
        listings: Takes of each AudioSet label in the catalogues over which cost is followed.
        shards: Of the rebuild that has nothing to do.
        scaled: Samples that 1 and 2 workers render.
        steps: Batches that the loader makes.
    """

    rendered: int = 512
    labels: int = 13
    planned: int = 20_000
    corpora: tuple[int, ...] = (1_000, 10_000, 100_000)
    listings: tuple[int, ...] = (19, 190, 1_900)
    shards: int = 1_000
    scaled: int = 2_000
    steps: int = 60


FULL: Final = Size()
QUICK: Final = Size(24, 3, 400, (100, 200, 400), (1, 2), 20, 48, 4)


@dataclass(frozen=True)
class BenchStage:
    """The folder in which all is prepared, and how much is done."""

    folder: Path
    esc50: Path
    size: Size

    @property
    def clips(self) -> Path:
        """One folder a label."""
        return self.folder / "clips"

    @property
    def few(self) -> Path:
        """The same with few labels."""
        return self.folder / "few"

    def spec(self, kind: str, samples: int, **changes: Any) -> dict[str, Any]:
        """The spec of a kind of samples."""
        recipes: dict[str, dict[str, Any]] = {
            "pair": {"acba": {"pairs": samples, "crossfade_s": 1.0, "style": "natural"}},
            "triplet": {"triplets": {"crossfade_s": 0.5, "style": "natural"}},
            # Summed, as the peers do it; `between_class`, the default, weighs the parts besides.
            "four events": {
                "scenes": {"scenes": samples, "expressions": list(FOUR), "mixing": "sum"}
            },
        }
        root = self.few if kind == "triplet" else self.clips
        return {
            "corpus": "speed",
            "seed": SEED,
            "source": {"folder": {"root": str(root)}},
            "recipe": recipes[kind],
            "audio": {"sample_rate": RATE, "format": "flac"},
            "splits": {"train": 1.0},
        } | changes

    def prepare(self) -> str:
        """Lay out the clips, build what is read, write what peers are asked for; what clips are."""
        sounds = lay_out(self.clips, self.esc50)
        few_labels(self.clips, self.few, self.size.labels)
        for kind in KINDS:
            spec = Spec.model_validate(self.spec(kind, self.size.rendered))
            build(spec, self.built(kind), 0)
            self._write_items(kind)
        return sounds

    def built(self, kind: str) -> Path:
        """Where the corpus of a kind is built, for the cases that read."""
        return self.folder / "built" / kind.replace(" ", "-")

    def manifests(self, kind: str) -> Path:
        """Of its latest version."""
        corpus = self.built(kind) / "data_manifests" / "speed"
        return corpus / (corpus / "latest").read_text(encoding="utf-8").strip()

    def items(self, kind: str) -> Path:
        """What peers are asked to make: one JSON list of items, see `_item`."""
        return self.folder / f"{kind.replace(' ', '-')}.json"

    def count(self, kind: str) -> tuple[int, float]:
        """Samples and seconds of audio of a kind."""
        items = json.loads(self.items(kind).read_text(encoding="utf-8"))
        return len(items), sum(item["frames"] for item in items) / RATE

    def _write_items(self, kind: str) -> None:
        folder = self.manifests(kind)
        root = self.few if kind == "triplet" else self.clips
        clips = {row["id"]: row for row in pq.read_table(folder / CLIPS_FILE).to_pylist()}
        rows = pq.read_table(folder / PLAN_FILE).to_pylist()
        items = [_item(row, clips, root) for row in rows]
        self.items(kind).write_text(json.dumps(items), encoding="utf-8")


def _item(row: dict[str, Any], clips: dict[str, Any], root: Path) -> dict[str, Any]:
    """A sample as a list of stretches of files, each with its place in time."""
    scene = from_text(row["scene"])
    return {
        "id": row["id"],
        "caption": row["caption"],
        "rate": RATE,
        "frames": row["frames"],
        "crossfade_s": max((join.crossfade for join in timeline(scene).joins), default=0) / RATE,
        "joined": "sequence" in json.loads(row["scene"]) and len(row["clips"]) == 2,
        "events": [
            {
                "label": place.label,
                "file": str(root / clips[place.excerpt.clip]["location"]),
                "start_s": clips[place.excerpt.clip]["onset"]
                / clips[place.excerpt.clip]["sample_rate"]
                + place.excerpt.start / RATE,
                "seconds": place.frames / RATE,
                "onset_s": (place.onset + row["lead"]) / RATE,
                "gain_db": place.excerpt.gain_db,
            }
            for place in timeline(scene).placements
        ],
    }


def with_bank(bank: Path, out: Path) -> Path:
    """An output folder whose bank is filled already."""
    shutil.copytree(bank, out / "banks", copy_function=os.link)
    return out


def planned(spec: dict[str, Any], out: Path, workers: int = 0) -> int:
    """Plan a spec; its samples."""
    return plan_library(Spec.model_validate(spec), out, workers, UNOBSERVED)[2]


# The clips that all contenders read: real ones, or made on the spot; one folder a label.


def lay_out(folder: Path, esc50: Path) -> str:
    """Fill a new folder with one folder of WAV files a label; what they are.

    Args:
        esc50: A folder in ESC-50's own layout; where it is not there, sounds are made.
    """
    table = esc50 / "meta" / "esc50.csv"
    if not table.is_file():
        for label in foley.CLASSES:
            (folder / label).mkdir(parents=True)
            for take in range(TAKES):
                audio = foley.synthesize(label, Randomness(1).at(label, take))
                path = folder / label / f"{take}.wav"
                soundfile.write(path, audio, foley.RATE, subtype="PCM_16")
        return f"{len(foley.CLASSES) * TAKES} MADE sounds: ESC-50 was not at hand"
    with table.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        _take(esc50 / "audio" / row["filename"], folder / row["category"] / row["filename"])
    return f"{len(rows)} clips of ESC-50"


def few_labels(clips: Path, folder: Path, labels: int) -> None:
    """Another folder with the first so many labels."""
    for label in sorted(clips.iterdir())[:labels]:
        for file in sorted(label.iterdir()):
            _take(file, folder / label.name / file.name)


def _take(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)

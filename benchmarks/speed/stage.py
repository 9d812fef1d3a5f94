"""What is prepared once for all turns: clips, bank, specs, and the items that peers are given."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow.parquet as pq

from benchmarks.speed.sounds import few_labels, lay_out
from pipelines.builder.build import build, plan_library
from pipelines.config.spec import Spec
from synth.base.progress import Silent
from synth.corpus.corpus import CLIPS_FILE, PLAN_FILE
from synth.scene.scene import from_text
from synth.scene.timeline import timeline

RATE: Final = 44_100
SEED: Final = 7
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

    rendered: int
    labels: int
    planned: int
    corpora: tuple[int, ...]
    listings: tuple[int, ...]
    shards: int
    scaled: int
    steps: int


FULL: Final = Size(
    rendered=512,
    labels=13,
    planned=20_000,
    corpora=(1_000, 10_000, 100_000),
    listings=(19, 190, 1_900),
    shards=1_000,
    scaled=2_000,
    steps=60,
)
QUICK: Final = Size(
    rendered=24,
    labels=3,
    planned=400,
    corpora=(100, 200, 400),
    listings=(1, 2),
    shards=20,
    scaled=48,
    steps=4,
)
LONG: Final = 100_000
"""Samples or clips from which one turn is enough."""


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
        """Lay out the clips, fill the bank, build what is read, write what peers are asked for.

        Returns:
            What the clips are.
        """
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
    return plan_library(Spec.model_validate(spec), out, workers, Silent())[2]

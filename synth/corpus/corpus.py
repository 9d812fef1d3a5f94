"""A built corpus: its manifests, its shards and, where it is kept, the bank behind them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from synth.audio.bank import Bank
from synth.audio.dsp import Pcm
from synth.audio.render import RENDER_VERSION, Mixdown, render
from synth.base.doors import require_regular
from synth.base.errors import CorpusError, shorten
from synth.corpus.facts import GET_AGAIN, follow_latest, read_facts, suggest_corpus
from synth.corpus.receipt import check_receipt
from synth.corpus.schema import ADDED, SAMPLES, SHARDS
from synth.corpus.shards import decode_audio, read_member
from synth.corpus.validation import (
    check_clips,
    check_manifest,
    explain_damage,
    make_damage_error,
)
from synth.scene.scene import from_text
from synth.scene.timeline import Fade
from synth.storage import display_path, format_place, is_url, local_place

CORPUS_FILE: Final = "corpus.json"
LATEST_FILE: Final = "latest"
SAMPLES_FILE: Final = "samples.parquet"
CLIPS_FILE: Final = "clips.parquet"
PLAN_FILE: Final = "plan.parquet"
QUARANTINE_FILE: Final = "quarantine.parquet"
MANIFEST_MARKS: Final = (CORPUS_FILE, LATEST_FILE, PLAN_FILE)
"""One of these lies in every manifest folder."""
ATTRIBUTION_FILE: Final = "ATTRIBUTION.csv"
RECEIPTS: Final = "receipts"
REMOVED_FILE: Final = "removed.json"
"""Beside the manifests of a version whose shards `segue gc` removed, or was removing."""


_SHARDS_FILE: Final = "shards.parquet"
_PART_ROWS: Final = 4096


def check_version(folder: Path) -> dict[str, Any]:
    """Check the manifests of a finished corpus, which may come from a stranger."""
    facts = read_facts(folder / CORPUS_FILE)
    check_receipt(folder, [CORPUS_FILE, CLIPS_FILE, SAMPLES_FILE, _SHARDS_FILE])
    splits, shards = tuple(facts["splits"]), _locate(folder, facts["shards"])
    _locate(folder, facts["bank"])
    samples, listing = folder / SAMPLES_FILE, folder / _SHARDS_FILE
    extents = check_manifest(samples, SAMPLES, splits, shards, facts["sample_rate"])
    check_clips(folder / CLIPS_FILE, samples)
    for split, said in facts["splits"].items():
        counts = [count for (name, _), (count, _) in extents.items() if name == split]
        for key, count in (("samples", sum(counts)), ("shards", len(counts))):
            if said[key] != count:
                raise CorpusError(
                    f"{display_path(folder / CORPUS_FILE)}: splits: {split} has {said[key]} {key}: "
                    f"expected {count}, as many as in {SAMPLES_FILE}",
                    fix=GET_AGAIN,
                )
    # What is not listed nobody would compare with its receipt.
    if require_regular(listing).exists():
        listed, held = (
            {place: count for place, (count, _) in problem.items()}
            for problem in (check_manifest(listing, SHARDS, splits), extents)
        )
        for place in sorted(listed.keys() | held.keys()):
            if listed.get(place) != held.get(place):
                raise CorpusError(
                    f"{display_path(listing)}: says that {shorten('/'.join(place))} has "
                    f"{listed.get(place, 0)} samples: expected {held.get(place, 0)}, as many as "
                    f"in {SAMPLES_FILE}",
                    fix=GET_AGAIN,
                )
    return facts


def _locate(folder: Path, place: str) -> Path:
    """What a path of `corpus.json` leads to."""
    try:
        return (folder / place).resolve()
    except (OSError, RuntimeError) as error:
        raise make_damage_error(folder / CORPUS_FILE, error) from error


def find_finished(path: Path) -> Path:
    """The manifest folder of a finished corpus, not checked: this one, or the latest below it."""
    folder = follow_latest(local_place(path) / LATEST_FILE)
    if not (folder / CORPUS_FILE).is_file():
        raise CorpusError(
            f"{format_place(path)}: no finished corpus here",
            fix=suggest_corpus(
                path, "give data_manifests/CORPUS of a finished build, or run `segue build SPEC`"
            ),
        )
    return folder


@dataclass(frozen=True)
class Corpus:
    """A finished corpus, opened for reading by its manifest folder."""

    folder: Path
    facts: Mapping[str, Any]

    @classmethod
    def open(cls, path: Path) -> Corpus:
        """Open a corpus by its manifest folder, or by the folder above for its latest version.

        Of one at a URL the manifests are copied into the cache; shards and bank come as they are
        read.
        """
        folder = find_finished(path)
        return cls(folder, check_version(folder))

    @property
    def name(self) -> str:
        """The corpus's name."""
        return str(self.facts["corpus"])

    @property
    def version(self) -> str:
        """The version's name."""
        return str(self.facts["version"])

    @property
    def sample_rate(self) -> int:
        """In Hz, of every sample."""
        return int(self.facts["sample_rate"])

    @property
    def splits(self) -> tuple[str, ...]:
        """The splits that hold samples."""
        return tuple(self.facts["splits"])

    @property
    def shards(self) -> Path:
        """The folder of the shards, one sub-folder a split."""
        return _locate(self.folder, self.facts["shards"])

    def shard(self, split: str, name: str) -> Path:
        """One shard, which may be missing."""
        path = self.shards / split / name
        if not path.is_file() and (self.folder / REMOVED_FILE).is_file():
            raise CorpusError(
                f"{display_path(path)}: `segue gc` removed the shards of version {self.version}",
                fix=f"`segue rebuild {display_path(self.folder)}` rebuilds them byte for byte",
            )
        return path

    def receipt(self, shard: str) -> Path:
        """What certifies a shard, by the shard's name; a copy of it may not be here yet."""
        return self.folder / RECEIPTS / f"{shard}.json"

    @cached_property
    def bank(self) -> Bank:
        """The clip bank, for rendering from the plan."""
        bank = Bank.open(self.index)
        if bank.rate != self.sample_rate:
            raise CorpusError(
                f"{display_path(self.index)}: is of {bank.rate} Hz: expected {self.sample_rate} "
                f"Hz, the rate of {self.name}",
                fix=GET_AGAIN,
            )
        return bank

    @property
    def index(self) -> Path:
        """The index file of the clip bank, which may be gone."""
        return _locate(self.folder, self.facts["bank"])

    @property
    def fade(self) -> Fade:
        """The crossfade law of every concatenation."""
        return Fade(self.facts["fade"])

    @cached_property
    def _mixdown(self) -> Mixdown:
        rendered = self.facts.get("algorithms", {}).get("render", RENDER_VERSION)
        if rendered != RENDER_VERSION:
            raise CorpusError(
                f"corpus {self.name} was rendered by another Segue (version {rendered} of its "
                f"renderer, here {RENDER_VERSION}), and would not sound the same",
                fix="build it again, or read the audio of its shards",
            )
        stems = self.facts.get("stems", False)
        return Mixdown(self.fade, float(self.facts["peak_db"]), stems)

    def samples(self, split: str | None = None, columns: Sequence[str] | None = None) -> pa.Table:
        """Rows of `schema.SAMPLES`, in plan order."""
        if split is None:
            return pq.read_table(self.folder / SAMPLES_FILE, columns=columns)
        self.refuse_unknown(split)
        return pq.read_table(
            self.folder / SAMPLES_FILE, columns=columns, filters=pc.field("split") == split
        )

    def read_in_parts(self, split: str, columns: Sequence[str]) -> Iterator[pa.Table]:
        """What `samples` gives, a few rows at a time, so that a manifest may have any length.

        The first part is empty and tells the schema.

        Args:
            columns: The columns; those of `schema.ADDED` that the manifest lacks are left out.
        """
        self.refuse_unknown(split)
        path = self.folder / SAMPLES_FILE
        with explain_damage(path), pq.ParquetFile(path) as file:
            whole = file.schema_arrow
            there = [name for name in columns if name in whole.names or name not in ADDED]
            schema = pa.schema(map(whole.field, there), metadata=whole.metadata)
            yield schema.empty_table()
            for group in range(file.num_row_groups):
                splits = file.read_row_group(group, columns=["split"])["split"]
                if split in pc.unique(splits).to_pylist():
                    batches = file.iter_batches(_PART_ROWS, [group], [*schema.names, "split"])
                    for batch in batches:
                        chosen = pa.Table.from_batches(
                            [batch.filter(pc.equal(batch["split"], split))]
                        )
                        yield chosen.select(schema.names).cast(schema)

    def refuse_unknown(self, split: str) -> None:
        """Check that there is a split of a name."""
        if split not in self.splits:
            raise CorpusError(
                f"corpus {self.name} has no split {split!r}",
                fix=f"it has {', '.join(self.splits)}",
            )

    def stored_pcm(self, split: str, shard: str, offset: int, size: int) -> Pcm:
        """A sample's audio as its shard holds it; the arguments are columns of its row."""
        path = self.shard(split, shard)
        return decode_audio(read_member(path, offset, size, self.receipt(shard)))

    def virtual_pcm(self, row: Mapping[str, Any]) -> Pcm:
        """A row's audio rendered from the bank, bit-identical to `stored_pcm`."""
        scene = from_text(row["scene"])
        return render(scene, self.bank, self._mixdown, row["frames"], row.get("lead") or 0).pcm


def holds_corpus(folder: Path) -> bool:
    """Whether a folder, or one below it, is a manifest folder; a URL is taken for one."""
    if is_url(folder):
        return True
    return any((folder / name).is_file() for name in MANIFEST_MARKS) or any(
        folder.glob(f"*/{PLAN_FILE}")
    )

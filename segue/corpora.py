"""Corpora: built from a spec, opened, and read sample by sample or as a whole."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import redirect_stdout
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from segue.listening import PlacedScene

if TYPE_CHECKING:
    import pandas as pd
    from datasets import Dataset

    from synth.audio.dsp import Pcm
    from synth.corpus.corpus import Corpus
    from train.data.rows import SplitRows
    from train.data.samples import SampleDataset

TRAIN: Final = "train"


@dataclass(frozen=True, eq=False, repr=False)
class CorpusSample(PlacedScene):
    """A sample of a corpus; `row` is what its manifest says."""

    corpus: Corpus
    row: Mapping[str, Any]

    def __repr__(self) -> str:
        from pipelines.look.inspection import format_sample

        return "\n".join(format_sample(self.row))

    @property
    def id(self) -> str:
        """Its name."""
        return str(self.row["id"])

    @property
    def _context(self) -> tuple[Mapping[str, list[str]], int]:
        import pyarrow.compute as pc
        import pyarrow.parquet as pq

        from pipelines.checks.audit import read_audible
        from synth.corpus.corpus import CLIPS_FILE, SAMPLES_FILE
        from synth.labels.lexicon import heard_tags

        folder, filters = self.corpus.folder, pc.field("id").isin(self.row["clips"])
        clips = pq.read_table(folder / CLIPS_FILE, columns=["id", "tags"], filters=filters)
        tags = {
            clip["id"]: [tag.name for tag in heard_tags(clip["tags"])] for clip in clips.to_pylist()
        }
        return tags, read_audible(folder / SAMPLES_FILE)

    def render(self) -> tuple[Pcm, int]:
        """The waveform as its shard holds it, 16 bit, mono, and its rate in Hz."""
        row = self.row
        pcm = self.corpus.stored_pcm(row["split"], row["shard"], row["offset"], row["size"])
        return pcm, self.corpus.sample_rate


@dataclass(frozen=True, eq=False, repr=False)
class CorpusSplit:
    """The samples of a split, by number."""

    corpus: Corpus
    name: str

    def __repr__(self) -> str:
        return f"<split {self.name} of {self.corpus.name}: {len(self):,} samples>"

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, number: int) -> CorpusSample:
        if not -len(self) <= number < len(self):
            raise IndexError(f"{self!r}: there is no number {number}")
        (row,) = self._rows.take([number % len(self)])
        return CorpusSample(self.corpus, row)

    def __iter__(self) -> Iterator[CorpusSample]:
        return map(self.__getitem__, range(len(self)))

    @cached_property
    def _rows(self) -> SplitRows:
        from synth.corpus.schema import SAMPLES
        from train.data.rows import SplitRows

        return SplitRows.open(self.corpus, self.name, SAMPLES.names)


@dataclass(frozen=True, eq=False, repr=False)
class BuiltCorpus:
    """A finished corpus.

    Args:
        path: The folder of its manifests, or the one above for its latest version.
    """

    corpus: Corpus
    path: Path

    def __repr__(self) -> str:
        splits = self.corpus.facts["splits"].items()
        sizes = ", ".join(f"{facts['samples']:,} {name}" for name, facts in splits)
        return f"<corpus {self.corpus.name} {self.corpus.version}: {sizes}; {self.path}>"

    def __fspath__(self) -> str:
        return str(self.path)

    @property
    def splits(self) -> tuple[str, ...]:
        """Names of the splits."""
        return self.corpus.splits

    def __len__(self) -> int:
        return sum(facts["samples"] for facts in self.corpus.facts["splits"].values())

    def __iter__(self) -> Iterator[CorpusSample]:
        for split in self.splits:
            yield from self[split]

    def __getitem__(self, split: str) -> CorpusSplit:
        self.corpus.refuse_unknown(split)
        return CorpusSplit(self.corpus, split)

    def sample(self, name: str) -> CorpusSample:
        """The sample of an id."""
        import pyarrow.compute as pc
        import pyarrow.parquet as pq

        from synth.base.errors import CorpusError
        from synth.corpus.corpus import SAMPLES_FILE

        table = pq.read_table(self.corpus.folder / SAMPLES_FILE, filters=pc.field("id") == name)
        if not len(table):
            first = next(iter(self)).id
            raise CorpusError(
                f"corpus {self.corpus.name} has no sample {name!r}", fix=f"ids are like {first}"
            )
        return CorpusSample(self.corpus, table.to_pylist()[0])

    def pandas(self, split: str | None = None) -> pd.DataFrame:
        """What the manifest says of a split, or of all: a row a sample, no sound."""
        table: pd.DataFrame = self.corpus.samples(split).to_pandas()
        return table

    def torch(self, split: str = TRAIN) -> SampleDataset:
        """The samples of a split as dictionaries: `pcm`, `caption`, `negatives` and so on."""
        from train.data.samples import SampleDataset

        return SampleDataset(self.corpus.folder, split)

    def datasets(self, split: str = TRAIN) -> Dataset:
        """The samples of a split for Hugging Face's `datasets`; a copy is made in the cache."""
        from datasets import Dataset

        from pipelines.cli.common.progress_display import show_progress
        from pipelines.export import export_corpus
        from synth.storage.copies import cache_folder

        self.corpus.refuse_unknown(split)
        folder = cache_folder() / "hf" / f"{self.corpus.name}-{self.corpus.facts['digest'][:12]}"
        with show_progress(as_json=False) as observer:
            export_corpus(self.corpus, "hf", folder / split, [split], observer=observer)
        return Dataset.from_parquet([*map(str, sorted((folder / split).glob("data/*.parquet")))])


def build(
    spec: Mapping[str, Any] | str | Path, out: str | Path = ".", workers: int | None = None
) -> BuiltCorpus:
    """Build a corpus, or open it where it is built already; notes go to the standard error.

    Args:
        spec: A spec's file, or what one says.
        out: Where banks, shards and manifests go.
        workers: Processes, 0 for none; by default one a processor.
    """
    from pipelines.cli.common.progress_display import show_progress
    from pipelines.cli.make.build import choose_worker_count, print_summary, run_build
    from pipelines.config.file import parse_spec, read_spec
    from synth.base.yaml_file import YamlFile
    from synth.corpus.kinds import PathKind, expect

    if isinstance(spec, Mapping):
        parsed = parse_spec(YamlFile("spec", dict(spec)), Path())
    else:
        expect(Path(spec), PathKind.SPEC, PathKind.OTHER, fix="segue.open opens a corpus")
        parsed = read_spec(Path(spec))
    count = choose_worker_count(workers)
    with show_progress(False, "build") as observer:
        summary = run_build(parsed, Path(out), count, False, observer)
    with redirect_stdout(sys.stderr):
        print_summary(summary)
    return open(Path(summary.paths["manifests"]).parent)


def open(path: str | Path) -> BuiltCorpus:
    """Open a corpus: `data_manifests/NAME` for its latest version, or one of its versions."""
    from synth.corpus.corpus import Corpus
    from synth.corpus.kinds import PathKind, expect

    expect(Path(path), PathKind.CORPUS, PathKind.OTHER)
    return BuiltCorpus(Corpus.open(Path(path)), Path(path))

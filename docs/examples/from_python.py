"""Build a corpus and read it, without the command line."""

from __future__ import annotations

from pathlib import Path

from pipelines.builder.build import build
from pipelines.config.file import read_spec
from synth.corpus.corpus import Corpus


def main() -> None:
    """Build `triplets.yaml` with two worker processes, and tell of three samples."""
    summary = build(read_spec(Path("triplets.yaml")), Path("out"), worker_count=2)
    corpus = Corpus.open(Path(summary.paths["manifests"]))
    for row in corpus.samples("train").slice(0, 3).to_pylist():
        pcm = corpus.stored_pcm("train", row["shard"], row["offset"], row["size"])
        false = [negative["text"] for negative in row["negatives"]]
        print(f"{row['id']}: {len(pcm) / corpus.sample_rate:.1f} s at {corpus.sample_rate} Hz")
        print(f"  {row['caption']}; {len(false)} false captions, such as: {false[0]}")


if __name__ == "__main__":  # worker processes import this file
    main()

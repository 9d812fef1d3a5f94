"""`segue train`, also on a CSV, whose corpus is built first."""

from __future__ import annotations

from functools import wraps
from pathlib import Path
from typing import Any

from synth.base.command import CommandResult
from synth.base.progress import Observer
from train.cli.train import train_command as train_on_corpus


@wraps(train_on_corpus)
def train_command(
    corpus: Path,
    *,
    clap: str | None = None,
    config: Path | None = None,
    out: Path | None = None,
    observer: Observer,
    **options: Any,
) -> CommandResult | None:
    """Train a CLAP model on a corpus, or fine-tune one on a CSV of sounds and captions."""
    if corpus.suffix in (".csv", ".tsv"):
        from experiments.cli.pairs import build_pairs

        corpus = build_pairs(corpus, clap, config, out, observer)
    return train_on_corpus(corpus, clap=clap, config=config, out=out, observer=observer, **options)

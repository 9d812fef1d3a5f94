from __future__ import annotations

from pathlib import Path

import pytest

from synth.corpus.corpus import Corpus
from train.config.run import AudioMode
from train.data.split import SplitData


@pytest.fixture(scope="session")
def data(corpus: Path) -> SplitData:
    """What is learnt from of the built corpus."""
    return SplitData(Corpus.open(corpus), "train", AudioMode.SHARDS)

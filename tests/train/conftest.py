"""A tiny built corpus, a training run small enough for a test, and tiny transformers models."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.kit.corpora import made_of, made_once, manifests
from train.config.loss import InfoNce
from train.config.model import AudioConfig, HeadConfig, ModelConfig
from train.config.run import Stage, TrainConfig

SPEC = {
    "corpus": "tiny",
    "seed": 7,
    "source": {"foley": {"classes": ["dog", "rain", "siren", "wind"], "takes": 5}},
    "recipe": {"triplets": {"crossfade_s": 0.25, "max_event_s": 1.0}},
    "audio": {"sample_rate": 16000},
    "splits": {"train": [1, 2, 3], "val": [4], "test": [5]},
    "shards": {"samples": 12},
}


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Manifest folder of a built corpus; not to be changed."""
    return manifests(SPEC, tmp_path_factory)


@pytest.fixture(scope="session")
def build_corpus(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Builds the tiny corpus with changes of its spec; gives its manifest folder."""
    return lambda **changes: manifests(SPEC | changes, tmp_path_factory)


def _settings(corpus: Path, out: Path, changes: dict[str, object]) -> TrainConfig:
    config = TrainConfig(
        corpus=corpus,
        out=out,
        model=ModelConfig(
            dim=16, head=HeadConfig(dropout=0.1), audio=AudioConfig(width=8, mels=16)
        ),
        stages=(Stage(steps=5, relations=("before",), loss=InfoNce()), Stage(steps=7)),
        batch=9,
        keep_groups=True,
        tensorboard=False,
        log_every=1,
        eval_every=4,
        checkpoint_every=4,
    )
    return config.model_copy(update=changes)


@pytest.fixture
def settings(corpus: Path, tmp_path: Path) -> Callable[..., TrainConfig]:
    """A run of 12 steps, with changes."""
    return lambda **changes: _settings(corpus, tmp_path / "run", changes)


@pytest.fixture(scope="session")
def undisturbed(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Folder of such a run that nothing disturbed, learnt once; not to be changed."""

    def learn(**changes: object) -> Path:
        from train.engine.loop import train

        name = made_of("run", _settings(corpus, Path(), changes).model_dump_json())
        return made_once(
            name, lambda folder: train(_settings(corpus, folder, changes)), tmp_path_factory
        )

    return learn


@pytest.fixture(scope="session")
def clap_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of a tiny CLAP; not to be changed."""
    from tests.kit.tiny_models import save_clap

    return save_clap(tmp_path_factory.mktemp("clap"))


@pytest.fixture(scope="session")
def fused_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of a tiny fused CLAP; not to be changed."""
    from tests.kit.tiny_models import save_clap

    return save_clap(tmp_path_factory.mktemp("fused"), fused=True)


@pytest.fixture(scope="session")
def hubert_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of a tiny HuBERT; not to be changed."""
    from tests.kit.tiny_models import save_hubert

    return save_hubert(tmp_path_factory.mktemp("hubert"))

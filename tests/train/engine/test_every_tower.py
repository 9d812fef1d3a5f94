"""Every kind of tower: ten steps, saved, and opened again as it was."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from synth.corpus.corpus import Corpus
from tests.kit.runs import weights
from tests.kit.tiny_models import (
    model_over,
    save_ast,
    save_gpt2,
    save_hubert,
    save_modernbert,
    save_qwen3,
    save_wav2vec2_bert,
    save_whisper,
)
from train.config.loss import InfoNce
from train.config.model import Group, HeadKind, TokenKind
from train.config.run import Stage, TrainConfig
from train.engine.loop import train
from train.engine.ranks import RankProcess
from train.engine.run_folder import load_run
from train.engine.validation import Validator
from train.model.clap import build_model

Save = Callable[[Path], Path]
LAST = (Group.AUDIO_TOWER_LAST, Group.TEXT_TOWER_LAST)
HEADS = (Group.AUDIO_HEAD, Group.TEXT_HEAD)


@pytest.mark.parametrize(
    ("audio", "text", "head", "tokens"),
    [
        (save_ast, save_gpt2, HeadKind.PROJECTION, TokenKind.POOLED),
        *(
            pytest.param(*towers, marks=pytest.mark.slow)
            for towers in (
                (save_ast, save_modernbert, HeadKind.MLP, TokenKind.MAP),
                (save_whisper, save_qwen3, HeadKind.TRANSFORMER, TokenKind.MAP),
                (save_hubert, save_gpt2, HeadKind.MLP, TokenKind.MAP),
            )
        ),
        (save_wav2vec2_bert, save_modernbert, HeadKind.TRANSFORMER, TokenKind.CHUNKS),
    ],
)
def test_ten_steps_change_what_learns_and_the_run_opens_as_it_was(
    corpus: Path,
    settings: Callable[..., TrainConfig],
    tmp_path: Path,
    audio: Save,
    text: Save,
    head: HeadKind,
    tokens: TokenKind,
) -> None:
    sounds, words = audio(tmp_path / "audio"), text(tmp_path / "text")
    over_time = tokens is not TokenKind.POOLED
    learning = {"frames": over_time, "trainable": (*LAST, *HEADS)}
    model = model_over(sounds, words, head, tokens, dim=16).model_copy(update=learning)
    stage = Stage(steps=10, loss=InfoNce(), frames=float(over_time))
    config = settings(model=model, stages=(stage,), eval_every=10)
    result = train(config)
    assert result.finished

    run = load_run(config.out)
    validator = Validator.of(Corpus.open(corpus), run.tokenizer, config, run.model)
    assert validator is not None
    alone = RankProcess(0, 1, torch.device("cpu"))
    assert validator.loss(run.model, alone) == pytest.approx(result.best_loss, abs=1e-5)

    with torch.random.fork_rng():
        before = build_model(config.model, 16_000, len(run.tokenizer)).state_dict()
    changed = {name for name, value in weights(config.out).items() if differs(before[name], value)}
    towers = {name for name in changed if "_tower." in name}
    for half, tower in (("audio", run.model.audio_tower), ("text", run.model.text_tower)):
        named = {id(one): f"{half}_tower.{name}" for name, one in tower.named_parameters()}
        last = {named[id(one)] for part in tower.last_modules() for one in part.parameters()}
        assert towers & last
        towers -= last
    assert not towers


def differs(left: torch.Tensor, right: torch.Tensor) -> bool:
    return not torch.equal(left, right)

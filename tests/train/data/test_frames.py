"""When the sounds of a batch are heard, as the loader tells it."""

from __future__ import annotations

import json
import tarfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from synth.base.errors import SpecError
from synth.corpus.corpus import Corpus
from synth.truth.frames import Audibility
from train.config.model import AudioConfig, HeadConfig, HeadKind, ModelConfig, TokenKind, TowerKind
from train.config.run import AudioMode, Stage, TrainConfig
from train.data.frames import sounds_of, text_of, token_states
from train.data.loader import Assembler, refuse_unsuitable
from train.data.split import SplitData
from train.data.tokenizer import TextTokenizer
from train.model.clap import build_model

RATE, FRAME = 16_000, 640


def test_tokens_of_40_ms_are_the_frames_of_the_shards(data: SplitData) -> None:
    stored = {}
    for path in data.corpus.shards.rglob("*.tar"):
        with tarfile.open(path) as tar:
            for member in tar:
                if member.name.endswith(".json"):
                    told = json.loads(tar.extractfile(member).read())  # type: ignore[union-attr]
                    stored[told["id"]] = told["heard_40ms"]
    rows = data.rows(range(len(data)))
    labels = sounds_of(data, rows)
    assert set(labels) == {"dog", "rain", "siren", "wind"}
    states = token_states(data, rows, labels, FRAME)
    for row, found in zip(rows, states, strict=True):
        expected = torch.full_like(found, Audibility.FAINT)
        expected[:, : -(-row["frames"] // FRAME)] = Audibility.ABSENT
        for told in stored[row["id"]]:
            line = expected[labels.index(told["label"])]
            for name, state in (("faint", Audibility.FAINT), ("clear", Audibility.CLEAR)):
                for start, stop in told[name]:
                    line[start:stop] = state
        assert torch.equal(found, expected)


def test_a_crop_has_the_tokens_of_its_part(data: SplitData) -> None:
    (row,) = data.rows([3])
    (whole,) = token_states(data, [row], ["dog", "rain", "siren"], FRAME)
    part = replace(row, crop=(5 * FRAME, 20 * FRAME))
    (found,) = token_states(data, [part], ["dog", "rain", "siren"], FRAME)
    assert torch.equal(found, whole[:, 5:25])


def test_of_samples_without_labelled_times_nothing_is_judged(
    build_corpus: Callable[..., Path], settings: Callable[..., TrainConfig]
) -> None:
    folder = build_corpus(source={"jam": {"tracks": 16}}, recipe="negation", splits={"train": [1]})
    music = SplitData(Corpus.open(folder), "train", AudioMode.SHARDS)
    rows = music.rows(range(3))
    assert sounds_of(music, rows) == ()
    assert (token_states(music, rows, ["dog"], FRAME) == Audibility.FAINT).all()
    with pytest.raises(SpecError, match="`frames` needs sounds that are named by labels"):
        refuse_unsuitable(music, Stage(steps=1, frames=1.0))
    refuse_unsuitable(music, Stage(steps=1))


def test_a_process_knows_the_sounds_of_the_whole_batch(
    data: SplitData, settings: Callable[..., TrainConfig]
) -> None:
    tokenizer = TextTokenizer.of_texts({*data.vocabulary(), *map(text_of, data.find_labels())})
    model = ModelConfig(dim=16, frames=True, audio=AudioConfig(width=8, mels=16))
    tower = build_model(model, RATE, len(tokenizer)).audio_tower
    assembler = Assembler.of(data, tokenizer, settings(model=model), cached=False, tower=tower)
    stage = Stage(steps=1, frames=1.0)
    everywhere = list(range(12))
    whole = assembler.batch(everywhere, stage, 0)
    part = assembler.batch(everywhere[4:7], stage, 0, (4, 3, 5), 1, everywhere)
    assert whole.sounds is not None
    assert part.sounds is not None
    width = part.sounds.states.shape[2]
    assert torch.equal(part.sounds.states, whole.sounds.states[4:7, :, :width])
    ids = [
        each.texts.ids[each.sounds.texts].tolist()
        for each in (whole, part)
        if each.sounds is not None
    ]
    assert [[i for i in text if i] for text in ids[0]] == [
        [i for i in text if i] for text in ids[1]
    ]
    assert assembler.batch(everywhere, Stage(steps=1), 0).sounds is None


def test_what_has_no_tokens_over_time_is_refused(
    settings: Callable[..., TrainConfig], clap_folder: Path
) -> None:
    with pytest.raises(ValueError, match=r"frames of a stage needs model\.frames: true"):
        TrainConfig.model_validate(
            settings().model_dump() | {"stages": [{"steps": 1, "frames": 0.5}]}
        )
    pooled = AudioConfig(
        kind=TowerKind.TRANSFORMERS, name=str(clap_folder), tokens=TokenKind.POOLED
    )
    model = ModelConfig(frames=True, head=HeadConfig(kind=HeadKind.MLP), audio=pooled)
    with pytest.raises(SpecError, match=r"`model\.frames` needs tokens over time"):
        build_model(model, 48_000, 5)

"""What a run can be asked for, with towers of every kind and a CLAP."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml
from torch import Tensor

from synth.base.errors import SpecError
from synth.corpus.corpus import Corpus
from tests.kit.runs import Dies, equal, lines, weights
from tests.kit.tiny_models import (
    CLAP_RATE,
    model_over,
    noise,
    save_ast,
    save_gpt2,
    save_hubert,
    save_modernbert,
    save_qwen3,
    save_wav2vec2_bert,
    save_whisper,
)
from tests.kit.waiting import wait_for
from train.bench.evaluate import evaluate
from train.config.loss import InfoNce, Modular, TeminalB
from train.config.model import ALL_GROUPS, Group, HeadConfig, HeadKind, LastLayers, Lora, TokenKind
from train.config.run import Precision, Stage, TrainConfig
from train.engine.loop import train
from train.engine.ranks import RankProcess
from train.engine.run_folder import load_run
from train.engine.validation import Validator
from train.export.files import ModelFormat
from train.export.read import load_exported
from train.model.clap import build_model, clap_config
from train.report.publish import publish

Settings = Callable[..., TrainConfig]


SLOW_OPTIONS: dict[str, dict[str, Any]] = {
    "in parts": {"accumulate": 3},
    "average": {"ema": 0.9},
    "bfloat16": {"precision": Precision.BFLOAT16},
    "cropped": {"crop_s": 1.0},
    "modular": {"stages": (Stage(steps=12, loss=Modular()),)},
}
OPTIONS = SLOW_OPTIONS | {"teminal": {"stages": (Stage(steps=12, loss=TeminalB(alpha_ct=0.0)),)}}


@pytest.mark.parametrize(
    "name", ["teminal", *(pytest.param(name, marks=pytest.mark.slow) for name in SLOW_OPTIONS)]
)
def test_each_option_resumes_to_equal_bits(
    settings: Settings, undisturbed: Callable[..., Path], tmp_path: Path, name: str
) -> None:
    broken = settings(out=tmp_path / "broken", **OPTIONS[name])
    with pytest.raises(RuntimeError, match="killed"):
        train(broken, Dies(6))
    assert train(broken, resume=True).finished
    whole = undisturbed(**OPTIONS[name])
    assert equal(whole, broken.out)
    assert not equal(whole, undisturbed()), "the option changes nothing"


def command(config: TrainConfig, file: Path) -> list[str]:
    file.write_text(yaml.safe_dump(config.model_dump(mode="json")))
    return [
        *(sys.executable, "-m", "pipelines.cli", "train", str(config.corpus)),
        *("--config", str(file), "--out", str(config.out)),
    ]


@pytest.mark.slow
def test_kill_9_at_any_moment_costs_nothing(settings: Settings, tmp_path: Path) -> None:
    options = {"accumulate": 2, "ema": 0.9, "crop_s": 1.0, "workers": 2, "checkpoint_every": 5}
    whole = settings(out=tmp_path / "whole", **options).scale_steps(24)
    train(whole)
    broken = whole.model_copy(update={"out": tmp_path / "broken"})
    log = broken.out / "log.jsonl"
    process = subprocess.Popen(command(broken, tmp_path / "train.yaml"), stdout=subprocess.DEVNULL)
    assert wait_for(lambda: log.is_file() and len(log.read_text().splitlines()) > 11)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert not (broken.out / "model.pt").exists()
    assert train(broken, resume=True).finished
    assert equal(whole.out, broken.out)
    steps = [line["step"] for line in lines(broken.out) if "loss" in line]
    assert steps == list(range(1, 25))


@pytest.mark.slow
def test_a_compiled_model_learns_the_same(settings: Settings, tmp_path: Path) -> None:
    # Few steps without validation: compiling is most of the time, once for each shape of a batch.
    plain = settings(out=tmp_path / "plain", stages=(Stage(steps=3),), eval_every=0)
    # Its texts are wider, so that dropout would draw other units.
    kept = plain.model.model_copy(update={"head": HeadConfig()})
    plain = plain.model_copy(update={"model": kept})
    train(plain)
    # In a process of its own: what checks types in tests cannot be compiled. Traced and run as it
    # is: what backends make of it is theirs to test, and takes twice as long.
    compiled = plain.model_copy(update={"out": tmp_path / "compiled", "compile": "eager"})
    subprocess.run(command(compiled, tmp_path / "train.yaml"), check=True, capture_output=True)
    losses = [
        [line["loss"] for line in lines(config.out) if "loss" in line]
        for config in (plain, compiled)
    ]
    assert losses[0] == pytest.approx(losses[1], rel=1e-3)


@pytest.mark.slow
def test_the_average_is_what_is_kept(settings: Settings, tmp_path: Path) -> None:
    plain = settings(out=tmp_path / "plain", eval_every=0, stages=(Stage(steps=6),), ema=0.0)
    slow = plain.model_copy(update={"out": tmp_path / "slow", "ema": 0.999})
    train(plain)
    train(slow)
    start = load_start(plain)
    moved = [
        sum(float((weights(run.out)[name] - start[name]).abs().sum()) for name in start)
        for run in (plain, slow)
    ]
    assert 0 < moved[1] < 0.8 * moved[0]


def load_start(config: TrainConfig) -> dict[str, Tensor]:
    from train.model.clap import build_model

    run = load_run(config.out)
    with torch.random.fork_rng():
        torch.manual_seed(config.seed)
        model = build_model(config.model, run.sample_rate, len(run.tokenizer))
    return {name: value.detach() for name, value in model.named_parameters()}


def test_training_stops_when_nothing_gets_better(settings: Settings, tmp_path: Path) -> None:
    config = settings(stages=(Stage(steps=100),), eval_every=1, patience=3, lr=0.05)
    result = train(config)
    assert result.finished
    assert result.step == result.best_step + 3 < 100
    losses = {line["step"]: line["val_loss"] for line in lines(config.out) if "val_loss" in line}
    assert min(losses, key=lambda step: losses[step]) == result.best_step
    again = train(config, resume=True)
    assert (again.step, again.best_step) == (result.step, result.best_step)


@pytest.mark.slow
def test_an_early_stage_does_not_use_up_the_patience_of_the_last(settings: Settings) -> None:
    before = Stage(steps=20, relations=("before",))
    config = settings(stages=(before, Stage(steps=4)), eval_every=1, patience=2, lr=0.05)
    assert train(config).step > 20


def test_only_the_named_groups_learn(settings: Settings) -> None:
    learning = (Group.AUDIO_HEAD, Group.TEXT_HEAD)
    base = settings()
    config = base.model_copy(
        update={"model": base.model.model_copy(update={"trainable": learning})}
    )
    train(config)
    start, end = load_start(config), weights(config.out)
    changed = {name.split(".")[0] for name in start if not torch.equal(start[name], end[name])}
    assert changed == {"audio_head", "text_head"}


def test_tensorboard_shows_the_log_and_nothing_twice(settings: Settings) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    config = settings(tensorboard=True)
    with pytest.raises(RuntimeError, match="killed"):
        train(config, Dies(6))
    train(config, resume=True)
    events = EventAccumulator(str(config.out / "tensorboard"))
    events.Reload()
    shown = {event.step: event.value for event in events.Scalars("loss")}
    logged = {line["step"]: line["loss"] for line in lines(config.out) if "loss" in line}
    assert len(events.Scalars("loss")) == 12
    assert shown == pytest.approx(logged, rel=1e-6)
    assert [event.step for event in events.Scalars("val_loss")] == [4, 8, 12]


def test_a_missing_logger_is_told(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "wandb", None)
    with pytest.raises(SpecError, match=r"wandb is not installed.*pip install wandb"):
        train(settings(wandb="segue"))


def test_the_loss_of_a_stage_is_the_one_asked_for(settings: Settings, tmp_path: Path) -> None:
    first = []
    for loss in (InfoNce(), Modular()):
        config = settings(out=tmp_path / loss.name, stages=(Stage(steps=1, loss=loss),))
        train(config)
        first.append(lines(config.out)[0]["loss"])
    assert first[0] < first[1]


# Every kind of tower: ten steps, saved, and opened again as it was.


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


# A CLAP fine-tuned with all that is there for it, from settings to an export.


@pytest.fixture(scope="module")
def sounds(build_corpus: Callable[..., Path]) -> Path:
    audio = {"sample_rate": CLAP_RATE, "length": "exact 1 s"}
    return build_corpus(audio=audio, recipe={"triplets": {"max_event_s": 0.4}})


@pytest.fixture
def tuning(settings: Settings, sounds: Path, clap_folder: Path) -> TrainConfig:
    """Adapters in the audio tower, two layers of the text tower, a rate for each group."""
    clap = clap_config(str(clap_folder))
    adapted = clap.audio.model_copy(update={"lora": Lora(rank=2, dropout=0.1)})
    trainable = [group for group in ALL_GROUPS if group is not Group.TEXT_TOWER]
    model = clap.model_copy(
        update={
            "audio": adapted,
            "trainable": (*trainable, Group.TEXT_TOWER_LAST),
            "last_layers": LastLayers(text_tower=2),
        }
    )
    return settings(
        corpus=sounds,
        model=model,
        stages=(Stage(steps=4),),
        lr_of={Group.AUDIO_TOWER: 1e-2, Group.TEXT_TOWER_LAST: 1e-4},
        layer_decay=0.8,
        betas=(0.9, 0.98),
        eps=1e-6,
        checkpoint_activations=True,
        accumulate=2,
        ema=0.5,
        checkpoint_every=2,
        eval_every=2,
    )


@pytest.mark.slow
def test_all_of_it_resumes_and_is_exported(tuning: TrainConfig, tmp_path: Path) -> None:
    precision = torch.get_float32_matmul_precision()
    train(tuning)
    assert torch.get_float32_matmul_precision() == precision
    first = lines(tuning.out)[0]
    assert first["lr/audio_tower"] == pytest.approx(10 * first["lr"])
    assert first["lr/text_tower.last"] == pytest.approx(0.1 * first["lr"])

    broken = tuning.model_copy(update={"out": tmp_path / "broken"})
    with pytest.raises(RuntimeError, match="killed"):
        train(broken, Dies(3))
    with pytest.raises(SpecError, match=r"other settings: lr_of"):
        train(broken.model_copy(update={"lr_of": {}}), resume=True)
    # Memory may be saved from any step on.
    plain = {"checkpoint_activations": False}
    assert train(broken.model_copy(update=plain), resume=True).finished
    assert equal(tuning.out, broken.out)

    kept = weights(tuning.out)
    assert any("lora_" in name for name in kept)
    run = load_run(tuning.out)
    assert not any("lora_" in name for name in run.model.state_dict())
    assert evaluate(tuning.out, tuning.corpus, "test")["audio_to_text_r1"].n
    publish(tuning.out, tmp_path / "exported", ModelFormat.TRANSFORMERS)
    again = load_exported(tmp_path / "exported")
    waveform = noise(1, 2, CLAP_RATE)
    with torch.no_grad():
        difference = again.encode_audio(waveform) - run.model.encode_audio(waveform)
    assert difference.abs().max() < 1e-5

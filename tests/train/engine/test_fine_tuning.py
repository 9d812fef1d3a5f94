"""A CLAP fine-tuned with all that is there for it, from settings to an export."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from synth.base.errors import SpecError
from tests.kit.runs import Dies, equal, lines, weights
from tests.kit.tiny_models import CLAP_RATE, noise
from train.bench.evaluate import evaluate
from train.config.model import ALL_GROUPS, Group, LastLayers, Lora
from train.config.run import Stage, TrainConfig
from train.engine.loop import train
from train.engine.run_folder import load_run
from train.export.files import ModelFormat
from train.export.read import load_exported
from train.model.clap import clap_config
from train.report.publish import publish

Settings = Callable[..., TrainConfig]


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
def test_all_of_it_resumes_to_equal_bits_and_is_exported(
    tuning: TrainConfig, tmp_path: Path
) -> None:
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

"""Runs as ONNX graphs, opened by onnxruntime alone, against torch."""

from __future__ import annotations

import json
import shutil
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jaxtyping
import numpy as np
import onnx
import onnxruntime
import pytest
import soundfile
import torch
from torch import Tensor

from pipelines.cli.make.export import export_command
from synth.base.errors import SpecError
from synth.base.progress import UNOBSERVED, Silent
from tests.kit.tiny_models import (
    CLAP_RATE,
    model_over,
    noise,
    save_clap,
    save_hubert,
    save_whisper,
)
from train.config.model import HeadConfig, HeadKind, LayerMix, ModelConfig, TokenKind
from train.data.recordings import Recordings
from train.engine.run_folder import LoadedRun, load_run
from train.export import onnx_model
from train.export.files import AUDIO_GRAPH, SETTINGS_FILE, TEXT_GRAPH, ModelFormat
from train.export.read import load_exported
from train.model.clap import clap_config
from train.report.publish import CARD_FILE, publish

RATE = 16_000
TEXTS = ["a dog barks", "rain falls before a dog barks then siren", ""]


@pytest.fixture(autouse=True)
def _unchecked() -> Iterator[None]:
    """Torch traces with symbols for sizes, which the suite's type checks take for no integers."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


def tones(rate: int, samples: int) -> Tensor:
    """Loud ones beside silent bands, the first shorter than the second."""
    time = torch.arange(samples) / rate
    found = 0.9 * torch.stack([torch.sin(440 * torch.pi * time), torch.sin(3_000 * time)])
    found[0, samples // 2 :] = 0
    return found


def assert_like_torch(out: Path, run: LoadedRun, longest: int) -> None:
    """Sounds of several lengths, and texts, alone and in batches."""
    audio, text = (
        onnxruntime.InferenceSession(out / name, providers=["CPUExecutionProvider"])
        for name in (AUDIO_GRAPH, TEXT_GRAPH)
    )
    for sounds in (
        noise(1, 1, longest),
        noise(2, 3, 777),
        tones(run.sample_rate, longest),
        torch.zeros(1, longest // 2),
    ):
        (found,) = audio.run(None, {"waveform": sounds.numpy()})
        with torch.no_grad():
            expected = run.model.encode_audio(sounds).numpy()
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-4)
    for texts in (TEXTS, TEXTS[:1]):
        words = run.tokenizer(texts)
        mask = words.mask.long()
        mask[2:, 0] = 0  # as the tokenizer alone has it for a text without words
        feed = {"input_ids": words.ids.numpy(), "attention_mask": mask.numpy()}
        (found,) = text.run(None, feed)
        with torch.no_grad():
            expected = run.model.encode_text(words.ids, words.mask).numpy()
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-4)


@pytest.mark.slow
def test_small_towers_compute_as_the_card_shows(
    make_run: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    folder = make_run(ModelConfig(dim=16, head=HeadConfig(layers=1)), RATE)
    run, out = load_run(folder), tmp_path / "out"
    Recordings({}).save(folder)
    found = export_command(folder, "onnx", out, observer=UNOBSERVED).facts
    assert found["format"] == "onnx"
    files = ("README.md", "audio.onnx", "segue.json", "text.onnx", "tokenizer.json")
    assert tuple(found["files"]) == files
    assert found["bytes"] == sum(path.stat().st_size for path in out.iterdir())
    assert found["largest_difference"] < onnx_model.TOLERANCE
    assert_like_torch(out, run, 3 * RATE)
    for name in (AUDIO_GRAPH, TEXT_GRAPH):
        onnx.checker.check_model(out / name, full_check=True)
    facts = json.loads((out / SETTINGS_FILE).read_text())
    assert (facts["sample_rate"], facts["longest"], facts["dim"]) == (RATE, None, 16)
    assert facts["scale"] == pytest.approx(run.model.scale().item())

    card = (out / CARD_FILE).read_text()
    example = textwrap.dedent(card.split("## How to use it\n\n")[1].split("\n\n`audio.onnx`")[0])
    assert len([line for line in example.splitlines() if line]) <= 12
    sound = noise(5, RATE)
    soundfile.write(out / "sound.wav", sound.numpy(), RATE, "FLOAT")
    monkeypatch.chdir(out)
    values: dict[str, Any] = {}
    exec(example, values)
    with torch.no_grad():
        expected = run.model.encode_audio(sound[None]).numpy()
    np.testing.assert_allclose(values["sounds"], expected, rtol=0, atol=1e-4)
    assert values["texts"].shape == (2, 16)

    with pytest.raises(SpecError, match="an ONNX export, which onnxruntime opens"):
        load_exported(out)


@pytest.mark.slow
def test_a_fused_clap_takes_what_fits(make_run: Any, tmp_path: Path) -> None:
    small = {"depths": [2], "num_attention_heads": [2], "hidden_size": 8}
    base = save_clap(
        tmp_path / "clap",
        fused=True,
        mels=64,
        audio_changes=small,
        text_changes={"num_hidden_layers": 1},
    )
    folder, out = make_run(clap_config(str(base)), CLAP_RATE), tmp_path / "out"
    run = load_run(folder)
    publish(folder, out, ModelFormat.ONNX)
    longest = run.model.audio_tower.longest
    assert longest is not None
    assert_like_torch(out, run, longest)
    session = onnxruntime.InferenceSession(out / AUDIO_GRAPH, providers=["CPUExecutionProvider"])
    with pytest.raises(Exception, match="Tensor shape"):
        session.run(None, {"waveform": np.zeros((1, longest + 1), np.float32)})


@pytest.mark.slow
def test_a_waveform_model(make_run: Any, tmp_path: Path) -> None:
    hubert = save_hubert(tmp_path / "hubert")
    config = model_over(hubert, None, HeadKind.MLP, dim=16, layers=LayerMix.CONV)
    folder, out = make_run(config, RATE), tmp_path / "out"
    publish(folder, out, ModelFormat.ONNX)
    assert_like_torch(out, load_run(folder), 2 * RATE)


def test_what_is_to_be_installed_is_told(
    make_run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    folder = make_run(ModelConfig(dim=16), RATE)
    with pytest.raises(SpecError, match="--to onnx needs onnxruntime") as error:
        publish(folder, tmp_path / "out", ModelFormat.ONNX)
    assert error.value.fix == "pip install 'segue-audio[onnx]'"


def test_what_is_no_graph_is_told_at_once(make_run: Any, tmp_path: Path) -> None:
    whisper, hubert = save_whisper(tmp_path / "whisper"), save_hubert(tmp_path / "hubert")
    for tower, tokens, told in (
        (whisper, TokenKind.CHUNKS, "feature extractor"),
        (hubert, TokenKind.MAP, "`tokens: map`"),
    ):
        folder = make_run(model_over(tower, None, tokens=tokens, dim=16), RATE)
        with pytest.raises(SpecError, match=told) as error:
            publish(folder, tmp_path / "out", ModelFormat.ONNX)
        assert "safetensors" in error.value.fix
        assert error.value.message.startswith(f"the audio tower {str(tower)!r} cannot")
        assert "\n" not in error.value.message
        shutil.rmtree(folder)
    assert not list(tmp_path.glob("*out*"))


class _Impatient(Silent):
    """Stops the export when the first graph is to be written."""

    def start(self, phase: str, total: int, unit: str, done: int | None = None) -> None:
        if phase == "write":
            raise KeyboardInterrupt


@pytest.mark.slow
def test_nothing_is_left_of_a_wrong_graph_or_an_interrupted_export(
    make_run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = make_run(ModelConfig(dim=16, head=HeadConfig(kind=HeadKind.MLP)), RATE)
    with pytest.raises(KeyboardInterrupt):
        publish(folder, tmp_path / "out", ModelFormat.ONNX, _Impatient())
    monkeypatch.setattr(onnx_model, "TOLERANCE", -1.0)
    with pytest.raises(SpecError, match=r"audio.onnx gives embeddings that differ from torch's"):
        publish(folder, tmp_path / "out", ModelFormat.ONNX)
    assert [path.name for path in tmp_path.iterdir()] == ["run"]

"""Models that are compared or opened: baselines, PE-AV of transformers, open_clip."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
import torch
import transformers

from synth.base.errors import CorpusError, SpecError
from tests.kit.builds import segue
from tests.kit.real_models import with_real
from tests.kit.tiny_models import WORDS, noise, save_tokenizer
from train.bench.embedder import embed_texts
from train.bench.libraries import PeAudio
from train.bench.opening import BagOfWords, Foreign, open_embedder
from train.export.opening import open_model

RATE = 48_000
TEXTS = ["a dog barks", "rain falls before a dog barks then siren"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pe")
    words = {"pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2}
    size = {
        "hidden_size": 16,
        "intermediate_size": 24,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
    }
    config = transformers.PeAudioConfig(
        text_config={
            "model_type": "modernbert",
            "vocab_size": 4 + len(WORDS),
            "cls_token_id": 0,
            "sep_token_id": 2,
            **words,
            **size,
        },
        audio_config={
            "head_dim": 8,
            "dac_config": {
                "encoder_hidden_size": 4,
                "downsampling_ratios": [2, 8, 10, 12],
                "codebook_dim": 8,
                "codebook_size": 8,
                "hidden_size": 64,
            },
            **size,
        },
    )
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = transformers.PeAudioModel(config)
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.add_(0.1 * torch.randn_like(parameter))
    model.save_pretrained(folder)
    transformers.PeAudioFeatureExtractor().save_pretrained(folder)
    save_tokenizer(folder)
    return folder


@torch.no_grad()
def _expected(folder: Path, waveforms: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    config = transformers.AutoConfig.from_pretrained(folder)
    config = getattr(config, "audio_config", config) if "video" in config.model_type else config
    model = transformers.PeAudioModel.from_pretrained(folder, config=config).eval()
    extractor = transformers.PeAudioFeatureExtractor.from_pretrained(folder)
    words = transformers.AutoTokenizer.from_pretrained(folder)(
        TEXTS, padding=True, return_tensors="pt"
    )
    heard, said = [], torch.empty(0)
    for waveform in waveforms:
        sound = extractor([waveform], sampling_rate=RATE, return_tensors="pt")
        found = model(input_ids=words.input_ids, attention_mask=words.attention_mask, **sound)
        heard.append(found.audio_embeds[0])
        said = found.text_audio_embeds
    unit = torch.nn.functional.normalize
    return unit(torch.stack(heard), dim=1).numpy(), unit(said, dim=1).numpy()


def _check(found: Any, folder: Path) -> None:
    waveforms = [noise(seed, size).numpy() for seed, size in enumerate((RATE, 30_000, 30_000, 99))]
    heard, said = _expected(folder, waveforms)
    assert isinstance(found, PeAudio)
    assert (found.sample_rate, found.longest) == (RATE, None)
    assert np.abs(found.audio(waveforms) - heard).max() < 1e-5
    assert np.abs(found.texts(TEXTS) - said).max() < 1e-5
    assert np.linalg.norm(said[0] - said[1]) > 0.01
    assert np.linalg.norm(heard[0] - heard[1]) > 0.001


@pytest.mark.parametrize("model", with_real("pe_audio"))
def test_the_embeddings_are_those_of_forward(folder: Path, model: Path | str) -> None:
    folder = model if isinstance(model, Path) else folder
    _check(open_embedder(folder), folder)
    with pytest.raises(CorpusError, match="a PeAudioModel, which is not opened as a CLAP"):
        open_model(folder)


def test_of_a_model_with_video_the_audio_half_is_opened(folder: Path, tmp_path: Path) -> None:
    _save_with_video(folder, tmp_path)
    found = open_embedder(tmp_path)
    _check(found, folder)
    assert found.digest == open_embedder(folder).digest


@pytest.mark.slow
def test_eval_takes_it_and_shows_no_table_of_weights(folder: Path, tmp_path: Path) -> None:
    _save_with_video(folder, tmp_path)
    table = tmp_path / "classes.csv"
    table.write_text("filename,category\na.wav,dog\nb.wav,rain\n")
    for seed, name in enumerate(("a.wav", "b.wav")):
        soundfile.write(tmp_path / name, noise(seed, RATE).numpy(), RATE)
    done = segue("eval", tmp_path, table, "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1])["zero_shot_top1"]["n"] == 2
    assert "UNEXPECTED" not in done.stderr


def test_a_name_is_told_by_its_type_or_as_not_had(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("train.bench.opening.hub_config", lambda name: {"model_type": "bert"})
        with pytest.raises(CorpusError, match=r"owner/name: .*model of type bert, which"):
            open_embedder(Path("owner/name"))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(SpecError, match="'owner/none' cannot be had from"):
        open_embedder(Path("owner/none"))


def test_a_model_that_lacks_weights_is_told(folder: Path, tmp_path: Path) -> None:
    _save_with_video(folder, tmp_path, leave_out="text_audio_head")
    with pytest.raises(SpecError, match=r"lacks weights: text_audio_head.* \(3 in all\)"):
        open_embedder(tmp_path)


def _save_with_video(folder: Path, out: Path, leave_out: str = "video") -> None:
    """In the layout of a PeAudioVideoModel: one text model, and the rest under `audio_model`."""
    from safetensors.torch import load_file, save_file

    found = {
        name if name.startswith("text_model.") else f"audio_model.{name}": value
        for name, value in load_file(folder / "model.safetensors").items()
        if leave_out not in name
    }
    found["video_model.video_head.proj.weight"] = torch.zeros(2, 2)
    save_file(found, out / "model.safetensors", metadata={"format": "pt"})
    config = json.loads((folder / "config.json").read_text())
    facts = {
        "model_type": "pe_audio_video",
        "text_config": config["text_config"],
        "audio_video_config": {"audio_config": config["audio_config"]},
    }
    (out / "config.json").write_text(json.dumps(facts))
    transformers.PeAudioFeatureExtractor().save_pretrained(out)
    save_tokenizer(out)


# The models that others are compared with.


def test_random_is_opened_by_its_name_and_gives_the_same_vectors_again() -> None:
    model = open_embedder(Path("random"))
    assert isinstance(model, Foreign)
    sounds = [np.full(9, 0.1, dtype=np.float32), np.full(9, 0.2, dtype=np.float32)]
    first = model.audio(sounds)
    assert np.allclose(first, open_embedder(Path("random")).audio(sounds))
    assert abs(float(first[0] @ first[1])) < 0.9
    assert model.digest == "random"


def test_a_bag_of_words_cannot_tell_the_order_of_words(tones: object) -> None:
    bag = BagOfWords(tones)  # type: ignore[arg-type]
    said = embed_texts(bag, ["low, then high", "High then low.", "mid"])
    assert np.array_equal(said["low, then high"], said["High then low."])
    assert not np.array_equal(said["low, then high"], said["mid"])


# What is said where there is no open_clip that hears sounds; tests/peers has one that does.


def test_no_open_clip_with_audio_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    # The environment of the README has open_clip 3.
    for what in ("this open_clip has no models of sounds", "open_clip is not installed"):
        with pytest.raises(SpecError, match=what) as error:
            open_embedder(Path("hf-hub:owner/name"))
        assert str(error.value.fix).startswith("install open_clip 4.2")
        monkeypatch.setitem(sys.modules, "open_clip", None)


def test_a_bag_of_words_is_of_a_model() -> None:
    with pytest.raises(SpecError, match="of which model"):
        open_embedder(Path("bag-of-words"))

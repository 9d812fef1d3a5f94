"""LAION-CLAP checkpoints give the embeddings of the ClapModel that they are written from."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import librosa
import numpy as np
import pytest
import soundfile
import torch
from torch import Tensor
from transformers import AutoTokenizer, ClapModel

from synth.base.errors import CorpusError, SpecError
from tests.kit.builds import segue_here
from tests.kit.real_models import with_real
from tests.kit.tiny_models import CLAP_RATE, WORDS, clap_extractor, noise, save_clap, save_tokenizer
from train.bench.opening import open_embedder
from train.export.files import ModelFormat, checkpoint_tokenizer
from train.export.laion_checkpoint import read_laion
from train.export.opening import open_model
from train.report.publish import publish

SECONDS = 10
TEXTS = ["a dog barks", "rain falls before a dog barks then siren"]
WINDOW = 4
AUDIO = {"spec_size": 128, "window_size": WINDOW, "depths": [2, 1], "num_attention_heads": [2, 4]}
TEXT = {"hidden_size": 128, "num_attention_heads": 2, "layer_norm_eps": 1e-5}
Weights: TypeAlias = dict[str, Any]


def save_for_laion(folder: Path, fused: bool) -> Path:
    """A ClapModel whose settings are LAION's, but for its sizes."""
    return save_clap(
        folder,
        fused=fused,
        audio_changes=AUDIO,
        text_changes=TEXT,
        seconds=SECONDS,
        activation="relu",
    )


def to_laion(model: Any) -> Weights:
    """The weights of a ClapModel in LAION's layout, and all else that LAION's files hold."""
    found: Weights = {}
    thirds: dict[str, list[Tensor]] = {}
    for name, value in model.state_dict().items():
        if not name.startswith("audio_model"):
            name = name.replace("text_model", "text_branch")
            name = re.sub(
                r"projection\.linear([12])", lambda at: f"projection.{(int(at[1]) - 1) * 2}", name
            )
            found[name] = value
            continue
        parts = name.removeprefix("audio_model.audio_encoder.").split(".")
        if parts[0] == "batch_norm":
            parts[0] = "bn0"
        if parts[0] == "layers" and parts[2] == "blocks":
            head, tail = parts[:4], ".".join(parts[4:])
            for theirs, ours in (
                ("layernorm_before", "norm1"),
                ("layernorm_after", "norm2"),
                ("intermediate.dense", "mlp.fc1"),
                ("attention.output.dense", "attn.proj"),
                ("output.dense", "mlp.fc2"),
                ("attention.self", "attn"),
            ):
                if tail.startswith(theirs):
                    tail = tail.replace(theirs, ours)
                    break
            third = re.fullmatch(r"attn\.(query|key|value)\.(weight|bias)", tail)
            if third:
                whole = ".".join(["audio_branch", *head, f"attn.qkv.{third[2]}"])
                thirds.setdefault(whole, []).append(value)
                continue
            parts = [*head, tail]
        found[".".join(["audio_branch", *parts])] = value
    found |= {name: torch.cat(parts) for name, parts in thirds.items()}
    width = model.config.projection_dim
    for name in ("audio", "text"):
        for layer in (0, 3):
            found[f"{name}_transform.sequential.{layer}.weight"] = noise(1, width, width)
            found[f"{name}_transform.sequential.{layer}.bias"] = noise(2, width)
    audio = model.config.audio_config
    windows = (audio.spec_size // audio.patch_size // WINDOW) ** 2
    bank = librosa.filters.mel(
        sr=48_000, n_fft=1024, n_mels=audio.num_mel_bins, fmin=50, fmax=14_000
    )
    return found | {
        "audio_branch.layers.0.blocks.1.attn_mask": torch.zeros(windows, WINDOW**2, WINDOW**2),
        "audio_branch.tscam_conv.weight": noise(3, 5, 16, 2, 3),
        "audio_branch.head.bias": noise(4, 5),
        "audio_branch.spectrogram_extractor.stft.conv_real.weight": noise(5, 513, 1, 1024),
        "audio_branch.logmel_extractor.melW": torch.from_numpy(bank.T),
    }


def save_checkpoint(file: Path, weights: Weights) -> Path:
    """As LAION's trainer saves it: of several GPUs, with numbers of numpy beside the weights."""
    rate = np.float64(1e-4)
    torch.save(
        {
            "epoch": 3,
            "name": "laion",
            "state_dict": {f"module.{name}": value for name, value in weights.items()},
            "optimizer": {"param_groups": [{"lr": rate}]},
        },
        file,
    )
    return file


Change: TypeAlias = Callable[[Weights], object]


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Weights:
    folder = save_for_laion(tmp_path_factory.mktemp("laion"), fused=False)
    return to_laion(ClapModel.from_pretrained(folder))


@pytest.mark.parametrize("model", with_real("laion", "unfused", "fused"))
@torch.no_grad()
def test_the_embeddings_are_those_of_the_clap_model(tmp_path: Path, model: Path | str) -> None:
    if isinstance(model, Path):
        file, tokenizer = model, checkpoint_tokenizer(model, None)
        theirs = read_laion(file)[0].eval()
    else:
        folder = save_for_laion(tmp_path / "clap", fused=model == "fused")
        theirs = ClapModel.from_pretrained(folder).eval()
        file, tokenizer = save_checkpoint(tmp_path / "epoch_3.pt", to_laion(theirs)), str(folder)
        assert theirs.logit_scale_a.item() == 3
    audio = theirs.config.audio_config
    ours = open_model(file, tokenizer)
    assert ours.sample_rate == CLAP_RATE
    for samples in (SECONDS * CLAP_RATE, CLAP_RATE + 77):
        waveform = noise(samples, 2, samples)
        extractor = clap_extractor(
            truncation="fusion" if audio.enable_fusion else "rand_trunc",
            max_length_s=SECONDS,
            feature_size=audio.num_mel_bins,
        )
        heard = extractor(
            list(waveform.numpy()), sampling_rate=CLAP_RATE, padding="pad", return_tensors="pt"
        )
        expected = theirs.get_audio_features(
            input_features=heard["input_features"].float(),
            is_longer=torch.zeros(2, 1, dtype=torch.bool),
        ).pooler_output
        assert (ours.encode_audio(waveform) - expected).abs().max() < 1e-5
    words = AutoTokenizer.from_pretrained(tokenizer)(TEXTS, padding=True, return_tensors="pt")
    found = ours.encode_text(TEXTS)
    assert (found - theirs.get_text_features(**words).pooler_output).abs().max() < 1e-5
    assert (found[0] - found[1]).norm() > 0.01
    assert ours.model.scale.log.item() == pytest.approx(theirs.logit_scale_a.item())


def test_eval_takes_it_and_knows_its_weights(weights: Weights, tmp_path: Path) -> None:
    folder = save_for_laion(tmp_path / "clap", fused=False)
    file = save_checkpoint(tmp_path / "epoch_3.pt", weights)
    table = tmp_path / "classes.csv"
    table.write_text("filename,category\na.wav,dog\nb.wav,rain\n")
    for seed, name in enumerate(("a.wav", "b.wav")):
        soundfile.write(tmp_path / name, noise(seed, CLAP_RATE).numpy(), CLAP_RATE)
    facts = []
    for number, given in enumerate(([file, "--tokenizer", folder], [folder])):
        out = tmp_path / f"results-{number}"
        done = segue_here("eval", given[0], table, *given[1:], "--out", out, "--json")
        assert done.returncode == 0, done.stderr
        assert "huggingface.co" not in done.stderr
        assert json.loads(done.stdout.splitlines()[-1])["zero_shot_top1"]["n"] == 2
        facts.append(json.loads((out / "facts.json").read_text())["facts"])
    assert facts[0]["weights"] == facts[1]["weights"]


@pytest.mark.parametrize("fused", [False, True])
@torch.no_grad()
def test_a_checkpoint_becomes_a_folder_with_its_embeddings(tmp_path: Path, fused: bool) -> None:
    theirs = ClapModel.from_pretrained(save_for_laion(tmp_path / "clap", fused))
    beside = tmp_path / "beside"
    beside.mkdir()
    save_tokenizer(beside)
    file = save_checkpoint(beside / "epoch_3.pt", to_laion(theirs))
    found = publish(file, tmp_path / "out", ModelFormat.TRANSFORMERS)
    assert found.opener == f"segue train CORPUS --clap {tmp_path / 'out'}"
    assert "`epoch_3.pt`" in (tmp_path / "out" / "README.md").read_text()
    waveform = noise(0, 2, CLAP_RATE)
    ours, again = open_model(file), open_model(tmp_path / "out")
    assert torch.equal(ours.encode_audio(waveform), again.encode_audio(waveform))
    assert torch.equal(ours.encode_text(TEXTS), again.encode_text(TEXTS))
    with pytest.raises(SpecError, match="to transformers only"):
        publish(file, tmp_path / "graphs", ModelFormat.ONNX)


def test_a_checkpoint_is_converted_before_it_is_tuned(tmp_path: Path, corpus: Path) -> None:
    (tmp_path / "epoch_3.pt").write_bytes(b"")
    tuned = segue_here("train", corpus, "--clap", tmp_path / "epoch_3.pt", "--out", tmp_path / "r")
    assert tuned.returncode == 1
    assert "segue export" in tuned.stderr
    assert "--to transformers" in tuned.stderr


def test_bare_weights_and_a_tokenizer_beside_them_will_do(weights: Weights, tmp_path: Path) -> None:
    assert checkpoint_tokenizer(tmp_path / "a.pt", None) == "FacebookAI/roberta-base"
    save_tokenizer(tmp_path)
    assert checkpoint_tokenizer(tmp_path / "a.pt", None) == str(tmp_path)
    torch.save(weights, tmp_path / "bare.pt")
    words = open_model(tmp_path / "bare.pt").tokenizer(["a dog " * 60])
    assert words.ids.shape == (1, 64)  # the tokenizer's own limit, which is below LAION's


def test_long_texts_are_cut_as_laion_cuts_them(weights: Weights, tmp_path: Path) -> None:
    save_tokenizer(tmp_path)
    settings = tmp_path / "tokenizer_config.json"
    settings.write_text(
        settings.read_text().replace('"model_max_length": 64', '"model_max_length": 512')
    )
    torch.save(weights, tmp_path / "bare.pt")
    assert open_model(tmp_path / "bare.pt").tokenizer(["a dog " * 60]).ids.shape == (1, 77)


NORM = "audio_branch.norm.bias"
PATCHES = "audio_branch.patch_embed.proj.weight"
TYPES = "text_branch.embeddings.token_type_embeddings.weight"
CHANGES: dict[str, Change] = {
    f"lacks {NORM}": lambda held: held.pop(NORM),
    f"lacks {PATCHES}": lambda held: held.pop(PATCHES),
    "has the unknown visual.0, visual.1, visual.2 and 2 more": lambda held: held.update(
        {f"visual.{i}": torch.zeros(1) for i in range(5)}
    ),
    "its text branch is BERT": lambda held: held.update({TYPES: torch.zeros(2, 128)}),
    "its mel bands are others": lambda held: held["audio_branch.logmel_extractor.melW"].mul_(2),
    "its sizes differ: size mismatch for audio_model.audio_encoder.norm.bias": lambda held: (
        held.update({NORM: torch.zeros(3)})
    ),
}


def test_another_model_is_told_by_what_differs(weights: Weights, tmp_path: Path) -> None:
    for why, change in CHANGES.items():
        changed = {name: value.clone() for name, value in weights.items()}
        change(changed)
        file = save_checkpoint(tmp_path / "other.pt", changed)
        with pytest.raises(
            CorpusError, match=f"no LAION-CLAP of HTSAT and RoBERTa: .*{why}"
        ) as error:
            read_laion(file)
        assert "\n" not in str(error.value)


class Evil:
    """Would write a file when it is unpickled."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.file,)


def test_code_and_what_holds_no_weights_are_told(tmp_path: Path) -> None:
    torch.save({"state_dict": {"a": Evil(tmp_path / "ran")}}, tmp_path / "evil.pt")
    with pytest.raises(CorpusError, match="holds code, which is never run"):
        read_laion(tmp_path / "evil.pt")
    assert not (tmp_path / "ran").exists()
    file = tmp_path / "it.pt"
    file.write_bytes(b"no zip")
    with pytest.raises(CorpusError, match="damaged"):
        read_laion(file)
    for value, why in (([1, 2], "holds a list"), ({}, "holds a dict, no weights by name")):
        torch.save(value, file)
        with pytest.raises(CorpusError, match=why):
            read_laion(file)


def test_the_tokenizer_must_be_of_the_model(weights: Weights, tmp_path: Path) -> None:
    save_tokenizer(tmp_path / "words")
    weights = {name: value.clone() for name, value in weights.items()}
    name = "text_branch.embeddings.word_embeddings.weight"
    weights[name] = weights[name].repeat(2, 1)
    file = save_checkpoint(tmp_path / "a.pt", weights)
    count = 4 + len(WORDS)
    with pytest.raises(SpecError, match=r"cannot be loaded: .*RoBERTa's tokenizer\.json and"):
        open_model(file, str(tmp_path / "nowhere"))
    with pytest.raises(SpecError, match=f"has {count} words, .* knows {2 * count}"):
        open_model(file, str(tmp_path / "words"))


def test_a_tokenizer_is_for_a_checkpoint_alone(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="a ClapModel has its own tokenizer"):
        open_embedder(save_clap(tmp_path / "clap"), tokenizer="roberta-base")

"""CLAPs of open_clip give the embeddings of its own functions, for each kind of audio half."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
import torch
from safetensors.torch import load_file, save_file

from synth.base.errors import SpecError
from synth.base.progress import UNOBSERVED
from tests.kit.real_models import with_real
from tests.kit.tiny_models import WORDS, noise, save_tokenizer
from train.bench.embedder import Embeddings, embed_sounds, fill_up
from train.bench.libraries import OpenClip
from train.bench.opening import open_embedder
from train.bench.settings import Padding
from train.bench.sounds import Files
from train.cli.eval import eval_command

TEXTS = ["a dog barks", "rain falls before a dog barks then siren"]
SHORTER = (30_000, 48_000, 48_000, 700)
HTSAT = {"embed_dim": 8, "depths": [1, 1, 1, 1], "num_heads": [1, 1, 1, 1]}
"""Swapped for the sizes of its smallest, of 30 million weights."""
SIZES: dict[str, dict[str, Any]] = {
    "HTSAT": {"clip_samples": 96_000, "class_num": 3},
    "fused": {"clip_samples": 96_000, "class_num": 3, "enable_fusion": True},
    "whisper": {"sample_rate": 16_000, "mel_bins": 80, "pretrained": True},
    "naflexvit": {"naflexvit_cfg": {"embed_dim": 48, "depth": 2, "num_heads": 3}},
}


@pytest.fixture(scope="module")
def open_clip(no_images: None) -> Any:
    return importlib.import_module("open_clip")


@pytest.fixture(scope="module", params=with_real("open_clip", *SIZES))
def folder(
    request: pytest.FixtureRequest, open_clip: Any, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Path]:
    """As open_clip saves models."""
    if isinstance(request.param, Path):
        yield request.param
        return
    with pytest.MonkeyPatch.context() as patch:
        sizes = importlib.import_module("open_clip.audio.tower")._HTSAT_CONFIGS
        patch.setitem(sizes, "tiny", HTSAT)
        yield save_open_clip(open_clip, request.param, tmp_path_factory.mktemp(request.param))


def save_open_clip(library: Any, kind: str, folder: Path) -> Path:
    """Random weights; the text half is a RoBERTa, for NaFlex open_clip's own."""
    text: dict[str, Any] = {"context_length": 16, "width": 16, "heads": 2, "layers": 2}
    if kind != "naflexvit":
        text = save_text_half(folder)
    family = "HTSAT" if kind == "fused" else kind
    audio = {"model_type": family, "model_name": "tiny", **SIZES[kind]}
    settings = {"embed_dim": 24, "audio_cfg": audio, "text_cfg": text}
    drawn = {
        "audio_cfg": audio | {"pretrained": False},
        "text_cfg": text | {"hf_model_pretrained": False},
    }
    with torch.random.fork_rng():
        torch.manual_seed(3)
        model = library.clap_model.CLAP(**settings | drawn)
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.add_(0.1 * torch.randn_like(parameter))
    (folder / "open_clip_config.json").write_text(json.dumps({"model_cfg": settings}))
    # HTSAT holds some transposed.
    weights = {name: value.contiguous() for name, value in model.state_dict().items()}
    save_file(weights, folder / "open_clip_model.safetensors")
    return folder


def save_text_half(folder: Path) -> dict[str, Any]:
    transformers = importlib.import_module("transformers")
    size = {"hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 2}
    config = transformers.RobertaConfig(
        vocab_size=4 + len(WORDS), num_attention_heads=2, max_position_embeddings=80, **size
    )
    config.save_pretrained(folder)
    save_tokenizer(folder)
    here = {"hf_model_name": str(folder), "hf_tokenizer_name": str(folder)}
    return here | {"hf_pooler_type": "mean_pooler", "hf_proj_type": "mlp"}


@torch.no_grad()
def by_its_own_functions(
    library: Any, folder: Path, sounds: list[np.ndarray], fill: str = "pad"
) -> tuple[Embeddings, Embeddings]:
    """One sound at a time, padded by open_clip: its Whisper hears the loudest of a whole batch."""
    config = json.loads((folder / "open_clip_config.json").read_text())["model_cfg"]
    model, preprocess = library.create_model_from_pretrained(
        f"local-dir:{folder}",
        audio_cfg=config["audio_cfg"] | {"pretrained": False},
        audio_aug_cfg={"data_fill": fill},
    )
    model.eval()
    if config["audio_cfg"]["model_type"] == "naflexvit":
        preprocess = preprocess(max_seq_len=None)
    heard = []
    for sound in sounds:
        one = preprocess((torch.from_numpy(sound)[None], model.audio.cfg.sample_rate))
        batch = {name: torch.as_tensor(value)[None] for name, value in one.items()}
        heard.append(model.encode_audio(batch, normalize=True))
    words = library.get_tokenizer(f"local-dir:{folder}")(TEXTS)
    return torch.cat(heard).numpy(), model.encode_text(words, normalize=True).numpy()


def test_the_embeddings_are_its_own(open_clip: Any, folder: Path) -> None:
    sounds = [noise(seed, size).numpy() for seed, size in enumerate(SHORTER)]
    heard, said = by_its_own_functions(open_clip, folder, sounds)
    found = open_embedder(folder)
    assert isinstance(found, OpenClip)
    assert np.abs(found.audio(sounds) - heard).max() < 1e-5
    assert np.abs(found.texts(TEXTS) - said).max() < 1e-5
    assert np.allclose(np.linalg.norm(found.audio(sounds), axis=1), 1, atol=1e-12)
    assert np.linalg.norm(said[0] - said[1]) > 0.01
    assert np.linalg.norm(heard[0] - heard[1]) > 0.001


def test_a_short_sound_is_repeated_only_when_asked(
    open_clip: Any, folder: Path, tmp_path: Path
) -> None:
    found = open_embedder(Path(f"local-dir:{folder}"))
    if found.longest is None:
        return  # it takes sounds of any length
    sound = noise(9, found.longest // 3 - 5).numpy()
    filled = np.pad(sound, (0, found.longest - len(sound)))
    assert np.abs(found.audio([sound]) - found.audio([filled])).max() < 1e-6
    files = Files(tmp_path, tmp_path / "table.csv")
    for name, wave in (("short.wav", sound), ("long.wav", np.pad(filled, (0, 9)))):
        soundfile.write(tmp_path / name, wave, found.sample_rate, subtype="FLOAT")
        files.number(name, 1)
    with pytest.raises(SpecError, match=r"long.wav: lasts .* the model takes"):
        embed_sounds(found, files.sounds())
    repeated = fill_up(files.sounds(), Padding.REPEATPAD, found.longest)
    heard, _ = by_its_own_functions(open_clip, folder, [sound], "repeatpad")
    assert np.abs(found.audio([repeated[0].load(found.sample_rate)]) - heard).max() < 1e-5
    assert np.abs(found.audio([sound]) - heard).max() > 1e-4


def test_a_checkpoint_of_its_training_is_opened(open_clip: Any, tmp_path: Path) -> None:
    name = "naflexclap_test"
    with torch.random.fork_rng():
        weights = open_clip.create_model(name).state_dict()
    file = tmp_path / "epoch_1.pt"
    torch.save({"epoch": 1, "name": "mine", "state_dict": weights, "optimizer": {}}, file)
    model = Path(f"open_clip:{name}:{file}")
    own = open_clip.create_model(name, str(file)).eval().state_dict()
    assert all(torch.equal(own[key], weights[key]) for key in weights)
    for at, length in enumerate((48_000, 20_000)):
        soundfile.write(tmp_path / f"{at}.wav", noise(at, length).numpy(), 48_000)
    table = tmp_path / "classes.csv"
    table.write_text("filename,category\n0.wav,dog\n1.wav,rain\n")
    assert eval_command(model, table, observer=UNOBSERVED).facts["zero_shot_top1"]["n"] == 2


class Code:
    def __reduce__(self) -> tuple[Any, ...]:
        return (print, ("run by the pickle",))


def test_no_code_of_a_checkpoint_is_run(
    open_clip: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    torch.save({"state_dict": {"x": Code()}}, tmp_path / "bad.pt")
    refuse(Path(f"open_clip:naflexclap_test:{tmp_path / 'bad.pt'}"), "cannot be loaded: ")
    assert "run by the pickle" not in capsys.readouterr().out


def test_what_cannot_be_opened_is_told_in_one_line(open_clip: Any, tmp_path: Path) -> None:
    refuse(Path("open_clip:ViT-B-32:openai"), "cannot be loaded: no model of sounds and texts")
    refuse(Path("open_clip:none:epoch_1.pt"), "cannot be loaded: no model of sounds and texts")
    refuse(Path("open_clip:naflexclap_test"), "cannot be loaded: Required pretrained weights")
    settings = open_clip.get_model_config("naflexclap_test")
    (tmp_path / "open_clip_config.json").write_text(json.dumps({"model_cfg": settings}))
    refuse(tmp_path, "cannot be loaded: Required pretrained weights")
    weights = open_clip.create_model("naflexclap_test").state_dict()
    weights.pop("text.token_embedding.weight")
    save_file(weights, tmp_path / "open_clip_model.safetensors")
    assert "text.token_embedding.weight" not in load_file(tmp_path / "open_clip_model.safetensors")
    refuse(tmp_path, "cannot be loaded: Error")


def refuse(model: Path, what: str, fix: str = "give a folder with open_clip_config.json") -> None:
    with pytest.raises(SpecError) as error:
        open_embedder(model)
    assert what in error.value.message
    assert str(error.value.fix).startswith(fix)
    assert "\n" not in str(error.value)

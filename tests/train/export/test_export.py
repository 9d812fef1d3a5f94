"""Exported runs, opened by transformers and by the small loader."""

from __future__ import annotations

import json
import shutil
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import (
    AutoTokenizer,
    ClapModel,
    ClapProcessor,
    RobertaConfig,
    RobertaModel,
)

from synth.base.errors import CorpusError, SpecError
from tests.kit.tiny_models import (
    CLAP_DIM,
    CLAP_RATE,
    extract_features,
    model_over,
    noise,
    save_clap,
    save_tokenizer,
)
from train.config.model import (
    AudioConfig,
    HeadKind,
    ModelConfig,
    TextConfig,
    TokenKind,
    TowerKind,
)
from train.engine.run_folder import load_run
from train.export.files import HEADS_FILE, SETTINGS_FILE, ModelFormat
from train.export.read import load_exported
from train.model.clap import clap_config
from train.report.publish import publish

save = partial(publish, to=ModelFormat.TRANSFORMERS)
TEXTS = ["a dog barks", "rain falls before a dog barks then siren", "unheard words"]
LENGTHS = (2 * CLAP_RATE, CLAP_RATE // 2, 1_000)


def with_heads(folder: Path, kind: HeadKind, tokens: TokenKind) -> ModelConfig:
    return model_over(folder, folder, kind, tokens).model_copy(update={"bias": -5.0})


def heard_by_transformers(folder: Path, waveform: torch.Tensor) -> torch.Tensor:
    found = extract_features(folder, waveform)
    return ClapModel.from_pretrained(folder).eval().get_audio_features(**found).pooler_output


@pytest.mark.parametrize("name", ["clap_folder", "fused_folder"])
@torch.no_grad()
def test_a_run_with_clap_heads_is_a_clap_model(
    name: str, request: pytest.FixtureRequest, make_run: Any, tmp_path: Path
) -> None:
    base = request.getfixturevalue(name)
    folder = make_run(clap_config(str(base)))
    out = tmp_path / "out" / "clap"
    save(folder, out)
    run, again = load_run(folder), load_exported(out)
    plain = ClapModel.from_pretrained(base).eval()
    for samples in LENGTHS:
        waveform = noise(samples, 2, samples)
        expected = run.model.encode_audio(waveform)
        theirs = heard_by_transformers(out, waveform)
        assert (theirs - expected).abs().max() < 1e-5
        assert (again.encode_audio(waveform) - expected).abs().max() < 1e-5
    before = heard_by_transformers(base, noise(0, 1, LENGTHS[0]))
    assert (before - run.model.encode_audio(noise(0, 1, LENGTHS[0]))).abs().max() > 1e-3

    ids = run.tokenizer(TEXTS)
    expected = run.model.encode_text(ids.ids, ids.mask)
    words = ClapProcessor.from_pretrained(out)(text=TEXTS, padding=True, return_tensors="pt")
    model = ClapModel.from_pretrained(out).eval()
    theirs = model.get_text_features(
        input_ids=words["input_ids"], attention_mask=words["attention_mask"]
    ).pooler_output
    assert (theirs - expected).abs().max() < 1e-5
    assert (again.encode_text(TEXTS) - expected).abs().max() < 1e-5
    for scale in (model.logit_scale_a, model.logit_scale_t):
        assert scale.exp().item() == pytest.approx(run.model.scale().item(), rel=1e-5)
    assert model.logit_scale_a.item() != plain.logit_scale_a.item()
    assert model.projection_dim == CLAP_DIM
    assert json.loads((out / "preprocessor_config.json").read_text())["padding"] == "pad"
    assert not (out / HEADS_FILE).exists()
    assert not any(path.suffix == ".bin" for path in out.iterdir())


@pytest.mark.parametrize(
    ("kind", "tokens"),
    [
        (HeadKind.MLP, TokenKind.MAP),
        (HeadKind.TRANSFORMER, TokenKind.CHUNKS),
        (HeadKind.TRANSFORMER, TokenKind.POOLED),
    ],
)
@torch.no_grad()
def test_other_heads_lie_beside_the_towers(
    kind: HeadKind, tokens: TokenKind, make_run: Any, tmp_path: Path
) -> None:
    base = save_clap(tmp_path / "base", seed=1)
    folder = make_run(with_heads(base, kind, tokens))
    run = load_run(folder)
    out = tmp_path / "out"
    out.mkdir()
    save(folder, out)
    # Neither the run nor its base model is needed any more.
    shutil.rmtree(folder)
    shutil.rmtree(base)
    moved = out.rename(tmp_path / "moved")
    again = load_exported(moved)
    assert again.sample_rate == CLAP_RATE
    for samples in LENGTHS:
        waveform = noise(samples, 2, samples)
        expected = run.model.encode_audio(waveform)
        assert (again.encode_audio(waveform) - expected).abs().max() < 1e-5
    ids = run.tokenizer(TEXTS)
    expected = run.model.encode_text(ids.ids, ids.mask)
    assert (again.encode_text(TEXTS) - expected).abs().max() < 1e-5
    assert again.model.scale().item() == pytest.approx(run.model.scale().item())
    assert again.model.bias.item() == run.model.bias.item() != -5.0
    theirs = ClapModel.from_pretrained(moved)
    ours = run.model.state_dict()
    for half in ("audio", "text"):
        weights = getattr(theirs, f"{half}_model").state_dict()
        assert all(
            torch.equal(value, ours[f"{half}_tower.model.{name}"])
            for name, value in weights.items()
        )


def test_texts_are_cut_where_the_run_cut_them(
    clap_folder: Path, make_run: Any, tmp_path: Path
) -> None:
    folder = make_run(clap_config(str(clap_folder)))
    save(folder, tmp_path / "out")
    longest = "dog " * 100
    theirs = AutoTokenizer.from_pretrained(tmp_path / "out")(longest, truncation=True)["input_ids"]
    assert theirs == load_run(folder).tokenizer([longest]).ids[0].tolist()
    assert len(theirs) == 64


def test_a_run_with_other_towers_is_told_which_and_what_to_do(
    clap_folder: Path, hubert_folder: Path, make_run: Any, tmp_path: Path
) -> None:
    roberta = tmp_path / "roberta"
    RobertaModel(
        RobertaConfig(
            vocab_size=20,
            hidden_size=16,
            num_hidden_layers=1,
            num_attention_heads=2,
            intermediate_size=16,
            max_position_embeddings=80,
        )
    ).save_pretrained(roberta)
    save_tokenizer(roberta)
    plain = with_heads(clap_folder, HeadKind.MLP, TokenKind.MAP)
    hubert = AudioConfig(kind=TowerKind.TRANSFORMERS, name=str(hubert_folder))
    for update, rate, told in (
        ({"audio": AudioConfig()}, CLAP_RATE, "audio tower of this run is of kind small"),
        ({"audio": hubert}, 16_000, f"audio tower of this run is '{hubert_folder}'"),
        (
            {"text": TextConfig(kind=TowerKind.TRANSFORMERS, name=str(roberta))},
            CLAP_RATE,
            f"text tower of this run is '{roberta}'",
        ),
        ({"text": TextConfig()}, CLAP_RATE, "text tower of this run is of kind small"),
    ):
        folder = make_run(plain.model_copy(update=update), rate)
        with pytest.raises(SpecError, match=told) as error:
            save(folder, tmp_path / "out")
        assert "FOLDER_OF_A_CLAP" in error.value.fix
        assert not (tmp_path / "out").exists()
        shutil.rmtree(folder)
    assert not list(tmp_path.glob(".*partial"))


def test_nothing_is_written_over_and_nothing_is_left_of_a_failure(
    make_run: Any, tmp_path: Path
) -> None:
    base = save_clap(tmp_path / "base", seed=2)
    folder = make_run(clap_config(str(base)))
    out = tmp_path / "out"
    out.mkdir()
    (out / "mine.txt").write_text("kept")
    with pytest.raises(SpecError, match="not empty"):
        save(folder, out)
    with pytest.raises(SpecError, match="not empty"):
        save(folder, out / "mine.txt")
    assert [path.name for path in out.iterdir()] == ["mine.txt"]
    with pytest.raises(CorpusError, match="no trained model"):
        save(tmp_path / "absent", tmp_path / "new")
    facts = json.loads((base / "tokenizer.json").read_text())
    facts["pre_tokenizer"] = {"type": "WhitespaceSplit"}
    (base / "tokenizer.json").write_text(json.dumps(facts))
    with pytest.raises(SpecError, match="not the one that the run was trained with"):
        save(folder, tmp_path / "new")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["base", "out", "run"]


def test_damaged_exports_are_told(make_run: Any, tmp_path: Path) -> None:
    base = save_clap(tmp_path / "base", seed=3)
    out = tmp_path / "out"
    with pytest.raises(SpecError, match="no exported model"):
        load_exported(base)
    save(make_run(with_heads(base, HeadKind.MLP, TokenKind.POOLED)), out)
    heads = (out / HEADS_FILE).read_bytes()
    (out / HEADS_FILE).write_bytes(heads[:100])
    with pytest.raises(CorpusError, match="not what its receipt says"):
        load_exported(out)
    (out / HEADS_FILE).unlink()
    with pytest.raises(SpecError, match="missing or damaged"):
        load_exported(out)
    facts = json.loads((out / SETTINGS_FILE).read_text())
    for broken in (facts | {"format": 1}, {"format": 2}, facts | {"model": {"dim": "wide"}}):
        (out / SETTINGS_FILE).write_text(json.dumps(broken))
        with pytest.raises(SpecError, match=SETTINGS_FILE):
            load_exported(out)

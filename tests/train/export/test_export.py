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
from tests.kit.tables import read_data
from tests.kit.tiny_models import (
    CLAP_DIM,
    CLAP_RATE,
    extract_features,
    model_over,
    noise,
    save_clap,
    save_tokenizer,
)
from train.cli.show import tell_of_hub
from train.config.model import (
    AudioConfig,
    HeadKind,
    ModelConfig,
    TextConfig,
    TokenKind,
    TowerKind,
)
from train.engine.run_folder import load_run
from train.export.files import ACCEPTED, HEADS_FILE, SETTINGS_FILE, ModelFormat, is_hub_name
from train.export.opening import ModelKind, model_kind, open_model
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


def test_texts_are_cut_as_in_the_run(clap_folder: Path, make_run: Any, tmp_path: Path) -> None:
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


def test_nothing_is_written_over_nor_left_behind(make_run: Any, tmp_path: Path) -> None:
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


# What is no model is told by its kind, at once, and the hub is asked for nothing but its names.


def _write(folder: Path, **files: object) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, facts in files.items():
        text = facts if isinstance(facts, str) else json.dumps(facts)
        (folder / f"{name}.json").write_text(text, encoding="utf-8")
    return folder


FOLDERS: list[tuple[dict[str, object], str]] = read_data("models/no_models.yaml")
FILES = {
    "model.safetensors": "weights without the settings of their model",
    "model.onnx": "a file (.onnx)",
    "README": "a file",
}


def test_another_kind_is_told(tmp_path: Path) -> None:
    for number, (files, what) in enumerate(FOLDERS):
        _refused(_write(tmp_path / str(number), **files), what)
    for name, what in FILES.items():
        (tmp_path / name).touch()
        _refused(tmp_path / name, what)
    run = _write(tmp_path / "run", config={"train": {}})
    (run / "model.pt").touch()
    _refused(run / "model.pt", f"a file of the run {run}, which is given by its folder")
    assert model_kind(run) is ModelKind.RUN


def test_the_kinds_that_are_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    clap = _write(tmp_path / "clap", config={"model_type": "clap"})
    assert model_kind(clap) is ModelKind.CLAP
    for name in ("pe_audio", "pe_audio_video"):
        there = _write(tmp_path / name, config={"model_type": name, "architectures": None})
        assert model_kind(there) is ModelKind.PE_AUDIO
    (clap / HEADS_FILE).touch()  # without its settings, it says so when it is opened
    assert model_kind(clap) is ModelKind.EXPORT
    (clap / HEADS_FILE).unlink()
    assert model_kind(_write(clap, segue={})) is ModelKind.EXPORT
    facts = {
        "config": {"model_type": "roberta"},
        "open_clip_config": {"model_cfg": {"audio_cfg": {}}},
    }
    assert model_kind(_write(tmp_path / "open_clip", **facts)) is ModelKind.OPEN_CLIP
    for name in ("hf-hub:owner/name", "local-dir:clap", "open_clip:CLAP-HTSAT-tiny:epoch_1.pt"):
        assert model_kind(Path(name)) is ModelKind.OPEN_CLIP
    assert model_kind(Path("laion/clap-htsat-unfused")) is ModelKind.HUB
    (tmp_path / "epoch_1.PT").touch()
    assert model_kind(Path("epoch_1.PT")) is ModelKind.CHECKPOINT
    _refused(Path("laion-clap"), "no such run; . has no runs")


def _refused(model: Path, what: str) -> None:
    with pytest.raises(CorpusError) as error:
        model_kind(model)
    assert (error.value.message, error.value.fix) == (f"{model}: {what}", ACCEPTED)
    assert "\n" not in str(error.value)


def test_a_mistyped_run_is_told_with_the_runs_there_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("mlp", "mine"):
        (tmp_path / "runs" / name).mkdir(parents=True)
        (tmp_path / "runs" / name / "model.pt").touch()
    (tmp_path / "runs" / "other").mkdir()
    monkeypatch.setattr(
        "train.export.opening.open_clap", lambda name: pytest.fail(f"asks for {name}")
    )
    tell_of_hub("runs/typo")
    assert not capsys.readouterr().err
    with pytest.raises(CorpusError, match=r"^runs/typo: no such run; found in runs: mine, mlp "):
        open_model(Path("runs/typo"))
    with pytest.raises(CorpusError) as error:
        open_model(Path("runs/minne"))
    assert error.value.fix == "did you mean runs/mine?"
    for missing in ("typo", "/none/here", "../none/here", "none/a/b"):
        with pytest.raises(CorpusError, match="no such run"):
            open_model(Path(missing))


def test_only_a_name_that_is_no_place_here_is_asked_of_the_hub(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    assert is_hub_name(Path("laion/clap-htsat-unfused"))
    tell_of_hub("laion/clap-htsat-unfused")
    assert "looked up on huggingface.co" in capsys.readouterr().err
    (tmp_path / "laion").mkdir()
    assert not is_hub_name(Path("laion/clap-htsat-unfused"))
    assert not any(is_hub_name(Path(each)) for each in ("clap", "/a/b", "../b", "a/b/c"))

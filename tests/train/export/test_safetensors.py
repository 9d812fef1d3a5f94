"""Runs of every kind of tower, exported whole and opened where nothing else is left."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml
from torch import Tensor

from pipelines.cli.make.export import MODEL_FORMATS, export_command
from pipelines.look.report.corpus import run_page
from synth.base.errors import CorpusError, SpecError
from synth.base.progress import UNOBSERVED
from synth.corpus.corpus import Corpus
from tests.kit.tiny_models import (
    CLAP_RATE,
    model_over,
    noise,
    save_ast,
    save_clap,
    save_gpt2,
    save_hubert,
    save_modernbert,
    save_qwen3,
    save_wav2vec2_bert,
    save_whisper,
)
from train.bench.opening import open_embedder
from train.bench.settings import Task
from train.cli.eval import eval_command
from train.cli.train import train_command
from train.config.model import Group, HeadKind, LayerMix, ModelConfig, TokenKind
from train.config.run import Mix
from train.engine.loop import train
from train.engine.run_folder import load_run
from train.export.files import SETTINGS_FILE, WEIGHTS_FILE, ModelFormat
from train.export.folder import Written
from train.export.read import load_exported
from train.model.clap import clap_config
from train.report.publish import CARD_FILE, model_card, publish

TEXTS = ["a dog barks", "rain falls before a dog barks then siren", "unheard words"]
RATE = 16_000

Save = Callable[[Path], Path]


def embeddings(opened: Any) -> list[Tensor]:
    """Of sounds of three lengths, and of texts."""
    rate = opened.sample_rate
    words = opened.tokenizer(TEXTS)
    with torch.no_grad():
        heard = [
            opened.model.encode_audio(noise(samples, 2, samples))
            for samples in (rate, 2 * rate // 3, 1_500)
        ]
        return [*heard, opened.model.encode_text(words.ids, words.mask)]


def assert_same(left: list[Tensor], right: list[Tensor]) -> None:
    assert all(torch.equal(one, other) for one, other in zip(left, right, strict=True))


@pytest.mark.parametrize(
    ("audio", "text", "head", "tokens", "mix"),
    [
        (None, None, HeadKind.TRANSFORMER, TokenKind.CHUNKS, LayerMix.LAST),
        (save_hubert, save_modernbert, HeadKind.MLP, TokenKind.CHUNKS, LayerMix.CONV),
        (save_hubert, None, HeadKind.MLP, TokenKind.MAP, LayerMix.LAST),
        (save_ast, save_gpt2, HeadKind.PROJECTION, TokenKind.POOLED, LayerMix.LAST),
        (save_whisper, save_qwen3, HeadKind.TRANSFORMER, TokenKind.MAP, LayerMix.LAST),
        (save_wav2vec2_bert, save_qwen3, HeadKind.MLP, TokenKind.CHUNKS, LayerMix.LAST),
        (None, save_clap, HeadKind.MLP, TokenKind.CHUNKS, LayerMix.LAST),
    ],
)
def test_any_pair_of_towers_opens_without_its_base_models(
    make_run: Any,
    tmp_path: Path,
    audio: Save | None,
    text: Save | None,
    head: HeadKind,
    tokens: TokenKind,
    mix: LayerMix,
) -> None:
    bases = tmp_path / "bases"
    folders = audio and audio(bases / "audio"), text and text(bases / "text")
    config = model_over(*folders, head, tokens, dim=16, layers=mix)
    config = config.model_copy(update={"bias": -5.0})
    with exported(make_run(config, RATE), tmp_path) as (run, out):
        shutil.rmtree(bases, ignore_errors=True)
        again = load_exported(out)
        assert_same(embeddings(again), run)
        assert again.model.bias.item() != -5.0


@pytest.mark.parametrize("fused", [False, True])
def test_a_clap_keeps_its_own_projections(make_run: Any, tmp_path: Path, fused: bool) -> None:
    base = save_clap(tmp_path / "bases" / "clap", fused=fused, mels=64 if fused else 16)
    with exported(make_run(clap_config(str(base)), CLAP_RATE), tmp_path) as (run, out):
        shutil.rmtree(base)
        assert_same(embeddings(load_exported(out)), run)
        (name,) = [each.name for each in (out / "text").iterdir()]
        assert name == "config.json"


@contextmanager
def exported(run: Path, tmp_path: Path) -> Iterator[tuple[list[Tensor], Path]]:
    """What a run gives, and its export after the run is gone; no file tells where anything lay."""
    out = tmp_path / "out" / "model"
    expected = embeddings(load_run(run))
    publish(run, out, ModelFormat.SAFETENSORS)
    shutil.rmtree(run)
    yield expected, out.rename(tmp_path / "moved")
    for path in (tmp_path / "moved").rglob("*.*"):
        assert str(tmp_path).encode() not in path.read_bytes()
        assert path.suffix in (".json", ".safetensors", ".md")
        assert path.stat().st_mode & 0o044 == 0o044


def test_the_card_tells_what_the_model_is_and_segue_eval_opens_it(
    corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run, out = tmp_path / "run", tmp_path / "out"
    train_command(corpus, steps=2, out=run, observer=UNOBSERVED)
    tested = eval_command(run, corpus, task=[Task.BAT], observer=UNOBSERVED).facts
    export_command(run, "safetensors", out, observer=UNOBSERVED).show()
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith(f"{run} as safetensors: 6 files, ")
    assert lines[-1] == f"next: segue eval {out} CORPUS --split test"
    card = (out / CARD_FILE).read_text()
    front = yaml.safe_load(card.split("---\n")[1])
    assert front["pipeline_tag"] == "zero-shot-audio-classification"
    assert (front["datasets"], front["license"]) == (["tiny"], "cc0-1.0")
    assert "base_model" not in front
    digest = Corpus.open(corpus).facts["digest"]
    for told in (digest, "padded with silence, never looped", "16,000 Hz", "any length", "| bat |"):
        assert told in card

    assert eval_command(out, corpus, task=[Task.BAT], observer=UNOBSERVED).facts == tested
    assert "not known" not in capsys.readouterr().err
    digests = {open_embedder(folder).digest for folder in (run, out)}  # type: ignore[union-attr]
    assert len(digests) == 1


def test_the_command_names_every_format() -> None:
    assert list(MODEL_FORMATS) == list(ModelFormat)


def test_names_on_the_hub_are_base_models(make_run: Any, tmp_path: Path) -> None:
    def front(card: str) -> dict[str, Any]:
        found: dict[str, Any] = yaml.safe_load(card.split("---\n")[1])
        return found

    base = save_clap(tmp_path / "bases" / "clap")
    folder = make_run(clap_config(str(base)), CLAP_RATE)
    publish(folder, tmp_path / "out", ModelFormat.TRANSFORMERS)
    told = front((tmp_path / "out" / CARD_FILE).read_text())
    assert told["library_name"] == "transformers"
    assert not told.keys() & {"base_model", "license"}

    run = load_run(folder)
    name = "laion/clap-htsat-unfused"
    audio = run.config.model.audio.model_copy(update={"name": name})
    model = run.config.model.model_copy(update={"audio": audio})
    run = replace(run, config=run.config.model_copy(update={"model": model}))
    card = model_card(folder, run, Written("transformers", "", ""))
    assert front(card)["base_model"] == [name]
    assert f"| audio tower | `{name}` |" in card
    assert str(tmp_path) not in card


def test_card_and_report_name_every_corpus_that_is_mixed_in(
    corpus: Path, build_corpus: Callable[..., Path], settings: Any, tmp_path: Path
) -> None:
    audio = {"sample_rate": 16_000, "format": "wav"}
    other = build_corpus(corpus="other", audio=audio, recipe={"counts": {}}).with_name("other")
    rates = {Group.AUDIO_TOWER: 1e-4}
    config = settings(mix=(Mix(corpus=other, weight=0.25),), lr_of=rates).scale_steps(2)
    train(config)
    publish(config.out, tmp_path / "out", ModelFormat.SAFETENSORS)
    card = (tmp_path / "out" / CARD_FILE).read_text()
    front = yaml.safe_load(card.split("---\n")[1])
    assert (front["datasets"], front["license"]) == (["tiny", "other"], "cc0-1.0")
    assert "| learning rate | 0.001, audio_tower 0.0001 |" in card
    assert "Of every batch 25 % came from the corpus `other`" in card
    page = run_page(config.out).html
    assert "is not there now" not in page
    for facts in (Corpus.open(each).facts for each in (corpus, other)):
        assert facts["version"] in card
        assert f"`{facts['digest']}`" in card
        assert facts["digest"] in page

    shutil.rmtree(other)
    card = model_card(config.out, load_run(config.out), Written("segue-audio", "", ""))
    assert "license:" not in card
    assert run_page(config.out).html.count("is not there now") == 1


def test_damaged_and_other_folders_are_told(make_run: Any, tmp_path: Path) -> None:
    out = tmp_path / "out"
    publish(make_run(ModelConfig(dim=16), RATE), out, ModelFormat.SAFETENSORS)
    weights = (out / WEIGHTS_FILE).read_bytes()
    flipped = weights[:-1] + bytes([weights[-1] ^ 1])
    (out / WEIGHTS_FILE).write_bytes(flipped)
    with pytest.raises(CorpusError, match="not what its receipt says"):
        load_exported(out)
    (out / WEIGHTS_FILE).write_bytes(weights)
    settings = json.loads((out / SETTINGS_FILE).read_text())
    settings["model"]["head"]["layers"] = 1
    (out / SETTINGS_FILE).write_text(json.dumps(settings))
    with pytest.raises(SpecError, match=r"model.safetensors: belongs to another model"):
        load_exported(out)
    settings["model"]["audio"]["kind"] = "patches"
    (out / SETTINGS_FILE).write_text(json.dumps(settings))
    with pytest.raises(SpecError) as error:
        load_exported(out)
    place = f"{out / SETTINGS_FILE}: model.audio.kind"
    known = "choose one of small, transformers, or install the package that has it"
    assert error.value.message == f"{place}: there is no 'patches'; {known}"
    settings["model"]["audio"]["kind"] = "small"
    (out / SETTINGS_FILE).write_text(json.dumps(settings))
    (out / "tokenizer.json").write_text("{")
    with pytest.raises(SpecError, match=r"tokenizer.json: missing or damaged"):
        load_exported(out)
    (out / SETTINGS_FILE).unlink()
    with pytest.raises(SpecError, match=r"no exported model here.*export the run again"):
        load_exported(out)

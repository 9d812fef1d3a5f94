"""What is no model is told by its kind, at once, and the hub is asked for nothing but its names."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from synth.base.errors import CorpusError
from train.cli.show import tell_of_hub
from train.export.files import ACCEPTED, HEADS_FILE, is_hub_name
from train.export.opening import ModelKind, model_kind, open_model


def _write(folder: Path, **files: object) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, facts in files.items():
        text = facts if isinstance(facts, str) else json.dumps(facts)
        (folder / f"{name}.json").write_text(text, encoding="utf-8")
    return folder


FOLDERS: list[tuple[dict[str, object], str]] = [
    ({}, "no trained model here; `segue train` makes one"),
    ({"config": {"model_type": "bert"}}, "a transformers model of type bert, which is no CLAP"),
    (
        {"config": {"model_type": "pe_audio", "architectures": ["PeAudioFrameLevelModel"]}},
        "a PeAudioFrameLevelModel, which has no embedding of a whole sound",
    ),
    ({"config": {"train": {}}}, "a run that has not yet written a checkpoint"),
    ({"config": {}, "open_clip_config": {}}, "a model of open_clip without an audio half"),
    (
        {"open_clip_config": {"model_cfg": {"vision_cfg": {}}}},
        "a model of open_clip without an audio half",
    ),
    *(({"config": wrong}, "its config.json names no model_type") for wrong in ({}, "[]", "{")),
]
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

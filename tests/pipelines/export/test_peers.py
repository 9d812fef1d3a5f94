"""Exports read by the programs that they are for, wherever these are installed.

Each test skips where its program is absent. What a program imports for other ends than reading
(images, pretrained models) is replaced, and so is torchaudio's decoder where it finds no FFmpeg.
All of them, beside Segue in an environment of its own; open_clip from its main branch, as it reads
audio since 4.2:

    pip install -c constraints.txt -e '.[dev,lance]' sed_eval 'setuptools<81' megatron-energon av
    pip install -c constraints.txt torchvision torchaudio timm ftfy torchlibrosa h5py wget
    pip install --no-deps laion_clap==1.1.7 ./open_clip

ms-swift, llamafactory and trl need other versions of common packages: each in one more environment.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import sys
import types
from argparse import Namespace
from collections.abc import Iterator
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import numpy as np
import pytest
import soundfile

from synth.corpus.corpus import Corpus
from tests.kit.export_corpora import WIDE, Exported, built, export_once

CLIP_FRAMES = 480_000
IMAGES = ("datasets", "transforms", "transforms.functional", "ops", "ops.misc")
CLAP_AUDIO = {"sample_rate": 48_000, "clip_samples": CLIP_FRAMES}


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    """10 s samples at 48 kHz."""
    return built(tmp_path_factory, WIDE)


@pytest.fixture(scope="module")
def short(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    """Samples of a few seconds."""
    return built(tmp_path_factory, {"corpus": "short"})


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Exported:
    return export_once(tmp_path_factory)


def replace(monkeypatch: pytest.MonkeyPatch, package: str, *modules: str) -> None:
    """Put something in the place of a package that is not installed and not needed to read."""
    if importlib.util.find_spec(package) is None:
        for name in (package, *(f"{package}.{module}" for module in modules)):
            monkeypatch.setitem(
                sys.modules, name, MagicMock(__spec__=ModuleSpec(name, None), __path__=[])
            )


def load_audio(source: Any) -> tuple[Any, int]:
    """What torchaudio's function of this name gives."""
    import torch

    audio, rate = soundfile.read(source, dtype="float32", always_2d=True)
    return torch.from_numpy(audio.T.copy()), rate


@pytest.fixture
def torchaudio(monkeypatch: pytest.MonkeyPatch) -> None:
    """Decodes by soundfile where torchaudio is absent, or finds no FFmpeg."""
    if importlib.util.find_spec("torchaudio") is None:
        importlib.import_module("transformers")  # looks for torchaudio, and would take this for it
        module = types.ModuleType("torchaudio")
        module.__spec__ = ModuleSpec("torchaudio", None)
        monkeypatch.setitem(sys.modules, "torchaudio", module)
        monkeypatch.setattr(module, "load", load_audio, raising=False)
        return
    try:
        importlib.import_module("torchcodec")
    except (ImportError, RuntimeError):
        monkeypatch.setattr(importlib.import_module("torchaudio"), "load", load_audio)


@pytest.fixture
def laion_clap(monkeypatch: pytest.MonkeyPatch, torchaudio: None) -> Any:
    """LAION-CLAP's own `training.data`, without the pretrained text models that it loads."""
    spec = importlib.util.find_spec("laion_clap")
    if spec is None or not spec.submodule_search_locations:
        pytest.skip("laion_clap is not installed")
    transformers = importlib.import_module("transformers")
    for name in ("Bert", "Roberta", "Bart"):
        kind = getattr(transformers, f"{name}Tokenizer")
        monkeypatch.setattr(kind, "from_pretrained", Tokenizer.from_pretrained)
    replace(monkeypatch, "torchvision", *IMAGES)
    replace(monkeypatch, "torchlibrosa", "stft", "augmentation")
    for package in ("wget", "h5py", "ftfy"):
        replace(monkeypatch, package)
    monkeypatch.syspath_prepend(spec.submodule_search_locations[0])
    return importlib.import_module("training.data")


class Tokenizer:
    """Stands for the tokenizers of pretrained models, which would be fetched."""

    @classmethod
    def from_pretrained(cls, name: str) -> Tokenizer:
        return cls()

    def __call__(self, text: str | list[str], **_: object) -> dict[str, Any]:
        import torch

        rows = 1 if isinstance(text, str) else len(text)
        return {"input_ids": torch.zeros(rows, 77, dtype=torch.long)}


def read_by_laion_clap(data: Any, folder: Path, name: str, split: str) -> Iterator[Any]:
    """The batches of its validation loader, with its defaults."""
    utils = importlib.import_module("clap_module.utils")
    tars = utils.get_tar_path_from_dataset_name([name], [split], True, str(folder))
    options = {
        "class_index_dict": None,
        "data_filling": "pad",
        "data_truncating": "rand_trunc",
        "text_augment_selection": None,
        "tmodel": "roberta",
        "remotedata": False,
        "val_data": tars,
        "train_data": None,
        "parallel_eval": False,
        "batch_size": 4,
        "world_size": 1,
        "workers": 1,
        "horovod": False,
    }
    args = Namespace(**options)
    yield from data.get_wds_dataset(args, {"audio_cfg": CLAP_AUDIO}, is_train=False).dataloader


def test_laion_clap_reads_every_sample(laion_clap: Any, wide: Corpus, exported: Exported) -> None:
    folder = exported(wide, "laion")
    batches = list(read_by_laion_clap(laion_clap, folder, "wide", "test"))
    rows = wide.samples("test").to_pylist()
    assert [key for batch in batches for key in batch["__key__"]] == [row["id"] for row in rows]
    waveforms = [one for batch in batches for one in batch["waveform"]]
    texts = [one for batch in batches for one in batch["full_text"]]
    assert not any(bool(one) for batch in batches for one in batch["longer"])
    for waveform, text, row in zip(waveforms, texts, rows, strict=True):
        stored = wide.stored_pcm(row["split"], row["shard"], row["offset"], row["size"])
        steps = np.round(waveform.numpy() * 32767)
        assert waveform.shape == (CLIP_FRAMES,)
        assert np.abs(steps - stored).max() <= 1  # it quantises again, to 32,767 steps
        assert text[0] == row["caption"]


def test_laion_clap_fills_with_silence_when_told(
    laion_clap: Any, short: Corpus, exported: Exported
) -> None:
    folder = exported(short, "laion")
    batch = next(read_by_laion_clap(laion_clap, folder, "short", "test"))
    row = short.samples("test").to_pylist()[0]
    frames = row["frames"] * 48_000 // row["sample_rate"]
    assert batch["waveform"][0, : frames - 1].any()
    assert not batch["waveform"][0, frames + 1 :].any()


@pytest.fixture
def open_clip(monkeypatch: pytest.MonkeyPatch, torchaudio: None) -> types.SimpleNamespace:
    """open_clip's loader of audio and what it does to a waveform."""
    if importlib.util.find_spec("open_clip_train") is None:
        pytest.skip("open_clip's training package is not installed")
    replace(monkeypatch, "torchvision", *IMAGES)
    for package in ("timm", "ftfy"):
        replace(monkeypatch, package)
    if importlib.util.find_spec("open_clip_train.audio_data") is None:
        pytest.skip("this open_clip has no audio")
    return types.SimpleNamespace(
        data=importlib.import_module("open_clip_train.audio_data"),
        transform=importlib.import_module("open_clip.audio.transform"),
    )


def read_by_open_clip(open_clip: Any, folder: Path, split: str, fill: str) -> list[Any]:
    import torch

    tars = sorted(str(path) for path in (folder / split).glob("*.tar"))
    made = open_clip.transform.make_audio_preprocess(CLAP_AUDIO, data_fill=fill)
    options = {
        "val_data": "::".join(tars),
        "val_num_samples": 0,
        "batch_size": 2,
        "workers": 0,
        "world_size": 1,
    }
    args = Namespace(**options)
    found = open_clip.data.get_wds_audio_dataset(
        args, made, is_train=False, tokenizer=lambda text: torch.zeros(1, 4)
    )
    return [one for batch in found.dataloader for one in batch["audio"]["waveform"]]


def test_open_clip_reads_every_sample(open_clip: Any, wide: Corpus, exported: Exported) -> None:
    found = read_by_open_clip(open_clip, exported(wide, "laion") / "wide", "test", "pad")
    rows = wide.samples("test").to_pylist()
    for waveform, row in zip(found, rows, strict=True):
        stored = wide.stored_pcm(row["split"], row["shard"], row["offset"], row["size"])
        assert np.array_equal(np.round(waveform.numpy() * 32768), stored)


def test_open_clip_plays_short_samples_again_unless_told_to_pad(
    open_clip: Any, short: Corpus, exported: Exported
) -> None:
    """What the README of the export warns of: its default is `repeatpad`."""
    folder = exported(short, "laion") / "short"
    assert open_clip.transform.AudioAugmentationCfg().data_fill == "repeatpad"
    padded = read_by_open_clip(open_clip, folder, "test", "pad")
    looped = read_by_open_clip(open_clip, folder, "test", "repeatpad")
    for once, again, row in zip(padded, looped, short.samples("test").to_pylist(), strict=True):
        frames = row["frames"] * 48_000 // row["sample_rate"]
        assert not once[frames + 1 :].any()
        assert bool(again[frames + 1 :].any()) == (2 * frames <= CLIP_FRAMES)


def test_sed_eval_opens_the_tables_by_name(
    short: Corpus, exported: Exported, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Some machines have libmagic, by which it guesses what a name does not tell.
    monkeypatch.setitem(sys.modules, "magic", None)
    sed_eval = pytest.importorskip("sed_eval")
    table = exported(short, "dcase") / "metadata" / "test_events.csv"
    events = sed_eval.io.load_event_list(str(table))
    rows = short.samples("test").to_pylist()
    assert events.unique_files == sorted(f"{row['id']}.flac" for row in rows)
    assert events.unique_event_labels == ["dog", "rain", "siren", "wind"]
    measured = sed_eval.sound_event.EventBasedMetrics(event_label_list=events.unique_event_labels)
    for name in events.unique_files:
        own = events.filter(filename=name)
        measured.evaluate(reference_event_list=own, estimated_event_list=own)
    assert measured.results_overall_metrics()["f_measure"]["f_measure"] == 1.0


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def assistant(text: str) -> dict[str, str]:
    return {"role": "assistant", "content": text}


@pytest.mark.parametrize("name", ["train.jsonl", "train_audios.jsonl"])
def test_ms_swift_reads_every_preference(
    short: Corpus, exported: Exported, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("MODELSCOPE_CACHE", str(tmp_path))
    swift = pytest.importorskip("swift.dataset", reason="ms-swift is not installed")
    inputs = importlib.import_module("swift.template.template_inputs").TemplateInputs
    path = exported(short, "preference") / name
    found, _ = swift.load_dataset([str(path)], split_dataset_ratio=0, strict=True)
    for row, line in zip(map(inputs.from_dict, found), lines(path), strict=True):
        assert row.chosen.messages == line["messages"]
        assert row.chosen.audios == line["audios"]
        assert row.rejected.audios == line.get("rejected_audios", line["audios"])
        said = line.get("rejected_response", line["messages"][-1]["content"])
        assert row.rejected.messages == [line["messages"][0], assistant(said)]


@pytest.mark.parametrize("name", ["chat", "preference"])
def test_llamafactory_reads_every_row(
    short: Corpus, exported: Exported, tmp_path: Path, torchaudio: None, name: str
) -> None:
    factory = pytest.importorskip("llamafactory.data.loader")
    parser = importlib.import_module("llamafactory.data.parser")
    arguments = importlib.import_module("llamafactory.hparams").DataArguments
    transformers = importlib.import_module("transformers")
    folder = exported(short, name)
    (attribute,) = parser.get_dataset_list(["short_test"], str(folder))
    model = Namespace(cache_dir=str(tmp_path), hf_hub_token=None, trust_remote_code=False)
    training = transformers.Seq2SeqTrainingArguments(output_dir=str(tmp_path), report_to=[])
    data = arguments(dataset="short_test", dataset_dir=str(folder))
    found = factory._load_single_dataset(attribute, model, data, training)
    for row, line in zip(found, lines(folder / "test.jsonl"), strict=True):
        *prompt, answer = line["messages"]
        rejected = [assistant(line["rejected_response"])] if name == "preference" else []
        assert row["_prompt"] == prompt
        assert row["_response"] == [answer, *rejected]
        assert row["_audios"] == [str(folder / path) for path in line["audios"]]


def test_trl_takes_preferences_as_they_are(
    short: Corpus, exported: Exported, tmp_path: Path
) -> None:
    trl = pytest.importorskip("trl")
    datasets = importlib.import_module("datasets")
    path = exported(short, "preference") / "test.jsonl"
    found = datasets.load_dataset("json", data_files=str(path), cache_dir=str(tmp_path))["train"]
    for row, line in zip(found, lines(path), strict=True):
        assert trl.is_conversational(row)
        assert row["prompt"] + row["chosen"] == line["messages"]
        assert row["rejected"] == [assistant(line["rejected_response"])]


def test_datasets_reads_every_row(short: Corpus, exported: Exported, tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets")
    found = datasets.load_dataset(
        str(exported(short, "hf")), split="test", cache_dir=str(tmp_path)
    ).cast_column("audio", datasets.Audio(decode=False))
    rows = short.samples("test").to_pylist()
    assert found["id"][:] == [row["id"] for row in rows]
    assert found["caption"][:] == [row["caption"] for row in rows]

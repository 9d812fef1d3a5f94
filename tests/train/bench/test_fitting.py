"""Repeated and fused sounds, and both protocols, against transformers and a naive script."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
import torch
from transformers import ClapModel

from synth.base.errors import SpecError
from synth.base.progress import UNOBSERVED
from tests.kit.naive_protocols import Naive
from tests.kit.real_models import with_real
from tests.kit.tiny_models import CLAP_RATE, CLAP_SECONDS, WORDS, extract_features, noise, save_clap
from train.bench.embedder import embed_sounds, fill_up, fuse, repeat_sound
from train.bench.evaluate import assess
from train.bench.opening import open_embedder
from train.bench.settings import BenchSettings, Padding
from train.bench.sounds import SoundItem, file_sound
from train.bench.tables import classes_benchmark
from train.cli.eval import eval_command

FULL = CLAP_SECONDS * CLAP_RATE
HOP = 480
SIZES = (500, FULL // 3 + 7, FULL - 1, FULL)


def noises(sizes: Sequence[int]) -> list[SoundItem]:
    """Sounds of noise, at the model's rate."""
    waveforms = [noise(size, size).numpy() for size in sizes]
    return [SoundItem("noise", len(one), lambda _, one=one: one) for one in waveforms]


def samples(sounds: Sequence[SoundItem]) -> list[np.ndarray]:
    return [sound.load(CLAP_RATE) for sound in sounds]


@pytest.fixture(scope="module")
def wide_fused(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_clap(tmp_path_factory.mktemp("wide"), fused=True, mels=64)


@torch.no_grad()
def theirs(folder: Path, waveforms: Sequence[np.ndarray], padding: str) -> np.ndarray:
    features = extract_features(folder, waveforms, padding)
    embedded = ClapModel.from_pretrained(folder).eval().get_audio_features(**features)
    return embedded.pooler_output.double().numpy()


@pytest.mark.parametrize("padding", Padding)
@pytest.mark.parametrize("name", ["clap_folder", "fused_folder"])
def test_shorter_sounds_are_filled_up_as_transformers_does(
    padding: Padding, name: str, request: pytest.FixtureRequest
) -> None:
    folder = request.getfixturevalue(name)
    embedder, sounds = open_embedder(folder), noises(SIZES)
    found, _ = embed_sounds(embedder, fill_up(sounds, padding, embedder.longest))
    assert np.abs(found - theirs(folder, samples(sounds), padding)).max() < 1e-5
    # Which of the three it is can be heard.
    repeats = theirs(folder, samples(sounds[1:2]), "repeat")
    assert np.allclose(found[1:2], repeats, atol=1e-5) == (padding is Padding.REPEAT)


@pytest.mark.parametrize("padding", [Padding.PAD, Padding.REPEATPAD])
def test_longer_sounds_are_fused_as_transformers_does(
    padding: Padding, wide_fused: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # They draw a stretch from each third of all; ours is in the middle of those.
    monkeypatch.setattr(np.random, "choice", lambda starts: starts[len(starts) // 2])
    sizes = (*SIZES, FULL + 1, FULL + HOP - 1, FULL + HOP, FULL + 2 * HOP, 5 * FULL // 2 + 99)
    embedder, sounds = open_embedder(wide_fused), noises(sizes)
    fused = fuse(embedder)
    found, was_cut = embed_sounds(fused, fill_up(sounds, padding, embedder.longest))
    expected = theirs(wide_fused, samples(sounds), padding)
    assert was_cut == 0
    assert np.abs(found - expected).max() < 1e-5
    assert np.array_equal(fused.texts(["a dog"]), embedder.texts(["a dog"]))
    # What is longer is heard: its first part alone is something else.
    cut, count = embed_sounds(embedder, noises(sizes[-1:]), cut=True)
    assert count == 1
    assert np.abs(cut - found[-1:]).max() > 1e-2


def test_a_first_part_may_be_drawn(clap_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(np.random, "randint", lambda low, high: low)
    sounds = noises([2 * FULL])
    found, _ = embed_sounds(open_embedder(clap_folder), sounds, cut=True)
    assert np.abs(found - theirs(clap_folder, samples(sounds), "pad")).max() < 1e-5


def test_a_sound_is_repeated_up_to_the_length_of_the_input() -> None:
    waveform = noise(3, 3).numpy()
    a, b, c = waveform.tolist()
    for longest, whole, expected in (
        (8, False, [a, b, c, a, b, c, a, b]),
        (8, True, [a, b, c, a, b, c]),
        (3, True, [a, b, c]),
        (2, False, [a, b, c]),
    ):
        assert repeat_sound(waveform, longest, whole).tolist() == expected


def test_what_a_model_cannot_do_is_refused(clap_folder: Path, tables: Any) -> None:
    files = [file_sound(tables.audio / tables.sound("low", "low"))]
    with pytest.raises(SpecError, match="any length, so there is nothing to pad"):
        fill_up(files, Padding.REPEAT, None)
    for model in (tables.tones, open_embedder(clap_folder)):
        with pytest.raises(SpecError, match="needs a fused CLAP"):
            fuse(model)
    with pytest.raises(SpecError, match="both cut and fusion"):
        BenchSettings(cut=True, fusion=True)


def test_a_report_says_how_sounds_were_fitted(wide_fused: Path, tables: Any) -> None:
    rows = [
        (tables.sound("low", "high", rate=CLAP_RATE), "dog"),
        (tables.sound("mid", "mid"), "rain"),
        (tables.sound("high", "low", seconds=3.0), "rain"),
    ]
    table = tables.write(("filename", "category"), *rows)
    settings = BenchSettings(padding=Padding.REPEATPAD, fusion=True)
    benchmark = classes_benchmark(table, tables.audio, settings)
    found = assess(open_embedder(wide_fused), benchmark)
    assert (found.facts["pad"], found.facts["longer sounds"]) == ("repeatpad", "fusion")
    assert not found.left_out
    plain = replace(settings, padding=Padding.PAD, fusion=False, cut=True)
    found = assess(open_embedder(wide_fused), replace(benchmark, settings=plain))
    assert not {"pad", "longer sounds"} & found.facts.keys()


# `segue eval` on ESC-50 and AudioCaps, under both protocols, against a naive script.


TEMPLATE = "a {} before rain falls"
LENGTHS = (0.15, 0.35, 0.5, 0.95, 1, 1.15, 2.05)
"""As shares of the model's input."""


@pytest.fixture(scope="module", params=with_real("clap"))
def clap(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    if isinstance(request.param, Path):
        return request.param
    return save_clap(tmp_path_factory.mktemp("clap"), seed=5, fused=True, mels=64)


def write_sounds(folder: Path, names: list[str], longest: int) -> None:
    """Noise of many lengths and colours, shorter and longer than the model's input."""
    folder.mkdir(parents=True)
    for number, name in enumerate(names):
        wave = noise(number, round(LENGTHS[number % len(LENGTHS)] * longest)).numpy()
        width = 1 + 7 * (number % 5)
        smooth = np.convolve(wave, np.ones(width) / width, "same") * (1 + number % 3)
        soundfile.write(folder / name, smooth, CLAP_RATE, subtype="FLOAT")


def write_esc50(root: Path, longest: int) -> Path:
    names = [f"{1 + number % 5}-{number}-A-0.wav" for number in range(21)]
    write_sounds(root / "audio", names, longest)
    kinds = ("dog", "rain", "siren", "barks", "falls")
    lines = ["filename,fold,target,category,esc10,src_file,take"]
    lines += [
        f"{name},{name[0]},0,{kinds[at % 4 + at // 20]},True,{at},A"
        for at, name in enumerate(names)
    ]
    (root / "meta").mkdir()
    (root / "meta" / "esc50.csv").write_text("\n".join(lines) + "\n")
    return root / "meta" / "esc50.csv"


def write_audiocaps(root: Path, longest: int) -> Path:
    """Nine clips of five captions each, some of them word for word those of another clip."""
    clips = [f"y-{number}_" for number in range(9)]
    write_sounds(root / "audio", [f"{clip}.wav" for clip in clips], longest)
    drawn = np.random.default_rng(2)
    captions = [" ".join(drawn.choice(WORDS, size=4)) for _ in range(30)]
    lines = ["audiocap_id,youtube_id,start_time,caption"]
    lines += [
        f"{at},{clips[at % 9]},30,{captions[at % 30] if at % 4 else captions[0]}"
        for at in range(45)
    ]
    (root / "test.csv").write_text("\n".join(lines) + "\n")
    return root / "test.csv"


@pytest.mark.parametrize("published", [False, True])
def test_figures_are_those_of_a_naive_script(
    published: bool,
    clap: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # transformers draws from each third of the starts there are; its middle one is as good as any.
    monkeypatch.setattr(np.random, "choice", lambda starts: starts[len(starts) // 2])
    naive = Naive(clap, published)
    longest = naive.extractor.nb_max_samples
    esc50 = write_esc50(tmp_path / "esc", longest)
    audiocaps = write_audiocaps(tmp_path / "caps", longest)
    fused = published and naive.model.config.audio_config.enable_fusion
    pad = Padding.REPEATPAD if published else Padding.PAD
    options: dict[str, Any] = {"pad": pad, "fusion": fused, "cut": not fused}

    def figures(*args: Any, **more: Any) -> Mapping[str, Any]:
        return eval_command(clap, *args, **options, **more, observer=UNOBSERVED).facts

    found = figures(esc50, template=[TEMPLATE])["zero_shot_top1"]
    expected = naive.esc50(esc50, tmp_path / "esc" / "audio", TEMPLATE)
    assert (found["value"], found["n"]) == (pytest.approx(expected), 21)
    audio = tmp_path / "caps" / "audio"
    retrieved = figures(audiocaps, audio=audio, every_caption=published)
    wanted = naive.audiocaps(audiocaps, audio)
    assert {name: retrieved[name]["value"] for name in wanted} == pytest.approx(wanted)
    assert retrieved["text_to_audio_r1"]["n"] == (45 if published else 26)
    assert retrieved["audio_to_text_r1"]["n"] == 9
    if longest == CLAP_SECONDS * CLAP_RATE:
        # Neither figure is a trivial one.
        assert 0 < expected < 1
        assert 0 < wanted["text_to_audio_r5"] < 1

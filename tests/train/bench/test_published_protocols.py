"""`segue eval` on ESC-50 and AudioCaps, under both protocols, against a naive script."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile

from synth.base.progress import Silent
from tests.kit.naive_protocols import Naive
from tests.kit.real_models import with_real
from tests.kit.tiny_models import CLAP_RATE, CLAP_SECONDS, WORDS, noise, save_clap
from train.bench.settings import Padding
from train.cli.eval import eval_command

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
        return eval_command(clap, *args, **options, **more, observer=Silent()).facts

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

"""A model of other code is taken if it is an `Embedder`; else one line says what is missing."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from synth.base.errors import CorpusError, SpecError
from tests.kit.builds import segue_here
from train.bench.opening import Foreign, open_embedder
from train.export.opening import ModelKind, model_kind, open_model

MODULE = '''
"""Every fault is a factory of its own."""
import numpy as np

class Good:
    sample_rate = 16_000
    longest = None
    digest = "abc"

    def audio(self, waveforms):
        return [[3.0, 4.0] for _ in waveforms]

    def texts(self, texts):
        return np.array([[float(len(text)), 1.0] for text in texts])

class Deaf:
    sample_rate, longest = 16_000, None
    def texts(self, texts): return np.ones((len(texts), 2))

def faulty(**facts): return type("Faulty", (Good,), facts)

Fast = faulty(sample_rate="fast")
Flat = faulty(audio=lambda self, waveforms: np.ones(2))
Few = faulty(texts=lambda self, texts: np.ones((1, 2)))
Ragged = faulty(texts=lambda self, texts: [[1.0], [1.0, 2.0]])
Mute = faulty(texts=lambda self, texts: None)
Silent = faulty(audio=lambda self, waveforms: np.zeros((len(waveforms), 2)))
Apart = faulty(texts=lambda self, texts: np.ones((len(texts), 3)))
Broken = faulty(audio=lambda self, waveforms: np.stack(waveforms))
Rude = faulty(audio=lambda self, waveforms: [[1.0, w.fill(9) or 1.0] for w in waveforms])

class Wordy(Good):
    def texts(self, texts): raise RuntimeError("CUDA is out of memory\\nlong advice")

def picky(weights): return Good()

nothing = 3
'''


@pytest.fixture(autouse=True)
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A module in the working folder, and a package that offers its class by an entry point."""
    (tmp_path / "strange_clap.py").write_text(MODULE)
    info = tmp_path / "installed" / "strange-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: strange\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[segue.embedders]\nstrange = strange_clap:Good\npicky = strange_clap:picky\n"
        "gone = no_such_module:make\n"
    )
    monkeypatch.syspath_prepend(str(info.parent))
    monkeypatch.chdir(tmp_path)
    before = list(sys.path)
    yield
    sys.path[:] = before
    sys.modules.pop("strange_clap", None)


@pytest.mark.parametrize("name", ["strange_clap:Good", "picky:weights.pt"])
def test_vectors_become_float64_of_unit_length(name: str) -> None:
    if name.startswith("picky"):
        open_embedder(Path("strange_clap:Good"))  # its module lies in the working folder alone
    found = open_embedder(Path(name))
    assert isinstance(found, Foreign)
    assert (found.sample_rate, found.longest, found.digest) == (16_000, None, "abc")
    heard = found.audio([np.zeros(10, dtype=np.float32)] * 3)
    assert heard.dtype == np.float64
    assert np.array_equal(heard, [[0.6, 0.8]] * 3)
    sound = np.zeros(10, dtype=np.float32)
    open_embedder(Path("strange_clap:Rude")).audio([sound])
    assert not sound.any()
    assert np.allclose(np.linalg.norm(found.texts(["a", "dog barks"]), axis=1), 1, atol=1e-15)


def test_tensors_with_gradients_are_taken() -> None:
    class Net:
        sample_rate = 16_000
        longest: int | None = None

        def audio(self, waveforms: Sequence[np.ndarray]) -> Any:
            return torch.ones(len(waveforms), 4, requires_grad=True, dtype=torch.bfloat16)

        def texts(self, texts: Sequence[str]) -> Any:
            return torch.ones(len(texts), 4)

    found = Foreign(Net(), "net")
    assert np.array_equal(found.audio([np.zeros(3, dtype=np.float32)]), [[0.5] * 4])


MISSING = {
    "no_such_module:make": "cannot be imported: ModuleNotFoundError: No module named 'no_such_mod",
    "strange_clap:absent": "cannot be imported: .* has no attribute 'absent'",
    "gone": r"'gone' \(no_such_module:make\) of the entry points segue.embedders cannot be",
    "strange_clap:nothing": "3 cannot be called",
    "strange_clap:picky": r"fails with TypeError: picky\(\) missing 1 required",
    "strange_clap:Deaf": "Deaf has no audio",
    "strange_clap:Fast": "sample_rate is 'fast', not a whole number above 0",
    "strange_clap:Flat": r"audio gives an array of \(2,\), not one vector for each of 2",
    "strange_clap:Few": r"texts gives an array of \(1, 2\), not one vector for each of 2",
    "strange_clap:Ragged": "texts gives list, not one vector for each of 2",
    "strange_clap:Mute": "texts gives NoneType, not one vector",
    "strange_clap:Silent": "audio gives a vector of zeros",
    "strange_clap:Apart": "audio gives 2 numbers, texts 3: expected equally many",
    "strange_clap:Wordy": "texts: fails with RuntimeError: CUDA is out of memory$",
    "strange_clap:Broken": "audio: fails with ValueError: all input arrays must have the",
}


def test_what_is_missing_is_told_in_one_line() -> None:
    messages = {}
    for name in MISSING:
        with pytest.raises(SpecError) as error:
            open_embedder(Path(name))
        assert error.value.fix
        messages[name] = error.value.message
    assert [
        (name, message)
        for name, message in messages.items()
        if "\n" in message or not re.search(MISSING[name], message)
    ] == []


def test_it_chooses_its_device_and_has_no_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("train.bench.opening.torch_device", torch.device)
    for name in ("strange_clap:Good", "bag-of-words:strange_clap:Good"):
        with pytest.raises(SpecError, match="chooses its own device, not cuda"):
            open_embedder(Path(name), "cuda")
    assert isinstance(open_embedder(Path("bag-of-words:random"), "cuda"), Foreign)
    with pytest.raises(CorpusError, match="a Python object, which is not opened as a CLAP"):
        open_model(Path("strange"))


def test_a_file_of_that_name_is_a_file(tmp_path: Path) -> None:
    assert model_kind(Path("strange:x")) is ModelKind.CODE
    (tmp_path / "strange").mkdir()
    with pytest.raises(CorpusError, match="no trained model here"):
        model_kind(Path("strange"))


def test_eval_takes_it(corpus: Path, tmp_path: Path) -> None:
    command = ["eval", "strange_clap:Good", corpus, "--out", "results", "--json"]
    done = segue_here(*command)
    assert done.returncode == 0, done.stderr
    assert {"bat", "audio_to_text_r1"} <= json.loads(done.stdout.splitlines()[-1]).keys()
    facts = json.loads((tmp_path / "results" / "facts.json").read_text())["facts"]
    assert (facts["model"], facts["weights"]) == ("strange_clap:Good", "abc")
    for data, option in ((tmp_path / "captions.csv", "--split"), (corpus, "--threshold")):
        refused = segue_here("eval", "strange_clap:Good", data, option, "1").stderr
        assert refused.startswith(f"error: {option}: ")
    done = segue_here("eval", "strange_clap:Deaf", corpus)
    assert done.returncode == 1
    assert done.stderr.startswith("error: strange_clap:Deaf: Deaf has no audio")

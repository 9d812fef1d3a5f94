"""A run as two ONNX graphs, each checked against torch."""

from __future__ import annotations

import copy
import json
import logging
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from synth.base.errors import SpecError
from synth.base.progress import Observer
from train.engine.run_folder import TOKENIZER_FILE, LoadedRun
from train.export.files import AUDIO_GRAPH, FORMAT, SETTINGS_FILE, TEXT_GRAPH
from train.export.folder import Written
from train.model.clap import Clap
from train.model.heads import Tokens
from train.model.loading import explain
from train.model.towers.base import AudioTower, Chunks
from train.model.towers.frames import FrameTower
from train.model.towers.spectrogram import SpectrogramTower
from train.model.towers.waveform import WaveformMapTower

OPSET: Final = 18
TOLERANCE: Final = 1e-4
"""Largest difference between an embedding's numbers and those of torch."""
_TEXTS: Final = ("a dog barks", "rain falls before a dog barks, then a siren is heard", "wind")
_SEED: Final = 0
_OTHER: Final = "export the run with `--to safetensors`"
_USAGE: Final = """\
    import numpy, onnxruntime, soundfile
    from tokenizers import Tokenizer

    audio = onnxruntime.InferenceSession("FOLDER/audio.onnx")
    text = onnxruntime.InferenceSession("FOLDER/text.onnx")
    waveform, _ = soundfile.read("sound.wav", dtype="float32")      # mono, RATE Hz
    found = Tokenizer.from_file("FOLDER/tokenizer.json").encode_batch(["a dog barks", "rain falls"])
    ids = numpy.array([each.ids for each in found], dtype="int64")
    mask = numpy.array([each.attention_mask for each in found], dtype="int64")
    (sounds,) = audio.run(None, {"waveform": waveform[None]})
    (texts,) = text.run(None, {"input_ids": ids, "attention_mask": mask})
    print(sounds @ texts.T)                             # cosine similarities

`audio.onnx` takes `waveform`, float32 (batch, samples) with samples in -1 to 1; put zeros behind
the shorter sounds of a batch. `text.onnx` takes `input_ids` and `attention_mask`, int64 (batch,
words); `tokenizer.json` cuts and pads texts. Each gives unit-length embeddings, float32 (batch,
dim), which differ from torch's by DIFFERENCE at most. `segue.json` has these facts for programs.
"""


def write_onnx(run: LoadedRun, folder: Path, observer: Observer) -> Written:
    """Write the halves of a run as graphs of ONNX, and compare them with torch."""
    _check_packages()
    model = run.model
    tower = model.audio_tower
    _check_tower(tower, run.config.model.audio.name)
    sounds = _sounds(tower)
    ids = [run.tokenizer(_TEXTS), run.tokenizer(_TEXTS[:1])]
    texts = [(batch.ids, batch.mask.long()) for batch in ids]
    with torch.no_grad():
        sound_vectors = [model.encode_audio(sound) for (sound,) in sounds]
        text_vectors = [model.encode_text(batch.ids, batch.mask) for batch in ids]

    observer.start("write", 2, "graphs")
    differences = []
    audio = {"waveform": ("batch", "samples")}
    text = {"input_ids": ("batch", "words"), "attention_mask": ("batch", "words")}
    for name, half, inputs, batches, expected in (
        (AUDIO_GRAPH, AudioHalf(model), audio, sounds, sound_vectors),
        (TEXT_GRAPH, TextHalf(model), text, texts, text_vectors),
    ):
        _write_graph(half.eval(), batches[0], inputs, folder / name)
        differences.append(_compare(folder / name, list(inputs), batches, expected))
        observer.advance("write")
    observer.finish("write")

    facts = {
        "format": FORMAT,
        "opset": OPSET,
        "sample_rate": run.sample_rate,
        "longest": tower.longest,
        "dim": run.config.model.dim,
        "scale": model.scale().item(),
        "bias": model.bias.item(),
        "inputs": {AUDIO_GRAPH: audio, TEXT_GRAPH: text},
        "largest_difference": max(differences),
    }
    (folder / SETTINGS_FILE).write_text(json.dumps(facts, indent=2) + "\n", "utf-8")
    (folder / TOKENIZER_FILE).write_text(run.tokenizer.to_json(), "utf-8")
    usage = _USAGE.replace("DIFFERENCE", f"{max(differences):.0e}")
    return Written("onnx", usage, "read FOLDER/README.md", max(differences))


def _check_packages() -> None:
    """Check that what is needed is installed."""
    try:
        import onnx  # noqa: F401
        import onnxruntime  # noqa: F401
        import onnxscript  # noqa: F401
    except ImportError as error:
        raise SpecError(
            f"--to onnx needs {error.name}, which is not installed",
            fix="pip install 'segue-audio[onnx]'",
        ) from error


def _check_tower(tower: AudioTower, name: str) -> None:
    """Check that an audio tower is none of those that are known to be no graph."""
    reasons: tuple[tuple[type[AudioTower], str], ...] = (
        (FrameTower, "its transformers feature extractor computes its frames outside torch"),
        (WaveformMapTower, "with `tokens: map` it hears each sound of a batch at its own length"),
    )
    for kind, reason in reasons:
        if isinstance(tower, kind):
            raise _no_graph(f"the audio tower {name!r}", reason)


def _no_graph(what: str, reason: str) -> SpecError:
    return SpecError(f"{what} cannot be written as ONNX: {reason}", fix=_OTHER)


def _sounds(tower: AudioTower) -> list[tuple[Tensor]]:
    """Batches of noise that a graph is checked with: many chunks, one chunk, all that fits."""
    draw = torch.Generator().manual_seed(_SEED)
    chunk = tower.chunk
    most = tower.longest or 4 * chunk
    batches = []
    for batch, samples in ((2, most // 2 + chunk // 3), (1, max(chunk // 2, 1)), (3, most)):
        sound = 0.1 * torch.randn(batch, min(samples, most), generator=draw)
        if batch > 2:  # sounds of different lengths
            sound[0, samples // 2 :] = 0
            sound[1, : samples // 2] *= 0.01
        batches.append((sound,))
    return batches


def _write_graph(
    half: nn.Module, example: Sequence[Tensor], inputs: Mapping[str, tuple[str, ...]], file: Path
) -> None:
    """Write a half as a graph for any batch and any length."""
    shapes = tuple(dict(enumerate(names)) for names in inputs.values())
    try:
        with _quiet(), torch.no_grad():
            torch.onnx.export(
                half,
                tuple(example),
                file,
                input_names=list(inputs),
                # Not `embedding`, which names may be inside.
                output_names=[f"{file.stem}_embedding"],
                dynamic_shapes=shapes,
                opset_version=OPSET,
                external_data=False,
                verbose=False,
            )
    except (torch.onnx.OnnxExporterError, RuntimeError) as error:
        reason = explain(error.__cause__ or error)
        raise _no_graph(f"the {file.stem} half", reason) from error


@contextmanager
def _quiet() -> Iterator[None]:
    """Torch's exporter without its log, and attention in operations that ONNX knows."""
    fast, disabled = torch.backends.mha.get_fastpath_enabled(), logging.root.manager.disable
    torch.backends.mha.set_fastpath_enabled(False)
    logging.disable(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        torch.backends.mha.set_fastpath_enabled(fast)
        logging.disable(disabled)


def _compare(
    file: Path,
    names: Sequence[str],
    batches: Sequence[Sequence[Tensor]],
    expected: Sequence[Float[Tensor, "batch dim"]],
) -> float:
    """The largest difference between what a graph gives and what torch gave."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = torch.get_num_threads()
    session = onnxruntime.InferenceSession(file, options, providers=["CPUExecutionProvider"])
    largest = 0.0
    for tensors, reference in zip(batches, expected, strict=True):
        feed = dict(zip(names, (tensor.numpy() for tensor in tensors), strict=True))
        (vectors,) = session.run(None, feed)
        difference = float((torch.from_numpy(vectors) - reference).abs().max())
        if not difference <= TOLERANCE:
            raise SpecError(
                f"{file.name} gives embeddings that differ from torch's by {difference:.1g} "
                f"(at most {TOLERANCE:g} is allowed)",
                fix=_OTHER,
            )
        largest = max(largest, difference)
    return largest


class _AllChunks(Chunks):
    """Chunks that are all encoded, so that no shape depends on what is heard."""

    def encode(self, encoder: Callable[[Tensor], Tensor], dim: int) -> Tokens:
        """One token a chunk; those that are no part of the sound are masked as ever."""
        vectors = encoder(self.values.flatten(0, 1))
        return Tokens(vectors.reshape(*self.mask.shape, dim), self.mask)


class AudioHalf(nn.Module):
    """From waveform to embedding, in operations whose shapes depend on shapes alone."""

    def __init__(self, model: Clap) -> None:
        super().__init__()
        self.tower = _without_fusion(model.audio_tower)
        self.head = model.audio_head

    def forward(self, waveform: Float[Tensor, "batch samples"]) -> Float[Tensor, "batch dim"]:
        """Unit-length embeddings; of a sound that is too long for the model there is none."""
        longest = self.tower.longest
        if longest is not None:
            batch, samples = waveform.shape
            waveform = torch.cat([waveform, waveform.new_zeros(batch, longest - samples)], dim=1)
        features = self.tower.features(waveform)
        return self.head(self.tower(_AllChunks(features.values, features.mask)))  # type: ignore[no-any-return]


class TextHalf(nn.Module):
    """From ids and a mask of integers to embedding."""

    def __init__(self, model: Clap) -> None:
        super().__init__()
        self.tower = model.text_tower
        self.head = model.text_head

    def forward(
        self, ids: Int[Tensor, "batch words"], mask: Int[Tensor, "batch words"]
    ) -> Float[Tensor, "batch dim"]:
        """Unit-length embeddings; the first word is always read, as `TextTokenizer` has it."""
        real: Bool[Tensor, "batch words"] = mask > 0
        first = torch.ones_like(real[:, :1])
        return self.head(self.tower(ids, torch.cat([first, real[:, 1:]], dim=1)))  # type: ignore[no-any-return]


def _without_fusion(tower: AudioTower) -> AudioTower:
    """A tower that does not look for longer sounds, of which a fused CLAP hears none in a run."""
    if not (isinstance(tower, SpectrogramTower) and tower.fused):
        return tower
    tower = copy.deepcopy(tower)
    encoder: Any = tower.model.audio_encoder
    tower.fused = encoder.enable_fusion = encoder.patch_embed.enable_fusion = False
    return tower

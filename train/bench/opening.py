"""An embedder by what was given: a run, a model of others, or a Python object.

A Python object is `module:factory`, or an entry point of `segue.embedders`. Two of these are here,
to compare scores with: `random`, and `bag-of-words:MODEL`.
"""

from __future__ import annotations

import hashlib
import importlib
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import Any, Final

import numpy as np
from torch import Tensor

from synth.audio.dsp import Audio
from synth.base.entry_points import load_object
from synth.base.errors import SegueError, SpecError
from synth.base.rng import Randomness
from train.bench.embedder import Embedder, Embeddings, Evaluator
from train.bench.libraries import OpenClip, PeAudio, load_open_clip, open_pe_audio
from train.export.opening import (
    ModelKind,
    list_embedders,
    model_kind,
    open_model,
    transformers_kind,
)
from train.model.device import torch_device
from train.model.loading import explain, hub_config


def open_embedder(
    model: Path, device: str = "cpu", tokenizer: str | None = None
) -> Evaluator | Foreign | OpenClip | PeAudio:
    """A trained model on a device.

    Args:
        model: The folder of a run or of an export, a ClapModel or PeAudioModel by its folder or
            its name on huggingface.co, a model of open_clip by its folder, `hf-hub:OWNER/NAME` or
            `open_clip:MODEL:CHECKPOINT`, a LAION-CLAP checkpoint, `module:factory`, or the name of
            an entry point of `segue.embedders`.
        tokenizer: Of a LAION-CLAP checkpoint, by folder or name; by default RoBERTa's.
    """
    place = torch_device(device)
    kind = model_kind(model)
    if kind is ModelKind.HUB:
        kind = transformers_kind(model, hub_config(model.as_posix()))
    if tokenizer is not None and kind is not ModelKind.CHECKPOINT:
        raise SpecError(f"{model}: a {kind} has its own tokenizer", fix="leave out the tokenizer")
    if kind is ModelKind.PE_AUDIO:
        return open_pe_audio(model.as_posix(), place)
    if kind is ModelKind.OPEN_CLIP:
        return load_open_clip(model, place)
    if kind is ModelKind.CODE:
        is_ours = model.as_posix().partition(":")[0] in (RANDOM, BAG_OF_WORDS)
        if place.type != "cpu" and not is_ours:
            raise SpecError(
                f"{model}: a Python object chooses its own device, not {device}",
                fix="leave out the device, and let the factory choose one",
            )
        return open_foreign(model.as_posix(), device)
    opened = open_model(model, tokenizer)
    return Evaluator(opened.model.to(place), opened.tokenizer, opened.sample_rate)


_PARTS: Final = ("sample_rate", "longest", "audio", "texts")
_FIX: Final = "docs/extend.md says what an embedder is; --debug tells where it fails"
_TEXTS: Final = ("a dog", "rain falls on a roof")


@dataclass(frozen=True)
class Wrapped:
    """A model that answers for another, whose input it takes."""

    embedder: Embedder

    @property
    def sample_rate(self) -> int:
        """In Hz, of the audio it takes."""
        return self.embedder.sample_rate

    @property
    def longest(self) -> int | None:
        """Most samples that it takes; None where it takes any number."""
        return self.embedder.longest

    @property
    def tokenizer(self) -> object:
        """Ours, where it has one."""
        return getattr(self.embedder, "tokenizer", None)

    @property
    def digest(self) -> str:
        """What it says of its weights; "" where it says nothing."""
        return str(getattr(self.embedder, "digest", ""))


@dataclass(frozen=True)
class Foreign(Wrapped):
    """A model of other code, whose answers are checked and brought to unit length."""

    name: str

    def audio(self, waveforms: Sequence[Audio]) -> Embeddings:
        """Unit-length embeddings of sounds; the model may write to what it is given."""
        return self._ask(self.embedder.audio, [waveform.copy() for waveform in waveforms], "audio")

    def texts(self, texts: Sequence[str]) -> Embeddings:
        """Unit-length embeddings of texts."""
        return self._ask(self.embedder.texts, texts, "texts")

    def _ask(self, method: Callable[[Any], Any], items: Sequence[Any], what: str) -> Embeddings:
        answer = _call(method, items, name=f"{self.name}: {what}")
        try:
            plain = answer.detach().cpu().double() if isinstance(answer, Tensor) else answer
            vectors = np.asarray(plain, dtype=np.float64)
        except (TypeError, ValueError):
            vectors = np.empty(())
        if vectors.ndim != 2 or len(vectors) != len(items) or not vectors.shape[1]:
            form = f"an array of {vectors.shape}" if vectors.ndim else type(answer).__name__
            raise SpecError(
                f"{self.name}: {what} gives {form}, not one vector for each of {len(items)} items",
                fix=_FIX,
            )
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        if not lengths.all():
            raise SpecError(f"{self.name}: {what} gives a vector of zeros", fix=_FIX)
        unit: np.ndarray = vectors / lengths
        return unit


def open_foreign(name: str, device: str) -> Foreign:
    """What a factory makes, tried with two sounds and two texts.

    A module is looked for in the working folder too, which stays in `sys.path` for what the model
    imports later.

    Args:
        name: `module:factory`, or the name of an entry point. What follows a colon after that name
            is given to its factory.
        device: Of the model whose words `bag-of-words` sorts.
    """
    first, _, rest = name.partition(":")
    offered = list_embedders()
    if first in offered:
        arguments = [rest, device] if first == BAG_OF_WORDS else [rest] if rest else []
        model = _call(load_object(offered[first], SpecError), *arguments, name=name)
    else:
        model = _call(_import(first, rest, name), name=name)
    missing = [part for part in _PARTS if not hasattr(model, part)]
    if missing:
        raise SpecError(f"{name}: {type(model).__name__} has no {', no '.join(missing)}", fix=_FIX)
    foreign = Foreign(model, name)
    _check_length(name, "sample_rate", foreign.sample_rate)
    if foreign.longest is not None:
        _check_length(name, "longest", foreign.longest)
    _check_answers(foreign)
    return foreign


def _import(module: str, factory: str, name: str) -> Any:
    folder = str(Path.cwd())
    if folder not in sys.path:
        # Last, so that a file there stands for no installed package.
        sys.path.append(folder)
    try:
        return reduce(getattr, factory.split("."), importlib.import_module(module))
    except Exception as fault:
        raise SpecError(
            f"{name}: cannot be imported: {type(fault).__name__}: {explain(fault)}", fix=_FIX
        ) from fault


def _call(function: Any, *arguments: Any, name: str) -> Any:
    if not callable(function):
        raise SpecError(f"{name}: {function!r:.60} cannot be called", fix=_FIX)
    try:
        return function(*arguments)
    except SegueError:
        raise
    except Exception as fault:
        raise SpecError(
            f"{name}: fails with {type(fault).__name__}: {explain(fault)}", fix=_FIX
        ) from fault


def _check_length(name: str, what: str, value: Any) -> None:
    if not isinstance(value, int) or value < 1:
        raise SpecError(f"{name}: {what} is {value!r}, not a whole number above 0", fix=_FIX)


def _check_answers(foreign: Foreign) -> None:
    """Ask once, so that a fault is told before all sounds of a test are heard."""
    second = min(foreign.sample_rate, foreign.longest or foreign.sample_rate)
    noise = np.random.default_rng(0).normal(0, 0.1, second).clip(-1, 1).astype(np.float32)
    audio, texts = foreign.audio([noise, noise[: -(-second // 2)]]), foreign.texts(_TEXTS)
    if audio.shape[1] != texts.shape[1]:
        raise SpecError(
            f"{foreign.name}: audio gives {audio.shape[1]} numbers, texts {texts.shape[1]}: "
            "expected equally many",
            fix=_FIX,
        )


RANDOM: Final = "random"
BAG_OF_WORDS: Final = "bag-of-words"
_DIM: Final = 64
_WORD: Final = re.compile(r"\w+")


class RandomModel:
    """A model that knows nothing: a random vector for each sound and for each text."""

    sample_rate = 16_000
    longest: int | None = None
    digest = RANDOM

    def audio(self, waveforms: Sequence[Audio]) -> Embeddings:
        """A vector by the sound's samples."""
        return np.stack([_draw("audio", waveform.tobytes()) for waveform in waveforms])

    def texts(self, texts: Sequence[str]) -> Embeddings:
        """A vector by the text."""
        return np.stack([_draw("text", text.encode()) for text in texts])


@dataclass(frozen=True)
class BagOfWords(Wrapped):
    """A model that is given the words of each text in alphabetical order."""

    @property
    def digest(self) -> str:
        """Of the model, marked."""
        weights = super().digest
        return weights and f"{BAG_OF_WORDS}:{weights}"

    def audio(self, waveforms: Sequence[Audio]) -> Embeddings:
        """As the model hears them."""
        return self.embedder.audio(waveforms)

    def texts(self, texts: Sequence[str]) -> Embeddings:
        """The words, sorted."""
        sorted_words = [" ".join(sorted(_WORD.findall(text.lower()))) for text in texts]
        return self.embedder.texts(sorted_words)


def open_bag_of_words(model: str, device: str) -> BagOfWords:
    """A model that loses the order of words, by what `segue eval` calls it."""
    if not model:
        raise SpecError(f"{BAG_OF_WORDS}: of which model?", fix=f"give {BAG_OF_WORDS}:MODEL")
    return BagOfWords(open_embedder(Path(model), device))


def _draw(side: str, content: bytes) -> np.ndarray:
    number = int.from_bytes(hashlib.sha256(content).digest()[:8], "big")
    vector: np.ndarray = Randomness(0).at(f"bench/random/{side}", number).normal(size=_DIM)
    return vector

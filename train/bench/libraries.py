"""Models of other libraries: open_clip's CLAPs, and Meta's Perception Encoder (PE-AV)."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, Final

import torch
from torch import Tensor
from torch.utils.data import default_collate

from synth.audio.dsp import Audio
from synth.base.errors import SpecError
from train.bench.embedder import Embeddings, unit_length
from train.data.tokenizer import TextTokenizer
from train.model.loading import check_folder, explain, load_config, load_pretrained, run_no_code
from train.model.weights import weights_digest

_INSTALL: Final = (
    "install open_clip 4.2 or newer; before its release: "
    "pip install 'open_clip_torch[audio] @ git+https://github.com/mlfoundations/open_clip'"
)
_GIVE: Final = (
    "give a folder with open_clip_config.json, open_clip_model.safetensors and tokenizer files, "
    "hf-hub:OWNER/NAME, or open_clip:MODEL:CHECKPOINT"
)
_NAFLEX: Final = "naflexvit"
_ALONE: Final[Mapping[str, Callable[[Audio], int]]] = {_NAFLEX: len, "whisper": id}
"""By kind, what is equal of sounds in one batch. A Whisper measures all by the loudest of it."""


@dataclass(frozen=True)
class LibraryModel:
    """A model in evaluation mode, on the device to compute on."""

    model: Any

    @property
    def digest(self) -> str:
        """Of the model's weights, as `weights_digest` tells it."""
        return weights_digest(self.model.state_dict())


@dataclass(frozen=True)
class OpenClip(LibraryModel):
    """A CLAP of open_clip over HTSAT, Whisper or NaFlex as an `Embedder`.

    Args:
        preprocess: From a waveform (1, samples) and its rate to what the model hears: padded with
            silence to `longest`, or as long as it is.
    """

    preprocess: Callable[[tuple[Tensor, int]], dict[str, Any]]
    tokenizer: Callable[[list[str]], Tensor]
    device: torch.device

    @property
    def sample_rate(self) -> int:
        """In Hz, of the audio it takes."""
        return int(self.model.audio.cfg.sample_rate)

    @property
    def longest(self) -> int | None:
        """Most samples that it takes; NaFlex takes any number."""
        return None if _kind(self.model) == _NAFLEX else int(self.model.audio.cfg.clip_samples)

    @torch.no_grad()
    def audio(self, waveforms: Sequence[Audio]) -> Embeddings:
        """Sounds, together where none changes how another is heard."""
        parts = []
        for _, group in groupby(waveforms, _ALONE.get(_kind(self.model), lambda _: 0)):
            inputs = [self.preprocess((torch.tensor(wav)[None], self.sample_rate)) for wav in group]
            parts.append(self.model.encode_audio(default_collate(inputs)))
        return unit_length(torch.cat(parts))

    @torch.no_grad()
    def texts(self, texts: Sequence[str]) -> Embeddings:
        """Texts in one batch."""
        return unit_length(self.model.encode_text(self.tokenizer(list(texts)).to(self.device)))


def load_open_clip(model: Path, device: torch.device) -> OpenClip:
    """A CLAP of open_clip; of pickled weights only tensors are read.

    Args:
        model: A folder, or a name: `local-dir:FOLDER`, `hf-hub:OWNER/NAME`, or
            `open_clip:MODEL:CHECKPOINT` for one of open_clip's own configurations, where the
            checkpoint is a file of open_clip's training or one of its tags.
    """
    name = model.as_posix()
    library = _open_clip(name)
    source, checkpoint = f"local-dir:{name}" if model.is_dir() else name, ""
    if source.startswith("open_clip:"):
        source, _, checkpoint = source.removeprefix("open_clip:").partition(":")
    check_folder(Path(source.removeprefix("local-dir:")))
    try:
        # Whatever the file is, what open_clip raises over it is of any type.
        settings = library.get_model_config(source) or {}
        if "audio_cfg" not in settings:
            raise ValueError("no model of sounds and texts")
        if "trust_remote_code" in ((settings.get("text_cfg") or {}).get("tokenizer_kwargs") or {}):
            raise ValueError("its `tokenizer_kwargs` set trust_remote_code")
        with torch.random.fork_rng(devices=[]), run_no_code():
            clap, preprocess = library.create_model_from_pretrained(
                source,
                checkpoint or None,
                device=device,
                # Else Whisper's own weights are fetched, to be overwritten.
                audio_cfg=settings["audio_cfg"] | {"pretrained": False},
                audio_aug_cfg={"data_fill": "pad"},
            )
            tokenizer = library.get_tokenizer(source)
    except MemoryError:
        raise
    except Exception as error:
        raise SpecError(f"model {name!r} cannot be loaded: {explain(error)}", fix=_GIVE) from error
    hears = preprocess() if _kind(clap) == _NAFLEX else preprocess
    return OpenClip(clap.eval(), hears, tokenizer, device)


def _kind(clap: Any) -> str:
    return str(clap.audio.cfg.model_type).lower()


def _open_clip(name: str) -> Any:
    """The package, if it has models of sounds."""
    spec = importlib.util.find_spec("open_clip")
    if spec is None:
        raise SpecError(f"{name}: open_clip is not installed", fix=_INSTALL)
    if not any((Path(at) / "audio").is_dir() for at in spec.submodule_search_locations or ()):
        raise SpecError(f"{name}: this open_clip has no models of sounds", fix=_INSTALL)
    try:
        importlib.import_module("torchaudio")
        return importlib.import_module("open_clip")
    except (ImportError, OSError, RuntimeError) as error:
        raise SpecError(
            f"{name}: open_clip cannot be imported: {explain(error)}", fix=_INSTALL
        ) from error


_LONGEST_TEXT: Final = 512
_SHOWN: Final = 3
_GIVE_PE_AUDIO: Final = (
    "give a folder with config.json, model.safetensors, preprocessor_config.json and "
    "tokenizer files, or a name on huggingface.co that can be reached from here"
)


@dataclass(frozen=True)
class PeAudio(LibraryModel):
    """A PeAudioModel of transformers as an `Embedder`; its extractor pads sounds to whole steps."""

    extractor: Any
    tokenizer: TextTokenizer

    @property
    def sample_rate(self) -> int:
        """In Hz, of the audio it takes."""
        return int(self.extractor.sampling_rate)

    @property
    def longest(self) -> int | None:
        """None: it takes any number of samples."""
        return None

    @torch.no_grad()
    def audio(self, waveforms: Sequence[Audio]) -> Embeddings:
        """Sounds, those of one length together, so that none is heard with padding."""
        parts = []
        for _, group in groupby(waveforms, len):
            batch = self.extractor(list(group), sampling_rate=self.sample_rate, return_tensors="pt")
            parts.append(self.model.get_audio_embeds(**batch.to(self.model.device)))
        return unit_length(torch.cat(parts))

    @torch.no_grad()
    def texts(self, texts: Sequence[str]) -> Embeddings:
        """Texts in one batch."""
        ids = self.tokenizer(list(texts)).to(self.model.device)
        # `get_text_audio_embeds` does not ask for the hidden states that it takes.
        output = self.model.text_model(
            input_ids=ids.ids, attention_mask=ids.mask.long(), output_hidden_states=True
        )
        return unit_length(self.model.text_audio_head(output.hidden_states[-1][:, 0]))


def open_pe_audio(name: str, device: torch.device) -> PeAudio:
    """A PeAudioModel, or the audio half of a PeAudioVideoModel."""
    try:
        from transformers import PeAudioFeatureExtractor, PeAudioModel
    except ImportError as error:
        raise SpecError(
            f"{name}: this transformers knows no PeAudioModel",
            fix="install transformers 5 or newer",
        ) from error
    config = load_config(name, fix=_GIVE_PE_AUDIO)
    if config.model_type == "pe_audio_video":
        config = config.audio_config
    with torch.random.fork_rng(devices=[]), _no_report():
        model, info = load_pretrained(
            PeAudioModel,
            name,
            "model",
            _GIVE_PE_AUDIO,
            config=config,
            use_safetensors=True,
            output_loading_info=True,
        )
    extractor = load_pretrained(PeAudioFeatureExtractor, name, "model", _GIVE_PE_AUDIO)
    # transformers would draw them anew, and figures would mean nothing.
    if absent := sorted(info["missing_keys"]):
        raise SpecError(
            f"model {name!r} lacks weights: {', '.join(absent[:_SHOWN])} ({len(absent)} in all)",
            fix="get it again, or give another",
        )
    tokenizer = TextTokenizer.of_model(name, _LONGEST_TEXT)
    return PeAudio(model.float().eval().to(device), extractor, tokenizer)


@contextmanager
def _no_report() -> Iterator[None]:
    """Leave out transformers' table of weights: it has a line for each of the video half."""
    from transformers.utils import logging

    before = logging.get_verbosity()
    logging.set_verbosity_error()
    try:
        yield
    finally:
        logging.set_verbosity(before)

"""Meta's Perception Encoder of sounds and texts (PE-AV), as transformers has it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Final

import torch

from synth.audio.dsp import Audio
from synth.base.errors import SpecError
from train.bench.embedder import Embeddings, unit_length
from train.data.tokenizer import TextTokenizer
from train.model.loading import load_config, load_pretrained
from train.model.weights import weights_digest

_LONGEST_TEXT: Final = 512
_SHOWN: Final = 3
_GIVE: Final = (
    "give a folder with config.json, model.safetensors, preprocessor_config.json and "
    "tokenizer files, or a name on huggingface.co that can be reached from here"
)


@dataclass(frozen=True)
class PeAudio:
    """A PeAudioModel as an `Embedder`.

    Args:
        model: In evaluation mode, on the device to compute on.
        extractor: Its feature extractor, which pads sounds to whole steps.
        tokenizer: From text to ids.
    """

    model: Any
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

    @property
    def digest(self) -> str:
        """`weights_digest` of the model."""
        return weights_digest(self.model.state_dict())

    @torch.no_grad()
    def audio(self, waveforms: Sequence[Audio]) -> Embeddings:
        """Sounds, those of one length together, so that none is heard with padding."""
        parts = []
        for _, alike in groupby(waveforms, len):
            heard = self.extractor(list(alike), sampling_rate=self.sample_rate, return_tensors="pt")
            parts.append(self.model.get_audio_embeds(**heard.to(self.model.device)))
        return unit_length(torch.cat(parts))

    @torch.no_grad()
    def texts(self, texts: Sequence[str]) -> Embeddings:
        """Texts in one batch."""
        ids = self.tokenizer(list(texts)).to(self.model.device)
        # `get_text_audio_embeds` does not ask for the hidden states that it takes.
        found = self.model.text_model(
            input_ids=ids.ids, attention_mask=ids.mask.long(), output_hidden_states=True
        )
        return unit_length(self.model.text_audio_head(found.hidden_states[-1][:, 0]))


def open_pe_audio(name: str, device: torch.device) -> PeAudio:
    """A PeAudioModel, or the audio half of a PeAudioVideoModel.

    Args:
        name: Its folder, or its name on huggingface.co.
    """
    try:
        from transformers import PeAudioFeatureExtractor, PeAudioModel
    except ImportError as error:
        raise SpecError(
            f"{name}: this transformers knows no PeAudioModel",
            fix="install transformers 5 or newer",
        ) from error
    config = load_config(name, fix=_GIVE)
    if config.model_type == "pe_audio_video":
        config = config.audio_config
    with torch.random.fork_rng(devices=[]), _no_report():
        model, found = load_pretrained(
            PeAudioModel,
            name,
            "model",
            _GIVE,
            config=config,
            use_safetensors=True,
            output_loading_info=True,
        )
    extractor = load_pretrained(PeAudioFeatureExtractor, name, "model", _GIVE)
    # transformers would draw them anew, and figures would mean nothing.
    if absent := sorted(found["missing_keys"]):
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

"""Models and their input settings from a folder or from huggingface.co; never from a pickle."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from synth.base.errors import SpecError
from train.model.clap_features import ClapInput

_WEIGHTS: Final = (".safetensors", ".bin", ".index.json", ".h5", ".msgpack", ".pt", ".pth", ".ckpt")
_WAV2VEC2_RATE: Final = 16_000


def transformers_model(name: str) -> Any:
    """A transformers model by name or folder, in float32; without weights they are random.

    Raises:
        SpecError: If there is no such model, it cannot be had offline, or its weights are not
            safetensors; a pickle is never opened.
    """
    from transformers import AutoConfig

    folder = Path(name)
    try:
        config = AutoConfig.from_pretrained(name, trust_remote_code=False)
        kind = _class(config.model_type)
        if folder.is_dir() and not any(path.name.endswith(_WEIGHTS) for path in folder.iterdir()):
            model = kind.from_config(config) if hasattr(kind, "from_config") else kind(config)
        else:
            model = kind.from_pretrained(name, use_safetensors=True)
    except (OSError, ValueError, KeyError) as error:
        raise SpecError(
            f"model {name!r} cannot be loaded: {_reason(error)}",
            fix="give a folder with config.json and weights in model.safetensors (without any "
            "weights they are random), or a name on huggingface.co that can be reached from here",
        ) from error
    # Newer transformers keep the precision of the file, in which half floats would be trained.
    return model.float()


def _class(model_type: str) -> Any:
    """The class of a type; the halves of CLAP are not known to AutoModel."""
    from transformers import AutoModel, ClapAudioModel, ClapTextModel

    halves = {"clap_audio_model": ClapAudioModel, "clap_text_model": ClapTextModel}
    return halves.get(model_type, AutoModel)


def hub_config(name: str) -> dict[str, Any]:
    """What the config.json of a model on huggingface.co says.

    Raises:
        SpecError: If there is none, or it cannot be had from here.
    """
    from transformers import PretrainedConfig

    try:
        facts, _ = PretrainedConfig.get_config_dict(name)
    except (OSError, ValueError) as error:
        raise SpecError(
            f"model {name!r} cannot be had from huggingface.co: {_reason(error)}",
            fix="check its name and the network, or give a folder with its files",
        ) from error
    return dict(facts)


def preprocessor_facts(name: str) -> dict[str, Any]:
    """What the preprocessor_config.json of a model says; empty where there is none."""
    from transformers import SequenceFeatureExtractor

    try:
        facts, _ = SequenceFeatureExtractor.get_feature_extractor_dict(name)
    except (OSError, ValueError):
        return {}
    return dict(facts)


def model_rate(name: str) -> int:
    """The rate in Hz that a waveform model was trained at.

    Where its preprocessor_config.json does not tell, 16 kHz, that of the wav2vec 2.0 family.
    """
    return int(preprocessor_facts(name).get("sampling_rate", _WAV2VEC2_RATE))


def feature_extractor(name: str, kind: str) -> Any:
    """The feature extractor of a model.

    Args:
        name: Of the model, or its folder.
        kind: The extractor's class in transformers.

    Raises:
        SpecError: If it has none. Its settings are not guessed: those of published models differ.
    """
    import transformers

    try:
        return getattr(transformers, kind).from_pretrained(name)
    except (OSError, ValueError) as error:
        raise SpecError(
            f"the feature extractor of {name!r} cannot be loaded: {_reason(error)}",
            fix="put the model's preprocessor_config.json beside its config.json",
        ) from error


def clap_extractor(name: str) -> Any:
    """The ClapFeatureExtractor of a CLAP.

    Raises:
        SpecError: If it has none.
    """
    return feature_extractor(name, "ClapFeatureExtractor")


def clap_input(name: str) -> ClapInput:
    """What a CLAP takes, by its feature extractor.

    Raises:
        SpecError: If it has none.
    """
    return ClapInput.of_extractor(clap_extractor(name))


def check_rate(name: str, takes: int, sample_rate: int) -> None:
    """Check that a model hears the corpus at the rate it was trained at.

    Raises:
        SpecError: If not.
    """
    if takes != sample_rate:
        raise SpecError(
            f"model {name!r} takes audio at {takes} Hz, but the corpus is at {sample_rate} Hz",
            fix=f"build the corpus with sample_rate: {takes}",
        )


def _reason(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__

"""Models and their input settings from a folder or from huggingface.co; never code, or a pickle."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from synth.base.doors import read_json, require_regular
from synth.base.errors import SegueError, SpecError, first_line
from synth.base.units import Frames
from train.config.model import AudioConfig, LayerMix, TokenKind
from train.model.weights import require_whole

_WEIGHTS: Final = (".safetensors", ".bin", ".index.json", ".h5", ".msgpack", ".pt", ".pth", ".ckpt")
_SHARDS: Final = "model.safetensors.index.json"
_ADAPTER: Final = "adapter_config.json"
_WAV2VEC2_RATE: Final = 16_000
TOKENIZER_FIX: Final = "put tokenizer.json beside the model's config.json"
_EXTRACTOR: Final = "put the model's preprocessor_config.json beside its config.json"
_MODEL: Final = (
    "give a folder with config.json and weights in model.safetensors (without any "
    "weights they are random), or a name on huggingface.co that can be reached from here"
)


def explain(error: BaseException) -> str:
    """What a stranger's model says of itself, on one line."""
    if "trust_remote_code" in str(error):  # transformers would advise to trust it
        return "it needs Python code of its own, which is never run"
    return first_line(error)


@contextmanager
def run_no_code() -> Iterator[None]:
    """Within it, nobody who forgets `trust_remote_code` makes transformers ask the user."""
    from transformers import dynamic_module_utils

    before = dynamic_module_utils.TIME_OUT_REMOTE_CODE
    dynamic_module_utils.TIME_OUT_REMOTE_CODE = 0
    try:
        yield
    finally:
        dynamic_module_utils.TIME_OUT_REMOTE_CODE = before


def load_pretrained(kind: Any, name: str, what: str, fix: str, **options: Any) -> Any:
    """What a class of transformers makes of a folder, or of a name on huggingface.co."""
    try:
        check_folder(Path(name))
        return kind.from_pretrained(name, trust_remote_code=False, **options)
    except (SegueError, MemoryError):
        raise
    except Exception as error:  # a stranger's files can make it raise anything
        raise SpecError(f"{what} {name!r} cannot be loaded: {explain(error)}", fix=fix) from error


def check_folder(folder: Path) -> None:
    """Refuse a folder whose files lead elsewhere, before transformers follows them."""
    if not folder.is_dir():
        return
    for path in sorted(folder.iterdir()):
        if path.is_dir():
            continue
        require_regular(path, refuse=SpecError)
        if path.name.endswith("config.json") or path.name == _SHARDS:
            facts = read_json(path, refuse=SpecError)
            if not isinstance(facts, dict):
                raise SpecError(f"{path}: is not a JSON object", fix="get the model again")
            shards = facts.get("weight_map") if path.name == _SHARDS else None
            for name in shards.values() if isinstance(shards, dict) else ():
                if Path(str(name)).name != name:
                    raise SpecError(
                        f"{path}: weights lie elsewhere, in {name!r}", fix="get the model again"
                    )
    if (folder / _ADAPTER).exists():
        raise SpecError(
            f"{folder}: an adapter ({_ADAPTER}), whose base model is another",
            fix="merge it into its base model, and give that folder",
        )


def load_config(name: str, fix: str = _MODEL) -> Any:
    """What the config.json of a model says, but for code of its own, even to speed it up."""
    from transformers import AutoConfig

    config = load_pretrained(AutoConfig, name, "model", fix)
    config._attn_implementation = None  # it may name a repository of kernels
    vars(config).pop("auto_map", None)
    return config


def transformers_model(name: str) -> Any:
    """A transformers model by name or folder, in float32; without weights they are random."""
    from transformers import AutoModel, ClapAudioModel, ClapTextModel

    folder = Path(name)
    config = load_config(name)
    # The halves of CLAP are not known to AutoModel.
    halves = {"clap_audio_model": ClapAudioModel, "clap_text_model": ClapTextModel}
    kind: Any = halves.get(config.model_type, AutoModel)
    if folder.is_dir() and not any(path.name.endswith(_WEIGHTS) for path in folder.iterdir()):
        try:
            model = kind.from_config(config) if hasattr(kind, "from_config") else kind(config)
        except Exception as error:
            raise SpecError(
                f"model {name!r} cannot be made: {explain(error)}", fix=_MODEL
            ) from error
    else:
        for path in sorted(folder.glob("*.safetensors")):
            require_whole(path, "export or download the model again")
        model = load_pretrained(kind, name, "model", _MODEL, config=config, use_safetensors=True)
    # Newer transformers keep the precision of the file, in which half floats would be trained.
    return model.float()


def load_tokenizer(name: str) -> Any:
    """The tokenizer of a model, as transformers has it."""
    from transformers import AutoTokenizer

    return load_pretrained(AutoTokenizer, name, "the tokenizer of", TOKENIZER_FIX)


def hub_config(name: str) -> dict[str, Any]:
    """What the config.json of a model on huggingface.co says."""
    from transformers import PretrainedConfig

    try:
        facts, _ = PretrainedConfig.get_config_dict(name)
    except (OSError, ValueError) as error:
        raise SpecError(
            f"model {name!r} cannot be had from huggingface.co: {explain(error)}",
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


def feature_extractor(name: str, kind: str = "ClapFeatureExtractor") -> Any:
    """The feature extractor of a model, of a class of transformers: its file may name another.

    Settings that are missing are not guessed: those of published models differ.
    """
    import transformers

    return load_pretrained(
        getattr(transformers, kind), name, "the feature extractor of", _EXTRACTOR
    )


def check_audio(
    config: AudioConfig,
    takes: int,
    sample_rate: int,
    *,
    shortest: Frames = 1,
    longest: Frames | None = None,
    mixes: bool = False,
    summary: bool = True,
) -> None:
    """Check what the settings ask of an audio model.

    Args:
        takes: The rate in Hz that it was trained at.
        sample_rate: Of the corpus, in Hz.
        shortest: Fewest samples that it takes.
        longest: Most samples.
        mixes: Whether its layers can be mixed.
        summary: Whether it gives a token of the whole.
    """
    name = config.name
    if takes != sample_rate:
        raise SpecError(
            f"model {name!r} takes audio at {takes} Hz, but the corpus is at {sample_rate} Hz",
            fix=f"build the corpus with sample_rate: {takes}",
        )
    if config.layers is not LayerMix.LAST and not mixes:
        raise SpecError(
            f"model {name!r}: `layers: {config.layers}` is for models that take waveform; those "
            "of others differ in width, and cannot be mixed",
            fix="choose `layers: last` for audio",
        )
    if config.tokens is TokenKind.POOLED and not summary:
        raise SpecError(
            f"model {name!r} has no summary of the whole",
            fix="choose `tokens: chunks` or `tokens: map` for audio, or a CLAP or an AST",
        )
    chunk = round(config.chunk_s * sample_rate)
    bound = ""
    if chunk < shortest:
        bound = f"at least {shortest / sample_rate:g}"
    elif longest is not None and chunk > longest:
        bound = f"at most {longest / sample_rate:g}"
    if bound:
        raise SpecError(
            f"chunks of {config.chunk_s:g} s do not fit model {name!r}",
            fix=f"choose a chunk_s of {bound}",
        )

"""Segue's training step beside that of open_clip and LAION-CLAP, on one device in one run.

Both train the same ClapModel on the same samples in the same order; README.md tells what is
measured. The contenders take turns, each turn in a process of its own, so that neither memory nor
caches of one are left to the next.
"""

from __future__ import annotations

import argparse
import gc
import importlib.util
import json
import math
import multiprocessing
import os
import platform
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from statistics import median
from types import ModuleType
from typing import Any, Final, Protocol, TypeVar

import numpy as np
import tokenizers
import torch
from tokenizers import pre_tokenizers, processors
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset
from transformers import (
    AutoTokenizer,
    ClapConfig,
    ClapFeatureExtractor,
    ClapModel,
    PreTrainedTokenizerFast,
)
from transformers.audio_utils import mel_filter_bank
from transformers.utils.logging import disable_progress_bar

from pipelines.build import build
from pipelines.spec import Spec
from synth.corpus import Corpus
from synth.foley import CLASSES
from train.config.loss import HardNegatives, InfoNce, Loss
from train.config.run import Mode, Precision, Stage, TrainConfig
from train.config.text import TextSampling
from train.data.audio import AudioBatch, FeatureCache
from train.data.loader import Assembler, Batch, Loader
from train.data.order import BatchOrder
from train.data.split import TRAIN, SplitData
from train.data.tokenizer import TextTokenizer
from train.engine.learner import Learner, fresh_state
from train.engine.progress import Meter
from train.engine.ranks import Process
from train.model.clap import clap_config

RESULTS: Final = Path(__file__).parent / "results" / "trainer.json"
RATE: Final = 48_000
SECONDS: Final = 10
SEED: Final = 1
LEARNING_RATE: Final = 1e-4
WEIGHT_DECAY: Final = 0.01
GRAD_CLIP: Final = 1.0
MEMBERS: Final = 3  # of a minimal-pair group of `triplets`
MOST_WORKERS: Final = 8
WARM_STEPS: Final = 2
FULL_SCALE: Final = 32768.0
MIB: Final = 2**20
Result = TypeVar("Result")


class Shapes(StrEnum):
    """Of the towers; what they hear is the same, 10 s at 48 kHz in 64 mel bands."""

    TINY = "tiny"
    HTSAT_TINY = "htsat-tiny"


@dataclass(frozen=True, slots=True)
class Setup:
    """What all turns share."""

    corpus: Path
    clap: Path
    device: str
    precision: Precision
    batch: int
    steps: int
    workers: int

    @property
    def prefetch(self) -> int:
        """Batches made ahead: two a worker, as DataLoader has it."""
        return 2 * self.workers

    @property
    def fed(self) -> int:
        """Batches in all: beyond the last one measured, workers go on as in a longer run."""
        return self.warm + self.steps + self.prefetch

    @property
    def warm(self) -> int:
        """Steps before the clock starts, so that batches made while nobody learnt do not count."""
        return max(self.prefetch, WARM_STEPS)


@dataclass(frozen=True, slots=True)
class Turn:
    """What one turn of one contender gave."""

    contender: str
    repeat: int
    step_samples_per_s: float
    samples_per_s: float
    data_wait: float
    peak_mib: float
    texts: int
    parameters: int
    losses: list[float]


class Contender(Protocol):
    """Learns from a corpus."""

    parameters: int
    texts: int

    def feed(self) -> Iterator[Any]:
        """Batches as they come from the corpus."""

    def learn(self, batch: Any) -> float | Tensor:
        """One whole step; gives the loss."""

    def held(self) -> Callable[[], float | Tensor]:
        """One whole step on a batch whose features and texts are on the device already."""


class Ours:
    """The pieces of `train.engine.loop.train`, put together as it does, with no cache of features.

    Args:
        setup: Of the run.
        mode: Where audio comes from.
        loss: What is minimised.
    """

    def __init__(self, setup: Setup, mode: Mode, loss: Loss) -> None:
        config = TrainConfig(
            corpus=setup.corpus,
            out=setup.corpus / "unused",
            mode=mode,
            model=clap_config(str(setup.clap)),
            stages=(Stage(steps=2 * setup.fed, loss=loss),),
            batch=setup.batch,
            # One main caption a sample, all different: as many texts as the peer encodes.
            text=TextSampling(restatements=False),
            lr=LEARNING_RATE,
            weight_decay=WEIGHT_DECAY,
            grad_clip=GRAD_CLIP,
            seed=SEED,
            device=setup.device,
            precision=setup.precision,
            workers=setup.workers,
            prefetch=setup.prefetch,
            cache_mb=0,
        )
        corpus = Corpus.open(config.corpus)
        tokenizer = TextTokenizer.of_model(config.model.text.name)
        self._config = config
        self._process = Process(0, 1, torch.device(setup.device))
        self._state = fresh_state(config, corpus.sample_rate, len(tokenizer), self._process)
        data = SplitData(corpus, TRAIN, mode)
        self._loader = Loader(
            Assembler.of(data, tokenizer, config, cached=False), config, self._process.share
        )
        self._learner = Learner(config, self._state, self._process, None)
        self._fed = setup.fed
        self.parameters = learning(self._state.model)
        self.texts = 0

    def feed(self) -> Iterator[Batch]:
        return self._loader.between(0, self._fed)

    def learn(self, batch: Batch) -> float:
        self.texts = len(batch.texts.ids)
        return self._learner.learn(batch)["loss"]

    def held(self) -> Callable[[], float]:
        device, tower = self._state.device, self._state.model.audio_tower
        batch = self._loader.batch(0)
        cache = FeatureCache(batch.audio.chunks(None, tower, device))
        audio = AudioBatch(tuple(range(len(batch.audio.positions))), None)
        batch = replace(batch, audio=audio, texts=batch.texts.to(device))
        learner = Learner(self._config, self._state, self._process, cache)
        return lambda: learner.learn(batch)["loss"]


@dataclass(frozen=True, slots=True)
class Heard(Dataset[tuple[Tensor, str]]):
    """Samples as peers load them, one by one from the shards.

    Args:
        corpus: The corpus.
        rows: Of its training split.
        extractor: Computes the log-mel where that is done here, else None.
    """

    corpus: Corpus
    rows: Sequence[dict[str, Any]]
    extractor: ClapFeatureExtractor | None

    def __getitem__(self, index: int) -> tuple[Tensor, str]:
        row = self.rows[index]
        pcm = self.corpus.stored_pcm(TRAIN, row["shard"], row["offset"], row["size"])
        waveform = pcm.astype(np.float32) / np.float32(FULL_SCALE)
        if self.extractor is None:
            return torch.from_numpy(waveform), row["caption"]
        found = self.extractor(waveform, sampling_rate=RATE, return_tensors="pt")
        return found["input_features"][0], row["caption"]


@dataclass(frozen=True, slots=True)
class Collate:
    """Samples as one batch, texts padded to the longest as ours are (LAION-CLAP pads to 77)."""

    tokenizer: Any

    def __call__(self, samples: Sequence[tuple[Tensor, str]]) -> tuple[Tensor, Tensor, Tensor]:
        sounds = torch.stack([sound for sound, _ in samples])
        texts = self.tokenizer([text for _, text in samples], padding=True, return_tensors="pt")
        return sounds, texts["input_ids"], texts["attention_mask"]


class LogMel(nn.Module):
    """The extractor's log-mel in float32, as LAION-CLAP computes it on the GPU."""

    bank: Tensor
    window: Tensor

    def __init__(self, extractor: ClapFeatureExtractor) -> None:
        super().__init__()
        self.n_fft, self.hop = extractor.fft_window_size, extractor.hop_length
        bank = mel_filter_bank(
            num_frequency_bins=self.n_fft // 2 + 1,
            num_mel_filters=extractor.feature_size,
            min_frequency=extractor.frequency_min,
            max_frequency=extractor.frequency_max,
            sampling_rate=extractor.sampling_rate,
            norm="slaney",
            mel_scale="slaney",
        )
        self.register_buffer("bank", torch.from_numpy(bank).float())
        self.register_buffer("window", torch.hann_window(self.n_fft))

    @torch.no_grad()
    def forward(self, waveform: Tensor) -> Tensor:
        spectrum = torch.stft(
            waveform, self.n_fft, self.hop, window=self.window, return_complex=True
        )
        power = spectrum.real.square() + spectrum.imag.square()
        return 10 * (power.transpose(1, 2) @ self.bank).clamp_min(1e-10).log10()[:, None]


class Peer:
    """The step of open_clip_train.train.train_one_epoch, which is LAION-CLAP's too.

    Args:
        setup: Of the run.
        on_device: Whether the log-mel is computed on the device, as LAION-CLAP does for HTSAT
            without fusion, or by ClapFeatureExtractor in the DataLoader.
    """

    def __init__(self, setup: Setup, on_device: bool) -> None:
        self._setup = setup
        self._device = torch.device(setup.device)
        extractor = ClapFeatureExtractor.from_pretrained(setup.clap)
        self._model = ClapModel.from_pretrained(setup.clap).float().to(self._device).train()
        self._log_mel = LogMel(extractor).to(self._device) if on_device else nn.Identity()
        self._loss = open_clip_losses().ClipLoss(cache_labels=True)
        self._optimizer = optimizer(self._model)
        data = SplitData(Corpus.open(setup.corpus), TRAIN, Mode.SHARDS)
        self._heard = Heard(
            data.corpus, data.rows(range(len(data))), None if on_device else extractor
        )
        order = BatchOrder.of(
            np.arange(len(data)), data.groups, setup.batch, False, SEED, "stage-0"
        )
        self._batches = [order.batch(step).tolist() for step in range(setup.fed)]
        self._collate = Collate(AutoTokenizer.from_pretrained(setup.clap))
        self.parameters = learning(self._model)
        self.texts = 0

    def feed(self) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
        return iter(
            DataLoader(
                self._heard,
                batch_sampler=self._batches,
                collate_fn=self._collate,
                num_workers=self._setup.workers,
                pin_memory=self._device.type == "cuda",
            )
        )

    def learn(self, batch: tuple[Tensor, Tensor, Tensor]) -> Tensor:
        sounds, ids, mask = (one.to(self._device, non_blocking=True) for one in batch)
        return self._step(self._log_mel(sounds), ids, mask)

    def held(self) -> Callable[[], Tensor]:
        samples = [self._heard[index] for index in self._batches[0]]
        sounds, ids, mask = (one.to(self._device) for one in self._collate(samples))
        features = self._log_mel(sounds)
        return lambda: self._step(features, ids, mask)

    def _step(self, features: Tensor, ids: Tensor, mask: Tensor) -> Tensor:
        self.texts = len(ids)
        self._optimizer.zero_grad()
        reduced = self._setup.precision is Precision.BFLOAT16
        with torch.autocast(self._device.type, dtype=torch.bfloat16, enabled=reduced):
            found = self._model(input_ids=ids, attention_mask=mask, input_features=features)
            scale = self._model.logit_scale_a
            loss: Tensor = self._loss(found.audio_embeds, found.text_embeds, scale.exp())
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(self._model.parameters(), GRAD_CLIP)
        self._optimizer.step()
        with torch.no_grad():
            scale.clamp_(0, math.log(100))
        # Not as a number: that would wait for the device, and open_clip does not.
        return loss.detach()


OURS: Final = "segue, info_nce, shards"
CONTENDERS: Final[dict[str, Callable[[Setup], Contender]]] = {
    OURS: lambda setup: Ours(setup, Mode.SHARDS, InfoNce()),
    "segue, info_nce, virtual": lambda setup: Ours(setup, Mode.VIRTUAL, InfoNce()),
    "segue, hard_negatives, shards": lambda setup: Ours(setup, Mode.SHARDS, HardNegatives()),
    "open_clip step, log-mel on the device": lambda setup: Peer(setup, on_device=True),
    "open_clip step, log-mel in the DataLoader": lambda setup: Peer(setup, on_device=False),
}
PEERS: Final = tuple(name for name in CONTENDERS if name.startswith("open_clip"))


def open_clip_losses() -> ModuleType:
    """open_clip's losses alone: the package at large needs torchvision, they need torch."""
    found = importlib.util.find_spec("open_clip")
    if found is None or not found.submodule_search_locations:
        raise SystemExit("open_clip is not installed: pip install --no-deps open_clip_torch==3.3.0")
    file = Path(found.submodule_search_locations[0]) / "loss.py"
    spec = importlib.util.spec_from_file_location("open_clip_losses", file)
    if spec is None or spec.loader is None:
        raise SystemExit(f"{file} cannot be loaded")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def learning(model: nn.Module) -> int:
    """Number of parameters that learn."""
    return sum(one.numel() for one in model.parameters() if one.requires_grad)


def optimizer(model: nn.Module) -> torch.optim.Optimizer:
    """AdamW as open_clip sets it up: gains, biases and temperatures do not decay."""
    parameters = list(model.parameters())
    groups = [
        {"params": [one for one in parameters if one.dim() > 1], "weight_decay": WEIGHT_DECAY},
        {"params": [one for one in parameters if one.dim() <= 1], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=LEARNING_RATE, betas=(0.9, 0.98), eps=1e-6)


def wait_for(device: str) -> None:
    """Wait until the device has done all it was given."""
    if device.startswith("cuda"):
        torch.cuda.synchronize(device)


def peak_mib(device: str) -> float:
    """Most memory so far: of tensors on a GPU, else of this process (workers not counted)."""
    if device.startswith("cuda"):
        return torch.cuda.max_memory_allocated(device) / MIB
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most / (MIB if sys.platform == "darwin" else 1024)


def end_to_end(contender: Contender, setup: Setup) -> tuple[float, float, list[float]]:
    """Learn from the corpus; samples a second, share of time waiting for data, and the losses."""
    batches = contender.feed()
    losses = [contender.learn(batch) for batch in islice(batches, setup.warm)]
    wait_for(setup.device)
    meter = Meter()
    for batch in islice(meter.waiting(batches), setup.steps):
        losses.append(contender.learn(batch))
        meter.samples += setup.batch
    wait_for(setup.device)
    rate, wait = meter.samples_per_s, meter.data_wait
    return rate, wait, [float(loss) for loss in losses]


def step_only(contender: Contender, setup: Setup) -> float:
    """Samples a second where data are on the device."""
    step = contender.held()
    for _ in range(WARM_STEPS):
        step()
    wait_for(setup.device)
    begun = time.perf_counter()
    for _ in range(setup.steps):
        step()
    wait_for(setup.device)
    return setup.steps * setup.batch / (time.perf_counter() - begun)


def take_turn(name: str, repeat: int, setup: Setup) -> Turn:
    """One turn of one contender, in a fresh process."""
    if setup.device == "cpu":
        # A core to each worker: threads that wait for a core that is taken take seconds a step.
        torch.set_num_threads(max((os.cpu_count() or 1) - setup.workers, 1))
    torch.manual_seed(SEED)
    contender = CONTENDERS[name](setup)
    rate, wait, losses = end_to_end(contender, setup)
    peak = peak_mib(setup.device)
    gc.collect()  # ends the workers of the feed
    step = step_only(contender, setup)
    return Turn(name, repeat, step, rate, wait, peak, contender.texts, contender.parameters, losses)


def apart(task: Callable[..., Result], *given: Any) -> Result:
    """What a task gives, run in a process of its own.

    It is forked from one that has imported everything and computed nothing, on no device: it starts
    at once, and what it holds at its peak is its own.
    """
    with ProcessPoolExecutor(1, multiprocessing.get_context("fork")) as pool:
        return pool.submit(task, *given).result()


def take_turns(setup: Setup, repeats: int) -> list[Turn]:
    """All contenders in turn, each repeat beginning with another one."""
    names, turns = list(CONTENDERS), []
    for repeat in range(repeats):
        first = repeat % len(names)
        for name in names[first:] + names[:first]:
            turn = apart(take_turn, name, repeat, setup)
            turns.append(turn)
            shown = f"{turn.step_samples_per_s:.1f} | {turn.samples_per_s:.1f} samples/s"
            print(f"{repeat + 1}/{repeats} {name}: {shown}", file=sys.stderr)
    return turns


def make_corpus(folder: Path, batch: int) -> Path:
    """At least two batches of 10 s samples with captions that all differ."""
    wanted = math.ceil(2 * batch / MEMBERS)
    classes = next((n for n in range(3, len(CLASSES)) if n * (n - 1) >= wanted), len(CLASSES))
    repeats = math.ceil(wanted / (classes * (classes - 1)))
    spec = {
        "corpus": "benchmark",
        "seed": SEED,
        "source": {"foley": {"classes": list(CLASSES[:classes]), "takes": 5}},
        "recipe": {"triplets": {"repeats": repeats}},
        "audio": {"sample_rate": RATE, "length": f"exact {SECONDS} s"},
        "splits": {"train": 1.0},
    }
    build(Spec.model_validate(spec), folder, worker_count=0)
    return folder / "data_manifests" / "benchmark"


def clap_shapes(shapes: Shapes, words: int) -> ClapConfig:
    """HTSAT-tiny and RoBERTa-base as published, or a few narrow layers of each."""
    if shapes is Shapes.HTSAT_TINY:
        return ClapConfig()
    audio = {
        "patch_embeds_hidden_size": 8,
        "hidden_size": 64,
        "depths": [1, 1, 1, 1],
        "num_attention_heads": [1, 2, 2, 2],
    }
    text = {
        "vocab_size": words,
        "hidden_size": 32,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "intermediate_size": 64,
    }
    return ClapConfig(audio_config=audio, text_config=text, projection_dim=32)


def make_clap(folder: Path, shapes: Shapes, corpus: Path) -> Path:
    """A CLAP with random weights, the input of laion/clap-htsat-unfused, and the corpus's words."""
    texts = SplitData(Corpus.open(corpus), TRAIN, Mode.SHARDS).vocabulary()
    split = pre_tokenizers.Whitespace()
    words = sorted({word for text in texts for word, _ in split.pre_tokenize_str(text)})
    names = ["<s>", "<pad>", "</s>", "<unk>", *words]
    backend = tokenizers.Tokenizer(
        tokenizers.models.WordLevel({name: k for k, name in enumerate(names)}, "<unk>")
    )
    backend.pre_tokenizer = split
    backend.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    marks = {"bos_token": "<s>", "pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"}
    fast = PreTrainedTokenizerFast(tokenizer_object=backend, model_max_length=512, **marks)
    fast.save_pretrained(folder)
    extractor = ClapFeatureExtractor(
        frequency_min=50, max_length_s=SECONDS, truncation="rand_trunc", padding="repeatpad"
    )
    extractor.save_pretrained(folder)
    torch.manual_seed(SEED)
    ClapModel(clap_shapes(shapes, len(names))).save_pretrained(folder)
    return folder


def device_name(device: str) -> str:
    """The card's name, or the processor's."""
    if device.startswith("cuda"):
        return torch.cuda.get_device_name(device)
    facts = Path("/proc/cpuinfo")
    lines = facts.read_text(encoding="utf-8").splitlines() if facts.is_file() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    found = names[0] if names else platform.processor() or platform.machine()
    return f"{found}, {os.cpu_count()} cores"


def summary(turns: Sequence[Turn]) -> dict[str, dict[str, float]]:
    """For each contender the median of every measure, and its speed beside the faster peer's."""
    measures = ("step_samples_per_s", "samples_per_s", "data_wait", "peak_mib")
    found = {
        name: {
            measure: median(getattr(turn, measure) for turn in turns if turn.contender == name)
            for measure in measures
        }
        for name in CONTENDERS
    }
    for speed, ratio in (("step_samples_per_s", "step_ratio"), ("samples_per_s", "ratio")):
        fastest = max(found[name][speed] for name in PEERS)
        for values in found.values():
            values[ratio] = values[speed] / fastest
    return found


def report(options: argparse.Namespace, turns: Sequence[Turn]) -> dict[str, Any]:
    """All that the JSON holds."""
    packages = ("torch", "transformers", "open_clip_torch", "segue-audio")
    settings = ("device", "shapes", "batch", "precision", "steps", "repeats", "workers")
    return {
        "device_name": apart(device_name, options.device),
        "versions": {"python": platform.python_version()} | {p: version(p) for p in packages},
        "settings": {name: str(getattr(options, name)) for name in settings},
        "medians": summary(turns),
        "turns": [asdict(turn) for turn in turns],
    }


def table(found: dict[str, Any]) -> str:
    """The medians in Markdown."""
    settings = found["settings"]
    texts = {turn["contender"]: turn["texts"] for turn in found["turns"]}
    lines = [
        f"{found['device_name']}; shapes {settings['shapes']}, batch {settings['batch']}, "
        f"{settings['precision']}, {settings['steps']} steps x {settings['repeats']} repeats, "
        f"{settings['workers']} workers; "
        + ", ".join(f"{name} {number}" for name, number in found["versions"].items()),
        "",
        "| Contender | Texts a step | Step only, samples/s | of the faster peer's "
        "| End to end, samples/s | of the faster peer's | Waiting for data | Peak memory |",
        "|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for name, values in found["medians"].items():
        cells = (
            name,
            texts[name],
            f"{values['step_samples_per_s']:.1f}",
            f"{values['step_ratio']:.2f}",
            f"{values['samples_per_s']:.1f}",
            f"{values['ratio']:.2f}",
            f"{values['data_wait']:.0%}",
            f"{values['peak_mib']:,.0f} MiB",
        )
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(lines)


def parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """The options; what is not said follows the device."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=_Help)
    parser.add_argument("--device", choices=("cuda", "cpu"), help="cuda where there is one")
    parser.add_argument("--shapes", choices=[*Shapes], type=Shapes, help="tiny on a CPU")
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--precision", choices=("bf16", "f32"), help="f32 on a CPU")
    parser.add_argument("--steps", type=int, default=20, help="steps that are measured")
    parser.add_argument("--repeats", type=int, default=3, help="turns of each contender")
    parser.add_argument("--workers", type=int, help="that prepare batches; a core is left free")
    parser.add_argument("--json", type=Path, default=RESULTS, help="where the figures go")
    options = parser.parse_args(arguments)
    options.device = options.device or ("cuda" if apart(torch.cuda.is_available) else "cpu")
    on_gpu = options.device == "cuda"
    options.shapes = options.shapes or (Shapes.HTSAT_TINY if on_gpu else Shapes.TINY)
    options.precision = options.precision or ("bf16" if on_gpu else "f32")
    cores = os.cpu_count() or 1
    options.workers = options.workers or max(min(cores - 1, MOST_WORKERS), 1)
    return options


class _Help(argparse.RawDescriptionHelpFormatter, argparse.ArgumentDefaultsHelpFormatter):
    """Keeps the docstring's lines, and tells defaults."""


def main() -> None:
    disable_progress_bar()
    options = parse()
    open_clip_losses()  # missing, it is told before any work
    with tempfile.TemporaryDirectory() as scratch:
        corpus = apart(make_corpus, Path(scratch) / "corpus", options.batch)
        setup = Setup(
            corpus=corpus,
            clap=apart(make_clap, Path(scratch) / "clap", options.shapes, corpus),
            device=options.device,
            precision=Precision.BFLOAT16 if options.precision == "bf16" else Precision.FLOAT32,
            batch=options.batch,
            steps=options.steps,
            workers=options.workers,
        )
        found = report(options, take_turns(setup, options.repeats))
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(table(found))


if __name__ == "__main__":
    main()

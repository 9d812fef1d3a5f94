"""Evaluation of a trained model, on a split of a corpus or on a benchmark's files."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from synth.base.errors import SpecError
from synth.base.progress import UNOBSERVED, Observer
from synth.shortcuts.baselines import find_baselines
from synth.shortcuts.figures import TRIPLETS
from train.bench.corpus import corpus_benchmark
from train.bench.embedder import Embedder, count_cut, embed_sounds, embed_texts, fill_up, fuse
from train.bench.metrics import RESAMPLES, Metric
from train.bench.metrics.events import FEWER_DRAWS, refuse_missing
from train.bench.opening import open_embedder
from train.bench.plan import Benchmark, DataKind
from train.bench.settings import DEFAULTS, BenchSettings, Padding, Task, is_corpus
from train.bench.tables import (
    AUDIOTIME,
    COMPA_COLUMNS,
    QUESTION_COLUMNS,
    captions_benchmark,
    classes_benchmark,
    compa_benchmark,
    find_layout,
    header,
    probes_benchmark,
    questions_benchmark,
)
from train.bench.tasks.localisation import describe_frames, score_frames
from train.config.run import AudioMode

WEIGHTS: Final = "weights"
"""The fact that tells the digest of the weights that were tested."""


@dataclass(frozen=True)
class Evaluation:
    """What a test found.

    Args:
        left_out: How many items were passed over, by task and reason.
    """

    metrics: Mapping[str, Metric]
    facts: Mapping[str, str]
    left_out: Mapping[str, int]


def evaluate(
    run: Path,
    corpus: Path,
    split: str = "test",
    *,
    mode: AudioMode = AudioMode.SHARDS,
    device: str = "cpu",
    observer: Observer = UNOBSERVED,
) -> dict[str, Metric]:
    """Every metric that the samples of a split allow.

    Returns:
        `bat`, `triplets`, `audio_to_text_*` and `text_to_audio_*` retrieval, `negatives_*`,
        `negation_*`, `zero_shot_*` and `zste_*`; those that nothing in the split can be judged by
        are left out.
    """
    embedder = open_embedder(run, device)
    benchmark = corpus_benchmark(corpus, split, mode, sample_rate=embedder.sample_rate)
    return dict(assess(embedder, benchmark, model=str(run), observer=observer).metrics)


def open_benchmark(
    data: Path,
    audio: Path | None = None,
    *,
    split: str = "test",
    mode: AudioMode = AudioMode.SHARDS,
    settings: BenchSettings = DEFAULTS,
    sample_rate: int | None = None,
    file_column: str | None = None,
    caption_columns: Sequence[str] = (),
    fold: str | None = None,
) -> Benchmark:
    """The benchmark that a path is: a corpus, CompA, captions, classes, questions or a probe set.

    Args:
        data: Manifest folder of a corpus, or the file of a benchmark; its columns tell which.
        audio: Folder of the file's audio; by default where it is published, or the file's own.
        sample_rate: Of the model, in Hz; a corpus at another one is refused.
    """
    kind = data_kind(data)
    for is_given, name, owner in (
        (fold is not None, "a fold", DataKind.CLASSES),
        (file_column is not None or bool(caption_columns), "columns", DataKind.CAPTIONS),
        (settings.every_caption, "--every-caption", DataKind.CAPTIONS),
    ):
        if is_given and kind is not owner:
            raise SpecError(
                f"{data} is a {kind}, {name} can be chosen for a {owner}", fix=f"leave out {name}"
            )
    folder = audio or data.parent
    match kind:
        case DataKind.CORPUS:
            if audio is not None:
                raise SpecError(f"{data} is a corpus", fix="leave out the folder of audio")
            return corpus_benchmark(data, split, mode, settings, sample_rate)
        case DataKind.PROBES:
            return probes_benchmark(data, folder, settings)
        case DataKind.COMPA:
            return compa_benchmark(data, folder, settings)
        case DataKind.CLASSES:
            return classes_benchmark(data, audio, settings, fold)
        case DataKind.CAPTIONS:
            return captions_benchmark(data, audio, settings, file_column, caption_columns)
        case DataKind.QUESTIONS:
            return questions_benchmark(data, audio, settings)


def data_kind(data: Path) -> DataKind:
    """What a path is: a folder is a corpus, a Parquet file a probe set; a CSV's columns tell.

    JSON is AudioTime's captions.
    """
    if is_corpus(data):
        return DataKind.CORPUS
    if data.suffix == ".parquet":
        return DataKind.PROBES
    if data.suffix == AUDIOTIME:
        return DataKind.CAPTIONS
    columns = set(header(data))
    if COMPA_COLUMNS[0] in columns:
        return DataKind.COMPA
    if set(QUESTION_COLUMNS) <= columns:
        return DataKind.QUESTIONS
    return DataKind.CLASSES if find_layout(data) else DataKind.CAPTIONS


def assess(
    embedder: Embedder,
    benchmark: Benchmark,
    tasks: Collection[Task] | None = None,
    model: str = "",
    observer: Observer = UNOBSERVED,
    digest: str = "",
    *,
    baselines: bool = False,
) -> Evaluation:
    """Test a model: each sound and each different text is embedded once."""
    chosen = benchmark.settings
    plans = benchmark.plans(tasks)
    if not len(benchmark.sounds):
        raise SpecError(f"{benchmark.name}: has no sounds", fix="give other data")
    if any(plan.measure_frames for plan in plans.values()):
        refuse_missing()
    texts = [text for plan in plans.values() for text in plan.texts]
    metrics: dict[str, Metric] = {}
    left_out = {f"data: {reason}": count for reason, count in benchmark.left_out.items()}
    whole = {task: plan for task, plan in plans.items() if plan.measure_frames is None}
    if whole:
        sounds = fill_up(benchmark.sounds, chosen.padding, embedder.longest)
        hearing = fuse(embedder) if chosen.fusion else embedder
        audio, was_cut = embed_sounds(hearing, sounds, chosen.cut, observer)
        left_out["data: sounds cut to the model's limit"] = was_cut
    cut = count_cut(embedder, texts)
    ends = f"data: ends of texts, cut at {cut.tokens} tokens, of {cut.texts:,} texts"
    left_out[ends] = cut.cut
    vectors = embed_texts(embedder, texts, observer)
    for task, plan in plans.items():
        if plan.measure_frames is None:
            measured = plan.measure(audio, vectors)
        else:
            scores = score_frames(embedder, benchmark.sounds, plan.texts, vectors, chosen, observer)
            measured = plan.measure_frames(scores)
        metrics |= {name: metric for name, metric in measured.items() if metric.n}
        left_out |= {f"{task}: {reason}": count for reason, count in plan.left_out.items()}
    if baselines:
        metrics = _add_baselines(metrics, benchmark, observer)
    facts = {name: value for name, value in (("model", model), (WEIGHTS, digest)) if value}
    facts |= dict(benchmark.facts)
    facts |= {
        "sounds": str(len(benchmark.sounds)),
        "seed": str(chosen.seed),
        "interval": f"95 %, {RESAMPLES} bootstrap draws of whole groups",
    }
    if chosen.padding is not Padding.PAD:
        facts["pad"] = str(chosen.padding)
    if chosen.fusion:
        facts["longer sounds"] = "fusion"
    if len(whole) < len(plans):
        frames = describe_frames(embedder, chosen)
        facts["localisation"] = f"{frames}; intervals from {FEWER_DRAWS} bootstrap draws"
    if chosen.subset_size is not None and Task.RETRIEVAL in plans:
        facts["retrieval"] = (
            f"mean over {chosen.subsets} random subsets of {chosen.subset_size} sounds"
        )
    return Evaluation(
        metrics, facts, {reason: count for reason, count in left_out.items() if count}
    )


_KINDS: Final = {
    "bat": "reorder",
    "triplets": TRIPLETS,
    "zste_t3": TRIPLETS,
    "negatives": "",
    "negation_original_half": "negate-half",
    "negation_original_full": "negate-full",
}


def _add_baselines(
    metrics: Mapping[str, Metric], benchmark: Benchmark, observer: Observer
) -> dict[str, Metric]:
    """The metrics of choices among captions, with what is right of them without listening."""
    kinds = {
        name: _KINDS.get(name, name.removeprefix("negatives_").replace("_", "-"))
        for name in metrics
        if name in _KINDS or name.startswith("negatives_")
    }
    if benchmark.corpus is None or not kinds:
        return dict(metrics)
    baselines = find_baselines(benchmark.corpus, benchmark.facts["split"], observer)
    figures = {kind.replace("_", "-"): baseline._asdict() for kind, baseline in baselines.items()}
    return {
        name: replace(metric, **figures.get(kinds.get(name, "no choice"), {}))
        for name, metric in metrics.items()
    }

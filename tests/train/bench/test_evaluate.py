"""A model of ours on a whole corpus, and whether it had heard what it is tested on."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from synth.base.errors import CorpusError, SpecError
from synth.base.progress import UNOBSERVED
from synth.corpus.corpus import Corpus
from synth.shortcuts.baselines import find_baselines
from tests.kit.observers import Phases
from train.bench.corpus import corpus_benchmark
from train.bench.embedder import Evaluator, embed_sounds, embed_texts
from train.bench.evaluate import assess
from train.bench.plan import HEARD, add_heard_fact, heard_warning
from train.bench.settings import Task
from train.bench.sounds import corpus_sounds
from train.config.model import AudioConfig, HeadConfig, ModelConfig
from train.config.run import AudioMode
from train.data.recordings import RECORDINGS_FILE, Recordings
from train.data.split import SplitData
from train.data.tokenizer import TextTokenizer
from train.model.clap import build_model

# A whole corpus


def test_a_task_the_corpus_does_not_allow_is_told(corpus: Path) -> None:
    benchmark = corpus_benchmark(corpus)
    assert Task.NEGATION not in benchmark.allowed
    with pytest.raises(SpecError, match=r"no negation here: no false text denies") as caught:
        benchmark.plans([Task.BAT, Task.NEGATION])
    assert caught.value.fix == f"it allows: {', '.join(benchmark.allowed)}"
    with pytest.raises(SpecError, match="not a task for a corpus"):
        benchmark.plans([Task.COMPA])


@pytest.fixture(scope="module")
def untrained(corpus: Path) -> Evaluator:
    torch.manual_seed(0)
    texts = SplitData(Corpus.open(corpus), "train", AudioMode.SHARDS).vocabulary()
    tokenizer = TextTokenizer.of_texts(texts)
    config = ModelConfig(dim=16, head=HeadConfig(dropout=0.1), audio=AudioConfig(width=8, mels=16))
    return Evaluator(build_model(config, 16_000, len(tokenizer)).eval(), tokenizer, 16_000)


def test_texts_that_the_model_cuts_are_counted(corpus: Path, untrained: Evaluator) -> None:
    short = json.loads(untrained.tokenizer.to_json())
    short["truncation"]["max_length"] = 2
    model = replace(untrained, tokenizer=TextTokenizer.from_json(json.dumps(short)))
    benchmark = corpus_benchmark(corpus, sample_rate=16_000)
    cut = assess(model, benchmark, [Task.BAT]).left_out
    assert cut == {"data: ends of texts, cut at 2 tokens, of 24 texts": 24}


def test_choices_among_captions_bear_their_baselines(corpus: Path, untrained: Evaluator) -> None:
    benchmark = corpus_benchmark(corpus, "train", sample_rate=16_000)
    metrics = assess(untrained, benchmark, baselines=True).metrics
    known = find_baselines(Corpus.open(corpus), "train", UNOBSERVED)
    for name, kind in (("bat", "reorder"), ("negatives", ""), ("negatives_relation", "relation")):
        assert (metrics[name].text, metrics[name].trivial) == known[kind]
    assert metrics["triplets"].text == known["triplets"].text == pytest.approx(1 / 3)
    assert metrics["audio_to_text_r1"].text is metrics["audio_to_text_r1"].trivial is None


def test_all_tasks_of_a_corpus_at_once(corpus: Path, untrained: Evaluator) -> None:
    benchmark = corpus_benchmark(corpus, sample_rate=16_000)
    phases = Phases()
    found = assess(untrained, benchmark, model="untrained", observer=phases)
    assert phases.ended == ["listen", "read"]
    assert phases.total["listen"] == len(benchmark.sounds)
    assert {"bat", "triplets", "audio_to_text_r1", "text_to_audio_median_rank"} < set(found.metrics)
    assert {"negatives_reorder", "negatives_relation", "zste_t4"} < set(found.metrics)
    assert all(metric.n for metric in found.metrics.values())
    assert found.facts["model"] == "untrained"
    assert found.facts["version"] == Corpus.open(corpus).version
    assert assess(untrained, benchmark, model="untrained") == found
    chosen = assess(untrained, benchmark, [Task.BAT]).metrics
    assert chosen == {"bat": found.metrics["bat"]}


def test_a_corpus_at_another_rate_is_refused(corpus: Path) -> None:
    with pytest.raises(SpecError, match=r"48000 Hz.*16000 Hz"):
        corpus_benchmark(corpus, sample_rate=48_000)


def test_embeddings_do_not_depend_on_what_stands_beside(corpus: Path, untrained: Evaluator) -> None:
    data = SplitData(Corpus.open(corpus), "test", AudioMode.SHARDS)
    sounds = corpus_sounds(data, data.rows(range(9)))
    together, was_cut = embed_sounds(untrained, sounds)
    alone = [untrained.audio([sound.load(16_000)])[0] for sound in sounds]
    np.testing.assert_allclose(together, alone, atol=1e-5)
    np.testing.assert_allclose(np.linalg.norm(together, axis=1), 1, atol=1e-5)
    assert was_cut == 0
    said = embed_texts(untrained, ["dog before rain", "rain", "dog before rain"])
    assert list(said) == ["rain", "dog before rain"]
    np.testing.assert_allclose(said["rain"], untrained.texts(["rain"])[0], atol=1e-5)


def test_a_model_that_gives_no_numbers_is_told(corpus: Path, untrained: Evaluator) -> None:
    broken = copy.deepcopy(untrained.model)
    for weight in broken.audio_head.parameters():
        weight.data.fill_(float("nan"))
    evaluator = Evaluator(broken, untrained.tokenizer, 16_000)
    with pytest.raises(CorpusError, match=r"embedding of 'sample .*' holds NaN"):
        assess(evaluator, corpus_benchmark(corpus))


# Whether a model had heard what it is tested on.


def test_recordings_heard_in_training_are_counted(corpus: Path, tmp_path: Path) -> None:
    opened = Corpus.open(corpus)
    Recordings.of(SplitData(opened, "train", AudioMode.SHARDS)).save(tmp_path)
    clean = add_heard_fact(corpus_benchmark(corpus), tmp_path)
    assert clean.facts[HEARD] == "0 of 4 recordings"
    assert heard_warning(clean.facts) == ""
    heard = add_heard_fact(corpus_benchmark(corpus, "train"), tmp_path)
    assert heard.facts[HEARD] == "9 of 9 recordings"
    assert heard_warning(heard.facts).startswith("9 of 9 recordings of this test were heard")
    trained = Recordings({"a": frozenset({"1"}), "b": frozenset({"2"})})
    tested = Recordings({"a": frozenset({"9"}), "c": frozenset({"2"}), "d": frozenset({"3"})})
    assert tested.count_shared(trained) == 2


def test_where_it_cannot_be_known_that_is_told(corpus: Path, tmp_path: Path) -> None:
    benchmark = corpus_benchmark(corpus)
    assert RECORDINGS_FILE in heard_warning(add_heard_fact(benchmark, tmp_path).facts)
    nameless = add_heard_fact(replace(benchmark, recordings=None), tmp_path)
    assert "does not name its recordings" in heard_warning(nameless.facts)
    (tmp_path / RECORDINGS_FILE).write_text("[]")
    with pytest.raises(CorpusError, match="damaged"):
        add_heard_fact(benchmark, tmp_path)

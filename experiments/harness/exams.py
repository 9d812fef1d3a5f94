"""Tests of arms on a split of a corpus that none of them has heard."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from experiments.harness.experiment import Exam, ExamSplit, Folders
from synth.corpus.corpus import Corpus
from synth.text.order.clause_swap import Probe, ProbeCaption, probe
from train.bench.data.corpus import corpus_benchmark
from train.bench.plan import Benchmark, DataKind, TaskPlan, TaskRefusal
from train.bench.settings import BenchSettings, Task
from train.bench.sounds import CorpusSounds
from train.bench.tasks.probes import ProbedSentence, plan_as_then, plan_bat, plan_pte
from train.config.run import AudioMode
from train.data.meaning import meaning
from train.data.split import SplitData

_Planner: TypeAlias = Callable[[Sequence[ProbedSentence], BenchSettings], TaskPlan | TaskRefusal]
_PROBES: Final[dict[Probe, tuple[Task, _Planner]]] = {
    Probe.PTE: (Task.PTE, plan_pte),
    Probe.BAT: (Task.BAT, plan_bat),
    Probe.AS_THEN_SET: (Task.AS_THEN, plan_as_then),
}


def make_exam(name: str, corpus: str, *tasks: Task, settings: BenchSettings | None = None) -> Exam:
    """Tasks that `segue eval` knows."""
    return Exam(
        name,
        lambda folders, split: corpus_benchmark(folders[corpus], split.value, settings=settings),
        tasks,
    )


def make_probe_exam(name: str, corpus: str, kind: Probe) -> Exam:
    """A probe set cut from a split's own captions, as `segue text probe` cuts it from a file.

    Of the samples that claim the same only the first is kept, so that a caption has one right
    sound among those of the set.

    Args:
        kind: `PTE`, `BAT` or `AS_THEN_SET`.
    """
    return Exam(
        name, lambda folders, split: _make_probes(folders, split, corpus, kind), (_PROBES[kind][0],)
    )


def _make_probes(folders: Folders, split: ExamSplit, corpus: str, kind: Probe) -> Benchmark:
    data = SplitData(Corpus.open(folders[corpus]), split.value, AudioMode.SHARDS)
    first = {meaning(row["claim"]): row for row in reversed(data.rows(range(len(data))))}
    rows = list(reversed(first.values()))
    probed = probe(kind, [ProbeCaption(row["id"], row["caption"]) for row in rows])
    sentences = [
        ProbedSentence(
            number, each.caption.text, each.outcome.text or "", str(each.outcome.connective)
        )
        for number, each in enumerate(probed)
        if each.outcome.made
    ]
    settings = BenchSettings()
    task, planner = _PROBES[kind]
    facts = {"corpus": corpus, "split": split.value, "probe": kind.value}
    sounds = CorpusSounds(data, rows)
    plan = planner(sentences, settings)
    return Benchmark(DataKind.PROBES, f"{kind} of {corpus}", facts, sounds, settings, {task: plan})

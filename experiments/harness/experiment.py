"""An experiment as a value: corpora, ways to learn, tests, the paper's table and its claims."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeAlias

from experiments.harness.estimate import Claim
from pipelines.config.spec import Spec
from synth.base.errors import SpecError, suggestion
from synth.corpus.corpus import Corpus
from synth.corpus.facts import CORPUS_NAME
from synth.text.order.clause_swap import Probe, ProbeCaption, probe
from train.bench.corpus import corpus_benchmark
from train.bench.plan import Benchmark, DataKind, TaskPlan, TaskRefusal
from train.bench.settings import BenchSettings, Task
from train.bench.sounds import corpus_sounds
from train.bench.tasks.recall import ProbedSentence, plan_as_then, plan_bat, plan_pte
from train.config.model import AudioConfig, ModelConfig, TextConfig, TokenKind, TowerKind
from train.config.run import AudioMode, TrainConfig
from train.data.meaning import meaning
from train.data.split import SplitData

Row: TypeAlias = Mapping[str, Any]
"""A sample's row of the manifest, or a clip's."""
Folders: TypeAlias = Mapping[str, Path]
"""The manifest folder of each corpus of an experiment, by the experiment's name for it."""

LATER: Final = Path()
_SETUPS: Final = Path(__file__).parent.parent / "setup"


class ExamSplit(StrEnum):
    """Which recordings an experiment's tests are on."""

    TEST = "test"
    """Those that its results are of."""
    VAL = "val"
    """Those that its settings are chosen on."""


class Scale(StrEnum):
    """How large an experiment is."""

    TINY = "tiny"
    """Minutes on two cores."""
    MEDIUM = "medium"
    """Hours on two cores; `together` alone has it."""
    SMALL = "small"
    """Minutes on one GPU."""
    PAPER = "paper"
    """The paper's own sizes and towers."""

    @property
    def runs_on_cpu(self) -> bool:
        """Whether it runs in reasonable time without a GPU."""
        return self in (Scale.TINY, Scale.MEDIUM)


PAPERS_SCALES: Final = (Scale.TINY, Scale.SMALL, Scale.PAPER)
"""Those of the papers' experiments."""


def keep(row: Row) -> Row:
    """The row as it is."""
    return row


@dataclass(frozen=True)
class CorpusView:
    """A corpus made of others without new audio: joined, or said in other words.

    Args:
        parts: Names of corpora of the experiment, all built from specs, in order.
        reword: From a sample's row to the one that stands in its place, None to leave it out.
        clip: From a clip's row to the one that stands in its place.
    """

    parts: tuple[str, ...]
    reword: Callable[[Row], Row | None] = keep
    clip: Callable[[Row], Row] = keep

    @property
    def reworded_by(self) -> str:
        """Name of the rewording, and what was given to it beside the rows."""
        if not isinstance(self.reword, partial):
            return self.reword.__name__
        arguments = ", ".join(f"{name}={value}" for name, value in self.reword.keywords.items())
        return f"{self.reword.func.__name__}({arguments})"


@dataclass(frozen=True)
class Arm:
    """A way to learn that is compared with others.

    Args:
        corpus: What it learns from: a name among the experiment's corpora.
        mixed: Other corpora whose samples take part, by name, with their share of all.
    """

    name: str
    corpus: str
    config: TrainConfig
    mixed: Mapping[str, float] = field(default_factory=dict)


def read_setup(name: str, *parts: str, **values: object) -> str:
    """The setup in `experiments/setup/NAME.md`: what it begins with, and these of its parts.

    Args:
        values: Of what the text has in braces.
    """
    text = (_SETUPS / f"{name}.md").read_text("utf-8")
    first, *sections = re.split("^## ", text, flags=re.MULTILINE)
    by_title = dict(section.split("\n", 1) for section in sections)
    chosen = [first, *(by_title[part] for part in parts)]
    return "\n\n".join(part.strip() for part in chosen).format(**values)


def make_config(**settings: Any) -> TrainConfig:
    """Settings of an arm; corpus, run folder, seed and device are put in when it is run."""
    return TrainConfig(corpus=LATER, out=LATER, tensorboard=False, **settings)


def make_paper_model(
    audio: str, text: str, tokens: TokenKind = TokenKind.POOLED, **settings: Any
) -> ModelConfig:
    """A model of towers of transformers, by their names; tokens of a map last a second."""
    seconds = {"chunk_s": 1.0} if tokens is TokenKind.MAP else {}
    return ModelConfig(
        audio=AudioConfig(kind=TowerKind.TRANSFORMERS, name=audio, tokens=tokens, **seconds),
        text=TextConfig(kind=TowerKind.TRANSFORMERS, name=text),
        **settings,
    )


@dataclass(frozen=True)
class Exam:
    """A test that every arm takes; its metrics are called `EXAM.METRIC`.

    Args:
        benchmark: From the folders of the corpora and a split to the test.
    """

    name: str
    benchmark: Callable[[Folders, ExamSplit], Benchmark]
    tasks: tuple[Task, ...]


@dataclass(frozen=True)
class Line:
    """A line of the paper's table.

    Args:
        metric: Its metric, as `EXAM.METRIC`.
        paper: The paper's value by arm, as a share of 1 where the metric is one.
    """

    metric: str
    title: str
    paper: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Experiment:
    """One paper's experiment at one scale.

    Args:
        title: Of the paper, with authors, year and where its numbers stand.
        setup: What is as in the paper and what is not, in a few sentences.
        corpora: A spec, or a view of corpora that have one, by name: letters, digits, - and _.
    """

    name: str
    title: str
    scale: Scale
    source: str
    setup: str
    corpora: Mapping[str, Spec | CorpusView]
    arms: tuple[Arm, ...]
    exams: tuple[Exam, ...]
    lines: tuple[Line, ...]
    claims: tuple[Claim, ...]
    whole: bool = True

    def __post_init__(self) -> None:
        for name in self.corpora:
            # A view's folder and `corpus.json` are named after it.
            if not CORPUS_NAME.fullmatch(name):
                raise SpecError(
                    f"experiment {self.name}: a corpus is called {name!r}",
                    fix="name it by letters, digits, - and _",
                )

    def select_arms(self, names: Sequence[str]) -> Experiment:
        """The experiment with these arms alone, and the claims about no other."""
        known = [arm.name for arm in self.arms]
        for name in names:
            if name not in known:
                raise SpecError(
                    f"--arm {name}: {self.name} has no such arm", fix=suggestion(name, known)
                )
        arms = tuple(arm for arm in self.arms if arm.name in names)
        claims = tuple(claim for claim in self.claims if claim.arms <= set(names))
        return replace(self, arms=arms, claims=claims, whole=len(arms) == len(known))


# Tests of arms on a split of a corpus that none of them has heard.


_Planner: TypeAlias = Callable[[Sequence[ProbedSentence], BenchSettings], TaskPlan | TaskRefusal]
_PROBES: Final[dict[Probe, tuple[Task, _Planner]]] = {
    Probe.PTE: (Task.PTE, plan_pte),
    Probe.BAT: (Task.BAT, plan_bat),
    Probe.AS_THEN_SET: (Task.AS_THEN, plan_as_then),
}


def open_split(folders: Folders, corpus: str, split: ExamSplit) -> SplitData:
    """The samples of a split of a corpus, as its shards hold them."""
    return SplitData(Corpus.open(folders[corpus]), split.value, AudioMode.SHARDS)


def make_exam(name: str, corpus: str, *tasks: Task) -> Exam:
    """Tasks that `segue eval` knows."""
    return Exam(name, lambda folders, split: corpus_benchmark(folders[corpus], split.value), tasks)


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
    data = open_split(folders, corpus, split)
    first = {meaning(row["claim"]): row for row in reversed(data.rows(range(len(data))))}
    rows = list(reversed(first.values()))
    probed = probe(kind, [ProbeCaption(row["id"], row["caption"]) for row in rows])
    sentences = [
        ProbedSentence(
            number, item.caption.text, item.outcome.text or "", str(item.outcome.connective)
        )
        for number, item in enumerate(probed)
        if item.outcome.made
    ]
    settings = BenchSettings()
    task, planner = _PROBES[kind]
    facts = {"corpus": corpus, "split": split.value, "probe": kind.value}
    sounds = corpus_sounds(data, rows)
    plan = planner(sentences, settings)
    return Benchmark(DataKind.PROBES, f"{kind} of {corpus}", facts, sounds, settings, {task: plan})

"""`segue reproduce together`: what does one model learn of all claims at once?"""

from __future__ import annotations

from typing import Any, Final

from experiments.harness.estimate import Cell, Claim, claim_gain
from experiments.harness.experiment import (
    Arm,
    CorpusView,
    Experiment,
    Line,
    Row,
    Scale,
    make_config,
    make_exam,
    read_setup,
)
from experiments.harness.library import SoundLibrary, choose_audio, choose_steps, make_foley
from experiments.scenes.exams import make_attribute_exam, make_order_exam
from experiments.scenes.scenes import (
    ATTRIBUTE,
    ORDER,
    TO_AUDIO,
    TO_TEXT,
    ZERO_SHOT,
    choose_seconds,
    make_counts_spec,
    make_scenes_spec,
    set_up_paper,
)
from synth.scene.edit import EditKind
from train.bench.settings import Task
from train.config.loss import HardNegatives, InfoNce
from train.config.model import AudioConfig, HeadConfig, ModelConfig
from train.config.run import AudioMode, Stage, TrainConfig
from train.engine.presets import learn_frames

CLAP, ALL = "CLAP", "all claims"
BAT, NEGATION, COUNT = "pairs.bat", "test.negatives_negate", "counts.negatives_count"
MIXED: Final = {"pairs": 0.2, "counts": 0.1, "denials": 0.2}
"""Share of the samples that are of each other corpus."""
STEPS: Final = {
    Scale.TINY: (300, 1200),
    Scale.MEDIUM: (1000, 5000),
    Scale.SMALL: (2000, 18_000),
    Scale.PAPER: (80_000, 160_000),
}
"""Of the first stage and of the second."""
STEPS_RECORDINGS: Final = (750, 3000)
"""The same at `tiny` over a library that was given: recordings are learnt more slowly."""
MEDIUM: Final = ModelConfig(
    dim=256, head=HeadConfig(layers=3, heads=4), audio=AudioConfig(mels=64, width=384)
)
"""A few million weights."""
LINES: Final = (
    Line(BAT, "BAT"),
    Line(ORDER, "order, group score"),
    Line(ATTRIBUTE, "attribute, group score"),
    Line(NEGATION, "negation"),
    Line(COUNT, "count"),
    Line(TO_AUDIO, "R@10, text to audio"),
    Line(TO_TEXT, "R@10, audio to text"),
    Line(ZERO_SHOT, "zero-shot"),
)
KEPT: Final = 0.03
"""Of retrieval, what may be lost."""
CLAIMS: Final = (
    Claim("our aim: BAT is 97 % or more", Cell(ALL, BAT), above=0.97),
    Claim("our aim: the order group score is 90 % or more", Cell(ALL, ORDER), above=0.9),
    Claim("our aim: that of binding is 75 % or more", Cell(ALL, ATTRIBUTE), above=0.75),
    Claim("our aim: negation is 95 % or more", Cell(ALL, NEGATION), above=0.95),
    claim_gain("counts are learnt", COUNT, ALL, CLAP),
    *(
        claim_gain(f"our aim: {way} is within 3 points", at, ALL, CLAP, by=-KEPT)
        for way, at in (("R@10 by text", TO_AUDIO), ("R@10 by audio", TO_TEXT))
    ),
)


def build_experiment(scale: Scale, library: SoundLibrary | None = None) -> Experiment:
    """The experiment at a scale, over a library of labelled sounds."""
    source = library or make_foley(scale)
    first, second = choose_steps(scale, library, STEPS, STEPS_RECORDINGS)
    clap, claims = (
        _make_config(scale, Stage(steps=first, loss=InfoNce()), Stage(steps=second, loss=loss))
        for loss in (InfoNce(), HardNegatives(weight=8))
    )
    # Every two classes: one sound after the other, the other way round, and both together.
    train = {Scale.TINY: 8, Scale.MEDIUM: 60, Scale.SMALL: 16, Scale.PAPER: 16}[scale]
    repeats = source.list_by_split(train=train, val=1, test=4)
    seconds = choose_seconds(scale)
    recipe = {"repeats": repeats, "style": "natural"}
    return Experiment(
        name="together",
        title="One model for all claims",
        scale=scale,
        source=source.name,
        setup=read_setup("together"),
        corpora={
            "scenes": make_scenes_spec(scale, source),
            "pairs": source.make_spec(
                f"together-pairs-{scale}",
                recipe={"triplets": recipe},
                audio=choose_audio(scale, seconds),
            ),
            "counts": make_counts_spec(scale, source),
            "denials": CorpusView(("scenes",), deny),
        },
        arms=(
            Arm(CLAP, "scenes", clap, MIXED),
            Arm(
                ALL, "scenes", learn_frames(claims.model_copy(update={"keep_groups": True})), MIXED
            ),
        ),
        exams=(
            make_order_exam("order", "scenes"),
            make_attribute_exam("attribute", "scenes"),
            make_exam("test", "scenes", Task.NEGATIVES, Task.RETRIEVAL, Task.ZERO_SHOT),
            make_exam("pairs", "pairs", Task.BAT),
            make_exam("counts", "counts", Task.NEGATIVES),
        ),
        lines=LINES,
        claims=CLAIMS,
    )


def deny(row: Row) -> Row | None:
    """The sample, if its captions deny a sound."""
    denies = any(caption["kind"] == EditKind.NEGATE for caption in row["negatives"])
    return row if denies else None


def _make_config(scale: Scale, *stages: Stage) -> TrainConfig:
    shared: dict[str, Any] = {"stages": stages, "batch": 64, "mode": AudioMode.VIRTUAL}
    if scale is Scale.PAPER:
        shared |= set_up_paper()
    elif scale is Scale.MEDIUM:
        shared |= {"model": MEDIUM, "cache_mb": 4096}
    return make_config(**shared)

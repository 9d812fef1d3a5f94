"""`segue reproduce additions`: what does each thing that Segue adds to the papers teach?"""

from __future__ import annotations

from functools import partial
from typing import Any, Final

from pipelines.experiments.claims import Cell, Claim, better
from pipelines.experiments.exams import on_split
from pipelines.experiments.experiment import Arm, Experiment, Line, Scale, View, learning
from pipelines.experiments.foley import foley
from pipelines.experiments.library import Library
from pipelines.experiments.scenes import (
    ATTRIBUTE,
    ORDER,
    TO_AUDIO,
    TO_TEXT,
    captions_of,
    paper_model,
    scenes_of,
    seconds_of,
)
from pipelines.experiments.scenes_captions import tested, untested
from pipelines.experiments.scenes_exams import attribute_exam, order_exam
from synth.caption import SIMULTANEOUS
from train.bench.plan import Task
from train.config.loss import HardNegatives, InfoNce
from train.config.run import CropTold, Stage, TrainConfig

ALL: Final = "all on"
UNTESTED: Final = "captions untested"
SCATTERED: Final = "groups apart"
UNSTAGED: Final = "relations at once"
CROPPED: Final = "crops, told by what is proven in them"
MISTOLD: Final = "crops, told as the whole"

STEPS: Final = {Scale.TINY: (300, 600), Scale.SMALL: (2000, 4000), Scale.PAPER: (40_000, 120_000)}
"""Of the first stage and of the second."""
LONGER: Final = 2
"""How many times longer the scenes are that are cropped."""
SETUP: Final = (
    "One corpus of `scenes`, told by the captions of `segue reproduce scenes` that the timeline "
    "proves, with false ones that it refutes. All arms learn by InfoNCE, then with hard negatives "
    "(`HardNegatives`), for equally many steps. All on: the groups of scenes that differ in one "
    "respect share a batch, and the first stage hears what sounds together, the second everything. "
    "Each of the next three arms lacks one of these: captions as the templates of Ghosh et al. "
    "give them, true or not; batches drawn at random; everything from the first step. The two "
    "arms with crops are all on, but learn from scenes twice as long, of which a random part is "
    "heard. All are tested on whole scenes of the first corpus, split `test`, whose recordings "
    "none has heard, as in `segue reproduce scenes`."
)
LINES: Final = (
    Line(ORDER, "order, group score"),
    Line("order.compa_all_text", "order, text score"),
    Line("order.compa_all_audio", "order, audio score"),
    Line(ATTRIBUTE, "attribute, group score"),
    Line(TO_AUDIO, "R@10, text to audio"),
    Line(TO_TEXT, "R@10, audio to text"),
)


def _adds(what: str, on: str, off: str) -> tuple[Claim, ...]:
    return tuple(
        better(f"{what}: {test}", Cell(on, metric), Cell(off, metric))
        for test, metric in (
            ("order", ORDER),
            ("binding", ATTRIBUTE),
            ("retrieval by text", TO_AUDIO),
        )
    )


CLAIMS: Final = (
    *_adds("truth checking adds", ALL, UNTESTED),
    *_adds("minimal-pair groups in a batch add", ALL, SCATTERED),
    *_adds("staged relations add", ALL, UNSTAGED),
    *_adds("crop-aware captions add", CROPPED, MISTOLD),
)


def experiment(scale: Scale, library: Library | None = None) -> Experiment:
    """The experiment at a scale, over a library of labelled sounds."""
    heard = library or foley(scale)
    scenes, long = scenes_of(scale, heard), scenes_of(scale, heard, LONGER)
    checked = partial(tested, most=captions_of(scale), audible=scenes.setting.audible)
    whole, cropped = _learning(scale), _learning(scale, crop_s=seconds_of(scale))
    return Experiment(
        name="additions",
        title="What Segue adds to the papers, each on and off",
        scale=scale,
        source=heard.name,
        setup=SETUP,
        corpora={
            "scenes": scenes,
            "long": long,
            "tested": View(("scenes",), checked),
            "untested": View(("scenes",), partial(untested, most=captions_of(scale))),
            "tested, long": View(("long",), checked),
        },
        arms=(
            Arm(ALL, "tested", whole),
            Arm(UNTESTED, "untested", whole),
            Arm(SCATTERED, "tested", whole.model_copy(update={"keep_groups": False})),
            Arm(UNSTAGED, "tested", _learning(scale, staged=False)),
            Arm(CROPPED, "tested, long", cropped),
            Arm(MISTOLD, "tested, long", cropped.model_copy(update={"crop_told": CropTold.WHOLE})),
        ),
        exams=(
            order_exam("order", "scenes"),
            attribute_exam("attribute", "scenes"),
            on_split("test", "scenes", Task.RETRIEVAL),
        ),
        lines=LINES,
        claims=CLAIMS,
    )


def _learning(scale: Scale, staged: bool = True, **settings: Any) -> TrainConfig:
    """Two stages; what the first hears, and how, is an arm's own."""
    first, second = STEPS[scale]
    together = tuple(word.value for word in SIMULTANEOUS) if staged else ()
    shared: dict[str, Any] = {
        "stages": (
            Stage(steps=first, relations=together, loss=InfoNce()),
            Stage(steps=second, loss=HardNegatives()),
        ),
        "keep_groups": True,
        "batch": 32 if scale is Scale.TINY else 64,
    }
    if scale is Scale.PAPER:
        shared |= {"model": paper_model(), "lr": 1e-4, "warmup": 0.02, "batch": 24}
    return learning(**shared | settings)

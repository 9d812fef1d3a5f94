"""`segue reproduce additions`: what does each thing that Segue adds to the papers teach?"""

from __future__ import annotations

from functools import partial
from typing import Any, Final

from experiments.harness.claims import Cell, Claim, claim_better
from experiments.harness.embedded import make_foley
from experiments.harness.exams import make_exam
from experiments.harness.experiment import Arm, CorpusView, Experiment, Line, Scale, make_config
from experiments.harness.library import SoundLibrary
from experiments.scenes.captions import tested, untested
from experiments.scenes.exams import make_attribute_exam, make_order_exam
from experiments.scenes.scenes import (
    ATTRIBUTE,
    ORDER,
    TO_AUDIO,
    TO_TEXT,
    choose_captions,
    choose_seconds,
    make_paper_model,
    make_scenes_spec,
)
from synth.captions.caption import SIMULTANEOUS
from train.bench.settings import Task
from train.config.loss import HardNegatives, InfoNce
from train.config.run import CropTold, Stage, TrainConfig

BASE: Final = "base"
UNTESTED: Final = "captions untested"
SCATTERED: Final = "groups apart"
STAGED: Final = "relations in stages"
CROPPED: Final = "crops, told by what is proven in them"
MISTOLD: Final = "crops, told as the whole"

STEPS: Final = {Scale.TINY: (600, 1200), Scale.SMALL: (2000, 4000), Scale.PAPER: (40_000, 120_000)}
"""Of the first stage and of the second."""
TOGETHER: Final = tuple(word.value for word in SIMULTANEOUS)
"""Relations of what sounds together."""
LONGER: Final = 2
"""How many times longer the scenes are that are cropped."""
SETUP: Final = (
    "One corpus of `scenes`, told by the captions of `segue reproduce scenes` that the timeline "
    "proves, with false ones that it refutes. All arms learn by InfoNCE, then with hard negatives "
    "(`HardNegatives`), for equally many steps. In the base the groups of scenes that differ in "
    "one respect share a batch, and all is heard from the first step. Each of the next three arms "
    "differs from it in one thing: captions as the templates of Ghosh et al. give them, true or "
    "not; batches drawn at random; a first stage that hears only what sounds together, a fifth of "
    "the scenes. The two arms with crops are as the base, but learn from scenes twice as long, of "
    "which a random part is heard, and differ from each other in what is said of it. All are "
    "tested on whole scenes of the first corpus, split `test`, whose recordings none has heard, "
    "as in `segue reproduce scenes`."
)
LINES: Final = (
    Line(ORDER, "order, group score"),
    Line("order.compa_all_text", "order, text score"),
    Line("order.compa_all_audio", "order, audio score"),
    Line(ATTRIBUTE, "attribute, group score"),
    Line(TO_AUDIO, "R@10, text to audio"),
    Line(TO_TEXT, "R@10, audio to text"),
)


def _claim_gain(what: str, on: str, off: str) -> tuple[Claim, ...]:
    return tuple(
        claim_better(f"{what}: {test}", Cell(on, metric), Cell(off, metric))
        for test, metric in (
            ("order", ORDER),
            ("binding", ATTRIBUTE),
            ("retrieval by text", TO_AUDIO),
        )
    )


CLAIMS: Final = (
    *_claim_gain("truth checking adds", BASE, UNTESTED),
    *_claim_gain("minimal-pair groups in a batch add", BASE, SCATTERED),
    *_claim_gain("staged relations add", STAGED, BASE),
    *_claim_gain("crop-aware captions add", CROPPED, MISTOLD),
)


def build_experiment(scale: Scale, library: SoundLibrary | None = None) -> Experiment:
    """The experiment at a scale, over a library of labelled sounds."""
    heard = library or make_foley(scale)
    scenes, long = make_scenes_spec(scale, heard), make_scenes_spec(scale, heard, LONGER)
    checked = partial(tested, most=choose_captions(scale), audible=scenes.setting.audible)
    whole, cropped = _make_config(scale), _make_config(scale, crop_s=choose_seconds(scale))
    return Experiment(
        name="additions",
        title="What Segue adds to the papers, each on and off",
        scale=scale,
        source=heard.name,
        setup=SETUP,
        corpora={
            "scenes": scenes,
            "long": long,
            "tested": CorpusView(("scenes",), checked),
            "untested": CorpusView(("scenes",), partial(untested, most=choose_captions(scale))),
            "tested-long": CorpusView(("long",), checked),
        },
        arms=(
            Arm(BASE, "tested", whole),
            Arm(UNTESTED, "untested", whole),
            Arm(SCATTERED, "tested", whole.model_copy(update={"keep_groups": False})),
            Arm(STAGED, "tested", _make_config(scale, TOGETHER)),
            Arm(CROPPED, "tested-long", cropped),
            Arm(MISTOLD, "tested-long", cropped.model_copy(update={"crop_told": CropTold.WHOLE})),
        ),
        exams=(
            make_order_exam("order", "scenes"),
            make_attribute_exam("attribute", "scenes"),
            make_exam("test", "scenes", Task.RETRIEVAL),
        ),
        lines=LINES,
        claims=CLAIMS,
    )


def _make_config(scale: Scale, relations: tuple[str, ...] = (), **settings: Any) -> TrainConfig:
    """Two stages; the first hears these relations, by default all."""
    first, second = STEPS[scale]
    shared: dict[str, Any] = {
        "stages": (
            Stage(steps=first, relations=relations, loss=InfoNce()),
            Stage(steps=second, loss=HardNegatives()),
        ),
        "keep_groups": True,
        "batch": 32 if scale is Scale.TINY else 64,
    }
    if scale is Scale.PAPER:
        shared |= {"model": make_paper_model(), "lr": 1e-4, "warmup": 0.02, "batch": 24}
    return make_config(**shared | settings)

"""`segue reproduce additions`: what does each thing that Segue adds to the papers teach?"""

from __future__ import annotations

from functools import partial
from typing import Any, Final

from experiments.harness.estimate import Cell, Claim, claim_alike, claim_gain
from experiments.harness.experiment import (
    Arm,
    CorpusView,
    Experiment,
    Line,
    Scale,
    make_config,
    make_exam,
    read_setup,
)
from experiments.harness.library import SoundLibrary, choose_steps, make_foley
from experiments.scenes.captions import by_rules, tested, tested_by_spans, untested
from experiments.scenes.exams import make_attribute_exam, make_order_exam
from experiments.scenes.scenes import (
    ATTRIBUTE,
    MEASURED,
    ORDER,
    TO_AUDIO,
    TO_TEXT,
    choose_captions,
    choose_seconds,
    make_counts_spec,
    make_measures_spec,
    make_scenes_spec,
    set_up_paper,
)
from synth.labels import connective
from train.bench.settings import Task
from train.config.loss import HardNegatives, InfoNce
from train.config.run import CropTold, Stage, TrainConfig

BASE: Final = "base"
UNBALANCED: Final = "texts not balanced"
SPANS: Final = "truth by outer spans"
UNTESTED: Final = "captions untested"
SCATTERED: Final = "groups apart"
UNBALANCED_SCATTERED: Final = "texts not balanced, groups apart"
RULES: Final = "captions by CompA's rules, groups apart"
RULES_OUR_SCENES: Final = "captions by CompA's rules, the base's scenes, groups apart"
STAGED: Final = "what sounds together first"
ORDERED: Final = "what follows one another first"
CROPPED: Final = "crops, told by what is proven in them"
MISTOLD: Final = "crops, told as the whole"
TELLING: Final = "with counts and measures"

STEPS: Final = {Scale.TINY: (600, 1200), Scale.SMALL: (2000, 4000), Scale.PAPER: (40_000, 120_000)}
"""Of the first stage and of the second."""
STEPS_RECORDINGS: Final = (750, 2250)
"""The same at `tiny` over a library that was given: more, as far as two cores can bear it."""
TOGETHER: Final = tuple(word.value for word in connective.SIMULTANEOUS)
"""Relations of what sounds together."""
SEQUENTIAL: Final = tuple(word.value for word in connective.ORDER)
"""Relations of what follows one another."""
MIXED: Final = {"counts": 0.1, "measures": 0.2}
"""Share of the samples that are of each other corpus."""
QUANTITIES: Final = (
    ("counts.negatives_count", "count"),
    *((f"measures.negatives_{quantity}", quantity.replace("_", " ")) for quantity in MEASURED),
)
"""Metrics of what is counted and measured."""
LONGER: Final = 2
"""How many times longer the scenes are that are cropped."""
OUTER_SPANS: Final = {
    **dict.fromkeys(("clear_db", "leave_db", "faint_db", "masked_db"), 120.0),
    "pause_s": 10.0,
}
"""Thresholds by which every sound counts as heard from its first frame to its last."""
LINES: Final = (
    Line(ORDER, "order, group score"),
    Line("order.compa_all_text", "order, text score"),
    Line("order.compa_all_audio", "order, audio score"),
    Line(ATTRIBUTE, "attribute, group score"),
    Line(TO_AUDIO, "R@10, text to audio"),
    Line(TO_TEXT, "R@10, audio to text"),
    *(Line(metric, f"told: {what}") for metric, what in QUANTITIES),
)


def _claim_gain(what: str, on: str, off: str) -> tuple[Claim, ...]:
    return tuple(
        claim_gain(f"{what}: {test}", metric, on, off)
        for test, metric in (
            ("order", ORDER),
            ("binding", ATTRIBUTE),
            ("retrieval by text", TO_AUDIO),
        )
    )


CLAIMS: Final = (
    *_claim_gain("proven captions add to CompA's rules", UNBALANCED_SCATTERED, RULES_OUR_SCENES),
    *_claim_gain("and scenes chosen by what is heard", RULES_OUR_SCENES, RULES),
    *_claim_gain("balanced texts add", BASE, UNBALANCED),
    *_claim_gain("balanced texts add, groups apart", SCATTERED, UNBALANCED_SCATTERED),
    *_claim_gain("truth as heard adds to outer spans", UNBALANCED, SPANS),
    *_claim_gain("truth checking adds", UNBALANCED, UNTESTED),
    *_claim_gain("minimal-pair groups in a batch add", BASE, SCATTERED),
    *_claim_gain("a stage of what sounds together adds", STAGED, BASE),
    *_claim_gain("a stage of what follows one another adds", ORDERED, BASE),
    *_claim_gain("crop-aware captions add", CROPPED, MISTOLD),
    *(
        claim_gain(f"counts and measures are learnt: {what}", metric, TELLING, BASE)
        for metric, what in QUANTITIES
    ),
    claim_alike("counts and measures cost no order", Cell(TELLING, ORDER), Cell(BASE, ORDER)),
)


def build_experiment(scale: Scale, library: SoundLibrary | None = None) -> Experiment:
    """The experiment at a scale, over a library of labelled sounds."""
    source = library or make_foley(scale)
    scenes, long = make_scenes_spec(scale, source), make_scenes_spec(scale, source, longer=LONGER)
    most = choose_captions(scale)
    audible = scenes.setting.audible
    learn = partial(_make_config, scale, choose_steps(scale, library, STEPS, STEPS_RECORDINGS))
    whole, cropped = learn(), learn(crop_s=choose_seconds(scale))
    apart = whole.model_copy(update={"keep_groups": False})
    return Experiment(
        name="additions",
        title="What Segue adds to the papers, each on and off",
        scale=scale,
        source=source.name,
        setup=read_setup("additions"),
        corpora={
            "scenes": scenes,
            "long": long,
            "counts": make_counts_spec(scale, source),
            "measures": make_measures_spec(scale, source),
            "unheard": make_scenes_spec(scale, source, truth=OUTER_SPANS),
            "tested": CorpusView(("scenes",), partial(tested, most=most, audible=audible)),
            "spans": CorpusView(("scenes",), partial(tested_by_spans, most=most, audible=audible)),
            "untested": CorpusView(("scenes",), partial(untested, most=most)),
            "by-rules": CorpusView(("unheard",), partial(by_rules, most=most)),
            "by-rules-heard": CorpusView(("scenes",), partial(by_rules, most=most)),
        },
        arms=(
            Arm(BASE, "scenes", whole),
            Arm(UNBALANCED, "tested", whole),
            Arm(SPANS, "spans", whole),
            Arm(UNTESTED, "untested", whole),
            Arm(SCATTERED, "scenes", apart),
            Arm(UNBALANCED_SCATTERED, "tested", apart),
            Arm(RULES, "by-rules", apart),
            Arm(RULES_OUR_SCENES, "by-rules-heard", apart),
            Arm(STAGED, "scenes", learn(TOGETHER)),
            Arm(ORDERED, "scenes", learn(SEQUENTIAL)),
            Arm(CROPPED, "long", cropped),
            Arm(MISTOLD, "long", cropped.model_copy(update={"crop_told": CropTold.WHOLE})),
            Arm(TELLING, "scenes", whole, MIXED),
        ),
        exams=(
            make_order_exam("order", "scenes"),
            make_attribute_exam("attribute", "scenes"),
            make_exam("test", "scenes", Task.RETRIEVAL),
            make_exam("counts", "counts", Task.NEGATIVES),
            make_exam("measures", "measures", Task.NEGATIVES),
        ),
        lines=LINES,
        claims=CLAIMS,
    )


def _make_config(
    scale: Scale, steps: tuple[int, int], relations: tuple[str, ...] = (), **settings: Any
) -> TrainConfig:
    """Two stages; the first hears these relations, by default all."""
    first, second = steps
    shared: dict[str, Any] = {
        "stages": (
            Stage(steps=first, relations=relations, loss=InfoNce()),
            Stage(steps=second, loss=HardNegatives()),
        ),
        "keep_groups": True,
        "batch": 32 if scale is Scale.TINY else 64,
    }
    if scale is Scale.PAPER:
        shared |= set_up_paper()
    return make_config(**shared | settings)

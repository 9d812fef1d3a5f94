"""`segue reproduce negation`: does a model of music know what a caption denies?

Vasilakis et al., "Towards effective negation modeling in joint audio-text models for music".
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any, Final

from experiments.harness.estimate import Cell, Claim, claim_gain, claim_near
from experiments.harness.experiment import (
    Arm,
    CorpusView,
    Experiment,
    Line,
    Row,
    Scale,
    make_config,
    make_exam,
    make_paper_model,
    read_setup,
)
from experiments.harness.library import SoundLibrary, choose_audio, make_jam
from experiments.scenes.scenes import choose_seconds
from pipelines.config.spec import Spec
from synth.base.rng import Randomness, uniform_hash
from synth.captions.caption import Caption, Provenance, Style, capitalise
from synth.corpus.schema import caption_row
from synth.labels.lexicon import Tag, lower_initial
from synth.scene.claim import claim_to_text
from synth.text.negation.negation import Negation, negate
from synth.text.negation.negators import NegationExtent
from synth.text.tags.tag_captions import enumerate_words
from synth.text.tags.tags import TagCategory, TagVocabulary
from synth.truth.change import tag_claim
from train.bench.settings import Task
from train.config.loss import InfoNce
from train.config.model import AudioConfig, HeadConfig, HeadKind, ModelConfig
from train.config.run import Stage, TrainConfig
from train.config.text import Ramp, TextSampling

# Captions that hold negators which deny nothing: "no doubt", "not only that", "no less".


IDIOMS: Final = (
    "no doubt",
    "no less",
    "no wonder",
    "not just that",
    "not only that",
    "not to mention",
    "without doubt",
    "without a doubt",
)
"""`synth.text.negation.negators` knows each as one that denies nothing."""
MOST: Final = 3
TRAIN_SPLIT: Final = "train"
_FINAL: Final = ".!? "


def with_idioms(row: Row) -> Row:
    """A training sample with none to three idioms in its caption, and the same in the others."""
    if row["split"] != TRAIN_SPLIT:
        return row
    # None to `MOST` different idioms, each number as often.
    count = int(uniform_hash("negation/idioms", row["id"]) * (MOST + 1))
    order = sorted(IDIOMS, key=lambda idiom: uniform_hash(f"negation/{idiom}", row["id"]))
    idioms = tuple(order[:count])
    others = {
        role: [{**text, "text": insert_idioms(text["text"], idioms)} for text in row[role]]
        for role in ("positives", "negatives")
    }
    return {**row, "caption": insert_idioms(row["caption"], idioms), **others}


def insert_idioms(caption: str, idioms: tuple[str, ...]) -> str:
    """The caption behind its first idiom, and before the others."""
    if not idioms:
        return caption
    first, *rest = idioms
    end = len(caption.rstrip(_FINAL))
    body = "".join([lower_initial(caption[:end]), *(f", {idiom}" for idiom in rest)])
    return f"{capitalise(first)}, {body}{caption[end:]}"


BASELINE, INSERT = "baseline", "text aug"
SOUNDS, CORPUS, LEARNT = "sounds", "told", "learnt"
INSERTED: Final = 0.6
"""Share of captions into which the paper puts a denial (section 4.2)."""
WEIGHTS: Final = {
    Scale.TINY: (1e-1,),
    Scale.SMALL: (1e-1, 1e-2, 1e-3, 1e-4),
    Scale.PAPER: (1e-1, 1e-2, 1e-3, 1e-4),
}
"""The weights k of the dissimilarity term, as in the paper; some hundred steps need a large one."""
WEIGHTS_SOUNDS: Final = (3e-1,)
"""The same at `tiny` over labelled sounds, chosen on validation recordings."""
BEST: Final = 1e-2
"""Of them the paper's best (section 4.3)."""

FULL, HALF = "test.negation_original_full", "test.negation_original_half"
HALF_FULL = "test.negation_half_full"
TEXT_TO_AUDIO: Final = {
    kind: f"test.negation_{kind}_text_to_audio_r10" for kind in ("original", "half", "full")
}
AUDIO_TO_TEXT: Final = {
    kind: f"test.negation_{kind}_audio_to_text_r10" for kind in ("original", "half", "full")
}
WAYS: Final = {"text to audio": TEXT_TO_AUDIO, "audio to text": AUDIO_TO_TEXT}
KEPT: Final = 0.01
"""Recall that may be lost: one point."""

PAPER_AUDIO: Final = "laion/clap-htsat-unfused"
PAPER_TEXT: Final = "FacebookAI/roberta-base"
"""Both stand in for towers that the paper trains from scratch."""


def name_loss_arm(weight: float) -> str:
    """Name of the arm with the dissimilarity term."""
    return f"loss term, k {weight:g}"


def name_combined_arm(weight: float) -> str:
    """Name of the arm with both."""
    return f"combo, k {weight:g}"


def _make_lines(loss: str) -> tuple[Line, ...]:
    """The table; `loss` is the arm with the loss term that stands for the paper's best."""
    kinds = {"original": "original", "half": "half negated", "full": "fully negated"}
    return (
        Line(FULL, "original above full", {BASELINE: 0.5}),
        Line(HALF, "original above half", {BASELINE: 0.5}),
        Line(HALF_FULL, "half above full", {BASELINE: 0.5, loss: 0.5, INSERT: 0.6}),
        *(
            Line(metrics[kind], f"R@10, {way}, {words}", {} if kind == "original" else {loss: 0.0})
            for way, metrics in WAYS.items()
            for kind, words in kinds.items()
        ),
    )


def _claim_kept(arm: str) -> tuple[Claim, ...]:
    """Retrieval with the original captions is within a point of the baseline's, or better."""
    return tuple(
        claim_gain(
            f"our aim: {arm} loses no more than a point of R@10, {way}",
            metrics["original"],
            arm,
            BASELINE,
            by=-KEPT,
        )
        for way, metrics in WAYS.items()
    )


def _make_claims(loss: str, both: str) -> tuple[Claim, ...]:
    """What the paper says, and our aims, of the arms with the loss term alone and with both."""
    return (
        claim_near(
            "the baseline does not tell original from full (50 %)", Cell(BASELINE, FULL), 0.5
        ),
        claim_near("nor original from half (50 %)", Cell(BASELINE, HALF), 0.5),
        claim_near("nor half from full (50 %)", Cell(BASELINE, HALF_FULL), 0.5),
        *(
            claim_gain(
                f"{arm} tells original from full better than the baseline", FULL, arm, BASELINE
            )
            for arm in (INSERT, loss, both)
        ),
        claim_gain(
            "the loss term tells original from full better than text aug", FULL, loss, INSERT
        ),
        claim_near("the loss term alone does not tell half from full", Cell(loss, HALF_FULL), 0.5),
        claim_gain(
            "text aug tells half from full better than the loss term (60 and 50 %)",
            HALF_FULL,
            INSERT,
            loss,
        ),
        claim_gain("combo tells half from full better than the loss term", HALF_FULL, both, loss),
        Claim(
            "the baseline finds recordings by full negations nearly as often as by captions",
            Cell(BASELINE, TEXT_TO_AUDIO["full"]),
            Cell(BASELINE, TEXT_TO_AUDIO["original"]),
            above=-0.1,
        ),
        *(
            Claim(
                f"{arm}: R@10 with full negations is near 0, {way}",
                Cell(arm, metrics["full"]),
                below=0.1,
            )
            for arm in (loss, both)
            for way, metrics in WAYS.items()
        ),
        Claim(
            "combo: half negations find less than captions do",
            Cell(both, TEXT_TO_AUDIO["original"]),
            Cell(both, TEXT_TO_AUDIO["half"]),
            above=0.1,
        ),
        Claim("our aim: the loss term tells 95 % from full", Cell(loss, FULL), above=0.95),
        Claim("our aim: combo tells 95 % from full", Cell(both, FULL), above=0.95),
        *_claim_kept(loss),
        *_claim_kept(both),
    )


def build_experiment(scale: Scale, library: SoundLibrary | None = None) -> Experiment:
    """The experiment at a scale, over a library of tagged music or of labelled sounds."""
    source = library or make_jam(3000 if scale is Scale.TINY else 4000)
    of_sounds = library is not None and library.is_labelled and not library.is_tagged
    weights = WEIGHTS_SOUNDS if of_sounds and scale is Scale.TINY else WEIGHTS[scale]
    best = BEST if BEST in weights else weights[0]
    trained = scale is Scale.PAPER
    corpus = CORPUS if trained else LEARNT
    parts = [*["sounds"] * of_sounds, *["idioms"] * (not trained)]
    return Experiment(
        name="negation",
        title='Vasilakis et al., "Towards effective negation modeling in joint audio-text models '
        'for music", figures 1 to 4',
        scale=scale,
        source=source.name,
        setup=read_setup("negation", *parts, inserted=100 * INSERTED, most=MOST),
        corpora=_make_corpora(scale, source, of_sounds),
        arms=(
            Arm(BASELINE, corpus, _make_config(scale)),
            Arm(INSERT, corpus, _make_config(scale, INSERTED)),
            *(Arm(name_loss_arm(k), corpus, _make_config(scale, weight=k)) for k in weights),
            *(Arm(name_combined_arm(k), corpus, _make_config(scale, INSERTED, k)) for k in weights),
        ),
        exams=(make_exam("test", CORPUS, Task.NEGATION),),
        lines=_make_lines(name_loss_arm(best)),
        claims=_make_claims(name_loss_arm(best), name_combined_arm(best)),
    )


def _make_corpora(
    scale: Scale, library: SoundLibrary, of_sounds: bool
) -> dict[str, Spec | CorpusView]:
    """What is tested, and what is learnt from: the same with idioms, which `paper` needs not."""
    if of_sounds:
        corpora: dict[str, Spec | CorpusView] = {
            SOUNDS: make_overlays_spec(
                f"negation-sounds-{scale}", scale, library, choose_audio(scale, 4)
            ),
            CORPUS: CorpusView((SOUNDS,), told_by_labels, with_tags),
        }
        learnt = CorpusView((SOUNDS,), learnt_by_labels, with_tags)
    else:
        corpora = {
            CORPUS: library.make_spec(
                f"negation-{scale}",
                recipe={"negation": {"style": "paper", "inserts": 0}},
                audio=choose_audio(scale, 6),
            )
        }
        learnt = CorpusView((CORPUS,), with_idioms)
    return corpora if scale is Scale.PAPER else corpora | {LEARNT: learnt}


def _make_config(scale: Scale, inserted: float = 0.0, weight: float = 0.0) -> TrainConfig:
    """The settings of an arm; at the scale `paper`, ten epochs of ECALS (section 4.1)."""
    steps = {Scale.TINY: 1600, Scale.SMALL: 3000, Scale.PAPER: 17_000}[scale]
    shared: dict[str, Any] = {
        "stages": (Stage(steps=steps, loss=InfoNce(), dissimilarity=weight),),
        "text": TextSampling(restatements=False, p_insert=Ramp(start=inserted, end=inserted)),
        "eval_every": steps // 6,
    }
    if scale is not Scale.PAPER:
        tiny = ModelConfig(dim=64, audio=AudioConfig(width=64))
        return make_config(model=tiny if scale is Scale.TINY else ModelConfig(), **shared)
    head = HeadConfig(kind=HeadKind.PROJECTION)
    model = make_paper_model(PAPER_AUDIO, PAPER_TEXT, dim=512, head=head)
    return make_config(model=model, batch=256, lr=1e-4, **shared)


# Overlaid sounds as `negation` hears them: told by their labels, as music is by its tags.


FRAMES: Final = ("{}.", "One hears {}.", "This is a recording of {}.")
EXPRESSIONS: Final = {"any * any": 1, "any * any * any": 1}
SCENES: Final = {Scale.TINY: 2400, Scale.SMALL: 24_000, Scale.PAPER: 250_000}
"""In training."""
HELD_OUT: Final = 600
_SEED: Final = 7


def make_overlays_spec(name: str, scale: Scale, library: SoundLibrary, audio: Any) -> Spec:
    """Two or three sounds at once, and as many with one of them exchanged."""
    recipe = {
        "scenes": library.list_by_split(train=SCENES[scale], val=HELD_OUT, test=HELD_OUT),
        "expressions": EXPRESSIONS,
        "variants": 2,
        "captions": 1,
        "max_event_s": choose_seconds(scale),
    }
    return library.make_spec(name, recipe={"scenes": recipe}, audio=audio)


def with_tags(clip: Row) -> Row:
    """A clip's row with its labels for tags."""
    return {**clip, "tags": [asdict(tag) for tag in _make_tags(clip["labels"])]}


def told_by_labels(row: Row) -> Row:
    """The sample with a caption that lists its labels, and that half and fully negated."""
    tags = _make_tags(row["labels"])
    rng = Randomness(_SEED).at("negation/sounds", row["index"])
    frame = FRAMES[int(rng.integers(len(FRAMES)))]
    caption = capitalise(frame.format(enumerate_words([tag.name for tag in tags])))
    how = Negation(TagVocabulary.of(tags))
    negations = (
        negate(caption, mode, how, rng, tags) for mode in (NegationExtent.HALF, NegationExtent.FULL)
    )
    negatives = [
        Caption(
            negation.text,
            tag_claim(negation.kept, negation.denied),
            "",
            Provenance.of_rule("negate", Style.PAPER.value, negation.outcome.value),
            negation.mode.edit,
        )
        for negation in negations
    ]
    return {
        **row,
        "caption": caption,
        "claim": claim_to_text(tag_claim(tags)),
        "relation": "",
        "positives": [],
        "negatives": list(map(caption_row, negatives)),
    }


def learnt_by_labels(row: Row) -> Row:
    """The same with idioms in training captions."""
    return with_idioms(told_by_labels(row))


def _make_tags(labels: Iterable[str]) -> list[Tag]:
    return [Tag(TagCategory.SOUND.value, label.replace("_", " ")) for label in sorted(labels)]

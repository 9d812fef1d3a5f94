"""Does a corpus hold what a stage of training asks for?"""

from __future__ import annotations

from synth.base.errors import SpecError
from train.config.loss import Role, TeminalA, TeminalB, TextSwap
from train.config.run import Stage
from train.data.split import SplitData
from train.data.texts import FULLY_NEGATED

_TRIPLETS = "triplets"


def refuse_unsuitable(data: SplitData, stage: Stage) -> None:
    """Check that the corpus gives a stage's loss what it is about."""
    if Role.DENIED in stage.roles and FULLY_NEGATED not in data.negative_kinds:
        raise SpecError(
            f"`dissimilarity` needs fully negated captions, and corpus {data.corpus.name} has none",
            fix="drop it, or build a corpus with the `negation` recipe",
        )
    if stage.frames and not data.is_labelled.any():
        raise SpecError(
            "`frames` needs sounds that are named by labels and whose times are known, and corpus "
            f"{data.corpus.name} has none",
            fix="drop it, or build a corpus of a labelled source with the `scenes` recipe, or one "
            "of an older version again",
        )
    if isinstance(stage.loss, TextSwap) and not data.negative_kinds:
        raise SpecError(
            f"loss textswap needs false captions, and corpus {data.corpus.name} has none",
            fix="build a corpus with the `tag_captions` recipe",
        )
    recipe = data.corpus.facts["recipe"]
    combined = recipe == _TRIPLETS and not any(data.relations)
    if isinstance(stage.loss, TeminalA) and not combined:
        raise SpecError(
            f"loss teminal_a needs single and combined sounds, not those of recipe {recipe}",
            fix="build a corpus of triplets with `stage_a: true`",
        )
    if isinstance(stage.loss, TeminalB) and (recipe != _TRIPLETS or combined):
        raise SpecError(
            f"loss teminal_b needs triplets before, after and while, not recipe {recipe}"
            + (" with stage_a" if combined else ""),
            fix="build a corpus of triplets",
        )

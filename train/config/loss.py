"""Which loss a stage of training minimises."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from enum import StrEnum
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    ClassVar,
    Final,
    Literal,
    Protocol,
    TypeAlias,
    get_args,
)

from pydantic import Field, SerializeAsAny, WrapValidator
from typing_extensions import override

from synth.base.entry_points import find_entry_points, load_class
from synth.base.errors import SpecError, suggestion
from train.config.text import Ramp, Section

if TYPE_CHECKING:
    from synth.corpus.corpus import Corpus

TRIPLETS: Final = "triplets"
ENTRY_POINTS: Final = "segue.losses"


class Role(StrEnum):
    """Texts of a sample beside its caption."""

    POSITIVES = "positives"
    NEGATIVES = "negatives"
    DENIED = "denied"


class LearnedSplit(Protocol):
    """What a loss asks of the samples that it learns from."""

    @property
    def corpus(self) -> Corpus:
        """Where they are of."""

    @property
    def relations(self) -> Sequence[str]:
        """Every one that a main caption tells."""

    @property
    def negative_kinds(self) -> Collection[str]:
        """Of false captions."""


class LossSettings(Section):
    """A loss: its settings as fields, and what it needs; `train.losses.captions` computes it."""

    roles: ClassVar[frozenset[Role]] = frozenset()
    """The texts that it needs beside the captions."""
    needs_groups: ClassVar[bool] = False
    """Whether batches must hold whole groups, and nothing else."""
    draws: ClassVar[bool] = False
    """Whether it needs `Embedded.uniform`."""
    name: str

    def refuse_unsuitable(self, data: LearnedSplit) -> None:
        """Check that a corpus holds what the loss is about."""


class CustomLoss(LossSettings):
    """A loss of another package, offered by an entry point of the group `segue.losses`."""

    def loss(self, batch: Any, world: Any) -> Any:
        """The loss of a batch in nats: this process's part, as `world.mean` makes it of rows.

        Args:
            batch: A `train.losses.batch.Embedded`, the rows of this process.
            world: A `train.losses.batch.World`, the processes that share the batch.
        """
        raise NotImplementedError


class InfoNce(LossSettings):
    """Symmetric InfoNCE: the batch's captions alone."""

    name: Literal["info_nce"] = "info_nce"


class HardNegatives(LossSettings):
    """InfoNCE with each sample's own false captions (CompA, eq. 4-5).

    Args:
        weight: What a sample's own false captions, and the sounds and captions of its group, weigh
            in the denominator; others weigh 1.
    """

    roles: ClassVar[frozenset[Role]] = frozenset({Role.NEGATIVES})
    name: Literal["hard_negatives"] = "hard_negatives"
    weight: float = Field(default=1.0, gt=0, allow_inf_nan=False)


class ModularVariant(StrEnum):
    """Whether the positives stand in the denominator, or not, as eq. 7 is printed."""

    IN_DENOMINATOR = "in_denominator"
    LITERAL = "literal"


class Modular(LossSettings):
    """Several true and false captions a sample (CompA, eq. 6-7)."""

    roles: ClassVar[frozenset[Role]] = frozenset({Role.POSITIVES, Role.NEGATIVES})
    name: Literal["modular"] = "modular"
    variant: ModularVariant = ModularVariant.IN_DENOMINATOR


class OverlayRow(StrEnum):
    """How overlays are weighed as anchors: as all are, or as eq. 13 is printed."""

    SYMMETRIC = "symmetric"
    LITERAL = "literal"


class TeminalA(LossSettings):
    """Single and combined sounds against each other (TeminAL A, appendix A.2).

    Args:
        alpha_same: Weight across the views where the combined sound holds the single one's class.
        alpha_cross: Weight across the views elsewhere.
        beta: Weight of captions that choose sounds, against that of sounds that choose captions.
    """

    needs_groups: ClassVar[bool] = True
    name: Literal["teminal_a"] = "teminal_a"
    alpha_same: float = Field(default=1.0, ge=0)
    alpha_cross: float = Field(default=1.0, ge=0)
    beta: float = Field(default=1.0, ge=0)

    @override
    def refuse_unsuitable(self, data: LearnedSplit) -> None:
        recipe = data.corpus.facts["recipe"]
        if recipe != TRIPLETS or any(data.relations):
            raise SpecError(
                f"loss teminal_a needs single and combined sounds, not those of recipe {recipe}",
                fix="build a corpus of triplets with `stage_a: true`",
            )


class TeminalB(LossSettings):
    """Forward, reversed and overlaid pairs against each other (TeminAL B).

    Args:
        alpha_st: Weight of the reversed pair of the same two clips.
        alpha_ct: Weight of the reversed pairs of other clips.
        alpha_so: Weight of the overlay of the same two clips.
        alpha_co: Weight of the overlays of other clips.
        beta: Weight of captions that choose sounds, against that of sounds that choose captions.
        overlay_row: Weights of anchors that are overlays.
    """

    needs_groups: ClassVar[bool] = True
    name: Literal["teminal_b"] = "teminal_b"
    alpha_st: float = Field(default=1.0, ge=0)
    alpha_ct: float = Field(default=1.0, ge=0)
    alpha_so: float = Field(default=1.0, ge=0)
    alpha_co: float = Field(default=1.0, ge=0)
    beta: float = Field(default=1.0, ge=0)
    overlay_row: OverlayRow = OverlayRow.SYMMETRIC

    @override
    def refuse_unsuitable(self, data: LearnedSplit) -> None:
        recipe = data.corpus.facts["recipe"]
        combined = recipe == TRIPLETS and not any(data.relations)
        if recipe != TRIPLETS or combined:
            raise SpecError(
                f"loss teminal_b needs triplets before, after and while, not recipe {recipe}"
                + (" with stage_a" if combined else ""),
                fix="build a corpus of triplets",
            )


class TextSwap(LossSettings):
    """InfoNCE in which a share of the batch's captions gives way to swapped ones of the anchor's.

    (Manco et al., section 5.1: probability 0 at first, then a linear rise.)

    Args:
        share: Highest share of a row's wrong captions that are replaced, 0 to 1.
        after: Steps of the stage before the first replacement.
        over: Steps from there to the highest share.
    """

    roles: ClassVar[frozenset[Role]] = frozenset({Role.NEGATIVES})
    draws: ClassVar[bool] = True
    name: Literal["textswap"] = "textswap"
    share: float = Field(default=0.15, ge=0, le=1)
    after: int = Field(default=0, ge=0)
    over: int = Field(default=0, ge=0)

    def share_at(self, step: int) -> float:
        """Share of a row's wrong captions that are replaced at a step of the stage, 0 to 1."""
        return Ramp(start=0, end=self.share, after=self.after, over=self.over).at(step)

    @override
    def refuse_unsuitable(self, data: LearnedSplit) -> None:
        if not data.negative_kinds:
            raise SpecError(
                f"loss textswap needs false captions, and corpus {data.corpus.name} has none",
                fix="build a corpus with the `tag_captions` recipe",
            )


class Sigmoid(LossSettings):
    """Pairwise sigmoid loss (SigLIP, Zhai et al. 2023), with each sample's own false captions."""

    roles: ClassVar[frozenset[Role]] = frozenset({Role.NEGATIVES})
    name: Literal["sigmoid"] = "sigmoid"


CoreLoss: TypeAlias = InfoNce | HardNegatives | Modular | TeminalA | TeminalB | TextSwap | Sigmoid
_NAMES: Final = frozenset(kind().name for kind in get_args(CoreLoss))


def _load_custom(value: Any, handler: Callable[[Any], Any]) -> Any:
    """Settings of a loss that another package offers; others are for `handler` to judge."""
    if isinstance(value, LossSettings):
        return value
    name = value.get("name") if isinstance(value, Mapping) else None
    others = find_entry_points(ENTRY_POINTS, _NAMES)
    if isinstance(name, str) and name not in _NAMES | others.keys():
        raise ValueError(f"there is no {name!r}; {suggestion(name, sorted({*_NAMES, *others}))}")
    if name not in others:
        return handler(value)
    return load_class(others[name], CustomLoss, SpecError).model_validate(value)


Loss = Annotated[
    CoreLoss,
    Field(discriminator="name"),
    WrapValidator(_load_custom),
    SerializeAsAny(),
]

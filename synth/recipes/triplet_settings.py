"""Settings of `triplets`."""

from __future__ import annotations

from pydantic import Field

from synth.base.units import Seconds
from synth.captions.caption import Style
from synth.recipes.base import Count, Length, RecipeSettings, SplitCounts


class TripletSettings(RecipeSettings):
    """Settings of the recipe.

    Args:
        repeats: Groups per ordered pair of classes, each with newly drawn clips; one number for all
            splits, or a number per split.
        most_groups: Most groups of a split, of pairs drawn at random; null for every pair.
        crossfade_s: Overlap of joined sounds; shorter if it would cover more than half of one. The
            paper has none.
        max_event_s: Longer sounds are cut to an excerpt of this length.
        least_event_s: Sounds may be cut to fit together, but never to less than this.
        style: `paper` gives each sample every false sentence as a negative; `natural` gives up to
            two, so that the text alone never reveals which caption is false.
        stage_a: Make single and combined sounds instead, for TeminAL A.
    """

    repeats: SplitCounts = 1
    most_groups: Count | None = None
    crossfade_s: Seconds = Field(default=0.0, ge=0, le=30)
    max_event_s: Length | None = None
    least_event_s: Length = 1.0
    style: Style = Style.PAPER
    stage_a: bool = False

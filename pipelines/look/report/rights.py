"""Under which licences a corpus's clips and samples are, and how many clips ask to be credited."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pipelines.build.documents.attribution import licence_facts
from pipelines.look.inspection import count_shares
from synth.corpus.licence import effective_licence, parse_licence


@dataclass(frozen=True, slots=True)
class CorpusRights:
    """The licences of a corpus.

    Args:
        whole: Id of the one licence that a work of all clips could be under.
        reason: Why there is none; else "".
        mixes: Samples by the licence of their mix.
        clips: Clips that are heard.
        recordings: Different recordings among them.
        credited: Clips that name whom to credit.
        creditors: Different names among these.
    """

    whole: str
    reason: str
    mixes: Mapping[str, Mapping[str, float]]
    clips: int
    recordings: int
    credited: int
    creditors: int


def rights(clips: Sequence[Mapping[str, Any]], used: Sequence[Sequence[str]]) -> CorpusRights:
    """The licences of the clips that are heard, and of what is mixed of them.

    Args:
        clips: Rows of `schema.CLIPS`: those that samples use.
        used: The clips' ids of each sample.
    """
    facts = licence_facts(clips)
    licences = {clip["id"]: clip["licence"] for clip in clips}
    parts = Counter(frozenset(licences[name] for name in names) for names in used)
    mixes: Counter[str] = Counter()
    for found, count in parts.items():
        mixes[effective_licence(parse_licence(each) for each in found).id] += count
    attributions = [clip["attribution"] for clip in clips if clip["attribution"]]
    return CorpusRights(
        whole=facts["licence"],
        reason=facts["licence_reason"],
        mixes=count_shares(list(mixes.elements())),
        clips=len(clips),
        recordings=len({clip["recording"] for clip in clips}),
        credited=len(attributions),
        creditors=len(set(attributions)),
    )

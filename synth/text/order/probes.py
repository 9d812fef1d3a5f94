"""Probe sets cut from caption files: PTe, BAT and as/then (ACBA paper, sections 3.1 and 3.2)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final, TypeAlias

from synth.base.errors import SpecError
from synth.base.rng import Randomness
from synth.text.grammar.tagger import EmbeddedTagger, Tagger
from synth.text.order.clause_swap import swap_clauses
from synth.text.order.connectives import ConnectiveKind, SwapOutcome, SwapReason
from synth.text.order.temporal import keep_nouns_and_verbs, swap_as_then, swap_before_after

TextTool: TypeAlias = Callable[[str, Tagger], SwapOutcome]


class Probe(StrEnum):
    """What is made of each caption of a file."""

    NV = "nv"
    """Nouns and verbs only."""
    CLAUSE_SWAP = "clause-swap"
    """The sides of before, after, then or followed by exchanged."""
    BEFORE_AFTER = "before-after"
    """Before exchanged for after, and back."""
    AS_THEN = "as-then"
    """As exchanged for then, and back."""
    PTE = "pte"
    """The preposition test set: `CLAUSE_SWAP`, each sentence once."""
    BAT = "bat"
    """The before-after test: `BEFORE_AFTER`, each sentence once, as many of one as of the other."""
    AS_THEN_SET = "as-then-set"
    """The as/then test: `AS_THEN`, each sentence once; compare within one connective."""


TOOLS: Final[dict[Probe, TextTool]] = {
    Probe.NV: keep_nouns_and_verbs,
    Probe.CLAUSE_SWAP: swap_clauses,
    Probe.BEFORE_AFTER: swap_before_after,
    Probe.AS_THEN: swap_as_then,
    Probe.PTE: swap_clauses,
    Probe.BAT: swap_before_after,
    Probe.AS_THEN_SET: swap_as_then,
}
SETS: Final = frozenset({Probe.PTE, Probe.BAT, Probe.AS_THEN_SET})


@dataclass(frozen=True, slots=True)
class ProbeCaption:
    """One caption of a file.

    Args:
        id: Which row it is from.
        text: The caption.
        column: Which column it is from, for files with several captions a row.
    """

    id: str
    text: str
    column: str = "caption"


@dataclass(frozen=True, slots=True)
class Probed:
    """A caption and what was made of it.

    Args:
        caption: The caption.
        outcome: The text, or the reason why there is none.
    """

    caption: ProbeCaption
    outcome: SwapOutcome


def probe(
    kind: Probe,
    captions: Iterable[ProbeCaption],
    *,
    tagger: Tagger | None = None,
    balanced: bool = True,
    size: int | None = None,
    seed: int = 0,
) -> list[Probed]:
    """Run one tool, or cut one set, over captions; one answer a caption, in order.

    A set holds the answers that were made. What is not in it stays in the list with its reason: a
    sentence that stands in the file twice is `REPEATED`, one that balance leaves over is
    `BALANCED_OUT`.

    Args:
        kind: The tool or the set.
        captions: The captions.
        tagger: Parts of speech; the embedded tagger by default.
        balanced: For BAT: as many sentences with "before" as with "after".
        size: For BAT: the number of sentences, an even one; by default as many as there are.
        seed: Decides which sentences balance leaves out.
    """
    if size is not None and (kind is not Probe.BAT or not balanced):
        raise SpecError(f"a size is for a balanced BAT, not for {kind}", fix="leave out the size")
    tool, chosen = TOOLS[kind], tagger or EmbeddedTagger()
    probed = [Probed(caption, tool(caption.text, chosen)) for caption in captions]
    if kind in SETS:
        probed = _drop_repeats(probed)
    return _balance(probed, size, seed) if kind is Probe.BAT and balanced else probed


def _drop_repeats(probed: Sequence[Probed]) -> list[Probed]:
    seen: set[str] = set()
    kept: list[Probed] = []
    for each in probed:
        text = " ".join(each.caption.text.split()).casefold()
        repeated = each.outcome.made and text in seen
        kept.append(_omit(each, SwapReason.REPEATED) if repeated else each)
        seen.add(text)
    return kept


def _balance(probed: Sequence[Probed], size: int | None, seed: int) -> list[Probed]:
    places = {
        kind: [at for at, each in enumerate(probed) if _holds(each, kind)]
        for kind in (ConnectiveKind.BEFORE, ConnectiveKind.AFTER)
    }
    most = min(map(len, places.values()))
    half = most if size is None else size // 2
    if size is not None and (size % 2 or size < 0 or half > most):
        raise SpecError(
            f"a balanced BAT of {size} sentences cannot be made: "
            f"{len(places[ConnectiveKind.BEFORE])} hold before, "
            f"{len(places[ConnectiveKind.AFTER])} hold after",
            fix=f"ask for an even size up to {2 * most}",
        )
    drawn: set[int] = set()
    for kind, where in places.items():
        draw = Randomness(seed).at(f"bat {kind}", 0).permutation(len(where))[:half]
        drawn.update(where[at] for at in draw)
    return [
        _omit(each, SwapReason.BALANCED_OUT) if each.outcome.made and at not in drawn else each
        for at, each in enumerate(probed)
    ]


def _holds(each: Probed, kind: ConnectiveKind) -> bool:
    return each.outcome.made and each.outcome.connective == kind


def _omit(each: Probed, reason: SwapReason) -> Probed:
    return replace(each, outcome=SwapOutcome.omit(reason, each.outcome.connective))

"""What an arm of `scenes` is told where captions are made as the paper makes them, untested.

Every part of a scene counts as true, whatever its sounds do to each other in time, and every edit
of a part as false (Ghosh et al., section 3.4, figure 6 and algorithm 1).

`most` are the most true captions, the main one included, and the most false ones; `audible` is the
shortest overlap that can be heard, in frames.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial, reduce
from itertools import combinations
from typing import Final

import numpy as np

from experiments.harness.experiment import Row
from synth.base.rng import Randomness, pick
from synth.base.units import Frames
from synth.captions.caption import Style
from synth.captions.narrative import Narrator
from synth.corpus.schema import caption_row, read_timeline
from synth.scene.claim import claim_to_text
from synth.scene.edit import edit_kind, meaning, projection, recompositions
from synth.scene.scene import Concat, Event, Overlay, Scene, from_text, labels, statement
from synth.scene.timeline import Timeline, timeline
from synth.truth.relations import Tolerance
from synth.truth.truth import Hearing
from train.data.meaning import meaning as claim_meaning

_SEED: Final = 7


def by_rules(row: Row, most: int) -> Row:
    """The sample with the paper's captions, true or not, the main one included.

    The paper's templates have no parentheses: `(a + b) * c` and `a + b * c` are told alike, as the
    second (section 3.4).
    """
    claim = flatten(read_statement(row))
    return _retell({**row, "claim": claim_to_text(claim)}, *list_candidates(claim), most, anew=True)


def untested(row: Row, most: int) -> Row:
    """The sample with the paper's further captions, true or not."""
    return _retell(row, *list_candidates(read_statement(row)), most)


def tested(row: Row, most: int, audible: Frames) -> Row:
    """The sample with those of the paper's captions that the timeline proves, or refutes."""
    return _retell_by(read_timeline(row), row, most, audible)


def tested_by_spans(row: Row, most: int, audible: Frames) -> Row:
    """The same, where every sound counts as heard from its first frame to its last."""
    return _retell_by(timeline(from_text(row["scene"])), row, most, audible)


def _retell_by(placed: Timeline, row: Row, most: int, audible: Frames) -> Row:
    true, false = list_candidates(read_statement(row))
    hearing = Hearing(placed, Tolerance(audible=audible))
    return _retell(
        row, list(filter(hearing.proves, true)), list(filter(hearing.refutes, false)), most
    )


def flatten(statement: Scene) -> Scene:
    """What is left of a scene where its notation loses its parentheses: `*` binds tighter."""
    sequence: list[list[Event]] = [[]]
    for part in _read_in_order(statement):
        if part is Concat:
            sequence.append([])
        elif isinstance(part, Event):
            sequence[-1].append(part)
    return reduce(Concat, (reduce(Overlay, together) for together in sequence))  # type: ignore[arg-type]


def _read_in_order(scene: Scene) -> Iterator[Event | type[Concat] | type[Overlay]]:
    if isinstance(scene, Event):
        yield scene
        return
    yield from _read_in_order(scene.first)
    yield type(scene)
    yield from _read_in_order(scene.second)


def restated(row: Row) -> Row:
    """The sample with those further true captions that say all of it, and none of a part."""
    whole = claim_meaning(claim_to_text(read_statement(row)))
    positives = [text for text in row["positives"] if claim_meaning(text["claim"]) == whole]
    return {**row, "positives": positives}


def list_candidates(statement: Scene) -> tuple[list[Scene], list[Scene]]:
    """What the paper's templates take for true of a scene beside its caption, and for false.

    Returns:
        Its parts of two sounds or more; and their edits, but for those that say what a part says.
    """
    names = labels(statement)
    parts = [
        part
        for count in range(len(names), 1, -1)
        for subset in combinations(names, count)
        if (part := projection(statement, subset)) is not None
    ]
    seen = {meaning(part) for part in parts}
    edits = []
    for edit in (edit for part in parts for edit in recompositions(part)):
        if meaning(edit) not in seen:
            seen.add(meaning(edit))
            edits.append(edit)
    return parts[1:], edits


def read_statement(row: Row) -> Scene:
    """All that is to be heard, of which the main caption may tell a part."""
    return statement(from_text(row["scene"]))


def _retell(
    row: Row, true: Sequence[Scene], false: Sequence[Scene], most: int, anew: bool = False
) -> Row:
    """The sample with these captions; `anew` tells its claim in new words, too."""
    rng = Randomness(_SEED).at(f"scenes/{row['id']}", 0)

    tell = Narrator(Style.NATURAL, partial(pick, rng=rng)).tell
    whole = read_statement(row)
    main = {"caption": tell(whole).text} if anew else {}
    positives = [tell(claim) for claim in _draw_claims(true, most - 1, rng)]
    negatives = [
        tell(claim).as_false(edit_kind(claim, whole)) for claim in _draw_claims(false, most, rng)
    ]
    return {
        **row,
        **main,
        "positives": list(map(caption_row, positives)),
        "negatives": list(map(caption_row, negatives)),
    }


def _draw_claims(claims: Sequence[Scene], most: int, rng: np.random.Generator) -> list[Scene]:
    return [claims[k] for k in sorted(rng.permutation(len(claims))[:most].tolist())]

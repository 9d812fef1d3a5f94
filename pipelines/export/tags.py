"""Tag tools over whole files: negated captions, captions from tags, TextSwap dictionaries."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from pipelines.store.output import check_output
from synth.base.atomic import replacing
from synth.base.errors import SourceError
from synth.base.progress import Observer, Silent, track
from synth.base.rng import Randomness
from synth.captions.caption import Style
from synth.labels.lexicon import Tag
from synth.text.negation.negation import Negation, negate
from synth.text.negation.negators import NegationExtent, NegationOutcome, Negators, shipped_negators
from synth.text.tags.tag_captions import FRAMES, TagSentence, describe, draw_views, join_tags
from synth.text.tags.tag_files import TaggedRecording, read_captions, read_items, read_vocabulary
from synth.text.tags.tags import TagVocabulary, find_category
from synth.text.textswap import Dictionary, build

NEGATED: Final = pa.schema(
    [
        pa.field("id", pa.string(), nullable=False),
        pa.field("caption", pa.string(), nullable=False),
        pa.field("mode", pa.string(), nullable=False),
        pa.field("outcome", pa.string(), nullable=False),
        pa.field("reason", pa.string(), nullable=False),
        pa.field("text", pa.string(), nullable=False),
        pa.field("tags", pa.list_(pa.string()), nullable=False),
    ]
)
CAPTIONS: Final = pa.schema(
    [
        pa.field("id", pa.string(), nullable=False),
        pa.field("kind", pa.string(), nullable=False),
        pa.field("view", pa.int64(), nullable=False),
        pa.field("text", pa.string(), nullable=False),
        pa.field("tags", pa.list_(pa.string()), nullable=False),
        pa.field("unsaid", pa.list_(pa.string()), nullable=False),
    ]
)


@dataclass(frozen=True, slots=True)
class ToolReport:
    """What a tool did.

    Args:
        counts: Rows by what became of them.
    """

    path: Path
    rows: int
    counts: Mapping[str, int]

    def to_json(self) -> dict[str, Any]:
        """As values for JSON."""
        return {"path": str(self.path), "rows": self.rows, "counts": dict(self.counts)}


def write_negated_file(
    captions: Path,
    vocabulary: Path,
    out: Path,
    modes: Sequence[NegationExtent],
    style: Style,
    seed: int,
    negators: Path | None = None,
    observer: Observer | None = None,
) -> ToolReport:
    """Write a row for each caption and mode, negated or with the reason why not.

    Counts are by mode and outcome: "full/negated", "half/none: no tag".
    """
    check_output(out, captions, vocabulary, negators)
    words = Negators.read(negators) if negators else shipped_negators()
    how = Negation(read_vocabulary(vocabulary), style is Style.NATURAL, words)
    items = track(read_captions(captions), observer or Silent(), "negate", "captions")
    rows = list(_negate_rows(items, modes, how, Randomness(seed)))
    _write(out, rows, NEGATED)
    return ToolReport(out, len(rows), _count_values(map(_format_outcome, rows)))


def _negate_rows(
    items: Iterable[TaggedRecording],
    modes: Sequence[NegationExtent],
    how: Negation,
    randomness: Randomness,
) -> Iterator[dict[str, Any]]:
    for index, item in enumerate(items):
        for mode in modes:
            rng = randomness.at(f"negate/{mode.value}", index)
            found = negate(item.caption, mode, how, rng, item.tags)
            yield {
                "id": item.id,
                "caption": item.caption,
                "mode": mode.value,
                "outcome": found.outcome.value,
                "reason": ": ".join(filter(None, (str(found.reason), found.detail))),
                "text": found.text,
                "tags": [tag.name for tag in found.denied],
            }


def _format_outcome(row: Mapping[str, Any]) -> str:
    reason = row["reason"].split(":")[0]
    told = f": {reason}" if row["outcome"] == NegationOutcome.NONE else ""
    return f"{row['mode']}/{row['outcome']}{told}"


def write_caption_file(
    source: Path,
    out: Path,
    style: Style,
    count: int,
    per_category: int,
    seed: int,
    observer: Observer | None = None,
) -> ToolReport:
    """Write each item's caption over all its tags, and those of its partial views."""
    check_output(out, source)
    items = [item for item in read_items(source) if item.tags]
    if not items:
        raise SourceError(f"{source}: no item has a tag", fix="expected tags by item")
    randomness = Randomness(seed)
    rows: list[dict[str, Any]] = []
    mute = 0
    for index, item in enumerate(track(items, observer or Silent(), "caption", "items")):
        rng = randomness.at("tag-captions", index)
        subsets = [item.tags, *draw_views(item.tags, count, per_category, rng)]
        told = [_caption_tags(style, tags, int(rng.integers(FRAMES))) for tags in subsets]
        mute += not told[0].text
        rows.extend(_make_caption_row(item, at, each) for at, each in enumerate(told) if each.text)
    if mute == len(items):
        tags = sorted({tag.name for item in items for tag in item.tags})
        raise SourceError(
            f"{source}: no item has a tag that fits a caption about music: {', '.join(tags[:10])}",
            fix="name categories, as in genre:rock, mood:calm, instrument:piano, era:80s",
        )
    _write(out, rows, CAPTIONS)
    counts = _count_values(row["kind"] for row in rows)
    return ToolReport(out, len(rows), {"items": len(items), **counts, "items left out": mute})


def _caption_tags(style: Style, tags: Sequence[Tag], frame: int) -> TagSentence:
    return join_tags(tags) if style is Style.PAPER else describe(tags, (), frame)


def _make_caption_row(item: TaggedRecording, at: int, told: TagSentence) -> dict[str, Any]:
    return {
        "id": item.id,
        "kind": "view" if at else "caption",
        "view": at,
        "text": told.text,
        "tags": [tag.name for tag in told.present],
        "unsaid": [tag.name for tag in told.unsaid],
    }


def write_textswap_file(
    source: Path, out: Path, max_share: float, observer: Observer | None = None
) -> ToolReport:
    """Write the TextSwap dictionary of a file's tags.

    Items that bear several tags also tell which go together.
    """
    check_output(out, source)
    vocabulary = read_vocabulary(source)
    items = [item.tags for item in read_items(source) if len(item.tags) > 1]
    entries = build(vocabulary, items, max_share, observer)
    Dictionary(tuple(entries)).write(out)
    reasons = _count_values(
        "together" if entry.reason.startswith("together") else entry.reason or "allowed"
        for entry in entries
    )
    with_one = {entry.tag for entry in entries if not entry.reason}
    return ToolReport(
        out,
        len(entries),
        {**_count_listed(vocabulary), "tags with an alternative": len(with_one), **reasons},
    )


def _count_listed(vocabulary: TagVocabulary) -> dict[str, int]:
    listed = sum(find_category(tag.name) is not None for tag in vocabulary.tags)
    return {"tags": len(vocabulary.tags), "tags listed": listed}


def _count_values(values: Iterable[str]) -> dict[str, int]:
    """Counts, the largest first."""
    return dict(Counter(values).most_common())


def _write(path: Path, rows: Sequence[Mapping[str, Any]], schema: pa.Schema) -> None:
    with replacing(path) as partial:
        pq.write_table(pa.Table.from_pylist(rows, schema=schema), partial, compression="zstd")

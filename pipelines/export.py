"""Export a corpus: a part a shard, each certified by a receipt, then what joins them."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from pipelines.engines.engine import engine, run_in_order
from pipelines.store.lease import sole_writer
from pipelines.store.places import check_output
from synth.base.atomic import PARTIAL_SUFFIX, replacing, write_text
from synth.base.doors import own_file, read_json
from synth.base.errors import CorpusError, SourceError, SpecError
from synth.base.progress import UNOBSERVED, Observer, track
from synth.base.rng import Randomness
from synth.captions.caption import Style
from synth.corpus.corpus import Corpus
from synth.corpus.schema import canonical_json
from synth.export import find_format
from synth.export.base import README, ExportFormat, Whole, identify_export
from synth.export.folder import KEPT, Folder, Writer
from synth.export.items import Shard, list_shards
from synth.labels.lexicon import Tag
from synth.sources.reading.tag_files import (
    TaggedRecording,
    read_captions,
    read_items,
    read_vocabulary,
)
from synth.storage import refuse_url
from synth.text.negation.negation import Negation, negate
from synth.text.negation.negators import NegationExtent, NegationOutcome
from synth.text.tags.tag_captions import FRAMES, TagSentence, describe, draw_views, join_tags
from synth.text.tags.tags import TagCategory, find_category
from synth.text.textswap import Dictionary

PHASE: Final = "export"


@dataclass(frozen=True, slots=True)
class ExportSummary:
    """What an export did.

    Args:
        counts: What the format counts besides, such as rows that were left out.
    """

    format: str
    samples: int
    parts: int
    written: int
    skipped: int
    seconds: float
    paths: dict[str, str]
    counts: dict[str, int]

    def to_json(self) -> dict[str, Any]:
        """As JSON values."""
        return asdict(self)


def export_corpus(
    corpus: Corpus,
    format_name: str,
    out: Path,
    splits: Sequence[str] = (),
    worker_count: int = 0,
    observer: Observer = UNOBSERVED,
    allow_long: bool = False,
    absolute: bool = False,
) -> ExportSummary:
    """Export a corpus; what is there and certified is not made again.

    Args:
        out: A new or empty folder, or one that this very export has begun.
        splits: Which splits; all if none is named.
        allow_long: Let `laion` write samples of more than 10 s, which its readers crop.
        absolute: Let `audiocraft` name the files with `out`, so that it may be started anywhere.
    """
    started = time.monotonic()
    export = find_format(format_name, allow_long, str(out.resolve()) if absolute else "")
    refuse_url(out, "exports are written to folders", fix="give a folder")
    shards = list_shards(corpus, splits)
    export.check(shards)
    folder = Folder(out.resolve())
    identity = identify_export(export, corpus, shards)
    _refuse_foreign(folder, identity)
    with _hold_folder(folder):
        _refuse_foreign(folder, identity)
        # What killed writers left.
        for path in folder.root.rglob(f".*{PARTIAL_SUFFIX}"):
            path.unlink(missing_ok=True)
        write_text(folder.identity, canonical_json(identity))
        stamp = identity["digest"]
        pending = [
            part for part in shards if not _is_certified(folder, folder.receipt(part.name), stamp)
        ]
        observer.start(PHASE, len(shards), "parts", done=len(shards) - len(pending))
        with engine(min(worker_count, len(pending))) as where:
            for _ in run_in_order(where, write_part, pending, export, folder, stamp):
                observer.advance(PHASE)
        if pending or not _is_certified(folder, folder.finished, stamp):
            rows = [folder.piece(shard.name, piece) for shard in shards for piece in export.derived]
            if rows and not any(path.stat().st_size for path in rows):
                raise CorpusError(
                    f"corpus {corpus.name}, of recipe {corpus.facts['recipe']}, gives no rows of "
                    f"{format_name}: expected {export.expected}",
                    fix="export a corpus of another recipe, or of more samples",
                )
            writer = Writer(folder)
            counts = export.finish(Whole(corpus, shards, folder), writer)
            _certify(folder.finished, stamp, writer, counts or {})
        observer.finish(PHASE)
    return ExportSummary(
        format=format_name,
        samples=sum(shard.samples for shard in shards),
        parts=len(shards),
        written=len(pending),
        skipped=len(shards) - len(pending),
        seconds=round(time.monotonic() - started, 2),
        paths={"export": str(folder.root), "readme": str(folder.root / README)},
        counts=_read_json(folder.finished).get("counts", {}),
    )


def write_part(export: ExportFormat, folder: Folder, stamp: str, shard: Shard) -> None:
    """Write the part of one shard, then its receipt."""
    writer = Writer(folder, shard.name)
    export.part(shard, writer)
    _certify(folder.receipt(shard.name), stamp, writer)


def _refuse_foreign(folder: Folder, identity: dict[str, Any]) -> None:
    """Check that the folder is new, empty, or that of this very export."""
    fix = "choose another folder, or empty it"
    if not folder.root.exists():
        return
    if not folder.root.is_dir():
        raise SpecError(f"{folder.root}: is not a folder", fix="choose another name")
    own_file(folder.kept, folder.identity.name)
    if not folder.kept.resolve().is_relative_to(folder.root.resolve()):
        raise SpecError(f"{folder.kept}: is a link that leads out of its folder", fix=fix)
    if not folder.identity.is_file():
        if any(path.name != KEPT for path in folder.root.iterdir()):
            raise SpecError(
                f"{folder.root}: contains files that are not part of an export", fix=fix
            )
        return
    stored = _read_json(folder.identity)
    if stored.get("digest") != identity["digest"]:
        changes = [
            f"{name} {_format_value(stored.get(name))} instead of {_format_value(value)}"
            for name, value in identity.items()
            if name != "digest" and stored.get(name) != value
        ]
        raise SpecError(f"{folder.root}: contains another export: {', '.join(changes)}", fix=fix)


def _format_value(value: Any) -> str:
    return "+".join(map(str, value)) if isinstance(value, list) else str(value)


@contextmanager
def _hold_folder(folder: Folder) -> Iterator[None]:
    with ExitStack() as stack:
        try:
            stack.enter_context(sole_writer(folder.kept))
        except CorpusError as error:
            raise CorpusError(
                f"{folder.root}: another process is writing this export",
                fix="wait for it, then run the same command again",
            ) from error
        yield


def _is_certified(folder: Folder, receipt: Path, stamp: str) -> bool:
    """Whether a receipt of this export certifies files that are there at the size it says."""
    content = _read_json(receipt)
    files = content.get("files")
    if content.get("digest") != stamp or not isinstance(files, dict):
        return False
    return all(_measure_size(folder.root / name) == size for name, size in files.items())


def _certify(
    receipt: Path, stamp: str, writer: Writer, counts: Mapping[str, int] | None = None
) -> None:
    extra = {} if counts is None else {"counts": dict(counts)}
    write_text(receipt, canonical_json({"digest": stamp, "files": writer.files} | extra))


def _measure_size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return -1


def _read_json(path: Path) -> dict[str, Any]:
    """A small JSON file of ours, nothing where there is none that can be read."""
    try:
        content = read_json(path)
    except (FileNotFoundError, CorpusError):
        return {}
    return content if isinstance(content, dict) else {}


# Tag tools over whole files: negated captions, captions from tags, TextSwap dictionaries.


_TEXT: Final = pa.string(), False
_NAMES: Final = pa.list_(pa.string()), False
_OF_RECORDING: Final = {"id": _TEXT, "path": _TEXT, "tags": _NAMES}
"""What a text is about, in columns that the source `parquet` and these tools read."""


def _make_schema(columns: dict[str, tuple[pa.DataType, bool]]) -> pa.Schema:
    return pa.schema([pa.field(name, *kind) for name, kind in (_OF_RECORDING | columns).items()])


NEGATED: Final = _make_schema(
    dict.fromkeys(("original", "mode", "outcome", "reason", "text", "false_text"), _TEXT)
    | {"denied": _NAMES}
)
"""`text` is true of the recording, `false_text` denies what it bears."""
CAPTIONS: Final = _make_schema(
    {
        "kind": _TEXT,
        "view": (pa.int64(), False),
        "text": _TEXT,
        "said": _NAMES,
        "unsaid": _NAMES,
    }
)


def _describe_recording(item: TaggedRecording) -> dict[str, Any]:
    categories = set(TagCategory)
    tags = [
        f"{tag.category}:{tag.name}" if tag.category in categories else tag.name
        for tag in item.tags
    ]
    return {"id": item.id, "path": item.path, "tags": tags}


@dataclass(frozen=True, slots=True)
class ToolReport:
    """What a tool did."""

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
    observer: Observer = UNOBSERVED,
) -> ToolReport:
    """Write a row for each caption and mode, negated or with the reason why not.

    Counts are by mode and outcome: "full/negated", "half/none: no tag".
    """
    check_output(out, captions, vocabulary)
    negation = Negation(read_vocabulary(vocabulary), style is Style.NATURAL)
    items = track(read_captions(captions), observer, "negate", "captions")
    rows = list(_negate_rows(items, modes, negation, Randomness(seed)))
    _write(out, rows, NEGATED)
    return ToolReport(out, len(rows), _count_values(map(_format_outcome, rows)))


def _negate_rows(
    items: Iterable[TaggedRecording],
    modes: Sequence[NegationExtent],
    negation: Negation,
    randomness: Randomness,
) -> Iterator[dict[str, Any]]:
    for index, item in enumerate(items):
        for mode in modes:
            rng = randomness.at(f"negate/{mode.value}", index)
            negated = negate(item.caption, mode, negation, rng, item.tags)
            is_true = mode is NegationExtent.INSERT
            yield _describe_recording(item) | {
                "original": item.caption,
                "mode": mode.value,
                "outcome": negated.outcome.value,
                "reason": negated.reason,
                "text": negated.text if is_true else "",
                "false_text": "" if is_true else negated.text,
                "denied": [tag.name for tag in negated.denied],
            }


def _format_outcome(row: Mapping[str, Any]) -> str:
    reason = f": {row['reason']}" if row["outcome"] == NegationOutcome.NONE else ""
    return f"{row['mode']}/{row['outcome']}{reason}"


def write_caption_file(
    source: Path,
    out: Path,
    style: Style,
    count: int,
    per_category: int,
    seed: int,
    observer: Observer = UNOBSERVED,
) -> ToolReport:
    """Write each item's caption over all its tags, and those of its partial views."""
    check_output(out, source)
    items = [item for item in read_items(source) if item.tags]
    if not items:
        raise SourceError(f"{source}: no item has a tag", fix="expected tags by item")
    randomness = Randomness(seed)
    rows: list[dict[str, Any]] = []
    mute = 0
    for index, item in enumerate(track(items, observer, "caption", "items")):
        rng = randomness.at("tag-captions", index)
        subsets = [item.tags, *draw_views(item.tags, count, per_category, rng)]
        lines = [_caption_tags(style, tags, int(rng.integers(FRAMES))) for tags in subsets]
        mute += not lines[0].text
        rows.extend(_make_caption_row(item, at, line) for at, line in enumerate(lines) if line.text)
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


def _make_caption_row(item: TaggedRecording, view: int, sentence: TagSentence) -> dict[str, Any]:
    return _describe_recording(item) | {
        "kind": "view" if view else "caption",
        "view": view,
        "text": sentence.text,
        "said": [tag.name for tag in sentence.present],
        "unsaid": [tag.name for tag in sentence.unsaid],
    }


def write_textswap_file(
    source: Path, out: Path, max_share: float, observer: Observer = UNOBSERVED
) -> ToolReport:
    """Write the TextSwap dictionary of a file's tags.

    Items that bear several tags also tell which go together.
    """
    check_output(out, source)
    vocabulary = read_vocabulary(source)
    items = [item.tags for item in read_items(source) if len(item.tags) > 1]
    dictionary = Dictionary.of(vocabulary, items, max_share).write(out, observer)
    reasons: Counter[str] = Counter()
    for reason, count in dictionary.reasons.items():
        reasons["together" if reason.startswith("together") else reason or "allowed"] += count
    listed = sum(find_category(tag.name) is not None for tag in vocabulary.tags)
    counts = {
        "tags": len(vocabulary.tags),
        "tags listed": listed,
        "tags with an alternative": dictionary.tags,
        **dict(reasons.most_common()),
    }
    return ToolReport(out, reasons.total(), counts)


def _count_values(values: Iterable[str]) -> dict[str, int]:
    return dict(Counter(values).most_common())


def _write(path: Path, rows: Sequence[Mapping[str, Any]], schema: pa.Schema) -> None:
    with replacing(path) as partial:
        pq.write_table(pa.Table.from_pylist(rows, schema=schema), partial, compression="zstd")

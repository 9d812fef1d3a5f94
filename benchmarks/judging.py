r"""Sheets of what the text tools make of captions, to be judged by hand.

    python -m benchmarks.judging draw ../shared/data --out out/sheet.csv    # 60 for each operation
    python -m benchmarks.judging draw ../shared/data --out out/sheet.csv --captions clotho.csv \
        --id-column file_name --column caption_1                            # other captions
    python -m benchmarks.judging draw ../shared/data --out out/sheet.csv \
        --again tests/data/judged/heldout.csv                               # for a second judge
    python -m benchmarks.judging strip out/sheet.csv --out tests/data/judged/heldout.csv
    python -m benchmarks.judging count ../shared/data           # shares left out, and why

A caption is held out where the first byte of its id's SHA-256, divided by ten, leaves six or more;
the others (`--part development`) are for whoever writes rules. A sheet has the sentences, for the
judge, who fills `verdict` with good or bad and `reason` with a few words; a second one, who does
not see them, fills `second` and `second_reason`. `strip` leaves ids and word positions, as the
sentences are the datasets'. A position is that of a word in the caption; for
`acba`, in the two captions one after the other.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import Final, TypeAlias

import numpy as np

from synth.base.rng import Randomness
from synth.captions.caption import Style, frames, realize
from synth.labels.connective import ORDER
from synth.labels.lexicon import Phrase
from synth.labels.words import COMPOUND, tokenize
from synth.recipes.acba import Acba
from synth.scene.scene import Concat, Event, Excerpt
from synth.sources.reading.tag_files import TaggedRecording, read_items, read_vocabulary
from synth.text.grammar.tagger import EmbeddedTagger
from synth.text.grammar.tokens import share_family
from synth.text.negation.negation import Negation, negate
from synth.text.negation.negators import NegationExtent
from synth.text.order.clause_swap import TOOLS, Probe
from synth.text.tags.tag_captions import FRAMES, describe
from synth.text.tags.tags import TagVocabulary
from synth.text.textswap import Dictionary, swap

AUDIOCAPS, JAMENDO, LP = "AudioCaps", "MTG-Jamendo", "LP-MusicCaps"
PARTS: Final = ("held out", "development")
FIELDS: Final = (
    *("operation", "dataset", "id", "order"),
    *("verdict", "reason", "second", "second_reason"),
)
TEXTS: Final = ("caption", "text")
PROBES: Final = (Probe.CLAUSE_SWAP, Probe.AS_THEN, Probe.BEFORE_AFTER, Probe.NV)
NOT_ASKED: Final = frozenset({"no connective", "empty", "no tag"})
"""Reasons that leave out nothing: the operation has nothing to do there."""

Captions: TypeAlias = Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class JudgedText:
    """What an operation made of a caption: a text, or a reason and none."""

    operation: str
    dataset: str
    id: str
    caption: str
    text: str
    reason: str = ""

    @property
    def row(self) -> dict[str, str]:
        """A row of a sheet, not yet judged."""
        origin = {"operation": self.operation, "dataset": self.dataset, "id": self.id}
        order = positions(self.caption, self.text)
        return origin | {"order": order, "caption": self.caption, "text": self.text}


def is_held_out(id_: str) -> bool:
    """Whether a caption is kept from whoever writes rules: four of ten are."""
    return hashlib.sha256(id_.encode()).digest()[0] % 10 >= 6


def positions(caption: str, text: str) -> str:
    """A text as word positions of its caption; words that were put in, and marks, as they are."""
    source = [token for token in tokenize(caption, COMPOUND) if token.word is not None]
    free = {at: token.lower for at, token in enumerate(source)}
    parts: list[str] = []
    last = -1
    for token in tokenize(text, COMPOUND):
        matches = [at for at, word in free.items() if word == token.lower]
        if not matches:
            parts.append(token.text)
            continue
        last = last + 1 if last + 1 in matches else matches[0]
        del free[last]
        parts.append(str(last))
    return " ".join(parts)


class Sheets:
    """Every operation over the captions of one part, in an order of their own.

    Args:
        others: Further captions of sounds, and what their dataset is called.
        only: By operation, the ids to take; all where it is not named.
    """

    def __init__(
        self,
        data: Path,
        part: str,
        others: tuple[str, Captions] | None = None,
        only: Mapping[str, Collection[str]] = MappingProxyType({}),
    ) -> None:
        self._data, self._part, self._only = data, part, only
        self._sounds = others or (AUDIOCAPS, _audiocaps(data))

    def operations(self) -> dict[str, Callable[[], Iterator[JudgedText]]]:
        """By name."""
        probes = {kind.value: partial(self._probe, kind) for kind in PROBES}
        negations = {f"negate-{mode}": partial(self._negate, mode) for mode in NegationExtent}
        return {**probes, **negations, "textswap": self._swap, "acba": self._join}

    def _ordered(self, name: str, captions: Captions) -> Captions:
        only = self._only.get(name)
        part = [
            pair
            for pair in captions
            if is_held_out(pair[0]) is (self._part == PARTS[0])
            and (only is None or pair[0] in only)
        ]
        return sorted(part, key=lambda pair: hashlib.sha256(f"{name}/{pair[0]}".encode()).digest())

    def _probe(self, kind: Probe) -> Iterator[JudgedText]:
        tagger, (dataset, captions) = EmbeddedTagger(), self._sounds
        for id_, caption in self._ordered(kind.value, captions):
            outcome = TOOLS[kind](caption, tagger)
            yield JudgedText(kind.value, dataset, id_, caption, outcome.text, outcome.reason or "")

    def _music(self, name: str) -> Iterator[tuple[str, TaggedRecording, str, TagVocabulary]]:
        """The two datasets in turn: recording, caption or description, vocabulary."""
        sources = [
            (JAMENDO, "autotagging-validation.tsv", "autotagging-validation.tsv"),
            (LP, "caption_writing.json", "msd_tags.json"),
        ]
        queues = []
        for dataset, file, tags in sources:
            folder = self._data / dataset
            items = {item.id: item for item in read_items(folder / file)}
            words = read_vocabulary(folder / tags)
            ordered = self._ordered(name, [(id_, "") for id_ in items])
            queues.append([(dataset, items[id_], words) for id_, _ in ordered])
        for at in range(max(map(len, queues))):
            for queue in queues:
                if at < len(queue):
                    dataset, item, words = queue[at]
                    frame = int(_rng(name, item.id).integers(FRAMES))
                    yield dataset, item, item.caption or describe(item.tags, (), frame).text, words

    def _negate(self, mode: NegationExtent) -> Iterator[JudgedText]:
        name = f"negate-{mode}"
        for dataset, item, caption, words in self._music(name):
            negation = Negation(words, natural=True)
            negated = negate(caption, mode, negation, _rng(name, item.id), item.tags)
            yield JudgedText(
                name, dataset, item.id, caption, negated.text, negated.reason * (not negated.text)
            )

    def _swap(self) -> Iterator[JudgedText]:
        dictionaries: dict[str, Dictionary] = {}
        for dataset, item, caption, words in self._music("textswap"):
            if dataset not in dictionaries:
                file = self._data / JAMENDO / "autotagging-validation.tsv"
                tags = [tagged.tags for tagged in read_items(file)] if dataset == JAMENDO else []
                dictionaries[dataset] = Dictionary.of(words, tags)
            swapped = swap(caption, item.tags, dictionaries[dataset], _rng("textswap", item.id))
            reason = "" if swapped.text else "no keyword that surely has a contrary"
            yield JudgedText("textswap", dataset, item.id, caption, swapped.text, reason)

    def _join(self) -> Iterator[JudgedText]:
        """Pairs of captions that can be joined, by a word and a frame that their ids draw."""
        recipe, (dataset, captions) = Acba(relations=ORDER), self._sounds
        waiting: tuple[str, str, Phrase] | None = None
        for id_, caption in self._ordered("acba", captions):
            if reason := recipe.explain(caption):
                yield JudgedText("acba", dataset, id_, caption, "", reason)
                continue
            phrase = recipe.say(caption)
            assert isinstance(phrase, Phrase)
            if waiting is None or share_family(waiting[2].clause, phrase.clause):
                waiting = waiting or (id_, caption, phrase)
                continue
            pair = f"{waiting[0]}+{id_}"
            drawn = hashlib.sha256(pair.encode()).digest()
            word = ORDER[drawn[0] % len(ORDER)]
            frame = drawn[1] % frames(Style.NATURAL)
            first, second = (Event(name, Excerpt(name, 0, 1)) for name in "ab")
            phrases = {"a": waiting[2], "b": phrase}
            text = realize(Concat(first, second), word, phrases.__getitem__, Style.NATURAL, frame)
            yield JudgedText("acba", dataset, pair, f"{waiting[1]} {caption}", text)
            waiting = None


def _rng(name: str, id_: str) -> np.random.Generator:
    seed = int.from_bytes(hashlib.sha256(id_.encode()).digest()[:4], "big")
    return Randomness(seed).at(name, 0)


def _audiocaps(data: Path) -> Captions:
    captions: list[tuple[str, str]] = []
    for split in ("train", "val", "test"):
        captions += _read(data / AUDIOCAPS / f"{split}.csv", "audiocap_id", "caption")
    return captions


def _read(path: Path, id_column: str, column: str) -> Captions:
    with path.open(encoding="utf-8-sig", newline="") as file:
        return [(row[id_column], row[column]) for row in csv.DictReader(file)]


def _write(path: Path, fields: Sequence[str], rows: Sequence[dict[str, str]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, fields, extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def draw(sheets: Sheets, size: int, skip: int) -> list[dict[str, str]]:
    """Texts that each operation makes, in the order of the part, the first ones passed over."""
    return [
        text.row
        for operation in sheets.operations().values()
        for text in islice((text for text in operation() if text.text), skip, skip + size)
    ]


def count(sheets: Sheets) -> Iterator[str]:
    """What share of the captions that hold something to do is left out, and why, as a table."""
    yield "| operation | dataset | asked | left out | reasons |"
    yield "|---|---|---:|---:|---|"
    for name, operation in sheets.operations().items():
        reasons: dict[str, Counter[str]] = {}
        for text in operation():
            reasons.setdefault(text.dataset, Counter())[text.reason] += 1
        for dataset, counts in sorted(reasons.items()):
            left = {reason: n for reason, n in counts.items() if reason not in NOT_ASKED}
            joined = left.pop("", 0) * (2 if name == "acba" else 1)
            total = joined + sum(left.values())
            frequent = sorted(left.items(), key=lambda pair: -pair[1])[:4]
            listed = ", ".join(f"{reason} {n / total:.0%}" for reason, n in frequent)
            left_out = 1 - joined / total if total else 0
            yield f"| {name} | {dataset} | {total:,} | {left_out:.0%} | {listed} |"


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("command", choices=("draw", "strip", "count"))
    parser.add_argument("path", type=Path, help="the folder of datasets, or a judged sheet")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--part", choices=PARTS, default=PARTS[0])
    parser.add_argument("--size", type=int, default=60, help="texts of each operation")
    parser.add_argument("--skip", type=int, default=0, help="texts that were read before")
    parser.add_argument("--again", type=Path, help="a sheet whose captions are drawn again")
    parser.add_argument("--captions", type=Path, help="a CSV of other captions of sounds")
    parser.add_argument("--id-column", default="audiocap_id")
    parser.add_argument("--column", default="caption")
    options = parser.parse_args()
    if options.command == "strip":
        with options.path.open(encoding="utf-8", newline="") as file:
            _write(options.out, FIELDS, list(csv.DictReader(file)))
        return
    others = None
    if options.captions:
        captions = _read(options.captions, options.id_column, options.column)
        others = (options.captions.stem, captions)
    only: dict[str, set[str]] = {}
    if options.again:
        with options.again.open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                only.setdefault(row["operation"], set()).update(row["id"].split("+"))
    sheets = Sheets(options.path, options.part, others, only)
    if options.command == "draw":
        _write(options.out, (*FIELDS, *TEXTS), draw(sheets, options.size, options.skip))
    else:
        print("\n".join(count(sheets)))


if __name__ == "__main__":
    main()

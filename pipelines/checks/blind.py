"""The blind test of an export: are right answers told from wrong ones without any audio?"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from pipelines.checks.exported import AGAIN, read_identity
from synth.base.doors import read_json_lines
from synth.base.errors import CorpusError, SpecError
from synth.base.progress import UNOBSERVED, Observer
from synth.shortcuts.figures import RivalSet, Shortcuts, SplitSentences, draw_groups
from synth.shortcuts.text import measure_texts

_SEED: Final = 0


def run_blind_export(out: Path, most_lines: int, observer: Observer = UNOBSERVED) -> Shortcuts:
    """Try to tell right answers from wrong ones by the texts of an export that has both.

    What is compared are a prompt with its right answer, and the same with its wrong one, by kind.
    In a conversation what was said before stands before it.

    Args:
        most_lines: Groups are drawn until they hold about this many lines of a split.
    """
    refuse_no_answers(out)
    identity = read_identity(out)
    numbers: dict[str, int] = defaultdict(lambda: len(numbers))
    parts = {
        split: SplitSentences(
            {}, list(_compare(_draw_lines(out / f"{split}.jsonl", most_lines), numbers))
        )
        for split in identity["splits"]
    }
    if not any(part.rivals for part in parts.values()):
        raise CorpusError(f"{out}: no line has a wrong answer", fix="export a corpus of groups")
    figures = measure_texts(out, parts, [*numbers], _SEED, observer)
    return Shortcuts(identity["format"], figures)


def refuse_no_answers(out: Path) -> None:
    """Check that an export has wrong answers beside the right ones."""
    name = read_identity(out)["format"]
    if name not in ("chat", "preference", "grpo"):
        raise SpecError(
            f"{out}: exports as {name} have no wrong answers",
            fix="give --blind for chat, preference or grpo, or for the corpus",
        )


def _draw_lines(path: Path, most_lines: int) -> list[dict[str, Any]]:
    sizes = Counter(row["group"] for _, row in read_json_lines(path, fix=AGAIN))
    groups = draw_groups(sizes, most_lines, "blind/export", _SEED)
    return [row for _, row in read_json_lines(path, fix=AGAIN) if row["group"] in groups]


def _compare(rows: list[dict[str, Any]], numbers: dict[str, int]) -> Iterator[RivalSet]:
    """Each right answer and its wrong one; each counts for its kind, and among all.

    Both sides of a contrast count for one group: else a classifier would learn from one what is
    not so of the other. None counts whose other side was not drawn.
    """
    groups: dict[str, int] = defaultdict(lambda: len(groups))
    group_of = {row["samples"][0]: row["group"] for row in rows if "proofs" in row}
    for row in rows:
        earlier = ""
        for place, proof in enumerate(row.get("proofs") or [row["proof"]]):
            prompt = f"{earlier}{proof['prompt']} "
            group = group_of.get(min((*proof["samples"], *proof["others"])), row["group"])
            is_whole = not group_of or group_of.keys() >= {*proof["others"]}
            if proof["wrong"] and is_whole:
                pair = numbers[prompt + proof["answer"]], numbers[prompt + proof["wrong"]]
                for kind in ("", "later turns" if place else proof["kind"]):
                    yield RivalSet(groups[group], kind, pair[0], (pair[1],))
            earlier = f"{prompt}{proof['answer']} "

"""What the exports `chat` and `preference` share: rows, counts, and files for their readers."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any, Final

from synth.derived.contrasts.exchange import KINDS
from synth.export.base import Whole, json_line
from synth.export.folder import Writer

AUDIO: Final = "<audio>"
"""Stands for a recording in a prompt, as ms-swift and LLaMA-Factory have it."""

LEFT_OUT: Final = "left out"


def user(prompt: str, recordings: int = 0) -> dict[str, str]:
    """A turn of the user, after as many recordings."""
    return {"role": "user", "content": AUDIO * recordings + prompt}


def assistant(text: str) -> dict[str, str]:
    """A turn of the assistant."""
    return {"role": "assistant", "content": text}


def row_fault(row: Mapping[str, Any], expected: Mapping[str, Any]) -> str | None:
    """Which part of a stored row is not what its proof makes of it."""
    for key in (*expected, *row):
        if row.get(key) != expected.get(key):
            return f"its {key} are not those of its proof"
    return None


def paths_fault(paths: Any, samples: Sequence[str]) -> str | None:
    """Whether paths lead to other files than those of some samples."""
    if not isinstance(paths, list) or not all(isinstance(path, str) for path in paths):
        return "its audios are no list of paths"
    if [PurePosixPath(path).stem for path in paths] != list(samples):
        return "its audios are not those of its samples"
    return None


def write_counts(out: Writer, counts: Mapping[str, Mapping[str, int]]) -> None:
    """Note how many rows of each kind a shard has, by column of the README's table."""
    with out.piece("counts") as facts:
        facts.write(json_line({column: dict(each) for column, each in counts.items()}))


def sum_counts(whole: Whole) -> dict[str, Counter[str]]:
    """The counts of all shards."""
    found: dict[str, Counter[str]] = {}
    for split in whole.splits:
        for counts in whole.values(split, "counts"):
            for column, each in counts.items():
                found.setdefault(column, Counter()).update(each)
    return found


def tabulate(counts: Mapping[str, Mapping[str, int]], kinds: Iterable[str] = KINDS) -> str:
    """Counts by kind as a table in Markdown; kinds without any are left out."""
    lines = [f"| kind | {' | '.join(counts)} |", "|---|" + "---:|" * len(counts)]
    for kind in kinds:
        numbers = [each.get(kind, 0) for each in counts.values()]
        if any(numbers):
            lines.append(f"| {kind} | {' | '.join(f'{number:,}' for number in numbers)} |")
    return "\n".join(lines)


def describe_export(
    whole: Whole, out: Writer, how: str, layout: Mapping[str, Any]
) -> dict[str, int]:
    """Write README and `dataset_info.json`; the rows of each column of the README's table.

    Args:
        whole: All that is exported.
        out: Where to.
        how: As `Whole.readme` takes it, with TABLE and CORPUS to be filled in.
        layout: What LLaMA-Factory is told of each split.
    """
    _write_dataset_info(whole, out, layout)
    counts = sum_counts(whole)
    whole.readme(out, how.replace("TABLE", tabulate(counts)).replace("CORPUS", whole.corpus.name))
    return {column: each.total() for column, each in counts.items()}


def _write_dataset_info(whole: Whole, out: Writer, layout: Mapping[str, Any]) -> None:
    """Write what LLaMA-Factory asks of a folder: its data sets, one a split."""
    name = whole.corpus.name
    found = {f"{name}_{split}": {"file_name": f"{split}.jsonl", **layout} for split in whole.splits}
    out.write("dataset_info.json", f"{json.dumps(found, indent=2)}\n".encode())

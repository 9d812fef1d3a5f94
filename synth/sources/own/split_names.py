"""Splits that names of files and folders tell, as Hugging Face's libraries read them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from synth.base.errors import SourceError, nearest

WORDS: Final[Mapping[str, tuple[str, ...]]] = {
    "train": ("train", "training"),
    "val": ("validation", "valid", "val", "dev"),
    "test": ("test", "testing", "eval", "evaluation"),
}
_KINDS: Final = {word: kind for kind, words in WORDS.items() for word in words}
_KNOWN: Final = re.compile(
    rf"(?<![^\W\d_])(?:{'|'.join(_KINDS)}|fold[-_ .]?\d+)(?![^\W\d_])", re.IGNORECASE
)
_SHARD: Final = re.compile(r"(?P<split>.+)-\d{5}-of-\d{5}(-[0-9a-f]+)?")
_NUMBERED: Final = re.compile(r"\d{4}")
_PLAIN: Final = frozenset({"", ".", "data", "part", "shard", "chunk", "file"})
"""What comes before a number, and is no name of a split."""


def split_kind(name: str) -> str:
    """`train`, `val`, `test` or `fold 1` for the name of a split; "" for any other name."""
    known = name.strip().casefold() if _KNOWN.fullmatch(name.strip()) else ""
    return _KINDS.get(known, known)


def find_misspelt(names: Iterable[str]) -> list[str]:
    """Names of splits that are nearly such a word, and what was probably meant."""
    near = {name: nearest(name, _KINDS, 0.75) for name in names if not split_kind(name)}
    return [
        f"call split {name!r} of the library {it!r}, if it is" for name, it in near.items() if it
    ]


def find_split(path: Path) -> str:
    """The split that a path names, "" where it names none.

    `CONFIG/SPLIT/0000.parquet` and `SPLIT-00000-of-00002.parquet` may name any. Else it is a name
    that `split_kind` knows, whole before as a part of another.
    """
    *folders, stem = (name.removeprefix("partial-") for name in path.with_suffix("").parts)
    shard = _SHARD.fullmatch(stem)
    own = folders.pop() if folders and _NUMBERED.fullmatch(stem) else ""
    own = shard["split"] if shard else own
    if own.casefold() not in _PLAIN:
        whole = [name for name in folders if split_kind(name)]
        words = _KNOWN.findall(own)
        words_left = [*whole, *words] if whole or len({*map(split_kind, words)}) < 2 else []
        split = own if words or not whole else whole[-1]
    else:
        names = [*folders, stem]
        whole = [name for name in names if split_kind(name)]
        words_left = whole or [part for name in names for part in _KNOWN.findall(name)]
        split = words_left[-1].casefold() if words_left else ""
    if len({split_kind(name) for name in words_left}) > 1:
        raise SourceError(
            f"{path}: names two splits, {' and '.join(dict.fromkeys(words_left))}",
            fix="rename a folder or the file, or give the folder of one split as root",
        )
    return split


@dataclass(frozen=True, slots=True)
class SplitFolders:
    """Which folders of a path are the label and the split of its clip; None for none."""

    label: int = 0
    split: int | None = None

    def read(self, path: Path) -> tuple[tuple[str, ...], str]:
        """Labels and split of the clip at a path below the library's root."""
        folders = _folders(path)
        split = "" if self.split is None else "".join(folders[self.split : self.split + 1])
        return folders[self.label : self.label + 1], split


def find_split_folders(root: Path, paths: Iterable[Path]) -> SplitFolders:
    """What the folders of a library mean, whose labels are folders.

    If all folders of one level are named as splits, they are: the labels are above or below them.
    One such name among others is a label: trains are heard, too.
    """
    clips = {folders for path in paths if (folders := _folders(path))}
    for level in range(max(map(len, clips), default=0)):
        names = {_at(folders, level) for folders in clips}
        splits = {name for name in names if split_kind(name)}
        has_below = all(_at(folders, level + 1) for folders in clips)
        if splits == names and (level or has_below):
            is_above = not level or (has_below and len({folders[0] for folders in clips}) == 1)
            return SplitFolders(level + 1 if is_above else 0, level)
        inside = {_at(folders, level + 1) for folders in clips if _at(folders, level) in splits}
        labels = names - splits | {_at(f, level + 1) for f in clips if _at(f, level) not in splits}
        kinds = {split_kind(name) for name in splits}
        if splits and (splits == names or len(kinds) > 1 or inside & labels - {""}):
            named = " and ".join(sorted(splits))
            raise SourceError(
                f"{root}: folders named {named} may be splits or labels",
                fix="for splits, put folders of labels into each, as in train/dog/0.wav, and "
                "nothing beside them; rename a label; or write index.csv with the columns path, "
                "label and split",
            )
    return SplitFolders()


def _at(folders: Sequence[str], level: int) -> str:
    return folders[level] if len(folders) > level else ""


def _folders(path: Path) -> tuple[str, ...]:
    """The folders of a path below the root; none for a path that leads elsewhere."""
    folders = path.parts[:-1]
    return () if folders[:1] in (("/",), ("..",)) else folders

"""Scores what a model answers to the prompts of an export `grpo`, by the standard library alone.

A copy of this file lies beside the data. TRL calls `reward`; ms-swift reads the file:

    GRPOTrainer(..., reward_funcs=reward)
    swift rlhf --rlhf_type grpo --external_plugins FOLDER/reward.py --reward_funcs segue ...

A completion must end with `<answer>ANSWER</answer>`. Whatever stands before is not read, and at
most 300 characters are allowed between the tags. By the kind of the prompt, ANSWER is:

- `answer`: one of the two answers that the prompt offers, in its words.
- `order`: the sounds that the prompt names, in order, separated by semicolons.
- `count`: a whole number in digits, or a word from zero to ten.
- `interval`, `absent`: stretches in seconds, such as `0.5-2, 3.25-4` or `0.5 s - 2 s`, at most 16
  of them, with at most three decimals; or `none`.

In ANSWER, case, spaces, quotation marks, asterisks, the kind of dash and of apostrophe, and a full
stop or semicolon at its end do not matter. Stretches score the length that they share with the
right ones over the length that either covers.
Everything else scores 1 or 0, and so does `none`.
"""

from __future__ import annotations

import importlib
import re
import sys
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

SCORED_KINDS: Final = ("answer", "order", "count", "interval", "absent")
"""Kinds of prompts, by how an answer is scored."""
ANSWER, ORDER, COUNT, INTERVAL, ABSENT = SCORED_KINDS

NONE: Final = "none"
"""The answer to when a sound is heard that is not."""
PART: Final = ";"
"""Parts the sounds of an order."""
MOST_STRETCHES: Final = 16
MOST_CHARACTERS: Final = 300

_OPEN: Final = "<answer>"
_CLOSE: Final = "</answer>"
_READ: Final = MOST_CHARACTERS + 50
"""The tags, and a few line breaks."""
_NUMBERS: Final = (
    *("zero", "one", "two", "three", "four", "five"),
    *("six", "seven", "eight", "nine", "ten"),
)
_DASHES: Final = range(0x2010, 0x2016)
_PLAIN: Final = {
    **dict.fromkeys((*_DASHES, 0x2212), "-"),
    **dict.fromkeys((0x2018, 0x2019), "'"),
    **dict.fromkeys(map(ord, '*`"\N{LEFT DOUBLE QUOTATION MARK}\N{RIGHT DOUBLE QUOTATION MARK}')),
}
"""Letters that models write in place of others, or beside them."""
_TIME: Final = r"([0-9]{1,5})(?:\.([0-9]{1,3}))?(?: ?s| seconds?)?"
_STRETCH: Final = re.compile(rf" ?{_TIME} ?- ?{_TIME} ?")
_STRETCHES: Final = re.compile(
    rf"{_STRETCH.pattern}(?:,{_STRETCH.pattern}){{0,{MOST_STRETCHES - 1}}}"
)


def reward(
    completions: Sequence[Any], solution: Sequence[Any], kind: Sequence[Any], **columns: Any
) -> list[float | None]:
    """The reward of each completion, from 0 to 1.

    Args:
        completions: Texts, or lists of messages of which the last one counts.
        solution: That column of the data, a value for each completion.
        kind: That column, too. None is the reward of rows of other data: without such a kind, or
            without a solution.
        columns: Whatever else a trainer passes; not read.
    """
    return [
        score(which, completion, right)
        if isinstance(which, str) and which in _READERS and isinstance(right, str)
        else None
        for completion, right, which in zip(completions, solution, kind, strict=True)
    ]


def score(kind: str, completion: Any, solution: str) -> float:
    """The reward of one completion."""
    answer = find_answer(completion)
    if answer is None:
        return 0.0
    read = _READERS[kind]
    given, right = (read(_simplify(text)) for text in (answer, solution))
    if given is None or right is None:
        return 0.0
    if isinstance(given, list):
        return _measure_overlap(given, right)
    return float(given == right)


def wrap(answer: str) -> str:
    """An answer as a completion must end with it."""
    return f"{_OPEN}{answer}{_CLOSE}"


def find_answer(completion: Any) -> str | None:
    """What a completion ends with between the tags; only its last characters are looked at."""
    if isinstance(completion, list) and completion and isinstance(completion[-1], Mapping):
        completion = completion[-1].get("content")
        if isinstance(completion, list):  # parts, as of multimodal models
            texts = [part.get("text") for part in completion if isinstance(part, Mapping)]
            completion = texts[-1] if texts else None
    if not isinstance(completion, str):
        return None
    end = completion[-_READ:].rstrip().rstrip("*`").rstrip()
    begin = end.rfind(_OPEN)
    if begin < 0 or not end.endswith(_CLOSE):
        return None
    answer = end[begin + len(_OPEN) : -len(_CLOSE)]
    return None if "<" in answer or len(answer) > MOST_CHARACTERS else answer


def _simplify(text: str) -> str:
    return unicodedata.normalize("NFC", text.translate(_PLAIN)).strip().removesuffix(PART)


def _read_words(text: str) -> str | None:
    return " ".join(text.casefold().split()).strip(" '").removesuffix(".").strip(" '") or None


def _read_order(text: str) -> tuple[str | None, ...] | None:
    sounds = tuple(map(_read_words, text.split(PART)))
    return sounds if all(sounds) else None


def _read_count(text: str) -> int | None:
    word = _read_words(text) or ""
    if word in _NUMBERS:
        return _NUMBERS.index(word)
    return int(word) if word.isascii() and word.isdigit() and len(word) < 4 else None


def _read_stretches(text: str) -> list[tuple[int, int]] | None:
    """Stretches in milliseconds, united and in order of time; none for `NONE`."""
    if _read_words(text) == NONE:
        return []
    text = " ".join(text.casefold().split()).removesuffix(".")
    if not _STRETCHES.fullmatch(text):
        return None
    times = sorted(
        (int(f"{start}{more:0<3}"), int(f"{end}{beyond:0<3}"))
        for start, more, end, beyond in _STRETCH.findall(text)
    )
    if any(onset >= offset for onset, offset in times):
        return None
    united = times[:1]
    for onset, offset in times[1:]:
        if onset <= united[-1][1]:
            united[-1] = united[-1][0], max(united[-1][1], offset)
        else:
            united.append((onset, offset))
    return united


def _measure_overlap(given: Sequence[tuple[int, int]], right: Sequence[tuple[int, int]]) -> float:
    if not given or not right:
        return float(given == right)
    shared = i = j = 0
    while i < len(given) and j < len(right):
        shared += max(0, min(given[i][1], right[j][1]) - max(given[i][0], right[j][0]))
        if given[i][1] < right[j][1]:
            i += 1
        else:
            j += 1
    covered = sum(offset - onset for onset, offset in (*given, *right)) - shared
    return shared / covered


_READERS: Final[Mapping[Any, Callable[[str], Any]]] = {
    ANSWER: _read_words,
    ORDER: _read_order,
    COUNT: _read_count,
    INTERVAL: _read_stretches,
    ABSENT: _read_stretches,
}


class PluginReward:
    """`reward`, as ms-swift makes and calls it."""

    def __init__(self, *_: Any, **__: Any) -> None:
        """Takes the settings of a run, and needs none."""

    def __call__(self, completions: Sequence[Any], **columns: Any) -> list[float | None]:
        """The reward of each completion."""
        return reward(completions, **columns)


if "swift" in sys.modules:  # ms-swift reads this file; others with it at hand may do so, too
    with suppress(ImportError):
        importlib.import_module("swift.rewards").orms["segue"] = PluginReward

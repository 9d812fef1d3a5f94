"""Remedies: the setting that would have kept refused clips, by the reason of their refusal.

Reasons lie in manifests, where they never change; what to do about them is told from here.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from synth.labels.lexicon import spell_listed
from synth.labels.own import name_of

Row: TypeAlias = Mapping[str, Any]
_NAMED: Final = 3
"""Labels that a remedy names."""


def below(numbers: Sequence[str]) -> str:
    """A number that is surely below those that were rounded to these."""
    return _round_down(numbers, 1)


def half_below(numbers: Sequence[str]) -> str:
    """Half of it."""
    return _round_down(numbers, 2)


def _round_down(numbers: Sequence[str], parts: int) -> str:
    digits = 10 ** len(numbers[0].partition(".")[2])
    least = min(map(_read, numbers)) - 0.5 / digits
    return f"{max(0, math.floor(digits * least / parts)) / digits:g}"


def above(numbers: Sequence[str]) -> str:
    """A whole number above all of them."""
    return f"{math.floor(max(map(_read, numbers))) + 1}"


def least(numbers: Sequence[str]) -> str:
    """The least of them."""
    return f"{min(map(_read, numbers)):g}"


def most(numbers: Sequence[str]) -> str:
    """The greatest of them."""
    return f"{max(map(_read, numbers)):g}"


def _read(number: str) -> float:
    return float(number.replace(",", ""))


@dataclass(frozen=True, slots=True)
class Remedy:
    """What would have kept clips.

    Args:
        reason: Matches the reason; its group is a number.
        setting: By its path in a spec; `{recipe}` stands for the recipe that refused the clip.
        choose: Its value, by the numbers of all clips.
    """

    reason: re.Pattern[str]
    setting: str
    choose: Callable[[Sequence[str]], str]


_NUMBER: Final = r"([\d.,]*\d)"
_REMEDIES: Final = tuple(
    Remedy(re.compile(reason.replace("#", _NUMBER)), setting, choose)
    for reason, setting, choose in (
        ("is too short: # s of sound; a crossfade", "recipe.{recipe}.crossfade_s", half_below),
        (r"is too short: # s .*\(truth\.min_overlap_s\)", "truth.min_overlap_s", below),
        (r"(?:is too short:|lasts) # s.*; clips\.min_active_s", "clips.min_active_s", below),
        (r"lasts # s; clips\.max_s", "clips.max_s", above),
        (r"is sampled at # Hz; clips\.min_rate", "clips.min_rate", least),
        (r"is sampled at # Hz; clips\.max_rate", "clips.max_rate", most),
        (r"has # channels; clips\.max_channels", "clips.max_channels", most),
        ("is too quiet: .* still # dB below", "audio.max_below_db", above),
        (r"is audible for at most # s", "truth.blip_s", below),
        ("is heard too seldom: .* a crossfade of #", "recipe.{recipe}.crossfade_s", lambda _: "0"),
        ("holds .*, but its name ends in ", "clips.mislabelled", lambda _: "accept"),
    )
)
_UNCOUNTABLE: Final = "has a label that names no short event"
_TWO_LABELS: Final = re.compile(r"is one sound under two labels: .* \((.*)\) and .* \((.*)\)")
_TOO_LONG: Final = "holds no single sound of at most"
_MISLEADING: Final = re.compile(r"has '(.*)' in its label")


def with_clip(row: Row, clip: Row | None) -> Row:
    """A row of `schema.QUARANTINE` with what `find_remedy` asks of its clip, if that is known."""
    if clip is None:
        return row
    seconds = (clip["offset"] - clip["onset"]) / clip["sample_rate"]
    return {**row, "labels": clip["labels"], "seconds": seconds}


def find_remedy(rows: Sequence[Row]) -> str:
    """The setting that keeps clips that were refused for one kind of reason, "" for none.

    Args:
        rows: Of `schema.QUARANTINE`, with the `labels` and `seconds` of those that are catalogued.
    """
    first = rows[0]["reason"]
    for remedy in _REMEDIES:
        if remedy.reason.match(first):
            found = [match for row in rows if (match := remedy.reason.match(row["reason"]))]
            value = remedy.choose([(*match.groups(), "")[0] for match in found])
            recipe = rows[0].get("stage", "").removeprefix("recipe ")
            return f"`{remedy.setting.format(recipe=recipe)}: {value}` keeps {_them(rows)}"
    labels = list(dict.fromkeys(name_of(label) for row in rows for label in row.get("labels", ())))
    named = labels[:_NAMED]
    if first.startswith(_UNCOUNTABLE) and named:
        told = ", ".join(f"{label}: {{countable: true}}" for label in named)
        return f"`labels: {{{told}}}` keeps {_them(rows)}, if each is one short event"
    if first.startswith(_TOO_LONG) and "seconds" in rows[0]:
        longest = math.ceil(10 * max(row["seconds"] for row in rows)) / 10
        told = f"`recipe.counts.max_event_s: {longest:g}` with `audio.length: natural`"
        return f"{told} keeps those that are one sound, and begin once"
    if match := _TWO_LABELS.match(first):
        for label, other in (match.groups(), match.groups()[::-1]):
            if spell_listed(other):
                both = f"`labels: {{{name_of(label)}: {{also: [{name_of(other)}]}}}}`"
                return f"{both} keeps one, if both are right"
    if match := _MISLEADING.match(first):
        return f"word {', '.join(named)} under `labels`, without {match[1]!r}"
    return ""


def _them(rows: Sequence[Row]) -> str:
    return "it" if len(rows) == 1 else "them"


# What would have made the groups that a plan goes without.


_GROUPS: Final = {
    "too few clips for two orders": "add another recording of one of the two labels",
    "no two clips are heard both": "add recordings of these labels, or let sounds last longer "
    "(max_event_s, audio.length)",
    "no sound of the clip is surely": "use sounds that begin at once, and are over",
    "no clips are found of which the attribute": "leave these out of "
    "`recipe.attributes.attributes`, or add other sounds",
    "its tags tell it from no other": "add clips with other tags, or set `style: paper`",
}
_SOUNDS: Final = re.compile(r", (\d+) sounds")


def advise_groups(reason: str, examples: Sequence[str], labels: int) -> str:
    """What would have made groups that are left out, "" where nobody knows.

    Args:
        labels: Those of which the split has clips.
    """
    counts = [int(found[1]) for example in examples if (found := _SOUNDS.search(example))]
    if reason.startswith("no pair of kind"):
        if labels < 3 or max(counts, default=0) < labels:
            return f"add sounds of other labels than these {labels}"
        return f"`recipe.edits.max_events: {labels - 1}` leaves a label to exchange"
    return next((told for start, told in _GROUPS.items() if reason.startswith(start)), "")

"""Counting: how often a sound is heard, in words."""

from __future__ import annotations

from typing import Final

from synth.captions.caption import Caption, Phrases, Style, capitalise
from synth.scene.claim import Count
from synth.scene.scene import Event

TIMES: Final = ("once", "twice", "three times", "four times", "five times")
"""The words for 1 to 5."""

_FRAMES: Final = {
    Style.PAPER: ("{sound.plain} {times}",),
    Style.NATURAL: ("{sound.clause} {times}", "{sound.clause} just {times}"),
}


def counting_frames(style: Style) -> int:
    """How many sentence frames a style has."""
    return len(_FRAMES[style])


def say_count(label: str, times: int, phrases: Phrases, style: Style, frame: int = 0) -> Caption:
    """The caption that says how often a sound is heard: "A dog barks three times".

    Args:
        label: Of the sound.
        times: 1 to 5.
        phrases: How a label is said.
        style: `paper` says the label; `natural` writes a sentence.
        frame: Which sentence frame to use, from 0 to `counting_frames(style) - 1`.
    """
    words = TIMES[times - 1]
    text = _FRAMES[style][frame].format(sound=phrases(label), times=words)
    said = text if style is Style.PAPER else capitalise(text)
    claim = Count(Event(label), times)
    return Caption(said, claim, "caption", words, f"rule:count/{style.value}/{frame}")

"""The words of prompts: several ways to ask for each kind of answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import permutations
from typing import Final

from synth.captions.caption import capitalise
from synth.captions.dense import Resolution
from synth.derived.questions.question import YES_NO, QuestionKind

FIRST: Final = "the first"
SECOND: Final = "the second"

DESCRIBING: Final = (
    "What do you hear?",
    "Describe this recording in one sentence.",
    "Write a caption for this recording.",
    "What happens in this recording?",
    "Say in a sentence what can be heard.",
)
TIMING: Final[Mapping[Resolution, tuple[str, ...]]] = {
    Resolution.STRETCH: (
        "List every stretch in which a sound is clearly heard, with its times in seconds.",
        "Say what you hear and when, in seconds; leave out the pauses within a sound.",
        "Write down each time that a sound sets in and stops, in seconds.",
    ),
    Resolution.SOUND: (
        "Say of each sound from when to when you hear it, in seconds.",
        "List the sounds with their first and last moment in seconds.",
        "When does each sound begin, and when is it over? Answer in seconds.",
    ),
    Resolution.SCENE: (
        "Divide the recording where the sounds change, and say what is heard in each part.",
        "Go through the recording in order of time: what is heard together, and from when to when?",
        "Describe the recording part by part, with times in seconds, silence included.",
    ),
}
COMPARING: Final = (
    "What is the difference between the two recordings?",
    "How does the second recording differ from the first?",
    "Compare the two recordings: what is different?",
    "What tells these two recordings apart?",
)
_WHICH: Final = (
    "Which of the two recordings fits this caption: “{text}”?",
    "Is this true of the first recording or of the second? “{text}”",
    "One of the two recordings is described by “{text}”. Which one?",
)
_NAMED: Final = (QuestionKind.TREND, QuestionKind.LONGER, QuestionKind.LOUDER)
"""Kinds of which each text names both answers."""


def ask_which(text: str) -> list[str]:
    """Every way to ask which of two recordings a caption fits."""
    quoted = capitalise(text.rstrip("."))
    return [frame.format(text=quoted) for frame in _WHICH]


def put_question(kind: QuestionKind, text: str, options: Sequence[str]) -> list[str]:
    """Every way to put a question, with its options behind it or without.

    Args:
        kind: Of the question.
        text: Its text.
        options: Two answers; yes and no are not named.

    Returns:
        The way without options first, unless the text needs them.
    """
    if kind in YES_NO or kind in _NAMED:
        return [text]
    named = [f"{text} {capitalise(a)} or {b}?" for a, b in permutations(options, 2)]
    return named if "these sounds" in text else [text, *named]

"""A paraphrase counts, measures and compares as its caption does."""

from __future__ import annotations

import pytest

from synth.llm.checks.figure_checks import find_measures
from tests.synth.llm.test_review import faults


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("A dog barks twice", {"2 times": 1}),
        ("A dog barks two times", {"2 times": 1}),
        ("A dog barks a single time", {"1 times": 1}),
        ("Rain falls for about three seconds", {"3 seconds": 1}),
        ("It rains for some 3.0 seconds", {"3 seconds": 1}),
        ("A dog barks, then once more, softer", {"quieter": 1}),
        ("Among the sounds are a dog and a bell", {}),
        ("At the beginning, a dog barks", {"at the start": 1}),
    ],
)
def test_measures_are_found_in_other_words(text: str, found: dict[str, int]) -> None:
    assert find_measures(text) == found


@pytest.mark.parametrize(
    ("caption", "text"),
    [
        ("A dog barks twice", "There is the bark of a dog"),
        ("A dog barks twice", "A dog barks three times in all"),
        ("A dog barks", "A dog is heard to bark just once"),
        ("Rain falls for about three seconds", "Rain can be heard falling for a while"),
        ("A dog barks, then again, this time louder", "A dog barks and then barks once again"),
        ("A dog barking is louder than rain falling", "Rain falling is louder than a dog barking"),
        ("A dog barks at the end", "A dog is barking in this recording"),
    ],
)
def test_a_paraphrase_that_measures_otherwise_is_refused(caption: str, text: str) -> None:
    assert faults("paraphrase", caption, {"paraphrases": [text]})


@pytest.mark.parametrize(
    ("caption", "text"),
    [
        ("A dog barks twice", "Two times, a dog barks"),
        ("Rain falls for about three seconds", "For some three seconds rain falls"),
        ("A dog barking is louder than rain falling", "The dog barking is louder than the rain"),
        ("A dog barks at the start", "At the beginning a dog is barking"),
    ],
)
def test_a_paraphrase_may_measure_in_other_words(caption: str, text: str) -> None:
    assert not faults("paraphrase", caption, {"paraphrases": [text]})

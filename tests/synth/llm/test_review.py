"""What a review found that the checks let through, or should not have refused."""

from __future__ import annotations

from typing import Any

import pytest

from synth.llm.prompt import load_prompt
from synth.llm.reply import PromptItem


def faults(prompt: str, caption: str, answer: dict[str, Any]) -> list[str]:
    return load_prompt(prompt).faults(PromptItem("1", {"caption": caption}), answer)


@pytest.mark.parametrize(
    ("caption", "text"),
    [
        ("A man and a woman speak", "A woman and a man speak"),
        ("Rain and wind blow", "Wind and rain blow"),
        (
            "A man and a woman talk while a dog barks",
            "A woman and a man talk while a dog barks",
        ),
        ("A dog barks and a cat meows", "A dog and a cat bark and meow"),
    ],
)
def test_sources_that_share_a_verb_are_not_traded(caption: str, text: str) -> None:
    assert faults("binding-negatives", caption, {"negatives": [text]})


def test_a_trade_of_sources_is_taken() -> None:
    caption, text = "A dog barks while a cat meows", "A dog meows while a cat barks"
    assert not faults("binding-negatives", caption, {"negatives": [text]})


@pytest.mark.parametrize(
    "text",
    [
        "A bell rings while no dog barks",
        "A bell rings, then a dog barks no more",
        "A bell does not ring before a dog barks",
    ],
)
def test_a_denial_is_no_other_order(text: str) -> None:
    answer = {
        "notation": "dog barks + bell rings",
        "negatives": [{"caption": text, "notation": "bell rings + dog barks"}],
    }
    assert faults("order-negatives", "A dog barks before a bell rings", answer)


@pytest.mark.parametrize(
    ("caption", "text"),
    [
        ("A dog barks before a bell rings", "A dog barks while a bell rings"),
        ("A dog barks before a bell rings", "A dog barks as a bell rings"),
        ("A dog barks while a bell rings", "A dog barks, then a bell rings"),
        ("A dog barks before a bell rings", "A bell rings; a dog barks later"),
    ],
)
def test_a_paraphrase_keeps_how_sounds_lie_in_time(caption: str, text: str) -> None:
    assert faults("paraphrase", caption, {"paraphrases": [text]})


def test_a_paraphrase_may_turn_the_sentence_round_with_its_word() -> None:
    caption, text = "A dog barks before a bell rings", "A bell rings after a dog barks"
    assert not faults("paraphrase", caption, {"paraphrases": [text]})

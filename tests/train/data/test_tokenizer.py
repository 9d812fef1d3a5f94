"""The word-level tokenizer."""

import torch
from hypothesis import given
from hypothesis import strategies as st

from train.data.tokenizer import TextTokenizer

WORDS = ["a", "dog", "barks", "before", "after", "rain", "falls"]


def test_known_words_are_told_apart_and_their_case_is_not() -> None:
    tokenizer = TextTokenizer.of_texts(["A dog barks before rain falls", "Rain"])
    ids = tokenizer(["Rain falls before a DOG barks", "rain falls before a dog barks"])
    assert torch.equal(ids.ids[0], ids.ids[1])
    assert len(set(ids.ids[0].tolist())) == 6
    assert ids.mask.all()


def test_unknown_words_are_told_apart_from_padding() -> None:
    tokenizer = TextTokenizer.of_texts(["a dog"])
    ids = tokenizer(["a zebra", "a", ""])
    assert ids.ids[0, 0] == ids.ids[1, 0]
    assert len({int(ids.ids[0, 0]), int(ids.ids[0, 1]), int(ids.ids[1, 1])}) == 3
    assert ids.mask.tolist() == [[True, True], [True, False], [True, False]]


@given(st.lists(st.lists(st.sampled_from(WORDS), min_size=1), min_size=1))
def test_ids_depend_on_the_set_of_words_alone_and_survive_saving(texts: list[list[str]]) -> None:
    sentences = [" ".join(words) for words in texts]
    first = TextTokenizer.of_texts(sentences)
    second = TextTokenizer.of_texts(reversed(sentences + sentences))
    assert first.to_json() == second.to_json()
    again = TextTokenizer.from_json(first.to_json())
    assert torch.equal(first(sentences).ids, again(sentences).ids)
    assert len(first) == len({word for words in texts for word in words}) + 2

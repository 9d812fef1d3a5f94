"""Which texts a batch learns from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import chain
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from synth.base.errors import SpecError
from synth.corpus.corpus import Corpus
from synth.labels.lexicon import Tag
from synth.text.negation.negators import shipped_negators
from synth.text.tags.tags import TagVocabulary
from train.config.loss import InfoNce, Modular
from train.config.run import AudioMode, Stage
from train.config.text import Ramp, TextSampling
from train.data.rows import Row
from train.data.split import SplitData
from train.data.texts import TextSampler, added_words
from train.data.tokenizer import TextTokenizer

HARD = Stage(steps=1)
MODULAR = Stage(steps=1, loss=Modular())
TAGGED = {
    "source": {"jam": {"tracks": 24}},
    "recipe": {"negation": {}},
    "audio": {"sample_rate": 8000, "length": "exact 1 s"},
    "splits": {"train": 0.8, "val": 0.2},
}


@pytest.fixture(scope="module")
def music(build_corpus: Callable[..., Path]) -> SplitData:
    return SplitData(Corpus.open(build_corpus(**TAGGED)), "train", AudioMode.SHARDS)


def sampler(data: SplitData, **changes: object) -> TextSampler:
    return TextSampler.of(TextSampling(**changes), data.tags, seed=0)


def rows(data: SplitData) -> list[Row]:
    return data.rows(range(len(data)))


def test_texts_are_drawn_by_step_and_sample_and_true_of_their_owner(data: SplitData) -> None:
    twelve = data.rows(range(12))
    drawn = sampler(data).texts(twelve, HARD, 3)
    assert drawn == sampler(data).texts(twelve, HARD, 3)
    assert sampler(data).texts(twelve[::-1], HARD, 3).captions == drawn.captions[::-1]
    assert len({sampler(data).texts(twelve, HARD, step).captions for step in range(5)}) == 5
    texts = sampler(data).texts(rows(data), MODULAR, 0)
    for number, row in enumerate(rows(data)):
        true = {row["caption"], *(text["text"] for text in row["positives"])}
        false = {text["text"] for text in row["negatives"]}
        assert texts.captions[number] in true
        assert set(texts.positives[number]) == true - {texts.captions[number]}
        assert set(texts.negatives[number]) == false


def test_a_stage_gets_its_roles_and_relations_and_no_others(data: SplitData) -> None:
    plain = sampler(data).texts(rows(data), Stage(steps=1, loss=InfoNce()), 0)
    assert not any(plain.positives + plain.negatives + plain.denied)
    assert not any(sampler(data).texts(rows(data), HARD, 0).positives)
    stage = Stage(steps=1, relations=("before",), loss=Modular())
    texts = sampler(data).texts(data.rows(data.pool(stage).tolist()), stage, 0)
    said = [*texts.captions, *chain.from_iterable(texts.positives + texts.negatives)]
    assert all(" before " in text for text in said)
    texts = sampler(data, restatements=False).texts(rows(data), HARD, 5)
    assert list(texts.captions) == [row["caption"] for row in rows(data)]


def test_tags_take_the_place_of_captions_as_the_ramp_asks(music: SplitData) -> None:
    told = sampler(music, p_caption=Ramp(start=1, end=0, after=10))
    before, after = (told.texts(rows(music), HARD, step).captions for step in (9, 10))
    joined = [", ".join(tag.name for tag in music.tags[row["clips"][0]]) for row in rows(music)]
    assert list(after) == joined
    assert not set(before) & set(joined)
    half = sampler(music, p_caption=Ramp(start=0.5, end=0.5))
    shares = [
        sum(text in joined for text in half.texts(rows(music), HARD, step).captions) / len(joined)
        for step in range(20)
    ]
    assert 0.35 < sum(shares) / len(shares) < 0.65


def test_a_denial_of_an_absent_tag_is_put_in(music: SplitData) -> None:
    stage = Stage(steps=1, loss=InfoNce())
    denying = sampler(music, restatements=False, p_insert=Ramp(start=1, end=1))
    texts = denying.texts(rows(music), stage, 0).captions
    vocabulary = TagVocabulary.of(tag for tags in music.tags.values() for tag in tags)

    def named(text: str) -> set[Tag]:
        return {match.tag for match in vocabulary.find(text)}

    changed = 0
    for row, text in zip(rows(music), texts, strict=True):
        if text != row["caption"]:
            changed += 1
            (added,) = named(text) - named(row["caption"])
            assert added not in music.tags[row["clips"][0]]
            assert any(negator in text.lower() for negator in shipped_negators().plain)
    assert changed > 0.9 * len(texts)


def test_a_sound_that_is_not_there_is_denied(data: SplitData) -> None:
    clips = {row["clips"][0]: row for row in rows(data)}
    names = ["dog", "rain", "sea waves", "siren"]
    tags = {clip: [Tag("sound", names[at % 4])] for at, clip in enumerate(sorted(clips))}
    denying = TextSampler.of(TextSampling(p_insert=Ramp(start=1, end=1)), tags, seed=0)
    told = [row.retell(caption=f"A {tags[clip][0].name}.") for clip, row in clips.items()]
    texts = denying.texts(told, Stage(steps=1, loss=InfoNce()), 0).captions
    assert all(
        any(negator in text.lower() for negator in shipped_negators().plain) for text in texts
    )


def test_tags_that_are_not_there_or_cannot_be_denied_are_told(data: SplitData) -> None:
    inserting = TextSampling(p_insert=Ramp(start=0.6, end=0.6))
    with pytest.raises(SpecError, match=r"text\.p_insert .* none of the 2 tags .*'Brazilian'"):
        TextSampler.of(inserting, {"a": [Tag("", "Brazilian")], "b": [Tag("", "for work")]}, 0)
    with pytest.raises(SpecError, match=r"text\.p_insert needs tags"):
        sampler(data, p_insert=Ramp(start=0, end=0.5))
    assert TextSampler.of(TextSampling(), {"a": [Tag("", "rock")]}, 0)


@pytest.mark.parametrize("stage", [HARD, MODULAR])
def test_the_same_denial_is_put_into_false_captions(music: SplitData, stage: Stage) -> None:
    plain, denying = (sampler(music, p_insert=Ramp(start=p, end=p)) for p in (0, 1))
    words = TagVocabulary.of(tag for tags in music.tags.values() for tag in tags)

    def added(text: str, before: str) -> set[Tag]:
        return set(words.find_tags(text)) - set(words.find_tags(before))

    changed = compared = 0
    for step in range(3):
        without, with_ = (each.texts(rows(music), stage, step) for each in (plain, denying))
        for at, caption in enumerate(with_.captions):
            before = [without.captions[at], *without.positives[at], *without.negatives[at]]
            after = [caption, *with_.positives[at], *with_.negatives[at]]
            for new, old in zip(after, before, strict=True):
                assert {*words.find_tags(old)} <= {*words.find_tags(new)}, "a name was parted"
            denied = [added(new, old) for new, old in zip(after, before, strict=True)]
            assert all(each == denied[0] for each in denied)
            assert denied[0].isdisjoint(music.tags[rows(music)[at]["clips"][0]])
            changed += bool(denied[0])
            compared += len(denied) - 1
    assert changed > 0.7 * 3 * len(rows(music))
    assert compared > 20


def test_the_fully_negated_caption_is_told_apart(music: SplitData) -> None:
    stage = Stage(steps=1, loss=InfoNce(), dissimilarity=0.1)
    texts = sampler(music).texts(rows(music), stage, 0)
    full = {
        text["text"]
        for row in rows(music)
        for text in row["negatives"]
        if text["kind"] == "negate-full"
    }
    assert set(chain.from_iterable(texts.denied)) == full
    assert max(map(len, texts.denied)) == 1
    assert not any(texts.negatives)


def test_what_settings_add_is_known_and_a_part_told_by_its_own_tags(music: SplitData) -> None:
    assert added_words(TextSampling(), music.tags) == frozenset()
    added = added_words(TextSampling(p_insert=Ramp(start=0.5, end=0.5)), music.tags)
    assert {"without", *(tag.name for tags in music.tags.values() for tag in tags)} <= added
    first, second = rows(music)[:2]
    clips = [*first["clips"], *second["clips"]]
    both = replace(first.retell(clips=clips), crop_clips=tuple(second["clips"]))
    (text,) = (
        sampler(music, p_caption=0.0).texts([both], Stage(steps=1, loss=InfoNce()), 0).captions
    )
    assert text == ", ".join(tag.name for tag in music.tags[second["clips"][0]])


def test_captions_of_clips_without_label_or_tag_mean_what_they_say(data: SplitData) -> None:
    (row,) = data.rows([0])
    nameless = row.retell(claim='{"event":"music"}', positives=[])
    told = [nameless.retell(caption=text) for text in ("a hum", "a hiss", "a hum")]
    meanings = sampler(data).texts(told, Stage(steps=1), 0).meanings
    assert meanings[0] == meanings[2] != meanings[1]


# The word-level tokenizer.


WORDS = ["a", "dog", "barks", "before", "after", "rain", "falls"]


def test_words_are_told_apart_from_others_and_from_padding() -> None:
    tokenizer = TextTokenizer.of_texts(["A dog barks before rain falls", "Rain"])
    ids = tokenizer(["Rain falls before a DOG barks", "rain falls before a dog barks"])
    assert torch.equal(ids.ids[0], ids.ids[1])
    assert len(set(ids.ids[0].tolist())) == 6
    assert ids.mask.all()
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

"""Questions: answers that a second judge confirms, and texts that betray nothing."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from synth.base.rng import Randomness
from synth.derived.asking import ask, find_only_answer
from synth.derived.questions import (
    ANCHORED,
    ASKED_KINDS,
    ENDS,
    MEASURED,
    NUMBERS,
    YES_NO,
    Question,
    QuestionKind,
    Subject,
)
from synth.derived.wording import list_frames, wordings
from synth.labels.lexicon import Phrase, are_kin
from synth.recipes.acba import Acba
from synth.recipes.composing import Background
from synth.recipes.scenes import Scenes
from synth.recipes.triplets import Triplets
from synth.scene.claim import claim_labels
from synth.scene.scene import Concat, Event, Overlay, Scene, labels
from synth.scene.timeline import Timeline
from synth.truth.relations import Tolerance
from tests.kit import asked
from tests.kit.asked import subject
from tests.kit.cases import cases
from tests.kit.planned import make_clip
from tests.kit.timelines import NAMES, any_timelines, line
from tests.synth.truth.oracle import Oracle, find_borders

TIMELINES = any_timelines()
TOLERANCES = st.builds(Tolerance, st.just(0), st.integers(1, 4))


@st.composite
def batches(draw: st.DrawFn) -> list[Subject]:
    """A few samples, some of them of one group."""
    heard = draw(st.lists(TIMELINES, min_size=1, max_size=6))
    tolerance = draw(TOLERANCES)
    return [
        subject(each, number, draw(st.integers(0, 2)), tolerance)
        for number, each in enumerate(heard)
    ]


# The oracle: a second judge of the relations of two sounds, who has nothing of `synth.truth`.


def read_labels(question: Question, who: Subject) -> tuple[str | None, tuple[str, ...]]:
    """The label that a question is anchored at, and those that it or its options name."""
    if question.kind is QuestionKind.COUNT:
        return None, ()
    if question.kind in YES_NO:
        claim = question.options["yes"]
        assert isinstance(claim, Event | Concat | Overlay)
        return None, labels(claim)
    named = [claim_labels(claim) for claim in question.options.values()]
    if question.kind in ENDS:  # each claim tells of everything that is heard
        nouns = {who.phrase(label).noun: label for label in set().union(*named)}
        return None, tuple(nouns[option] for option in question.options)
    (anchor,) = named[0].intersection(*named)
    return anchor, tuple(label for pair in named for label in pair - {anchor})


class Answers:
    """The only answers that can be given, from the labels that questions name."""

    def __init__(self, who: Subject) -> None:
        self.who = who
        self.judge = Oracle(who.timeline, who.tolerance.audible, find_borders(who.timeline))
        self.heard = Counter(place.label for place in who.timeline.placements)

    def which(self, kind: QuestionKind, anchor: str | None) -> str | None:
        """The label that surely is the answer, if no other perhaps is."""
        names = [name for name in self.heard if name != anchor]
        if kind in ENDS and len(names) < 2:
            return None
        said = {name: self.say(kind, name, anchor, names) for name in names}
        right = [name for name, pairs in said.items() if not any(map(self.judge.refutes, pairs))]
        if len(right) != 1 or not all(map(self.judge.proves, said[right[0]])):
            return None
        return right[0]

    def say(
        self, kind: QuestionKind, name: str, anchor: str | None, names: Iterable[str]
    ) -> list[Scene]:
        """What holds of two sounds each if a sound is the answer."""
        own = Event(name)
        others = [Event(other) for other in names if other != name]
        if kind is QuestionKind.FIRST:
            return [Concat(own, other) for other in others]
        if kind is QuestionKind.LAST:
            return [Concat(other, own) for other in others]
        assert anchor is not None
        beside = Event(anchor)
        if kind is QuestionKind.AFTER:
            return [Concat(beside, own)]
        if kind is QuestionKind.BEFORE:
            return [Concat(own, beside)]
        return [Overlay(beside, own)]

    def answer(self, question: Question) -> str | None:
        """The only answer that can be given, from the labels that the question names."""
        if question.kind is QuestionKind.COUNT:
            twice = any(count > 1 for count in self.heard.values())
            return None if twice else NUMBERS[len(self.heard) - 1]
        anchor, named = read_labels(question, self.who)
        match question.kind:
            case QuestionKind.PRESENCE:
                return self.affirm(Event(named[0]))
            case QuestionKind.ORDER | QuestionKind.TOGETHER:
                assert set(named) <= set(self.heard)
                relate = Concat if question.kind is QuestionKind.ORDER else Overlay
                return self.affirm(relate(Event(named[0]), Event(named[1])))
        right = self.which(question.kind, anchor)
        return None if right is None else [*question.options][named.index(right)]

    def affirm(self, scene: Scene) -> str | None:
        """Yes or no, where it is certain."""
        if self.judge.proves(scene):
            return "yes"
        return "no" if self.judge.refutes(scene) else None


@given(batches(), st.integers(0, 9))
def test_every_answer_is_the_only_one_to_a_second_judge(who: list[Subject], seed: int) -> None:
    by_id = {each.id: each for each in who}
    for question in ask(who, Randomness(seed)).made:
        assert Answers(by_id[question.sample]).answer(question) == question.answer, question


@given(TIMELINES, TOLERANCES, st.sampled_from((*ENDS, *ANCHORED)), st.sampled_from(NAMES))
def test_the_only_answer_is_found_wherever_a_second_judge_finds_one(
    heard: Timeline, tolerance: Tolerance, kind: QuestionKind, name: str
) -> None:
    who = subject(heard, tolerance=tolerance)
    anchor = None if kind in ENDS else name
    assert find_only_answer(who, kind, anchor) == Answers(who).which(kind, anchor)


@given(batches(), st.integers(0, 9))
def test_yes_and_no_are_equally_frequent_in_every_batch(who: list[Subject], seed: int) -> None:
    found = Counter((each.kind, each.answer) for each in ask(who, Randomness(seed)).made)
    for kind in YES_NO:
        assert found[kind, "yes"] == found[kind, "no"]


@cases("name", asked.CORPORA)
def test_questions_of_a_planned_corpus_are_confirmed_and_no_text_betrays_its_answer(
    name: str,
) -> None:
    by_id = {each.id: each for each in asked.CORPORA[name]()}
    made = asked.questions(name).made
    assert len({question.id for question in made}) == len(made)
    answers: dict[tuple[str, tuple[str, ...]], Counter[str]] = defaultdict(Counter)
    ends: dict[tuple[str, str, tuple[str, ...]], list[str]] = defaultdict(list)
    for question in made:
        who, options = by_id[question.sample], tuple(question.options)
        assert Answers(who).answer(question) == question.answer
        answers[question.text, options][question.answer] += 1
        if question.kind in ENDS:
            ends[who.group, question.text, options].append(question.answer)
    for (text, options), counted in answers.items():
        if options == ("yes", "no"):
            assert counted["yes"] == counted["no"], text
    assert sum(question.kind in YES_NO for question in made) > len(made) / 3
    # Of first and last, half the questions are asked twice with different answers.
    paired = sum(len(each) for each in ends.values() if len(set(each)) > 1)
    assert paired >= 0.5 * sum(map(len, ends.values()))


def test_right_options_stand_everywhere_and_cannot_be_told_without_the_audio() -> None:
    known, unknown = (
        [
            each
            for each in ask(tuple(who), Randomness(0)).made
            if each.kind in (*ENDS, *ANCHORED) and len(each.options) == 4
        ]
        for who in (asked.scenes(), asked.planned(Scenes(scenes=160), seed=8))
    )
    assert min(len(known), len(unknown)) > 250
    places = Counter([*each.options].index(each.answer) for each in (*known, *unknown))
    assert max(places.values()) < 0.31 * (len(known) + len(unknown))
    # Somebody who has learnt from one corpus how often an offered sound is right, by kind.
    offered = Counter((each.kind, option) for each in known for option in each.options)
    right = Counter((each.kind, each.answer) for each in known)
    hits = 0
    for each in unknown:
        scores = [
            (right[each.kind, option] + 1) / (offered[each.kind, option] + 4)
            for option in each.options
        ]
        hits += [*each.options][scores.index(max(scores))] == each.answer
    assert hits < 0.33 * len(unknown)


def test_every_kind_is_asked_and_counts_only_where_they_differ() -> None:
    told = asked.questions("scenes")
    for kind in set(QuestionKind) - set(MEASURED):
        having = {each.sample for each in told.made if each.kind is kind}
        assert having
        assert told.left_out[kind.value] == len(asked.scenes()) - len(having)
    asked_of = Counter((each.sample, each.kind) for each in told.made)
    assert all(count <= (2 if kind in YES_NO else 1) for (_, kind), count in asked_of.items())
    counts = Counter(each.answer for each in told.made if each.kind is QuestionKind.COUNT)
    assert set(counts) == {"two", "three", "four"}
    assert len(set(counts.values())) == 1
    alike = asked.questions("triplets")
    assert not any(each.kind is QuestionKind.COUNT for each in alike.made)
    assert alike.left_out["count"] == len(asked.triplets())
    # Single sounds are counted and asked for but never put in order.
    single = asked.clips(("Bark", "Rain", "Siren", "Piano"))
    told = ask(asked.planned(Triplets(stage_a=True), single), Randomness(0))
    kinds = QuestionKind
    assert {each.kind for each in told.made} == {kinds.PRESENCE, kinds.WITH, kinds.COUNT}


def test_absent_sounds_are_of_the_corpus_and_not_kin_of_what_is_heard() -> None:
    who = asked.scenes()
    by_id = {each.id: each for each in who}
    known = {label for each in who for label in each.sounds}
    absent = 0
    for question in ask(who, Randomness(0)).made:
        _, named = read_labels(question, by_id[question.sample])
        assert not any(are_kin(a, b) for a, b in combinations(named, 2))
        heard = by_id[question.sample].timeline.labels()
        for label in set(named) - heard:
            absent += 1
            assert label in known
            # One refuted before or after a sound may be kin of what is heard elsewhere.
            assert question.options or not any(are_kin(label, other) for other in heard)
    assert absent > 100


def test_questions_are_a_function_of_their_batch_and_seed() -> None:
    who = asked.triplets()
    assert ask(who, Randomness(3)) == ask(who, Randomness(3))
    assert ask(who, Randomness(3)) != ask(who, Randomness(4))
    assert ask([], Randomness(3)).made == ()


@cases("name", asked.MEASURED)
def test_measures_are_asked_of_a_group_in_the_same_words_once_for_each_answer(name: str) -> None:
    who = {each.id: each for each in asked.MEASURED[name]()}
    told = asked.questions(name)
    found = [each for each in told.made if each.kind in MEASURED]
    kinds = {each.kind for each in found}
    assert kinds == ({QuestionKind.TIMES} if name == "counts" else set(MEASURED[1:]))
    asks: dict[tuple[str, str, tuple[str, ...]], list[str]] = defaultdict(list)
    for question in found:
        assert asked.holds(question, who[question.sample]), question
        asks[who[question.sample].group, question.text, tuple(question.options)].append(
            question.answer
        )
    for (_, _, options), answers in asks.items():
        assert sorted(answers) == sorted(options)
        assert len(options) == (3 if name == "counts" else 2)
    assert all(told.left_out[kind] == 0 for kind in kinds)


def test_answers_to_measures_read_as_people_speak() -> None:
    said = {
        (each.kind.value, answer)
        for name in asked.MEASURED
        for each in asked.questions(name).made
        for answer in each.options
        if each.kind in MEASURED
    }
    assert {
        ("times", "once"), ("times", "three times"), ("gap", "no pause at all"),
        ("position", "at the end"), ("trend", "louder"), ("louder", "rain"),
        ("again_roomier", "in a larger room"), ("again_faster", "more slowly"),
    } <= said  # fmt: skip
    assert {answer for kind, answer in said if kind == "duration"} & {
        f"for about {seconds} seconds" for seconds in ("two", "three", "four", "five")
    }


# What must not be asked


KIN = {"P": "Bark", "Q": "Dog", "R": "Rain", "S": "Siren", "T": "Raindrop"}


def renamed(heard: Timeline) -> Timeline:
    """The timeline with sounds of which some could pass for others."""
    places = tuple(place._replace(label=KIN[place.label]) for place in heard.placements)
    return Timeline(places, heard.frames)


@given(batches(), st.integers(0, 9))
def test_sounds_that_could_pass_for_one_another_are_never_told_apart(
    who: list[Subject], seed: int
) -> None:
    by_id = {
        each.id: subject(renamed(each.timeline), i, int(each.group[2:]), each.tolerance)
        for i, each in enumerate(who)
    }
    for question in ask(list(by_id.values()), Randomness(seed)).made:
        assert asked.holds(question, by_id[question.sample])
        anchor, sounds = read_labels(question, by_id[question.sample])
        named = sounds if anchor is None else (anchor, *sounds)
        assert not any(are_kin(a, b) for a, b in combinations(named, 2))


def test_a_sound_that_goes_on_after_another_is_not_denied_to_be_heard_after_it() -> None:
    # Rain falls all the time, a dog barks within it.
    who = [
        subject(line(("Rain", 0, 10), ("Bark", 2, 6)), 0),
        subject(line(("Bark", 0, 6), ("Rain", 6, 16)), 1),
    ]
    for seed in range(8):
        for question in ask(who, Randomness(seed)).made:
            assert (question.sample, question.kind) != ("s-0", QuestionKind.ORDER)
    assert find_only_answer(who[0], QuestionKind.AFTER, "Bark") is None
    assert find_only_answer(who[1], QuestionKind.AFTER, "Bark") == "Rain"


def test_a_bed_is_neither_asked_about_nor_an_option() -> None:
    bed = Background(of=("Rain",), snr_db=15.0)
    names = ("Bark", "Siren", "Piano", "Typing", "Moo", "Laughter")
    clips = [*asked.clips(names), make_clip("lib/bed", "Rain", frames=1_000_000)]
    who = asked.planned(Scenes(scenes=40, background=bed, expressions={"any + any": 1.0}), clips)
    by_id = {each.id: each for each in who}
    # Two sounds and the bed: where rain is one of the two, it is no bed.
    under = [
        each for each in who if "Rain" in each.timeline.labels() and len(each.timeline.labels()) > 2
    ]
    assert under
    told = ask(who, Randomness(0)).made
    beds = {each.id for each in under}
    assert any(each.kind is QuestionKind.ORDER for each in told if each.sample in beds)
    for question in told:
        if question.sample in beds:
            assert question.kind not in (*ENDS, QuestionKind.COUNT)
            assert "Rain" not in read_labels(question, by_id[question.sample])[1]


def test_whole_captions_are_quoted_and_nothing_absent_is_asked_beside_them() -> None:
    texts = (
        "A man speaks over a crowd.", "Birds sing in the forest.", "An engine idles.",
        "Water drips.", "Children laugh loudly.", "Someone types quickly.",
    )  # fmt: skip
    clips = [
        make_clip(f"lib/{i}", "Rain", captions=(text,), frames=60_000)
        for i, text in enumerate(texts)
    ]
    for pairs in (True, False):
        who = asked.planned(Acba(pairs=20, crossfade_s=0.1, minimal_pairs=pairs), clips)
        told = ask(who, Randomness(0)).made
        by_id = {each.id: each for each in who}
        assert {each.kind for each in told} >= {
            QuestionKind.ORDER,
            QuestionKind.FIRST,
            QuestionKind.LAST,
        }
        for question in told:
            assert asked.holds(question, by_id[question.sample])
            assert question.kind not in (QuestionKind.PRESENCE, QuestionKind.COUNT)
            if question.kind in YES_NO:
                assert question.text.count("“") == question.text.count("”") == 2
            else:
                heard = by_id[question.sample].sounds
                assert sorted(question.options) == sorted(f"“{label}”" for label in heard)
        answers = Counter(each.answer for each in told if each.kind is QuestionKind.ORDER)
        assert answers["yes"] == answers["no"] > 0


# Words


def test_every_kind_has_several_frames_and_each_is_used() -> None:
    by_kind = list_frames("question")
    assert set(by_kind) == set(ASKED_KINDS)
    texts = {each.text for each in asked.questions("scenes").made}
    for kind, frames in by_kind.items():
        assert len(set(frames)) >= (2 if kind in MEASURED else 3)
        for frame in frames if kind not in MEASURED else ():
            start = frame.split("{")[0].lower()
            assert any(text.lower().startswith(start) for text in texts), frame


@cases("label", ["Bark", "Bagpipes", "theremin solo", "Rain", "Walk, footsteps"])
def test_questions_are_sentences_whatever_the_sound(label: str) -> None:
    who = subject(line((label, 0, 5), ("Siren", 5, 9)))
    for kind in ASKED_KINDS:
        named = () if kind in (*ENDS, QuestionKind.COUNT) else (label, "Siren")
        texts = wordings(kind, named, who)
        assert len(texts) == len(list_frames("question")[kind])
        for text in texts:
            assert text[0].isupper()
            assert text.endswith("?")
            assert "{" not in text
            assert "the sound of the sound" not in text
            assert "  " not in text


def test_exact_wording() -> None:
    who = subject(line(("Bark", 0, 5), ("Rain", 5, 9)))
    assert wordings(QuestionKind.ORDER, ("Bark", "Rain"), who) == [
        "Do you hear a bark before rain?",
        "Do you hear rain after a bark?",
        "Do you first hear a bark and then rain?",
        "Is it true that a dog barks before rain falls?",
        "Is it true that rain falls after a dog barks?",
    ]
    assert wordings(QuestionKind.AFTER, ("Bark",), who)[-1] == "What is heard after a dog barks?"
    assert Phrase.of_label("Bark").noun == "a bark"

"""Prompts and the second requests that verify: messages, and the errors of files of one's own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from synth.base.errors import SpecError
from synth.base.rng import digest
from synth.llm.prompt import Prompt, Verification, load_prompt, load_verification, shipped_files
from synth.llm.reply import PromptItem, read_reply
from synth.scene.claim import Claim, claim_from_text, claim_to_text
from synth.scene.scene import parse
from tests.kit.cases import cases
from tests.kit.tables import read_data

CASES = read_data("texts/llm_prompts.yaml")

SHIPPED = [
    *("binding-negatives", "order-negatives", "paraphrase", "plausible-scenes"),
    *("read-claim", "rewrite", "strong-caption", "tag-caption", "translate"),
]
NASTY = '{{ 7 * 7 }} {% for x in y %} "}], "id": "b" \\ \n```\n {# # äöü 音 \u2028'


def write(folder: Path, **changes: Any) -> Path:
    content = CASES["mine"] | changes
    path = folder / "mine.yaml"
    kept = {key: value for key, value in content.items() if value is not None}
    path.write_text(yaml.safe_dump(kept, sort_keys=False), encoding="utf-8")
    return path


@pytest.fixture
def mine(tmp_path: Path) -> Prompt:
    return load_prompt(write(tmp_path))


@cases("name", SHIPPED)
def test_a_shipped_prompt_passes_its_own_examples(name: str) -> None:
    assert list(shipped_files()) == SHIPPED
    prompt = load_prompt(name)
    examples = list(prompt.examples())
    assert 2 <= len(examples) <= 4
    said = prompt._opening[-1]
    assert said["role"] == "assistant"
    answers = read_reply(said["content"])
    for item, answer in examples:
        assert answers[item.id] == answer
        assert prompt.faults(item, answer) == []
        assert all(isinstance(text, str) for text in prompt.texts(answer))
    assert prompt.file.version >= 1
    assert prompt.file.batch >= 1
    assert json.loads(json.dumps(prompt.schema)) == prompt.schema
    # Messages are the same each time and bear the ids.
    items = [
        PromptItem(f"clip/{number} ü", item.fields) for number, (item, _) in enumerate(examples)
    ][: prompt.file.batch]
    first, second = (load_prompt(name).messages(items) for _ in range(2))
    assert first == second
    assert [each["role"] for each in first] == ["system", "user", "assistant", "user"]
    lines = first[-1]["content"].splitlines()[1:]
    assert [json.loads(line)["id"] for line in lines] == [item.id for item in items]


def test_the_messages_of_one_prompt_are_pinned() -> None:
    prompt = load_prompt("binding-negatives")
    said = prompt.messages([PromptItem("a", {"caption": "A man sings and a dog barks"})])
    assert (
        digest(json.dumps(said))
        == "edf1e7c376936a365090fe966ab650713952d70751af6404dc1021d2a02ecf18"
    )


def test_digest_changes_with_what_is_said_and_with_nothing_else(tmp_path: Path) -> None:
    first = load_prompt(write(tmp_path)).digest
    same = {"temperature": 1.0, "batch": 5, "checks": [], "about": "Else."}
    assert load_prompt(write(tmp_path, **same)).digest == first
    for changes in (
        {"version": 2},
        {"messages": [{"role": "user", "content": "{{ items[0] | row('caption') }}"}]},
        {"examples": [{"fields": {"caption": "A cat"}, "answer": {"text": "The dog barks"}}]},
        {
            "answer": {
                "type": "object",
                "properties": {"text": {"type": "string", "description": "Short."}},
            }
        },
    ):
        assert load_prompt(write(tmp_path, **changes)).digest != first


def test_text_of_an_item_can_break_neither_template_nor_json(mine: Prompt) -> None:
    said = mine.messages([PromptItem("a", {"caption": NASTY}), PromptItem(NASTY, {"caption": "x"})])
    lines = said[-1]["content"].split("\n")
    assert json.loads(lines[0]) == {"id": "a", "caption": NASTY}
    assert json.loads(lines[1]) == {"id": NASTY, "caption": "x"}
    assert len(lines) == 2


def test_marks_in_words_are_taken_of_items_and_answers(mine: Prompt) -> None:
    item = PromptItem("a", {"caption": "a zoo\xadlogist of \u05d0\u200f"})
    mine.check_item(item)
    assert mine.faults(item, {"text": "the zoo\xadlogist of \u05d0\u200f"}) == []
    with pytest.raises(SpecError, match=r"item 'b': 'caption' holds U\+202E, which is no text"):
        mine.check_item(PromptItem("b", {"caption": "a \u202edog"}))


def test_a_refused_answer_is_asked_for_again_with_the_reason(mine: Prompt) -> None:
    items = [PromptItem("a", {"caption": "x"}), PromptItem("b", {"caption": "y"})]
    said = mine.messages(items, {"b": NASTY, "gone": "no"})[-1]["content"].split("\n")
    assert said[0] == "Again."
    assert "refused" not in json.loads(said[1])
    assert json.loads(said[2])["refused"] == NASTY


def test_schema_faults_spoil_one_answer_only(mine: Prompt) -> None:
    answers = read_reply('{"answers": [{"id": "a", "text": 3}, {"id": "b", "text": "ok"}]}')
    item = PromptItem("a", {"caption": "x"})
    assert mine.faults(item, answers["a"]) == ["'text' must be of type string, not integer"]
    assert mine.faults(item, answers["b"]) == []
    assert mine.faults(item, {"text": "X"}) == ['"X" is the original itself']
    assert mine.texts(answers["b"]) == ["ok"]
    assert mine.texts(answers["a"]) == []
    rain = PromptItem("a", {"caption": "It rains"})
    assert load_prompt("binding-negatives").faults(rain, {"negatives": []}) == []
    empty = {"negatives": [], "notation": "Rain"}
    assert load_prompt("order-negatives").faults(rain, empty) == []


@cases(
    ("items", "error", "reason"),
    [
        ([], ValueError, "0 items"),
        ([PromptItem(name, {"caption": "x"}) for name in "abc"], ValueError, "3 items"),
        ([PromptItem("a", {"caption": "x"})] * 2, ValueError, "same id"),
        ([PromptItem("a", {})], SpecError, "prompt mine: item 'a': 'caption' is missing"),
        ([PromptItem("a", {"caption": 3})], SpecError, "item 'a': 'caption' must be of type str"),
    ],
)
def test_requests_that_cannot_be_made(
    mine: Prompt, items: list[PromptItem], error: type[Exception], reason: str
) -> None:
    with pytest.raises(error, match=reason):
        mine.messages(items)


def test_an_order_negative_must_be_false_on_the_timeline() -> None:
    prompt = load_prompt("order-negatives")
    events = {
        "sequence": [
            {"event": "Bark", "clip": "d", "start": 0, "frames": 100, "gain_db": 0.0},
            {"event": "Rain", "clip": "r", "start": 0, "frames": 100, "gain_db": 0.0},
        ],
        "crossfade": 0,
    }
    fields = {"caption": "Rain falls after a dog barks", "labels": ["Bark", "Rain"]}
    fields["scene"] = events  # type: ignore[assignment]
    answer = {
        "notation": "Bark + Rain",
        "negatives": [{"caption": "Rain falls before a dog barks", "notation": "Rain + Bark"}],
    }
    assert prompt.faults(PromptItem("a", fields), answer) == []
    events["sequence"].reverse()  # type: ignore[attr-defined]
    assert any("may be true" in fault for fault in prompt.faults(PromptItem("a", fields), answer))


def user(content: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": content}]


@cases(("changes", "reason"), CASES["bad_files"])
def test_a_bad_file_is_one_clear_error(
    tmp_path: Path, changes: dict[str, Any], reason: str
) -> None:
    path = write(tmp_path, **changes)
    with pytest.raises(SpecError, match=f"(?s){path.name}.*: .*({reason})"):
        load_prompt(path)


@cases(
    ("text", "reason"),
    [
        (b"", "expected keys and values"),
        (b"- a", "expected keys and values"),
        (b"a: [", "not YAML"),
        (b"a: 1\nb: 2\na: 3", "mine.yaml:3:1: 'a' is given twice"),
        (b"a: !!python/object/apply:os.getcwd []", "not YAML"),
        (b"? [a, b]\n: 1", "file"),
        (b"\x00", "not YAML"),
        (b"id: \xff", "not text in UTF-8"),
        (None, "cannot be read"),
    ],
)
def test_what_is_no_prompt_file(tmp_path: Path, text: bytes | None, reason: str) -> None:
    path = tmp_path / "mine.yaml"
    if text is not None:
        path.write_bytes(text)
    with pytest.raises(SpecError, match=reason):
        load_prompt(path)
    with pytest.raises(SpecError, match="did you mean 'translate'"):
        load_prompt("translat")


# The second request: what it is told, what it lets through, and errors of files of one's own.


VERIFICATIONS = read_data("texts/verifications.yaml")

BARK_THEN_RAIN = parse("dog + rain")
PROMPTS = Path(__file__).resolve().parents[3] / "prompts"


@pytest.fixture(scope="module")
def verification() -> Verification:
    found = load_verification(load_prompt("rewrite"))
    assert found is not None
    return found


def _item(claim: Claim, caption: str = "A dog barks before rain falls") -> PromptItem:
    read = json.loads(claim_to_text(claim))
    fields = {"caption": caption, "claim": read, "style": "plain", "language": "en"}
    return PromptItem("a", fields | {"sample_rate": 16_000})


def _says(*statements: tuple[str, str, float]) -> dict[str, Any]:
    told = [{"says": s, "sounds": of.split(), "value": value} for s, of, value in statements]
    return {"statements": told}


def test_the_second_request_knows_nothing_of_the_first_but_the_text(
    verification: Verification,
) -> None:
    item = _item(BARK_THEN_RAIN)
    fields = verification.make_fields(item, "Erst der Hund, dann der Regen")
    assert fields.keys() == {"text", "sounds"}
    asked = verification.prompt.messages([PromptItem("1", fields)])[-1]["content"]
    told = json.loads(asked.splitlines()[-1])
    assert told == {"id": "1", **fields}
    turned = verification.make_fields(_item(parse("rain + dog")), "Erst der Regen")
    assert all({"dog", "rain"} < set(each["sounds"]) for each in (fields, turned))
    assert len(fields["sounds"]) == 8


def test_the_order_of_the_sounds_says_nothing(verification: Verification) -> None:
    named = [(f"first {n}", f"second {n}") for n in range(300)]
    claims = [claim_from_text(claim_to_text(parse(f"{a} + {b}"))) for a, b in named]
    before = 0
    for (first, second), claim in zip(named, claims, strict=True):
        sounds = verification.make_fields(_item(claim), "")["sounds"]
        before += sounds.index(first) < sounds.index(second)
    assert 120 < before < 180


@cases(("says", "taken"), VERIFICATIONS["claims"])
def test_only_the_very_claim_is_taken(
    verification: Verification, says: list[tuple[str, str, float]], taken: bool
) -> None:
    faults = verification.faults(_item(BARK_THEN_RAIN), _says(*says))
    assert (not faults) is taken
    assert all(fault.startswith("read otherwise: ") for fault in faults)
    if says == [("before", "rain dog", 0)]:
        assert faults == ['read otherwise: lost "before dog, rain"; added "before rain, dog"']
    # A label that is the word for strange sounds is never read back.
    assert verification.faults(_item(parse("other")), _says(("heard", "other", 0)))
    assert not verification.faults(_item(parse("dog")), _says(("heard", "dog", 0)))


@cases(("says", "fault"), VERIFICATIONS["readings"])
def test_what_is_no_reading_is_asked_for_again(
    verification: Verification, says: tuple[str, str, float], fault: str
) -> None:
    item = PromptItem("1", {"text": "A dog", "sounds": ["dog", "rain"]})
    found = "; ".join(verification.prompt.faults(item, _says(says)))
    assert fault in found if fault else not found


def test_checks_of_english_are_for_english() -> None:
    prompt = load_prompt("rewrite")
    item = _item(BARK_THEN_RAIN)
    turned = {"text": "Rain falls before a dog barks"}
    assert any("changes the order" in fault for fault in prompt.faults(item, turned))
    german = PromptItem("a", {**item.fields, "language": "de"})
    assert not prompt.faults(german, {"text": "Der Regen fällt, und dann bellt ein Hund"})


def _write(folder: Path, **changes: Any) -> Path:
    content = yaml.safe_load((PROMPTS / "rewrite.yaml").read_text()) | {"id": "mine"} | changes
    path = folder / "mine.yaml"
    path.write_text(yaml.safe_dump(content))
    return path


@cases(("changes", "said"), VERIFICATIONS["files"])
def test_errors_of_a_file(tmp_path: Path, changes: dict[str, Any], said: str) -> None:
    path = _write(tmp_path, **changes)
    with pytest.raises(SpecError) as error:
        load_verification(load_prompt(path))
    assert said in error.value.message


def test_a_second_prompt_of_ones_own_lies_beside_the_first(tmp_path: Path) -> None:
    second = yaml.safe_load((PROMPTS / "read-claim.yaml").read_text()) | {"id": "reads"}
    (tmp_path / "reads.yaml").write_text(yaml.safe_dump(second))
    verify = {"prompt": "reads.yaml", "checks": ["same_claim"]}
    found = load_verification(load_prompt(_write(tmp_path, verify=verify)))
    assert found is not None
    assert found.prompt.id == "reads"

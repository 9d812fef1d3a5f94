"""The second request: what it is told, what it lets through, and errors of files of one's own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from synth.base.errors import SpecError
from synth.llm.prompt import Verification, load_prompt, load_verification
from synth.llm.reply import PromptItem
from synth.scene.claim import Claim, claim_from_text, claim_to_text
from synth.scene.scene import parse
from tests.kit.cases import cases
from tests.kit.tables import read_cases

CASES = read_cases("texts/verifications.yaml")

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


@cases(("says", "taken"), CASES["claims"])
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


@cases(("says", "fault"), CASES["readings"])
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


@cases(("changes", "said"), CASES["files"])
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

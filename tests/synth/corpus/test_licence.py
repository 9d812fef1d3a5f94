"""Licences: every spelling datasets use, what a mix is under, and what a spec lets through."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synth.base.errors import SpecError
from synth.corpus.licence import (
    CONDITIONS,
    HUB_LICENCES,
    NO_COMMON,
    ONLY_VERSION,
    UNKNOWN,
    VERSIONS,
    Licence,
    effective_licence,
    hugging_face_licence,
    parse_licence,
)
from synth.sources.selection import Allowed, withdraw_unlicensed
from tests.kit.cases import cases
from tests.kit.tables import read_data

CASES = read_data("corpus/licences.yaml")

CC = "https://creativecommons.org"

# Parsing


@cases(("text", "name"), CASES["spellings"])
def test_every_spelling_gets_the_one_id(text: str, name: str) -> None:
    licence = parse_licence(text)
    assert licence.id == name
    assert licence.known is not name.startswith(("unknown", "LicenseRef-"))


@cases("text", CASES["not_understood"])
def test_a_text_that_is_not_wholly_understood_is_no_known_licence(text: str) -> None:
    licence = parse_licence(text)
    assert not licence.known
    assert licence.id.startswith("LicenseRef-")


@cases(
    ("name", "conditions", "url"),
    [
        ("CC-BY-NC-SA-3.0-US", {"BY", "NC", "SA"}, f"{CC}/licenses/by-nc-sa/3.0/us/"),
        ("CC-BY-ND-4.0", {"BY", "ND"}, f"{CC}/licenses/by-nd/4.0/"),
        ("CC-BY-4.0", {"BY"}, f"{CC}/licenses/by/4.0/"),
        ("CC0", set(), f"{CC}/publicdomain/zero/1.0/"),
        ("public domain", set(), f"{CC}/publicdomain/mark/1.0/"),
        ("Sampling+", None, f"{CC}/licenses/sampling+/1.0/"),
        ("CC-BY", {"BY"}, ""),
        ("MIT", {"MIT"}, None),
        ("unknown", set(), ""),
    ],
)
def test_a_licence_has_its_conditions_and_the_address_of_its_very_text(
    name: str, conditions: set[str] | None, url: str | None
) -> None:
    licence = parse_licence(name)
    assert conditions is None or licence.conditions == conditions
    assert url is None or licence.url == url
    if url:
        assert parse_licence(url) == licence


WORDS = (
    *("CC", "BY", "-", " ", "NC", "SA", "0", "3.0", "4", "US", "LicenseRef-", "public domain"),
    *("+", "http://creativecommons.org/licenses/by/3.0/", "(", ".", "_", "no"),
)


@given(st.text(max_size=60) | st.lists(st.sampled_from(WORDS)).map("".join))
def test_any_text_is_read_and_an_id_is_read_as_itself(text: str) -> None:
    licence = parse_licence(text)
    assert licence.id
    assert parse_licence(licence.id) == licence


# Mixing

KNOWN = [
    Licence(family, version)
    for family in CONDITIONS
    for version in ((ONLY_VERSION[family],) if family in ONLY_VERSION else ("", *VERSIONS))
]
PORTED = [
    Licence("CC-BY", "3.0", "us"),
    Licence("CC-BY", "3.0", "de"),
    Licence("CC-BY-SA", "3.0", "us"),
    Licence("CC-BY-NC", "3.0", "us"),
]
NOT_KNOWN = [
    UNKNOWN,
    NO_COMMON,
    parse_licence("academic use"),
    parse_licence("all rights reserved"),
]
ANY = st.sampled_from([*KNOWN, *PORTED, *NOT_KNOWN])
MIXABLE = st.sampled_from([part for part in [*KNOWN, *PORTED] if "ND" not in part.conditions])


def mix(*names: str) -> str:
    return effective_licence(map(parse_licence, names)).id


@cases(("parts", "whole"), CASES["mixes"])
def test_a_mix_is_under_the_conditions_of_all_its_parts(parts: list[str], whole: str) -> None:
    assert mix(*parts) == whole


@cases(("parts", "named"), CASES["not_mixed"])
def test_those_that_no_licence_covers_are_named(parts: list[str], named: list[str]) -> None:
    mixed = effective_licence(map(parse_licence, parts))
    assert mixed.licence == NO_COMMON
    assert all(name in mixed.reason for name in named)


@given(st.lists(ANY, min_size=1, max_size=4), st.lists(ANY, min_size=1, max_size=4), st.randoms())
def test_order_repetition_and_what_is_joined_first_do_not_matter(
    some: list[Licence], others: list[Licence], random: object
) -> None:
    whole = effective_licence([*some, *others])
    assert bool(whole.reason) is not whole.licence.known
    shuffled = [*some, *others, *some]
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert effective_licence(shuffled) == whole
    joined = [effective_licence(some).licence, effective_licence(others).licence]
    assert effective_licence(joined).licence == whole.licence
    once = effective_licence(some[:1]).licence
    assert once == some[0] or "ND" in some[0].conditions


@given(st.lists(MIXABLE, min_size=1, max_size=4))
def test_the_whole_asks_for_what_every_part_asks_for(parts: list[Licence]) -> None:
    whole = effective_licence(parts).licence
    if whole != NO_COMMON:
        assert whole.conditions == frozenset().union(*(part.conditions for part in parts))
        assert all(whole.conditions == part.conditions for part in parts if "SA" in part.conditions)
        assert parse_licence(whole.id) == whole


# The Hub


@cases(
    ("text", "identifier"),
    [
        *((name, name) for name in HUB_LICENCES),
        ("CC-BY", "cc"),
        ("CC-BY-3.0-US", "cc"),
        ("CC-BY-SA-2.0", "cc"),
        ("Sampling+", "cc"),
        ("public domain", "other"),
        ("academic use", "other"),
        (NO_COMMON.id, "other"),
        ("", "unknown"),
    ],
)
def test_the_card_gets_an_identifier_that_the_hub_lists(text: str, identifier: str) -> None:
    assert hugging_face_licence(parse_licence(text)) == identifier


# What a spec allows


@cases(("name", "admitted", "refused"), CASES["admitted"])
def test_a_family_admits_its_versions_and_an_id_only_that(
    name: str, admitted: list[str], refused: list[str]
) -> None:
    allowed = Allowed.of([name])
    assert all(allowed.admits(parse_licence(text)) for text in admitted)
    assert not any(allowed.admits(parse_licence(text)) for text in refused)


@cases(("names", "message", "fix"), CASES["not_known"])
def test_a_name_that_is_not_known_gets_the_nearest(
    names: list[str], message: str, fix: str
) -> None:
    with pytest.raises(SpecError, match=message) as caught:
        Allowed.of(names)
    assert fix in caught.value.fix


def test_clips_of_other_licences_are_quarantined_with_the_reason() -> None:
    rows = [
        {"id": f"x/{number}", "location": f"{number}.wav", "licence": licence}
        for number, licence in enumerate(["CC0", "CC-BY-NC-3.0", "Attribution", "", "academic use"])
    ]
    kept, withdrawn = withdraw_unlicensed(rows, Allowed.of(["CC0", "CC-BY"]))
    assert [row["id"] for row in kept] == ["x/0", "x/2"]
    assert withdrawn == [
        {"id": f"x/{number}", "location": f"{number}.wav", "stage": "licence", "reason": reason}
        for number, reason in (
            (1, "is under CC-BY-NC-3.0; the spec allows CC0-1.0, CC-BY"),
            (3, "has no known licence; the spec allows CC0-1.0, CC-BY"),
            (4, "is under LicenseRef-academic-use; the spec allows CC0-1.0, CC-BY"),
        )
    ]

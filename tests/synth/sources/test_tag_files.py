"""Readers of tag lists and captions; what is wrong is told by file, row and mend."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synth.base.errors import SourceError
from synth.labels.lexicon import Tag
from synth.sources.reading.tables import parse_list
from synth.sources.reading.tag_files import (
    TaggedRecording,
    read_captions,
    read_items,
    read_jamendo,
    read_vocabulary,
)

Write = Callable[[str, str | bytes | None], Path]
HEADER = "TRACK_ID\tARTIST_ID\tALBUM_ID\tPATH\tDURATION\tTAGS\n"


@pytest.fixture
def file(tmp_path: Path) -> Write:
    def write(name: str, content: str | bytes | None) -> Path:
        path = tmp_path / name
        if content is not None:
            path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


def test_a_tag_list_gets_its_categories_from_the_shipped_list(file: Write) -> None:
    path = file("tags.json", json.dumps(["rock", "happy", "piano", "80s", "xyzzy"]))
    assert {tag.name: tag.category for tag in read_vocabulary(path).tags} == {
        "rock": "genre",
        "happy": "mood",
        "piano": "instrument",
        "80s": "era",
        "xyzzy": "",
    }


def test_labels_with_numbers_are_spelt_as_in_sentences(file: Write) -> None:
    """As AudioSet's labels are published for classifiers."""
    labels = {"Male singing": 32, "French horn": 185, "Wind chime": 200, "Zorb": 1}
    names = [tag.name for tag in read_vocabulary(file("l.json", json.dumps(labels))).tags]
    assert sorted(names) == ["French horn", "Zorb", "male singing", "wind chime"]


def test_captions_written_by_a_model(file: Write) -> None:
    path = file("c.json", json.dumps([{"prediction": " A  rock song ", "ground_truth": "x"}]))
    assert [(item.id, item.caption) for item in read_captions(path)] == [("1", "A rock song")]


def test_musiccaps_as_json_and_as_csv_say_the_same(file: Write) -> None:
    value = {"[a]-[0-10]": {"aspect_list": ["rock", "ram's horn"], "caption": "Rock."}}
    as_json = read_items(file("m.json", json.dumps(value)))
    text = 'ytid,start_s,aspect_list,caption\na,0,"[\'rock\', ""ram\'s horn""]",Rock.\n'
    as_csv = read_items(file("m.csv", text))
    assert as_json[0].tags == as_csv[0].tags
    assert as_json[0].caption == as_csv[0].caption == "Rock."


def test_plain_csv_with_a_row_for_each_tag(file: Write) -> None:
    path = file("t.csv", "id,category,tag\n1,genre,rock\n2,mood,sad\n1,mood,happy\n")
    assert [(item.id, item.tags) for item in read_items(path)] == [
        ("1", (Tag("genre", "rock"), Tag("mood", "happy"))),
        ("2", (Tag("mood", "sad"),)),
    ]


def test_plain_csv_with_a_row_for_each_item(file: Write) -> None:
    for cell in (
        '"rock, piano"',
        "rock; piano",
        "genre:rock; instrument: piano",
        "\"['rock', 'piano']\"",
    ):
        (item,) = read_items(file("t.csv", f"id,tags\n1,{cell}\n"))
        assert item.tags == (Tag("genre", "rock"), Tag("instrument", "piano")), cell


@given(st.lists(st.text(st.characters(blacklist_categories=("Cs",)), max_size=12), max_size=5))
def test_lists_as_python_and_json_write_them_are_read(values: list[str]) -> None:
    assert parse_list(repr(values)) == values
    if all(letter not in text for text in values for letter in "\b\f/"):
        assert parse_list(json.dumps(values, ensure_ascii=False)) == values


def test_anything_but_a_list_of_strings_is_refused() -> None:
    for text in (
        "",
        "rock",
        "[rock]",
        "['a' 'b']",
        "['a', 1]",
        "[__import__('os')]",
        "['a'] + ['b']",
        "['a",
    ):
        with pytest.raises(ValueError, match=r"list|string|comma"):
            parse_list(text)


def test_invisible_letters_are_no_tag_of_a_table(file: Write) -> None:
    for text in ("tags\nrock; \u200b\n", "category,tag\ngenre,rock\ngenre,\u200b\n"):
        items = read_items(file("t.csv", text))
        assert [tag.name for item in items for tag in item.tags] == ["rock"]


def read_tracks(path: Path) -> list[TaggedRecording]:
    return list(read_jamendo(path))


def test_files_that_cannot_be_read(file: Write) -> None:
    faults: tuple[tuple[Callable[[Path], object], str, str | bytes | None, str], ...] = (
        (read_vocabulary, "a.json", "[1, 2]", "neither tags nor captions"),
        (read_vocabulary, "a.json", "{", "is not JSON"),
        (read_vocabulary, "a.json", '["rock", 3]', "entry 2: 3 is not a tag"),
        (read_vocabulary, "a.json", '["rock", "\u200b"]', r"entry 2: '\\u200b' is not a tag"),
        (
            read_vocabulary,
            "a.json",
            '[{"prediction": "\u200b"}]',
            "entry 1: has no text in predict",
        ),
        (read_vocabulary, "a.json", '[{"prediction": "x"}, {}]', "entry 2: has no text in predict"),
        (read_vocabulary, "a.csv", "x,y\n1,2\n", "has the columns x, y"),
        (read_vocabulary, "a.csv", "id,tag\n1,rock,pop\n", "line 2: expected 2 fields"),
        (
            read_vocabulary,
            "a.csv",
            "id,aspect_list\n1,[rock]\n",
            "aspect_list: '.rock.' is not a list",
        ),
        (read_vocabulary, "a.csv", "id,tag\n1,\n", "names no tag"),
        (read_captions, "t.csv", "id,tag\n1,rock\n", "has no caption"),
        (read_items, "none.csv", None, "not found"),
        (read_items, "b.csv", b"\xff\xfe\x00", "line 1: 'utf-8'"),
        (read_items, "a.tsv", f"{HEADER}track_7\tartist_1\n", "line 2: 2 columns"),
        (read_items, "a.tsv", f"{HEADER}a\tb\tc\td\te\trock\n", "line 2: 'rock' is not a tag"),
        (read_tracks, "none.tsv", None, "cannot be read"),
        (read_tracks, "b.tsv", b"\xff\xfe\x00", "not text in UTF-8"),
        # A second header is no row.
        (read_tracks, "joined.tsv", f"{HEADER}\n{HEADER}\n", "is not a tag"),
    )
    for reader, name, content, fault in faults:
        with pytest.raises(SourceError, match=fault) as caught:
            reader(file(name, content))
        assert caught.value.fix
        assert name in str(caught.value)


def test_the_real_files(shared_data: Callable[[str], Path]) -> None:
    tracks = read_items(shared_data("MTG-Jamendo/autotagging-validation.tsv"))
    assert len(tracks) == 11_101
    assert all(track.tags for track in tracks)
    assert len(read_items(shared_data("LP-MusicCaps/msd_tags.json"))) == 1_054
    assert len(read_captions(shared_data("LP-MusicCaps/caption_writing.json"))) == 2_839
    assert len(read_captions(shared_data("LP-MusicCaps/musiccaps_annotation.json"))) == 20
    tags = read_vocabulary(shared_data("LP-MusicCaps/msd_tags.json")).tags
    assert all(tag.category for tag in tags)
    assert sum(tag.category != "other" for tag in tags) > 940


def test_jamendo_tables_give_path_and_duration_and_merge_spellings(file: Write) -> None:
    row = "track_0000007\tartist_1\talbum_1\t07/7.mp3\t60.5\tgenre---ambiant\tgenre---ambient\r\n"
    merged = {("genre", "ambiant"): "ambient"}
    for name, text in [("a.tsv", HEADER + row), ("bare.tsv", row), ("bom.tsv", "\ufeff" + row)]:
        (track,) = read_jamendo(file(name, text), merged)
        assert (track.id, track.path, track.duration) == ("track_0000007", "07/7.mp3", "60.5")
        assert track.tags == (Tag("genre", "ambient"),)
        assert track.line == text.count("\n")
    row = row.replace("ambiant", "hiphop").replace("genre---ambient", "mood/theme---happy")
    (item,) = read_items(file("items.tsv", HEADER + row))
    assert item.id == "track_0000007"
    assert item.tags == (Tag("genre", "hip hop"), Tag("mood/theme", "happy"))

"""MusicCaps: lists that Python wrote, audio by the names in common use, AudioSet's classes."""

from __future__ import annotations

from pathlib import Path

import pytest
from libraries import check, sound, write_csv

from synth.base.errors import ClipError, SourceError
from synth.labels.lexicon import Tag
from synth.sources import Unheard, open_source
from synth.sources.music.musiccaps import MusicCaps

COLUMNS = (
    "ytid",
    "start_s",
    "end_s",
    "audioset_positive_labels",
    "aspect_list",
    "caption",
    "author_id",
    "is_balanced_subset",
    "is_audioset_eval",
)
ASPECTS = "['rock', \"ram's horn, low\", 'a \"big\" drum', 'rock']"
ROWS = [
    ("-a_bcdefghi", 30, 40, "/m/04rlf,/m/0342h", ASPECTS, 'Loud, "big"\nrock.', 4, False, True),
    ("abcdefghijk", 0, 10, "/m/04rlf", "[]", "Calm.", 4, True, False),
]


def musiccaps(root: Path, rows: object = ROWS, encoding: str = "utf-8") -> MusicCaps:
    write_csv(root / "musiccaps-public.csv", COLUMNS, rows, encoding)  # type: ignore[arg-type]
    return MusicCaps(root=root)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
def test_it_reads_the_published_table(tmp_path: Path, encoding: str) -> None:
    rock, calm = check(musiccaps(tmp_path, encoding=encoding))
    assert rock.id == "musiccaps/-a_bcdefghi_30"
    assert rock.captions == ('Loud, "big"\nrock.',)
    assert rock.recording == "youtube/-a_bcdefghi"
    assert (rock.split, calm.split) == ("eval", "train")
    assert rock.tags == (Tag("genre", "rock"), Tag("", "ram's horn, low"), Tag("", 'a "big" drum'))
    assert (calm.tags, calm.labels) == ((), ())
    assert rock.duration_s == 10


def test_without_audio_it_is_a_listing(tmp_path: Path) -> None:
    listing = open_source(musiccaps(tmp_path))
    assert isinstance(listing, Unheard)
    assert all(listing.row(ref)["frames"] == 480_000 for ref in listing.refs())


@pytest.mark.parametrize("name", ["[-a_bcdefghi]-[30-40]", "-a_bcdefghi", "-a_bcdefghi_30_40"])
def test_audio_is_found_by_the_names_in_common_use(tmp_path: Path, name: str) -> None:
    source = musiccaps(tmp_path)
    sound(tmp_path / "audio" / f"{name}.wav")
    rock, calm = check(open_source(source))  # type: ignore[arg-type]
    assert len(source.load(rock).audio) == 1600
    with pytest.raises(ClipError, match="cannot be read"):
        source.load(calm)


def test_classes_are_labels_where_audiosets_list_lies_beside(tmp_path: Path) -> None:
    classes = [(0, "/m/04rlf", "Music"), (1, "/m/0342h", "Guitar, plucked")]
    write_csv(tmp_path / "class_labels_indices.csv", ("index", "mid", "display_name"), classes)
    rock, calm = musiccaps(tmp_path).refs()
    assert (rock.labels, calm.labels) == (("Music", "Guitar, plucked"), ("Music",))
    listed = musiccaps(tmp_path, [("a", 0, 10, "['/m/04rlf']", "[]", "x", 1, False, True)])
    assert next(listed.refs()).labels == ("Music",)
    other = musiccaps(tmp_path, [("a", 0, 10, "/m/none", "[]", "x", 1, False, True)])
    with pytest.raises(SourceError, match="clip a: /m/none is not a class"):
        list(other.refs())


def test_rows_of_one_stretch_are_one_clip(tmp_path: Path) -> None:
    rows = [
        ("a", 0, 10, "", f"['{tag}']", text, 1, False, True)
        for tag, text in [("rock", "One."), ("calm", "Two."), ("rock", "One.")]
    ]
    (ref,) = check(musiccaps(tmp_path, rows))
    assert ref.captions == ("One.", "Two.")
    assert [tag.name for tag in ref.tags] == ["rock", "calm"]


@pytest.mark.parametrize(
    ("column", "value", "told"),
    [
        (0, "", "clip of ''"),
        (1, "soon", "'soon'"),
        (2, 0, "expected a video and seconds"),
        (4, "[rock]", "is not a list"),
        (4, "__import__('os')", "is not a list"),
        (8, "yes", "is_audioset_eval is 'yes'"),
    ],
)
def test_bad_rows_are_named(tmp_path: Path, column: int, value: object, told: str) -> None:
    row = list(ROWS[0])
    row[column] = value
    with pytest.raises(SourceError, match=told) as caught:
        list(musiccaps(tmp_path, [row]).refs())
    assert "musiccaps-public.csv" in str(caught.value)
    assert caught.value.fix


def test_a_wrong_folder_is_a_source_error(tmp_path: Path) -> None:
    for root in (tmp_path / "none", tmp_path):
        with pytest.raises(SourceError, match="not found") as caught:
            list(MusicCaps(root=root).refs())
        assert "musiccaps-public.csv" in caught.value.fix

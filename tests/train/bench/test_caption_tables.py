"""Captioned audio as AudioCaps, Clotho and AudioTime publish it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from synth.base.errors import CorpusError, SpecError
from train.bench.evaluate import open_benchmark
from train.bench.settings import BenchSettings
from train.bench.tables import FILE_COLUMNS, captions_benchmark


def test_clotho_has_several_captions_a_row(tables: Any) -> None:
    table = tables.write(
        ("file_name", "caption_1", "caption_2"),
        (tables.sound("low", "high"), "low then high", "no idea"),
        (tables.sound("high", "low"), "high then low", "high, then low"),
        (tables.sound("mid", "mid"), "mid then mid", "nobody knows"),
    )
    found = tables.assess(captions_benchmark(table, tables.audio)).metrics
    # Every audio has a caption that tells it; two of the six captions tell nothing.
    assert found["audio_to_text_r1"].value == 1.0
    assert found["audio_to_text_r1"].n == 3
    assert found["text_to_audio_r1"].value == pytest.approx(4 / 6)
    assert found["text_to_audio_r1"].n == 6
    assert found["text_to_audio_r1"].chance == pytest.approx(1 / 3)
    assert found["audio_to_text_map10"].value < 1


def test_audiocaps_has_a_row_a_caption_and_files_without_ending(tables: Any) -> None:
    tables.sound("low", "high", "abc.flac")
    tables.sound("high", "low", "a.b-c.wav")
    table = tables.write(
        ("audiocap_id", "youtube_id", "start_time", "caption"),
        ("1", "abc", "30", "low then high"),
        ("2", "abc", "30", "high after low"),
        ("3", "a.b-c", "0", "high then low"),
        ("4", "abc", "30", "low then high"),
    )
    found = tables.assess(captions_benchmark(table, tables.audio))
    assert found.metrics["audio_to_text_r1"].n == 2
    assert found.metrics["text_to_audio_r1"].n == 3
    assert found.metrics["text_to_audio_r1"].value == 1.0
    assert found.left_out == {"retrieval: captions that repeat another": 1}


def test_every_caption_may_be_a_query_as_published_figures_have_it(tables: Any) -> None:
    tables.sound("low", "high", "abc.wav")
    tables.sound("high", "low", "def.wav")
    said = {
        "abc": ["low then high", "high after low", "low then high"],
        "def": ["high then low", "low then high"],
    }
    rows = [(name, caption) for name, captions in said.items() for caption in captions]
    table = tables.write(("youtube_id", "caption"), *rows)
    settings = BenchSettings(every_caption=True)
    found = tables.assess(captions_benchmark(table, tables.audio, settings))
    # Four captions find their sound; the last of "def" finds "abc". Of the captions of "abc", two
    # tie with that one, which stands before them; the best one of "def" has no rival.
    assert found.metrics["text_to_audio_r1"].n == 5
    assert found.metrics["text_to_audio_r1"].value == pytest.approx(4 / 5)
    assert found.metrics["text_to_audio_r1"].chance == pytest.approx(1 / 2)
    assert found.metrics["audio_to_text_r1"].value == pytest.approx(1 / 2)
    assert found.metrics["audio_to_text_r5"].value == 1.0
    assert found.metrics["audio_to_text_r1"].chance == pytest.approx((3 + 2) / 5 / 2)
    assert found.facts["queries"] == "every caption"
    assert not found.left_out
    classes = tables.write(("filename", "category"), name="classes.csv")
    with pytest.raises(SpecError, match="--every-caption can be chosen for a caption table"):
        open_benchmark(classes, tables.audio, settings=settings)


def test_audiotime_is_json_beside_its_audio(tables: Any) -> None:
    entries = {
        "syn_1": {"event": {"Low": [[0.1, 0.2]]}, "caption": "low then high"},
        "syn_2": {"event": {}, "caption": ["high then low", "Yes."]},
        "syn_10": {"event": {}, "caption": "no idea"},
    }
    for name, tones_of in zip(
        entries, (("low", "high"), ("high", "low"), ("mid", "mid")), strict=True
    ):
        tables.sound(*tones_of, f"{name}.wav")
    table = tables.folder / "ordering_captions.json"
    table.write_text(json.dumps(entries, indent=4))
    found = tables.assess(open_benchmark(table))
    assert {"low then high", "high then low", "no idea"} == set(tables.tones.read)
    assert found.metrics["text_to_audio_r1"].value == pytest.approx(2 / 3)
    assert found.metrics["audio_to_text_r1"].n == 3
    with pytest.raises(SpecError, match="JSON has no columns"):
        open_benchmark(table, file_column="event")
    table.write_text(json.dumps({"syn_1": {"event": {}}}))
    with pytest.raises(CorpusError, match=r"syn_1.caption: Field required") as caught:
        open_benchmark(table)
    assert "AudioTime" in caught.value.fix
    table.write_text("{")
    with pytest.raises(CorpusError, match="is not JSON"):
        open_benchmark(table)


@pytest.mark.parametrize("column", FILE_COLUMNS)
def test_usual_names_of_the_column_of_files_are_known(column: str, tables: Any) -> None:
    rows = [
        (tables.sound("low", "high"), "low then high"),
        (tables.sound("high", "low"), "high then low"),
    ]
    table = tables.write((column, "caption"), *rows)
    found = tables.assess(captions_benchmark(table, tables.audio))
    assert found.metrics["text_to_audio_r1"].value == 1.0


def test_columns_of_a_caption_table_can_be_named(tables: Any) -> None:
    table = tables.write(("wav", "said"), (tables.sound("low", "high"), "low then high"))
    with pytest.raises(SpecError, match=r"column of files.*wav, said"):
        captions_benchmark(table, tables.audio)
    with pytest.raises(SpecError, match=r"column of captions.*wav, said"):
        captions_benchmark(table, tables.audio, file_column="wav")
    found = captions_benchmark(table, tables.audio, file_column="wav", caption_columns=["said"])
    assert tables.assess(found).metrics["text_to_audio_r1"].value == 1.0


def test_retrieval_within_random_subsets(tables: Any) -> None:
    names = ("low", "mid", "high")
    rows = [(tables.sound(a, b), f"{a} then {b}") for a in names for b in names]
    table = tables.write(("file_name", "caption"), *rows)
    settings = BenchSettings(subset_size=4, subsets=5)
    benchmark = captions_benchmark(table, tables.audio, settings)
    found = tables.assess(benchmark)
    assert found.metrics["text_to_audio_r1"].value == 1.0
    assert found.metrics["text_to_audio_r1"].chance == pytest.approx(1 / 4)
    assert found.facts["retrieval"] == "mean over 5 random subsets of 4 sounds"
    # They stand in for retrieval among all, not beside it, as the help of `--subset-size` says.
    whole = tables.assess(captions_benchmark(table, tables.audio)).metrics
    assert found.metrics.keys() == whole.keys()
    assert whole["text_to_audio_r1"].chance == pytest.approx(1 / 9)
    with pytest.raises(SpecError, match="subsets of 10 cannot be drawn from 9"):
        captions_benchmark(table, tables.audio, BenchSettings(subset_size=10))

"""A corpus as the trainer sees it."""

from __future__ import annotations

import errno
import io
import json
import os
import shutil
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
import soundfile
import torch

from synth.base.errors import CorpusError, SpecError
from synth.corpus.corpus import SAMPLES_FILE, Corpus
from synth.storage import copies
from synth.storage.room import NoRoomError
from tests.kit.builds import UNCERTIFIED
from train.config.run import AudioMode, Stage, TrainConfig
from train.data import rows
from train.data.loader import Assembler, Loader
from train.data.meaning import meaning
from train.data.rows import Row
from train.data.split import SplitData
from train.data.tokenizer import CutTexts, TextTokenizer


def test_shards_and_virtual_shards_give_the_same_audio(corpus: Path, data: SplitData) -> None:
    virtual = SplitData(Corpus.open(corpus), "train", AudioMode.VIRTUAL)
    positions = range(len(data))
    every = data.rows(positions)
    assert torch.equal(data.sounds(every), virtual.sounds(every))


DAMAGE: dict[str, Callable[[bytes, Row], bytes]] = {
    "no sample lies there": lambda shard, row: bytes(len(shard)),
    "Format not recognised": lambda shard, row: _zero(shard, row["offset"], row["size"]),
    "": lambda shard, row: _zero(shard, row["offset"] + row["size"] // 2, 999),
    "ends before byte": lambda shard, row: shard[: row["offset"] + 9],
    "lies there": lambda shard, row: shard.replace(row["id"].encode(), b"other"),
    "8000 Hz, 1 channels": lambda shard, row: _replace(shard, row, 8000, 1),
    "16000 Hz, 2 channels": lambda shard, row: _replace(shard, row, 16000, 2),
}


def test_a_damaged_shard_is_one_line_with_shard_and_sample(corpus: Path, tmp_path: Path) -> None:
    moved = Path(shutil.copytree(corpus.parents[1], tmp_path / "moved"))
    data = SplitData(Corpus.open(moved / "data_manifests" / "tiny"), "train", AudioMode.SHARDS)
    (row,) = data.rows([0])
    shard = data.corpus.shard("train", row["shard"])
    whole = shard.read_bytes()
    for what, spoil in DAMAGE.items():
        shard.write_bytes(spoil(whole, row))
        with pytest.raises(CorpusError, match=what) as error:
            data.sounds([row])
        assert row["shard"] in error.value.message
        assert row["id"] in error.value.message or what == "ends before byte"


def _zero(shard: bytes, start: int, size: int) -> bytes:
    return shard[:start] + bytes(size) + shard[start + size :]


def _replace(shard: bytes, row: Row, rate: int, channels: int) -> bytes:
    sound = io.BytesIO()
    soundfile.write(sound, np.zeros((row["frames"], channels)), rate, format="FLAC")
    data = sound.getvalue()[: row["size"]]
    start = row["offset"]
    return shard[:start] + data.ljust(row["size"], b"\0") + shard[start + row["size"] :]


def test_texts_that_a_tokenizer_cuts_are_counted(data: SplitData) -> None:
    words = TextTokenizer.of_texts(data.vocabulary())
    assert data.count_cut(words).cut == 0
    short = json.loads(words.to_json())
    short["truncation"]["max_length"] = 2
    tokenizer = TextTokenizer.from_json(json.dumps(short))
    texts = [
        text
        for row in data.rows(range(len(data)))
        for text in (
            row["caption"],
            *(each["text"] for each in row["positives"] + row["negatives"]),
        )
    ]
    longer = sum(words([text]).ids.shape[1] > 2 for text in texts)
    assert data.count_cut(tokenizer) == CutTexts(longer, len(texts), 2)
    assert longer


def test_sounds_are_padded_with_silence_to_the_longest(data: SplitData) -> None:
    frames = data.frames
    order = np.argsort(frames)
    short, long = int(order[0]), int(order[-1])
    batch = data.sounds(data.rows([short, long]))
    assert batch.shape == (2, data.longest)
    assert not batch[0, frames[short] :].any()
    assert batch.dtype == torch.int16


def test_without_activity_no_part_is_judged(corpus: Path, data: SplitData, tmp_path: Path) -> None:
    version = Corpus.open(corpus).folder
    older = Path(shutil.copytree(version, tmp_path / "older", ignore=UNCERTIFIED))
    samples = pq.read_table(older / SAMPLES_FILE).drop_columns(["activity"])
    pq.write_table(samples, older / SAMPLES_FILE)
    found = SplitData(Corpus.open(older), "train", AudioMode.VIRTUAL)
    assert [row["claim"] for row in found.rows([0, 1])] == [
        row["claim"] for row in data.rows([0, 1])
    ]
    with pytest.raises(CorpusError, match="does not say when its sounds are heard") as caught:
        found.audible  # noqa: B018
    assert "build the corpus again" in caught.value.fix


def test_a_stage_keeps_to_its_relations(data: SplitData) -> None:
    stage = Stage(steps=1, relations=("before",))
    pool = data.pool(stage).tolist()
    assert {row["relation"] for row in data.rows(pool)} == {"before"}
    assert len(pool) == sum(row["relation"] == "before" for row in data.rows(range(len(data))))
    with pytest.raises(SpecError, match="relations are after, before, while"):
        data.pool(Stage(steps=1, relations=("during",)))


@pytest.fixture
def mapped(
    corpus: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Callable[[Path], SplitData]:
    """Opens a split as that of a large corpus is: by few rows, from a file in the cache."""
    monkeypatch.setenv("SEGUE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(rows, "_SMALL_BYTES", 0)
    monkeypatch.setattr(rows, "_TOGETHER", 5)
    monkeypatch.setattr(rows, "_BATCHES_BEFORE_RELEASE", 2)
    return lambda folder: SplitData(Corpus.open(folder), "train", AudioMode.SHARDS)


def made_in(cache: Path) -> list[Path]:
    return sorted(cache.rglob("*.arrow"))


def test_rows_of_a_large_corpus_are_those_of_its_manifest(
    corpus: Path, data: SplitData, mapped: Callable[[Path], SplitData], tmp_path: Path
) -> None:
    large = mapped(corpus)
    (file,) = made_in(tmp_path / "cache")
    assert file.stat().st_size == large._rows._data.size
    table = data.corpus.samples("train")
    assert len(large) == len(data) == table.num_rows > 10
    every = range(len(data))
    told = table.to_pylist()
    names = large.rows([0])[0].keys()
    expected = [Row({n: row[n] for n in names}, k) for k, row in enumerate(told)]
    assert large.rows(every) == data.rows(every) == expected
    assert large.rows([7, 1, 7, 6]) == [large.rows([position])[0] for position in (7, 1, 7, 6)]
    assert large.rows([]) == []
    assert large.relations == tuple(table["relation"].unique().to_pylist())
    assert large.frames.tolist() == table["frames"].to_pylist()
    assert large.longest == max(table["frames"].to_pylist())
    names_of = dict(zip(large.groups.tolist(), table["group"].to_pylist(), strict=True))
    assert [names_of[number] for number in large.groups.tolist()] == table["group"].to_pylist()
    assert len(names_of) == len(table["group"].unique())
    said = [
        text
        for row in told
        for text in [row["caption"], *(one["text"] for one in row["positives"] + row["negatives"])]
    ]
    assert large.vocabulary() == data.vocabulary() == {w for text in said for w in text.split(" ")}
    assert (
        TextTokenizer.of_texts(large.vocabulary()).to_json()
        == TextTokenizer.of_texts(said).to_json()
    )
    assert large.negative_kinds == data.negative_kinds
    assert large.audible == data.audible


def test_a_file_of_rows_is_made_once_for_all_processes(
    corpus: Path, mapped: Callable[[Path], SplitData], monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str] = []
    write = rows._write

    def counted(corpus: Corpus, split: str, *given: Any) -> None:
        made.append(split)
        write(corpus, split, *given)

    monkeypatch.setattr(rows, "_write", counted)
    with ThreadPoolExecutor(4) as threads:
        opened = list(threads.map(mapped, [corpus] * 4))
    assert made == ["train"]
    assert all(each.rows([0, 8]) == opened[0].rows([0, 8]) for each in opened)


def test_another_manifest_in_the_same_place_has_other_rows(
    corpus: Path, mapped: Callable[[Path], SplitData], tmp_path: Path
) -> None:
    """A version built anew, or a view with other rows, bears the name and digest of the first."""
    opened = Corpus.open(corpus)
    copy = shutil.copytree(opened.folder, tmp_path / "copy", ignore=UNCERTIFIED)
    before = mapped(copy)
    table = pq.read_table(copy / SAMPLES_FILE)
    pq.write_table(table.filter(pc.field("split") == "train").slice(3), copy / SAMPLES_FILE)
    (copy / "shards.parquet").unlink()
    facts = json.loads((copy / "corpus.json").read_text())
    train = facts["splits"]["train"]
    facts["splits"] = {"train": train | {"samples": train["samples"] - 3}}
    (copy / "corpus.json").write_text(json.dumps(facts))
    after = mapped(copy)
    assert len(after) == len(before) - 3
    assert after.rows([0])[0]["id"] == before.rows([3])[0]["id"]
    assert len(made_in(tmp_path / "cache")) == 2


def test_a_manifest_written_over_under_its_old_time_has_other_rows(
    corpus: Path, mapped: Callable[[Path], SplitData], tmp_path: Path
) -> None:
    copy = shutil.copytree(Corpus.open(corpus).folder, tmp_path / "copy", ignore=UNCERTIFIED)
    manifest = copy / SAMPLES_FILE
    before, status = mapped(copy), manifest.stat()
    manifest.write_bytes(manifest.read_bytes())  # in place: of the same size
    os.utime(manifest, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert manifest.stat().st_size == status.st_size
    assert len(mapped(copy)) == len(before)
    assert len(made_in(tmp_path / "cache")) == 2


def test_a_manifest_that_may_not_be_read_is_told(
    corpus: Path, mapped: Callable[[Path], SplitData], monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = Corpus.open(corpus)

    def refuse(path: Path) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("synth.corpus.corpus.pq.ParquetFile", refuse)
    with pytest.raises(CorpusError, match=r"samples\.parquet: cannot be read: Permission denied"):
        rows.SplitRows.open(opened, "train", ["id"])


@pytest.mark.parametrize("number", [errno.EACCES, errno.EROFS])
def test_a_cache_that_cannot_be_written_is_told(
    corpus: Path,
    mapped: Callable[[Path], SplitData],
    monkeypatch: pytest.MonkeyPatch,
    number: int,
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(copies, "wait_for_lock", refuse)
    with pytest.raises(SpecError, match=r"is not writable.*\$SEGUE_CACHE"):
        mapped(corpus)


def test_rows_share_the_room_of_copies(
    corpus: Path, mapped: Callable[[Path], SplitData], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SEGUE_CACHE_LIMIT", "100 B")
    with pytest.raises(NoRoomError, match="are more than the 0 kB"):
        mapped(corpus)


def test_threads_read_rows_at_once(corpus: Path, mapped: Callable[[Path], SplitData]) -> None:
    large = mapped(corpus)
    expected = large.rows(range(len(large)))
    positions = np.random.default_rng(0).permutation(np.tile(np.arange(len(large)), 10)).tolist()
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda position: large.rows([position])[0], positions))
    assert found == [expected[position] for position in positions]


def test_a_batch_takes_its_rows_once(
    data: SplitData, settings: Callable[..., TrainConfig], monkeypatch: pytest.MonkeyPatch
) -> None:
    assembler = Assembler.of(
        data, TextTokenizer.of_texts(data.vocabulary()), settings(), cached=False
    )
    loader = Loader(assembler, settings())
    asked: list[int] = []
    take = SplitData.rows

    def counted(self: SplitData, positions: Sequence[int]) -> list[Row]:
        asked.append(len(positions))
        return take(self, positions)

    monkeypatch.setattr(SplitData, "rows", counted)
    assert loader.batch(0).audio.pcm is not None
    assert len(asked) == 1


def test_meaning_forgets_the_order_of_what_is_heard_together() -> None:
    dog, rain = {"event": "dog"}, {"event": "rain"}
    together = [{"overlay": [dog, rain], "offset": 0}, {"overlay": [rain, dog], "offset": 0}]
    follows = [{"sequence": [dog, rain], "crossfade": 0}, {"sequence": [rain, dog], "crossfade": 0}]
    assert len({meaning(json.dumps(claim)) for claim in together}) == 1
    assert len({meaning(json.dumps(claim)) for claim in follows}) == 2
    assert meaning(json.dumps({"not": together[0]})) == meaning(json.dumps({"not": together[1]}))


@pytest.mark.parametrize("kind", ["sequence", "overlay", "and"])
def test_meaning_forgets_how_equal_compositions_are_nested(kind: str) -> None:
    a, b, c = ({"event": name} for name in "abc")
    rest = {"sequence": {"crossfade": 0}, "overlay": {"offset": 0}, "and": {}}[kind]

    def join(first: object, second: object) -> dict[str, object]:
        return {kind: [first, second], **rest}

    left, right = join(join(a, b), c), join(a, join(b, c))
    assert meaning(json.dumps(left)) == meaning(json.dumps(right))
    other = {"overlay": [join(a, b), c], "offset": 1}
    assert meaning(json.dumps(left)) != meaning(json.dumps(other))

"""`segue text negate`, `tag-captions` and `textswap`: files in, Parquet out."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
import soundfile
from click.testing import Result

from pipelines.cli.texts.tags import negate_command, tag_captions_command, textswap_command
from pipelines.export import write_negated_file
from synth.base.errors import SourceError
from synth.captions.caption import Style
from synth.corpus.corpus import Corpus
from synth.sources.reading.tag_files import HEADER, read_jamendo
from synth.text.negation.negators import NegationExtent
from tests.kit.builds import invoke, segue_here
from tests.kit.cases import cases

CAPTIONS = "id,caption\n1,A rock song with guitar\n2,Nothing here\n3,A song without drums\n"
TAGS = "id,category,tag\n1,genre,rock\n1,instrument,guitar\n2,genre,hip hop\n2,instrument,drums\n"


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "captions.csv").write_text(CAPTIONS)
    (tmp_path / "tags.csv").write_text(TAGS)
    return tmp_path


def run(command: Callable[..., Any], *arguments: str | Path) -> Result:
    return invoke(command, *arguments, catch_exceptions=False)


def rows(path: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = pq.read_table(path).to_pylist()
    return found


def test_negate_writes_a_row_for_each_caption_and_mode(files: Path) -> None:
    out = files / "out" / "n.parquet"
    done = run(
        negate_command, files / "captions.csv", "--vocabulary", files / "tags.csv", "--out", out
    )
    assert "full/negated" in done.output
    found = rows(out)
    assert [(row["id"], row["mode"]) for row in found[:3]] == [
        ("1", "insert"),
        ("1", "half"),
        ("1", "full"),
    ]
    full = {row["id"]: row for row in found if row["mode"] == "full"}
    assert full["1"]["false_text"].startswith("A song that is ")
    assert full["1"]["denied"] == ["rock", "guitar"]
    assert (full["2"]["outcome"], full["2"]["reason"]) == ("none", "no tag")
    assert not any(row["false_text" if row["mode"] == "insert" else "text"] for row in found)
    assert full["3"]["reason"] == "all denied"


def test_negate_in_one_mode_and_style_ends_with_json(files: Path) -> None:
    out = files / "n.parquet"
    done = run(
        negate_command,
        *(files / "captions.csv", "--vocabulary", files / "tags.csv", "--out", out),
        *("--mode", "full", "--style", "paper", "--json"),
    )
    report = json.loads(done.output.splitlines()[-1])
    assert report["rows"] == 3
    assert report["counts"]["full/negated"] == 1
    assert {row["mode"] for row in rows(out)} == {"full"}


def test_equal_seeds_make_equal_bytes(files: Path) -> None:
    made = [files / f"{number}.parquet" for number in range(3)]
    for path, seed in zip(made, (1, 1, 2), strict=True):
        write_negated_file(
            files / "captions.csv",
            files / "tags.csv",
            path,
            tuple(NegationExtent),
            Style.PAPER,
            seed,
        )
    first, again, other = (path.read_bytes() for path in made)
    assert first == again
    assert first != other


def test_tag_captions_writes_captions_and_views(files: Path) -> None:
    out = files / "c.parquet"
    done = run(tag_captions_command, files / "tags.csv", "--out", out, "--views", "2", "--json")
    assert json.loads(done.output.splitlines()[-1])["counts"]["caption"] == 2
    found = rows(out)
    assert [row["kind"] for row in found if row["id"] == "1"] == ["caption", "view", "view"]
    whole = next(row for row in found if row["id"] == "2")
    assert set(whole["said"]) == {"hip hop", "drums"}
    assert set(whole["tags"]) == {"genre:hip hop", "instrument:drums"}
    assert "hip hop" in whole["text"]


def test_textswap_writes_every_pair_with_its_reason(files: Path) -> None:
    out = files / "t.parquet"
    done = run(textswap_command, files / "tags.csv", "--out", out)
    assert "allowed" in done.output
    found = rows(out)
    assert {(row["tag"], row["alternative"], row["allowed"]) for row in found} == {
        ("guitar", "drums", True),
        ("drums", "guitar", True),
        ("rock", "hip hop", True),
        ("hip hop", "rock", True),
    }


def test_a_file_without_what_is_asked_is_refused_and_nothing_written(files: Path) -> None:
    out = files / "x.parquet"
    with pytest.raises(SourceError, match="has no caption"):
        run(negate_command, files / "tags.csv", "--vocabulary", files / "tags.csv", "--out", out)
    with pytest.raises(SourceError, match="no item has a tag"):
        run(tag_captions_command, files / "captions.csv", "--out", out)
    with pytest.raises(SourceError, match="names no tag"):
        run(textswap_command, files / "captions.csv", "--out", out)
    assert sorted(path.name for path in files.iterdir()) == ["captions.csv", "tags.csv"]


TRACKS = [
    f"track_{n}\tartist_1\talbum_1\t00/{n}.mp3\t1.0\tgenre---{genre}\tmood/theme---{mood}"
    for n, (genre, mood) in enumerate(5 * [*product(("rock", "jazz", "techno"), ("calm", "happy"))])
]
CHAIN = re.compile(r"\n## From tags to a corpus\n.*?((?:\n    segue [^\n]*)+)", re.DOTALL)


@cases("real", [False, True])
def test_tags_become_a_corpus_as_the_docs_say(
    real: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shared_data: Callable[[str], Path]
) -> None:
    lines = TRACKS
    if real:
        lines = shared_data("MTG-Jamendo/autotagging-validation.tsv").read_text().splitlines()[1:41]
    monkeypatch.chdir(tmp_path)
    Path("autotagging.tsv").write_text("\n".join(["\t".join(HEADER), *lines]))
    tracks = {track.id: track for track in read_jamendo(Path("autotagging.tsv"))}
    for number, track in enumerate(tracks.values()):
        path = "audio" / Path(track.path)
        path.parent.mkdir(parents=True, exist_ok=True)
        tone = 0.1 * np.sin(np.arange(22_050) * 0.01 * (number + 1))
        soundfile.write(path, tone, 22_050, format="MP3")
    page = Path(__file__).parents[3].joinpath("docs/text.md").read_text("utf-8")
    (chain,) = CHAIN.findall(page)
    for line in chain.split("\n    segue ")[1:]:
        done = segue_here(*shlex.split(line))
        assert done.returncode == 0, done.stderr
    texts: dict[str, set[str]] = {}
    for row in rows(Path("audio/negated.parquet")):
        texts.setdefault(f"parquet/{row['id']}", set()).add(row["text"])
        assert {tag.name for tag in tracks[row["id"]].tags}.isdisjoint(row["denied"])
    samples = Corpus.open(Path("data_manifests/jamendo")).samples().to_pylist()
    captions = {
        row["clips"][0]: {row["caption"], *(each["text"] for each in row["positives"])}
        for row in samples
    }
    assert captions == texts

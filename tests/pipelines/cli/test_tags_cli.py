"""Commands on texts, tags and labels: files in, Parquet out, one clear line for every fault."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable
from itertools import cycle, product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import soundfile
import yaml
from click.testing import Result

from pipelines.cli.make.labels import labels_command
from pipelines.cli.texts.probe import probe_command
from pipelines.cli.texts.tags import negate_command, tag_captions_command, textswap_command
from pipelines.export import write_negated_file
from synth.base.errors import SourceError, SpecError
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


# `segue text probe`: files in, Parquet out, counts, and one clear line for every fault.


ROWS = [
    {"audiocap_id": "7", "caption": "A goose honks then a gate shuts"},
    {"audiocap_id": "8", "caption": "A goose honks, after that a gate shuts"},
    {"audiocap_id": "9", "caption": ""},
    {"audiocap_id": "10", "caption": "Thunder before rain"},
]


def _run(*arguments: str | Path) -> Result:
    return invoke(probe_command, *arguments)


def _csv(folder: Path, rows: list[dict[str, str]] = ROWS) -> Path:
    lines = [",".join(rows[0])] + [",".join(f'"{cell}"' for cell in row.values()) for row in rows]
    path = folder / "captions.csv"
    path.write_text("\n".join(lines), encoding="utf-8-sig")
    return path


def _made(path: Path) -> list[dict[str, Any]]:
    return pq.read_table(path).to_pylist()


def test_every_row_is_written(tmp_path: Path) -> None:
    out = tmp_path / "new" / "swapped.parquet"
    done = _run("clause-swap", _csv(tmp_path), "--out", out)
    assert done.exit_code == 0, done.output
    table = pq.read_table(out)
    assert table.schema.metadata[b"tagger"] == b"embedded"
    first, second, third, fourth = table.to_pylist()
    assert first == {
        "id": "7",
        "column": "caption",
        "caption": ROWS[0]["caption"],
        "outcome": "made",
        "reason": None,
        "text": "A gate shuts then a goose honks",
        "connective": "then",
        "steps": ["clauses swapped"],
        "order": "4 5 6 3 0 1 2",
    }
    assert (second["outcome"], second["reason"], second["text"]) == ("left out", "adverbial", "")
    assert third["reason"] == "empty"
    assert fourth["text"] == "Rain before thunder"
    assert "2 of 4 captions" in done.output
    assert "adverbial" in done.output
    assert [path.name for path in out.parent.iterdir()] == ["swapped.parquet"]


def test_json_ends_with_one_object(tmp_path: Path) -> None:
    out = tmp_path / "bat.parquet"
    done = _run("bat", _csv(tmp_path), "--out", out, "--no-balanced", "--json")
    counts = json.loads(done.stdout.splitlines()[-1])
    assert counts == {
        "tool": "bat",
        "tagger": "embedded",
        "seed": 0,
        "captions": 4,
        "made": 1,
        "outcomes": {"no connective": 1, "adverbial": 1, "empty": 1, "made": 1},
        "out": str(out),
    }


def test_every_tool_reads_every_kind_of_file(tmp_path: Path) -> None:
    out, paths = tmp_path / "out.parquet", [_csv(tmp_path)]
    paths += [tmp_path / f"captions.{kind}" for kind in ("parquet", "json", "jsonl")]
    pq.write_table(pa.Table.from_pylist(ROWS), paths[1])
    paths[2].write_text(json.dumps(ROWS))
    paths[3].write_text("\n".join(json.dumps(row) for row in ROWS) + "\n\n")
    tools = ("nv", "clause-swap", "before-after", "as-then", "pte", "bat", "as-then-set")
    for tool, path in zip(tools, cycle(paths)):
        done = _run(tool, path, "--out", out, "--json")
        assert done.exit_code == 0, done.output
        assert [row["id"] for row in _made(out)] == ["7", "8", "9", "10"]


def test_several_columns_of_captions(tmp_path: Path) -> None:
    """As in Clotho: five captions a file."""
    path = tmp_path / "clotho.json"
    path.write_text(json.dumps([{"file": "a.wav", "one": "Rain then hail", "two": None, "n": 3}]))
    out = tmp_path / "out.parquet"
    columns = ("--column", "one", "--column", "two", "--column", "n")
    done = _run("pte", path, "--out", out, *columns, "--id-column", "file")
    assert done.exit_code == 0, done.output
    assert [(row["id"], row["column"], row["reason"]) for row in _made(out)] == [
        ("a.wav", "one", None),
        ("a.wav", "two", "empty"),
        ("a.wav", "n", "no connective"),
    ]


def test_faulty_files_are_told_in_one_line(tmp_path: Path) -> None:
    out = tmp_path / "out.parquet"
    for name, content, error in (
        ("nowhere.csv", None, SourceError),
        ("captions.txt", b"captions", SourceError),
        ("empty.csv", b"", SourceError),
        ("header.csv", b"audiocap_id,caption\n", SourceError),
        ("latin.csv", b"audiocap_id,caption\n1,caf\xe9\n", SourceError),
        ("broken.json", b"[{]", SourceError),
        ("words.json", b'["rain"]', SourceError),
        ("half.json", b'[{"audiocap_id": 1, "caption": "Rain \\ud800 hail"}]', SourceError),
        ("object.json", b'{"caption": "rain"}', SourceError),
        ("broken.parquet", b"PAR0", SourceError),
        ("other.csv", b"audiocap_id,text\n1,rain\n", SpecError),
        ("noid.csv", b"file,caption\n1,rain\n", SpecError),
    ):
        path = tmp_path / name
        if content is not None:
            path.write_bytes(content)
        failed = _run("pte", path, "--out", out)
        assert isinstance(failed.exception, error), name
        assert failed.exception.message.startswith(str(path))
        assert "\n" not in failed.exception.message
        assert failed.exception.fix
        assert not out.exists()


def test_what_cannot_be_done_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    failed = _run("pte", _csv(tmp_path), "--out", tmp_path / "out.parquet", "--column", "text")
    assert isinstance(failed.exception, SpecError)
    assert failed.exception.fix == "give --column one of: audiocap_id, caption"
    from synth.text.grammar.tagger import EmbeddedTagger

    monkeypatch.setattr("synth.text.grammar.tagger.best_tagger", EmbeddedTagger)
    out = tmp_path / "out.parquet"
    failed = _run("nv", _csv(tmp_path), "--out", out, "--tagger", "spacy")
    assert isinstance(failed.exception, SpecError)
    assert "en_core_web_sm" in failed.exception.fix
    assert _run("nv", _csv(tmp_path), "--out", out, "--tagger", "embedded").exit_code == 0
    failed = _run("bat", _csv(tmp_path), "--out", tmp_path / "out.parquet", "--size", "4")
    assert isinstance(failed.exception, SpecError)
    assert _run("rhyme", _csv(tmp_path), "--out", tmp_path / "out.parquet").exit_code == 2


# `segue labels`: what is known of a word, and the words that a spec's labels lack.


@cases(
    ("word", "said"),
    [
        ([], "585 labels have words, in 16 categories: music 139"),
        (["DOG"], "a dog barks; a dog lets out a bark"),
        (["honk"], "Vehicle horn, car horn, honking"),
        (["kettle boiling"], "did you mean 'Boiling'?"),
        (["zorble"], "word it under `labels`"),
    ],
)
def test_what_is_known_of_a_word(word: list[str], said: str) -> None:
    done = invoke(labels_command, *word)
    assert said in done.output + str(getattr(done.exception, "fix", ""))


def test_labels_without_words_are_all_told(tmp_path: Path) -> None:
    for label in ("RAIN", "budgie", "klaxon", "pe\u0301pin", "e\u0301cho"):
        (tmp_path / "sounds" / label).mkdir(parents=True)
        (tmp_path / "sounds" / label / "0.wav").touch()
    spec = tmp_path / "mine.yaml"
    words = {"klaxon": {"like": "siren"}, "\xe9cho": {"like": "dog"}}
    source = {"folder": {"root": "sounds"}}
    text = {"corpus": "mine", "source": source, "recipe": "triplets", "labels": words}
    spec.write_text(yaml.safe_dump(text))
    found = json.loads(invoke(labels_command, str(spec), "--json").output)
    assert found["unlisted"] == ["budgie", "p\xe9pin"]
    assert yaml.safe_load(found["yaml"])["labels"]["budgie"]["noun"] == "a budgie"

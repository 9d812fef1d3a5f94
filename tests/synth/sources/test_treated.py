"""Treated clips: listed beside their originals, and known as these wherever sounds are kept out."""

from __future__ import annotations

import contextlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
import yaml
from pydantic import ValidationError

from pipelines.builder.differences import relocate_files, setting_differences
from pipelines.config.file import read_spec
from pipelines.config.spec import Intake, Spec
from pipelines.engines.engine import engine
from pipelines.ingest.decoding import DecodingTask
from pipelines.ingest.ingest import IngestedLibrary, ingest
from synth.audio.bank import Bank
from synth.base.errors import ClipError, SourceError, SpecError
from synth.base.progress import UNOBSERVED
from synth.base.rng import Randomness
from synth.corpus.leakage import leakage
from synth.labels.lexicon import Tag, Treatment, untreated_id
from synth.sources import Settings, open_source
from synth.sources.catalogue import Acceptance, catalogue
from synth.sources.own.folder import FolderSource
from synth.sources.own.treated import Treated
from synth.sources.procedural import foley
from synth.sources.selection import SplitRule
from tests.kit.builds import segue_here
from tests.kit.libraries import write_csv

FEW = {"foley": {"classes": ["dog", "footsteps"], "takes": 2}}


def treated(of: object, *treatments: str) -> Treated:
    given = {"treatments": treatments} if treatments else {}
    return Treated.model_validate({"of": of} | given)


def take(source: Settings, out: Path, **settings: Any) -> IngestedLibrary:
    opened = open_source(source)  # type: ignore[arg-type]
    with engine(1) as where:
        return ingest(Intake(opened, 16_000, **settings), out, where, UNOBSERVED)  # type: ignore[arg-type]


def measure(source: Any) -> list[dict[str, Any]]:
    """The rows of clips that can be used."""
    rows = []
    for ref in source.refs():
        with contextlib.suppress(ClipError):
            rows.append(catalogue(source, ref, 16_000, Acceptance()).row)
    return rows


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two recordings, one of them twice."""
    root = tmp_path / "sounds"
    root.mkdir()
    for number, label in enumerate(("dog", "footsteps")):
        audio = foley.synthesize(label, Randomness(3).at(f"foley/{label}", 0))
        soundfile.write(root / f"{number}.wav", audio, foley.RATE)
    shutil.copy(root / "0.wav", root / "copy.wav")
    rows = [("0.wav", "dog", "x"), ("1.wav", "footsteps", "y"), ("copy.wav", "dog", "z")]
    write_csv(root / "index.csv", ("path", "label", "recording"), rows)
    return root


def test_every_clip_is_listed_as_it_is_and_once_a_treatment() -> None:
    source = treated(FEW)
    refs = list(source.refs())
    assert len({ref.id for ref in refs}) == len(refs) == 4 * (1 + len(Treatment))
    for start in range(0, len(refs), 1 + len(Treatment)):
        original, *others = refs[start : start + 1 + len(Treatment)]
        assert not original.tags
        for name, ref in zip(Treatment, others, strict=True):
            assert ref.id == f"{original.id}~{name}"
            assert untreated_id(ref.id) == original.id
            assert ref.tags == (Tag("treatment", name),)
            same = ("labels", "captions", "recording", "licence", "attribution", "split")
            assert all(getattr(ref, key) == getattr(original, key) for key in same)
            assert source.stamp(ref) != source.stamp(original)


@pytest.mark.slow
def test_renditions_are_the_same_on_every_run(shared_data: Callable[[str], Path]) -> None:
    source = treated({"esc50": {"root": str(shared_data("ESC-50"))}})
    refs = [ref for ref in source.refs() if untreated_id(ref.id).endswith("4-156227-A-9")]
    assert len(refs) == 1 + len(Treatment)
    found = {}
    for ref in refs:
        try:
            found[ref.id] = source.load(ref)
        except ClipError as error:
            assert " was " in str(error)  # noqa: PT017
            continue
        again = source.load(ref)
        assert again.audio.tobytes() == found[ref.id].audio.tobytes()
        assert again.sha256 == found[ref.id].sha256
    assert len({each.sha256 for each in found.values()}) == len(found) > len(Treatment) // 2


def test_ingest_keeps_them_beside_their_originals_and_measures_each(tmp_path: Path) -> None:
    rules = (SplitRule("train", 0.5), SplitRule("test", 0.5))
    source = treated(FEW, "hall", "falling")
    library = take(source, tmp_path / "banks", split_rules=rules)
    rows = {row["id"]: row for row in library.clips}
    assert len(rows) == 12
    assert not library.quarantine
    bank = Bank.open(library.index)
    for name, row in rows.items():
        original = rows[untreated_id(name)]
        assert (row["split"], row["fingerprint"]) == (original["split"], original["fingerprint"])
        frames = bank.frames(name) / bank.frames(original["id"])
        expected = {"hall": 1.2, "falling": 0.5, "": 0.99}[name.partition("~")[2]]
        assert frames > expected
        assert len(row["levels_db"]) == -(-bank.frames(name) // 800)
    assert {tag["name"] for row in rows.values() for tag in row["tags"]} == {"hall", "falling"}
    parts = {path: path.stat().st_mtime_ns for path in (tmp_path / "banks").rglob("part-*")}
    again = take(source, tmp_path / "banks", split_rules=rules)
    assert again.digest == library.digest
    assert {path: path.stat().st_mtime_ns for path in parts} == parts


def test_copies_and_blocked_clips_are_withdrawn_in_every_rendition(
    folder: Path, tmp_path: Path
) -> None:
    block = tmp_path / "block.txt"
    block.write_text("folder/1.wav\n")
    source = treated({"folder": {"root": str(folder)}}, "hall", "falling")
    library = take(source, tmp_path / "banks", block=(block,))
    assert {row["id"] for row in library.clips} == {
        "folder/0.wav",
        "folder/0.wav~hall",
        "folder/0.wav~falling",
    }
    withdrawn = {row["id"]: row for row in library.quarantine}
    for name in ("", "~hall", "~falling"):
        assert "same sound" in withdrawn[f"folder/copy.wav{name}"]["reason"]
        assert withdrawn[f"folder/1.wav{name}"]["stage"] == "block list"
    assert library.blocked[0].clips == 3


def test_a_rendition_is_known_by_the_sound_it_was_made_of(folder: Path, tmp_path: Path) -> None:
    """The same sound under another name, quieter and in another encoding."""
    audio, rate = soundfile.read(folder / "1.wav")
    (tmp_path / "other" / "steps").mkdir(parents=True)
    soundfile.write(tmp_path / "other" / "steps" / "steps.ogg", audio * 0.5, rate)
    known = open_source(FolderSource(root=tmp_path / "other", id_prefix="other"))
    source = treated({"folder": {"root": str(folder)}}, "hall", "high", "slow", "falling")
    rows = {row["id"]: row for row in measure(source)}
    assert len(rows) > 10
    ours = [row for name, row in rows.items() if name.startswith("folder/1.wav~")]
    found = leakage(ours, measure(known))
    assert found.by_sound == found.clips_a == len(ours) > 1


def test_a_clip_that_cannot_be_used_is_listed_once(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    soundfile.write(tmp_path / "a" / "silent.wav", np.zeros(16_000), 16_000)
    write_csv(tmp_path / "index.csv", ("path", "label"), [("../x.wav", "x"), ("a/silent.wav", "a")])
    refs = list(treated({"folder": {"root": str(tmp_path)}}, "hall").refs())
    assert [ref.id for ref in refs if ref.refusal] == ["folder/../x.wav"]
    assert len(refs) == 3
    source = treated({"folder": {"root": str(tmp_path)}}, "hall")
    reason = DecodingTask(source, 16_000, Acceptance()).decode(refs[-1])
    assert reason == "is silent throughout"


def test_a_spec_finds_the_folder_of_the_source_that_is_treated(
    folder: Path, tmp_path: Path
) -> None:
    path = tmp_path / "spec.yaml"
    values = {
        "corpus": "mine",
        "source": {"treated": {"of": {"folder": {"root": "sounds"}}, "treatments": ["hall"]}},
        "recipe": {"triplets": {}},
    }
    path.write_text(yaml.safe_dump(values))
    assert len(list(read_spec(path).make_source().refs())) == 6
    path.write_text(yaml.safe_dump(values).replace("root", "rood"))
    with pytest.raises(SpecError, match=r"no setting 'rood'; did you mean 'root'\?"):
        read_spec(path)
    source = treated({"folder": {"root": str(folder)}}, "hall")
    dumped = json.loads(source.model_dump_json())
    assert dumped == {"of": {"folder": dumped["of"]["folder"]}, "treatments": ["hall"]}
    assert Treated.model_validate(dumped) == source
    with pytest.raises(SourceError, match="vocabulary has no recordings"):
        list(treated("vocabulary").refs())
    with pytest.raises(ValidationError, match="treated already"):
        treated({"treated": {}})


def test_the_commands_take_the_source_that_is_treated(folder: Path, tmp_path: Path) -> None:
    library = f"treated:folder:{folder}"
    told = json.loads(segue_here("check", library, "--json").stdout.splitlines()[-1])
    assert (told["listed"], told["clips"], told["missing"]) == (3, 3, 0)
    path = tmp_path / "specs" / "new.yaml"
    told = json.loads(
        segue_here("new", "triplets", "--source", library, "--out", path, "--json").stdout
    )
    assert told["clips"] == 3 * (1 + len(Treatment))
    source = read_spec(path).source.chosen
    assert isinstance(source, Treated)
    assert source.of.chosen == FolderSource(root=folder, index=Path("index.csv"))
    assert source.treatments == tuple(Treatment)


def test_what_a_corpus_plays_must_differ_whatever_its_file_does(tmp_path: Path) -> None:
    """Lowered, a whistle above the band of a corpus comes into it, over what lay below."""
    rate = 44_100
    moments = np.arange(2 * rate) / rate
    sound = 0.02 * np.sin(2 * np.pi * 1_000 * moments) + 0.4 * np.sin(2 * np.pi * 9_000 * moments)
    soundfile.write(tmp_path / "whistle.wav", sound, rate)
    write_csv(tmp_path / "index.csv", ("path", "label"), [("whistle.wav", "whistle")])
    source = open_source(treated({"folder": {"root": str(tmp_path)}}, "low"))
    _, lowered = source.refs()
    assert catalogue(source, lowered, rate, Acceptance()).row["id"].endswith("~low")  # type: ignore[arg-type]
    with pytest.raises(ClipError, match=r"low can hardly be heard: its brightness .* was"):
        catalogue(source, lowered, 16_000, Acceptance())  # type: ignore[arg-type]


def test_where_the_library_lies_does_not_count(folder: Path, tmp_path: Path) -> None:
    specs = []
    for root in (folder, tmp_path / "moved"):
        of = {"folder": {"root": str(root)}}
        source = {"treated": {"of": of, "treatments": ["falling"]}}
        specs.append(Spec.model_validate({"corpus": "c", "source": source, "recipe": "triplets"}))
    library = take(specs[0].source.chosen, tmp_path / "banks")  # type: ignore[arg-type]
    parts = {path.name for path in (tmp_path / "banks").rglob("part-*")}
    folder.rename(tmp_path / "moved")
    again = take(specs[1].source.chosen, tmp_path / "banks")  # type: ignore[arg-type]
    assert again.digest == library.digest
    assert setting_differences(*specs) == ()
    assert relocate_files(*specs) == specs[1]
    assert {path.name for path in (tmp_path / "banks").rglob("part-*")} == parts

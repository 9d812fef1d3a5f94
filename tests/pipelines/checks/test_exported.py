"""`segue audit --export`: every line is judged again, and the one that fails is named."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from builds import segue_here
from export_corpora import built

from pipelines.checks.blind_export import run_blind_export
from pipelines.checks.exported import audit_export
from pipelines.export.corpus import export_corpus
from synth.base.errors import CorpusError, SpecError
from synth.corpus.corpus import Corpus

NAMES = ("questions", "differences", "chat", "preference")


@pytest.fixture(scope="module")
def manifests(tiny_corpus: Path) -> Path:
    return tiny_corpus / "data_manifests" / "tiny"


@pytest.fixture(scope="module")
def exports(manifests: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("exports")
    for name in NAMES:
        export_corpus(Corpus.open(manifests), name, root / name, splits=["test"])
    return root


@pytest.fixture(scope="module")
def edited(tmp_path_factory: pytest.TempPathFactory) -> tuple[Corpus, Path]:
    """A corpus of edits, and its export."""
    root = tmp_path_factory.mktemp("edited")
    changes = {
        "recipe": {"edits": {"pairs": {"train": 1, "test": 6}}},
        "audio": {"length": "exact 6 s"},
    }
    corpus = built(root, changes)
    export_corpus(corpus, "edits", root / "edits", splits=["test"])
    return corpus, root / "edits"


def test_edits_hold_in_words_and_in_audio(edited: tuple[Corpus, Path]) -> None:
    corpus, folder = edited
    found = audit_export(corpus.folder, folder)
    assert (found.faults, found.rows, found.files) == ((), 6, 12)


def test_what_is_wrong_with_an_edit_is_named(edited: tuple[Corpus, Path], tmp_path: Path) -> None:
    corpus, source = edited
    told = json.loads((source / "test.jsonl").read_text(encoding="utf-8").splitlines()[0])
    stem = told["before_stems"][0]
    for number, (row, why) in enumerate(
        [
            ({"instruction": "Remove it."}, "does not ask"),
            ({"onset_s": told["onset_s"] + 0.1}, "not what differs"),
            ({"offset_s": None}, "expected id, before"),
            ({"before": "edits-test-none"}, "no sample"),
            ({"before_stems": [*told["before_stems"], stem]}, "do not add up"),
            ({"before_stems": [stem | {"audio": "../../stem.flac"}]}, "leads out of"),
            ({"before_stems": [stem | {"audio": "none.flac"}]}, "there is no"),
            ({"before_stems": "stems"}, "no list of stems"),
        ]
    ):
        folder = tmp_path / str(number)
        shutil.copytree(source, folder)
        change(folder / "test.jsonl", 1, row)
        (fault,) = audit_export(corpus.folder, folder).faults
        assert (fault.file, fault.line) == ("test.jsonl", 1)
        assert why in fault.why


@pytest.fixture
def folder(exports: Path, tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    return Path(shutil.copytree(exports / request.param, tmp_path / request.param))


def change(path: Path, line: int, row: dict[str, Any]) -> None:
    lines = path.read_text(encoding="utf-8").splitlines()
    lines[line - 1] = json.dumps(json.loads(lines[line - 1]) | row)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


@pytest.mark.parametrize("name", NAMES)
def test_every_line_of_an_export_holds(manifests: Path, exports: Path, name: str) -> None:
    found = audit_export(manifests, exports / name)
    lines = sum(
        len(path.read_text(encoding="utf-8").splitlines())
        for path in (exports / name).glob("*.jsonl")
    )
    assert found.faults == ()
    assert found.rows == lines > 0
    assert found.files == 72


@pytest.mark.parametrize(
    ("folder", "row"),
    [
        ("questions", {"answer": "maybe"}),
        ("questions", {"audio": "audio/test/none.flac"}),
        ("differences", {"caption": "Only in the first recording do you hear rain."}),
        ("differences", {"second": "tiny-test-none"}),
        ("chat", {"group": "test-none"}),
        ("chat", {"proofs": [{}]}),
        ("preference", {"rejected_response": "Nothing at all."}),
        ("preference", {"samples": ["tiny-train-00000000"]}),
        ("preference", {"group": []}),
    ],
    indirect=["folder"],
)
def test_a_line_that_does_not_hold_is_named(
    manifests: Path, folder: Path, row: dict[str, Any]
) -> None:
    change(folder / "test.jsonl", 3, row)
    (fault,) = audit_export(manifests, folder).faults
    assert (fault.file, fault.line) == ("test.jsonl", 3)
    assert fault.row.startswith("tiny-test-")
    assert fault.why


@pytest.mark.parametrize("folder", ["preference"], indirect=True)
def test_a_preference_without_its_mirror_is_named(manifests: Path, folder: Path) -> None:
    """Each line holds, but a model may learn from their texts alone."""
    path = folder / "test.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text("".join(lines[:-1]), encoding="utf-8")
    (fault,) = audit_export(manifests, folder).faults
    assert "its mirror is not beside it" in fault.why
    assert fault.line == len(lines) - 1
    path.write_text("".join([lines[0], *lines[2:4], *lines[1:2], *lines[4:]]), encoding="utf-8")
    assert [fault.line for fault in audit_export(manifests, folder).faults] == [1, 4]
    path.write_text("".join(lines[1:]), encoding="utf-8")
    assert [fault.line for fault in audit_export(manifests, folder).faults] == [1]


@pytest.mark.parametrize("folder", ["preference"], indirect=True)
@pytest.mark.parametrize("proof", [None, [], "proof", {}])
def test_a_proof_of_another_form_is_named(manifests: Path, folder: Path, proof: object) -> None:
    change(folder / "test.jsonl", 3, {"proof": proof})
    faults = audit_export(manifests, folder).faults
    assert [fault.line for fault in faults] == [3, 4]
    assert "its mirror is not beside it" in faults[1].why


@pytest.mark.parametrize("folder", ["preference"], indirect=True)
def test_other_audio_under_a_name_is_found(manifests: Path, folder: Path) -> None:
    first, second = sorted((folder / "audio" / "test").iterdir())[:2]
    shutil.copyfile(second, first)
    faults = audit_export(manifests, folder).faults
    assert faults
    assert all("is not the audio of its sample" in fault.why for fault in faults)


@pytest.mark.parametrize("folder", ["preference"], indirect=True)
def test_rejected_audio_is_looked_for(manifests: Path, folder: Path) -> None:
    """Its name alone proves nothing: another file may bear it."""
    path = folder / "test_audios.jsonl"
    row = json.loads(path.read_text(encoding="utf-8").splitlines()[0])
    change(path, 1, {"rejected_audios": [f"none/{Path(row['rejected_audios'][0]).name}"]})
    (fault,) = audit_export(manifests, folder).faults
    assert (fault.file, fault.line) == ("test_audios.jsonl", 1)
    assert "there is no none/" in fault.why


@pytest.mark.parametrize("folder", ["preference"], indirect=True)
def test_what_cannot_be_judged_is_refused(manifests: Path, folder: Path, tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="holds no export"):
        audit_export(manifests, tmp_path)
    export_corpus(Corpus.open(manifests), "nemo", tmp_path / "nemo", splits=["test"])
    with pytest.raises(SpecError, match="exports as nemo have no lines"):
        audit_export(manifests, tmp_path / "nemo")
    (folder / "test_audios.jsonl").unlink()
    with pytest.raises(CorpusError, match=r"test_audios\.jsonl: missing"):
        audit_export(manifests, folder)
    identity = folder / ".segue" / "export.json"
    identity.write_text(json.dumps(json.loads(identity.read_bytes()) | {"corpus_digest": "x"}))
    with pytest.raises(SpecError, match="is an export of tiny"):
        audit_export(manifests, folder)


def test_command_names_the_line_and_fails(manifests: Path, exports: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(exports / "preference", tmp_path / "changed")
    good = segue_here("audit", manifests, "--export", exports / "preference", "--blind", "--json")
    assert good.returncode == 0, good.stderr
    told = json.loads(good.stdout.splitlines()[-1])
    assert told["faults"] == 0
    change(folder / "test.jsonl", 2, {"query": "What?", "proof": {}})
    bad = segue_here("audit", manifests, "--export", folder, "--blind")
    assert bad.returncode == 1
    assert "test.jsonl:2" in bad.stdout
    assert "2 violations" in bad.stdout
    assert "no blind test" in bad.stdout


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (("--leakage", "--blind"), "--leakage compares clips alone"),
        (("--leakage", "--export", "preference"), "--leakage compares clips alone"),
        (("--export", "questions", "--blind"), "have no wrong answers by themselves"),
        (("--export", "none", "--blind"), "holds no export"),
    ],
)
def test_options_that_do_not_fit_are_refused(
    manifests: Path,
    exports: Path,
    monkeypatch: pytest.MonkeyPatch,
    options: tuple[str, ...],
    why: str,
) -> None:
    monkeypatch.chdir(exports)
    refused = segue_here("audit", manifests, *options)
    assert refused.returncode == 1
    assert why in refused.stderr
    assert refused.stdout == ""


@pytest.mark.parametrize("name", ["chat", "preference"])
def test_text_alone_tells_no_answer(exports: Path, name: str) -> None:
    """Exactly: what is right of one recording is wrong of another, in the same words."""
    for most in (100_000, 500):
        figures = run_blind_export(exports / name, most).figures
        assert figures
        assert {figure.value for figure in figures} == {0.5}


def test_a_blind_test_needs_wrong_answers(exports: Path) -> None:
    with pytest.raises(SpecError, match="have no wrong answers by themselves"):
        run_blind_export(exports / "differences", 1000)

"""`segue audit --export`: the export is made again, and each line and file that differs named."""

from __future__ import annotations

import json
import shutil
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from pipelines.checks.blind import run_blind_export
from pipelines.checks.exported import ExportAudit, audit_export
from pipelines.cli.look.audit import print_export
from pipelines.export import export_corpus
from synth.base.errors import CorpusError, SpecError
from synth.corpus.corpus import Corpus
from synth.export import FORMATS
from tests.kit.builds import ask_segue, segue_here
from tests.kit.export_corpora import built

NAMES = ("questions", "differences", "chat", "preference", "grpo")


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
    corpus = built(tmp_path_factory, changes)
    export_corpus(corpus, "edits", root / "edits", splits=["test"])
    return corpus, root / "edits"


@pytest.fixture
def folder(exports: Path, tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    return Path(shutil.copytree(exports / request.param, tmp_path / request.param))


def change(path: Path, line: int, row: dict[str, Any]) -> None:
    lines = path.read_text(encoding="utf-8").splitlines()
    lines[line - 1] = json.dumps(json.loads(lines[line - 1]) | row, ensure_ascii=False)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def name_faults(corpus: Path, folder: Path) -> list[tuple[str, int, str]]:
    return [(fault.file, fault.line, fault.why) for fault in audit_export(corpus, folder).faults]


@pytest.mark.parametrize(
    "name", sorted({*FORMATS} - {"lance", "edits", "edits-hf", "edits-webdataset"})
)
def test_each_export_is_faithful(manifests: Path, exports: Path, tmp_path: Path, name: str) -> None:
    folder = exports / name
    if name not in NAMES:
        folder = tmp_path / name
        export_corpus(Corpus.open(manifests), name, folder, splits=["test"])
    found = audit_export(manifests, folder)
    lines = sum(path.read_bytes().count(b"\n") for path in folder.rglob("*.jsonl"))
    assert found.faults == ()
    assert (found.format, found.rows) == (name, lines)
    assert found.files >= (72 if name in NAMES else 1)


def test_edits_hold_in_words_and_in_audio(edited: tuple[Corpus, Path], tmp_path: Path) -> None:
    corpus, source = edited
    found = audit_export(corpus.folder, source)
    assert (found.faults, found.rows) == ((), 6)
    folder = shutil.copytree(source, tmp_path / "edits")
    first, second = sorted((folder / "stems" / "test").iterdir())[:2]
    shutil.copyfile(second, first)
    change(folder / "test.jsonl", 2, {"instruction": "Remove it."})
    assert name_faults(corpus.folder, folder) == [
        (f"stems/test/{first.name}", 0, "is not what the corpus makes"),
        ("test.jsonl", 2, "is not what the corpus makes"),
    ]


def test_lines_that_were_changed_are_named(manifests: Path, exports: Path, tmp_path: Path) -> None:
    changes: dict[str, list[dict[str, Any]]] = {
        "questions": [{"answer": "maybe"}, {"audio": "../audio/test/none.flac"}],
        "differences": [{"caption": "Only in the first recording do you hear rain."}],
        "chat": [{"proofs": [{}]}],
        "preference": [{"rejected_response": "Nothing at all."}, {"more": []}],
        "grpo": [{"solution": "none"}, {"evidence": []}],
    }
    for name, rows in changes.items():
        folder = shutil.copytree(exports / name, tmp_path / name)
        for line, row in enumerate(rows, 3):
            change(folder / "test.jsonl", line, row)
        faults = audit_export(manifests, folder).faults
        lines = range(3, 3 + len(rows))
        assert [(fault.file, fault.line) for fault in faults] == [("test.jsonl", n) for n in lines]
        assert all(fault.row.startswith("tiny-test-") for fault in faults)
        assert {fault.why for fault in faults} == {"is not what the corpus makes"}


@pytest.mark.parametrize("folder", ["preference"], indirect=True)
def test_lines_that_are_missing_moved_or_doubled_are_named(manifests: Path, folder: Path) -> None:
    path = folder / "test.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    for changed, faults in (
        (lines[:-1], [(len(lines), "is missing")]),
        (lines[1:], [(1, "is missing")]),
        ([*lines[1:], lines[0]], [(len(lines), "is out of order")]),
        ([lines[0], lines[2], lines[1], *lines[3:]], [(3, "is out of order")]),
        ([*lines[:2], lines[1], *lines[2:]], [(3, "is there twice")]),
        ([lines[0], b"[" * 500 + b"\n", *lines[1:]], [(2, "is not what the corpus makes")]),
        ([*lines, b"\n"], [(len(lines) + 1, "is not what the corpus makes")]),
        ([*lines, b" " * 10**6], [(len(lines) + 1, "is not what the corpus makes")]),
        ([], [(number, "is missing") for number in range(1, len(lines) + 1)]),
    ):
        path.write_bytes(b"".join(changed))
        assert name_faults(manifests, folder) == [("test.jsonl", *fault) for fault in faults]


@pytest.mark.parametrize("folder", ["preference"], indirect=True)
def test_files_that_are_not_theirs_are_named(manifests: Path, folder: Path, tmp_path: Path) -> None:
    first, second, third = sorted((folder / "audio" / "test").iterdir())[:3]
    first.unlink()
    shutil.copyfile(third, second)
    (tmp_path / "elsewhere").write_bytes(third.read_bytes())
    third.unlink()
    third.symlink_to(tmp_path / "elsewhere")
    (folder / "README.md").write_text("mine", encoding="utf-8")
    (folder / "more.jsonl").write_text("{}", encoding="utf-8")
    faults = name_faults(manifests, folder)
    names = [Path(file).name for file, _, _ in faults]
    assert names == [first.name, second.name, third.name, "more.jsonl"]
    assert [why for _, _, why in faults][:2] == ["is missing", "is not what the corpus makes"]
    assert "leads out of its folder" in faults[2][2]
    assert faults[3][2] == "is not of this export"


@pytest.mark.parametrize("folder", ["preference"], indirect=True)
def test_what_cannot_be_compared_is_refused(manifests: Path, folder: Path, tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="is not an export"):
        audit_export(manifests, tmp_path)
    identity = folder / ".segue" / "export.json"
    facts = json.loads(identity.read_bytes())
    for change, why in (
        ({"format": "lance"}, "exports as lance cannot be made again"),
        ({"format": "none"}, "exports as none cannot be made again"),
        ({"format_version": 1}, "was written as preference version 1, and this Segue writes"),
        ({"corpus_digest": "x"}, "is an export of tiny"),
        ({"splits": ["none"]}, "has no split 'none'"),
        ({"splits": []}, "its description differs"),
    ):
        identity.write_text(json.dumps(facts | change), encoding="utf-8")
        with pytest.raises((SpecError, CorpusError), match=why):
            audit_export(manifests, folder)


def test_command_names_the_line_and_fails(manifests: Path, exports: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(exports / "preference", tmp_path / "changed")
    told = ask_segue("audit", manifests, "--export", exports / "preference", "--blind")
    assert told["faults"] == 0
    change(folder / "test.jsonl", 2, {"query": "What?", "proof": {}})
    bad = segue_here("audit", manifests, "--export", folder, "--blind")
    assert bad.returncode == 1
    assert "test.jsonl:2" in bad.stdout
    assert "1 violation" in bad.stdout
    assert "no blind test" in bad.stdout


def test_options_that_do_not_fit_are_refused(manifests: Path, exports: Path) -> None:
    for options, why in (
        (("--leakage", "--blind"), "--leakage goes with no other option"),
        (("--leakage", "--audio", "5"), "--leakage goes with no other option"),
        (("--leakage", "--export", exports / "preference"), "--leakage goes with no other option"),
        (("--export", exports / "questions", "--blind"), "have no wrong answers"),
        (("--export", exports / "none", "--blind"), "is not an export"),
    ):
        refused = segue_here("audit", manifests, *options)
        assert (refused.returncode, refused.stdout) == (1, "")
        assert why in refused.stderr


def test_text_alone_tells_no_answer_and_a_blind_test_needs_wrong_ones(exports: Path) -> None:
    """Exactly: what is right of one recording is wrong of another, in the same words."""
    for name, most in product(("chat", "preference", "grpo"), (100_000, 500)):
        blind = run_blind_export(exports / name, most)
        print_export(ExportAudit(name, 0, 0, 0, ()), blind, is_blind=True)
        figures = blind.figures
        assert figures
        assert {figure.value for figure in figures} == {0.5}
    with pytest.raises(SpecError, match="have no wrong answers"):
        run_blind_export(exports / "differences", 1000)

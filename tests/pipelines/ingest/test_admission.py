"""Licences and block lists of a spec: what may not be used is accounted, and reaches no sample."""

from __future__ import annotations

import csv
import json
import os
import re
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict
from itertools import product
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import soundfile

from pipelines.builder.build import build, plan_library
from pipelines.cli.make.plan import plan_command
from pipelines.config.file import read_spec
from pipelines.config.spec import Intake, Spec
from pipelines.engines.engine import engine
from pipelines.ingest.admission import Admission
from pipelines.ingest.ingest import IngestedLibrary, ingest
from pipelines.ingest.parts import LISTED_ROWS
from pipelines.store.row_file import RowFile
from synth.audio.bank import Bank
from synth.audio.dsp import to_pcm
from synth.base.errors import ClipError, SourceError, SpecError
from synth.base.progress import UNOBSERVED
from synth.base.rng import Randomness
from synth.corpus.corpus import Corpus
from synth.corpus.licence import parse_licence
from synth.corpus.schema import to_table
from synth.corpus.shards import AudioFormat, encode_audio
from synth.labels.lexicon import Tag
from synth.sources.block import Blocked, BlockList, tally, withdraw_blocked
from synth.sources.catalogue import Acceptance, quarantine_row
from synth.sources.own.folder import FolderSource
from synth.sources.own.hf import ParquetSource
from synth.sources.procedural import foley
from synth.sources.reading.base import ClipRef, Settings
from synth.sources.reading.collected import unheard_row
from synth.sources.reading.files import explain_escape, list_refs
from synth.sources.selection import (
    Allowed,
    SplitRule,
    assign_splits,
    suggest_licences,
    withdraw_unlicensed,
)
from tests.kit.builds import ask_segue, segue_here
from tests.kit.libraries import write_csv
from tests.kit.mutations import write_damaged

LABELS = ("cat", "dog", "rain", "siren")
LICENCES = ("CC0", "http://creativecommons.org/licenses/by/3.0/", "Attribution Noncommercial")


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three recordings a label, of three licences."""
    root = tmp_path_factory.mktemp("library")
    rows = []
    for label in LABELS:
        for take, licence in enumerate(LICENCES):
            audio = foley.synthesize(label, Randomness(3).at(f"foley/{label}", take))
            name = f"{label}-{take}.wav"
            (root / name).write_bytes(encode_audio(to_pcm(audio), foley.RATE, AudioFormat.WAV))
            rows.append((name, label, f"{label}-{take}", licence, f"=Someone {take}"))
    write_csv(root / "index.csv", ("path", "label", "recording", "licence", "attribution"), rows)
    return root


@pytest.fixture
def over(library: Path, tiny: Callable[..., Spec]) -> Callable[..., Spec]:
    source = {"folder": {"root": str(library), "index": "index.csv"}}
    return lambda **changes: tiny(
        **{"source": source, "splits": {"train": 1.0}, "recipe": {"triplets": {"repeats": 1}}}
        | changes
    )


def read(out: Path) -> tuple[Corpus, list[dict[str, str]], list[dict[str, str]]]:
    corpus = Corpus.open(out / "data_manifests" / "tiny")
    clips = pq.read_table(corpus.folder / "clips.parquet").to_pylist()
    quarantine = pq.read_table(corpus.folder / "quarantine.parquet").to_pylist()
    return corpus, clips, quarantine


def test_only_the_licences_of_the_spec_are_used(over: Callable[..., Spec], tmp_path: Path) -> None:
    build(over(licences=["CC0", "CC-BY"]), tmp_path, 0)
    corpus, clips, quarantine = read(tmp_path)
    assert {clip["licence"] for clip in clips} == {"CC0-1.0", "CC-BY-3.0"}
    assert len(quarantine) == len(LABELS)
    assert {row["stage"] for row in quarantine} == {"licence"}
    assert "CC-BY-NC" in quarantine[0]["reason"]
    assert corpus.facts["licence"] == "CC-BY-3.0"


def test_the_licence_of_a_mix_is_told(over: Callable[..., Spec], tmp_path: Path) -> None:
    build(over(), tmp_path, 0)
    corpus, clips, _ = read(tmp_path)
    licence_of = {clip["id"]: clip["licence"] for clip in clips}
    order = ["CC0-1.0", "CC-BY-3.0", "CC-BY-NC"]
    for row in corpus.samples().to_pylist():
        shard = corpus.shards / row["split"] / row["shard"]
        document = json.loads(_document(shard, row))
        worst = max((licence_of[clip] for clip in row["clips"]), key=order.index)
        # A CC-BY-NC without a version takes that of the CC-BY beside it.
        assert document["licence"].startswith(worst.removesuffix("-3.0"))
        assert [event["licence"] for event in document["events"]] == [
            licence_of[clip] for clip in row["clips"]
        ]
    card = (corpus.shards / "README.md").read_text()
    assert "license: cc-by-nc-3.0" in card
    with (corpus.shards / "ATTRIBUTION.csv").open(newline="", encoding="utf-8") as file:
        ledger = list(csv.DictReader(file))
    assert {row["clip"] for row in ledger} == {
        clip for row in corpus.samples().to_pylist() for clip in row["clips"]
    }
    assert all(row["attribution"].startswith("'=Someone") for row in ledger)


def _document(shard: Path, row: dict[str, object]) -> bytes:
    import webdataset

    found = webdataset.WebDataset(str(shard), shardshuffle=False)
    return next(sample["json"] for sample in found if sample["__key__"] == row["id"])  # type: ignore[no-any-return]


def test_blocked_sounds_reach_no_sample(over: Callable[..., Spec], tmp_path: Path) -> None:
    listed = tmp_path / "evaluation.txt"
    listed.write_text("# ours\nfolder/dog-1\ncat-2\n")
    build(over(block=[str(listed)]), tmp_path, 0)
    corpus, _, quarantine = read(tmp_path)
    assert {row["location"] for row in quarantine} == {"dog-1.wav", "cat-2.wav"}
    assert all(row["stage"] == "block list" for row in quarantine)
    assert not {"folder/dog-1.wav", "folder/cat-2.wav"} & {
        clip for row in corpus.samples().to_pylist() for clip in row["clips"]
    }


def test_what_each_list_blocks_is_told_and_what_matches_nothing(
    over: Callable[..., Spec], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    listed, other = tmp_path / "a.txt", tmp_path / "b.txt"
    listed.write_text("folder/dog-1\ncat-2\nparrot-9\ncat-22\n")
    other.write_text("cat-2\nfolder/dog-1.wav\n")
    spec = over(block=[str(listed), str(other)])
    library, _, _ = plan_library(spec, tmp_path, 0, UNOBSERVED)
    first, second = library.blocked
    assert first == Blocked(str(listed), 2, ("cat-22", "parrot-9"), 4)
    assert first.line.endswith(
        "2 clips blocked; 2 of its 4 entries match no clip: cat-22, parrot-9"
    )
    assert second == Blocked(str(other), 0, (), 2)  # both were blocked by the first list already
    file = tmp_path / "spec.yaml"
    file.write_text(json.dumps(spec.model_dump(mode="json")))
    result = plan_command(file, tmp_path, workers=0, observer=UNOBSERVED)
    told = result.facts
    assert [Blocked(**each).line for each in told["blocked"]] == [first.line, second.line]
    assert told["quarantined"] == 2
    result.show()
    shown = capsys.readouterr().out
    assert "2 clips quarantined" in shown
    assert first.line in shown


def test_entries_of_unlicensed_clips_match(over: Callable[..., Spec], tmp_path: Path) -> None:
    listed = tmp_path / "a.txt"
    listed.write_text("dog-1\n")
    (blocked,) = plan_library(over(licences=["CC0"], block=[str(listed)]), tmp_path, 0, UNOBSERVED)[
        0
    ].blocked
    assert blocked == Blocked(str(listed), 0, (), 1)


def test_a_corpus_blocks_its_own(over: Callable[..., Spec], library: Path, tmp_path: Path) -> None:
    """The same sounds under other names are known by their bytes."""
    build(over(licences=["CC-BY"]), tmp_path / "evaluation", 0)
    other = {"folder": {"root": str(library), "index": "index.csv", "id_prefix": "copy"}}
    manifests = tmp_path / "evaluation" / "data_manifests" / "tiny"
    build(over(source=other, block=[str(manifests)]), tmp_path / "training", 0)
    _, _, quarantine = read(tmp_path / "training")
    assert {row["location"] for row in quarantine} == {f"{label}-1.wav" for label in LABELS}
    apart = segue_here("audit", "--leakage", tmp_path / "training/data_manifests/tiny", manifests)
    assert apart.returncode == 0, apart.stdout
    assert "0 shared" in apart.stdout
    build(over(source=other), tmp_path / "leaky", 0)
    found = ask_segue(
        "audit", "--leakage", tmp_path / "leaky/data_manifests/tiny", manifests, status=1
    )
    assert not found["disjoint"]
    assert 0 < found["shared"] <= len(LABELS)


def test_wrong_names_are_told_before_any_clip_is_read(tmp_path: Path) -> None:
    spec = tmp_path / "spec.yaml"
    spec.write_text("corpus: x\nsource: foley\nrecipe: triplets\nlicences: [CC-BYE]\n")
    with pytest.raises(SpecError, match=r":4:1: licences.*CC-BYE"):
        read_spec(spec)
    spec.write_text("corpus: x\nsource: foley\nrecipe: triplets\nblock: [gone.txt]\n")
    assert read_spec(spec).block == (tmp_path / "gone.txt",)
    with pytest.raises(SourceError, match=r"gone\.txt"):
        build(read_spec(spec), tmp_path, 0)
    assert not (tmp_path / "banks").exists()


def test_licences_of_no_clip_are_told(over: Callable[..., Spec], tmp_path: Path) -> None:
    """It was told that no clip lay in a split."""
    with pytest.raises(SourceError, match="none of 12 clips may be used") as caught:
        build(over(licences=["MIT"]), tmp_path, 0)
    assert "the spec allows MIT" in caught.value.message
    suggested = re.search(r"`licences: \[(.+)\]`", caught.value.fix)
    assert build(over(licences=suggested[1].split(", ")), tmp_path, 0)


@pytest.mark.parametrize(
    ("name", "meant"), [("unknwon", "unknown"), ("CCBY", "CC-BY"), ("CC-BY-5.0", "CC-BY")]
)
def test_a_licence_that_is_suggested_is_known(name: str, meant: str) -> None:
    with pytest.raises(SpecError) as caught:
        Allowed.of([name])
    assert caught.value.fix == f"did you mean {meant}?"
    assert Allowed.of([meant])


def test_a_licence_of_clips_can_be_allowed_or_given() -> None:
    with pytest.raises(SpecError) as caught:
        Allowed.of(["GPL v2"])
    suggested = caught.value.fix.rpartition(" ")[2]
    assert Allowed.of([suggested]).admits(parse_licence("GPL v2"))
    told = suggest_licences(["", "CC BY 4.0", "n/a"])
    assert "`licences: [unknown, CC-BY-4.0]`" in told
    assert "the source's `licence`" in told


Rows = list[dict[str, Any]]
SHARES = (SplitRule("train", 0.7), SplitRule("test", 0.2))
FOLDS = (SplitRule("train", source_splits=("1", "2")), SplitRule("test", source_splits=("3",)))


def draw_rows(count: int, seed: int) -> Rows:
    """Clips of which some are copies, and some are of divided or blocked recordings."""
    rng = Random(seed)
    return [
        unheard_row(1.0, str(rng.randrange(count)))
        | {
            "id": f"lib/{number}",
            "source": "lib",
            "location": f"{number}.wav",
            "labels": [],
            "captions": [],
            "tags": [],
            "split": "",
            "source_split": rng.choice("1234"),
            "recording": f"r{rng.randrange(count)}",
            "licence": rng.choice(["CC0-1.0", "CC-BY-4.0", "unknown"]),
            "attribution": "",
        }
        for number in range(count)
    ]


def withdraw_copies(rows: Rows) -> tuple[Rows, Rows]:
    """The first of each sound is kept."""
    first: dict[Any, Any] = {}
    for row in rows:
        first.setdefault(row["sha256"], row)
    withdrawn = [
        quarantine_row(row["id"], row["location"], "ingest", f"is the same sound as {kept}")
        for row in rows
        if (kept := first[row["sha256"]]["location"]) != row["location"]
    ]
    return list(first.values()), withdrawn


def admit_row_by_row(admission: Admission, rows: Rows) -> tuple[Rows, Rows, Any]:
    """The oracle, which holds all rows at once."""
    left, withdrawn = rows, []
    if admission.allowed is not None:
        left, withdrawn = withdraw_unlicensed(left, admission.allowed)
    left, blocked = withdraw_blocked(left, admission.blocks)
    left, copies = withdraw_copies(left)
    divided = assign_splits(left, admission.split_rules, admission.seed)
    outside = {row["id"] for row in divided}
    kept = [row for row in left if row["id"] not in outside]
    told = tally(admission.blocks, rows, blocked)
    return kept, withdrawn + blocked + copies + divided, told


@pytest.mark.parametrize("count", [0, 1, 20, 700])
@pytest.mark.parametrize("rules", [SHARES, FOLDS])
@pytest.mark.parametrize("strict", [False, True])
def test_columns_are_admitted_as_rows(
    tmp_path: Path, count: int, rules: tuple[SplitRule, ...], strict: bool
) -> None:
    listed = tmp_path / "block.txt"
    listed.write_text("r3\nlib/5\nnobody\n")
    blocks = [BlockList.open(listed)] if strict else []
    allowed = Allowed.of(["CC0", "CC-BY"]) if strict else None
    admission = Admission(allowed, blocks, rules, 7)
    rows = draw_rows(count, seed=count)
    found = admission.admit(RowFile.write(tmp_path, LISTED_ROWS, [to_table(rows, LISTED_ROWS)]))
    kept, withdrawn, told = admit_row_by_row(admission, rows)
    assert [
        (row["id"], split)
        for row, split, is_kept in zip(rows, found.splits, found.kept, strict=True)
        if is_kept
    ] == [(row["id"], row["split"]) for row in kept]
    assert found.withdrawn == withdrawn
    assert found.blocked == told


# Index paths and file names from elsewhere: none leads out of the library, none stops the run.


RATE = 16_000


@pytest.fixture
def own(tmp_path: Path) -> Path:
    root = tmp_path / "own"
    (root / "dog").mkdir(parents=True)
    sound = 0.3 * np.sin(np.arange(RATE) / 20)
    soundfile.write(root / "dog" / "good.wav", sound, RATE)
    soundfile.write(tmp_path / "secret.wav", sound[: RATE // 2], RATE)
    return root


def read_in(source: Settings, banks: Path) -> IngestedLibrary:
    with engine(0) as where:
        return ingest(Intake(source, RATE), banks, where, UNOBSERVED)


def reasons(found: IngestedLibrary) -> dict[str, str]:
    return {row["location"]: row["reason"] for row in found.quarantine}


def test_paths_out_of_the_library_are_quarantined(own: Path, tmp_path: Path) -> None:
    paths = ["../secret.wav", str(tmp_path / "secret.wav"), "dog/../../secret.wav", "dog/\0.wav"]
    rows = [{"path": path, "label": "dog"} for path in ("dog/good.wav", *paths)]
    pq.write_table(pa.Table.from_pylist(rows), own / "index.parquet")
    for number, source in enumerate(
        (FolderSource(root=own, index=Path("index.parquet")), ParquetSource(root=own))
    ):
        found = read_in(source, tmp_path / f"banks-{number}")
        assert len(found.clips) == 1
        told = " ".join(reasons(found).values())
        assert len(found.quarantine) == 4
        assert (told.count("leads out of the library"), told.count("holds a NUL")) == (3, 1)
        assert number or told.count("(row 3 of index.parquet)") == 1


def test_a_path_with_two_dots_is_quarantined(own: Path, tmp_path: Path) -> None:
    (tmp_path / "other" / "deep").mkdir(parents=True)
    shutil.copy(own / "dog" / "good.wav", tmp_path / "other" / "private.wav")
    (own / "link").symlink_to(tmp_path / "other" / "deep")
    paths = ("dog/good.wav", "link/../private.wav", "dog/../dog/good.wav")
    rows = [{"path": each, "label": "dog"} for each in paths]
    pq.write_table(pa.Table.from_pylist(rows), own / "index.parquet")
    found = read_in(FolderSource(root=own, index=Path("index.parquet")), tmp_path / "banks")
    assert [clip["location"] for clip in found.clips] == ["dog/good.wav"]
    assert ["without any `..`" in reason for reason in reasons(found).values()] == [True, True]


def test_a_path_is_below_the_library_from_wherever_it_is_seen(own: Path, tmp_path: Path) -> None:
    (own / "data").mkdir()
    paths = ("../secret.wav", "data/../../secret.wav", "../../secret.wav")
    for place, path in product(("own", "own/data"), paths):
        with pytest.raises(ClipError, match="leads out of the library"):
            ParquetSource(root=own)._recording(path, tmp_path / place)
    root = tmp_path / "a" / "own"
    settings = (Path("../sounds"), Path("../../b/./sounds"), tmp_path / "sounds")
    for folder in settings:
        assert explain_escape(f"{folder}/x.wav", root, root / folder) == ""
        assert explain_escape(f"{folder}/../x.wav", root, root / folder)
    assert explain_escape(str(root / "x.wav"), Path("..") / ".." / root) == ""


def test_a_file_name_that_is_not_utf_8_is_quarantined(own: Path, tmp_path: Path) -> None:
    try:
        shutil.copy(own / "dog" / "good.wav", os.fsencode(own / "dog") + b"/caf\xe9.wav")
    except OSError:
        pytest.skip("this file system takes no such names")
    found = read_in(FolderSource(root=own), tmp_path / "banks")
    assert [clip["location"] for clip in found.clips] == ["dog/good.wav"]
    assert reasons(found) == {"dog/caf\\udce9.wav": "its name is not UTF-8; rename the file"}


HALF = "caf\udce9"


def test_text_that_is_not_utf_8_is_quarantined() -> None:
    facts: list[dict[str, Any]] = [{"captions": (HALF,)}]
    facts += [{name: HALF} for name in ("attribution", "licence", "split")]
    facts += [{"tags": (tag,)} for tag in (Tag("genre", HALF), Tag(HALF, "rock"))]

    class StrangeLibrary:
        def refs(self) -> Iterator[ClipRef]:
            for number, told in enumerate(facts):
                yield ClipRef(f"a/{number}", "b.wav", ("dog",), **told)

    refs = list_refs(StrangeLibrary())
    assert ["is not UTF-8" in ref.refusal for ref in refs] == [True] * 6
    for ref in refs:
        assert b"caf\\\\udce9" in json.dumps(asdict(ref), ensure_ascii=False).encode()


def test_labels_captions_and_tags_of_any_library_are_tidied_alike() -> None:
    texts = ("cafe\u0301\u200b", "caf\xe9", "\u200b", "dog  bark")
    tags = tuple(Tag("genre", text) for text in texts)
    listed = ClipRef("a/0", "b.wav", texts, captions=texts, tags=tags)
    (ref,) = list_refs(SimpleNamespace(refs=lambda: iter([listed])))
    assert ref.labels == ("caf\xe9", "dog  bark")
    assert ref.captions == ("caf\xe9", "caf\xe9", "dog  bark")
    assert ref.tags == (Tag("genre", "caf\xe9"), Tag("genre", "dog  bark"))


# Damaged files by the hundred: none may crash or hang an ingest, and all are accounted for. A
# seeded generator damages small files of every format: 150 of them, or SEGUE_MUTATIONS.


MUTATIONS = int(os.environ.get("SEGUE_MUTATIONS", "150"))
LIMIT_S = 20.0


@pytest.fixture(scope="module")
def damaged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_damaged(tmp_path_factory.mktemp("damaged"), MUTATIONS).parent


@pytest.mark.slow
def test_damaged_files_are_accepted_or_quarantined_and_end_nothing(damaged: Path) -> None:
    """SEGUE_MUTATIONS=1000 in the environment gives the full count."""
    source = FolderSource(root=damaged / "lib")
    intake = Intake(source, RATE, Acceptance(decode_timeout_s=LIMIT_S, max_s=30))
    with engine(1) as where:
        library = ingest(intake, damaged / "banks", where, UNOBSERVED)
    assert len(library.clips) + len(library.quarantine) == MUTATIONS
    ids = {row["id"] for row in (*library.clips, *library.quarantine)}
    assert ids == {ref.id for ref in source.refs()}
    assert all(row["reason"] for row in library.quarantine)
    assert len(library.quarantine) > MUTATIONS // 3
    assert len({row["reason"] for row in library.quarantine}) > 10
    # Told by the files' own bytes, not by what became of the process that read them.
    faults = re.compile(
        r"crashes|ends the decoder|processor time|more memory|"
        r"cannot be decoded: (what it holds|it cannot be read|the decoder fails)"
    )
    wrong = [row["reason"] for row in library.quarantine if faults.search(row["reason"])]
    assert not wrong, Counter(wrong)
    bank = Bank.open(library.index)
    for clip in library.clips:
        audio = bank.read(clip["id"], 0, bank.frames(clip["id"]), 1.0)
        assert len(audio)
        assert np.isfinite(audio).all()

"""What `segue diff` says differs between two corpora, and why."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipelines.builder.build import build, plan_library
from pipelines.cli.look.diff import diff_command
from pipelines.config.spec import Spec
from pipelines.look.comparison import Comparison, TableChanges, ValueChange, compare
from pipelines.store.places import find_manifest
from synth.base.errors import CorpusError, SpecError
from synth.base.progress import UNOBSERVED
from synth.corpus.corpus import Corpus
from synth.corpus.schema import QUARANTINE
from tests.kit.builds import TINY, UNCERTIFIED, merged, segue_here
from tests.kit.libraries import sound, write_csv

LABELS = ("bell", "drum", "horn")
COLUMNS = ("path", "label", "licence")
Make = Callable[..., Path]


def library(root: Path) -> Path:
    """Three sounds a label; the last of each is not free for commerce."""
    rows = []
    for label in LABELS:
        for take, licence in enumerate(("CC0", "CC0", "CC-BY-NC-4.0")):
            name = f"{label}-{take}.wav"
            sound(root / name, seed=len(rows), frames=12_000)
            rows.append((name, label, licence))
    write_csv(root / "index.csv", COLUMNS, rows)
    return root


def spec_over(root: Path, **changes: Any) -> Spec:
    base = {
        "source": {"folder": {"root": str(root), "index": "index.csv"}},
        "recipe": {"triplets": {"crossfade_s": 0.2, "max_event_s": 0.5}},
        "audio": {"sample_rate": 16000, "length": "exact 2 s"},
        "splits": {"train": 1.0},
        "shards": {"samples": 6},
    }
    return Spec.model_validate(merged(merged(TINY, base), changes))


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where all versions are built, so that no sound is decoded twice."""
    return tmp_path_factory.mktemp("versions")


@pytest.fixture(scope="module")
def sounds(root: Path) -> Path:
    """The library that versions are built over."""
    return library(root / "sounds")


@pytest.fixture(scope="module")
def make(root: Path, sounds: Path) -> Make:
    """Builds a version over the library, or over another one."""

    def made(sounds: Path = sounds, **changes: Any) -> Path:
        return Path(build(spec_over(sounds, **changes), root, 0).paths["manifests"])

    return made


@pytest.fixture(scope="module")
def base(make: Make) -> Path:
    """The version that others are compared with."""
    return make()


def kinds(rows: TableChanges) -> dict[str, int]:
    return {kind.name: kind.count for kind in rows.kinds}


def reasons(rows: TableChanges, name: str) -> dict[str, int]:
    (kind,) = (kind for kind in rows.kinds if kind.name == name)
    return {reason.name: reason.count for reason in kind.reasons}


def only(found: Comparison, *causes: str) -> None:
    """Check that these, and no others, are named as causes."""
    named = {
        "settings": bool(found.settings),
        "clips": bool(found.clips.kinds),
        "algorithms": bool(found.algorithms),
        "libraries": bool(found.libraries),
        "unknown": bool(found.unknown),
    }
    assert {name for name, is_one in named.items() if is_one} == set(causes)


def differing(a: Path, b: Path, column: str, same: bool = False) -> int:
    """How many rows of two corpora with as many samples differ in a column, or do not."""
    ours, theirs = (Corpus.open(path).samples(columns=[column]).to_pylist() for path in (a, b))
    return sum((one == other) is same for one, other in zip(ours, theirs, strict=True))


def test_what_is_the_same_is_said_to_be(base: Path) -> None:
    found = compare(base, base)
    assert found.same
    only(found)
    assert (found.samples.same, found.shards.same, found.clips.same) == (36, 6, 9)
    told = segue_here("diff", base, base)
    assert told.returncode == 0, told.stderr
    assert told.stdout.splitlines()[-1] == "no differences"


def test_another_name_or_seed_is_the_cause(base: Path, make: Make) -> None:
    renamed = compare(base, make(corpus="small"))
    assert renamed.settings == (ValueChange("corpus", "tiny", "small"),)
    assert renamed.samples.same == 36
    other = make(seed=8)
    found = compare(base, other)
    only(found, "settings")
    assert found.settings == (ValueChange("seed", 7, 8),)
    parts = reasons(found.samples, "changed")
    for part, column in (("scene", "scene"), ("audio", "sha256"), ("negatives", "negatives")):
        assert parts[part] == differing(base, other, column) > 0
    assert found.shards.same == 0


def test_settings_of_the_recipe_are_the_cause_with_both_values(base: Path, make: Make) -> None:
    other = make(recipe={"triplets": {"crossfade_s": 0.125}})
    found = compare(base, other)
    only(found, "settings")
    assert found.settings == (ValueChange("recipe.triplets.crossfade_s", 0.2, 0.125),)
    assert kinds(found.samples) == {"changed": differing(base, other, "scene")}
    assert set(reasons(found.samples, "changed")) == {"scene", "audio"}
    assert found.samples.same == differing(base, other, "scene", same=True) > 0
    found = compare(base, make(recipe={"triplets": {"repeats": 3}}))
    assert found.settings == (ValueChange("recipe.triplets.repeats", 2, 3),)
    assert (found.samples.a, found.samples.b, kinds(found.samples)) == (36, 54, {"added": 18})
    assert (found.shards.same, kinds(found.shards)) == (6, {"added": 3})
    back = compare(make(recipe={"triplets": {"repeats": 3}}), base)
    assert (kinds(back.samples), kinds(back.shards)) == ({"removed": 18}, {"removed": 3})


def test_the_bytes_of_a_clip_are_the_cause(base: Path, make: Make, tmp_path: Path) -> None:
    sounds = library(tmp_path)
    sound(sounds / "bell-0.wav", seed=99, frames=12_000)
    found = compare(base, make(sounds))
    only(found, "clips")
    assert reasons(found.clips, "changed") == {"the file": 1}
    assert found.clips.kinds[0].first == ("folder/bell-0.wav",)
    heard = Corpus.open(base).samples(columns=["clips"])["clips"].to_pylist()
    hearing = sum("folder/bell-0.wav" in clips for clips in heard)
    assert kinds(found.samples) == {"changed": hearing}
    assert found.hear_a_changed_clip == hearing > 0
    assert 0 < found.shards.same < 6


def test_clips_that_come_and_go_are_told(base: Path, make: Make, tmp_path: Path) -> None:
    sounds = library(tmp_path)
    (sounds / "bell-0.wav").write_bytes(b"RIFF")
    sound(sounds / "new.wav", seed=77, frames=12_000)
    with (sounds / "index.csv").open("a") as index:
        index.write("new.wav,horn,CC0\n")
    found = compare(base, make(sounds))
    only(found, "clips")
    assert reasons(found.clips, "admitted") == {"is new": 1}
    ((reason, count),) = reasons(found.clips, "lost").items()
    assert reason.startswith("is refused: ingest: it cannot be decoded")
    assert count == 1
    (back,) = reasons(compare(make(sounds), base).clips, "admitted")
    assert back.startswith("was refused: ingest: it cannot be decoded")


def test_licences_are_the_cause_and_name_the_clips_they_refuse(
    base: Path, make: Make, capsys: pytest.CaptureFixture[str]
) -> None:
    free = make(licences=["CC0"])
    found = compare(base, free)
    only(found, "settings", "clips")
    assert found.settings == (ValueChange("licences", None, ["CC0"]),)
    ((reason, count),) = reasons(found.clips, "lost").items()
    assert reason == "is refused: licence: it is under CC-BY-NC-4.0; the spec allows CC0-1.0"
    assert count == 3
    result = diff_command(base, free)
    result.show()
    shown = capsys.readouterr().out
    assert 'licences: nothing -> ["CC0"]' in shown
    assert "clips (9 -> 6): 6 the same, 3 lost" in shown
    assert "folder/drum-2.wav" in shown
    told = json.loads(json.dumps(result.facts))
    assert (told["same"], told["causes"]["clips"]["kinds"][0]["count"]) == (False, 3)
    assert told["samples"]["same"] + told["samples"]["kinds"][0]["count"] == 36


def test_clips_that_went_to_another_split_are_told_with_the_direction(
    base: Path, make: Make, capsys: pytest.CaptureFixture[str]
) -> None:
    other = make(splits={"train": 0.6, "test": 0.4})
    rows = pq.read_table(other / "clips.parquet", columns=["id", "split"]).to_pylist()
    moved = sorted(row["id"] for row in rows if row["split"] == "test")
    found = compare(base, other)
    assert reasons(found.clips, "changed") == {"split train -> test": len(moved)}
    assert found.hear_a_moved_clip == Corpus.open(other).samples("test").num_rows > 0
    diff_command(base, other).show()
    shown = capsys.readouterr().out
    assert f"split train -> test: {len(moved)} ({', '.join(moved)})" in shown
    assert f"{found.hear_a_moved_clip} of B use a clip that is in another split of A" in shown


def test_the_first_letters_of_a_version_name_it(base: Path, make: Make, tmp_path: Path) -> None:
    other = make(seed=8)
    short = [version.with_name(version.name[:11]) for version in (base, other)]
    assert compare(*short).settings == (ValueChange("seed", 7, 8),)
    for name in ("12a", "12b"):
        shutil.copytree(base, tmp_path / "tiny" / name)
    with pytest.raises(CorpusError, match="several versions start with this: 12a, 12b"):
        compare(base, tmp_path / "tiny" / "12")
    with pytest.raises(CorpusError, match="no corpus and no plan"):
        compare(base, tmp_path / "tiny" / "13")


def test_what_names_no_one_corpus_is_told(sounds: Path, tmp_path: Path) -> None:
    plans = [
        plan_library(spec_over(sounds, seed=seed), tmp_path, 0, UNOBSERVED)[1].manifests
        for seed in (7, 8)
    ]
    names = ", ".join(sorted(plan.name for plan in plans))
    with pytest.raises(CorpusError, match=f"several plans here: {names}"):
        find_manifest(plans[0].parent)
    spec = tmp_path / "other-name.yaml"
    spec.write_text("corpus: mine\nsource: {foley: {}}\nrecipe: {triplets: {}}\n")
    with pytest.raises(SpecError, match="is a spec, not a corpus") as caught:
        find_manifest(spec)
    assert caught.value.fix == "give its manifest folder, data_manifests/mine"


def test_versions_of_algorithms_and_libraries_are_causes(base: Path, tmp_path: Path) -> None:
    other = tmp_path / "tiny" / "other"
    shutil.copytree(base, other, ignore=UNCERTIFIED)
    facts = json.loads((other / "corpus.json").read_text())
    facts["algorithms"]["render"] += 1
    facts["libraries"] = [{**facts["libraries"][0], "numpy": version} for version in ("9", "8")]
    (other / "corpus.json").write_text(json.dumps(facts))
    found = compare(base, other)
    only(found, "algorithms", "libraries")
    (render,) = found.algorithms
    (numpy,) = found.libraries
    assert (render.name, render.b) == ("render", render.a + 1)
    assert (numpy.name, numpy.b) == ("numpy", "8 and 9")


def test_a_plan_is_compared(base: Path, sounds: Path, tmp_path: Path) -> None:
    _, places, _ = plan_library(spec_over(sounds), tmp_path, 0, UNOBSERVED)
    found = compare(base, places.manifests)
    only(found, "unknown")
    assert found.unknown.startswith("B: planned, not built")
    assert found.samples.same == 36


def test_a_difference_without_a_recorded_cause_is_told(base: Path, tmp_path: Path) -> None:
    other = tmp_path / "tiny" / "other"
    shutil.copytree(base, other, ignore=UNCERTIFIED)
    samples = pq.read_table(other / "samples.parquet")
    captions = ["another", *samples["caption"].to_pylist()[1:]]
    place = samples.schema.get_field_index("caption")
    pq.write_table(
        samples.set_column(place, samples.schema.field(place), [captions]),
        other / "samples.parquet",
    )
    found = compare(base, other)
    only(found, "unknown")
    assert reasons(found.samples, "changed") == {"caption": 1}


def test_many_reasons_are_counted_where_they_are_not_listed(base: Path, tmp_path: Path) -> None:
    other = tmp_path / "tiny" / "other"
    shutil.copytree(base, other)
    rows = [
        {"id": f"{k:02d}", "location": "", "stage": "ingest", "reason": f"is {k} s"}
        for k in range(14)
    ]
    pq.write_table(pa.Table.from_pylist(rows, schema=QUARANTINE), other / "quarantine.parquet")
    (refused,) = compare(base, other).clips.kinds
    assert (refused.name, refused.count) == ("refused", 14)
    assert (len(refused.reasons), refused.more_reasons) == (10, 4)

"""A vocabulary without recordings: labels, drawn lengths, plans, and no audio."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pydantic import ValidationError

from pipelines.builder.build import plan_library
from pipelines.checks.audit import audit
from pipelines.checks.leakage import compare_corpora
from pipelines.cli.look.audit import print_leakage
from pipelines.config.file import read_spec
from pipelines.config.spec import Spec
from synth.base.errors import PlanError, SegueError, SourceError
from synth.base.progress import UNOBSERVED
from synth.labels.lexicon import category, shipped_phrases
from synth.sources.own.folder import VocabularySource
from tests.kit.builds import product, segue_here
from tests.kit.cases import cases


def spec(**changes: Any) -> dict[str, Any]:
    return {
        "corpus": "planned",
        "seed": 3,
        "source": {"vocabulary": {"takes": 2}},
        "recipe": {"scenes": {"scenes": 48}},
        "audio": {"sample_rate": 16000},
        "shards": {"samples": 16},
    } | changes


@pytest.fixture(scope="module")
def planned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The manifest folder of a plan; not to be changed."""
    out = tmp_path_factory.mktemp("planned")
    _, places, samples = plan_library(Spec.model_validate(spec()), out, 0, UNOBSERVED)
    assert samples == 48
    return places.manifests


def test_audioset_has_its_527_labels_and_esc50_its_50() -> None:
    names = VocabularySource().names
    assert len(names) == len(set(names)) == 527
    assert len(set(VocabularySource(labels="esc50").names)) == 50
    assert set(names) <= set(shipped_phrases())
    assert VocabularySource(labels=("b", "a")).names == ("b", "a")


def test_lengths_are_drawn_once_and_for_all_within_the_range() -> None:
    source = VocabularySource(seconds=(0.5, 2.0), labels=("Dog", "a/b"), takes=50)
    refs = list(source.refs())
    assert [ref.labels for ref in refs] == [("Dog",)] * 50 + [("a/b",)] * 50
    assert len({ref.id for ref in refs}) == len({ref.recording for ref in refs}) == 100
    rows = [source.row(ref) for ref in refs]
    assert rows == [source.row(ref) for ref in refs]
    lengths = [row["frames"] / row["sample_rate"] for row in rows]
    assert all(0.5 <= length <= 2.0 for length in lengths)
    assert len(set(lengths)) > 90
    # Spread evenly over the logarithm: as many below the geometric mean as above.
    assert 30 < sum(length < 1.0 for length in lengths) < 70
    assert all(row["onset"] == 0 and row["offset"] == row["frames"] for row in rows)
    assert len({row["sha256"] for row in rows}) == 100
    # A label keeps its lengths whatever stands beside it, but for another seed.
    alone, beside, other = (
        {ref.id: one.row(ref) for ref in one.refs()}
        for one in (
            VocabularySource(labels=("Dog",)),
            VocabularySource(labels=("Cat", "Dog")),
            VocabularySource(labels=("Dog",), seed=1),
        )
    )
    assert alone.items() <= beside.items()
    for wrong in ({"seconds": (2, 1)}, {"seconds": (0, 1)}, {"labels": "birds"}):
        with pytest.raises(ValidationError):
            VocabularySource.model_validate(wrong)
    assert [*alone.values()] != [*other.values()]


def test_a_plan_over_the_vocabulary_holds_no_violation(planned: Path) -> None:
    judged = audit(planned)
    assert (judged.samples, judged.with_negatives, judged.violations) == (48, 48, ())
    assert judged.positives > judged.negatives == 3 * 48
    rows = pq.read_table(planned / "plan.parquet").to_pylist()
    assert not any(category(label) == "none" for row in rows for label in row["labels"])
    refused = pq.read_table(planned / "quarantine.parquet").to_pylist()
    assert {row["reason"] for row in refused} == {"has the label 'Silence', which names no sound"}
    # Nothing is banked.
    assert not (planned.parents[2] / "banks").exists()
    assert not (planned.parents[2] / "shards").exists()


@cases(
    ("changes", "error", "message"),
    [
        ({"source": {"vocabulary": {"labels": ["Dog", "Dog"]}}}, SourceError, "two clips have"),
        ({"source": {"vocabulary": {"labels": ["Dog", "Bark"]}}}, PlanError, "need 3 labels"),
    ],
)
def test_labels_that_make_no_plan_are_a_clear_error(
    tmp_path: Path, changes: dict[str, Any], error: type[SegueError], message: str
) -> None:
    with pytest.raises(error, match=message) as caught:
        plan_library(Spec.model_validate(spec(**changes)), tmp_path, 0, UNOBSERVED)
    assert caught.value.fix


def test_clips_of_a_listing_are_of_the_lengths_that_the_spec_allows(tmp_path: Path) -> None:
    # `clips` counted for nothing where there was a table alone.
    few = {
        "source": {"vocabulary": {"labels": ["Dog", "Rain", "Siren", "Piano"], "takes": 9}},
        "recipe": {"triplets": {}},
        "clips": {"max_s": 4, "min_active_s": 0.8},
    }
    _, places, _ = plan_library(Spec.model_validate(spec(**few)), tmp_path, 0, UNOBSERVED)
    clips = pq.read_table(places.manifests / "clips.parquet").to_pylist()
    refused = pq.read_table(places.manifests / "quarantine.parquet").to_pylist()
    assert len(clips) + len(refused) == 36
    assert all(0.8 <= row["frames"] / row["sample_rate"] <= 4 for row in clips)
    assert {row["reason"].split("; ")[1] for row in refused} == {
        "clips.max_s is 4 s",
        "clips.min_active_s is 0.8 s",
    }
    short = Spec.model_validate(spec(**few | {"clips": {"max_s": 0.3}}))
    with pytest.raises(SourceError, match="none of 36 clips") as caught:
        plan_library(short, tmp_path, 0, UNOBSERVED)
    assert "clips.max_s is 0.3 s" in caught.value.fix


def test_leakage_of_a_listing_says_that_there_is_no_audio(
    planned: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = compare_corpora(planned, planned)
    assert found.unread == found.clips_a + found.clips_b == found.unheard_a + found.unheard_b
    print_leakage({"both": found})
    shown = capsys.readouterr().out
    assert f"{found.unread:,} clips come from a listing without audio" in shown
    assert "too short" not in shown


def test_workers_change_nothing_and_a_plan_is_not_made_twice(planned: Path, tmp_path: Path) -> None:
    _, places, _ = plan_library(Spec.model_validate(spec()), tmp_path, 2, UNOBSERVED)
    path = places.manifests / "plan.parquet"
    before = path.stat().st_mtime_ns
    plan_library(Spec.model_validate(spec()), tmp_path, 0, UNOBSERVED)
    assert path.stat().st_mtime_ns == before
    assert product(tmp_path) == product(planned.parents[2])


# The command line


@pytest.fixture
def spec_file(tmp_path: Path) -> Callable[[str], Path]:
    def write(recipe: str = "scenes: {scenes: 8}", source: str = "vocabulary: {takes: 2}") -> Path:
        path = tmp_path / "planned.yaml"
        path.write_text(
            f"corpus: planned\nsource: {{{source}}}\nrecipe:\n  {recipe}\n"
            "audio: {sample_rate: 16000}\n"
        )
        return path

    return write


def test_plan_ends_with_one_json_line_and_build_refuses_with_the_fix(
    spec_file: Callable[..., Path], tmp_path: Path
) -> None:
    done = segue_here("plan", spec_file(), "--out", tmp_path, "--json")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    told = json.loads(done.stdout.splitlines()[-1])
    assert told["samples"] == 8
    assert set(told) == {"samples", "quarantined", "findings", "blocked", "seconds", "paths"}
    assert (Path(told["paths"]["manifests"]) / "plan.parquet").is_file()
    failed = segue_here("build", spec_file(), "--out", tmp_path / "out", "--no-prefect", "--json")
    assert failed.returncode == 1
    error, fix = failed.stderr.splitlines()
    assert error == "error: source vocabulary has no recordings, so nothing can be rendered"
    assert fix == "fix:   use `segue plan SPEC`, which needs no recordings"
    assert json.loads(failed.stdout.splitlines()[-1])["error"] in error


@cases(
    ("recipe", "told"),
    [
        ("scenes: {scenes: 10}", "4:3: recipe.scenes: scenes: 10 is not a multiple of the 4"),
        ("scenes: {scenes: 8, expressions: nowhere.txt}", "4:23: recipe.scenes.expressions: "),
        ("scenes: {scenes: 8, expressions: [Tuba + Rian]}", "recipe.scenes.expressions: Tuba"),
    ],
)
def test_bad_settings_are_told_with_file_line_and_key(
    spec_file: Callable[[str], Path], tmp_path: Path, recipe: str, told: str
) -> None:
    path = spec_file(recipe)
    with pytest.raises(SegueError) as caught:
        plan_library(read_spec(path), tmp_path, 0, UNOBSERVED)
    assert told in str(caught.value)
    assert str(caught.value).startswith(f"{path}:4:") or "Tuba" in told


def test_expressions_are_looked_for_beside_the_spec(
    spec_file: Callable[..., Path], tmp_path: Path
) -> None:
    (tmp_path / "mine.txt").write_text("Bark + Rain\n")
    spec = read_spec(spec_file("scenes: {scenes: 8, expressions: mine.txt}"))
    _, places, _ = plan_library(spec, tmp_path / "out", 0, UNOBSERVED)
    rows = pq.read_table(places.manifests / "plan.parquet")
    assert rows.column("notation")[0].as_py() == "Bark + Rain"

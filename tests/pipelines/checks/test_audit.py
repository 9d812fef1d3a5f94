"""`segue audit`: nothing false passes for true, and what was tampered with is found."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import soundfile

from pipelines.builder.build import build, plan_library
from pipelines.checks.audit import audit
from pipelines.checks.leakage import compare_corpora, compare_splits, read_used_clips
from pipelines.config.spec import Spec
from pipelines.look.report.corpus import corpus_page
from pipelines.store.places import find_manifest
from synth.audio.dsp import Audio
from synth.base.errors import CorpusError
from synth.base.progress import UNOBSERVED
from synth.corpus.corpus import Corpus
from synth.shortcuts.figures import Shortcuts
from synth.shortcuts.text import run_blind_test
from tests.kit.builds import TINY, UNCERTIFIED, ask_segue, merged, rewrite_rows, segue_here
from tests.kit.corpora import manifests as build_once
from tests.kit.known_sounds import RATE, event
from tests.kit.libraries import write_csv

Rows = list[dict[str, Any]]
Change = Callable[[Rows], None]

SCENES: dict[str, Any] = {
    "corpus": "tiny-scenes",
    "seed": 5,
    "source": {"foley": {"takes": 1}},
    "recipe": {"scenes": {"scenes": 48, "max_event_s": 1.0}},
    "audio": {"sample_rate": 8000},
    "shards": {"samples": 16},
}


@pytest.fixture(scope="session")
def scenes_corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The manifest folder of a built tiny scenes corpus; not to be changed."""
    return Corpus.open(build_once(SCENES, tmp_path_factory)).folder


def planned(out: Path, **changes: Any) -> Path:
    """The manifest folder of a plan over ESC-50's labels, without recordings."""
    source = {"vocabulary": {"labels": "esc50", "takes": 3}}
    spec = merged(SCENES, {"source": source} | changes)
    _, places, _ = plan_library(Spec.model_validate(spec), out, 0, UNOBSERVED)
    return places.manifests


def planned_triplets(out: Path, **settings: Any) -> Path:
    """The same of triplets over four labels."""
    labels = {"labels": ["dog", "rain", "siren", "wind"], "seconds": [0.6, 3.0]}
    spec = {key: TINY[key] for key in ("corpus", "seed", "audio")}
    spec |= {"source": {"vocabulary": labels}}
    spec |= {"recipe": {"triplets": {"crossfade_s": 0.25, **settings}}}
    return plan_library(Spec.model_validate(spec), out, 0, UNOBSERVED)[1].manifests


@pytest.fixture(scope="session")
def large_plan(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A plan of 160 scenes over AudioSet's labels; not to be changed."""
    return planned(
        tmp_path_factory.mktemp("large"),
        source={"vocabulary": {"takes": 2}},
        recipe={"scenes": {"scenes": 160, "max_event_s": None}},
    )


def tampered(folder: Path, into: Path, change: Change) -> Path:
    """A copy of a manifest with its rows changed."""
    copy = Path(shutil.copytree(folder, into / folder.name, ignore=UNCERTIFIED))
    for name in ("samples.parquet", "plan.parquet"):
        if (copy / name).is_file():
            rewrite_rows(copy / name, change)
    return copy


def swap(rows: Rows) -> None:
    """A true sentence and a false one of the 8th sample change places."""
    row = next(row for row in rows[7:] if row["positives"])
    row["positives"][0], row["negatives"][0] = row["negatives"][0], row["positives"][0]
    for sentence in row["negatives"]:
        sentence["against"] = ""


def test_a_built_scenes_corpus_has_no_violation(scenes_corpus: Path) -> None:
    found = audit(scenes_corpus)
    assert (found.samples, found.with_negatives, found.violations) == (48, 48, ())
    assert found.assumed == 0
    assert found.negatives == 3 * found.samples
    assert found.samples < found.positives <= 4 * found.samples
    assert found.dense >= 3 * found.samples


def test_neither_have_triplets_nor_a_large_plan(manifests: Path, large_plan: Path) -> None:
    for folder, count in ((manifests, 144), (large_plan, 160)):
        found = audit(folder)
        assert (found.samples, found.with_negatives, found.violations) == (count, count, ())


@pytest.mark.parametrize("style", ["paper", "natural"])
@pytest.mark.parametrize("stage_a", [False, True])
def test_other_triplets_have_no_violation(tmp_path: Path, style: str, stage_a: bool) -> None:
    found = audit(planned_triplets(tmp_path, style=style, stage_a=stage_a))
    assert found.samples > 0
    assert found.violations == ()


@pytest.mark.parametrize(
    ("recipe", "changes"),
    [
        ({"style": "paper"}, {}),
        ({"mixing": "snr"}, {}),
        ({"crossfade": 0.4}, {}),
        ({"crossfade": 0.0, "variants": 2}, {}),
        ({"background": {"of": ["rain", "engine"], "share": 0.5}}, {}),
        ({"expressions": ["(animal + any) * (any + any)", "any * any * any * any"]}, {}),
        ({"captions": 1}, {}),
        ({}, {"audio": {"length": "exact 3 s"}}),
        ({}, {"audio": {"length": "padded 9 s"}}),
    ],
)
def test_plans_of_any_setting_have_no_violation(
    tmp_path: Path, recipe: dict[str, Any], changes: dict[str, Any]
) -> None:
    settings = {"scenes": {"scenes": 20, "max_event_s": 3.0} | recipe}
    found = audit(planned(tmp_path, recipe=settings, **changes))
    assert (found.samples, found.with_negatives, found.violations) == (20, 20, ())


# Tampering


def moved(rows: Rows) -> None:
    """Parts of a concatenation change places in the scene, but not in its captions."""
    row = next(row for row in rows if row["scene"].startswith('{"crossfade"'))
    scene = json.loads(row["scene"])
    scene["sequence"].reverse()
    row["scene"] = json.dumps(scene)


NOT_PROVEN = ("true", "the timeline does not prove it")
NOT_REFUTED = ("false", "the timeline does not refute it")
NOT_HEARD = ("true", "the activity does not prove it")
LACKING = ("false", "the activity proves it, and the dense captions lack it")


@pytest.mark.parametrize(
    ("change", "verdicts"),
    [
        (swap, [NOT_PROVEN, NOT_REFUTED]),
        (lambda rows: rows[3].update(claim=f'{{"not": {rows[3]["claim"]}}}'), [NOT_PROVEN]),
        (
            lambda rows: rows[3]["positives"].append(
                rows[3]["positives"][0] | {"claim": '{"event": "Trumpet"}'}
            ),
            [NOT_PROVEN],
        ),
        (
            lambda rows: rows[3]["negatives"][0].update(
                claim=json.dumps({"event": rows[3]["labels"][0]})
            ),
            [NOT_REFUTED],
        ),
        (
            lambda rows: rows[3]["negatives"][0].update(text=rows[3]["caption"]),
            [("false", "the same text passes for true")],
        ),
        (
            lambda rows: rows[7]["negatives"][0].update(against="Nobody says this."),
            [("false", "what it stands against does not pass for true")],
        ),
        (lambda rows: rows[7]["dense"][0].update(onset=1), [NOT_HEARD, LACKING]),
        (lambda rows: rows[7]["dense"][-1].update(text="a bell rings"), [NOT_HEARD, LACKING]),
        (lambda rows: rows[7]["dense"].pop(), [LACKING]),
        (moved, []),
    ],
    ids=[
        *("swapped", "denied", "absent", "heard", "repeated", "misplaced", "moved in time"),
        *("reworded", "left out", "moved in the scene"),
    ],
)
def test_what_was_tampered_with_is_found(
    scenes_corpus: Path, tmp_path: Path, change: Change, verdicts: list[tuple[str, str]]
) -> None:
    found = audit(tampered(scenes_corpus, tmp_path, change))
    reasons = [(each.said, each.why) for each in found.violations]
    assert reasons == verdicts if verdicts else NOT_PROVEN in reasons
    assert all(each.text for each in found.violations)
    assert len({each.sample for each in found.violations}) == 1
    assert found.to_json()["violations"] == len(reasons)


def test_an_older_manifest_is_a_clear_error(scenes_corpus: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(scenes_corpus, tmp_path / "old", ignore=UNCERTIFIED))
    table = pq.read_table(copy / "samples.parquet").replace_schema_metadata({})
    pq.write_table(table, copy / "samples.parquet")
    with pytest.raises(CorpusError, match=r"heard together.*build or plan again"):
        audit(copy)
    (copy / "clips.parquet").unlink()
    with pytest.raises(CorpusError, match="clips"):
        audit(copy)


@pytest.mark.parametrize("is_listing", [False, True])
def test_samples_whose_sounds_nobody_measured_are_told(
    scenes_corpus: Path, large_plan: Path, tmp_path: Path, is_listing: bool
) -> None:
    folder = large_plan if is_listing else scenes_corpus
    copy = Path(shutil.copytree(folder, tmp_path / "old", ignore=UNCERTIFIED))
    name = "plan.parquet" if is_listing else "samples.parquet"
    if not is_listing:
        pq.write_table(pq.read_table(copy / name).drop_columns(["activity"]), copy / name)
    found = audit(copy)
    assert found.assumed == found.samples > 0
    assert found.to_json()["assumed"] == found.samples
    done = segue_here("audit", copy)
    assert done.returncode == 0
    assert f"judged by label and time alone: {found.samples} samples" in done.stdout
    assert "label and time alone" in corpus_page(copy, 0).html


# The command line


def test_the_command_ends_with_one_json_line(scenes_corpus: Path) -> None:
    done = segue_here("audit", scenes_corpus, "--json", "--blind", "--trivial", "--samples", "100")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    *progress, told = map(json.loads, done.stdout.splitlines())
    blind = {(each["kind"], each["measure"] == "pooled") for each in told["blind"]["figures"]}
    assert ("", True) in blind
    kinds = {kind for kind, is_pooled in blind if not is_pooled}
    ends = {line["progress"]: (line["done"], line["unit"]) for line in progress}
    assert ends == {
        "audit": (48, "samples"),
        "blind": (len(blind), "comparisons"),
        "describe": (48, "samples"),
        "trivial": (len(kinds), "kinds"),
    }
    assert (told["samples"], told["with_negatives"], told["violations"]) == (48, 48, 0)
    assert told["examples"] == []
    for test in ("blind", "trivial"):
        assert told[test]["worst"] in told[test]["figures"]
        for each in told[test]["figures"]:
            assert 0 <= each["low"] <= each["value"] <= each["high"] <= 1
            assert 0.25 <= each["chance"] <= 0.5


def test_the_command_tells_violations(scenes_corpus: Path, tmp_path: Path) -> None:
    folder = tampered(scenes_corpus, tmp_path, swap)
    told = ask_segue("audit", folder, status=1)
    assert told["violations"] == 2
    assert {example["said"] for example in told["examples"]} == {"true", "false"}
    shown = segue_here("audit", folder)
    assert shown.returncode == 1
    assert "2 violations" in shown.stdout
    assert "passes for true, but the timeline does not prove it" in shown.stdout
    assert "Traceback" not in shown.stderr


# The blind test


def run_blind(folder: Path, most_samples: int) -> Shortcuts:
    return run_blind_test(find_manifest(folder), most_samples)


def test_scenes_are_not_told_by_their_looks(large_plan: Path) -> None:
    told = run_blind(large_plan, 160)
    assert {"", "positives", "replace", "negate"} <= {figure.kind for figure in told.figures}
    for figure in told.figures:
        assert figure.low <= figure.chance + 0.02, figure


@pytest.mark.parametrize("style", ["paper", "natural"])
def test_triplets_are_not_told_by_their_looks(tmp_path: Path, style: str) -> None:
    folder = planned_triplets(tmp_path, repeats=8, style=style)
    found = run_blind(folder, 8000).figures
    assert all(figure.value <= figure.chance + 0.02 for figure in found if not figure.kind), found


def telltale(rows: Rows) -> None:
    for row in rows:
        for sentence in row["negatives"]:
            sentence["text"] += ", apparently"


def longer(rows: Rows) -> None:
    for row in rows:
        for sentence in row["negatives"][::2]:
            sentence["text"] = sentence["text"].replace(" ", "  ")


@pytest.mark.parametrize(("change", "least"), [(telltale, 0.9), (longer, 0.6)])
def test_a_rigged_corpus_is_told_by_its_looks(
    scenes_corpus: Path, tmp_path: Path, change: Change, least: float
) -> None:
    told = run_blind(tampered(scenes_corpus, tmp_path, change), 8000)
    pooled, own, first = told.figures[:3]
    for figure in (pooled, own, first):
        assert figure.value > least
        assert figure.low > 0.52
    assert told.worst.value >= own.value


@pytest.fixture(scope="module")
def jam_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A root of plans over tagged clips: their bank lies there once, as making them takes long."""
    return tmp_path_factory.mktemp("jam")


@pytest.mark.slow
@pytest.mark.parametrize("recipe", ["negation", "tag_captions"])
def test_tagged_clips_are_not_told_by_their_looks(jam_root: Path, recipe: str) -> None:
    def blind(corpus: str, settings: object) -> Shortcuts:
        jam = {"source": {"jam": {"tracks": 40}}, "splits": {"train": 1.0}}
        folder = planned(jam_root, corpus=corpus, **jam, recipe=settings)
        return run_blind(folder, 8000)

    told = blind("said", recipe)
    assert all(figure.value <= figure.chance + 0.02 for figure in told.figures)
    in_print = blind("in-print", {recipe: {"style": "paper"}})
    assert in_print.figures[0].low > 0.6


def test_too_few_groups_for_a_blind_test_are_a_clear_error(tmp_path: Path) -> None:
    folder = planned(tmp_path, recipe={"scenes": {"scenes": 8}})
    with pytest.raises(CorpusError, match="needs 5 groups or more"):
        run_blind(folder, 8000)


# Leakage between built corpora: the clips that samples use, by recording, bytes and sound.


Take = tuple[str, str, str, Audio]


def take(label: str, split: str, recording: str, seed: int) -> Take:
    return label, split, recording, event(seed, 1.5)


def library(root: Path, takes: list[Take], suffix: str = "wav") -> Path:
    """A folder of sounds with its index."""
    rows = [(f"{number}.{suffix}", *take[:3]) for number, take in enumerate(takes)]
    write_csv(root / "index.csv", ("path", "label", "split", "recording"), rows)
    for (name, *_), take in zip(rows, takes, strict=True):
        soundfile.write(root / name, take[3], RATE)
    return root


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Builds a corpus over a library; gives its manifest folder."""

    def make(name: str, takes: list[Take], suffix: str = "wav") -> Path:
        folder = tmp_path_factory.mktemp("leakage")
        root = library(folder / "sounds", takes, suffix)
        spec = {
            "corpus": name,
            "source": {"folder": {"root": str(root), "index": "index.csv"}},
            "recipe": {"triplets": {"crossfade_s": 0.25, "max_event_s": 1.0}},
            "audio": {"sample_rate": 16000},
            "splits": {"train": ["a"], "test": ["b"]},
        }
        build(Spec.model_validate(spec), folder / "out", worker_count=0)
        return folder / "out" / "data_manifests" / name

    return make


TAKES_A = [
    take("dog", "a", "freesound/1", 0),
    take("rain", "a", "freesound/2", 1),
    take("dog", "b", "freesound/3", 2),
    take("rain", "b", "freesound/4", 3),
    take("wind", "c", "freesound/5", 4),
]


@pytest.fixture(scope="module")
def corpus_a(corpus: Callable[..., Path]) -> Path:
    return corpus("first", TAKES_A)


def test_shared_recordings_and_sounds_are_found(
    corpus: Callable[..., Path], corpus_a: Path
) -> None:
    """Another label, another name, another codec, another level, an excerpt: the same sounds."""
    copies = [
        ("bark", "a", "youtube/1", 0.5 * TAKES_A[0][3]),
        ("wet", "a", "youtube/2", TAKES_A[3][3][RATE // 4 :]),
        take("bark", "b", "freesound/2", 7),
        take("wet", "b", "youtube/4", 8),
    ]
    found = compare_corpora(corpus_a, corpus("copies", copies, "ogg"))
    assert (found.shared, found.by_recording, found.by_bytes, found.by_sound) == (3, 1, 0, 2)
    shared = {(pair.a.split("/", 1)[1], pair.b.split("/", 1)[1], pair.by) for pair in found.pairs}
    assert shared == {
        ("0.wav", "0.ogg", "sound"),
        ("1.wav", "2.ogg", "recording"),
        ("3.wav", "1.ogg", "sound"),
    }
    assert json.loads(json.dumps(found.to_json()))["shared"] == 3


def test_a_corpus_shares_all_that_its_samples_use_with_itself(corpus_a: Path) -> None:
    found = compare_corpora(corpus_a, corpus_a)
    assert (found.shared, found.by_recording, found.by_bytes, found.by_sound) == (4, 4, 4, 4)
    used = [row["id"] for row in read_used_clips(corpus_a)]
    assert [name.rsplit("/", 1)[1] for name in used] == ["0.wav", "1.wav", "2.wav", "3.wav"]
    assert pq.read_table(Corpus.open(corpus_a).folder / "clips.parquet").num_rows == 5


def test_a_sound_in_two_splits_is_found(corpus: Callable[..., Path], corpus_a: Path) -> None:
    assert [found.disjoint for found in compare_splits(corpus_a).values()] == [True]
    again = ("rain", "b", "freesound/9", 0.25 * TAKES_A[1][3])
    found = compare_splits(corpus("divided", [*TAKES_A[:3], again]))
    assert list(found) == ["train and test"]
    (pair,) = found["train and test"].pairs
    assert pair.by == "sound"


def test_catalogues_without_fingerprints_or_clips_are_told(corpus_a: Path, tmp_path: Path) -> None:
    old = shutil.copytree(Corpus.open(corpus_a).folder, tmp_path / "old", ignore=UNCERTIFIED)
    clips = pq.read_table(old / "clips.parquet")
    pq.write_table(clips.drop_columns(["fingerprint"]), old / "clips.parquet")
    found = compare_corpora(corpus_a, old)
    assert (found.by_recording, found.by_bytes, found.by_sound) == (4, 4, 0)
    assert (found.unheard_a, found.unheard_b) == (0, 4)
    torn = shutil.copytree(Corpus.open(corpus_a).folder, tmp_path / "torn", ignore=UNCERTIFIED)
    pq.write_table(pq.read_table(torn / "clips.parquet").slice(1), torn / "clips.parquet")
    with pytest.raises(CorpusError, match="lacks clip"):
        compare_corpora(torn, corpus_a)
    (torn / "clips.parquet").unlink()
    with pytest.raises(CorpusError, match="missing"):
        compare_splits(torn)
    with pytest.raises(CorpusError, match="no corpus and no plan"):
        compare_splits(tmp_path / "nothing")
